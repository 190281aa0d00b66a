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

A run: a stream of values against one noisy threshold, answered one by one.

The noise of the threshold is drawn once, when the run starts, and is the secret that makes belows
free.  So the run guards it: it cannot be copied, stored or continued in a forked process, which
would each compare the same secret with more values than were paid for; it cannot be altered; and
after its last answer it is silent.  Everything is checked, and all noise of an answer is drawn,
before the value is looked at, so neither a failure nor the time taken depends on the comparison.
Threads may share a run: answers are given one at a time.
"""

from __future__ import annotations

import functools
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Final, Generic, TypeVar, final

import numpy as np

from discreet.errors import NotExact, OutOfRange, WrongKind
from discreet.exact import decimal, positive, whole
from discreet.loss import Pure
from discreet.mechanisms.guarded_run import GuardedRun, Reason
from discreet.mechanisms.mechanism import (
    Mechanism,
    Number,
    ReferenceLaw,
    at_confidence,
    steps_at,
)
from discreet.mechanisms.sparse_vector.threshold_law import Accuracy, Comparison, stream
from discreet.noise import SYSTEM, DiscreteLaplace, Entropy
from discreet.noise.entropy import checked_entropy

Answer = TypeVar("Answer")


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class RunTerms(Generic[Answer]):
    """What a run is started with; all of it is public."""

    threshold: int
    answers: int
    sensitivity: int
    threshold_noise: DiscreteLaplace
    query_noise: DiscreteLaplace
    answer_noise: DiscreteLaplace | None
    form: Callable[[bool, int], Answer]
    """Make an answer of whether the value is above, and of the value plus ``answer_noise``."""


@final
class ThresholdRun(GuardedRun, Generic[Answer]):
    """One interactive run; start it from a plan, which says what it costs.

    >>> from discreet.mechanisms.sparse_vector.above_threshold import AboveThreshold
    >>> run = AboveThreshold(threshold=10**6, epsilon=1).start()
    >>> run.ask(0), run.ask(2 * 10**6), run.halted
    (False, True, True)
    """

    __slots__ = ("_left", "_noisy_threshold", "_terms")

    _left: int
    _noisy_threshold: int
    _terms: RunTerms[Answer]

    _FORKED: ClassVar[Reason] = {
        "what": "a run was continued in a forked process.",
        "why": "parent and child would compare with the same noisy threshold, and give more "
        "answers together than were paid for.",
        "do": "ask in the process that started the run, or start another one here.",
    }
    _COPIED: ClassVar[Reason] = {
        "what": "a run cannot be pickled or copied.",
        "why": "each copy would go on with the same noisy threshold, and they would give more "
        "answers together than were paid for.",
        "do": "keep one run, and send values to where it lives; plans can be copied freely.",
    }
    _BUSY: ClassVar[Reason] = {
        "what": "a run was asked amid another question.",
        "why": "both would be answered before either is counted.",
        "do": "ask one question after the other, and none from a signal handler.",
    }
    _ALTERED: ClassVar[Reason] = {
        "what": "a running comparison cannot be set.",
        "why": "threshold, noise and number of answers are what was charged for.",
        "do": "subtract a public number from the value to move the threshold for one query; for "
        "anything else start a new run.",
    }

    def __init__(self, terms: RunTerms[Answer], entropy: Entropy) -> None:
        """Draw the noise of the threshold."""
        super().__init__(entropy)
        noisy = terms.threshold + terms.threshold_noise.draw(entropy)
        self._keep(_terms=terms, _left=terms.answers, _noisy_threshold=noisy)

    @property
    def threshold(self) -> int:
        """The threshold, without its noise."""
        return self._terms.threshold

    @property
    def answers_left(self) -> int:
        """How many more values may be answered above."""
        return self._left

    @property
    def halted(self) -> bool:
        """Whether the run has given its last answer."""
        return self._left == 0

    def ask(self, value: int, *, sensitivity: int | None = None) -> Answer:
        """Compare the next value with the threshold.

        ``sensitivity`` is the most by which one unit moves this value, where that is known; it may
        not exceed what the plan allows.
        """
        return self._alone(self._answer, self._checked(value, sensitivity))

    def _answer(self, number: int) -> Answer:
        terms = self._terms
        noise = terms.query_noise.draw(self._entropy)
        fresh = 0 if terms.answer_noise is None else terms.answer_noise.draw(self._entropy)
        above = number + noise >= self._noisy_threshold
        self._keep(_left=self._left - above)
        return terms.form(above, number + fresh)

    def _checked(self, value: object, sensitivity: object) -> int:
        self._check_process()
        if sensitivity is not None:
            self._check_sensitivity(whole(sensitivity, name="sensitivity", low=0))
        if isinstance(value, float | np.floating):
            raise NotExact(
                "the value of a query is a float; count in whole units, and ask with an int."
            )
        return whole(value, name="the value of a query")

    def _check_sensitivity(self, sensitivity: int) -> None:
        if sensitivity > self._terms.sensitivity:
            raise OutOfRange(
                f"the query has sensitivity {sensitivity}; the run was started for "
                f"{self._terms.sensitivity}; plan the run with the largest sensitivity of all its "
                "queries."
            )

    def _check_open(self) -> None:
        if self._left == 0:
            raise OutOfRange(
                f"the run has halted: {self._terms.answers} of {self._terms.answers} answers "
                "above the threshold are given; start a new run, which is charged again."
            )

    def __repr__(self) -> str:
        """Show what is public."""
        return f"<run against {self.threshold}, {self._left} of {self._terms.answers} answers left>"


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
