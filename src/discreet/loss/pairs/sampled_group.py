"""The shape of a group whose records enter a Poisson sample one by one.

Trust: kernel.

Theorem (key ``sampled-groups``; Ganesh 2024 for Gaussians).  Let k records enter a sample
independently with chance q, and let P_j be the law with j of them in it, Q = P_0.  With binomial
weights w_j and any a_j >= 0 with w_0 + sum w_j a_j = a over j >= 1, the mixture of the P_j has
h(a) <= sum w_j h_j(a_j); for a <= w_0 it is 1 - a.  The reversed profile at 1/a is at most
sum w_j a_j r_j(1/a_j) / a, where r_j are the reversed profiles, and 0 at 1/w_0.
Proof.  sum w_j P_j(S) + (w_0 - a) Q(S) = sum w_j (P_j(S) - a_j Q(S)), and for a <= w_0 no set beats
all outputs.  Reversed, Q(S) - sum w_j P_j(S)/a - w_0 Q(S)/a = sum w_j a_j (Q(S) - P_j(S)/a_j) / a.

The bound is exact when one test is best at all the a_j, as for Gaussians; so the a_j are chosen to
have tests of one chance under Q.  Which j records entered does not matter: if each choice of j
records is dominated by (P_j, Q), the sum over choices is too.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, final

import numpy as np

from discreet.exact import float_down, float_up
from discreet.loss.bracket import Bracket
from discreet.loss.composition import Composition
from discreet.loss.engine.rounding import UNIT
from discreet.loss.growth import Growth, growth
from discreet.loss.pairs.curved import Ends
from discreet.loss.pairs.outline import Outline, drawn, matched
from discreet.loss.pairs.plain import cumulant, table_of
from discreet.loss.pairs.side import Side

__all__ = ["SampledGroup"]

_RARE: Final = Fraction(1, 10**30)  # numbers of records that are not worth a table
_SURE: Final = 1e-13


@final
@dataclass(frozen=True, slots=True)
class SampledGroup:
    """The mixture of P_0, ..., P_k against Q = P_0; ``turned``, Q against the mixture."""

    towards: tuple[Composition, ...]
    rate: Fraction
    turned: bool = False

    def reverse(self) -> SampledGroup:
        """Swap the mixture and Q."""
        return SampledGroup(self.towards, self.rate, not self.turned)

    def _weights(self) -> tuple[Fraction, list[tuple[Composition, Fraction]], Fraction]:
        """Return the weight of no record, of each number of records, and of too rare numbers."""
        k, q = len(self.towards), self.rate
        chances = [math.comb(k, j) * q**j * (1 - q) ** (k - j) for j in range(k + 1)]
        last, rare = k, Fraction(0)
        while last > 1 and rare + chances[last] < _RARE * chances[1]:
            last, rare = last - 1, rare + chances[last]
        kept = zip(self.towards[:last], chances[1 : last + 1], strict=True)
        faced = [(c.reverse() if self.turned else c, w) for c, w in kept]
        return chances[0], faced, rare

    def side(self) -> Side:
        """Walk along the outlines; too rare numbers of records take part with a ratio of zero."""
        none, kept, rare = self._weights()
        outlines = [Outline.of(table_of(c)) for c, _ in kept]
        tests = matched(*(o.first if self.turned else o.second for o in outlines))
        sign = -1 if self.turned else 1
        ratio, value = np.full(1, float(none)), np.full(1, 0.0 if self.turned else float_up(rare))
        for outline, nodes, (_, weight) in zip(outlines, tests, kept, strict=True):
            share = float_up(weight) * np.exp(sign * outline.x[nodes])
            ratio = ratio + share
            value = value + outline.value[nodes] * (share if self.turned else float_up(weight))
        reach = max(float(np.abs(o.x).max()) for o in outlines)
        slack = UNIT * (32 * len(kept) + 64 + 16 * reach)
        if not self.turned:
            return drawn(np.log(ratio) + 2 * slack, value * (1 + slack))
        x = np.append(-np.log(ratio), -math.log(float_down(none)))
        return drawn(x + 2 * slack, np.append(value / ratio * (1 + 2 * slack), 0.0))

    def profile(self, eps: float) -> Bracket | None:  # noqa: ARG002
        """The table defines the pair."""
        return None

    def ends(self) -> Ends:
        """Mix the largest ratios."""
        none, kept, rare = self._weights()
        parts = [(c, float(w)) for c, w in kept]
        if self.turned:  # where some P_j shows nothing, the mixture still shows w_0 Q
            low = [math.inf if c.infinity().low else c.reached() for c, _ in parts]
            high = [math.inf if c.infinity().high else c.largest() for c, _ in parts]
            floors = [
                float(none)
                + math.fsum(w * math.exp(-x) for (_, w), x in zip(parts, xs, strict=True))
                for xs in (low, high)
            ]
            reached, largest = (-math.log(floor) for floor in floors)
            return Ends(Bracket(0.0, 0.0), reached * (1 - _SURE), largest * (1 + _SURE) + 1e-300)
        least = math.fsum(w * c.infinity().low for c, w in parts) * (1 - _SURE)
        most = math.fsum(w * c.infinity().high for c, w in parts) * (1 + _SURE) + float_up(rare)
        reached, largest = (
            _mixed(float(none), [(w, x) for (_, w), x in zip(parts, xs, strict=True)])
            for xs in ([c.reached() for c, _ in parts], [c.largest() for c, _ in parts])
        )
        slack = _SURE * (1 + abs(largest))
        return Ends(Bracket.within(least, most, ceil=1.0), reached - slack, largest + slack)

    def cumulant(self, t: float) -> float:
        """Use convexity of r**(1+t), or of r**-t; reversed, the largest ratio is 1/w_0."""
        none, kept, _ = self._weights()
        moment = Composition.log_moment if self.turned else cumulant
        mixed = _mixed(float_up(none), [(float_up(w), moment(c, t)) for c, w in kept])
        value = mixed + _SURE * (1 + abs(mixed)) if math.isfinite(mixed) else mixed
        return min(value, -t * math.log(float_down(none)) * (1 + _SURE)) if self.turned else value

    def growth(self) -> Growth | None:
        """A mixture with Q loses no more than the largest of its parts."""
        _, kept, _ = self._weights()
        lost = self.turned and any(c.infinity().high for c, _ in kept)
        known = [found for c, _ in kept if (found := growth(c)) is not None]
        return Growth.largest(known) if len(known) == len(kept) and not lost else None


def _mixed(none: float, parts: list[tuple[float, float]]) -> float:
    """Return ln(none + sum of w e**x)."""
    top = max(0.0, *(x for _, x in parts))
    if math.isinf(top):
        return top
    total = none * math.exp(-top) + math.fsum(w * math.exp(x - top) for w, x in parts)
    return top + math.log(total)
