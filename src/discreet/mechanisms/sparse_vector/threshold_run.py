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

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, NoReturn, TypeVar, final

import numpy as np

from discreet.errors import (
    EntropyBusy,
    EntropyCopied,
    EntropyForked,
    NotExact,
    OutOfRange,
    WrongKind,
)
from discreet.exact import whole
from discreet.noise import DiscreteLaplace, Entropy
from discreet.noise.entropy import process_stamp

__all__ = ["RunTerms", "ThresholdRun"]

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
class ThresholdRun(Generic[Answer]):
    """One interactive run; start it from a plan, which says what it costs.

    >>> from discreet.mechanisms.sparse_vector.above_threshold import AboveThreshold
    >>> run = AboveThreshold(threshold=10**6, epsilon=1).start()
    >>> run.ask(0), run.ask(2 * 10**6), run.halted
    (False, True, True)
    """

    __slots__ = ("_busy", "_entropy", "_left", "_lock", "_noisy_threshold", "_stamp", "_terms")

    _busy: bool
    _entropy: Entropy
    _left: int
    _lock: threading.RLock
    _noisy_threshold: int
    _stamp: tuple[int, int]
    _terms: RunTerms[Answer]

    def __init__(self, terms: RunTerms[Answer], entropy: Entropy) -> None:
        """Draw the noise of the threshold."""
        keep = object.__setattr__  # assignment is refused below
        keep(self, "_terms", terms)
        keep(self, "_entropy", entropy)
        keep(self, "_stamp", process_stamp())
        keep(self, "_lock", threading.RLock())
        keep(self, "_busy", False)
        keep(self, "_left", terms.answers)
        keep(self, "_noisy_threshold", terms.threshold + terms.threshold_noise.draw(entropy))

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
        number = self._checked(value, sensitivity)
        with self._lock:  # keeps other threads out; a signal handler of this one is refused
            self._check_open()
            object.__setattr__(self, "_busy", True)
            try:
                return self._answer(number)
            finally:
                object.__setattr__(self, "_busy", False)

    def _answer(self, number: int) -> Answer:
        terms = self._terms
        noise = terms.query_noise.draw(self._entropy)
        fresh = 0 if terms.answer_noise is None else terms.answer_noise.draw(self._entropy)
        above = number + noise >= self._noisy_threshold
        object.__setattr__(self, "_left", self._left - above)
        return terms.form(above, number + fresh)

    def _checked(self, value: object, sensitivity: object) -> int:
        self._check_process()
        if sensitivity is not None:
            self._check_sensitivity(whole(sensitivity, name="sensitivity", low=0))
        if isinstance(value, float | np.floating):
            raise NotExact(
                what="the value of a query is a float.",
                why="rounding moves a value by more than the sensitivity that was promised, and "
                "integer noise does not hide the digits of a float.",
                do="count in whole units, and ask with an int.",
            )
        return whole(value, name="the value of a query")

    def _check_process(self) -> None:
        if self._stamp != process_stamp():
            raise EntropyForked(
                what="a run was continued in a forked process.",
                why="parent and child would compare with the same noisy threshold, and give more "
                "answers together than were paid for.",
                do="ask in the process that started the run, or start another one here.",
            )

    def _check_sensitivity(self, sensitivity: int) -> None:
        if sensitivity > self._terms.sensitivity:
            raise OutOfRange(
                what=f"the query has sensitivity {sensitivity}; the run was started for "
                f"{self._terms.sensitivity}.",
                why="the noise is too narrow for it, and the loss would be larger than charged.",
                do="plan the run with the largest sensitivity of all its queries.",
            )

    def _check_open(self) -> None:
        if self._busy:
            raise EntropyBusy(
                what="a run was asked amid another question.",
                why="both would be answered before either is counted.",
                do="ask one question after the other, and none from a signal handler.",
            )
        if self._left == 0:
            raise OutOfRange(
                what=f"the run has halted: {self._terms.answers} of {self._terms.answers} answers "
                "above the threshold are given.",
                why="each further answer above would cost privacy that was not charged.",
                do="start a new run, which is charged again.",
            )

    def __setattr__(self, name: str, value: object) -> NoReturn:
        """Refuse to alter a run."""
        raise WrongKind(
            what=f"{name} of a running comparison cannot be set.",
            why="threshold, noise and number of answers are what was charged for.",
            do="subtract a public number from the value to move the threshold for one query; for "
            "anything else start a new run.",
        )

    def __delattr__(self, name: str) -> NoReturn:
        """Refuse to alter a run."""
        self.__setattr__(name, None)

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        """Refuse to be copied or stored."""
        raise EntropyCopied(
            what="a run cannot be pickled or copied.",
            why="each copy would go on with the same noisy threshold, and they would give more "
            "answers together than were paid for.",
            do="keep one run, and send values to where it lives; plans can be copied freely.",
        )

    def __repr__(self) -> str:
        """Show what is public."""
        return f"<run against {self.threshold}, {self._left} of {self._terms.answers} answers left>"
