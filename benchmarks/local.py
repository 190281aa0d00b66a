"""Race local randomizers against pure-ldp and multi-freq-ldpy: ``./run bench local``.

docs/benchmarks/local.md says what is measured and how to read it.
"""

from __future__ import annotations

import contextlib
import sys
from dataclasses import asdict
from typing import Any

from benchmarks.bars.local import bars, means, notes
from benchmarks.measure import Result, machine, read_options, run_all
from benchmarks.peers.environment import Peers, PeersUnavailable
from benchmarks.report import OURS, aligned, bar_list, table, write_json
from benchmarks.rows.local import MULTI, PURE, QUICK, Errors, Field, Sizes, mean_variances

ENVIRONMENTS = {PURE: "local_pure", MULTI: "local_multi"}


def main() -> int:
    """Measure, print and judge; return the exit status."""
    options = read_options("local", __doc__, rounds=5, quick=2)
    described = machine()
    missing = None
    with contextlib.ExitStack() as stack:
        peers: dict[str, Peers] = {}
        if options.peers:
            try:
                for library, name in ENVIRONMENTS.items():
                    peers[library] = stack.enter_context(Peers(name))
                described["peers"] = {name: peer.versions for name, peer in peers.items()}
            except PeersUnavailable as failure:
                missing = str(failure)
        sizes = QUICK if options.quick else Sizes()
        field = Field(sizes, peers)
        results = run_all(field.races(), options.rounds)
        errors = list(field.errors())
        memory = field.beyond_a_chunk()
    verdict = [*bars(results, errors, memory), *means(mean_variances())]
    targets = notes(results, sizes.crowd)
    print_report(described, results, errors, missing)
    print(f"\nBars\n{bar_list(verdict)}")
    print(f"\nTargets in absolute time, which depend on the machine\n{bar_list(targets)}")
    if options.json:
        write_json(
            options.json,
            machine=described,
            results=results,
            bars=[*verdict, *targets],
            errors=[asdict(row) for row in errors],
        )
    return int(missing is not None or any(bar.passed is False for bar in verdict))


def print_report(
    described: dict[str, Any], results: list[Result], errors: list[Errors], missing: str | None
) -> None:
    """Print what was measured, on what."""
    installed = {"python": described["python"], **described["versions"]}
    for library, versions in described.get("peers", {}).items():
        installed[library] = versions[library]
    print(f"{described['cpu']}, {described['cores']} cores, {described['date'][:10]}")
    print(", ".join(f"{name} {number}" for name, number in installed.items()))
    print("CPU time for one report; best of all rounds, one thread.\n")
    print(table(results, {PURE: PURE, MULTI: MULTI}))
    print("\nError of estimated shares: mean square times reports, at epsilon 1, Zipf's law\n")
    rows = [
        [
            row.oracle,
            "",
            f"{row.formula:.3f}",
            *(
                f"{row.measured[name]:.3f}" if name in row.measured else "-"
                for name in (OURS, PURE, MULTI)
            ),
        ]
        for row in errors
    ]
    print(aligned(["", "", "formula", OURS, PURE, MULTI], rows))
    if missing is not None:
        print(f"\nNO FIGURES FOR pure-ldp AND multi-freq-ldpy: {missing}")
        print("Give --no-peers to leave them out on purpose.")


if __name__ == "__main__":
    try:
        sys.exit(main())
    except PeersUnavailable as failure:  # in the middle of a race
        sys.exit(f"bench local: {failure}")
