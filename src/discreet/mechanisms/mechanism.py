"""Mechanisms: what each offers (loss, error, run, exact law), and the arguments that they read.

Trust: kernel.

Arguments are read, and refused, before any bit is drawn.

Definition.  A mechanism is a frozen value that knows nothing about data.
    ``loss(distance=d)``  the privacy loss between any two inputs at distance at most d;
    ``error(confidence=c)``  the smallest r such that the answer is within r of the truth with
    probability at least c, whatever the input;
    ``run(value)``  one answer, drawn from exact integer noise;
    ``reference_pmf(value)``  the law of that answer, enclosed between rationals, on small inputs.

Theorem (key ``post-processing``; Dwork and Roth 2014, proposition 2.1).  If y has the law of a
mechanism, then f(y) loses no more privacy than y, for every function f that sees nothing else of
the data.  ``map`` builds that mechanism.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Generic, TypeVar, final

from discreet.errors import OutOfRange, WrongKind
from discreet.exact import ExactNumber, Interval, decimal
from discreet.loss import PrivacyLoss
from discreet.noise import SYSTEM, Entropy
from discreet.notebook import Shown

Number = ExactNumber | float
"""A number as a person types it; a float stands for its shortest decimal text."""


def at_distance(value: object) -> Fraction:
    """Read how far apart two inputs may be.

    >>> at_distance(2)
    Fraction(2, 1)
    """
    return factor(value, name="distance")


def steps_at(value: object) -> int:
    """Read how far apart two inputs may be that are whole numbers apart.

    A fraction counts as the next whole number.  Integers that are at most half a step apart are
    equal, but whoever names half a step has another query in mind, which no rounding makes free.

    >>> steps_at(2), steps_at("0.5"), steps_at(0)
    (2, 1, 0)
    """
    return math.ceil(at_distance(value))


def factor(value: object, *, name: str) -> Fraction:
    """Read a number that is not negative.

    >>> factor("0.5", name="stretch")
    Fraction(1, 2)
    """
    number = decimal(value, name=name)
    if number.numerator < 0:
        raise OutOfRange(f"{name} is negative; give a {name} of zero or above.")
    return number


def at_confidence(value: object) -> Fraction:
    """Read a probability strictly between zero and one.

    >>> at_confidence(0.95)
    Fraction(19, 20)
    """
    number = decimal(value, name="confidence")
    if not 0 < number < 1:
        raise OutOfRange(
            "confidence is not strictly between 0 and 1; give a confidence such as 0.95."
        )
    return number


Value = TypeVar("Value")
Answer = TypeVar("Answer")
Image = TypeVar("Image")

ReferenceLaw = Mapping[Any, Interval] | Callable[[Any], Interval]
"""Chances of outcomes: a table where there are finitely many, otherwise a function."""


class Mechanism(Shown, ABC, Generic[Value, Answer]):
    """A way to answer a question with exactly known privacy and accuracy."""

    __slots__ = ()

    @abstractmethod
    def loss(self, *, distance: Number = 1) -> PrivacyLoss:
        """Return the privacy loss between inputs at most this far apart."""

    @abstractmethod
    def error(self, *, confidence: Number) -> int | Fraction:
        """Return how far an answer is from the truth, at most, with this probability."""

    @abstractmethod
    def run(self, value: Value, *, entropy: Entropy = SYSTEM) -> Answer:
        """Return one answer."""

    @abstractmethod
    def reference_pmf(self, value: Value) -> ReferenceLaw:
        """Return the law of ``run(value)``."""

    def map(
        self, function: Callable[[Answer], Image], *, stretch: ExactNumber | None = None
    ) -> Mapped[Value, Image]:
        """Return the mechanism that applies a function to every answer, at the same loss.

        ``stretch`` is how much the function can lengthen a distance, where that is known; it gives
        the error of the result.
        """
        return Mapped(self, function, stretch=stretch)


@final
@dataclass(frozen=True, slots=True, init=False)
class Mapped(Mechanism[Value, Image]):
    """A mechanism followed by a function of its answer (key ``post-processing``).

    >>> from discreet.mechanisms import Laplace
    >>> halved = Laplace(scale=2).map(lambda answer: answer / 2, stretch="1/2")
    >>> halved.loss(distance=1) == Laplace(scale=2).loss(distance=1)
    True
    >>> halved.error(confidence=0.95)
    Fraction(3, 1)
    """

    mechanism: Mechanism[Value, Any]
    function: Callable[[Any], Image]
    stretch: Fraction | None

    def __init__(
        self,
        mechanism: Mechanism[Value, Any],
        function: Callable[[Any], Image],
        *,
        stretch: ExactNumber | None = None,
    ) -> None:
        """Take a mechanism, a function of its answers, and how much the function stretches."""
        if not isinstance(mechanism, Mechanism):
            raise WrongKind(
                f"cannot map a {type(mechanism).__name__}; give a mechanism, such as "
                "Laplace(scale=2)."
            )
        if not callable(function):
            raise WrongKind(
                f"cannot map by a {type(function).__name__}, which cannot be called; give a "
                "function of one argument, the answer."
            )
        object.__setattr__(self, "mechanism", mechanism)
        object.__setattr__(self, "function", function)
        known = None if stretch is None else factor(stretch, name="stretch")
        object.__setattr__(self, "stretch", known)

    def loss(self, *, distance: Number = 1) -> PrivacyLoss:
        """Return the loss of the mechanism that is mapped."""
        return self.mechanism.loss(distance=distance)

    def error(self, *, confidence: Number) -> int | Fraction:
        """Return the error of the mechanism that is mapped, stretched."""
        before = self.mechanism.error(confidence=confidence)
        if self.stretch is None:
            raise WrongKind(
                "the error of a mapped answer is not known; say how much it stretches distances: "
                "map(function, stretch=1)."
            )
        return self.stretch * before

    def run(self, value: Value, *, entropy: Entropy = SYSTEM) -> Image:
        """Return the function of one answer."""
        return self.function(self.mechanism.run(value, entropy=entropy))

    def reference_pmf(self, value: Value) -> ReferenceLaw:
        """Add up the chances of all outcomes with one image, where there are finitely many."""
        law = self.mechanism.reference_pmf(value)
        if not isinstance(law, Mapping):
            raise WrongKind(
                "the mapped law has infinitely many outcomes; ask the mechanism itself, or "
                "confine its answers first."
            )
        chances: dict[Hashable, Interval] = {}
        for outcome, chance in law.items():
            image: Any = self.function(outcome)
            before = chances.get(image, Interval(Fraction(0), Fraction(0)))
            chances[image] = Interval(before.low + chance.low, before.high + chance.high)
        return chances
