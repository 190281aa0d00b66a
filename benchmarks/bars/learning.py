"""What private training must reach."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from benchmarks.measure import Result
from benchmarks.report import Bar
from benchmarks.rows.learning import MODES

TIMES = {
    "MLP": 2.0,
    "linear": 2.5,
    "CNN": 1.5,
    "transformer": 1.9,
    "LoRA": 1.15,
    "WRN-16-4": 1.65,
}
"""CPU time of a step's sums, in float64, over that of a plain step."""
SINGLE = {"MLP": 1.4, "linear": 1.25, "CNN": 1.25, "transformer": 1.35, "LoRA": 1.15}
"""The same with sums in float32."""
MEMORY = {"CNN": 2.5, "WRN-16-4": 2.5}
"""What a step with exact noise adds to memory, over what a plain step does; 1.6 for others."""
IMPORT = 0.03
DRAW = 12e-9
SECONDS = 0.3
"""CPU time to find the noise of a run."""


def bars(
    steps: Sequence[Result],
    sigmas: Sequence[Mapping[str, float]],
    memory: Mapping[str, Mapping[str, float]],
) -> list[Bar]:
    """Judge the steps against plain ones and Opacus, and noise against another accountant."""
    return [
        *[_against_plain(result, "sums alone", TIMES[result.name]) for result in steps],
        *[_against_plain(r, "single", SINGLE[r.name]) for r in steps if r.name in SINGLE],
        *[_memory(name, found) for name, found in memory.items()],
        *[_against_opacus(result) for result in steps],
        *[bar for row in sigmas for bar in _noise(row)],
    ]


def around(imports: Result, draw: float, *, torch: bool) -> list[Bar]:
    """Judge the import of the room, and its noise."""
    more = imports.seconds["rooms"] - imports.seconds["discreet"]
    return [
        Bar(
            text=f"importing models and torch takes at most {IMPORT * 1e3:.0f} ms more",
            measured=f"{more * 1e3:.0f} ms",
            passed=more <= IMPORT,
            binding=False,
        ),
        Bar(
            text="import discreet.torch loads neither torch nor scikit-learn",
            measured="it does" if torch else "it does not",
            passed=not torch,
            binding=True,
        ),
        Bar(
            text=f"an exact draw takes at most {DRAW * 1e9:.0f} ns of a core",
            measured=f"{draw * 1e9:.1f} ns",
            passed=draw <= DRAW,
            binding=False,
        ),
    ]


def _against_plain(result: Result, ours: str, limit: float) -> Bar:
    ratio = result.seconds[ours] / result.seconds["plain"]
    kind = "in float32" if ours == "single" else "in float64"
    return Bar(
        text=f"{result.name}: clipped sums {kind} take at most {limit} plain steps",
        measured=f"{ratio:.2f}",
        passed=ratio <= limit,
        binding=True,
    )


def _memory(name: str, found: Mapping[str, float]) -> Bar:
    limit = MEMORY.get(name, 1.6)
    return Bar(
        text=f"{name}: a step takes at most {limit} times the memory of a plain one",
        measured=f"{found['discreet'] / found['plain']:.2f}, {found['discreet'] / 1e6:.0f} MB",
        passed=found["discreet"] <= limit * found["plain"],
        binding=True,
    )


def _against_opacus(result: Result) -> Bar:
    others = {mode: result.seconds[mode] for mode in MODES if mode in result.seconds}
    best = min(others, key=others.__getitem__, default=None)
    ratio = None if best is None else others[best] / result.seconds["discreet"]
    return Bar(
        text=f"{result.name}: a step with exact noise is faster than Opacus in any mode",
        measured="-" if ratio is None else f"{ratio:.2f} times as fast as {best}, its fastest",
        passed=None if ratio is None else ratio >= 1,
        binding=True,
    )


def _noise(row: Mapping[str, float]) -> list[Bar]:
    run = f"{row['steps']:.0f} steps at epsilon {row['epsilon']:g}"
    other = row.get("dp_accounting")
    return [
        Bar(
            text=f"{run}: noise is found in {SECONDS} s of CPU",
            measured=f"{row['seconds']:.2f} s",
            passed=row["seconds"] <= SECONDS,
            binding=False,
        ),
        Bar(
            text=f"{run}: no more noise than dp_accounting asks for",
            measured="-" if other is None else f"{row['sigma']:.5f} against {other:.5f}",
            passed=None if other is None else row["sigma"] <= other * 1.000001,
            binding=True,
        ),
    ]
