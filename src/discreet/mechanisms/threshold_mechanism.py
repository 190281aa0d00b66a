"""What AboveThreshold, Sparse and NumericSparse share: a plan, and runs that are charged once.

Trust: kernel.

Definition.  A *plan* is a frozen value: public threshold, exact epsilon, largest sensitivity.  A
*run* is one use of it.  The loss of a run does not depend on how many values are asked, so it is
charged when the run starts, once, before any noise is drawn.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Final, Generic

from discreet.errors import WrongKind
from discreet.exact import decimal, positive, whole
from discreet.loss import Pure
from discreet.mechanisms.arguments import Number, at_confidence, steps_at
from discreet.mechanisms.mechanism import Mechanism
from discreet.mechanisms.threshold_accuracy import Accuracy
from discreet.mechanisms.threshold_law import Comparison, stream
from discreet.mechanisms.threshold_run import Answer, RunTerms, ThresholdRun
from discreet.noise import SYSTEM, DiscreteLaplace, Entropy
from discreet.noise.entropy import checked_entropy

__all__ = ["MOST_ANSWERS", "MOST_QUERIES", "Charge", "ThresholdMechanism", "read_plan", "whether"]

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
        """Return alpha: with this confidence, all of so many queries are answered right within it.

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

    def _comparison(self) -> Comparison:
        terms = self._terms()
        return Comparison(
            threshold=terms.threshold,
            answers=terms.answers,
            threshold_noise=terms.threshold_noise,
            query_noise=terms.query_noise,
        )


def read_plan(
    *, threshold: object, epsilon: object, sensitivity: object, monotone: object
) -> dict[str, object]:
    """Read the parameters that every plan has.

    >>> read_plan(threshold=5, epsilon=0.1, sensitivity=1, monotone=False)
    {'threshold': 5, 'epsilon': Fraction(1, 10), 'sensitivity': 1, 'monotone': False}
    """
    if not isinstance(monotone, bool):
        raise WrongKind(
            what=f"monotone is a {type(monotone).__name__}, not True or False.",
            why="it is a promise that halves the noise, and must not be given by accident.",
            do="give monotone=True only where neighbors move all queries the same way.",
        )
    return {
        "threshold": whole(threshold, name="threshold"),
        "epsilon": positive(decimal(epsilon, name="epsilon"), name="epsilon"),
        "sensitivity": whole(sensitivity, name="sensitivity", low=1),
        "monotone": monotone,
    }


def whether(above: bool, _: int) -> bool:  # noqa: FBT001  the form of an answer, never called by hand
    """Answer whether the value is above.

    >>> whether(True, 17)
    True
    """
    return above
