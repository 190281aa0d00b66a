"""What can be audited: anything that gives an answer about a data set, at random.

Trust: public.

Definition.  A subject draws n independent answers about a data set: ``draw(data, n)``.  They come
as an array with n rows, as a mapping from names to such arrays (masked where an answer lacks that
part), or as a sequence of n values of any kind.

    Calls       any function of a data set
    Batches     any function of a data set and a number, that gives so many answers at once
    Runs        a mechanism of this package
    Command     a program that prints an answer
    Question    what a session answers, with the release drawn many times on the same totals
    Asked       what a session answers, each time through a ledger of its own

What goes wrong is an answer as well: an error is seen by whoever asks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, final, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from discreet.errors import WrongKind
from discreet.mechanisms.gaussian import Gaussian
from discreet.mechanisms.laplace import Laplace
from discreet.mechanisms.mechanism import Mechanism
from discreet.mechanisms.randomized_response import RandomizedResponse

__all__ = ["Answers", "Batches", "Calls", "Raised", "Runs", "Subject", "subject_of"]

Answers = NDArray[Any] | Mapping[str, NDArray[Any]] | Sequence[Any]
"""Many answers: an array, named arrays, or a sequence."""


@runtime_checkable
class Subject(Protocol):
    """Whatever draws answers about a data set."""

    def draw(self, data: Any, n: int) -> Answers:
        """Return n independent answers."""
        ...


@final
@dataclass(frozen=True, slots=True)
class Raised:
    """An error in place of an answer: its class, and what was told all the same.

    >>> Raised("ValueError")
    Raised(kind='ValueError', told='')
    """

    kind: str
    told: str = ""


@final
@dataclass(frozen=True, slots=True)
class Calls:
    """A function of a data set, called once for each answer.

    >>> Calls(len).draw("abc", 2)
    [3, 3]
    >>> Calls(int).draw("x", 1)
    [Raised(kind='ValueError', told='')]
    """

    function: Callable[[Any], Any]

    def draw(self, data: Any, n: int) -> Answers:
        """Call the function n times."""
        return [self._once(data) for _ in range(n)]

    def _once(self, data: Any) -> Any:
        try:
            return self.function(data)
        except Exception as error:  # noqa: BLE001  (an answer like any other)
            return Raised(type(error).__name__)


@final
@dataclass(frozen=True, slots=True)
class Batches:
    """A function of a data set and of a number, which gives so many answers.

    >>> Batches(lambda data, n: np.full(n, sum(data))).draw([1, 2], 3)
    array([3, 3, 3])
    """

    function: Callable[[Any, int], Answers]

    def draw(self, data: Any, n: int) -> Answers:
        """Call the function once."""
        return self.function(data, n)


@final
@dataclass(frozen=True, slots=True)
class Runs:
    """A mechanism of this package; noise that is added to numbers is drawn all at once.

    >>> Runs(Laplace(scale=1)).draw(7, 5).shape, Runs(Laplace(scale=1)).draw([1, 2], 5).shape
    ((5,), (5, 2))
    """

    mechanism: Mechanism[Any, Any]

    def draw(self, data: Any, n: int) -> Answers:
        """Run the mechanism n times."""
        match self.mechanism:
            case Laplace() | Gaussian():
                many = np.tile(np.asarray(data), (n, *(1 for _ in np.shape(data))))
                drawn: NDArray[Any] = self.mechanism.run(many)
                return drawn
            case RandomizedResponse():
                return self.mechanism.run_each([data] * n)
            case _:
                return Calls(self.mechanism.run).draw(data, n)


def subject_of(mechanism: object) -> Subject:
    """Return whatever is audited as a subject.

    A function with an attribute ``batch``, a function of the data and a number, is drawn from by
    that.

    >>> subject_of(len)
    Calls(function=<built-in function len>)
    """
    if isinstance(mechanism, Mechanism):
        return Runs(mechanism)
    if isinstance(mechanism, Subject):
        return mechanism
    batch = getattr(mechanism, "batch", None)
    if callable(batch):
        return Batches(batch)
    if callable(mechanism):
        return Calls(mechanism)
    raise WrongKind(
        what=f"an object of type {type(mechanism).__name__} cannot be audited.",
        why="an audit draws many answers about two data sets and compares them.",
        do="give a function of a data set, a mechanism, or a Question or Command of this room.",
    )
