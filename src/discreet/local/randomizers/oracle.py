"""Frequency oracles: randomizers from whose reports the share of every value is estimated.

Trust: kernel.

Definition (Wang, Blocki, Li and Jha 2017).  A report supports a set of values: that of its sender
with chance p, and any other one with chance q < p.
Theorem (key ``frequency-oracle``).  If C of n independent reports support a value that a share f of
the n senders have, then (C/n - q)/(p - q) estimates f without bias, and n times its variance is
(f p (1 - p) + (1 - f) q (1 - q)) / (p - q)**2.
Proof.  C is a sum of independent coins, fn of chance p and (1 - f)n of chance q.
Theorem (key ``oracle-loss``).  Let the chance of a report under one value, divided by that under
another, be 1 if it supports both or neither, and one number, or its inverse, if it supports only
the first, or only the second.  Then the two values lose as much as the pair ((a, b, c), (b, a, c)):
a is the chance that a report supports its sender's value and not the other one, b that it supports
only the other one, and c the rest.
Proof.  Reports of equal ratio may be told as one.

Rounding.  In place of e^-epsilon stands a rational above it (``inward_decay``), so that p and q are
rational, and the law and all that is said of it are exact.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.exact import Interval, decimal, probability
from discreet.local.randomizers.randomizer import Randomizer
from discreet.loss import PrivacyLoss, Profile, Pure
from discreet.loss.finite import FinitePair
from discreet.mechanisms.mechanism import Number, at_confidence, steps_at


class FrequencyOracle(Randomizer, ABC):
    """A randomizer whose reports support values."""

    __slots__ = ()

    @abstractmethod
    def exact_chances(self) -> tuple[Fraction, Fraction]:
        """Return p and q: how often a report supports its sender's value, and any other one."""

    @abstractmethod
    def telling_chances(self) -> tuple[Fraction, Fraction]:
        """Return how often only one of two values is supported: the sender's, and the other."""

    @abstractmethod
    def supports(self, tally: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return how many reports support each value."""

    def chances(self) -> tuple[Interval, Interval]:
        """Return p and q as intervals, which here are points."""
        p, q = self.exact_chances()
        return Interval(p, p), Interval(q, q)

    def variance(self, share: Number = 0) -> Interval:
        """Return n times the variance of the estimated share of a value with this true share."""
        f = probability(decimal(share, name="share"), name="share")
        p, q = self.exact_chances()
        spread = (f * p * (1 - p) + (1 - f) * q * (1 - q)) / (p - q) ** 2
        return Interval(spread, spread)

    def amplification(self) -> Fraction:
        """Return how far one hostile report moves an estimated count, at most: (1 - q)/(p - q)."""
        p, q = self.exact_chances()
        return (1 - q) / (p - q)

    def loss(self, *, distance: Number = 1) -> PrivacyLoss:
        """Return the loss between any two values: they are all neighbors.  It is tight."""
        if steps_at(distance) == 0:
            return Pure(epsilon=0)
        telling, misleading = self.telling_chances()
        rest = 1 - telling - misleading
        if rest == 0:
            return Pure(epsilon=self.epsilon)
        return Profile.of(FinitePair((telling, misleading, rest), (misleading, telling, rest)))

    def error(self, *, confidence: Number) -> int:
        """Return 0 if a report supports its sender's value with this chance, else 1."""
        return int(self.exact_chances()[0] < at_confidence(confidence))
