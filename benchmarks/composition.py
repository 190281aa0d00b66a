"""Price a tree of ten thousand releases, and keep a loss map: ``./run bench composition``.

docs/benchmarks/composition.md says what is measured and how to read it.
"""

from __future__ import annotations

import contextlib
import sys
from dataclasses import asdict
from typing import Any

from benchmarks.bars.composition import bars, notes
from benchmarks.measure import Result, machine, read_options, run_all
from benchmarks.peers.environment import Peers, PeersUnavailable
from benchmarks.report import bar_list, table, write_json
from benchmarks.rows.composition import CHARGES, GOOGLE, Field, tree
from discreet.accounting import Leaf


def main() -> int:
    """Measure, print and judge; return the exit status."""
    options = read_options("composition", __doc__, rounds=3, quick=1)
    described = machine()
    missing = None
    with contextlib.ExitStack() as stack:
        peers = None
        if options.peers:
            try:
                peers = stack.enter_context(Peers("accounting"))
                described["peers"] = peers.versions
            except PeersUnavailable as failure:
                missing = str(failure)
        field = Field(peers, CHARGES // 10 if options.quick else CHARGES)
        results = run_all(field.races(), options.rounds)
    verdict, targets = bars(results, field.brackets, field.answers), notes(results)
    print_report(described, results, missing)
    for name, bracket in field.brackets.items():
        print(f"{name}: epsilon {bracket.high:.9f}, known to {bracket.width:.0e}")
    print(f"\nBars\n{bar_list(verdict)}")
    print(f"\nTargets in absolute time, which depend on the machine\n{bar_list(targets)}")
    if options.json:
        write_json(
            options.json,
            machine=described,
            results=results,
            bars=[*verdict, *targets],
            brackets={name: asdict(bracket) for name, bracket in field.brackets.items()},
        )
    return int(missing is not None or any(bar.passed is False for bar in verdict))


def print_report(described: dict[str, Any], results: list[Result], missing: str | None) -> None:
    """Print how long everything took, on what."""
    installed = {"python": described["python"], **described["versions"]}
    installed |= described.get("peers", {})
    leaves = sum(isinstance(node, Leaf) for node in tree().walk())
    print(f"{described['cpu']}, {described['cores']} cores, {described['date'][:10]}")
    print(", ".join(f"{name} {number}" for name, number in installed.items()))
    print(f"CPU time, best of all rounds, one thread; the tree has {leaves:,} leaves.\n")
    print(table(results, {GOOGLE: "dp_accounting, all paths"}))
    if missing is not None:
        print(f"\nNO FIGURES FOR dp_accounting: {missing}")
        print("Give --no-peers to leave it out on purpose.")


if __name__ == "__main__":
    try:
        sys.exit(main())
    except PeersUnavailable as failure:  # in the middle of a race
        sys.exit(f"bench composition: {failure}")
