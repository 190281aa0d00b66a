"""The pictures of the suite: claimed against measured, and the curve of reconstruction.

Trust: public.

No dot stands for an estimate: half of them are above the truth, and would look like violations.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import erfc, sqrt
from typing import Final

from discreet.charts import HEIGHT, Axis, Chart
from discreet_audit.suite.figures import Point
from discreet_audit.suite.rows import NO_EVIDENCE, Line

_STEP: Final = 17
_FRAME: Final = 130
_WIDEST: Final = (1.5, 3.0)
_THINNEST: Final = 0.01
_LONGEST: Final = 44
_SHARES: Final = (0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)


def claimed_and_measured(lines: Sequence[Line], *, broken: bool = False) -> Chart:
    """Draw every certified bound as a multiple of what was claimed: a bar for each row.

    Estimates are left out: half of them are above the truth, and would look like violations.
    """
    shown = [line for line in lines if line.measured.claimed and line.broken == broken]
    names = [_short(line.name) for line in shown]
    widest = _WIDEST[broken]
    ticks = [step * widest / 6 for step in range(7)]
    chart = Chart(
        title="What is certified, as a multiple of what is claimed",
        x=Axis(
            label="certified lower bound of what is lost / what is claimed",
            low=0,
            high=widest,
            ticks=ticks,
            names=[f"{tick:g}" for tick in ticks[:-1]] + [f"≥ {widest:g}"],
        ),
        y=Axis(label="", low=len(shown) - 0.5, high=-0.5, ticks=range(len(shown)), names=names),
        left=330,
        height=_FRAME + _STEP * max(len(shown), 1),
    )
    chart.line([(1, -0.5), (1, len(shown) - 0.5)], color=2, label="claimed", dashed=True)
    explained: set[str] = set()
    for place, line in enumerate(shown):
        label, color = _drawn(line)
        chart.line(
            [(0, place), (_multiple(line, widest), place)],
            color=color,
            label="" if label in explained else label,
        )
        explained.add(label)
    return chart


def _drawn(line: Line) -> tuple[str, int]:
    """Return what a bar means, and its color."""
    if line.broken:
        return "broken twins", 1
    if not line.passed:
        return "VIOLATED", 1
    return ("no evidence", 3) if line.verdict == NO_EVIDENCE else ("kept", 0)


def _multiple(line: Line, widest: float) -> float:
    """Return the bound over the claim, and at least enough to be seen."""
    multiple = line.measured.lower / (line.measured.claimed or 1.0)
    return min(max(multiple, _THINNEST), widest)


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
        shares = [(point.noise, point.share) for point in points if point.attack == attack]
        chart.dots(shares, color=3 * color, label=attack if shares else "")
    released = [point for point in points if point.attack.startswith("release")]
    for point in released:
        chart.whisker(point.noise, point.share, point.ceiling, color=1)
    chart.dots([(point.noise, point.share) for point in released], color=1, label="releases")
    return chart
