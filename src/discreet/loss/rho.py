"""How fast the moments of a loss grow with the order, and the least rho that is proved of it.

Trust: kernel.

Definition.  With K(t) = ln E_P[e**(tL)], rho-zCDP says K(t) <= rho t (t + 1) for every t > 0.
Theorem (key ``concentrated-composition``; Bun and Steinke 2016, Concentrated Differential
Privacy).  Rho adds up over a composition.  Each pair contributes what is known of it: a Gaussian
half the square of mu, discrete Gaussian noise the same at integer distances (key
``discrete-gaussian-renyi``), a pair with a curve its curve (key ``two-bounds``), and losses that
stay between -e and e contribute e tanh(e/2) (key ``pure-to-concentrated``).

Definition.  (rho, linear, constant) bounds the growth of a pair if
K(t) = ln E_P[e**(tL); L < inf] <= rho t (t + 1) + linear t + constant  for every t > 0.
Theorem (key ``moment-growth``).  Growths add up in products.  A loss of at most e has (0, e, 0),
and rho-zCDP is (rho, 0, 0).  A mixture with the second distribution loses no more than the pair
itself (the moments are convex in both distributions).  If the excess of a moment over 1 is at most
the sum of n others', K is at most ln n above the largest.  Along two steps, with the exponents of
key ``group-renyi`` chosen for the rhos, K(t) <= (r**0.5 + s**0.5)**2 t (t+1) + (linear + linear') t
+ linear + constant + constant', primes for the second step.

Theorem (key ``concentrated-orders``).  K is convex and K(0) = 0, so K(t)/t does not fall, and K
is below its chords.  Hence sup K(t) / (t (t + 1)) is at most the largest of: K(s)/s for the least
order s that is looked at; for neighboring orders, the largest value on their chord; and from the
last order on, what the growth of K allows (key ``moment-growth``).  A part of K that is known as
r t (t + 1) adds r to the supremum, and needs no search.

Theorem (key ``approximately-concentrated``; Bun and Steinke 2016, definition 8.1).  Let P show what
Q never does with probability d, and Q what P never does with probability e; let P' and Q' be P and
Q given that this does not happen.  Then the cumulants of (P', Q') are
K(t) - (t + 1) ln(1 - d) + t ln(1 - e), for the finite part K of those of (P, Q), and h <= h' +
max(d, e).  So what (P, Q) dominates is concentrated with the rho of (P', Q') but for a probability
of max(d, e); in compositions, adaptive too, rhos and probabilities add up.

Theorem (key ``truncated-concentration``).  Let s >= 0 and P[L > s] <= d < 1, and let P' and Q' be P
and Q given that L <= s.  Their cumulants K' obey K'(t) <= t (s + c) with c = -ln(1 - d), and K'(t)
<= K(t) + c (t + 1 - u)+ with u = e**(ts - K(t)), where u < 1 counts as 0.  So (P, Q) is
concentrated with the rho of these bounds but for a probability of d. Proof:
docs/proofs/accounting.md, section 15.

Theorem (key ``sampled-rho``).  A Poisson sample of Gaussian noise, at any rate q > 0, has no rho
below that of the noise without a sample: sup D_a / a is mu**2 / 2, and n times that for n steps.
Proof: docs/proofs/accounting.md, section 15.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Final, final

from discreet.errors import OutOfRange
from discreet.exact import float_down, float_up
from discreet.loss.composition import Composition
from discreet.loss.elementary import sqrt, tanh_half
from discreet.loss.gaussian import DiscreteGaussianPair, GaussianPair, SmoothedGaussianPair
from discreet.loss.pair import Pair
from discreet.loss.parameters import dyadic_up
from discreet.loss.privacy_loss import PrivacyLoss, checked_loss
from discreet.loss.pure_pairs import ResponsePair
from discreet.loss.rounding import (
    LOG_MARGIN,
    MOMENT_MARGIN,
    PRODUCT_MARGIN,
    SUM_MARGIN,
    TINIEST,
    UNIT,
)


def concentration(composition: Composition) -> Fraction | None:
    """Return a rho for which the composition is rho-zCDP in its direction, or None."""
    curve = composition.renyi
    rhos = [(_rho(pair), count) for pair, count in composition.pairs]
    if curve is not None:
        rhos.append((curve.line, 1))
    known = [rho * count for rho, count in rhos if rho is not None]
    return sum(known, Fraction(0)) if len(known) == len(rhos) else None


def _straight(pair: Pair) -> Fraction | None:
    """Return the r of cumulants that are known as r t (t + 1)."""
    match pair:
        case GaussianPair(mu_squared=square):
            return square / 2
        case DiscreteGaussianPair(variance=variance, distance=distance):
            return distance**2 / (2 * variance)
        case SmoothedGaussianPair(leak=leak, rho=rho) if leak:
            return rho
        case _:
            return None


def _rho(pair: Pair) -> Fraction | None:
    known = pair.curve().line if pair.two_bounds else _straight(pair)
    if known is not None:
        return known
    other = pair.reverse()
    largest = max(pair.largest(), other.largest())
    if math.isinf(largest) or pair.infinity().high or other.infinity().high:
        return None
    bound = Fraction(largest)
    return dyadic_up(bound * tanh_half(bound).high)


@final
@dataclass(frozen=True, slots=True)
class MomentGrowth:
    """A bound on cumulants at all orders."""

    rho: Fraction = Fraction(0)
    linear: float = 0.0
    constant: float = 0.0

    def __add__(self, other: MomentGrowth) -> MomentGrowth:
        return MomentGrowth(
            self.rho + other.rho,
            (self.linear + other.linear) * (1 + 2 * UNIT),
            (self.constant + other.constant) * (1 + 2 * UNIT),
        )

    def times(self, count: int) -> MomentGrowth:
        slack = 1 + PRODUCT_MARGIN
        return MomentGrowth(
            self.rho * count, self.linear * count * slack, self.constant * count * slack
        )

    def at(self, t: float) -> float:
        value = float_up(self.rho) * t * (t + 1) + self.linear * t + self.constant
        return value * (1 + PRODUCT_MARGIN)

    def over(self, t: float) -> Fraction:
        order = Fraction(t)
        rest = Fraction(self.linear) + Fraction(self.constant) / order
        return self.rho + dyadic_up(rest / (order + 1))

    def then(self, other: MomentGrowth) -> MomentGrowth:
        root = sqrt(self.rho).high + sqrt(other.rho).high
        return MomentGrowth(
            dyadic_up(root**2),
            (self.linear + other.linear) * (1 + PRODUCT_MARGIN),
            (self.linear + self.constant + other.constant) * (1 + PRODUCT_MARGIN),
        )


def growth(composition: Composition) -> MomentGrowth | None:
    """Add up the growths of the pairs; None if one is not known."""
    total = MomentGrowth()
    if composition.renyi is not None:
        if (line := composition.renyi.line) is None:
            return None
        total = MomentGrowth(line)
    for pair, count in composition.pairs:
        own = _growth(pair)
        if own is None:
            return None
        total = total + own.times(count)
    return total


def largest_growth(parts: Iterable[Composition], count: int = 1) -> MomentGrowth | None:
    """Bound the largest growth of several, plus ln count; None if one is not known."""
    growths = []
    for part in parts:
        own = growth(part)
        if own is None:
            return None
        growths.append(own)
    return MomentGrowth(
        max(own.rho for own in growths),
        max(own.linear for own in growths),
        max(own.constant for own in growths) + math.log(count) * (1 + PRODUCT_MARGIN),
    )


def _growth(pair: Pair) -> MomentGrowth | None:
    largest = pair.largest()
    if math.isfinite(largest):
        return MomentGrowth(linear=max(0.0, largest))
    rho = _rho(pair)
    return pair.growth() if rho is None else MomentGrowth(rho)


def cumulant(composition: Composition, t: float) -> float:
    """Bound ln E_P[e**(tL); L < inf] from above, for t > 0."""
    if not composition.infinity().high:
        return composition.log_moment(t)
    total = math.fsum(count * pair.cumulant(t) for pair, count in composition.pairs)
    if composition.renyi is not None:
        total += composition.renyi.log_moment(t)
    return total + abs(total) * SUM_MARGIN


def summed_moments(compositions: Iterable[tuple[Composition, int]], t: float) -> float:
    """Bound ln of the moment of a profile whose excess over (1 - a)+ is at most the sum of all.

    Without infinite losses it is ln(1 + sum of n (e**m - 1)) for the moments e**m; with them, the
    sum of the moments of all finite parts bounds that of the finite part.
    """
    known = [(part, count, cumulant(part, t)) for part, count in compositions]
    top = max(value for _, _, value in known)
    if math.isinf(top):
        return top
    kept = not any(part.infinity().high for part, _, _ in known)
    total = math.fsum(count * math.exp(value - top) for _, count, value in known)
    whole = sum(count for _, count, _ in known)
    if kept and top < 1:
        excess = math.fsum(count * math.expm1(max(value, 0.0)) for _, count, value in known)
        return math.log1p(excess) * (1 + MOMENT_MARGIN) + TINIEST
    return (
        top + math.log(total - (whole - 1) * math.exp(-top) * kept) + MOMENT_MARGIN * (1 + abs(top))
    )


_FIRST: Final = 2.0**-12  # the least order looked at
_LAST: Final = 2.0**22
_CLOSE: Final = 1e-4  # how far a bound may be above the best point
_ROUNDS: Final = 12
_ORDERS: Final = tuple(2.0 ** (k / 2) for k in range(-4, 29))  # that say where losses end


def least_rho(composition: Composition) -> Fraction | None:
    """Return a rho, within a thousandth of the least; None if an infinite loss is possible."""
    straight, rest = _divided(composition)
    if not rest.pairs and rest.renyi is None:
        return straight
    simple = concentration(rest)
    limit = growth(rest) if math.isfinite(rest.log_moment(_FIRST)) else None
    if limit is None:
        return None if simple is None else straight + simple
    return straight + _supremum(rest.log_moment, limit, simple)


def _divided(composition: Composition) -> tuple[Fraction, Composition]:
    """Take apart what is known as rho t (t + 1), which adds just that rho, and the rest."""
    straight, rest = Fraction(0), []
    for pair, count in composition.pairs:
        known = _straight(pair)
        if known is None:
            rest.append((pair, count))
        else:
            straight += count * known
    curve = composition.renyi
    if curve is not None and not curve.orders:
        straight, curve = straight + curve.rho, None
    return straight, Composition(tuple(rest), curve)


def approximate_rho(composition: Composition) -> tuple[Fraction, Fraction]:
    """Return (rho, delta): rho-zCDP in this direction, but for infinite losses."""
    sure, leak = _without_leaks(composition)
    rho = least_rho(sure)
    if rho is not None:
        return rho, leak
    ahead, behind = composition.infinity(), composition.reverse().infinity()
    if ahead.high >= 1:
        return Fraction(0), Fraction(1)
    limit = growth(composition)
    if limit is None:
        raise OutOfRange(
            "the loss is known at too few orders to be concentrated; give rho itself, or a pair "
            "of laws."
        )
    lost, kept = (
        -math.log1p(-ahead.high) * (1 + PRODUCT_MARGIN),
        math.log1p(-min(behind.low, 1 - 1e-16)),
    )

    def moment(t: float) -> float:
        value = cumulant(composition, t) + (t + 1) * lost + t * kept
        return value + PRODUCT_MARGIN * (1 + abs(value))

    chance = Fraction(max(ahead.high, behind.high))
    return _supremum(moment, limit + MomentGrowth(linear=lost, constant=lost)), min(
        chance, Fraction(1)
    )


def _without_leaks(composition: Composition) -> tuple[Composition, Fraction]:
    """Take the probability of an infinite loss off the randomized responses: they are products."""
    pairs: list[tuple[Pair, int]] = []
    leak = Fraction(0)
    for pair, count in composition.pairs:
        match pair:
            case ResponsePair(epsilon=epsilon, delta=delta) if delta:
                leak += count * delta
                pairs.append((ResponsePair(epsilon), count))
            case _:
                pairs.append((pair, count))
    return Composition(tuple(pairs), composition.renyi), min(leak, Fraction(1))


def approximately_concentrated(loss: PrivacyLoss) -> tuple[Fraction, Fraction]:
    """Return (rho, delta): the loss is delta-approximately rho-zCDP, in both directions."""
    profile = checked_loss(loss).profile()
    bounds = [approximate_rho(part) for part in dict.fromkeys((*profile.remove, *profile.add))]
    return max(rho for rho, _ in bounds), max(chance for _, chance in bounds)


def truncated_rho(composition: Composition, chance: Fraction) -> Fraction | None:
    """Return a rho outside an event of this probability; None if moments are infinite."""
    if composition.infinity().high or not 0 < chance < 1:
        return None
    chances = float_down(chance), float_up(chance)
    depth = -math.log(chances[0]) * (1 + LOG_MARGIN)
    lost = -math.log1p(-chances[1]) * (1 + LOG_MARGIN)
    ends = ((composition.log_moment(t) + depth) / t for t in _ORDERS)
    end: float = max(min(ends), 0.0) * (1 + LOG_MARGIN)
    if math.isinf(end):
        return None

    def moment(t: float) -> float:
        value = composition.log_moment(t)
        kept = math.exp(min(t * end * (1 - LOG_MARGIN) - value * (1 + LOG_MARGIN), 600.0))
        kept = kept * (1 - LOG_MARGIN) if kept > 1 else 0.0
        value = value + max(t + 1 - kept, 0.0) * lost
        bound: float = min(value, t * (end + lost)) * (1 + LOG_MARGIN)
        return bound

    return _supremum(moment, MomentGrowth(linear=(end + lost) * (1 + LOG_MARGIN)))


def _supremum(
    moment: Callable[[float], float], limit: MomentGrowth, simple: Fraction | None = None
) -> Fraction:
    """Bound K(t) / (t (t + 1)) over all t > 0, by no more than a bound that is known already."""
    orders = [_FIRST, 1.0]
    values = [moment(t) for t in orders]
    best = max(_over(t, value) for t, value in zip(orders, values, strict=True))
    while orders[-1] < _LAST and limit.over(orders[-1]) > best * (1 + _CLOSE):
        orders.append(4 * orders[-1])
        values.append(moment(orders[-1]))
        best = max(best, _over(orders[-1], values[-1]))
    if simple is not None and simple <= best:
        return simple
    tail = limit.over(orders[-1])
    cells = list(pairwise(zip(orders, values, strict=True)))
    high = values[0] / orders[0]
    for _ in range(_ROUNDS):
        wide = []
        for left, right in cells:
            bound = _on_chord(left, right)
            if bound <= best * (1 + _CLOSE):
                high = max(high, bound)
                continue
            middle = math.sqrt(left[0] * right[0])
            point = (middle, moment(middle))
            best = max(best, _over(*point))
            wide += [(left, point), (point, right)]
        cells = wide
        if not cells:
            break
    high = max([high, *(_on_chord(left, right) for left, right in cells)])
    rho = max(Fraction(float_up(Fraction(high) * (1 + Fraction(1, 10**12)))), tail)
    return rho if simple is None else min(rho, simple)


def _over(t: float, value: float) -> float:
    return value / (t * (t + 1))


def _on_chord(left: tuple[float, float], right: tuple[float, float]) -> float:
    """Return the largest (a + bt) / (t (t + 1)) on the chord through two points.

    Its derivative vanishes where b t**2 + 2 a t + a = 0.
    """
    (s, low), (t, high) = left, right
    b = (high - low) / (t - s)
    a = low - b * s
    places = [s, t]
    if b > 0 and a < 0:
        places.append(min(max((-a + math.sqrt(a * a - a * b)) / b, s), t))
    return max(_over(place, a + b * place) for place in places)
