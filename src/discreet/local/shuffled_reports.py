"""The shuffle model: reports that arrive in a random order, and what that is worth.

Trust: kernel.

Theorem (key ``shuffling``; Feldman, McMillan and Talwar 2021).  If n people each send one report of
an eps0-locally private randomizer, and the observer sees only the reports in a random order, then
replacing one person's value loses much less than eps0.  ``ShuffledReports`` prices it,
``calibrate_shuffled`` finds the largest eps0 for a price.
Assumes, and no code can check: one report a person; n counts honest reports, after refusals and
without those of an attacker; the shuffler is honest and sees no more.  Neighbors replace a value:
to add or remove a person changes how many reports there are.  A group number that is given to a
person shrinks the crowd to the group; one that the device draws is part of the randomizer and does
not.
Binary randomized response has a better bound, also behind the coin that rounds a number to an end:
each person's report is a fair coin with probability 2/(e^eps0 + 1) for every value, and the first
person's pair is a mixture of pairs of ends (joint convexity).
Above a million people the price is that of a million.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Final, final

from discreet.accounting import Leaf, Shuffled
from discreet.errors import OutOfRange, WrongKind
from discreet.exact import decimal, freeze, whole
from discreet.local.randomizer import Randomizer
from discreet.loss import PrivacyLoss, Profile
from discreet.loss.shuffle import Shuffle
from discreet.mechanisms.mechanism import Number
from discreet.mechanisms.randomized_response import RandomizedResponse
from discreet.notebook import Shown

_MOST_PEOPLE: Final = 10**6
_MOST_LOCAL: Final = 60
_STEPS: Final = 1 << 10  # local losses are found to a thousandth of themselves


@final
@dataclass(frozen=True, slots=True, init=False)
class ShuffledReports(Shown):
    """One report of each of many people, in a random order.

    >>> from discreet.local.direct import Direct
    >>> crowd = ShuffledReports(Direct(epsilon=1, values=10), people=1000)
    >>> round(crowd.epsilon(delta="1e-6"), 4)
    0.1824
    """

    randomizer: Randomizer | RandomizedResponse
    people: int

    def __init__(self, randomizer: Randomizer | RandomizedResponse, *, people: int) -> None:
        """Take what each device runs, and how many honest reports there are."""
        if not isinstance(randomizer, Randomizer | RandomizedResponse):
            raise WrongKind(
                f"a {type(randomizer).__name__} is not a local randomizer; give a randomizer of "
                "discreet.local."
            )
        freeze(self, randomizer=randomizer, people=whole(people, name="people", low=2))

    @property
    def binary(self) -> bool:
        """Say whether reports are those of binary randomized response."""
        return is_binary(self.randomizer)

    def tree(self) -> Shuffled:
        """Return the release as part of a composition, by the bound for all randomizers."""
        return Shuffled(Leaf(self.randomizer), population=min(self.people, _MOST_PEOPLE))

    def loss(self) -> PrivacyLoss:
        """Return the loss when one person's value is replaced."""
        return Profile.of(self._shuffle())

    def epsilon(self, *, delta: Number) -> float:
        """Return the central epsilon at a delta, rounded up."""
        return self._shuffle().epsilon(delta)

    def delta(self, *, epsilon: Number) -> float:
        """Return the central delta at an epsilon, rounded up."""
        return self._shuffle().delta(epsilon)

    def _shuffle(self) -> Shuffle:
        people = min(self.people, _MOST_PEOPLE)
        return Shuffle(epsilon=self.randomizer.epsilon, population=people, binary=self.binary)


def shuffled(randomizer: Randomizer | RandomizedResponse, *, people: int) -> ShuffledReports:
    """Return the reports of this number of people, in a random order.

    >>> from discreet.mechanisms import RandomizedResponse
    >>> round(shuffled(RandomizedResponse(epsilon=1), people=1000).epsilon(delta="1e-6"), 4)
    0.1487
    """
    return ShuffledReports(randomizer, people=people)


def calibrate_shuffled(
    *, epsilon: Number, delta: Number, people: int, binary: bool = False
) -> Fraction:
    """Return the largest local epsilon whose shuffled reports keep (epsilon, delta).

    It is rounded down by at most a thousandth of itself, and its own price is computed, not
    inferred.  ``binary`` says that binary randomized response is to be used.

    >>> local = calibrate_shuffled(epsilon="0.1825", delta="1e-6", people=1000)
    >>> 0.999 < local < 1.001
    True
    """
    price, chance = decimal(epsilon, name="epsilon"), decimal(delta, name="delta")
    count = min(whole(people, name="people", low=2), _MOST_PEOPLE)
    if price <= 0 or not 0 < chance < 1:
        raise OutOfRange(
            "epsilon is not above 0, or delta is not between 0 and 1; give an epsilon such as 0.5 "
            "and a delta such as 1e-6."
        )

    def fits(local: Fraction) -> bool:
        shuffle = Shuffle(epsilon=local, population=count, binary=binary)
        return shuffle.delta(price) <= chance

    low = price  # shuffling never makes a report less private
    if low >= _MOST_LOCAL:
        return low
    high = min(2 * low, Fraction(_MOST_LOCAL))
    while high < _MOST_LOCAL and fits(high):
        low, high = high, min(2 * high, Fraction(_MOST_LOCAL))
    while high - low > low / _STEPS:
        middle = _short((low + high) / 2)
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def is_binary(randomizer: Randomizer | RandomizedResponse) -> bool:
    """Say whether a randomizer has two values and two reports, each as likely as the other.

    >>> from discreet.local.numbers import TwoPoint
    >>> is_binary(TwoPoint(epsilon=1))
    True
    """
    if isinstance(randomizer, RandomizedResponse):
        return len(randomizer.categories) == 2
    if randomizer.values != 2 or randomizer.bits != 1:
        return False
    laws = [randomizer.reference_pmf(code) for code in range(2)]
    tables = [dict(law) for law in laws if not callable(law)]
    return len(tables) == 2 and all(
        len(table) == 2 and tables[0][report] == tables[1][1 - report]
        for table in tables
        for report in table
    )


def _short(value: Fraction) -> Fraction:
    """Round down to 20 binary digits, so that calibrated losses are short."""
    scale = 1 << 20
    return Fraction(int(value * scale), scale)
