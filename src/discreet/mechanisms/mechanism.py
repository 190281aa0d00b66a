"""Mechanisms: loss, error, run and exact distribution; arguments, quantiles, and guarded runs.

Trust: kernel.

Definition.  A mechanism is a frozen value that knows nothing about data.
    ``loss(distance=d)``  the privacy loss between any two inputs at distance at most d;
    ``error(confidence=c)``  the smallest r such that the answer is within r of the truth with
    probability at least c, regardless of the input;
    ``run(value)``  one answer, drawn from exact integer noise;
    ``reference_pmf(value)``  the distribution of that answer, enclosed between rationals, on small
    inputs.
Arguments are read, and refused, before any bit is drawn.
"""

from __future__ import annotations

import math
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, Generic, TypeVar

from discreet.certified import exp_neg, log
from discreet.errors import OutOfRange
from discreet.exact import ExactNumber, Interval, decimal
from discreet.loss import PrivacyLoss
from discreet.noise import SYSTEM, Distribution, Entropy
from discreet.noise.distribution import BITS
from discreet.noise.entropy import OneCopy
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


class GuardedRun(OneCopy, ABC):
    """A run that cannot be copied, stored or forked, and gives one answer at a time.

    It holds noise that was drawn and paid for once, and two continuations would use it twice.
    """

    __slots__ = ("_entropy", "_lock")

    def __init__(self, entropy: Entropy) -> None:
        super().__init__()
        self._entropy = entropy
        self._lock = threading.Lock()

    @abstractmethod
    def _check_open(self) -> None:
        """Refuse if no further answer was paid for."""

    def _alone(self, answer: Callable[[int], Answer], number: int) -> Answer:
        self._check_process()
        with self._lock:
            self._check_open()
            return answer(number)
