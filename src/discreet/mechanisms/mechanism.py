"""Mechanisms: loss, error, run and exact distribution; arguments, quantiles, and guarded runs.

Trust: kernel.

Definition.  A mechanism is a frozen value that knows nothing about data.
    ``loss(distance=d)``  the privacy loss between any two inputs at distance at most d;
    ``error(confidence=c)``  the smallest r such that the answer is within r of the truth with
    probability at least c, whatever the input;
    ``run(value)``  one answer, drawn from exact integer noise;
    ``reference_pmf(value)``  the distribution of that answer, enclosed between rationals, on small
    inputs.
Arguments are read, and refused, before any bit is drawn.

Theorem (key ``post-processing``; Dwork and Roth 2014, proposition 2.1).  If y has the distribution
of a mechanism's answer, then f(y) loses no more privacy than y, for every function f that sees
nothing else of the data.  ``map`` builds that mechanism.

Quantiles are decided on enclosures of growing precision.  The probabilities are transcendental
unless the noise is constant, and the limits are rational or algebraic, so the two are never equal
and every search ends.
"""

from __future__ import annotations

import math
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Generic, NoReturn, TypeVar, final

from discreet.certified import exp_neg, log
from discreet.errors import EntropyBusy, EntropyCopied, EntropyForked, OutOfRange, WrongKind
from discreet.exact import ExactNumber, Interval, decimal, freeze
from discreet.loss import PrivacyLoss
from discreet.noise import SYSTEM, Distribution, Entropy
from discreet.noise.entropy import process_stamp
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
    """Read a distance of inputs that are integers apart; a fraction counts as the next integer.

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
        raise OutOfRange(f"{name} must be at least 0.")
    return number


def at_confidence(value: object) -> Fraction:
    """Read a probability strictly between zero and one.

    >>> at_confidence(0.95)
    Fraction(19, 20)
    """
    number = decimal(value, name="confidence")
    if not 0 < number < 1:
        raise OutOfRange("confidence must be strictly between 0 and 1, such as 0.95.")
    return number


Value = TypeVar("Value")
Answer = TypeVar("Answer")
Image = TypeVar("Image")

ReferenceLaw = Mapping[Any, Interval] | Callable[[Any], Interval]
"""Probabilities of outcomes: a table if there are finitely many, otherwise a function."""


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
        """Return the distribution of ``run(value)``."""

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
            raise WrongKind("mechanism must be a mechanism, such as Laplace(scale=2).")
        if not callable(function):
            raise WrongKind("function must be a function of one argument, the answer.")
        known = None if stretch is None else factor(stretch, name="stretch")
        freeze(self, mechanism=mechanism, function=function, stretch=known)

    def loss(self, *, distance: Number = 1) -> PrivacyLoss:
        """Return the loss of the mechanism that is mapped."""
        return self.mechanism.loss(distance=distance)

    def error(self, *, confidence: Number) -> int | Fraction:
        """Return the error of the mechanism that is mapped, stretched."""
        before = self.mechanism.error(confidence=confidence)
        if self.stretch is None:
            raise WrongKind("the error is unknown without a stretch: map(function, stretch=1).")
        return self.stretch * before

    def run(self, value: Value, *, entropy: Entropy = SYSTEM) -> Image:
        """Return the function of one answer."""
        return self.function(self.mechanism.run(value, entropy=entropy))

    def reference_pmf(self, value: Value) -> ReferenceLaw:
        """Add up the probabilities of all outcomes with one image, if there are finitely many."""
        law = self.mechanism.reference_pmf(value)
        if not isinstance(law, Mapping):
            raise WrongKind("the mapped distribution has infinitely many outcomes.")
        chances: dict[Hashable, Interval] = {}
        for outcome, chance in law.items():
            image: Any = self.function(outcome)
            before = chances.get(image, Interval(Fraction(0), Fraction(0)))
            chances[image] = Interval(before.low + chance.low, before.high + chance.high)
        return chances


BITS = 64


def decide_at_most(enclose: Callable[[int], Interval], limit: Fraction) -> bool:
    """Decide whether a number, enclosed ever more finely, is at most a rational limit.

    >>> decide_at_most(lambda bits: Interval(Fraction(1, 3), Fraction(1, 3)), Fraction(1, 2))
    True
    """
    bits = BITS
    while True:
        chance = enclose(bits)
        if chance.high <= limit:
            return True
        if chance.low > limit:
            return False
        bits *= 2


def first_true(
    enough: Callable[[int], bool], *, high: int | None = None, near: int = 1, step: int = 1
) -> int:
    """Return the smallest r >= 0 for which a rising condition holds; it holds at ``high``.

    Without ``high``, the search goes out from ``near``, by a ``step`` that doubles each time.

    >>> first_true(lambda r: r * r > 50)
    8
    """
    outside, inside = (-1, high) if high is not None else _around(enough, max(near, 0), step)
    while inside - outside > 1:
        middle = (inside + outside) // 2
        outside, inside = (outside, middle) if enough(middle) else (middle, inside)
    return inside


def _around(enough: Callable[[int], bool], point: int, step: int) -> tuple[int, int]:
    """Return two numbers: the condition fails at the first and holds at the second."""
    if enough(point):
        while step <= point and enough(point - step):
            point, step = point - step, 2 * step
        return max(point - step, -1), point
    while not enough(point + step):
        point, step = point + step, 2 * step
    return point, point + step


def two_sided_quantile(law: Distribution, chance: Fraction, count: int) -> int:
    """Return the smallest r with P[all of ``count`` draws of a symmetric law within r] >= chance.

    >>> from discreet.noise import DiscreteLaplace
    >>> two_sided_quantile(DiscreteLaplace(scale=2), Fraction(19, 20), 1)
    6
    """
    if count == 1:
        return max(0, law.quantile((1 + chance) / 2))
    bits = BITS
    while True:
        tail = root_complement(chance, count, bits)
        if tail.low > 0:
            reach = law.quantile(1 - tail.high / 2)
            if reach == law.quantile(1 - tail.low / 2):
                return max(0, reach)
        bits *= 2


def root_complement(chance: Fraction, count: int, bits: int) -> Interval:
    """Enclose 1 - chance**(1/count).

    >>> root_complement(Fraction(3, 4), 2, 64).nearest()
    0.13397459621556135
    """
    scale = bits + 2 * count.bit_length()
    low, high = log(1 / chance, scale)
    one = 1 << scale
    root_low = exp_neg(Fraction(high, count << scale), scale)[0]
    root_high = min(one, exp_neg(Fraction(max(0, low), count << scale), scale)[1])
    return Interval(1 - Fraction(root_high, one), 1 - Fraction(root_low, one))


def enclosed_power(low: int, high: int, exponent: int, scale: int) -> tuple[int, int]:
    """Enclose a power of a number in [0, 1] that is enclosed at scale 2**scale.

    >>> enclosed_power(1 << 7, 1 << 7, 3, 8)
    (32, 32)
    """
    power_low = power_high = 1 << scale
    for digit in f"{exponent:b}":
        power_low, power_high = power_low * power_low >> scale, -(-power_high * power_high >> scale)
        if digit == "1":
            power_low, power_high = power_low * low >> scale, -(-power_high * high >> scale)
    return power_low, power_high


Reason = dict[str, str]


class GuardedRun(ABC):
    """A run that cannot be copied, stored, continued in a forked process, altered or entered twice.

    It holds noise that was drawn and paid for once, and two continuations would use it twice; one
    answer is given at a time, also among threads and signal handlers.
    """

    __slots__ = ("_busy", "_entropy", "_lock", "_stamp")

    _busy: bool
    _entropy: Entropy
    _lock: threading.RLock
    _stamp: int

    _FORKED: ClassVar[Reason]
    _COPIED: ClassVar[Reason]
    _BUSY: ClassVar[Reason]
    _ALTERED: ClassVar[Reason]
    """Why a run refuses, and what to do: ``what``, ``why`` and ``do`` of an error."""

    def __init__(self, entropy: Entropy) -> None:
        """Bind the run to this process."""
        freeze(self, _entropy=entropy, _stamp=process_stamp(), _lock=threading.RLock(), _busy=False)

    @abstractmethod
    def _check_open(self) -> None:
        """Refuse where no further answer was paid for."""

    def _check_process(self) -> None:
        if self._stamp != process_stamp():
            raise EntropyForked(**self._FORKED)

    def _alone(self, answer: Callable[[int], Answer], number: int) -> Answer:
        """Answer while no other thread does; a signal handler of this thread is refused."""
        with self._lock:
            if self._busy:
                raise EntropyBusy(**self._BUSY)
            self._check_open()
            freeze(self, _busy=True)
            try:
                return answer(number)
            finally:
                freeze(self, _busy=False)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        """Refuse to alter a run."""
        raise WrongKind(**self._ALTERED | {"what": f"{name} of {self._ALTERED['what']}"})

    def __delattr__(self, name: str) -> NoReturn:
        """Refuse to alter a run."""
        self.__setattr__(name, None)

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        """Refuse to be copied or stored."""
        raise EntropyCopied(**self._COPIED)
