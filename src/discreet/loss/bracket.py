"""A real number between two floats.

Trust: kernel.  Releases publish the upper end.

Definition.  ``Bracket(low, high)`` states that the true value v satisfies ``low <= v <= high``.
The accountant's answers are brackets; a privacy claim quotes ``high``.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import final

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
        """Refuse what encloses nothing: an inside-out pair, or NaN."""
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
        """Enclose one number that lies in both brackets."""
        return Bracket(max(self.low, other.low), min(self.high, other.high))

    def overlaps(self, other: Bracket) -> bool:
        """Say whether one number can lie in both."""
        return self.low <= other.high and other.low <= self.high

    @classmethod
    def within(
        cls, low: float, high: float, *, floor: float = 0.0, ceil: float = math.inf
    ) -> Bracket:
        """Cut both ends to the range in which the number is known to lie.

        An end that is no number (NaN) says nothing: it becomes that end of the range.
        """
        bottom = floor if math.isnan(low) else min(max(low, floor), ceil)
        return cls(bottom, ceil if math.isnan(high) else min(max(high, floor), ceil))
