"""A real number between two floats, and the margins that cover rounding.

Trust: kernel.

Definition.  ``Bracket(low, high)`` states that the true value v satisfies ``low <= v <= high``.
The accountant's answers are brackets; a privacy claim quotes ``high``.

Assumption (key ``floating-model``, checked against interval arithmetic by the tests).  Sums,
products, quotients and roots are rounded to nearest.  ``exp expm1 log log1p cos sin atan2 hypot``
err by at most 8 units in the last place of the result, and complex ``exp`` and ``log`` accordingly
in norm; ``erfcx`` and ``gammaln`` err by at most 2**-46 of their size.  docs/proofs/accounting.md
derives every bound from this; its sections are quoted beside each margin.

If an overflow leaves no number at all (NaN), a bound says nothing: it is infinite from above and
zero from below, never the other way round.  ``max(0.0, value)`` would take NaN for zero.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, final

import numpy as np
from numpy.typing import NDArray

from discreet.errors import OutOfRange


@final
@dataclass(frozen=True, slots=True)
class Bracket:
    """Two floats that enclose a number; the upper one may be infinite.

    >>> Bracket(0.25, 0.5).width
    0.25
    >>> 0.3 in Bracket(0.25, 0.5)
    True
    """

    low: float
    high: float

    def __post_init__(self) -> None:
        if not self.low <= self.high:
            raise OutOfRange(
                "the lower end of a bracket is above its upper end; give the smaller end first."
            )

    @property
    def width(self) -> float:
        """How far the ends are apart."""
        return 0.0 if self.low == self.high else self.high - self.low

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high

    def join(self, other: Bracket) -> Bracket:
        """Enclose the larger of two numbers."""
        return Bracket(max(self.low, other.low), max(self.high, other.high))

    @classmethod
    def largest(cls, brackets: Iterable[Bracket]) -> Bracket:
        """Enclose the largest of several numbers."""
        return functools.reduce(cls.join, brackets)

    def meet(self, other: Bracket) -> Bracket:
        """Enclose one number that is in both brackets."""
        return Bracket(max(self.low, other.low), min(self.high, other.high))

    def overlaps(self, other: Bracket) -> bool:
        """Return True if one number can be in both."""
        return self.low <= other.high and other.low <= self.high

    @classmethod
    def within(
        cls, low: float, high: float, *, floor: float = 0.0, ceil: float = math.inf
    ) -> Bracket:
        """Cut both ends to the range in which the number is known to lie.

        An end that is not a number (NaN) says nothing: it becomes that end of the range.
        """
        bottom = floor if math.isnan(low) else min(max(low, floor), ceil)
        return cls(bottom, ceil if math.isnan(high) else min(max(high, floor), ceil))


UNIT: Final = 2.0**-53
"""The relative error of one rounding to nearest."""

SPECIAL: Final = 2.0**-46
"""The relative error allowed to ``erfcx`` and ``gammaln``."""


TINIEST: Final = 1e-300
"""Stands for zero under a logarithm or in a quotient, and covers what underflows (section 1)."""

SUM_MARGIN: Final = 2.0**-50
"""8 units on a cumulant of a product: n K, ``fsum`` and the sum with a curve round once each."""

PRODUCT_MARGIN: Final = 1e-15
"""9 units: a few products and sums of numbers above zero (section 1)."""

LOG_MARGIN: Final = 1e-14
"""90 units: logarithms and exponentials of one order, added up (section 7)."""

CHORD_MARGIN: Final = 1e-14
"""90 units: one interpolation between the nodes of a polygon (section 12, polygons)."""

NODE_MARGIN: Final = 1e-13
"""900 units: the nodes of a polygon that was made from others (section 12, what is tabulated)."""

MOMENT_MARGIN: Final = 1e-13
"""900 units: ln of a sum of exponentials of cumulants (section 12, moments)."""

ORDERS_MARGIN: Final = 1e-12
"""9000 units: cumulants at orders up to 2000, and what is computed from them (section 4)."""

CUT_MARGIN: Final = 1e-9
"""On a bound of what is cut off, aliased or left out, which is negligible itself (section 4)."""


def bound_above(value: float) -> float:
    """Cut an upper bound on what is at least zero; one that is not a number is infinite."""
    return math.inf if math.isnan(value) else max(value, 0.0)


def bound_below(value: float) -> float:
    """Cut a lower bound on what is at least zero; one that is not a number is zero."""
    return 0.0 if math.isnan(value) else max(value, 0.0)


def quotient_up(top: int, bottom: int) -> float:
    """Return the smallest float that is at least a quotient of two positive integers."""
    try:
        nearest = top / bottom
    except OverflowError:
        return math.inf
    over, under = nearest.as_integer_ratio()
    return nearest if over * bottom >= top * under else math.nextafter(nearest, math.inf)


def reduced(phi: NDArray[np.complex128]) -> NDArray[np.complex128]:
    """Take the logarithm of a characteristic function, with zeros replaced by tiny numbers."""
    tiny = np.abs(phi) < TINIEST
    return np.asarray(np.log(np.where(tiny, TINIEST, phi)), np.complex128)
