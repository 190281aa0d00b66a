"""Sparse and NumericSparse: the first few queries above a threshold, and how large they are.

Trust: kernel.

Definition.  Sparse is AboveThreshold with the same noisy threshold throughout, until c queries were
answered above; rho has scale D/eps1 and each nu_i scale 2cD/eps2.

Theorem (key ``sparse-vector``; Lyu, Su and Li 2017, theorems 2 and 4).  A run is (eps1 + eps2)-
differentially private whatever the number of queries; with *monotone* queries scale cD/eps2 will
do.
Proof.  In the proof of AboveThreshold, c aboves each cost a factor exp(2D/scale), or exp(D/scale)
for monotone queries; belows and the noise of the threshold cost what they cost there.

Theorem (key ``sparse-split``; Lyu, Su and Li 2017, section 4.2).  With continuous noise the
variance of nu - rho is 2 (D/eps1)**2 + 2 (m D/eps2)**2 with m = 2c (monotone: c); at a given total
it is smallest where eps1 : eps2 = 1 : m**(2/3).
The share of eps1 is that optimum, rounded to a rational; eps2 is exactly what is left, so that the
total is epsilon and not a digit more.

Definition.  NumericSparse is Sparse with (1 - share) epsilon; a query answered above is then
released as q_i + w_i with fresh discrete Laplace noise of scale cD / (share epsilon).

Theorem (key ``numeric-sparse``; Dwork and Roth 2014, theorem 3.28).  A run is
epsilon-differentially private whatever the number of queries.
Proof.  The comparisons cost (1 - share) epsilon.  Each of at most c numbers is a discrete Laplace
release of a query that moves by at most D, at share epsilon / c; adaptive composition adds up.
The noise must be fresh.  To release q_i + nu_i of the comparison itself would also tell that
threshold + rho is at most that number: rho could no longer be shifted to pay for all belows at
once, and the loss would grow with their number.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, TypeAlias, final

from discreet.errors import OutOfRange, WrongKind
from discreet.exact import Interval, decimal, whole
from discreet.mechanisms.mechanism import Number
from discreet.mechanisms.sparse_vector.above_threshold import (
    MOST_ANSWERS,
    Answer,
    RunTerms,
    ThresholdMechanism,
    read_threshold_plan,
    whether,
)
from discreet.mechanisms.sparse_vector.threshold_law import Comparison, stream
from discreet.noise import DiscreteLaplace

_SHARE_BITS: Final = 16


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

    threshold: int
    answers: int
    epsilon: Fraction
    sensitivity: int
    monotone: bool

    def __init__(
        self,
        *,
        threshold: int,
        answers: int,
        epsilon: Number,
        sensitivity: int = 1,
        monotone: bool = False,
    ) -> None:
        """Take a public threshold; ``monotone`` promises that neighbors move all queries one way.

        ``sensitivity`` is the most by which one unit moves any query.
        """
        plan = read_threshold_plan(
            threshold=threshold, epsilon=epsilon, sensitivity=sensitivity, monotone=monotone
        )
        plan["answers"] = whole(answers, name="answers", low=1, high=MOST_ANSWERS)
        for name, value in plan.items():
            object.__setattr__(self, name, value)
        self._terms()

    def _terms(self) -> RunTerms[bool]:
        return _sparse_terms(self)


def comparison_noises(
    *, epsilon: Fraction, sensitivity: int, answers: int, monotone: bool
) -> tuple[DiscreteLaplace, DiscreteLaplace]:
    """Return the noises of threshold and queries that cost epsilon together, split optimally.

    >>> noises = comparison_noises(epsilon=Fraction(1), sensitivity=1, answers=1, monotone=True)
    >>> [str(noise.scale) for noise in noises]
    ['2', '2']
    """
    aboves = answers if monotone else 2 * answers
    first = epsilon * threshold_share(aboves)
    second = epsilon - first
    return (
        DiscreteLaplace(scale=sensitivity / first),
        DiscreteLaplace(scale=aboves * sensitivity / second),
    )


def threshold_share(aboves: int) -> Fraction:
    """Return 1 / (1 + m**(2/3)), with the cube root rounded down to 16 bits behind the point.

    >>> threshold_share(8)
    Fraction(1, 5)
    """
    one = 1 << _SHARE_BITS
    return Fraction(one, one + _cube_root(aboves * aboves * one**3))


def _cube_root(number: int) -> int:
    """Return the largest integer whose cube is at most a positive number, by Newton's method."""
    root = 1 << -(-number.bit_length() // 3)
    while root**3 > number:
        root = (2 * root + number // (root * root)) // 3
    return root


@functools.lru_cache(maxsize=64)
def _sparse_terms(plan: Sparse) -> RunTerms[bool]:
    return _terms(plan, epsilon=plan.epsilon, answer_noise=None, form=whether)


def _terms(
    plan: Sparse | NumericSparse,
    *,
    epsilon: Fraction,
    answer_noise: DiscreteLaplace | None,
    form: Callable[[bool, int], Answer],
) -> RunTerms[Answer]:
    """Return the terms of a run whose comparisons cost epsilon."""
    threshold_noise, query_noise = comparison_noises(
        epsilon=epsilon,
        sensitivity=plan.sensitivity,
        answers=plan.answers,
        monotone=plan.monotone,
    )
    return RunTerms(
        threshold=plan.threshold,
        answers=plan.answers,
        sensitivity=plan.sensitivity,
        threshold_noise=threshold_noise,
        query_noise=query_noise,
        answer_noise=answer_noise,
        form=form,
    )


NumericPattern: TypeAlias = tuple[int | None, ...]
"""The answers of a run: None for below, a number for above."""

_SHARE: Final = Fraction(1, 9)


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

    threshold: int
    answers: int
    epsilon: Fraction
    share: Fraction
    sensitivity: int
    monotone: bool

    def __init__(  # noqa: PLR0913  each is a public parameter of the plan
        self,
        *,
        threshold: int,
        answers: int,
        epsilon: Number,
        share: Number = _SHARE,
        sensitivity: int = 1,
        monotone: bool = False,
    ) -> None:
        """Take a public threshold; ``monotone`` promises that neighbors move all queries one way.

        ``sensitivity`` is the most by which one unit moves any query.
        """
        plan = read_threshold_plan(
            threshold=threshold, epsilon=epsilon, sensitivity=sensitivity, monotone=monotone
        )
        plan["answers"] = whole(answers, name="answers", low=1, high=MOST_ANSWERS)
        plan["share"] = _checked_share(share)
        for name, value in plan.items():
            object.__setattr__(self, name, value)
        self._terms()

    @property
    def answer_noise(self) -> DiscreteLaplace:
        """The noise of each number."""
        spent = self.share * self.epsilon
        return DiscreteLaplace(scale=self.answers * self.sensitivity / spent)

    def reference_pmf(self, values: Sequence[int]) -> Callable[[NumericPattern], Interval]:
        """Return a function that encloses the chance of one outcome on a stream of values.

        >>> chance = NumericSparse(threshold=0, answers=1, epsilon=9).reference_pmf([0, 1])
        >>> round(chance((None, 1)).nearest(), 4)
        0.0496
        """
        numbers = stream(values)
        comparison, noise = self._comparison(), self.answer_noise

        def chance(outcome: NumericPattern) -> Interval:
            pattern = _checked_outcome(outcome, comparison, len(numbers))
            total = comparison.chance(pattern, numbers)
            for answer, number in zip(outcome, numbers, strict=False):
                if answer is not None:
                    factor = noise.pmf_bounds(answer - number, 128)
                    total = Interval(total.low * factor.low, total.high * factor.high)
            return total

        return chance

    def _terms(self) -> RunTerms[int | None]:
        return _numeric_terms(self)


def _checked_share(share: object) -> Fraction:
    number = decimal(share, name="share")
    if not 0 < number < 1:
        raise OutOfRange("share is not strictly between 0 and 1; give a share such as 1/9.")
    return number


def _checked_outcome(
    outcome: NumericPattern, comparison: Comparison, count: int
) -> tuple[bool, ...]:
    """Return which answers are above, for an outcome that ``count`` values can lead to."""
    pattern = tuple(answer is not None for answer in outcome)
    aboves = sum(pattern)
    ended = aboves == comparison.answers and pattern[-1] and len(pattern) <= count
    if not ended and not (aboves < comparison.answers and len(pattern) == count):
        raise WrongKind(
            "the outcome does not fit the stream; give None or an int for each value that is "
            "answered."
        )
    return pattern


def _if_above(above: bool, noisy: int) -> int | None:  # noqa: FBT001  the form of an answer
    return noisy if above else None


@functools.lru_cache(maxsize=64)
def _numeric_terms(plan: NumericSparse) -> RunTerms[int | None]:
    epsilon = (1 - plan.share) * plan.epsilon
    return _terms(plan, epsilon=epsilon, answer_noise=plan.answer_noise, form=_if_above)
