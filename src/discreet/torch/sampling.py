"""Which units a step sees: exact coins, one for each unit, and a public cap.

Trust: kernel.

Definition.  Every unit has a place, in the order of its first row.  In each step every unit tosses
a coin of exactly the probability ``rate``; those with heads are the batch, and of a batch with more
than ``cap`` units the first ``cap`` in this order are kept.  All rows of a unit, and no more than
``rows`` of them (its first ones), enter with it.

Theorem (key ``capped-batch``).  Let adding a unit to a batch move the sum by at most C.  Then a
step on the capped batch is dominated by the same step on a Poisson sample without a cap, composed
with a release that reveals all with probability p, if p >= P[Bin(population, rate) >= cap];
likewise if a unit replaces another one, in its place or elsewhere.
    Proof.  Give the coins of all other units away.  If fewer than ``cap`` of them show heads, the
    new unit enters with probability ``rate`` and moves the sum by at most C: the sampled pair.
    Otherwise another unit may be cut, and anything may be revealed.  The probability of that is the
    same with and without the unit, because it depends only on the coins of others.  A mixture whose
    component is revealed is a mixture of the two pairs, with weights 1 - p and p: that is their
    composition (docs/proofs/learning.md).
Theorem.  P[Bin(n, q) >= k] <= (n q / k)**k (n (1-q) / (n-k))**(n-k) for k > n q (Chernoff).  It is
computed in certified logarithms and rounded up to a power of two.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.certified import log
from discreet.errors import WrongKind
from discreet.exact import probability, whole
from discreet.extend import COIN_WORDS, CoinWords
from discreet.noise import SYSTEM, Bernoulli, Entropy

_BITS: Final = 64
_LARGEST: Final = 1 << 36


def overflow_chance(*, population: int, rate: object, cap: int, steps: int = 1) -> Fraction:
    """Bound the probability that in any of the steps at least ``cap`` of the population show heads.

    >>> chance = overflow_chance(population=50_000, rate=Fraction(4096, 50_000), cap=4915)
    >>> 1e-38 < chance < 1e-36
    True
    >>> overflow_chance(population=100, rate=1, cap=100)
    Fraction(0, 1)
    """
    units = whole(population, name="population", low=1, high=_LARGEST)
    chance, most = probability(rate, name="rate"), whole(cap, name="cap", low=1)
    times = whole(steps, name="steps", low=1)
    if most >= units:  # at most population - 1 others can show heads
        return Fraction(0)
    if most <= units * chance:
        return Fraction(1)
    exponent = most * _log_low(most / (units * chance)) + (units - most) * _log_low(
        Fraction(units - most) / (units * (1 - chance))
    )
    two = Fraction(log(Fraction(2), _BITS)[1], 1 << _BITS)
    return min(Fraction(1), times * Fraction(1, 2 ** max(0, int(exponent / two))))


def _log_low(value: Fraction) -> Fraction:
    """Return ln(value), rounded down."""
    return Fraction(log(value, _BITS)[0], 1 << _BITS)


def smallest_cap(*, population: int, rate: object, steps: int, chance: object) -> int:
    """Return the least cap that is exceeded in any step with at most this probability.

    >>> smallest_cap(population=60_000, rate=Fraction(512, 60_000), steps=4688, chance="1e-8")
    687
    """
    units = whole(population, name="population", low=1, high=_LARGEST)
    most = probability(chance, name="chance")
    low, high = 0, units
    while high - low > 1:
        middle = (low + high) // 2
        over = overflow_chance(population=units, rate=rate, cap=middle, steps=steps)
        low, high = (low, middle) if over <= most else (middle, high)
    return high


@final
@dataclass(frozen=True, slots=True, init=False)
class PoissonBatches:
    """Batches by exact coins, cut to a cap.

    >>> batches = PoissonBatches(rate="1/4", cap=2)
    >>> len(batches.draw(100))
    2
    >>> PoissonBatches(rate=1, cap=3).draw(3).tolist()
    [0, 1, 2]
    """

    rate: Fraction
    cap: int
    words: CoinWords

    def __init__(self, *, rate: object, cap: int, words: CoinWords = COIN_WORDS) -> None:
        """Take an exact probability, and a public number of units."""
        object.__setattr__(self, "words", words)
        object.__setattr__(self, "rate", probability(rate, name="rate"))
        object.__setattr__(self, "cap", whole(cap, name="cap", low=1, high=_LARGEST))

    def draw(self, units: int, entropy: Entropy = SYSTEM) -> NDArray[np.int64]:
        """Toss a coin for each unit; return the places of those in the batch, in order.

        An empty batch is a batch: noise alone is released for it.
        """
        heads = Bernoulli(p=self.rate, words=self.words).flips(units, entropy)
        return np.flatnonzero(heads)[: self.cap]


_NAMES: Final = {int, str, bytes, bool} | {
    np.dtype(c).type for c in "?SU" + np.typecodes["AllInteger"]
}
"""The exact types of units in a list; a subclass might compare as it likes."""


def unit_column(names: object) -> NDArray[Any]:
    """Return the unit of each row as integers, texts or dates, none of them missing or rounded.

    >>> unit_column([2**63 + 1, 2**63 + 3, -1]).dtype
    dtype('O')
    >>> len(unit_column(list(np.array([3, 5]))))
    2
    """
    array = isinstance(names, np.ndarray) or hasattr(names, "__array__")
    column = np.asarray(names) if array else np.asarray(names, object)
    if column.ndim != 1:
        raise WrongKind("the units are not one column: give one name or number for each row.")
    if column.dtype.kind == "O":
        exact = {type(value) for value in column}
        known = len(exact) <= 1 and exact <= _NAMES
    elif column.dtype.kind == "M":
        known = not np.isnat(column).any()
    else:
        known = column.dtype.kind in "iubUS"
    if not known or np.ma.is_masked(names):
        raise WrongKind(
            "units are floats, of several types, or missing: give each row the exact number or the "
            "text of its unit, all of one type."
        )
    return column


@final
class UnitRows:
    """Which rows belong to which unit, in the order of first rows; at most ``rows`` of each.

    >>> visits = UnitRows(["ana", "ben", "ana", "ana"], rows=2)
    >>> visits.units
    2
    >>> visits.of(np.array([0, 1])).tolist()  # -1 stands for no row
    [[0, 2], [1, -1]]
    """

    __slots__ = ("_counts", "_first", "_order", "rows")

    def __init__(self, names: ArrayLike | int, *, rows: int = 1) -> None:
        """Take the unit of each row, or how many rows there are if each is a unit."""
        self.rows = whole(rows, name="rows", low=1)
        if isinstance(names, int):
            self._order = np.arange(names)
            self._first, self._counts = self._order, np.ones(names, np.int64)
            return
        column = unit_column(names)
        _, first, codes = np.unique(column, return_index=True, return_inverse=True)
        place = np.empty(first.size, np.int64)
        place[np.argsort(first, kind="stable")] = np.arange(first.size)
        owner = place[codes]
        self._order = np.argsort(owner, kind="stable")
        self._counts = np.bincount(owner, minlength=first.size)
        self._first = np.cumsum(self._counts) - self._counts

    @property
    def units(self) -> int:
        """How many there are; a secret."""
        return int(self._counts.size)

    def of(self, units: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the rows of each unit on a line, padded by -1."""
        places = np.arange(self.rows)
        inside = places < np.minimum(self._counts[units], self.rows)[:, None]
        index = np.where(inside, self._first[units][:, None] + places, 0)
        taken = self._order[index] if self._order.size else index
        return np.where(inside, taken, -1)
