"""The shape of a record that is sent to one of several mechanisms as they go.

Trust: kernel.

Theorem (key ``routing``).  Interactive mechanisms M_1, ..., M_k run side by side, and one record is
sent to one of them, chosen by what they said before.  Then the excesses of the profiles add up:
h(a) - (1 - a)+ <= sum over i of h_i(a) - (1 - a)+.
Proof.  Until the record is sent both runs agree, so the choice J has one law under both.  An
adversary against M_i can play all others itself, and stop with a fixed word if J is not i; so
P(S, J = i) - a Q(S, J = i) + (1 - a)+ P(J != i) <= h_i(a).  Add this up over i.

The excess of the reversed pair at 1/a is the excess at a, over a; so excesses add up both ways.
The sum may have a corner at 1 that points up, or exceed 1: the table cuts it off.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import numpy as np

from discreet.loss.bracket import Bracket
from discreet.loss.composition import Composition
from discreet.loss.growth import Growth, growth
from discreet.loss.pairs.curved import Ends
from discreet.loss.pairs.pair import Floats
from discreet.loss.pairs.plain import patience, summed
from discreet.loss.pairs.reader import profiles
from discreet.loss.pairs.side import Side, tabulated

__all__ = ["Routed"]


@final
@dataclass(frozen=True, slots=True)
class Routed:
    """Excesses that add up, each part as often as its count."""

    parts: tuple[tuple[Composition, int], ...]

    def reverse(self) -> Routed:
        """Swap the two neighbors."""
        turned = ((part.reverse(), count) for part, count in self.parts)
        return Routed(tuple(sorted(turned, key=repr)))

    def side(self) -> Side:
        """Add up the profiles."""
        ends = self.ends()
        side = tabulated(
            self._bounds,
            largest=ends.largest,
            infinite=ends.infinite.low,
            tolerance=max(patience(part) for part, _ in self.parts),
        )
        return Side.of_nodes(side.x, side.high)

    def _bounds(self, eps: Floats) -> tuple[Floats, Floats]:
        low, high = np.zeros(len(eps)), np.zeros(len(eps))
        for part, count in self.parts:
            least, most = profiles(part, eps)
            low, high = low + count * least, high + count * most
        slack = 1e-15 * (1 + len(self.parts))
        return np.minimum(low * (1 - slack), 1.0), np.minimum(high * (1 + slack), 1.0)

    def profile(self, eps: float) -> Bracket | None:  # noqa: ARG002
        """The table defines the pair, as it cuts a corner off."""
        return None

    def ends(self) -> Ends:
        """Infinite losses add up."""
        masses = [(part.infinity(), count) for part, count in self.parts]
        low = math.fsum(mass.low * count for mass, count in masses) * (1 - 1e-15)
        high = math.fsum(mass.high * count for mass, count in masses) * (1 + 1e-15)
        return Ends(
            Bracket.within(low, high, ceil=1.0),
            max(part.reached() for part, _ in self.parts),
            max(part.largest() for part, _ in self.parts),
        )

    def cumulant(self, t: float) -> float:
        """Add up the excesses over 1."""
        return summed(self.parts, t)

    def growth(self) -> Growth | None:
        """Take the largest, and the logarithm of their number."""
        known = [found for part, _ in self.parts if (found := growth(part)) is not None]
        if len(known) < len(self.parts):
            return None
        return Growth.largest(known, sum(count for _, count in self.parts))
