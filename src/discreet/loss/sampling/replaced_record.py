"""The shapes of a record that is replaced: in a sample of fixed size, or in a Poisson sample.

Trust: kernel.

Theorem (key ``amplification``; Balle, Barthe and Gaboardi 2018).  Let m of n records be drawn
without replacement, q = m/n, and let h be the largest profile of a replaced record, over both
directions.  Then the outer profile is at most q h(1 + (a - 1)/q) for a >= 1, in both directions.

Moments: this is the profile of a Poisson sample for a >= 1, and its reversal for a < 1, whose
excess weighs less; so the excess of the moment over 1 is at most twice that of the sample.

Theorem (key ``amplification``; Balle, Barthe and Gaboardi 2018 for one share).  Let
M = (1-q)R + qP and N = (1-q)R + qP', a >= 1 and b = (1-q)(a-1)/q.  For every share s in (0, 1)
h_MN(a) <= q (s h_PR(b/s) + (1-s) h_PP'(a/(1-s))).  Also h_MN(a) <= q h_PR(b) and q h_PP'(a).
Proof.  M - aN = q (P - bR - aP').  Split P into two shares, one against R and one against P'; or
drop R or P'.  The published bound is the share for which b/s = a/(1-s).

With one test for both terms the bound is exact, as for Gaussians on a line; so ratios are chosen
to have tests of one chance under P.  For ratios u of (P, R) and v of (P, P') the share of P' is
a/v, and a = (1 + k) / (k + 1/v) with k = (1-q)/(qu).

The chain M, R, N bounds as well (key ``group-profile``): h_MN(ab) <= h_MR(a) + a h_RN(b).
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np

from discreet.exact import float_down, float_up
from discreet.loss.bracket import Bracket
from discreet.loss.composition import Composition
from discreet.loss.engine.rounding import MOMENT_MARGIN, UNIT
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
    two_step_bounds,
)
from discreet.loss.pairs.polygon import HalfProfile
from discreet.loss.parameters import checked_rate
from discreet.loss.renyi.moment_growth import MomentGrowth, growth, largest_growth
from discreet.loss.sampling.amplification import (
    NEARLY_ALL,
    between_orders,
    removed_loss,
    removed_moment,
    whole_moment,
)


@final
@dataclass(frozen=True, slots=True)
class FixedSizeShape:
    """The largest profile of some compositions, on a sample; both directions are the same."""

    parts: tuple[Composition, ...]
    rate: Fraction

    def reverse(self) -> FixedSizeShape:
        """Both directions have one bound."""
        return self

    def half_profile(self) -> HalfProfile:
        """Evaluate the inner profiles."""
        return tabulated_shape(self._bounds, self.ends(), self.parts)

    def _bounds(self, eps: Floats) -> tuple[Floats, Floats]:
        """Read the inner profiles at 1 + (a - 1)/q; its rounding moves the point a little."""
        q = float(self.rate)
        moved = np.expm1(np.minimum(eps, 600.0)) / q
        inner = np.log1p(moved)
        slack = 32 * UNIT * (1 + inner)
        low = np.max([profiles_at(part, inner + slack)[0] for part in self.parts], axis=0)
        high = np.max(
            [profiles_at(part, np.maximum(inner - slack, 0.0))[1] for part in self.parts], axis=0
        )
        return q * low * (1 - 8 * UNIT), np.minimum(q * high * (1 + 8 * UNIT), 1.0)

    def profile(self, eps: float) -> Bracket:
        """Ask the parts."""
        low, high = self._bounds(np.array([eps]))
        return Bracket(float(low[0]), float(high[0]))

    def ends(self) -> LossEnds:
        """Map the largest inner loss."""
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

    def cumulant(self, t: float) -> float:
        """Double the excess over 1 of the sample's moment."""
        value = between_orders(lambda whole: _whole_moment(self, whole), t)
        if self.ends().infinite.high:
            return value + math.log(2)
        if value > 30 or not math.isfinite(value):
            return value + math.log(2)
        return math.log1p(2 * math.expm1(max(value, 0.0))) * (1 + MOMENT_MARGIN)

    def growth(self) -> MomentGrowth | None:
        """Take the largest, and the logarithm of twice their number."""
        return largest_growth(self.parts, 2 * len(self.parts))


@functools.lru_cache(maxsize=1 << 12)
def _whole_moment(shape: FixedSizeShape, t: int) -> float:
    return whole_moment(
        shape.rate, lambda s: summed_moments([(part, 1) for part in shape.parts], s), t
    )


@final
@dataclass(frozen=True, slots=True)
class ReplacedShape(TableShape):
    """(M, N) from (P, R), (R, P') and (P, P')."""

    removed: Composition
    inserted: Composition
    replaced: Composition
    rate: Fraction

    def reverse(self) -> ReplacedShape:
        """Swap P and P'."""
        return ReplacedShape(
            self.inserted.reverse(), self.removed.reverse(), self.replaced.reverse(), self.rate
        )

    def half_profile(self) -> HalfProfile:
        """Gather all bounds: every node is one, and so is the convex hull."""
        one, two = (
            UpperPolygon.of(table_of_composition(self.removed)),
            UpperPolygon.of(table_of_composition(self.replaced)),
        )
        bounds = [_shared(one, two, float(self.rate)), _against_none(one, float(self.rate))]
        bounds.append((two.x, two.value * float_up(self.rate)))
        back = UpperPolygon.of(table_of_composition(self.inserted))
        bounds.append(
            two_step_bounds(_sampled(one, float(self.rate)), _against(back, float(self.rate)))
        )
        reach = max(float(np.abs(o.x).max()) for o in (one, two, back))
        slack = UNIT * (256 + 16 * reach)
        x = np.concatenate([nodes for nodes, _ in bounds]) + 2 * slack
        value = np.concatenate([values for _, values in bounds]) * (1 + slack)
        start = np.searchsorted(two.x, 0.0)
        x, value = np.append(x, 0.0), np.append(value, two.value[start] * float_up(self.rate))
        kept = x >= 0
        return half_profile_through(x[kept], value[kept])

    def ends(self) -> LossEnds:
        """Bound the largest loss through the other record, or through none, where one is finite."""
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

    def cumulant(self, t: float) -> float:
        """Use joint convexity of the moment; or R alone, which N shows with chance 1 - q."""
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

    >>> from discreet.loss.pairs.gaussian import GaussianPair
    >>> one, two = (Composition(((GaussianPair(Fraction(m * m)), 1),)) for m in (1, 2))
    >>> round(poisson_replaced(one, one, two, "0.1").delta(0.3).high, 6)
    0.009697
    """
    chance = checked_rate(rate)
    if chance > NEARLY_ALL:  # a common part of two laws hides, in both directions
        return replaced
    return curved_composition(ReplacedShape(removed, inserted, replaced, chance))


def _shared(one: UpperPolygon, two: UpperPolygon, q: float) -> tuple[Floats, Floats]:
    """Share P between tests against R and against P' that it passes with one chance."""
    i, j = matched_nodes(one.first, two.first)
    kept = two.x[j] >= 0
    x, y = one.x[i[kept]], two.x[j[kept]]
    k = (1 - q) / q * np.exp(-x)
    ratio = (1 + k) / (k + np.exp(-y))
    share = np.minimum(ratio * np.exp(-y), 1.0)  # of P'
    rest = np.minimum(k * np.maximum(ratio - 1, 0.0), 1.0)  # of R
    return np.log(ratio), q * (rest * one.value[i[kept]] + share * two.value[j[kept]])


def _against_none(one: UpperPolygon, q: float) -> tuple[Floats, Floats]:
    """Drop P': the ratio of (P, R) at which b is the ratio."""
    return np.log1p(q / (1 - q) * np.exp(one.x)), q * one.value


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
