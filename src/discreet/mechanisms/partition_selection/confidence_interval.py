"""Between what a count lies that is shown only because it reached a threshold.

Trust: public.  Intervals are functions of what is released.

Definition.  y = n + Z is shown if y >= threshold, for n >= fewest.  The interval of y holds every n
that y does not contradict: neither P[n + Z >= y | shown] nor P[n + Z <= y | shown] is at most
(1 - confidence) / 2.  It is then widened to hold y itself.
Theorem (key ``shown-interval``).  Given that a group of n units is shown, its interval holds n with
at least the confidence, whatever n is.  From some y on it reaches from y - r to y + r, where r is
the error of the noise alone.
Proof.  Under a law an outcome whose tail has chance at most t occurs with chance at most t, on
either side.  Log-concave noise, cut off at the threshold, has likelihood ratios that rise with y
for larger n; so the first tail rises with n, the second falls, and what remains is an interval.
With n = y - d the tails are quotients by P[Z >= threshold - y + d], which rises to 1 with y.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import saturating_add
from discreet.exact import Interval
from discreet.mechanisms.exact_quantiles import decide_at_most, first_true, two_sided_quantile
from discreet.noise.chance import log_of
from discreet.noise.two_sided import TwoSidedLaw


def shown_confidence_intervals(
    counts: NDArray[np.int64],
    *,
    law: TwoSidedLaw,
    threshold: int,
    fewest: int,
    confidence: Fraction,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the ends of the intervals of noisy counts that are shown.

    >>> from discreet.noise import DiscreteLaplace
    >>> low, high = shown_confidence_intervals(
    ...     np.array([10, 15, 90]),
    ...     law=DiscreteLaplace(scale=2),
    ...     threshold=10,
    ...     fewest=1,
    ...     confidence=Fraction(9, 10),
    ... )
    >>> low.tolist(), high.tolist()
    ([1, 1, 85], [13, 19, 95])
    """
    shown = ThresholdedLaw(law, threshold, fewest, (1 - confidence) / 2)
    reach = two_sided_quantile(law, confidence, 1)
    spread = np.full(counts.shape, reach, np.int64)
    low, high = saturating_add(counts, -spread), saturating_add(counts, spread)
    settled = threshold + first_true(lambda extra: shown.settled(threshold + extra, reach))
    near = counts < settled
    values, places = np.unique(counts[near], return_inverse=True)
    ends = np.array([shown.interval(count) for count in values.tolist()], np.int64).reshape(-1, 2)
    low[near], high[near] = ends[places].T
    return np.maximum(low, fewest), np.maximum(high, fewest)


@final
@dataclass(frozen=True, slots=True)
class ThresholdedLaw:
    """The law of what is shown, and the chance on either side that is left out."""

    law: TwoSidedLaw
    threshold: int
    fewest: int
    tail: Fraction

    def interval(self, count: int) -> tuple[int, int]:
        """Return the interval of one noisy count."""
        top = max(count, self.fewest)
        low = self.fewest + first_true(
            lambda more: not self._too_few(self.fewest + more, count), high=top - self.fewest
        )
        more = first_true(lambda more: self._too_many(top + more, count))
        return low, max(top, top + more - 1)

    def settled(self, count: int, reach: int) -> bool:
        """Say whether the interval is that of the noise alone, from this count on."""
        return self._too_few(count - reach - 1, count) and not self._too_many(count + reach, count)

    def _too_few(self, units: int, count: int) -> bool:
        """Say whether so few units hardly ever give such a count, or a larger one."""
        return self._rarely(count - units, units, self.tail)

    def _too_many(self, units: int, count: int) -> bool:
        """Say whether this many units hardly ever give such a count, or a smaller one."""
        return not self._rarely(count + 1 - units, units, 1 - self.tail)

    def _rarely(self, least: int, units: int, share: Fraction) -> bool:
        """Say whether P[Z >= least] <= share * P[shown]; by logarithms, at any depth."""

        def enclose(bits: int) -> Interval:
            upper = _log_tail(self.law, least, bits)
            shown = _log_tail(self.law, self.threshold - units, bits)
            part = log_of(Interval(share, share), bits)
            low, high = upper.low - shown.high - part.high, upper.high - shown.low - part.low
            return Interval(low, high)

        return decide_at_most(enclose, Fraction(0))


@functools.lru_cache(maxsize=1 << 14)
def _log_tail(law: TwoSidedLaw, least: int, bits: int) -> Interval:
    return law.log_survival_bounds(least - 1, bits)
