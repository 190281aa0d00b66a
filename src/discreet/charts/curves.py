"""Pictures of privacy curves: delta(epsilon), and the trade-off between false alarms and misses.

Trust: public.

A plot is data: points of the curves, as upper bounds (of misses: lower bounds).  It is drawn as SVG
text by this package, or into axes of matplotlib, which the caller brings along.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, final

from discreet.charts import LIGHT, Axis, Chart, Points
from discreet.errors import OutOfRange, WrongKind

_FLOOR: Final = 1e-9  # deltas below it are not shown
_DELTAS: Final = (*(10.0**-k for k in range(9, 0, -1)), 0.2, 0.5)
_STEPS: Final = 40
_WIDEST: Final = 20.0  # an epsilon beyond which no delta is looked for
_ALARMS: Final = (0.0, 0.002, 0.01, *(k / 50 for k in range(1, 51)))
_BEYOND: Final = 1.25
_LONGEST: Final = 16


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class CurvePlot:
    """Curves to be drawn: ``svg()`` is a picture as text, ``draw(axes)`` is for matplotlib.

    >>> from discreet.loss import Pure
    >>> picture = Pure(epsilon=1).plot()
    >>> picture.x_label, picture.lines[""][0]
    ('epsilon', (0.0, 0.4621171572600098))
    >>> picture.svg().startswith("<svg")
    True
    """

    title: str
    x_label: str
    y_label: str
    lines: Mapping[str, Points]
    log: bool
    diagonal: bool = False

    def svg(self) -> str:
        """Return the picture as SVG text, which browsers and notebooks show."""
        widest = max((x for points in self.lines.values() for x, _ in points), default=1.0) or 1.0
        ticks = _ticks(widest)
        chart = Chart(
            title=self.title,
            x=Axis(label=self.x_label, low=0, high=max(widest, ticks[-1]), ticks=ticks),
            y=Axis(
                label=self.y_label,
                low=_FLOOR if self.log else 0,
                high=1,
                ticks=(1e-9, 1e-6, 1e-3, 1) if self.log else (0, 0.25, 0.5, 0.75, 1),
                log=self.log,
            ),
        )
        if self.diagonal:
            chart.line([(0, 1), (1, 0)], color=len(LIGHT) - 1, label="nothing lost", dashed=True)
        for color, (name, points) in enumerate(self.lines.items()):
            label = name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…"
            chart.line(points, color=color, label=label)
        return chart.svg()

    def _repr_svg_(self) -> str:
        return self.svg()

    def draw(self, axes: Any) -> Any:
        """Draw into axes of matplotlib, such as ``plt.gca()``, and return them."""
        if not hasattr(axes, "set_yscale"):
            raise WrongKind(
                f"a {type(axes).__name__} is not a set of axes; give matplotlib.pyplot.gca(), or "
                "one of what subplots() returned."
            )
        if self.diagonal:
            axes.plot([0, 1], [1, 0], linestyle="--", color="gray", label="nothing lost")
        for name, points in self.lines.items():
            axes.plot([x for x, _ in points], [y for _, y in points], label=name or None)
        axes.set(title=self.title, xlabel=self.x_label, ylabel=self.y_label)
        axes.set_yscale("log" if self.log else "linear")
        if self.diagonal or any(self.lines):
            axes.legend()
        return axes


def plot(curves: Mapping[str, Any], kind: str = "delta") -> CurvePlot:
    """Plot up to three losses or prices, each with its name, in one picture.

    Args:
        curves: losses, or prices of trees, by name.
        kind: "delta" for delta(epsilon), "tradeoff" for misses against false alarms.

    >>> from discreet.loss import GaussianDP, Laplace
    >>> plot({"Laplace": Laplace(scale=1), "Gauss": GaussianDP(mu=1)}, "tradeoff").y_label
    'missed detections'
    """
    if kind not in {"delta", "tradeoff"}:
        raise OutOfRange(
            "kind is neither 'delta' nor 'tradeoff'; give kind='delta' for delta(epsilon), "
            "kind='tradeoff' for hypothesis tests."
        )
    known = isinstance(curves, Mapping) and all(hasattr(c, "tradeoffs") for c in curves.values())
    if not known or not 1 <= len(curves) < len(LIGHT):
        raise WrongKind(
            f"curves is not a dict of one to {len(LIGHT) - 1} losses; give {{'name': loss, ...}}; "
            "draw(axes) puts several plots into one picture."
        )
    if kind == "delta":
        return CurvePlot(
            title="Privacy profile",
            x_label="epsilon",
            y_label="delta",
            lines={name: _profile(curve) for name, curve in curves.items()},
            log=True,
        )
    return CurvePlot(
        title="Trade-off of tests",
        x_label="false alarms",
        y_label="missed detections",
        lines={
            name: list(zip(_ALARMS, map(float, curve.tradeoffs(_ALARMS)), strict=True))
            for name, curve in curves.items()
        },
        log=False,
        diagonal=True,
    )


def _profile(curve: Any) -> Points:
    """Return points at even steps of epsilon and of the logarithm of delta, by rising epsilon."""
    reached = list(zip(map(float, curve.epsilons(_DELTAS)), _DELTAS, strict=True))
    shown = [(epsilon, delta) for epsilon, delta in reached if 0 < epsilon <= _WIDEST]
    end = max((epsilon for epsilon, _ in shown), default=1.0)
    if reached[0][0] > end:  # some delta is never reached: show where the curve stays
        end *= _BEYOND
    grid = [end * step / _STEPS for step in range(_STEPS + 1)]
    points = [*shown, *zip(grid, map(float, curve.deltas(grid)), strict=True)]
    return _falling((epsilon, delta) for epsilon, delta in points if delta >= _FLOOR)


def _falling(points: Iterable[tuple[float, float]]) -> Points:
    """Sort points, and drop those that rounding put above one before them."""
    falling: list[tuple[float, float]] = []
    for epsilon, delta in sorted(points, key=lambda point: (point[0], -point[1])):
        if not falling or delta <= falling[-1][1]:
            falling.append((epsilon, delta))
    return falling


def _ticks(high: float) -> tuple[float, ...]:
    """Return four to eight round numbers from zero to at least a number, or just below."""
    step = 10.0 ** math.floor(math.log10(high))
    size = next(part for part in (step / 5, step / 2, step, 2 * step) if high / part <= 8)
    return tuple(round(k * size, 10) for k in range(math.floor(high / size + 1e-9) + 1))
