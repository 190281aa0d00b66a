"""The model of floating point on which the error bounds rest.

Trust: kernel.

Assumption (key ``floating-model``, checked against interval arithmetic by the tests).  Sums,
products, quotients and roots are rounded to nearest.  ``exp expm1 log log1p cos sin atan2 hypot``
err by at most 8 units in the last place of the result, and complex ``exp`` and ``log`` accordingly
in norm; ``erfcx`` and ``gammaln`` err by at most 2**-46 of their size.  docs/proofs/accounting.md
derives every bound from this.

Where an overflow leaves no number at all (NaN), a bound says nothing: it is infinite from above and
zero from below, never the other way round.  ``max(0.0, value)`` would take NaN for zero.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

__all__ = ["SPECIAL", "UNIT", "bound_above", "bound_below", "down", "quotient_up", "reduced", "up"]

UNIT: Final = 2.0**-53
"""The relative error of one rounding to nearest."""

SPECIAL: Final = 2.0**-46
"""The relative error allowed to ``erfcx`` and ``gammaln``."""


def up(value: float, relative: float = 0.0) -> float:
    """Raise a value by a relative error, and by one float."""
    return math.nextafter(value + abs(value) * relative, math.inf)


def down(value: float, relative: float = 0.0) -> float:
    """Lower a value by a relative error, and by one float."""
    return math.nextafter(value - abs(value) * relative, -math.inf)


def bound_above(value: float) -> float:
    """Cut an upper bound on what is at least zero; one that is no number is infinite.

    >>> bound_above(-0.5), bound_above(0.5), bound_above(math.nan)
    (0.0, 0.5, inf)
    """
    return math.inf if math.isnan(value) else max(value, 0.0)


def bound_below(value: float) -> float:
    """Cut a lower bound on what is at least zero; one that is no number is zero.

    >>> bound_below(-0.5), bound_below(0.5), bound_below(math.nan)
    (0.0, 0.5, 0.0)
    """
    return 0.0 if math.isnan(value) else max(value, 0.0)


def quotient_up(top: int, bottom: int) -> float:
    """Return the smallest float that is at least a quotient of two positive whole numbers.

    >>> from fractions import Fraction
    >>> quotient_up(1, 4), Fraction(quotient_up(1, 10)) >= Fraction(1, 10)
    (0.25, True)
    """
    try:
        nearest = top / bottom
    except OverflowError:
        return math.inf
    over, under = nearest.as_integer_ratio()
    return nearest if over * bottom >= top * under else math.nextafter(nearest, math.inf)


def reduced(phi: NDArray[np.complex128]) -> NDArray[np.complex128]:
    """Take the logarithm of a characteristic function, with zeros replaced by tiny numbers."""
    tiny = np.abs(phi) < 1e-300
    return np.asarray(np.log(np.where(tiny, 1e-300, phi)), np.complex128)
