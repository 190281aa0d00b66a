"""Canaries: examples that are put in or left out by fair coins, so that one run can be audited.

Trust: public.  Steinke, Nasr and Jagielski 2023, Privacy Auditing with One Training Run.

A coin is tossed for every canary; those with heads are put among the data.  The attacked output
gives each canary a *score*, which is high if it seems to be in.  Canaries with the highest scores
are guessed to be in, those with the lowest to be out, and the others are not guessed.  The number
of right guesses bounds epsilon from below (key ``one-run-audit``).

How many are guessed is fixed before scores are seen.  Scores may come from anything but the coins:
losses of a model, likelihood ratios, or projections of a gradient on that of the canary.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from discreet.attacks.guessed_bits import ABSTAIN, guessed
from discreet.attacks.measured import Measured
from discreet.attacks.read_numbers import numbers
from discreet.errors import WrongKind
from discreet.exact import whole
from discreet.noise import SYSTEM, Entropy

_MOST = 10**8


@final
@dataclass(frozen=True, slots=True, init=False, eq=False)
class Canaries:
    """Which canaries are in: one fair coin for each.

    >>> Canaries(bits=[1, 0, 0, 1]).inside.tolist()
    [0, 3]
    """

    bits: NDArray[np.int64]

    def __init__(self, *, bits: Sequence[int] | NDArray[np.integer]) -> None:
        """Take the coins as 0 and 1."""
        read = numbers(bits, name="bits", shape=(None,))
        if not np.isin(read, (0, 1)).all():
            raise WrongKind(
                what="a bit is neither 0 nor 1.",
                why="a canary is in, or it is not.",
                do="write 1 for those that are in and 0 for the others.",
            )
        object.__setattr__(self, "bits", read.astype(np.int64))

    @property
    def inside(self) -> NDArray[np.int64]:
        """The numbers of the canaries that are in."""
        return np.flatnonzero(self.bits).astype(np.int64)

    def audit(
        self,
        scores: object,
        *,
        guesses: int,
        claim: object = None,
        delta: object = 0,
        level: object = "1e-6",
    ) -> Measured:
        """Bound epsilon from below by the scores that one run gave the canaries.

        Args:
            scores: one for each canary, the higher the likelier it is in.
            guesses: how many are guessed, fixed before the scores were seen.
            claim: what was promised: an epsilon at this delta, a loss, or the price of a tree.
            delta: the delta that goes with epsilon.
            level: the probability that the bound is too high.

        >>> canaries = draw(1000)
        >>> told = canaries.audit(canaries.bits, guesses=200, claim=1)  # scores that tell all
        >>> told.violates, told.hits
        (True, (200, 0))
        """
        count = len(self.bits)
        rated = numbers(scores, name="scores", shape=(count,), infinite=True)
        most = whole(guesses, name="guesses", low=1, high=count)
        return guessed(
            self.bits,
            guesses_by(rated, most=most),
            claim=claim,
            delta=delta,
            most=most,
            level=level,
            event="canaries guessed by their scores",
        )


def draw(count: int, *, entropy: Entropy = SYSTEM) -> Canaries:
    """Toss a fair coin for each canary.

    >>> sorted(set(draw(100).bits.tolist()))
    [0, 1]
    """
    size = whole(count, name="count", low=1, high=_MOST)
    return Canaries(bits=(entropy.words(size, 64) & 1).astype(np.int64))


def guesses_by(scores: object, *, most: int) -> NDArray[np.int64]:
    """Guess 1 for the highest scores, 0 for the lowest, and -1, no guess, between them.

    Half of the guesses go to either side; of equal scores the first is the lower one.

    >>> guesses_by([0.9, 0.5, 0.1, 0.6], most=2).tolist()
    [1, -1, 0, -1]
    """
    rated = numbers(scores, name="scores", shape=(None,), infinite=True)
    count = whole(most, name="most", low=1, high=rated.size)
    order = np.argsort(rated, kind="stable")
    guess = np.full(rated.size, ABSTAIN, np.int64)
    guess[order[: count // 2]] = 0
    guess[order[rated.size - (count - count // 2) :]] = 1
    return guess
