"""Private training against plain training and Opacus, by time and noise: ``./run bench learning``.

docs/benchmarks/learning.md says what is measured and how to read it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import asdict
from typing import Final

from benchmarks.bars.learning import around, bars
from benchmarks.measure import ROOT, Result, machine, read_options, run_race
from benchmarks.peers.environment import Peers, PeersUnavailable
from benchmarks.report import NOTHING, aligned, bar_list, figures
from benchmarks.rows.learning import (
    BATCHES,
    MODES,
    SIGMAS,
    draw_seconds,
    import_race,
    loads_torch,
    memory_row,
    noise_rows,
)

_KEPT: Final = {"MALLOC_TRIM_THRESHOLD_": str(1 << 30), "MALLOC_MMAP_THRESHOLD_": str(1 << 25)}
"""Has the allocator of every contender keep what is freed: those that share a process would pay for
pages that others have given back."""


def main() -> int:
    """Measure, print and judge; return the exit status."""
    options = read_options("learning", __doc__, rounds=5, quick=2)
    described = machine()
    versions = _versions() if options.peers else {}
    described["versions"] |= versions
    names = list(BATCHES)[:3] if options.quick else list(BATCHES)
    steps, memory = [], {}
    for name in names:
        print(f"{name} ...", file=sys.stderr)
        steps.append(_raced(name, options.rounds, peers=bool(versions)))
        memory[name] = memory_row(name, peers=bool(versions))
    noise = [noise_rows(*run) for run in SIGMAS]
    imports, draw = run_race(import_race(), options.rounds), draw_seconds()
    verdict = bars(steps, noise, memory) + around(imports, draw, torch=loads_torch())
    print(f"{described['cpu']}, one thread, {described['date'][:10]}, {described['versions']}\n")
    print(_table(steps, memory))
    print(f"\nBars\n{bar_list(verdict)}")
    if options.json:
        written = {
            "machine": described,
            "steps": [asdict(each) for each in steps],
            "memory": memory,
            "noise": noise,
            "imports": imports.seconds,
            "draw": draw,
            "bars": [asdict(bar) for bar in verdict],
        }
        options.json.write_text(json.dumps(written, indent=1) + "\n", encoding="utf-8")
    return int(any(bar.passed is False and bar.binding for bar in verdict))


def _versions() -> dict[str, str]:
    """Return what is installed beside Opacus in its own environment, or say why it is not."""
    try:
        with Peers("learning_opacus") as process:
            return process.versions
    except PeersUnavailable as problem:
        print(f"without Opacus: {problem}", file=sys.stderr)
        return {}


def _raced(name: str, rounds: int, *, peers: bool) -> Result:
    """Race one model in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.learning_race", name, str(rounds), str(int(peers))]
    kept = os.environ | _KEPT
    done = subprocess.run(
        command, cwd=ROOT, env=kept, stdout=subprocess.PIPE, check=True, text=True
    )
    return Result(**json.loads(done.stdout))


def _table(steps: list[Result], memory: Mapping[str, Mapping[str, float]]) -> str:
    """Lay out CPU milliseconds of a plain step, and the others as multiples of it; megabytes."""
    others = ("single", "sums alone", "discreet", *MODES)
    head = ["", "batch", "plain, ms", *others, "plain, MB", "discreet", "hooks"]
    rows = [
        [
            result.name,
            f"{result.size:.0f}",
            figures(result.seconds["plain"] * 1e3),
            *[_ratio(result, name) for name in others],
            *[_megabytes(memory[result.name], who) for who in ("plain", "discreet", "hooks")],
        ]
        for result in steps
    ]
    return aligned(head, rows)


def _ratio(result: Result, name: str) -> str:
    seconds = result.seconds.get(name, float("inf"))
    return NOTHING if seconds == float("inf") else f"{seconds / result.seconds['plain']:.2f}"


def _megabytes(memory: Mapping[str, float], who: str) -> str:
    return f"{memory[who] / 1e6:.0f}" if who in memory else NOTHING


if __name__ == "__main__":
    sys.exit(main())
