"""Noisy sums of groups, and the running counts that are computed from them.

Trust: public.  Everything here is computed from what is released already.

Definition.  Every answer of a strategy is a sum of exact multiples of noisy sums, so its error is
that of a weighted sum of independent noises (key ``weighted-noise-reach``), and its interval is the
value and ``half_width`` on both sides, cut off at zero.  Several groups, or columns, may have the
same answer.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

import numpy as np

from discreet.plan.pricing.group_strategy import GroupStrategy, key_order
from discreet.release.half_width import Terms, half_width
from discreet.release.interval_arithmetic import Ends
from discreet.release.noise_tails import Additive
from discreet.release.value_arrays import Rationals
from discreet.requests.raw_totals import Integers


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GroupSums:
    """The noisy sums of groups of a strategy, from which running counts are computed."""

    strategy: GroupStrategy
    mechanism: Additive
    drawn: Integers

    def frames(self, keys: Sequence[tuple[Any, ...]]) -> dict[str, FramedCounts]:
        """Return what is computed, by its name, for groups with these keys."""
        answers = [weights for _, weights in self.strategy.cells.answers]
        bottom = math.lcm(*(weight.denominator for weights in answers for _, weight in weights))
        drawn = self.drawn.tolist()
        tops = np.empty(len(answers), object)
        tops[:] = [sum(int(each * bottom) * drawn[at] for at, each in some) for some in answers]
        noises = [
            tuple(sorted(((abs(Fraction(each)), self.mechanism) for _, each in some), key=_first))
            for some in answers
        ]
        places = np.empty(len(keys), np.int64)
        places[key_order(keys)] = np.arange(len(keys))
        return {
            name: FramedCounts(Rationals(tops, bottom), noises, np.array(listed, np.int64)[places])
            for name, listed in self.strategy.frames
        }


def _first(term: tuple[Fraction, Additive]) -> Fraction:
    return term[0]


@final
@dataclass(frozen=True, slots=True, eq=False)
class FramedCounts:
    """Different sums of groups, the noises in them, and which of these sums every group has."""

    exact: Rationals
    noises: Sequence[Terms]
    places: Integers

    def values(self) -> Integers:
        """Return the count of every group, rounded to a whole number."""
        return self.exact.rounded()[self.places]

    def ends(self, confidence: Fraction) -> Ends:
        """Return between what the counts without noise lie; none is below zero."""
        alike: dict[Terms, list[int]] = {}
        for at in np.unique(self.places).tolist():
            alike.setdefault(self.noises[at], []).append(at)
        low, high = np.empty(len(self.noises)), np.empty(len(self.noises))
        for terms, listed in alike.items():
            some = Rationals(self.exact.tops[listed], self.exact.bottom)
            low[listed], high[listed] = some.within(half_width(terms, confidence))
        return np.maximum(low, 0.0)[self.places], np.maximum(high, 0.0)[self.places]
