"""What private training must reach."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from benchmarks.measure import Result
from benchmarks.report import Bar
from benchmarks.rows.learning import MODES

TIMES = {"MLP": 2.0, "linear": 2.5, "CNN": 1.5, "transformer": 1.9, "WRN-16-4": 1.65}
"""CPU time of a step's sums, in float64, over that of a plain step."""
SECONDS = 0.3
"""CPU time to find the noise of a run."""


def bars(steps: Sequence[Result], sigmas: Sequence[Mapping[str, float]]) -> list[Bar]:
    """Judge the steps against plain ones and Opacus, and noise against another accountant."""
    return [
        *[_against_plain(result) for result in steps],
        *[_against_opacus(result) for result in steps],
        *[bar for row in sigmas for bar in _noise(row)],
    ]


def _against_plain(result: Result) -> Bar:
    ratio = result.seconds["sums alone"] / result.seconds["plain"]
    limit = TIMES[result.name]
    return Bar(
        text=f"{result.name}: clipped sums in float64 take at most {limit} plain steps",
        measured=f"{ratio:.2f}",
        passed=ratio <= limit,
        binding=True,
    )


def _against_opacus(result: Result) -> Bar:
    others = {mode: result.seconds[mode] for mode in MODES if mode in result.seconds}
    best = min(others, key=others.__getitem__, default=None)
    ratio = None if best is None else others[best] / result.seconds["discreet"]
    return Bar(
        text=f"{result.name}: a step with exact noise is no slower than Opacus's default",
        measured="-"
        if ratio is None
        else f"{others['hooks'] / result.seconds['discreet']:.2f} times as fast"
        f" ({best}, its fastest: {ratio:.2f})",
        passed=None if ratio is None else others["hooks"] >= result.seconds["discreet"],
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
