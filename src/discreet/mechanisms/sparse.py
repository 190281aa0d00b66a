"""Sparse: find the first few queries above a threshold, and pay for those alone.

Trust: kernel.

Definition.  As AboveThreshold, with the same noisy threshold throughout, until c queries were
answered above; rho has scale D/eps1 and each nu_i scale 2cD/eps2.

Theorem (key ``sparse-vector``; Lyu, Su and Li 2017, theorems 2 and 4).  A run is (eps1 + eps2)-
differentially private whatever the number of queries; with *monotone* queries scale cD/eps2 will
do.
Proof.  In the proof of AboveThreshold, c aboves each cost a factor exp(2D/scale), or exp(D/scale)
for monotone queries; belows and the noise of the threshold cost what they cost there.

Theorem (key ``sparse-split``; Lyu, Su and Li 2017, section 4.2).  With continuous noise the
variance of nu - rho is 2 (D/eps1)**2 + 2 (m D/eps2)**2 with m = 2c (monotone: c); at a given total
it is smallest where eps1 : eps2 = 1 : m**(2/3).
The share of eps1 is that optimum, rounded to a rational; eps2 is exactly
what is left, so that the total is epsilon and not a digit more.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, final

from discreet.exact import Interval, whole
from discreet.mechanisms.arguments import Number
from discreet.mechanisms.threshold_law import Pattern
from discreet.mechanisms.threshold_mechanism import (
    MOST_ANSWERS,
    ThresholdMechanism,
    read_plan,
    whether,
)
from discreet.mechanisms.threshold_run import RunTerms
from discreet.noise import DiscreteLaplace

__all__ = ["Sparse", "comparison_noises"]

_SHARE_BITS: Final = 16


@final
@dataclass(frozen=True, slots=True, init=False)
class Sparse(ThresholdMechanism[bool]):
    """Compare queries with a noisy threshold, and halt after so many answers above.

    >>> plan = Sparse(threshold=1000, answers=2, epsilon=1)
    >>> plan.run([0, 5000, 0, 0, 5000, 5000])
    (False, True, False, False, True)
    >>> 1 / plan.threshold_noise.scale + 2 * 2 / plan.query_noise.scale
    Fraction(1, 1)
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
        plan = read_plan(
            threshold=threshold, epsilon=epsilon, sensitivity=sensitivity, monotone=monotone
        )
        plan["answers"] = whole(answers, name="answers", low=1, high=MOST_ANSWERS)
        for name, value in plan.items():
            object.__setattr__(self, name, value)
        self._terms()

    def reference_pmf(self, values: Sequence[int]) -> Mapping[Pattern, Interval]:
        """Enclose the chance of every outcome on a short stream of values.

        >>> law = Sparse(threshold=0, answers=2, epsilon=1).reference_pmf([0, 1])
        >>> [round(chance.nearest(), 3) for chance in law.values()]
        [0.25, 0.222, 0.168, 0.359]
        """
        return self._comparison().law(values)

    def _terms(self) -> RunTerms[bool]:
        return _terms(self)


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
def _terms(plan: Sparse) -> RunTerms[bool]:
    threshold_noise, query_noise = comparison_noises(
        epsilon=plan.epsilon,
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
        answer_noise=None,
        form=whether,
    )
