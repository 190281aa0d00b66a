"""The public range of a number, and its place on a randomizer's points by an exact coin.

Trust: kernel.  The code of a number is what a randomizer hides; a number outside must not leave the
device in another way, such as an error that names it.

Definition.  The range from low to high is scaled to -1 ... 1.  A number between two neighboring
points goes to the upper one with chance w, where w is its place between them (0 at the lower point,
1 at the upper), else to the lower one.
Theorem (key ``stochastic-rounding``).  The mean of the point that a number goes to is the number,
exactly.  As a code is drawn from a law that depends on the number alone, whatever a randomizer
promises between codes holds between numbers (joint convexity of the hockey-stick divergence).
The coin compares a uniform U with w by a float estimate where they are farther apart than the
estimate can be wrong, else in integers; everybody's coin takes one word.
"""

from __future__ import annotations

import bisect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any, Final, final

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import listed
from discreet.errors import NotExact, OutOfRange, WrongKind
from discreet.exact import decimal
from discreet.mechanisms.mechanism import Number
from discreet.noise import SYSTEM, Entropy
from discreet.noise.bernoulli import CoinSizes, Enclosure, flip
from discreet.noise.chance import Ratio

_GUARD: Final = 2.0**-30
_UNIT: Final = 2.0**-53


@final
@dataclass(frozen=True, slots=True, init=False)
class NumberRange:
    """All numbers from low to high.

    >>> from discreet.local.numbers.window import WindowResponse
    >>> ages, randomizer = NumberRange(low=0, high=120), WindowResponse.minimax(epsilon=1)
    >>> codes = ages.codes([30, 71.5, 120], randomizer.points())
    >>> codes.shape, int(codes[2]) == randomizer.values - 1
    ((3,), True)
    >>> ages.back(Fraction(1, 2))
    Fraction(90, 1)
    """

    low: Fraction
    high: Fraction

    def __init__(self, *, low: Number, high: Number) -> None:
        """Take the ends, which are public and were not chosen by looking at the numbers."""
        object.__setattr__(self, "low", decimal(low, name="low"))
        object.__setattr__(self, "high", decimal(high, name="high"))
        if self.low >= self.high:
            raise OutOfRange(
                what="low is not below high.",
                why="an empty range has no numbers.",
                do="give the smaller end as low.",
            )

    def back(self, scaled: Fraction) -> Fraction:
        """Return the number that scaling takes to ``scaled``."""
        return self.low + (self.high - self.low) * (1 + scaled) / 2

    def stretch(self) -> Fraction:
        """Return how many units of the number one unit of the scale is."""
        return (self.high - self.low) / 2

    def codes(
        self, numbers: object, points: Sequence[Fraction], *, entropy: Entropy = SYSTEM
    ) -> NDArray[np.int64]:
        """Round each number to one of its two points by a coin, and return the point's code."""
        marks = [self.back(point) for point in points]
        rough = self._rough(numbers, marks)
        if rough is not None:
            places, shares = _near_floats(marks, rough)
            return _flip(marks, places, shares, lambda index: _number(rough[index]), entropy)
        distinct, which = _distinct(numbers)
        exact = self._inside(distinct)
        found = [_place(marks, number) for number in exact]
        places = np.array([at for at, _ in found], np.int64)[which]
        shares = np.array([float(share) for _, share in found], np.float64)[which]
        return _flip(marks, places, shares, lambda index: exact[which[index]], entropy)

    def describe(self) -> dict[str, str]:
        """Return the range, ready for JSON.

        >>> NumberRange(low="0.5", high=2).describe()
        {'low': '1/2', 'high': '2'}
        """
        return {"low": str(self.low), "high": str(self.high)}

    @staticmethod
    def of_description(description: Mapping[str, object]) -> NumberRange:
        """Make the range that describes itself so.

        >>> NumberRange.of_description({"low": "1/2", "high": "2"})
        NumberRange(low=Fraction(1, 2), high=Fraction(2, 1))
        """
        match description:
            case {"low": str() as low, "high": str() as high, **rest} if not rest:
                made = NumberRange(low=low, high=high)
                if made.describe() == description:
                    return made
        raise WrongKind(
            what="a range of numbers cannot be read.",
            why="device and analyst must mean the same numbers by the same codes.",
            do="use a description as describe() writes it.",
        )

    def _rough(self, numbers: object, marks: list[Fraction]) -> NDArray[np.float64] | None:
        """Return an array of floats that surely lie inside and are fine enough, or None."""
        if not isinstance(numbers, np.ndarray) or numbers.ndim != 1 or numbers.dtype != np.float64:
            return None
        size = max(abs(self.low), abs(self.high))
        margin, narrowest = 4 * _UNIT * float(size), min(b - a for a, b in pairwise(marks))
        inside = (numbers > float(self.low) + margin) & (numbers < float(self.high) - margin)
        fine = 32 * _UNIT * float(size / narrowest) < _GUARD
        return numbers if fine and bool(inside.all()) else None

    def _inside(self, numbers: list[Any]) -> list[Fraction]:
        exact = [_number(number) for number in numbers]
        if not all(self.low <= number <= self.high for number in exact):
            raise OutOfRange(
                what="a number is outside the public range.",
                why="a report about it would stand out, and so would silence.",
                do="clamp numbers to the range first.",
            )
        return exact


def _distinct(numbers: object) -> tuple[list[Any], NDArray[np.int64]]:
    """Return the different numbers of an array of integers, and which of them each one is."""
    if isinstance(numbers, np.ndarray) and numbers.ndim == 1 and numbers.dtype.kind in "iu":
        different, which = np.unique(numbers, return_inverse=True)
        return different.tolist(), which.astype(np.int64, copy=False)
    members = listed(numbers, name="numbers")
    return members, np.arange(len(members))


def _near_floats(
    marks: list[Fraction], numbers: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return each number's lower mark, and its share of the way to the next one.

    Where a float is close to a mark, which side it is on is decided exactly.
    """
    starts = np.array([float(mark) for mark in marks])
    places = np.searchsorted(starts[1:-1], numbers, side="right").astype(np.int64)
    shares = (numbers - starts[places]) / (starts[places + 1] - starts[places])
    for index in np.flatnonzero((shares < _GUARD) | (shares > 1 - _GUARD)):
        places[index], share = _place(marks, _number(numbers[index]))
        shares[index] = float(share)
    return places, shares


def _flip(
    marks: list[Fraction],
    places: NDArray[np.int64],
    shares: NDArray[np.float64],
    number: Callable[[int], Fraction],
    entropy: Entropy,
) -> NDArray[np.int64]:
    """Move each number to its lower or upper mark; ``number(i)`` is exact."""

    def chance(index: int) -> Enclosure:
        at = int(places[index])
        share = (number(index) - marks[at]) / (marks[at + 1] - marks[at])
        return Ratio(share).enclose

    return places + flip(shares, chance, entropy, CoinSizes(guard=_GUARD))


def _place(marks: list[Fraction], number: Fraction) -> tuple[int, Fraction]:
    """Return the mark at or below a number, the last but one at most, and its share beyond it."""
    at = min(bisect.bisect_right(marks, number), len(marks) - 1) - 1
    return at, (number - marks[at]) / (marks[at + 1] - marks[at])


def _number(value: object) -> Fraction:
    try:
        return decimal(value.item() if isinstance(value, np.generic) else value, name="a number")
    except (WrongKind, OutOfRange, NotExact):
        raise OutOfRange(
            what="what is to be reported is not a finite number.",
            why="it has no place in the public range.",
            do="give integers, floats, fractions or decimal text.",
        ) from None
