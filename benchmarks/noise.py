"""Race exact noise against NumPy's unsafe floats, OpenDP and diffprivlib: ``./run bench noise``.

docs/benchmarks/noise.md says what is measured and how to read it.
"""

from __future__ import annotations

import contextlib
import sys
from typing import Any

from benchmarks.bars.noise import bars, notes
from benchmarks.measure import Result, machine, read_options, run_all
from benchmarks.peers.environment import Peers, PeersUnavailable
from benchmarks.report import bar_list, table, write_json
from benchmarks.rows.noise import DIFFPRIVLIB, NUMPY, OPENDP, QUICK, Field, Sizes

COLUMNS = {NUMPY: "NumPy (unsafe)", OPENDP: "OpenDP", DIFFPRIVLIB: "diffprivlib"}


def main() -> int:
    """Measure, print and judge; return the exit status."""
    options = read_options("noise", __doc__, rounds=9, quick=3)
    described = machine()
    missing = None
    with contextlib.ExitStack() as stack:
        peers = None
        if options.peers:
            try:
                peers = stack.enter_context(Peers("noise"))
                described["peers"] = peers.versions
            except PeersUnavailable as failure:
                missing = str(failure)
        results = run_all(Field(QUICK if options.quick else Sizes(), peers).races(), options.rounds)
    verdict, targets = bars(results), notes(results)
    print_report(described, results, missing)
    print(f"\nBars\n{bar_list(verdict)}")
    print(f"\nTargets in absolute time, which depend on the machine\n{bar_list(targets)}")
    if options.json:
        write_json(options.json, machine=described, results=results, bars=[*verdict, *targets])
    return int(missing is not None or any(bar.passed is False for bar in verdict))


def print_report(described: dict[str, Any], results: list[Result], missing: str | None) -> None:
    """Print what was measured, on what."""
    installed = {"python": described["python"], **described["versions"]}
    if "peers" in described:
        installed |= {name: described["peers"][name] for name in (OPENDP, DIFFPRIVLIB)}
    print(f"{described['cpu']}, {described['cores']} cores, {described['date'][:10]}")
    print(", ".join(f"{name} {number}" for name, number in installed.items()))
    print(
        "CPU time for one draw, bit, candidate, table or start; best of all rounds, one thread.\n"
    )
    print(table(results, COLUMNS))
    if missing is not None:
        print(f"\nNO FIGURES FOR OpenDP AND diffprivlib: {missing}")
        print("Give --no-peers to leave them out on purpose.")


if __name__ == "__main__":
    try:
        sys.exit(main())
    except PeersUnavailable as failure:  # in the middle of a race
        sys.exit(f"bench noise: {failure}")
