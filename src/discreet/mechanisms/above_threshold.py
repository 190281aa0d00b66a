"""AboveThreshold: find the first query above a threshold, however many come before it.

Trust: kernel.

Definition.  Let D bound how far one unit moves each integer query, and eps1 + eps2 = epsilon, here
eps1 = eps2 = epsilon/2.  Draw rho with P[rho = t] proportional to exp(-|t| eps1/D) once.  For each
query q_i, chosen in view of all earlier answers, draw nu_i of the same law with the scale 2D/eps2,
and answer *above* where q_i + nu_i >= threshold + rho, else *below*.  Halt at the first above.

Theorem (key ``above-threshold``; Dwork and Roth 2014, theorem 3.23; Lyu, Su and Li 2017).  A run is
epsilon-differentially private whatever the number of queries, and no smaller epsilon holds for all
of them.
Proof.  Fix the answers: below, ..., below, above.  They fix the queries too, so let q_i and q'_i be
their values on neighbors, |q_i - q'_i| <= D.  Given rho = t, the answers are independent:

    sum over t of  P[rho = t] * prod_{i<k} P[nu_i < T + t - q_i] * P[nu_k >= T + t - q_k].

Compare the term at t with the term at t + D for the neighbor, a bijection of the integers.
(1) P[rho = t] <= exp(eps1) P[rho = t + D], as |t + D| <= |t| + D.
(2) q'_i <= q_i + D, so T + t - q_i <= T + (t + D) - q'_i: a below is no less likely.
(3) T + (t + D) - q'_k <= T + t - q_k + 2D, and P[nu >= m] <= exp(2D/scale) P[nu >= m + 2D] for
    every integer m, term by term as in (1): the above costs at most exp(eps2).
So each term, and the sum, grows by at most exp(eps1 + eps2).  No density or continuity is used:
shifts by D and 2D keep integers integers.  The proof reads the same with > for >=, which is the
threshold moved by one; what it needs is one comparison rule for all data.
*Monotone* queries (neighbors move all of them the same way).  If all q' >= q, (3) needs a shift by
D only; if all q' <= q, keep t as it is: belows are no less likely, and the above costs one shift by
D.  So scale D/eps2 will do.
Tight: let D = 1, q = (0, ..., 0, 1), q' = (1, ..., 1, 0) and T -> -infinity, where terms are
weighted by exp(-t eps1).  With many zeros only large t matter, where (1) and (3) are equalities.

Assumes: integer queries; all coins from ``entropy``; no draw beyond 64 bits (below exp(-63)).
Naive accounting would charge each of n comparisons on its own, n epsilon/4 in all.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import final

from discreet.exact import Interval
from discreet.mechanisms.arguments import Number
from discreet.mechanisms.threshold_law import Pattern
from discreet.mechanisms.threshold_mechanism import ThresholdMechanism, read_plan, whether
from discreet.mechanisms.threshold_run import RunTerms
from discreet.noise import DiscreteLaplace

__all__ = ["AboveThreshold"]


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

    threshold: int
    epsilon: Fraction
    sensitivity: int
    monotone: bool

    def __init__(
        self,
        *,
        threshold: int,
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
        for name, value in plan.items():
            object.__setattr__(self, name, value)
        self._terms()

    def reference_pmf(self, values: Sequence[int]) -> Mapping[Pattern, Interval]:
        """Enclose the chance of every outcome on a short stream of values.

        >>> law = AboveThreshold(threshold=0, epsilon=1).reference_pmf([0, 0, 1])
        >>> round(law[False, False, True].nearest(), 6)
        0.116862
        """
        return self._comparison().law(values)

    def _terms(self) -> RunTerms[bool]:
        return _terms(self)


@functools.lru_cache(maxsize=64)
def _terms(plan: AboveThreshold) -> RunTerms[bool]:
    half = plan.epsilon / 2
    shifts = 1 if plan.monotone else 2
    return RunTerms(
        threshold=plan.threshold,
        answers=1,
        sensitivity=plan.sensitivity,
        threshold_noise=DiscreteLaplace(scale=plan.sensitivity / half),
        query_noise=DiscreteLaplace(scale=shifts * plan.sensitivity / half),
        answer_noise=None,
        form=whether,
    )
