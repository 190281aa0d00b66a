"""How far one unit is scaled down, so that it moves a sum by no more than a public bound.

Trust: kernel (T7).

Definition.  A unit contributes a real vector v.  N is a number known to be at least |v|, and S one
that is at least the sum of |g||a| over all products of floats that v is made of, such as those of
an outer product of g and a (for a vector of floats, S is N).  Its scale is
    c = min(1, C / N, k C / S),    k = ``spread``,
rounded down.  So |c v| <= C, and the products that make up c v add up to at most k C: that bounds
what rounding can do to a sum (key ``gradient-sum``).
A contribution that is not finite is taken as zero: a function of this unit alone.

Rounding.  With u = 2**-53, n operations on floats are off by a factor between 1 - g and 1 + g with
g = n u / (1 - n u) (Higham 2002, lemma 3.1), for any order of summation.  Underflow adds at most
2**-1074 an operation, which the absolute term below covers many times over.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, final

import numpy as np
from numpy.typing import NDArray

from discreet.errors import OutOfRange
from discreet.exact import float_down, positive, whole

Floats = NDArray[np.floating[Any]]
Scales = NDArray[np.float64]

DOUBLE: Final = Fraction(1, 1 << 53)
SINGLE: Final = Fraction(1, 1 << 24)
_DOWN: Final = 1 - 2.0**-50
_TINY: Final = 2.0**-900
_LEAST: Final = 2.0**-126
_MOST: Final = 2.0**10


def rounding(operations: int, unit: Fraction = DOUBLE) -> Fraction:
    """Return g = n u / (1 - n u): how far n roundings can be off, as a factor.

    >>> float(rounding(1024)) == 1024 * 2.0**-53 / (1 - 1024 * 2.0**-53)
    True
    """
    lost = whole(operations, name="operations", low=0) * unit
    if lost >= Fraction(1, 2):
        raise OutOfRange(
            "so many roundings may be off by any factor: take smaller batches, or add up in "
            "float64."
        )
    return lost / (1 - lost)


@final
@dataclass(frozen=True, slots=True, init=False)
class Clipping:
    """A bound on what one unit adds, in L2.

    >>> Clipping(bound=1).scales(np.array([0.25, 4.0, np.nan]), np.array([0.5, 2.0, 1.0])).round(6)
    array([1. , 0.5, 0. ])
    """

    bound: Fraction
    spread: int

    def __init__(self, *, bound: object, spread: int = 64) -> None:
        """Take the bound C, and how many times C the products of one unit may add up to."""
        exact = positive(bound, name="clip")
        if not Fraction(1, 1 << 60) <= exact <= 1 << 60:
            raise OutOfRange(
                "the clipping bound is not between 2**-60 and 2**60: give a bound of an ordinary "
                "size, such as 1."
            )
        object.__setattr__(self, "bound", exact)
        object.__setattr__(self, "spread", whole(spread, name="spread", low=1, high=1 << 20))

    def scales(
        self, squares: Scales, spans: Scales, *, most: float = 1.0, added: float = 0.0
    ) -> Scales:
        """Return c of each unit.

        Neither ``most`` nor ``added`` can raise what a unit adds above the bound: both are at least
        0, so that 0 <= c <= C / N.

        Args:
            squares: at least the squared norm of each contribution.
            spans: at least the sum of |g||a| over its products.
            most: the scale of a small contribution; C / ``threshold`` turns a bound of C into one
                of ``threshold`` on the contributions, and infinity normalizes all of them.
            added: a public number added to each norm, so that normalizing stays stable.
        """
        if not (most >= 0 and added >= 0):
            raise OutOfRange(
                "the scale of small contributions, or what is added to norms, is below 0 or not a "
                "number: give numbers of at least 0."
            )
        bound = float_down(self.bound)
        with np.errstate(all="ignore"):
            by_norm = bound / (np.sqrt(squares + _TINY) + added) * _DOWN
            by_span = bound * self.spread / (spans + _TINY) * _DOWN
            scales = np.minimum(most, np.minimum(by_norm, by_span))
        finite = np.isfinite(squares) & np.isfinite(spans)
        return np.where(finite, scales, 0.0)

    def lengths(self, squares: Scales, spans: Scales) -> Scales:
        """Return the number that C is divided by: the larger of the norm and span / k.

        Rounding and order of operations move it by a tiny share, however products cancel: the
        square is off by a share of S**2, and S is at most k times this length.
        """
        with np.errstate(all="ignore"):
            found: Scales = np.maximum(np.sqrt(squares), spans / self.spread)
        return found

    def error(self, *, units: int, operations: int) -> Fraction:
        """Bound the L2 error of a sum of clipped contributions of this number of units.

        ``operations`` bounds the number of roundings between any product and the sum.
        """
        return rounding(operations) * self.spread * self.bound * units


def shortened(scales: Scales) -> NDArray[np.float32]:
    """Round scales down to float32, for sums in float32 (key ``short-sums``).

    A smaller scale keeps every bound.  None is above 1024, so that what underflows stays small, and
    none is below what float32 has in full: such a unit adds nothing.

    >>> shortened(np.array([0.1, 1e9, 1e-40])).tolist()
    [0.09999999403953552, 1024.0, 0.0]
    """
    cut = np.minimum(scales, _MOST)
    near = cut.astype(np.float32)
    down = np.where(near > cut, np.nextafter(near, np.float32(0)), near)
    return np.where(down < _LEAST, np.float32(0), down)


def raised(operations: int) -> float:
    """Return a factor that makes a sum of products with this number of roundings an upper bound.

    >>> raised(100) > 1 + 100 * 2.0**-53
    True
    """
    return 1.0 + (whole(operations, name="operations", low=0, high=1 << 48) + 4) * 2.0**-52
