"""Private training against plain training and Opacus, by time and noise: ``./run bench learning``.

docs/benchmarks/learning.md says what is measured and how to read it.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict

from benchmarks.bars.learning import bars
from benchmarks.measure import Result, machine, read_options, run_race
from benchmarks.peers.environment import Peers, PeersUnavailable
from benchmarks.report import NOTHING, aligned, bar_list, figures
from benchmarks.rows.learning import MODES, SIGMAS, noise_rows, races


def main() -> int:
    """Measure, print and judge; return the exit status."""
    options = read_options("learning", __doc__, rounds=5, quick=2)
    described = machine()
    peers = _peers() if options.peers else None
    steps = []
    for race in races(peers, quick=options.quick):
        print(f"{race.name} ...", file=sys.stderr)
        steps.append(run_race(race, options.rounds))
    if peers is not None:
        described["versions"] |= peers.versions
        peers.__exit__(None, None, None)
    noise = [noise_rows(*run) for run in SIGMAS]
    verdict = bars(steps, noise)
    print(f"{described['cpu']}, one thread, {described['date'][:10]}, {described['versions']}\n")
    print(_table(steps))
    print(f"\nBars\n{bar_list(verdict)}")
    if options.json:
        written = {
            "machine": described,
            "steps": [asdict(each) for each in steps],
            "noise": noise,
            "bars": [asdict(bar) for bar in verdict],
        }
        options.json.write_text(json.dumps(written, indent=1) + "\n", encoding="utf-8")
    return int(any(bar.passed is False and bar.binding for bar in verdict))


def _peers() -> Peers | None:
    """Start Opacus in its own environment, or say why not."""
    try:
        return Peers("learning_opacus")
    except PeersUnavailable as problem:
        print(f"without Opacus: {problem}", file=sys.stderr)
        return None


def _table(steps: list[Result]) -> str:
    """Lay out CPU milliseconds of a plain step, and the others as multiples of it."""
    others = ("sums alone", "discreet", *MODES)
    head = ["", "batch", "plain, ms", *others]
    rows = [
        [
            result.name,
            f"{result.size:.0f}",
            figures(result.seconds["plain"] * 1e3),
            *[_ratio(result, name) for name in others],
        ]
        for result in steps
    ]
    return aligned(head, rows)


def _ratio(result: Result, name: str) -> str:
    seconds = result.seconds.get(name, float("inf"))
    return NOTHING if seconds == float("inf") else f"{seconds / result.seconds['plain']:.2f}"


if __name__ == "__main__":
    sys.exit(main())
