"""Race certified epsilons against dp_accounting and prv-accountant: ``./run bench accounting``.

docs/benchmarks/accounting.md says what is measured and how to read it.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from benchmarks.bars.accounting import bars, notes
from benchmarks.measure import Result, machine, read_options, run_all
from benchmarks.peers.environment import Peers, PeersUnavailable
from benchmarks.report import NOTHING, aligned, bar_list, table, write_json
from benchmarks.rows.accounting import CASES, DELTAS, GOOGLE, PRV, QUICK, Field, row, sigma
from discreet.loss.rounding import Bracket

COLUMNS = {GOOGLE: "dp_accounting", PRV: "prv"}
LARGE = 1e-3
"""A delta at which only the width and the truth of brackets are looked at."""

Answers = Mapping[str, Bracket]
Theirs = Mapping[tuple[str, str], float]


def main() -> int:
    """Measure, print and judge; return the exit status."""
    options = read_options("accounting", __doc__, rounds=5, quick=2)
    described = machine()
    missing = None
    deltas = QUICK if options.quick else DELTAS
    with contextlib.ExitStack() as stack:
        peers = None
        if options.peers:
            try:
                peers = stack.enter_context(Peers("accounting"))
                described["peers"] = peers.versions
            except PeersUnavailable as failure:
                missing = str(failure)
        field = Field(peers, deltas)
        results = run_all(field.races(), options.rounds)
    judged = (LARGE, *deltas)
    answers = {row(case, delta): case.answer(delta) for case in CASES for delta in judged}
    verdict, targets = bars(results, answers, judged), notes(results)
    print_report(described, results, missing)
    print(f"\n{epsilons(answers, field.answers, deltas)}")
    print(f"\n{calibrated(results, field.answers)}")
    print(f"\nBars\n{bar_list(verdict)}")
    print(f"\nTargets in absolute time, which depend on the machine\n{bar_list(targets)}")
    if options.json:
        write_json(
            options.json,
            machine=described,
            results=results,
            bars=[*verdict, *targets],
            brackets={name: asdict(bracket) for name, bracket in answers.items()},
            others=[
                {"row": name, "who": who, "value": x} for (name, who), x in field.answers.items()
            ],
        )
    return int(missing is not None or any(bar.passed is False for bar in verdict))


def print_report(described: dict[str, Any], results: list[Result], missing: str | None) -> None:
    """Print how long everything took, on what."""
    installed = {"python": described["python"], **described["versions"]}
    installed |= described.get("peers", {})
    print(f"{described['cpu']}, {described['cores']} cores, {described['date'][:10]}")
    print(", ".join(f"{name} {number}" for name, number in installed.items()))
    print("CPU time for one answer; best of all rounds, one thread.\n")
    print(table(results, COLUMNS))
    if missing is not None:
        print(f"\nNO FIGURES FOR dp_accounting AND prv-accountant: {missing}")
        print("Give --no-peers to leave them out on purpose.")


def epsilons(answers: Answers, theirs: Theirs, deltas: tuple[float, ...]) -> str:
    """Lay out the brackets, and how far above the lower end the others are."""
    head = ["", "delta", "epsilon, upper end", "width"]
    head += [f"{name}, too high by" for name in COLUMNS.values()]
    rows = []
    for case in CASES:
        for delta in deltas:
            name = row(case, delta)
            ours = answers[name]
            cells = [case.name, f"{delta:g}", f"{ours.high:.9f}", f"{ours.width:.0e}"]
            rows.append([*cells, *(_off(ours, theirs.get((name, who))) for who in COLUMNS)])
    return aligned(head, rows)


def _off(ours: Bracket, other: float | None) -> str:
    """Write how far off another epsilon is, and whether it is below the truth."""
    if other is None:
        return NOTHING
    if other < ours.low:
        return f"INVALID {other - ours.low:.1e}"
    return f"{max(0.0, other - ours.high):.1e}"


def calibrated(results: list[Result], theirs: Theirs) -> str:
    """Say which sigmas were found."""
    name = next(result.name for result in results if result.kind == "calibrate")
    other = theirs.get((name, GOOGLE))
    text = f"{name}: {float(sigma()):.7f}"
    return text if other is None else f"{text}, dp_accounting {other:.7f}"


if __name__ == "__main__":
    try:
        sys.exit(main())
    except PeersUnavailable as failure:  # in the middle of a race
        sys.exit(f"bench accounting: {failure}")
