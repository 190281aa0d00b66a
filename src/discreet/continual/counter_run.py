"""A run of a counter: values go in one at a time, and a noisy sum comes out after each.

Trust: kernel.

Definition.  A stream has a public length n; the value at each position is an integer from 0 to a
public bound.  A position at which nothing happened holds 0.  Two streams are neighbors if they
differ at one position: whatever happened there, however much it was, is hidden.  Sums that contain
the position then differ by at most the bound.  In the words of ``discreet.units``, a stream is a
table with at most one row for each position, and its neighbors are those of ``replace_null``; a
change from one value to another, two steps there, is one step here, because no two values are
further apart than the larger one is from 0.
Values from ``low`` to ``high`` are counted as value - low, and t * low is added to each sum.

A run remembers exact partial sums and noise that was already used, and both are secrets.  So it
guards them: it cannot be copied, stored or continued in a forked process, since two continuations
would reuse noise that was paid for once; it cannot be altered or wound back; and after its last
value, or an interrupt amid one, it is silent.  A value is checked, and the noise of its answer
drawn, before the value is looked at, so neither a failure nor the time taken depends on it.  What
is to come cannot be read: each answer is a function of the values so far.
Threads may share a run: values are taken one at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Final, Generic, Protocol, TypeVar, final

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import listed
from discreet.errors import NotExact, OutOfRange, TooLarge
from discreet.exact import whole
from discreet.mechanisms import Gaussian, Laplace
from discreet.mechanisms.guarded_run import GuardedRun, Reason
from discreet.noise import Distribution, Entropy

Stream = Sequence[int] | NDArray[np.integer[Any]]
Noise = Laplace | Gaussian

_LONGEST: Final = 1 << 24
_LARGEST_SUM: Final = 1 << 62

Answer = TypeVar("Answer", int, float)
Sum_co = TypeVar("Sum_co", int, float, covariant=True)


def checked_length_and_bound(length: object, bound: object) -> tuple[int, int]:
    """Read how many values come, and how large each can be."""
    size = whole(length, name="length", low=1, high=_LONGEST)
    most = whole(bound, name="bound", low=1)
    if size * most > _LARGEST_SUM:
        raise TooLarge("length times bound does not fit in 62 bits; count in a coarser unit.")
    return size, most


def read_value(value: object, bound: int) -> int:
    """Read one value of a stream."""
    if isinstance(value, float | np.floating):
        raise NotExact("a value of the stream is a float; count in whole units, and give an int.")
    number = whole(value, name="a value of the stream")
    if not 0 <= number <= bound:
        raise OutOfRange(
            f"a value of the stream is not between 0 and the bound, {bound}; plan the counter "
            "with a larger bound, or clamp values by a public rule."
        )
    return number


def read_stream(values: object, *, length: int, bound: int) -> list[int]:
    """Read a stream that is known in advance."""
    numbers = [read_value(value, bound) for value in listed(values, name="values of the stream")]
    if len(numbers) != length:
        raise OutOfRange(
            f"the stream does not have {length} values; give one value for each position, 0 where "
            "nothing happened."
        )
    return numbers


class CounterState(Protocol[Sum_co]):
    """What a counter remembers: how many draws the next value needs, and what becomes of it."""

    def draws(self, time: int) -> int:  # noqa: ARG002
        """Return how many draws of noise the value at a position needs: one, unless it says so."""
        return 1

    def step(self, value: int, noise: Sequence[int]) -> Sum_co:
        """Take the next value and its noise, and return the noisy sum of all values so far."""
        ...


@final
class CounterRun(GuardedRun, Generic[Answer]):
    """One interactive run; start it from a counter, which says what it costs.

    >>> from discreet.continual import BinaryTreeCounter
    >>> from discreet.mechanisms import Laplace
    >>> run = BinaryTreeCounter(length=3, noise=Laplace(scale="1/100")).start()
    >>> run.add(1), run.add(0), run.add(1), run.finished
    (1, 1, 2, True)
    """

    __slots__ = ("_bound", "_closed", "_latest", "_law", "_length", "_steps", "_time")

    _bound: int
    _closed: bool
    _latest: Answer | None
    _law: Distribution
    _length: int
    _steps: CounterState[Answer]
    _time: int

    _FORKED: ClassVar[Reason] = {
        "what": "a counter was continued in a forked process.",
        "why": "parent and child would go on with the same partial sums and the same noise, "
        "and release more together than was paid for.",
        "do": "add values in the process that started the run, or start another one here.",
    }
    _COPIED: ClassVar[Reason] = {
        "what": "a run of a counter cannot be pickled or copied.",
        "why": "each copy would go on with the same partial sums and the same noise, and they "
        "would release more together than was paid for.",
        "do": "keep one run, and send values to where it lives; counters can be copied freely.",
    }
    _BUSY: ClassVar[Reason] = {
        "what": "a value was added amid another one.",
        "why": "which of the two comes first decides which sums hold them.",
        "do": "add one value after the other, and none from a signal handler.",
    }
    _ALTERED: ClassVar[Reason] = {
        "what": "a running counter cannot be set.",
        "why": "length, bound and noise are what was charged for, and time does not run back.",
        "do": "start a new run, which is charged again.",
    }

    def __init__(
        self,
        *,
        length: int,
        bound: int,
        law: Distribution,
        steps: CounterState[Answer],
        entropy: Entropy,
    ) -> None:
        """Start before the first position."""
        super().__init__(entropy)
        self._keep(_length=length, _bound=bound, _law=law, _steps=steps)
        self._keep(_time=0, _latest=None, _closed=False)

    @property
    def time(self) -> int:
        """How many values were taken so far."""
        return self._time

    @property
    def left(self) -> int:
        """How many values may still come."""
        return self._length - self._time

    @property
    def finished(self) -> bool:
        """Whether no more values are taken."""
        return self._closed or self._time == self._length

    @property
    def latest(self) -> Answer:
        """The last sum that was released."""
        if self._latest is None:
            raise OutOfRange("no value was added yet; add a value first.")
        return self._latest

    def add(self, value: int) -> Answer:
        """Take the value at the next position, and return the noisy sum of all values so far."""
        self._check_process()
        return self._alone(self._answer, read_value(value, self._bound))

    def _answer(self, number: int) -> Answer:
        draw: Callable[[Entropy], int] = self._law.draw
        noise = [draw(self._entropy) for _ in range(self._steps.draws(self._time + 1))]
        self._keep(_closed=True)  # an interrupt from here on ends the run
        answer = self._steps.step(number, noise)
        self._keep(_time=self._time + 1, _latest=answer, _closed=False)
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
        """Show what is public."""
        return f"<run of a counter, {self._time} of {self._length} values taken>"
