"""Geometric noise that stays inside a public range: clamped, or renormalized.

Trust: kernel.

Definition.  The input x lies in [low, high], and so does the answer.
    ``TruncatedGeometric`` adds two-sided geometric noise and clamps the sum.
    ``BoundedGeometric`` draws y in [low, high] with probability proportional to
    exp(-|y - x| / scale).

Theorem (key ``truncated-geometric``; Ghosh, Roughgarden and Sundararajan 2012).  Clamping is
post-processing.  It loses nothing either: between inputs i < j all loss values occur on [i, j], so
the loss at distance d <= high - low is exactly that of the unclamped noise.
Theorem (key ``bounded-geometric``).  With a = exp(-1/scale), n = high - low and s = min(d, n),
renormalizing is epsilon-DP for epsilon = s / scale + ln W(s) - ln W(0), where
W(i) = 1 + a - a**(i+1) - a**(n-i+1) is the weight of all answers to low + i, up to a constant; no
smaller epsilon will do.  Proof.  P[y | x] / P[y | x'] is largest on x's side of x', where it is
a**-|x-x'| W(x') / W(x).  W is concave, so W(i + t) / W(i) falls with i: take x = low.  Then
a**-t W(t) grows with t, since a**-(t+1) W(t+1) - a**-t W(t) =
(1 - a**2) a**-t (1/a - a**(n-1-t)) >= 0: take t = s.  The excess over s / scale is up to
ln(2 - exp(-s / scale)), nearly as much again: clamping is the better choice.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import final

from discreet.arrays import INT64_MAX, INT64_MIN
from discreet.certified import exp_neg, log
from discreet.errors import OutOfRange
from discreet.exact import Interval, decimal, whole
from discreet.loss import PrivacyLoss, Pure
from discreet.mechanisms.additive import laplace_pair, loss_of_move
from discreet.mechanisms.exact_quantiles import BITS, decide_at_most, first_true, two_sided_quantile
from discreet.mechanisms.mechanism import Mechanism, Number, ReferenceLaw, at_confidence, steps_at
from discreet.noise import SYSTEM, Bounded, DiscreteLaplace, Entropy, Truncated


@final
@dataclass(frozen=True, slots=True, init=False)
class TruncatedGeometric(Mechanism[int, int]):
    """Add two-sided geometric noise to an integer in a public range, and clamp to that range.

    >>> vote = TruncatedGeometric(scale=2, low=0, high=10)
    >>> vote.loss(distance=1).epsilon(delta=0), vote.error(confidence=0.95)
    (0.5, 5)
    >>> 0 <= vote.run(7) <= 10
    True
    """

    scale: Fraction
    low: int
    high: int

    def __init__(self, *, scale: Number, low: int, high: int) -> None:
        """Take the scale of the noise and the public range."""
        _set(self, scale, low, high)

    def loss(self, *, distance: Number = 1) -> PrivacyLoss:
        """Return the loss between inputs at this distance; it is tight."""
        steps = min(steps_at(distance), self.high - self.low)
        if steps == 0:
            return Pure(epsilon=0)
        return loss_of_move([laplace_pair(self.scale, steps)])

    def error(self, *, confidence: Number) -> int:
        """Return the exact error at the worst input.

        An error above r needs a side on which more than r fits: both sides where 2r + 2 <= n, one
        where r + 1 <= n.
        """
        chance = at_confidence(confidence)
        law, width = DiscreteLaplace(scale=self.scale), self.high - self.low
        both = two_sided_quantile(law, chance, 1)
        one = max(0, law.quantile(chance), width // 2)
        return min(both, one, width)

    def run(self, value: int, *, entropy: Entropy = SYSTEM) -> int:
        """Return the value plus noise, clamped."""
        center = _inside(value, self.low, self.high)
        noisy = center + DiscreteLaplace(scale=self.scale).draw(entropy)
        return min(max(noisy, self.low), self.high)

    def reference_pmf(self, value: int) -> ReferenceLaw:
        """Return the chance of every answer."""
        center = _inside(value, self.low, self.high)
        law = Truncated(
            DiscreteLaplace(scale=self.scale), low=self.low - center, high=self.high - center
        )
        return {y: law.pmf_bounds(y - center) for y in range(self.low, self.high + 1)}


@final
@dataclass(frozen=True, slots=True, init=False)
class BoundedGeometric(Mechanism[int, int]):
    """Draw an integer of a public range, near ones exponentially more often.

    >>> vote = BoundedGeometric(scale=2, low=0, high=10)
    >>> round(vote.loss(distance=1).epsilon(delta=0), 6)  # more than the 0.5 of clamped noise
    0.712664
    """

    scale: Fraction
    low: int
    high: int

    def __init__(self, *, scale: Number, low: int, high: int) -> None:
        """Take the scale of the noise and the public range, of at most 65536 integers."""
        _set(self, scale, low, high)
        _bounded(self, self.low)

    def loss(self, *, distance: Number = 1) -> PrivacyLoss:
        """Return the loss between inputs at this distance: pure, and tight as such."""
        width = self.high - self.low
        steps = min(steps_at(distance), width)
        excess = _log_weight(self, steps).high - _log_weight(self, 0).low if steps else Fraction(0)
        return Pure(epsilon=steps / self.scale + excess)

    def error(self, *, confidence: Number) -> int:
        """Return the exact error at the worst input, which is an end or the middle."""
        chance = at_confidence(confidence)
        ends = [_bounded(self, x) for x in {self.low, (self.low + self.high) // 2}]
        return max(_reach(law, chance, self.high - self.low) for law in ends)

    def run(self, value: int, *, entropy: Entropy = SYSTEM) -> int:
        """Return one answer."""
        center = _inside(value, self.low, self.high)
        return center + int(_bounded(self, center).sample(1, entropy)[0])

    def reference_pmf(self, value: int) -> ReferenceLaw:
        """Return the chance of every answer."""
        center = _inside(value, self.low, self.high)
        law = _bounded(self, center)
        return {y: law.pmf_bounds(y - center) for y in range(self.low, self.high + 1)}


def _set(target: TruncatedGeometric | BoundedGeometric, scale: object, low: int, high: int) -> None:
    """Check and store the fields that both share."""
    exact = decimal(scale, name="scale")
    DiscreteLaplace(scale=exact)  # refuses what it cannot draw
    first = whole(low, name="low", low=INT64_MIN // 2, high=INT64_MAX // 2)
    last = whole(high, name="high", low=INT64_MIN // 2, high=INT64_MAX // 2)
    if first > last:
        raise OutOfRange(
            what="low is above high.",
            why="no integer lies in such a range.",
            do="give low <= high.",
        )
    object.__setattr__(target, "scale", exact)
    object.__setattr__(target, "low", first)
    object.__setattr__(target, "high", last)


def _inside(value: object, low: int, high: int) -> int:
    center = whole(value, name="value")
    if not low <= center <= high:
        raise OutOfRange(
            what="the value is outside the public range.",
            why="the loss was promised for inputs inside it.",
            do="clamp the value to the range first.",
        )
    return center


def _bounded(mechanism: BoundedGeometric, center: int) -> Bounded:
    """Return the law of the difference of answer and input."""
    return Bounded(
        DiscreteLaplace(scale=mechanism.scale),
        low=mechanism.low - center,
        high=mechanism.high - center,
    )


def _log_weight(mechanism: BoundedGeometric, i: int) -> Interval:
    """Enclose ln W(i)."""
    n, bits = mechanism.high - mechanism.low, 2 * BITS + 2 * math.ceil(mechanism.scale).bit_length()

    def power(exponent: int) -> tuple[int, int]:
        return exp_neg(exponent / mechanism.scale, bits)

    first, near, far = power(1), power(i + 1), power(n - i + 1)
    low = (1 << bits) + first[0] - near[1] - far[1]
    high = (1 << bits) + first[1] - near[0] - far[0]
    return Interval(
        Fraction(log(Fraction(low, 1 << bits), bits)[0], 1 << bits),
        Fraction(log(Fraction(high, 1 << bits), bits)[1], 1 << bits),
    )


def _reach(law: Bounded, chance: Fraction, width: int) -> int:
    """Return the smallest r with P[|Z| <= r] >= chance."""
    return first_true(
        lambda r: r >= width or decide_at_most(lambda bits: _outside(law, r, bits), 1 - chance),
        high=width,
    )


def _outside(law: Bounded, r: int, bits: int) -> Interval:
    """Enclose P[|Z| > r]."""
    left, right = law.cdf_bounds(-r - 1, bits), law.survival_bounds(r, bits)
    return Interval(left.low + right.low, left.high + right.high)
