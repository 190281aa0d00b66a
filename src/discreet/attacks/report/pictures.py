"""Two pictures: claimed against measured, and the curve of reconstruction.

Trust: public.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from math import erfc, sqrt
from typing import Final

from discreet.attacks.suite.curve import Point
from discreet.attacks.suite.rows import Line
from discreet.charts import HEIGHT, Axis, Chart

__all__ = ["claimed_and_measured", "reconstruction_curve"]

_STEP: Final = 17
_FRAME: Final = 130
_WIDEST: Final = 3.0
_LONGEST: Final = 44
_SHARES: Final = (0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)


def claimed_and_measured(lines: Sequence[Line]) -> Chart:
    """Draw every bound as a multiple of what was claimed: kept promises stay left of 1."""
    shown = [line for line in lines if line.measured.claimed]
    names = [_short(line.name) for line in shown]
    chart = Chart(
        title="What is measured, as a multiple of what is claimed",
        x=Axis(
            label="bar: certified bound; dot: estimate",
            low=0,
            high=_WIDEST,
            ticks=(0, 0.5, 1, 1.5, 2, 2.5, 3),
            names=("0", "0.5", "1", "1.5", "2", "2.5", "≥ 3"),
        ),
        y=Axis(label="", low=len(shown) - 0.5, high=-0.5, ticks=range(len(shown)), names=names),
        left=330,
        height=_FRAME + _STEP * max(len(shown), 1),
    )
    for broken, label in ((False, "promises"), (True, "broken twins")):
        points = []
        for at, line in enumerate(shown):
            if line.broken == broken:
                low, near = _multiples(line)
                chart.bar(at, 0, low, color=int(broken))
                points.append((near, float(at)))
        chart.dots(points, color=int(broken), label=label if points else "")
    chart.line([(1, -0.5), (1, len(shown) - 0.5)], color=2, label="claimed")
    return chart


def _multiples(line: Line) -> tuple[float, float]:
    found = line.measured
    near = max(found.estimate, found.lower)
    low, high = (value / (found.claimed or 1.0) for value in (found.lower, near))
    return tuple(min(value, _WIDEST) if math.isfinite(value) else _WIDEST for value in (low, high))  # type: ignore[return-value]


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…"


def reconstruction_curve(points: Sequence[Point]) -> Chart:
    """Draw the share of bits that attacks guess, by how much noise there is."""
    chart = Chart(
        title="How many bits are guessed, by the noise of the counts",
        x=Axis(
            label="noise (standard deviation) / √n",
            low=0.03,
            high=100,
            ticks=(0.1, 1, 10, 100),
            names=("0.1", "1", "10", "100"),
            log=True,
        ),
        y=Axis(label="share of bits", low=0.4, high=1.02, ticks=_SHARES),
        height=HEIGHT,
    )
    noises = [10 ** (k / 20) for k in range(-30, 41)]
    theory = [(noise, 0.5 * erfc(-1 / (4 * noise) / sqrt(2))) for noise in noises]
    chart.line(theory, color=0, label="Φ(√n / 4σ)")
    for color, attack in enumerate(("Fourier", "linear program")):
        found = [(point.noise, point.share) for point in points if point.attack == attack]
        chart.dots(found, color=3 * color, label=attack if found else "")
    released = [point for point in points if point.attack.startswith("release")]
    chart.dots([(point.noise, point.share) for point in released], color=1, label="releases")
    for point in released:
        chart.whisker(point.noise, point.share, point.ceiling, color=1)
    return chart
