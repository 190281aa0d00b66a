"""A tree over changes: a bit that rarely changes, counted at all times for one epsilon in total.

Trust: kernel.  Proofs are in docs/proofs/local.md.

Definition (after Erlingsson, Feldman, Mironov, Raghunathan, Talwar and Thakurta 2019).  Each device
watches a bit that is 0 before time 1.  Once, it draws a height h of the tree uniformly, and one of
its first k changes uniformly.  At every time t whose largest power of two is 2**h it reports a
sign: the direction of the drawn change (up for the first, third, ...) with odds e^epsilon if it is
in the block of 2**h times up to t, a fair coin otherwise.  The height is public; changes beyond k
are not reported.
Theorem (key ``tree-over-changes``).  All reports of a device together lose at most epsilon, for
every history.  With H heights and p = e^epsilon / (1 + e^epsilon), H k / (2 p - 1) times the sum of
the signs of the blocks that make up the first t times estimates the number of ones at t without
bias, if no device changes more than k times.
Assumes: a device keeps its draws; to draw again is to begin another tree, with its own loss.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, final

import numpy as np
from numpy.typing import NDArray

from discreet.continual.sum_tails import depth, digits, height
from discreet.errors import OutOfRange, WrongKind
from discreet.exact import freeze, whole
from discreet.local.randomizer import local_epsilon
from discreet.loss import Pure
from discreet.mechanisms.mechanism import Number
from discreet.mechanisms.randomized_response import respond, response_chances
from discreet.noise import SYSTEM, Entropy, Uniform
from discreet.notebook import Shown

_MOST: Final = 1 << 20


@final
@dataclass(frozen=True, slots=True, eq=False)
class Watch:
    """The state of many devices after some time: their draws, and what they have seen.

    It stays on the device; heights alone are sent.
    """

    time: int
    heights: NDArray[np.int64]
    drawn: NDArray[np.int64]
    seen: NDArray[np.int64]
    last: NDArray[np.int64]
    pending: NDArray[np.bool_]


@final
@dataclass(frozen=True, slots=True, init=False)
class ChangeTree(Shown):
    """Counts of a bit at all times, for one loss.

    >>> year = ChangeTree(times=365, changes=2, epsilon=1)
    >>> year.loss()
    Pure(epsilon=Fraction(1, 1))
    >>> signs = year.run_each(np.zeros((5, 365), np.int64))
    >>> year.tally(signs).shape
    (365,)
    """

    times: int
    changes: int
    epsilon: Fraction

    def __init__(self, *, times: int, changes: int, epsilon: Number) -> None:
        """Take how many times there are, how many changes count, and the loss of them all."""
        freeze(
            self,
            times=whole(times, name="times", low=1, high=_MOST),
            changes=whole(changes, name="changes", low=1, high=_MOST),
            epsilon=local_epsilon(epsilon),
        )

    def loss(self) -> Pure:
        """Return the loss of all reports of one device."""
        return Pure(epsilon=self.epsilon)

    def start(self, people: int, *, entropy: Entropy = SYSTEM) -> Watch:
        """Draw heights and changes, once for the lifetime of each device."""
        count = whole(people, name="people", low=0)
        nothing = np.zeros(count, np.int64)
        return Watch(
            0,
            Uniform(below=depth(self.times)).sample(count, entropy),
            1 + Uniform(below=self.changes).sample(count, entropy),
            nothing,
            nothing,
            np.zeros(count, np.bool_),
        )

    def step(
        self, watch: Watch, bits: NDArray[np.integer[Any]], *, entropy: Entropy = SYSTEM
    ) -> tuple[Watch, NDArray[np.int64]]:
        """See the bits of the next time; return signs, 0 for those who do not report.

        Every device draws the same coins at every time.
        """
        if bits.shape != watch.last.shape or not np.isin(bits, (0, 1)).all():
            raise WrongKind(
                "there is not one bit for each device; give an array of zeros and ones, as long as "
                "there are devices."
            )
        time = watch.time + 1
        if time > self.times:
            raise OutOfRange("all times are over; begin a new tree, with a loss of its own.")
        changed = bits != watch.last
        seen = watch.seen + changed
        pending = watch.pending | (changed & (seen == watch.drawn))
        up = watch.drawn % 2  # the first change is up, the second down
        biased = respond(up, self.epsilon, 2, entropy)
        fair = entropy.words(up.size, 1).astype(np.int64)
        reporting = watch.heights == height(time)
        signs = np.where(reporting, 2 * np.where(pending, biased, fair) - 1, 0)
        pending &= time % (1 << watch.heights) != 0  # a new block begins
        return Watch(time, watch.heights, watch.drawn, seen, bits.astype(np.int64), pending), signs

    def run_each(
        self, histories: NDArray[np.integer[Any]], *, entropy: Entropy = SYSTEM
    ) -> NDArray[np.int64]:
        """Return the signs of many devices, one row each, about their histories."""
        watch = self.start(len(histories), entropy=entropy)
        columns = []
        for time in range(histories.shape[1]):
            watch, signs = self.step(watch, histories[:, time], entropy=entropy)
            columns.append(signs)
        return np.stack(columns, axis=1)

    def tally(self, signs: NDArray[np.int64]) -> NDArray[np.int64]:
        """Add up the signs of each time: tallies of batches add up."""
        return np.asarray(signs.sum(axis=0), np.int64)

    def scale(self) -> Fraction:
        """Return by how much a sum of signs is stretched."""
        kept, lied = response_chances(self.epsilon, 2)
        return depth(self.times) * self.changes / (kept - lied)

    def counts(self, tally: NDArray[np.int64]) -> list[Fraction]:
        """Estimate how many have a one, at each time so far."""
        return [
            self.scale() * sum(int(tally[end - 1]) for end in digits(time))
            for time in range(1, len(tally) + 1)
        ]

    def variance(self, *, people: int, time: int) -> Fraction:
        """Bound the variance of an estimated count: each sign of a block varies by at most 1."""
        count = whole(people, name="people", low=1)
        blocks = len(digits(whole(time, name="time", low=1, high=self.times)))
        return self.scale() ** 2 * blocks * Fraction(count, depth(self.times))
