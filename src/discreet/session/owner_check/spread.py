"""How a number is spread: its quantiles, and what a limit on it would cut off.

Trust: public.  Arithmetic on counts that somebody else has made.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, final

__all__ = ["Spread"]

_LEVELS: Final = (Fraction(1, 2), Fraction(9, 10), Fraction(99, 100))


@final
@dataclass(frozen=True, slots=True, init=False)
class Spread:
    """Values, each with how often it occurs, from the smallest to the largest.

    >>> rows = Spread([(1, 6), (2, 3), (9, 1)])
    >>> rows.words
    'median 1, 90 % have at most 2, 99 % at most 9, the most is 9'
    >>> rows.beyond(2), rows.cut(2)
    (Fraction(1, 10), Fraction(1, 3))
    """

    counts: tuple[tuple[int, int], ...]

    def __init__(self, counts: Iterable[tuple[int, int]]) -> None:
        """Take values with how often they occur, in any order."""
        found = tuple(sorted((value, count) for value, count in counts if count > 0))
        object.__setattr__(self, "counts", found)

    @property
    def number(self) -> int:
        """How many values there are."""
        return sum(count for _, count in self.counts)

    def quantile(self, level: Fraction) -> int:
        """Return the smallest value that at least this share of all does not exceed."""
        seen = 0
        for value, count in self.counts:
            seen += count
            if seen >= level * self.number:
                return value
        return 0

    def beyond(self, limit: int) -> Fraction:
        """Return which share of the values is larger than a limit."""
        larger = sum(count for value, count in self.counts if value > limit)
        return Fraction(larger, self.number or 1)

    def cut(self, limit: int) -> Fraction:
        """Return which share of their sum is lost if each value is cut to a limit."""
        whole = sum(value * count for value, count in self.counts)
        lost = sum((value - limit) * count for value, count in self.counts if value > limit)
        return Fraction(lost, whole or 1)

    @property
    def words(self) -> str:
        """Say the quantiles in a line."""
        if not self.counts:
            return "there is nobody"
        median, most, nearly = map(self.quantile, _LEVELS)
        last = self.counts[-1][0]
        return (
            f"median {median}, 90 % have at most {most}, 99 % at most {nearly}, the most is {last}"
        )
