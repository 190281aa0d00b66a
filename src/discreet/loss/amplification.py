"""Records that are sampled with others, or replaced in a sample.

Trust: kernel.

Theorems (key ``amplification``; Balle, Barthe and Gaboardi 2018).  Let m of n records be drawn
without replacement, q = m/n, and let h be the largest profile of a replaced record, over both
directions.  Then the outer profile is at most q h(1 + (a - 1)/q) for a >= 1, in both directions.
Let M = (1-q)R + qP and N = (1-q)R + qP' be Poisson samples in which a record is replaced, a >= 1
and b = (1-q)(a-1)/q.  For every share s in (0, 1)
h_MN(a) <= q (s h_PR(b/s) + (1-s) h_PP'(a/(1-s))), and h_MN(a) <= q h_PR(b) and q h_PP'(a).
Proof.  M - aN = q (P - bR - aP').  Split P into two shares, one against R and one against P'; or
drop R or P'.  The published bound is the share for which b/s = a/(1-s).

Theorem (key ``sampled-groups``; Ganesh 2024 for Gaussians).  Let k records enter a sample
independently with probability q, and let P_j be the distribution with j of them in it, Q = P_0.
With binomial weights w_j and any a_j >= 0 with w_0 + sum w_j a_j = a over j >= 1, the mixture of
the P_j has h(a) <= sum w_j h_j(a_j); for a <= w_0 it is 1 - a.  The reversed profile at 1/a is at
most sum w_j a_j r_j(1/a_j) / a, where r_j are the reversed profiles, and 0 at 1/w_0.
Proof: docs/proofs/accounting.md, section 15.

Bounds with free ratios are exact if one test is best at all of them, as for Gaussians on a line;
so ratios are chosen to have tests of one probability.  All compositions are ordered: they bound the
profile of one distribution against another, at every ratio.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, final

import numpy as np

from discreet.errors import WrongKind
from discreet.exact import float_down, float_up
from discreet.loss.composition import Composition
from discreet.loss.curved_pair import (
    CurvedPair,
    LossEnds,
    table_of_composition,
    tabulated,
)
from discreet.loss.dots import Floats
from discreet.loss.envelope import (
    UpperPolygon,
    half_profile_through,
    matched_nodes,
    two_step_bounds,
    upper_envelope,
)
from discreet.loss.parameters import checked_rate
from discreet.loss.polygon import HalfProfile
from discreet.loss.rho import MomentGrowth, cumulant, growth, largest_growth, summed_moments
from discreet.loss.rounding import MOMENT_MARGIN, TINIEST, UNIT, Bracket

NEARLY_ALL: Final = 1 - Fraction(1, 10**9)
"""Rates above are treated as 1: to divide by what is left would cost more than it gains."""

_EDGE: Final = 1e-12  # inner ratios so close to zero count as zero: h(a) >= 1 - a moves by no more


Inner = Callable[[Floats, Floats], tuple[Floats, Floats]]
"""Bounds, from both sides, of a profile between eps - slack and eps + slack."""


def removed_profile(q: float, eps: Floats, inner: Inner) -> tuple[Floats, Floats]:
    """Bound the profile when a person is removed, at many real eps."""
    moved = np.expm1(eps) / q
    inside = moved > -1 + _EDGE
    with np.errstate(divide="ignore", invalid="ignore"):
        place = np.where(inside, np.log1p(np.where(inside, moved, 0.0)), 0.0)
    slack = 32 * UNIT * (1 + np.abs(moved)) / (1 + np.where(inside, moved, 0.0))
    low, high = inner(place, slack)
    flat = -np.expm1(eps)
    low = np.where(inside, q * low * (1 - 8 * UNIT), flat * (1 - 16 * UNIT))
    low = np.maximum(low, flat - 16 * UNIT)
    high = np.where(inside, q * high * (1 + 8 * UNIT), flat + _EDGE * (1 + np.abs(flat)))
    return np.maximum(low, 0.0), np.minimum(high, 1.0)


def added_profile(q: float, eps: Floats, inner: Inner) -> tuple[Floats, Floats]:
    """Bound the profile when a person is added, at many real eps."""
    low, high = removed_profile(q, -eps, inner)
    flat, a = -np.expm1(eps), np.exp(eps)
    wrong = UNIT * (16 * np.abs(flat) + 16 * a * high) + 4 * UNIT * a
    return np.maximum(flat + a * low - wrong, 0.0), np.minimum(flat + a * high + wrong, 1.0)


def removed_moment(rate: Fraction, inner: Callable[[float], float], t: float) -> float:
    """Bound ln E_Q[(1 - q + qR)**(t+1)]: integer orders, and convexity between them."""
    return between_orders(lambda whole: whole_moment(rate, inner, whole), t)


def sampled_cumulant(inner: Composition, rate: Fraction, t: float) -> float:
    """Bound the cumulant when a person is removed from a sample; integer orders are kept."""
    return between_orders(lambda whole: _known(inner, rate, whole), t)


@functools.lru_cache(maxsize=1 << 12)
def _known(inner: Composition, rate: Fraction, t: int) -> float:
    return whole_moment(rate, lambda s: cumulant(inner, s), t)


def between_orders(moment: Callable[[int], float], t: float) -> float:
    """Bound a cumulant at t > 0 by the chord between integer orders; it is 0 at 0."""
    whole = math.ceil(t)
    right = moment(whole)
    if whole == t:
        return right
    left = moment(whole - 1) if whole > 1 else 0.0
    return (left * (whole - t) + right * (t - whole + 1)) * (1 + MOMENT_MARGIN)


def whole_moment(rate: Fraction, inner: Callable[[float], float], t: int) -> float:
    """Use the binomial theorem; for very high orders, convexity in the rate."""
    if t > 256:
        return _mixed(float_up(rate), inner(t)) * (1 + MOMENT_MARGIN)
    q, a = float(rate), t + 1
    stay = math.log1p(-q) if q < 1 else -math.inf
    terms = [a * stay, math.log(a) + math.log(q) + (a - 1) * stay if q < 1 else -math.inf]
    for j in range(2, a + 1):
        rest = (a - j) * stay if a > j else 0.0
        power = math.log(math.comb(a, j)) + j * math.log(q) + rest
        terms.append(power + inner(j - 1.0))
    top = max(terms)
    if math.isinf(top):
        return top
    total = top + math.log(math.fsum(math.exp(term - top) for term in terms))
    return max(total, 0.0) + MOMENT_MARGIN * (1 + a * abs(math.log(q)) + abs(top))


def added_moment(rate: Fraction, inner: Callable[[float], float], t: float) -> float:
    """Bound ln E_Q[(1 - q + qR)**-t], where ``inner`` bounds the moments of the reversed pair."""
    q = float_up(rate)
    lost = -t * math.log1p(-q) if q < 1 else math.inf
    return min(lost, _mixed(q, inner(t))) * (1 + MOMENT_MARGIN) + TINIEST


def _mixed(q: float, log_moment: float) -> float:
    if log_moment < 1:
        return math.log1p(q * math.expm1(log_moment))
    return log_moment + math.log(q + (1 - q) * math.exp(-log_moment))


def removed_loss(rate: Fraction, inner: float, *, up: bool) -> float:
    """Evaluate ln(1 - q + q e**l) at an inner loss l >= 0, rounded up or down."""
    q = float_up(rate) if up else float_down(rate)
    if inner > 600:  # at most l, at least l + ln q
        far = inner + math.log(q) * (1 + 16 * UNIT) if q else 0.0
        return inner if up else max(0.0, far * (1 - 8 * UNIT))
    return math.log1p(q * math.expm1(inner)) * (1 + (64 if up else -64) * UNIT)


def added_loss(rate: Fraction, inner: float, *, up: bool) -> float:
    """Evaluate -ln(1 - q + q e**-l) at a reversed inner loss 0 <= l <= inf, rounded up or down."""
    q = float_up(rate) if up else float_down(rate)
    y = q * math.expm1(-inner)
    if 1 + y < 1e-9:  # an error of y counts 1/(1 + y) times at most
        return inner if up else 0.0
    slack = 64 * UNIT / (1 + y)
    value = -math.log1p(y)
    return min(value * (1 + slack), inner) if up else max(value * (1 - slack), 0.0)


_RARE: Final = Fraction(1, 10**30)  # numbers of records that are not worth a table


@final
@dataclass(frozen=True, slots=True)
class SampledGroupPair(CurvedPair):
    """The mixture of P_0, ..., P_k against Q = P_0; ``turned``, Q against the mixture."""

    towards: tuple[Composition, ...]
    rate: Fraction
    turned: bool = False

    def reverse(self) -> SampledGroupPair:
        return SampledGroupPair(self.towards, self.rate, not self.turned)

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
        """Mix the largest ratios; if one P_j exceeds every ratio, so does the mixture.

        For the mixture shows P_j with probability w_j, and its ratio is at least w_j times that of
        P_j.
        """
        none, kept, rare = self._weights()
        parts = [(c, float(w)) for c, w in kept]
        if self.turned:  # if some P_j shows nothing, the mixture still shows w_0 Q
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
            _mixed_of_mixtures(float(none), [(w, x) for (_, w), x in zip(parts, xs, strict=True)])
            for xs in (below, above)
        )
        top = largest if math.isfinite(largest) else max(0.0, *below)
        slack = MOMENT_MARGIN * (1 + abs(top))
        return LossEnds(
            Bracket.within(least, most, ceil=1.0),
            reached - slack if math.isfinite(reached) else reached,
            largest + slack,
        )

    def moment(self, t: float) -> float:
        """Use convexity of r**(1+t), or of r**-t; reversed, the largest ratio is 1/w_0."""
        none, kept, _ = self._weights()
        moment = Composition.log_moment if self.turned else cumulant
        mixed = _mixed_of_mixtures(float_up(none), [(float_up(w), moment(c, t)) for c, w in kept])
        value = mixed + MOMENT_MARGIN * (1 + abs(mixed)) if math.isfinite(mixed) else mixed
        return (
            min(value, -t * math.log(float_down(none)) * (1 + MOMENT_MARGIN))
            if self.turned
            else value
        )

    def growth(self) -> MomentGrowth | None:
        _, kept, _ = self._weights()
        lost = self.turned and any(c.infinity().high for c, _ in kept)
        return None if lost else largest_growth([c for c, _ in kept])


def _mixed_of_mixtures(none: float, parts: list[tuple[float, float]]) -> float:
    top = max(0.0, *(x for _, x in parts))
    if math.isinf(top):
        return top
    total = none * math.exp(-top) + math.fsum(w * math.exp(x - top) for w, x in parts)
    return top + math.log(total)


def sampled_group(towards: Sequence[Composition], rate: object) -> Composition:
    """Return a composition above k records that each enter a Poisson sample, against none of them.

    ``towards[j - 1]`` is the ordered composition (P_j, Q): j of them in the sample, against none.
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
    return Composition.of(SampledGroupPair(tuple(towards), chance))


@final
@dataclass(frozen=True, slots=True)
class FixedSizePair(CurvedPair):
    """The largest profile of some compositions, on a sample; both directions are the same."""

    parts: tuple[Composition, ...]
    rate: Fraction

    def reverse(self) -> FixedSizePair:
        return self

    def half_profile(self) -> HalfProfile:
        return tabulated(self._bounds, self.ends(), self.parts)

    def _bounds(self, eps: Floats) -> tuple[Floats, Floats]:
        """Read the inner profiles at 1 + (a - 1)/q; its rounding moves the point a little."""
        q = float(self.rate)
        moved = np.expm1(np.minimum(eps, 600.0)) / q
        inner = np.log1p(moved)
        slack = 32 * UNIT * (1 + inner)
        low = np.max([part.deltas(inner + slack)[0] for part in self.parts], axis=0)
        high = np.max(
            [part.deltas(np.maximum(inner - slack, 0.0))[1] for part in self.parts], axis=0
        )
        return q * low * (1 - 8 * UNIT), np.minimum(q * high * (1 + 8 * UNIT), 1.0)

    def whole(self, eps: float) -> Bracket:
        low, high = self._bounds(np.array([eps]))
        return Bracket(float(low[0]), float(high[0]))

    def ends(self) -> LossEnds:
        infinite = Bracket.largest(part.infinity() for part in self.parts)
        reached = max(0.0, *(part.largest_below() for part in self.parts))
        largest = max(part.largest() for part in self.parts)
        return LossEnds(
            Bracket(
                float_down(self.rate) * infinite.low * (1 - 2 * UNIT),
                min(float_up(self.rate) * infinite.high * (1 + 2 * UNIT), 1.0),
            ),
            removed_loss(self.rate, reached, up=False),
            removed_loss(self.rate, largest, up=True),
        )

    def moment(self, t: float) -> float:
        value = between_orders(lambda whole: _whole_moment(self, whole), t)
        if self.ends().infinite.high:
            return value + math.log(2)
        if value > 30 or not math.isfinite(value):
            return value + math.log(2)
        return math.log1p(2 * math.expm1(max(value, 0.0))) * (1 + MOMENT_MARGIN)

    def growth(self) -> MomentGrowth | None:
        return largest_growth(self.parts, 2 * len(self.parts))


@functools.lru_cache(maxsize=1 << 12)
def _whole_moment(shape: FixedSizePair, t: int) -> float:
    return whole_moment(
        shape.rate, lambda s: summed_moments([(part, 1) for part in shape.parts], s), t
    )


@final
@dataclass(frozen=True, slots=True)
class ReplacedPair(CurvedPair):
    """(M, N) from (P, R), (R, P') and (P, P')."""

    removed: Composition
    inserted: Composition
    replaced: Composition
    rate: Fraction

    def reverse(self) -> ReplacedPair:
        return ReplacedPair(
            self.inserted.reverse(), self.removed.reverse(), self.replaced.reverse(), self.rate
        )

    def half_profile(self) -> HalfProfile:
        """Gather all bounds: every node is one, and so is the convex hull."""
        one, two = (
            UpperPolygon.of(table_of_composition(self.removed)),
            UpperPolygon.of(table_of_composition(self.replaced)),
        )
        q = float(self.rate)
        alone = np.log1p(q / (1 - q) * np.exp(one.x)), q * one.value  # P' dropped: b is the ratio
        bounds = [_shared(one, two, q), alone, (two.x, two.value * float_up(self.rate))]
        back = UpperPolygon.of(table_of_composition(self.inserted))
        bounds.append(two_step_bounds(_sampled(one, q), _against(back, q)))
        reach = max(float(np.abs(o.x).max()) for o in (one, two, back))
        slack = UNIT * (256 + 16 * reach)
        x = np.concatenate([nodes for nodes, _ in bounds]) + 2 * slack
        value = np.concatenate([values for _, values in bounds]) * (1 + slack)
        start = np.searchsorted(two.x, 0.0)
        x, value = np.append(x, 0.0), np.append(value, two.value[start] * float_up(self.rate))
        kept = x >= 0
        return half_profile_through(x[kept], value[kept])

    def ends(self) -> LossEnds:
        """Bound the largest loss through the other record, or through none, if one is finite."""
        q = float_up(self.rate)
        lost = [pair.infinity().high for pair in (self.removed, self.replaced)]
        if all(lost):
            return LossEnds(
                Bracket(0.0, min(1.0, q * min(lost) * (1 + MOMENT_MARGIN))), 0.0, math.inf
            )
        largest = math.inf if lost[1] else self.replaced.largest()
        if not lost[0]:
            ahead = min(self.removed.largest(), 600.0)
            odds = q / float_down(1 - self.rate) * math.exp(ahead)
            most = math.log1p(odds) * (1 + MOMENT_MARGIN)
            largest = min(largest, most if ahead < 600 else math.inf)
        return LossEnds(Bracket(0.0, 0.0), 0.0, largest)

    def moment(self, t: float) -> float:
        """Use joint convexity of the moment; or R alone, which N shows with probability 1 - q."""
        q = float_up(self.rate)
        best = math.inf
        if not self.replaced.infinity().high:
            inner = cumulant(self.replaced, t)
            best = (
                inner + math.log(q + (1 - q) * math.exp(-inner))
                if inner > 1
                else math.log1p(q * math.expm1(max(inner, 0.0)))
            )
        if not self.removed.infinity().high:
            alone = removed_moment(self.rate, lambda s: cumulant(self.removed, s), t)
            best = min(best, alone - t * math.log1p(-q))
        return best + MOMENT_MARGIN * (1 + abs(best)) if math.isfinite(best) else best

    def growth(self) -> MomentGrowth | None:
        """Lose no more than the records alone, or than one against none, which N still shows."""
        alone = None if self.removed.infinity().high else growth(self.removed)
        both = None if self.replaced.infinity().high else growth(self.replaced)
        if alone is not None:
            alone = alone + MomentGrowth(
                linear=-math.log1p(-float_up(self.rate)) * (1 + MOMENT_MARGIN)
            )
        known = [bound for bound in (both, alone) if bound is not None]
        return min(known, key=lambda bound: bound.rho, default=None)


def poisson_replaced(
    removed: Composition, inserted: Composition, replaced: Composition, rate: object
) -> Composition:
    """Return a composition above ((1-q)R + qP, (1-q)R + qP'), a record replaced before sampling.

    ``removed`` is the ordered composition (P, R), ``inserted`` is (R, P'), ``replaced`` (P, P').
    """
    chance = checked_rate(rate)
    if chance > NEARLY_ALL:  # a common part of two distributions hides, in both directions
        return replaced
    return Composition.of(ReplacedPair(removed, inserted, replaced, chance))


def _shared(one: UpperPolygon, two: UpperPolygon, q: float) -> tuple[Floats, Floats]:
    """Share P between tests against R and against P' that it passes with one probability."""
    i, j = matched_nodes(one.first, two.first)
    kept = two.x[j] >= 0
    x, y = one.x[i[kept]], two.x[j[kept]]
    k = (1 - q) / q * np.exp(-x)
    ratio = (1 + k) / (k + np.exp(-y))
    share = np.minimum(ratio * np.exp(-y), 1.0)  # of P'
    rest = np.minimum(k * np.maximum(ratio - 1, 0.0), 1.0)  # of R
    return np.log(ratio), q * (rest * one.value[i[kept]] + share * two.value[j[kept]])


def _sampled(outline: UpperPolygon, q: float) -> UpperPolygon:
    """Map (P, R) to ((1-q)R + qP, R): ratios a to 1 - q + qa, bounds h to qh; from 1 - q on."""
    x = np.append(math.log1p(-q), np.log1p(q * np.expm1(outline.x)))
    first = np.append(1.0, (1 - q) * outline.second + q * outline.first)
    return UpperPolygon(x, np.append(q, q * outline.value), first, np.append(1.0, outline.second))


def _against(outline: UpperPolygon, q: float) -> UpperPolygon:
    """Map (R, P') to (R, (1-q)R + qP'): 1/b to 1 - q + q/b, with nothing left at 1/(1 - q)."""
    share = q * np.exp(-outline.x)
    ratio = 1 - q + share
    x = np.append(-np.log(ratio), -math.log1p(-q))
    value = np.append(outline.value * share / ratio, 0.0)
    second = np.append((1 - q) * outline.first + q * outline.second, 0.0)
    return UpperPolygon(x, value, np.append(outline.first, 0.0), second)
