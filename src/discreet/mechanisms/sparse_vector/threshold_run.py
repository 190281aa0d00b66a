"""A run: a stream of values against one noisy threshold, answered one by one.

Trust: kernel.

The noise of the threshold is drawn once, when the run starts, and is the secret that makes belows
free.  So the run guards it: it cannot be copied, stored or continued in a forked process, which
would each compare the same secret with more values than were paid for; it cannot be altered; and
after its last answer it is silent.  Everything is checked, and all noise of an answer is drawn,
before the value is looked at, so neither a failure nor the time taken depends on the comparison.
Threads may share a run: answers are given one at a time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Generic, TypeVar, final

import numpy as np

from discreet.errors import NotExact, OutOfRange
from discreet.exact import whole
from discreet.mechanisms.guarded_run import GuardedRun, Reason
from discreet.noise import DiscreteLaplace, Entropy

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
