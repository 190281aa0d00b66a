"""The catch rate of the best alarm against its false alarms, with the line of perfect privacy.

Trust: public.

The best catch rate is concave in the false alarms, so that straight lines between known points
would run below it.  The line that is drawn goes around: between two points it follows the lines
through their neighbors, and at the first two a step.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise
from typing import Final

from discreet.charts import NARROW, Axis, Chart, Picture, Points
from discreet.explain.guesses import Guesses
from discreet.explain.words import of_hundred

_ALARMS: Final = tuple(
    Fraction(k, 1000) for k in (1, 5, 10, 20, 50, 100, 200, 350, 500, 700, 900, 990)
)
_STRAIGHT: Final = 1e-6
_TICKS: Final = (0, 0.25, 0.5, 0.75, 1)
_TOLD: Final = (0.01, 0.05, 0.1, 0.5)


def catch_curve(guesses: Guesses, *, title: str = "How many an alarm catches") -> Picture:
    """Draw how many units an alarm catches, at most, for each rate of false alarms.

    >>> from discreet.loss import Pure
    >>> catch_curve(Guesses(Pure(epsilon=1))).svg().count("<polyline")
    2
    """
    known = [(float(alarm), guesses.caught(alarm)) for alarm in _ALARMS]
    chart = Chart(
        width=NARROW,
        title=title,
        x=Axis(label="false alarms", low=0, high=1, ticks=_TICKS),
        y=Axis(label="caught, at most", low=0, high=1, ticks=_TICKS),
        description="; ".join(
            f"with {100 * alarm:g} in 100 false alarms {of_hundred(caught)} are caught"
            for alarm, caught in known
            if alarm in _TOLD
        ),
    )
    chart.line(list(points_above(known)), color=0, label="these answers")
    chart.line([(0, 0), (1, 1)], color=1, label="perfect privacy", dashed=True)
    return chart.picture()


def points_above(known: Points) -> Iterator[tuple[float, float]]:
    """Yield a line from 0 to 1 that is nowhere below a concave curve through known points.

    >>> list(points_above([(0.25, 0.5), (0.5, 0.75)]))
    [(0.0, 0.5), (0.25, 0.5), (0.25, 0.75), (0.5, 0.75), (0.75, 1.0), (1.0, 1.0)]
    """
    yield 0.0, known[0][1]
    yield known[0]
    whole = [*known, (1.0, 1.0), (2.0, 1.0)]  # always sounding an alarm catches all
    for place, (left, right) in enumerate(pairwise(whole[:-1])):
        step = (left[0], right[1])  # the curve rises, so that a step is above it
        yield step if place == 0 else _corner(whole[place - 1], left, right, whole[place + 2])
        yield right


def _corner(
    before: tuple[float, float],
    left: tuple[float, float],
    right: tuple[float, float],
    after: tuple[float, float],
) -> tuple[float, float]:
    """Return where the lines through both pairs meet; the curve is below both between them."""
    rise = (left[1] - before[1]) / (left[0] - before[0])
    fall = (after[1] - right[1]) / (after[0] - right[0])
    if abs(rise - fall) < _STRAIGHT:
        return left
    meeting = (right[1] - left[1] + rise * left[0] - fall * right[0]) / (rise - fall)
    x = min(max(meeting, left[0]), right[0])
    lines = (left[1] + rise * (x - left[0]), right[1] - fall * (right[0] - x))
    return x, min(1.0, max(left[1], *(lines if x == meeting else (min(lines),))))
