"""The catch rate of the best alarm against its false alarms, with the line of perfect privacy.

Trust: public.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Final

from discreet.charts import Axis, Chart
from discreet.explain.guesses import Guesses

_ALARMS: Final = tuple(
    Fraction(k, 1000) for k in (1, 5, 10, 20, 50, 100, 200, 350, 500, 700, 900, 990)
)
_TICKS: Final = (0, 0.25, 0.5, 0.75, 1)


def catch_curve(guesses: Guesses, *, title: str = "How often an alarm is right") -> str:
    """Draw how many units an alarm catches, at most, for each rate of false alarms.

    >>> from discreet.loss import Pure
    >>> catch_curve(Guesses(Pure(epsilon=1))).count("<polyline")
    2
    """
    points = [(0.0, 0.0), *((float(alarm), guesses.caught(alarm)) for alarm in _ALARMS), (1.0, 1.0)]
    chart = Chart(
        title=title,
        x=Axis(label="false alarms", low=0, high=1, ticks=_TICKS),
        y=Axis(label="caught, at most", low=0, high=1, ticks=_TICKS),
    )
    chart.line(points, color=0, label="these answers")
    chart.line([(0, 0), (1, 1)], color=1, label="perfect privacy", dashed=True)
    return chart.svg()
