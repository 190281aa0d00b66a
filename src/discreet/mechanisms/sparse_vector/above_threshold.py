"""AboveThreshold, and what every mechanism of the sparse vector technique offers.

Trust: kernel.

Definition.  A *plan* is a frozen value: public threshold, exact epsilon, largest sensitivity.  A
*run* is one use of it.  The loss of a run does not depend on how many values are asked, so it is
charged when the run starts, once, before any noise is drawn.

Definition.  AboveThreshold finds the first query above a threshold, however many come before it.
Let D bound how far one unit moves each integer query, and eps1 + eps2 = epsilon, here eps1 =
eps2 = epsilon/2.  Draw rho with P[rho = t] proportional to exp(-|t| eps1/D) once.  For each
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
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Generic, final

from discreet.errors import WrongKind
from discreet.exact import decimal, positive, whole
from discreet.loss import Pure
from discreet.mechanisms.mechanism import (
    Mechanism,
    Number,
    ReferenceLaw,
    at_confidence,
    steps_at,
)
from discreet.mechanisms.sparse_vector.threshold_law import Accuracy, Comparison, stream
from discreet.mechanisms.sparse_vector.threshold_run import Answer, RunTerms, ThresholdRun
from discreet.noise import SYSTEM, DiscreteLaplace, Entropy
from discreet.noise.entropy import checked_entropy

MOST_ANSWERS: Final = 1 << 32
MOST_QUERIES: Final = 1 << 40

Charge = Callable[[Pure], object]
"""Pays for a run, or raises."""


class ThresholdMechanism(Mechanism[Sequence[int], tuple[Answer, ...]], Generic[Answer]):
    """A plan for comparing a stream of integer queries with a public threshold."""

    __slots__ = ()

    threshold: int
    epsilon: Fraction

    @abstractmethod
    def _terms(self) -> RunTerms[Answer]:
        """Return the noises and the number of answers."""

    @property
    def threshold_noise(self) -> DiscreteLaplace:
        """The noise of the threshold, drawn once a run."""
        return self._terms().threshold_noise

    @property
    def query_noise(self) -> DiscreteLaplace:
        """The noise of each comparison."""
        return self._terms().query_noise

    def loss(self, *, distance: Number = 1) -> Pure:
        """Return the loss of one run between data sets that are ``distance`` units apart.

        One unit moves every query by at most the plan's sensitivity; a chain of ``distance``
        neighbors leads from one data set to the other.
        """
        return Pure(epsilon=steps_at(distance) * self.epsilon)

    def error(self, *, confidence: Number, queries: int = 1) -> int:
        """Return alpha: with this confidence, all ``queries`` answers are right within it.

        Right within alpha: above means at least threshold - alpha, below means at most
        threshold + alpha, and numeric answers are off by at most alpha.  Holds for adaptive
        queries.
        """
        terms, count = self._terms(), whole(queries, name="queries", low=1, high=MOST_QUERIES)
        accuracy = Accuracy(
            threshold_noise=terms.threshold_noise,
            query_noise=terms.query_noise,
            queries=count,
            answer_noise=terms.answer_noise,
            answers=min(terms.answers, count),
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
        return ThresholdRun(self._terms(), source)

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
        """Enclose the chance of every outcome on a short stream of values.

        >>> law = AboveThreshold(threshold=0, epsilon=1).reference_pmf([0, 0, 1])
        >>> round(law[False, False, True].nearest(), 6)
        0.116862
        """
        return self._comparison().law(values)

    def _comparison(self) -> Comparison:
        terms = self._terms()
        return Comparison(
            threshold=terms.threshold,
            answers=terms.answers,
            threshold_noise=terms.threshold_noise,
            query_noise=terms.query_noise,
        )


def read_threshold_plan(
    *, threshold: object, epsilon: object, sensitivity: object, monotone: object
) -> dict[str, object]:
    """Read the parameters that every plan has.

    >>> read_threshold_plan(threshold=5, epsilon=0.1, sensitivity=1, monotone=False)
    {'threshold': 5, 'epsilon': Fraction(1, 10), 'sensitivity': 1, 'monotone': False}
    """
    if not isinstance(monotone, bool):
        raise WrongKind(
            f"monotone is a {type(monotone).__name__}, not True or False; give monotone=True only "
            "where neighbors move all queries the same way."
        )
    return {
        "threshold": whole(threshold, name="threshold"),
        "epsilon": positive(decimal(epsilon, name="epsilon"), name="epsilon"),
        "sensitivity": whole(sensitivity, name="sensitivity", low=1),
        "monotone": monotone,
    }


def whether(above: bool, _: int) -> bool:  # noqa: FBT001  the form of an answer, never called by hand
    """Answer whether the value is above."""
    return above


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
        plan = read_threshold_plan(
            threshold=threshold, epsilon=epsilon, sensitivity=sensitivity, monotone=monotone
        )
        for name, value in plan.items():
            object.__setattr__(self, name, value)
        self._terms()

    def _terms(self) -> RunTerms[bool]:
        return _above_terms(self)


@functools.lru_cache(maxsize=64)
def _above_terms(plan: AboveThreshold) -> RunTerms[bool]:
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
