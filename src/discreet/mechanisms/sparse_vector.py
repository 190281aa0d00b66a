"""The sparse vector technique: AboveThreshold, Sparse and NumericSparse, and their runs.

Trust: kernel.  Proofs are in docs/proofs/mechanisms.md.

Definition.  A *plan* is a frozen value: public threshold, exact epsilon, largest sensitivity.  A
*run* is one use of it.  The loss of a run does not depend on how many values are asked, so it is
charged when the run starts, once, before any noise is drawn.

Definition.  AboveThreshold finds the first query above a threshold, however many come before it.
Let D bound how far one unit moves each integer query, and eps1 + eps2 = epsilon, here eps1 =
eps2 = epsilon/2.  Draw rho with P[rho = t] proportional to exp(-|t| eps1/D) once.  For each
query q_i, chosen in view of all earlier answers, draw nu_i of the same family with scale 2D/eps2,
and answer *above* if q_i + nu_i >= threshold + rho, else *below*.  Halt at the first above.
Theorem (key ``above-threshold``; Dwork and Roth 2014, theorem 3.23; Lyu, Su and Li 2017).  A run is
epsilon-differentially private regardless of the number of queries, and no smaller epsilon holds for
all of them.  For *monotone* queries (neighbors move all of them the same way) scale D/eps2 will do.

Definition.  Sparse is AboveThreshold with the same noisy threshold throughout, until c queries were
answered above; rho has scale D/eps1 and each nu_i scale 2cD/eps2.
Theorem (key ``sparse-vector``; Lyu, Su and Li 2017, theorems 2 and 4).  A run is (eps1 + eps2)-
differentially private regardless of the number of queries; with monotone queries scale cD/eps2 will
do. Theorem (key ``sparse-split``; Lyu, Su and Li 2017, section 4.2).  With continuous noise the
variance of nu - rho is 2 (D/eps1)**2 + 2 (m D/eps2)**2 with m = 2c (monotone: c); at a given total
it is smallest if eps1 : eps2 = 1 : m**(2/3).
The share of eps1 is that optimum, rounded to a rational; eps2 is exactly the rest.

Definition.  NumericSparse is Sparse with (1 - share) epsilon; a query answered above is then
released as q_i + w_i with fresh discrete Laplace noise of scale cD / (share epsilon).
Theorem (key ``numeric-sparse``; Dwork and Roth 2014, theorem 3.28).  A run is
epsilon-differentially private regardless of the number of queries.

Assumes: integer queries; all coins from ``entropy``; no draw beyond 64 bits (below exp(-8000)).
"""

from __future__ import annotations

import functools
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final, Generic, TypeAlias, TypeVar, final

import numpy as np

from discreet.errors import NotExact, OutOfRange, WrongKind
from discreet.exact import Interval, decimal, freeze, instance, positive, whole
from discreet.loss import Pure
from discreet.mechanisms.mechanism import (
    GuardedRun,
    Mechanism,
    Number,
    ReferenceLaw,
    at_confidence,
    steps_at,
)
from discreet.mechanisms.threshold_law import Accuracy, Comparison, stream
from discreet.noise import SYSTEM, DiscreteLaplace, Entropy
from discreet.noise.entropy import checked_entropy

Answer = TypeVar("Answer")


@final
class ThresholdRun(GuardedRun, Generic[Answer]):
    """One interactive run: a stream of values against one noisy threshold, answered one by one.

    The noise of the threshold is drawn once, and is the secret that makes belows free; so the run
    guards it.  Everything is checked, and all noise of an answer is drawn, before the value is
    looked at: neither a failure nor the time taken depends on the comparison.

    >>> run = AboveThreshold(threshold=10**6, epsilon=1).start()
    >>> run.ask(0), run.ask(2 * 10**6), run.halted
    (False, True, True)
    """

    __slots__ = ("_left", "_noisy_threshold", "_plan")

    def __init__(self, plan: ThresholdMechanism[Answer], entropy: Entropy) -> None:
        super().__init__(entropy)
        self._plan, self._left = plan, plan.answers
        self._noisy_threshold = plan.threshold + plan.threshold_noise.draw(entropy)

    @property
    def threshold(self) -> int:
        return self._plan.threshold

    @property
    def answers_left(self) -> int:
        """How many more values may be answered above."""
        return self._left

    @property
    def halted(self) -> bool:
        return self._left == 0

    def ask(self, value: int, *, sensitivity: int | None = None) -> Answer:
        """Compare the next value with the threshold.

        ``sensitivity`` is the most by which one unit moves this value, if that is known; it may
        not exceed what the plan allows.
        """
        most = self._plan.sensitivity
        if sensitivity is not None and whole(sensitivity, name="sensitivity", low=0) > most:
            raise OutOfRange(
                f"the query has sensitivity {sensitivity}, the run allows {most}; plan the run "
                "with the largest sensitivity of all its queries."
            )
        if isinstance(value, float | np.floating):
            raise NotExact("the value of a query is a float; count in integers, and give an int.")
        return self._alone(self._answer, whole(value, name="the value of a query"))

    def _answer(self, number: int) -> Answer:
        plan, released = self._plan, self._plan.answer_noise
        noise = plan.query_noise.draw(self._entropy)
        fresh = 0 if released is None else released.draw(self._entropy)
        above = number + noise >= self._noisy_threshold
        self._left -= above
        answer: Answer = plan.answer(above, number + fresh)
        return answer

    def _check_open(self) -> None:
        if self._left == 0:
            answers = self._plan.answers
            raise OutOfRange(
                f"the run has halted: {answers} of {answers} answers above the threshold are "
                "given; start a new run, which is charged again."
            )

    def __repr__(self) -> str:
        return f"<run against {self.threshold}, {self._left} of {self._plan.answers} answers left>"


MOST_ANSWERS: Final = 1 << 32
MOST_QUERIES: Final = 1 << 40

Charge = Callable[[Pure], object]
"""Pays for a run, or raises."""


@functools.lru_cache(maxsize=256)
def _laplace(scale: Fraction) -> DiscreteLaplace:
    """Return one object for each scale, so that all runs draw from one pool."""
    return DiscreteLaplace(scale=scale)


@dataclass(frozen=True, slots=True, init=False)
class ThresholdMechanism(Mechanism[Sequence[int], tuple[Answer, ...]], Generic[Answer]):
    """A plan for comparing a stream of integer queries with a public threshold."""

    threshold: int
    epsilon: Fraction
    sensitivity: int
    monotone: bool

    def __init__(
        self, *, threshold: int, epsilon: Number, sensitivity: int = 1, monotone: bool = False
    ) -> None:
        """Take a public threshold; ``monotone`` promises that neighbors move all queries one way.

        ``sensitivity`` is the most by which one unit moves any query.
        """
        freeze(
            self,
            threshold=whole(threshold, name="threshold"),
            epsilon=positive(decimal(epsilon, name="epsilon"), name="epsilon"),
            sensitivity=whole(sensitivity, name="sensitivity", low=1),
            monotone=instance(monotone, bool, name="monotone"),
        )
        self.threshold_noise, self.query_noise  # noqa: B018  refuses what it cannot draw

    if TYPE_CHECKING:  # a field of some plans, which a property here would give a default

        @property
        def answers(self) -> int: ...

    @property
    @abstractmethod
    def _budgets(self) -> tuple[Fraction, Fraction]:
        """What of epsilon the noise of the threshold costs, and what all comparisons cost."""

    @staticmethod
    def answer(above: bool, noisy: int) -> Any:  # noqa: ARG004, FBT001  the form of an answer
        """Make an answer of whether the value is above, and of the value plus fresh noise."""
        return above

    @property
    def _aboves(self) -> int:
        """How many times as wide as for one answer, and for one direction, noise has to be."""
        return self.answers if self.monotone else 2 * self.answers

    @property
    def threshold_noise(self) -> DiscreteLaplace:
        """The noise of the threshold, drawn once a run."""
        return _laplace(self.sensitivity / self._budgets[0])

    @property
    def query_noise(self) -> DiscreteLaplace:
        return _laplace(self._aboves * self.sensitivity / self._budgets[1])

    @property
    def answer_noise(self) -> DiscreteLaplace | None:
        return None

    def loss(self, *, distance: Number = 1) -> Pure:
        """Return the loss of one run between data sets that are ``distance`` units apart."""
        return Pure(epsilon=steps_at(distance) * self.epsilon)

    def error(self, *, confidence: Number, queries: int = 1) -> int:
        """Return alpha: with this confidence, all ``queries`` answers are right within it.

        Right within alpha: above means at least threshold - alpha, below means at most
        threshold + alpha, and numeric answers are off by at most alpha.  Holds for adaptive
        queries.
        """
        count = whole(queries, name="queries", low=1, high=MOST_QUERIES)
        accuracy = Accuracy(
            threshold_noise=self.threshold_noise,
            query_noise=self.query_noise,
            queries=count,
            answer_noise=self.answer_noise,
            answers=min(self.answers, count),
        )
        return accuracy.smallest(at_confidence(confidence))

    def start(
        self, *, charge: Charge | None = None, entropy: Entropy = SYSTEM
    ) -> ThresholdRun[Answer]:
        """Start one run.

        ``charge`` is called once with the loss of the whole run, before anything is drawn; if it
        raises, there is no run.
        """
        source = checked_entropy(entropy)
        if charge is not None:
            charge(self.loss())
        return ThresholdRun(self, source)

    def run(self, values: Sequence[int], *, entropy: Entropy = SYSTEM) -> tuple[Answer, ...]:
        """Answer a stream that is known in advance, until its end or the last answer."""
        numbers = stream(values)
        started = self.start(entropy=entropy)
        answers: list[Answer] = []
        for number in numbers:
            answers.append(started.ask(number))
            if started.halted:
                break
        return tuple(answers)

    def reference_pmf(self, values: Sequence[int]) -> ReferenceLaw:
        """Enclose the probability of every outcome on a short stream of values.

        >>> law = AboveThreshold(threshold=0, epsilon=1).reference_pmf([0, 0, 1])
        >>> round(law[False, False, True].nearest(), 6)
        0.116862
        """
        return self._comparison().law(values)

    def _comparison(self) -> Comparison:
        return Comparison(
            threshold=self.threshold,
            answers=self.answers,
            threshold_noise=self.threshold_noise,
            query_noise=self.query_noise,
        )


@final
@dataclass(frozen=True, slots=True, init=False)
class AboveThreshold(ThresholdMechanism[bool]):
    """Compare queries with a noisy threshold, and halt at the first that is above.

    >>> plan = AboveThreshold(threshold=1000, epsilon=1)
    >>> plan.threshold_noise.scale, plan.query_noise.scale
    (Fraction(2, 1), Fraction(4, 1))
    >>> plan.error(confidence=0.95, queries=100)
    31
    >>> plan.run([0, 400, 5000, 10])
    (False, False, True)
    """

    @property
    def answers(self) -> int:
        """A run halts after the first answer above."""
        return 1

    @property
    def _budgets(self) -> tuple[Fraction, Fraction]:
        return self.epsilon / 2, self.epsilon / 2


@final
@dataclass(frozen=True, slots=True, init=False)
class Sparse(ThresholdMechanism[bool]):
    """Compare queries with a noisy threshold, and halt after ``answers`` answers above.

    >>> plan = Sparse(threshold=1000, answers=2, epsilon=1)
    >>> plan.run([0, 5000, 0, 0, 5000, 5000])
    (False, True, False, False, True)
    >>> 1 / plan.threshold_noise.scale + 2 * 2 / plan.query_noise.scale
    Fraction(1, 1)
    >>> law = Sparse(threshold=0, answers=2, epsilon=1).reference_pmf([0, 1])
    >>> [round(chance.nearest(), 3) for chance in law.values()]
    [0.25, 0.222, 0.168, 0.359]
    """

    answers: int

    def __init__(
        self,
        *,
        threshold: int,
        answers: int,
        epsilon: Number,
        sensitivity: int = 1,
        monotone: bool = False,
    ) -> None:
        """Take a public threshold, and after how many answers above a run halts."""
        freeze(self, answers=whole(answers, name="answers", low=1, high=MOST_ANSWERS))
        ThresholdMechanism.__init__(
            self, threshold=threshold, epsilon=epsilon, sensitivity=sensitivity, monotone=monotone
        )

    @property
    def _budgets(self) -> tuple[Fraction, Fraction]:
        return _split(self.epsilon, self._aboves)


_SHARE_BITS: Final = 16


def threshold_share(aboves: int) -> Fraction:
    """Return 1 / (1 + m**(2/3)), with the cube root rounded down to 16 bits behind the point.

    >>> threshold_share(8)
    Fraction(1, 5)
    """
    one = 1 << _SHARE_BITS
    number = aboves * aboves * one**3
    root = 1 << -(-number.bit_length() // 3)
    while root**3 > number:  # Newton's method, from above
        root = (2 * root + number // (root * root)) // 3
    return Fraction(one, one + root)


def _split(epsilon: Fraction, aboves: int) -> tuple[Fraction, Fraction]:
    first = epsilon * threshold_share(aboves)
    return first, epsilon - first


NumericPattern: TypeAlias = tuple[int | None, ...]
"""The answers of a run: None for below, a number for above."""


@final
@dataclass(frozen=True, slots=True, init=False)
class NumericSparse(ThresholdMechanism[int | None]):
    """Compare queries with a noisy threshold; those above are answered with a number.

    ``share`` of epsilon goes to the numbers; one ninth is the choice of Dwork and Roth.

    >>> plan = NumericSparse(threshold=1000, answers=2, epsilon=1)
    >>> plan.answer_noise.scale
    Fraction(18, 1)
    >>> [answer is None for answer in plan.run([0, 5000, 0, 0, 5000, 5000])]
    [True, False, True, True, False]
    """

    answers: int
    share: Fraction

    def __init__(  # noqa: PLR0913  a threshold, what it may cost, and what moves it
        self,
        *,
        threshold: int,
        answers: int,
        epsilon: Number,
        sensitivity: int = 1,
        monotone: bool = False,
        share: Number = "1/9",
    ) -> None:
        """Take a public threshold, how many numbers are given, and their share of epsilon."""
        part = decimal(share, name="share")
        if not 0 < part < 1:
            raise OutOfRange("share must be strictly between 0 and 1, such as 1/9.")
        count = whole(answers, name="answers", low=1, high=MOST_ANSWERS)
        freeze(self, answers=count, share=part)
        ThresholdMechanism.__init__(
            self, threshold=threshold, epsilon=epsilon, sensitivity=sensitivity, monotone=monotone
        )

    @property
    def answer_noise(self) -> DiscreteLaplace:
        return _laplace(self.answers * self.sensitivity / (self.share * self.epsilon))

    def reference_pmf(self, values: Sequence[int]) -> Callable[[NumericPattern], Interval]:
        """Return a function that encloses the probability of one outcome on a stream of values.

        >>> chance = NumericSparse(threshold=0, answers=1, epsilon=9).reference_pmf([0, 1])
        >>> round(chance((None, 1)).nearest(), 4)
        0.0496
        """
        numbers = stream(values)
        comparison, noise = self._comparison(), self.answer_noise

        def chance(outcome: NumericPattern) -> Interval:
            pattern = tuple(answer is not None for answer in outcome)
            aboves, end = sum(pattern), len(numbers)
            ended = aboves == self.answers and pattern[-1] and len(pattern) <= end
            if not ended and not (aboves < self.answers and len(pattern) == end):
                raise WrongKind("give None or an int for each value that is answered.")
            total = comparison.chance(pattern, numbers)
            for answer, number in zip(outcome, numbers, strict=False):
                if answer is not None:
                    factor = noise.pmf_bounds(answer - number, 128)
                    total = Interval(total.low * factor.low, total.high * factor.high)
            return total

        return chance

    @property
    def _budgets(self) -> tuple[Fraction, Fraction]:
        return _split((1 - self.share) * self.epsilon, self._aboves)

    @staticmethod
    def answer(above: bool, noisy: int) -> int | None:  # noqa: FBT001
        """Answer with a number if the value is above."""
        return noisy if above else None
