"""Counters of a stream: prefix sums, one after the other, their price, and their runs.

Trust: kernel.  Proofs are in docs/proofs/mechanisms.md.

Definition.  A stream has a public length n; the value at each position is an integer from 0 to a
public bound.  A position at which nothing happened holds 0.  Two streams are neighbors if they
differ at one position: no two values are further apart than the larger one is from 0.

Definition.  A counter measures y = R x + Z for a public integer matrix R and independent noise Z,
and releases after each value an estimate of the sum so far, a linear function of what it measured
up to then.
Theorem (key ``linear-measurements``).  The loss at distance d is that of one row that counts d
times in the composition tree in which every measurement is a leaf that reads the positions of its
row of R: ``tree()``.  The first position meets the most leaves, so it is enough to account for
those.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, Generic, Protocol, TypeVar, final

import numpy as np
from numpy.typing import NDArray

from discreet.accounting import Leaf, Node, Repeat, account
from discreet.arrays import INT64_MAX, INT64_MIN, listed
from discreet.continual.sum_tails import Law
from discreet.errors import NotExact, OutOfRange, TooLarge, WrongKind
from discreet.exact import Interval, freeze, whole
from discreet.loss import PrivacyLoss, Pure
from discreet.mechanisms import Gaussian, Laplace, Mechanism
from discreet.mechanisms.additive import checked_integer_noise
from discreet.mechanisms.mechanism import GuardedRun, Number, at_confidence, steps_at
from discreet.noise import SYSTEM, Distribution, Entropy
from discreet.noise.entropy import checked_entropy

Stream = Sequence[int] | NDArray[np.integer[Any]]
Noise = Laplace | Gaussian

_LONGEST: Final = 1 << 24  # positions; a run takes them one by one
_LARGEST_SUM: Final = 1 << 62  # sums, so that noise is added within 64 bits

Answer = TypeVar("Answer", int, float)
Sum_co = TypeVar("Sum_co", int, float, covariant=True)


def checked_length_and_bound(length: object, bound: object) -> tuple[int, int]:
    """Read the number of values, and the largest value."""
    size = whole(length, name="length", low=1, high=_LONGEST)
    most = whole(bound, name="bound", low=1)
    if size * most > _LARGEST_SUM:
        raise TooLarge("length times bound does not fit in 62 bits; count in a coarser unit.")
    return size, most


def read_value(value: object, bound: int) -> int:
    """Read one value of a stream."""
    if isinstance(value, float | np.floating):
        raise NotExact("a value of the stream is a float; count in integers.")
    number = whole(value, name="a value of the stream")
    if not 0 <= number <= bound:
        raise OutOfRange(f"a value of the stream is not between 0 and the bound, {bound}.")
    return number


def read_stream(values: object, *, length: int, bound: int) -> list[int]:
    """Read a stream that is known in advance."""
    numbers = [read_value(value, bound) for value in listed(values, name="values of the stream")]
    if len(numbers) != length:
        raise OutOfRange(f"the stream must have {length} values, 0 if nothing happened.")
    return numbers


class CounterState(Protocol[Sum_co]):
    """What a counter remembers: how many draws the next value needs, and what becomes of it."""

    def draws(self, time: int) -> int:  # noqa: ARG002
        """Return how many draws of noise the value at a position needs: one, unless it says so."""
        return 1

    def step(self, value: int, noise: Sequence[Any] | NDArray[np.int64]) -> Sum_co:
        """Take the next value and its noise, and return the noisy sum of all values so far.

        Each draw of noise may also be an array, for many runs at once.
        """
        ...


@final
class CounterRun(GuardedRun, Generic[Answer]):
    """One interactive run; start it from a counter, which says what it costs.

    A run remembers exact partial sums and noise that was already used, and guards both.  After its
    last value, or an interrupt amid one, it is silent.  A value is checked, and the noise of its
    answer drawn, before the value is looked at: neither a failure nor the time taken depends on it.

    >>> from discreet.continual import BinaryTreeCounter
    >>> from discreet.mechanisms import Laplace
    >>> run = BinaryTreeCounter(length=3, noise=Laplace(scale="1/100")).start()
    >>> run.add(1), run.add(0), run.add(1), run.finished
    (1, 1, 2, True)
    """

    __slots__ = ("_bound", "_closed", "_latest", "_law", "_length", "_steps", "_time")

    def __init__(
        self,
        *,
        length: int,
        bound: int,
        law: Distribution,
        steps: CounterState[Answer],
        entropy: Entropy,
    ) -> None:
        super().__init__(entropy)
        self._length, self._bound, self._law = length, bound, law
        self._steps: CounterState[Answer] = steps
        self._time, self._closed = 0, False
        self._latest: Answer | None = None

    @property
    def time(self) -> int:
        return self._time

    @property
    def left(self) -> int:
        return self._length - self._time

    @property
    def finished(self) -> bool:
        return self._closed or self._time == self._length

    @property
    def latest(self) -> Answer:
        if self._latest is None:
            raise OutOfRange("no value was added yet; add a value first.")
        return self._latest

    def add(self, value: int) -> Answer:
        """Take the value at the next position, and return the noisy sum of all values so far."""
        return self._alone(self._answer, read_value(value, self._bound))

    def _answer(self, number: int) -> Answer:
        noise = [self._law.draw(self._entropy) for _ in range(self._steps.draws(self._time + 1))]
        self._closed = True  # an interrupt from here on ends the run
        answer = self._steps.step(number, noise)
        if isinstance(answer, int):  # within 64 bits, which is post-processing
            answer = min(max(answer, INT64_MIN), INT64_MAX)
        self._time, self._latest, self._closed = self._time + 1, answer, False
        return answer

    def _check_open(self) -> None:
        if self._closed:
            raise OutOfRange(
                "the counter was interrupted amid a value; start a new run, which is charged again."
            )
        if self._time == self._length:
            raise OutOfRange(
                f"the counter has taken all of its {self._length} values; plan a longer counter, "
                "or start a new run, which is charged again."
            )

    def __repr__(self) -> str:
        return f"<run of a counter, {self._time} of {self._length} values taken>"


Charge = Callable[[PrivacyLoss], object]
"""Pays for a run, or raises."""

MOST_LISTED: Final = 1 << 14
"""The largest number of positions that a tree lists."""


@dataclass(frozen=True, slots=True, init=False)
class Counter(Mechanism[Stream, NDArray[Any]]):
    """A way to release the sums of the first 1, 2, ..., n values of a stream."""

    length: int
    noise: Noise
    bound: int

    def __init__(self, *, length: int, noise: Noise, bound: int = 1) -> None:
        """Take how many values come, the noise of one measurement, and the largest value."""
        size, most = checked_length_and_bound(length, bound)
        freeze(self, length=size, noise=checked_integer_noise(noise), bound=most)

    @abstractmethod
    def tree(self, *, distance: int = 1) -> Node:
        """Return the composition whose price is the loss; one row counts ``distance`` times."""

    @property
    @abstractmethod
    def _multiplicity(self) -> int:
        """How many measurements hold the first value; no value is in more."""

    @abstractmethod
    def spread(self, *, prefix: int) -> Fraction:
        """Return the variance of an estimate, in multiples of that of one draw of noise."""

    @abstractmethod
    def _half_width(self, chance: Fraction, prefix: int | None) -> int | Fraction:
        """Return how far one estimate, or any of them, is from the truth with this probability."""

    @abstractmethod
    def _state(self) -> CounterState[Any]:
        """Return what a run remembers, before the first value."""

    def errors(self, noise: NDArray[np.int64]) -> NDArray[Any]:
        """Return by how much the estimates of a run are off, for each row of noise."""
        state, columns, first, errors = self._state(), noise.T, 0, []
        for time in range(1, self.length + 1):
            count = state.draws(time)
            errors.append(state.step(0, columns[first : first + count]))
            first += count
        return np.array(errors).T

    def measurement(self, values: Sequence[int]) -> int:  # noqa: ARG002
        """Return what is measured at the last position of a stream so far, without its noise."""
        raise WrongKind("the distribution of these sums has no simple form; use BinaryTreeCounter.")

    def estimates(self, measured: Sequence[int]) -> list[Any]:
        """Return the sums that follow from noisy measurements, one for each position so far.

        >>> from discreet.continual import BinaryTreeCounter
        >>> BinaryTreeCounter(length=4, noise=Laplace(scale=2)).estimates([1, 3, 0, 5])
        [1, 3, 3, 5]
        """
        state = self._state()
        return [state.step(0, [each]) for each in measured]

    def _measured(self, values: Sequence[int]) -> list[int]:
        """Return R x, in the order in which noise is drawn."""
        return [self.measurement(values[:t]) for t in range(1, self.length + 1)]

    def _measurements_of(self, outcome: Sequence[Any]) -> list[int] | None:
        """Return the y that leads to an outcome, or nothing if none does."""
        raise NotImplementedError

    @property
    def law(self) -> Law:
        """The distribution of the noise of one measurement."""
        return self.noise.law

    @property
    def draws(self) -> int:
        """How many draws of noise a run makes."""
        return self.length

    def loss(self, *, distance: Number = 1) -> PrivacyLoss:
        """Return the loss between streams that differ at ``distance`` positions."""
        changes = steps_at(distance)
        if changes == 0:
            return Pure(epsilon=0)
        return account(self._path(changes), relation="add_remove").loss

    def spreads(self) -> tuple[Fraction, ...]:
        return tuple(self.spread(prefix=t) for t in range(1, self.length + 1))

    def variance(self, *, prefix: int) -> Interval:
        """Enclose the variance of the estimate of the sum of the first ``prefix`` values."""
        one, times = self._one_draw(), self.spread(prefix=prefix)
        return Interval(times * one.low, times * one.high)

    def error(self, *, confidence: Number, prefix: int | None = None) -> int | Fraction:
        """Return an error bound that holds with this confidence for one prefix sum, or for all."""
        chance = at_confidence(confidence)
        return self._half_width(chance, None if prefix is None else self._checked_prefix(prefix))

    def start(self, *, charge: Charge | None = None, entropy: Entropy = SYSTEM) -> CounterRun[Any]:
        """Start one run.

        ``charge`` is called once with the loss of the whole run, before anything is drawn; if it
        raises, there is no run.
        """
        source = checked_entropy(entropy)
        if charge is not None:
            charge(self.loss())
        return CounterRun(
            length=self.length, bound=self.bound, law=self.law, steps=self._state(), entropy=source
        )

    def run(self, value: Stream, *, entropy: Entropy = SYSTEM) -> NDArray[Any]:
        """Return the noisy sums of the first 1, 2, ... values of a stream known in advance."""
        values = read_stream(value, length=self.length, bound=self.bound)
        started = self.start(entropy=entropy)
        return np.array([started.add(number) for number in values])

    def reference_pmf(self, value: Stream) -> Callable[[Sequence[Any]], Interval]:
        """Return the probability of the sums, as a function of a tuple of sums."""
        values = read_stream(value, length=self.length, bound=self.bound)
        centers, law = self._measured(values), self.law

        def chance(outcome: Sequence[Any]) -> Interval:
            measured = self._measurements_of(listed(outcome, name="sums"))
            if measured is None:
                return Interval(Fraction(0), Fraction(0))
            pairs = zip(measured, centers, strict=True)
            return Interval.product(law.pmf_bounds(y - x) for y, x in pairs)

        return chance

    def _path(self, distance: int) -> Node:
        """Return what the first position meets in the tree."""
        return Repeat(self._leaf(distance), self._multiplicity)

    def _listed(self, distance: int) -> Leaf:
        """Return the leaf of a tree that lists all positions, if they are not too many."""
        if self.length > MOST_LISTED:
            raise too_long()
        return self._leaf(distance)

    def _leaf(self, distance: int) -> Leaf:
        moved = whole(distance, name="distance", low=1) * self.bound
        return Leaf(self.noise, added=moved, replaced=moved)

    def _one_draw(self) -> Interval:
        """Enclose the variance of one draw, in units of the values."""
        return self.law.moments().variance

    def _checked_prefix(self, prefix: object) -> int:
        return whole(prefix, name="prefix", low=1, high=self.length)


@dataclass(frozen=True, slots=True, init=False)
class BlockCounter(Counter):
    """A counter that measures one block at each position t: the values after ``_start(t)`` up to t.

    The sum of the first t values is that of the first ``_start(t)`` and the block, so one sum and
    the noise of its blocks follow from each other.
    """

    @abstractmethod
    def _start(self, t: int) -> int:
        """Return the position after which the block of t begins."""

    @abstractmethod
    def _blocks(self, t: int) -> int:
        """Return how many blocks make up the first t values."""

    def spread(self, *, prefix: int) -> Fraction:
        """Return the number of blocks that were added up, each with one draw of noise."""
        return Fraction(self._blocks(self._checked_prefix(prefix)))

    def measurement(self, values: Sequence[int]) -> int:
        return sum(values[self._start(len(values)) :])

    def _measurements_of(self, outcome: Sequence[Any]) -> list[int] | None:
        return self._block_sums([0, *(whole(total, name="a sum") for total in outcome)])

    def _block_sums(self, sums: Sequence[int]) -> list[int]:
        return [sums[t] - sums[self._start(t)] for t in range(1, len(sums))]


def too_long() -> OutOfRange:
    """Return the error for a tree that would list too much."""
    return OutOfRange(f"the tree would list more than {MOST_LISTED} positions; loss() lists none.")
