"""The error of a count against its price, with the floor of sampling error.

Trust: public.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Final

from discreet.charts import NARROW, Axis, Chart, Picture
from discreet.exact import whole
from discreet.explain.words import rounded_up
from discreet.mechanisms import Laplace

_EPSILONS: Final = tuple(Fraction(10**k) * step for k in (-3, -2, -1, 0) for step in (1, 2, 5))
_NORMAL: Final = 1.96
_FLOOR: Final = "sampling: no budget helps below it"


def price_of_error(*, people: int, distance: int = 1) -> Picture:
    """Draw the 95 % error of a count against epsilon.

    A count of a sample errs anyway: of ``people`` drawn from a large population, half of whom have
    the property, by 1.96 sqrt(people) / 2.  More budget does not help below that floor.

    Args:
        people: how many are in the data, roughly; a public guess.
        distance: by how much one unit moves the count.

    >>> price_of_error(people=10_000).svg().count("<polyline")
    2
    """
    size = whole(people, name="people", low=1)
    floor = _NORMAL * math.sqrt(size) / 2
    points = [
        (float(epsilon), float(Laplace(scale=distance / epsilon).error(confidence="0.95")))
        for epsilon in _EPSILONS
    ]
    low = 10.0 ** math.floor(math.log10(max(1.0, min(floor, points[-1][1]))))
    high = 10.0 ** math.ceil(math.log10(max(floor, points[0][1])))
    ticks = [10.0**k for k in range(round(math.log10(low)), round(math.log10(high)) + 1)]
    chart = Chart(
        width=NARROW,
        title=f"Error of a count of {size:,} people, and its price",
        x=Axis(label="epsilon", low=1e-3, high=5, ticks=(1e-3, 1e-2, 1e-1, 1), log=True),
        y=Axis(label="± with 95 %", low=low, high=high, ticks=ticks, log=True),
        description=(
            "; ".join(f"epsilon {x:g}: ± {rounded_up(y, 4)}" for x, y in points)
            + f"; the sample itself errs by ± {floor:.4g}, whatever is paid"
        ),
    )
    chart.line([(x, max(y, low)) for x, y in points], color=0, label="noise")
    chart.line([(1e-3, floor), (5, floor)], color=1, label=_FLOOR, dashed=True)
    return chart.picture()
