"""Twenty-five dots: equally likely values of an answer.

Trust: public.  It is drawn from the distribution of the noise, before any data is read.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Final, Protocol

from discreet.charts import NARROW, Axis, Chart, Picture

DOTS: Final = 25
_TICKS: Final = 5


class QuantileFunction(Protocol):
    """A distribution that knows its quantiles, such as those of :mod:`discreet.noise`."""

    def quantile(self, p: Fraction, /) -> int:
        """Return the least value that is reached with probability at least p."""


def quantile_dots(noise: QuantileFunction, *, label: str = "how far off the answer is") -> Picture:
    """Draw where noise falls: each dot represents 4 in 100 possible answers.

    >>> from discreet.noise import DiscreteLaplace
    >>> quantile_dots(DiscreteLaplace(scale=2)).svg().count("<circle")
    26
    """
    places = [int(noise.quantile(Fraction(2 * k + 1, 2 * DOTS))) for k in range(DOTS)]
    heights: dict[int, int] = {}
    points = []
    width = max(1, (max(places) - min(places)) // 12)
    for place in places:
        column = place // width
        heights[column] = heights.get(column, 0) + 1
        points.append(((column + 0.5) * width if width > 1 else float(place), heights[column]))
    low, high = min(x for x, _ in points) - width, max(x for x, _ in points) + width
    most = max(heights.values())
    chart = Chart(
        width=NARROW,
        title="Where an answer would fall",
        x=Axis(
            label=label,
            low=low,
            high=high,
            ticks=[low + (high - low) * k / _TICKS for k in range(_TICKS + 1)],
            names=[f"{low + (high - low) * k / _TICKS:.3g}" for k in range(_TICKS + 1)],
        ),
        y=Axis(label="", low=0, high=most + 1, ticks=()),
        description="25 equally likely answers are off by " + ", ".join(map(str, places)),
    )
    chart.dots(points, color=0, label="each dot: 4 in 100 possible answers")
    return chart.picture()
