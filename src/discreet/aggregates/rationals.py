"""Arrays of exact numbers with one denominator.

Trust: public.  Everything here is computed from what is released already.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, final

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import INT64_MAX, INT64_MIN
from discreet.requests.raw_totals import Integers

Floats = NDArray[np.float64]

_SAFE: Final = 1 << 62
_EXACT: Final = 1 << 53


@final
@dataclass(frozen=True, slots=True, eq=False)
class Rationals:
    """Numbers ``tops / bottom``; the tops are int64, or Python integers if these overflow.

    >>> half = weighted([(Fraction(1, 2), np.array([3, 4, -5]))])
    >>> half.nearest().tolist(), half.rounded().tolist(), half.floor().tolist()
    ([1.5, 2.0, -2.5], [2, 2, -2], [1, 2, -3])
    """

    tops: NDArray[Any]
    bottom: int

    def within(self, far: Fraction) -> tuple[Floats, Floats]:
        """Enclose all multiples of 1 / bottom that are at most ``far`` away, between floats.

        Such a multiple is within ``far`` if it is within the last multiple before that.

        >>> [end.tolist() for end in weighted([(Fraction(1, 2), np.array([3]))]).within(
        ...     Fraction(4, 3))]
        [[0.5], [2.5]]
        """
        step, ones = Fraction(1, self.bottom), np.ones(self.tops.shape, np.int64)
        move = math.floor(far * self.bottom) * step
        low, high = (weighted([(step, self.tops), (end, ones)]) for end in (-move, move))
        return low.down(), high.up()

    def nearest(self) -> Floats:
        """Return floats, each within one unit in the last place."""
        if self.tops.dtype == np.int64 and self.bottom < _EXACT:
            return self.tops / np.float64(self.bottom)
        return np.array([_float(int(top), self.bottom) for top in self.tops], np.float64)

    def down(self) -> Floats:
        """Return floats that are at most the numbers."""
        return self._toward(-np.inf)

    def up(self) -> Floats:
        """Return floats that are at least the numbers."""
        return self._toward(np.inf)

    def floor(self) -> Integers:
        """Return the whole numbers below, within 64 bits."""
        return _int64(self.tops // self.bottom)

    def ceil(self) -> Integers:
        """Return the whole numbers above, within 64 bits."""
        return _int64(-(-self.tops // self.bottom))

    def rounded(self) -> Integers:
        """Return the nearest whole numbers; halves go to the even one, so they cancel out."""
        below, rest = self.tops // self.bottom, self.tops % self.bottom
        up = (rest > self.bottom - rest) | ((rest == self.bottom - rest) & (below % 2 == 1))
        return _int64(below + up)

    def _toward(self, end: float) -> Floats:
        near = self.nearest()
        dyadic = self.bottom & (self.bottom - 1) == 0
        exact = (np.abs(self.tops) < _EXACT) & dyadic & (self.bottom < _EXACT)
        moved = np.nextafter(np.nextafter(near, end), end)
        return np.where(exact.astype(np.bool_), near, moved)


def weighted(terms: Sequence[tuple[Fraction, NDArray[Any]]]) -> Rationals:
    """Add up integers with exact weights.

    >>> weighted([(Fraction(1, 4), np.array([2**62])), (Fraction(50), np.array([2**62]))]).bottom
    4
    """
    bottom = math.lcm(*(weight.denominator for weight, _ in terms))
    whole = [(int(weight * bottom), array) for weight, array in terms]
    largest = sum(abs(weight) * _largest(array) for weight, array in whole)
    factors = (abs(weight) for weight, _ in whole)
    kind = np.int64 if max(largest, bottom, *factors) < _SAFE else object
    parts = [array.astype(kind) * weight for weight, array in whole]
    return Rationals(sum(parts[1:], start=parts[0]), bottom)


def _largest(array: NDArray[Any]) -> int:
    return max(int(array.max(initial=0)), -int(array.min(initial=0)))


def _float(top: int, bottom: int) -> float:
    try:
        return top / bottom
    except OverflowError:
        return math.inf if top > 0 else -math.inf


def _int64(values: NDArray[Any]) -> Integers:
    if values.dtype == np.int64:
        return values
    return np.array([min(max(int(value), INT64_MIN), INT64_MAX) for value in values], np.int64)
