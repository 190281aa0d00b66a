"""The loss of a record that is routed, sampled with others, or replaced in a sample.

Trust: kernel.

Theorem (key ``routing``).  Interactive mechanisms M_1, ..., M_k run side by side, and one record is
sent to one of them, chosen by what they said before.  Then the excesses of the profiles add up:
h(a) - (1 - a)+ <= sum over i of h_i(a) - (1 - a)+.
Proof.  Until the record is sent both runs agree, so the choice J has one law under both.  An
adversary against M_i can play all others itself, and stop with a fixed word if J is not i; so
P(S, J = i) - a Q(S, J = i) + (1 - a)+ P(J != i) <= h_i(a).  Add this up over i.

The excess of the reversed pair at 1/a is the excess at a, over a; so excesses add up both ways.
The sum may have a corner at 1 that points up, or exceed 1: the table cuts it off.

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

All compositions are ordered: they bound the profile of one law against another, at every ratio.
A record that is replaced in a sample: key ``amplification``, proved in ``replaced_record``.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, final

import numpy as np

from discreet.errors import WrongKind
from discreet.exact import float_down, float_up
from discreet.loss.bracket import Bracket
from discreet.loss.composition import Composition
from discreet.loss.engine.rounding import MOMENT_MARGIN, PRODUCT_MARGIN, TINIEST, UNIT
from discreet.loss.pairs.composition_curve import (
    cumulant,
    profiles_at,
    summed_moments,
    table_of_composition,
    tabulated_shape,
)
from discreet.loss.pairs.curved_pair import LossEnds, TableShape, curved_composition
from discreet.loss.pairs.distribution import Floats
from discreet.loss.pairs.envelope import (
    UpperPolygon,
    half_profile_through,
    matched_nodes,
    upper_envelope,
)
from discreet.loss.pairs.polygon import HalfProfile
from discreet.loss.parameters import checked_rate
from discreet.loss.renyi.moment_growth import MomentGrowth, largest_growth
from discreet.loss.sampling.amplification import NEARLY_ALL


@final
@dataclass(frozen=True, slots=True)
class RoutedShape(TableShape):
    """Excesses that add up, each part as often as its count."""

    parts: tuple[tuple[Composition, int], ...]

    def reverse(self) -> RoutedShape:
        """Swap the two neighbors."""
        turned = ((part.reverse(), count) for part, count in self.parts)
        return RoutedShape(tuple(sorted(turned, key=repr)))

    def half_profile(self) -> HalfProfile:
        """Add up the profiles."""
        side = tabulated_shape(self._bounds, self.ends(), [part for part, _ in self.parts])
        return HalfProfile.of_nodes(side.x, side.high)

    def _bounds(self, eps: Floats) -> tuple[Floats, Floats]:
        low, high = np.zeros(len(eps)), np.zeros(len(eps))
        for part, count in self.parts:
            least, most = profiles_at(part, eps)
            low, high = low + count * least, high + count * most
        slack = PRODUCT_MARGIN * (1 + len(self.parts))
        return np.minimum(low * (1 - slack), 1.0), np.minimum(high * (1 + slack), 1.0)

    def ends(self) -> LossEnds:
        """Infinite losses add up."""
        masses = [(part.infinity(), count) for part, count in self.parts]
        low = math.fsum(mass.low * count for mass, count in masses) * (1 - PRODUCT_MARGIN)
        high = math.fsum(mass.high * count for mass, count in masses) * (1 + PRODUCT_MARGIN)
        return LossEnds(
            Bracket.within(low, high, ceil=1.0),
            max(part.largest_below() for part, _ in self.parts),
            max(part.largest() for part, _ in self.parts),
        )

    def cumulant(self, t: float) -> float:
        """Add up the excesses over 1."""
        return summed_moments(self.parts, t)

    def growth(self) -> MomentGrowth | None:
        """Take the largest, and the logarithm of their number."""
        return largest_growth(dict(self.parts), sum(count for _, count in self.parts))


_RARE: Final = Fraction(1, 10**30)  # numbers of records that are not worth a table


@final
@dataclass(frozen=True, slots=True)
class SampledGroupShape(TableShape):
    """The mixture of P_0, ..., P_k against Q = P_0; ``turned``, Q against the mixture."""

    towards: tuple[Composition, ...]
    rate: Fraction
    turned: bool = False

    def reverse(self) -> SampledGroupShape:
        """Swap the mixture and Q."""
        return SampledGroupShape(self.towards, self.rate, not self.turned)

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

    def half_profile(self) -> HalfProfile:
        """Walk along the outlines; too rare numbers of records take part with a ratio of zero."""
        none, kept, rare = self._weights()
        outlines = [UpperPolygon.of(table_of_composition(c)) for c, _ in kept]
        tests = matched_nodes(*(o.first if self.turned else o.second for o in outlines))
        sign = -1 if self.turned else 1
        ratio, value = np.full(1, float(none)), np.full(1, 0.0 if self.turned else float_up(rare))
        for outline, nodes, (_, weight) in zip(outlines, tests, kept, strict=True):
            share = float_up(weight) * np.exp(sign * outline.x[nodes])
            ratio = ratio + share
            value = value + outline.value[nodes] * (share if self.turned else float_up(weight))
        reach = max(float(np.abs(o.x).max()) for o in outlines)
        slack = UNIT * (32 * len(kept) + 64 + 16 * reach)
        if not self.turned:
            return half_profile_through(np.log(ratio) + 2 * slack, value * (1 + slack))
        x = np.append(-np.log(ratio), -math.log(float_down(none)))
        return half_profile_through(x + 2 * slack, np.append(value / ratio * (1 + 2 * slack), 0.0))

    def ends(self) -> LossEnds:
        """Mix the largest ratios; where one P_j exceeds every ratio, so does the mixture.

        For the mixture shows P_j with chance w_j, and its ratio is at least w_j times that of P_j.
        """
        none, kept, rare = self._weights()
        parts = [(c, float(w)) for c, w in kept]
        if self.turned:  # where some P_j shows nothing, the mixture still shows w_0 Q
            low = [math.inf if c.infinity().low else c.largest_below() for c, _ in parts]
            high = [math.inf if c.infinity().high else c.largest() for c, _ in parts]
            floors = [
                float(none)
                + math.fsum(w * math.exp(-x) for (_, w), x in zip(parts, xs, strict=True))
                for xs in (low, high)
            ]
            reached, largest = (-math.log(floor) for floor in floors)
            return LossEnds(
                Bracket(0.0, 0.0),
                reached * (1 - MOMENT_MARGIN),
                largest * (1 + MOMENT_MARGIN) + TINIEST,
            )
        least = math.fsum(w * c.infinity().low for c, w in parts) * (1 - MOMENT_MARGIN)
        most = math.fsum(w * c.infinity().high for c, w in parts) * (1 + MOMENT_MARGIN) + float_up(
            rare
        )
        below, above = [c.largest_below() for c, _ in parts], [c.largest() for c, _ in parts]
        reached, largest = (
            _mixed(float(none), [(w, x) for (_, w), x in zip(parts, xs, strict=True)])
            for xs in (below, above)
        )
        top = largest if math.isfinite(largest) else max(0.0, *below)
        slack = MOMENT_MARGIN * (1 + abs(top))
        return LossEnds(
            Bracket.within(least, most, ceil=1.0),
            reached - slack if math.isfinite(reached) else reached,
            largest + slack,
        )

    def cumulant(self, t: float) -> float:
        """Use convexity of r**(1+t), or of r**-t; reversed, the largest ratio is 1/w_0."""
        none, kept, _ = self._weights()
        moment = Composition.log_moment if self.turned else cumulant
        mixed = _mixed(float_up(none), [(float_up(w), moment(c, t)) for c, w in kept])
        value = mixed + MOMENT_MARGIN * (1 + abs(mixed)) if math.isfinite(mixed) else mixed
        return (
            min(value, -t * math.log(float_down(none)) * (1 + MOMENT_MARGIN))
            if self.turned
            else value
        )

    def growth(self) -> MomentGrowth | None:
        """A mixture with Q loses no more than the largest of its parts."""
        _, kept, _ = self._weights()
        lost = self.turned and any(c.infinity().high for c, _ in kept)
        return None if lost else largest_growth([c for c, _ in kept])


def _mixed(none: float, parts: list[tuple[float, float]]) -> float:
    """Return ln(none + sum of w e**x)."""
    top = max(0.0, *(x for _, x in parts))
    if math.isinf(top):
        return top
    total = none * math.exp(-top) + math.fsum(w * math.exp(x - top) for w, x in parts)
    return top + math.log(total)


def routed(compositions: Sequence[Composition]) -> Composition:
    """Return a composition above a record that is sent to one of several mechanisms as they go.

    >>> from discreet.loss.pairs.randomized_response import ResponsePair
    >>> leaky = Composition(((ResponsePair(Fraction(0), Fraction(1, 1000)), 1),))
    >>> round(routed([leaky] * 10).delta(1.0).high, 9)
    0.01
    """
    parts = Counter(c for c in compositions if c.pairs or c.renyi is not None)
    if parts.total() <= 1:
        return next(iter(parts), Composition())
    return curved_composition(RoutedShape(tuple(sorted(parts.items(), key=repr))))


def sampled_group(towards: Sequence[Composition], rate: object) -> Composition:
    """Return a composition above k records that each enter a Poisson sample, against none of them.

    ``towards[j - 1]`` is the ordered composition (P_j, Q): j of them in the sample, against none.

    >>> from discreet.loss.pairs.gaussian import GaussianPair
    >>> far = [Composition(((GaussianPair(Fraction(j * j)), 1),)) for j in (1, 2)]
    >>> round(sampled_group(far, "0.1").delta(0.5).high, 6)
    0.014529
    """
    chance = checked_rate(rate)
    if not towards:
        raise WrongKind(
            "no record enters the sample; give the composition for one record, then for two, and "
            "so on."
        )
    if chance == 1:
        return towards[-1]
    none = (1 - chance) ** len(towards)
    if chance > NEARLY_ALL or none < TINIEST:  # h(a) is at most the mean of the h_j(a)
        return upper_envelope(towards)
    return curved_composition(SampledGroupShape(tuple(towards), chance))
