"""How fast the moments of a loss grow with the order, and the rho that pairs are known to have.

Trust: kernel.

Theorem (key ``concentrated-composition``; Bun and Steinke 2016, Concentrated Differential
Privacy).  Rho adds up over a composition.  Each pair contributes what is known of it: a Gaussian
half the square of mu, discrete Gaussian noise the same at integer distances (key
``discrete-gaussian-renyi``), a pair with a curve its curve (key ``two-bounds``), and losses that
stay between -e and e contribute e tanh(e/2) (key ``pure-to-concentrated``).

Definition.  (rho, linear, constant) bounds the growth of a pair if
K(t) = ln E_P[e**(tL); L < inf] <= rho t (t + 1) + linear t + constant  for every t > 0.

Theorem (key ``moment-growth``).  Growths add up in products.  A loss of at most e has (0, e, 0),
and rho-zCDP is (rho, 0, 0).  A mixture with the second law loses no more than the pair itself (the
moments are convex in both laws).  If the excess of a moment over 1 is at most the sum of n others',
K is at most ln n above the largest.  Along two steps, with the exponents of key ``group-renyi``
chosen for the rhos, K(t) <= (r**0.5 + s**0.5)**2 t (t+1) + (linear + linear') t + linear + constant
+ constant', primes for the second step.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Protocol, final, runtime_checkable

from discreet.exact import float_up
from discreet.loss.elementary import sqrt, tanh_half
from discreet.loss.engine.rounding import PRODUCT_MARGIN, UNIT
from discreet.loss.pairs.gaussian import DiscreteGaussianPair, GaussianPair
from discreet.loss.pairs.pair import Pair, knows_curve
from discreet.loss.parameters import dyadic_up

if TYPE_CHECKING:  # for annotations alone: both arrive with their methods
    from discreet.loss.composition import Composition
    from discreet.loss.renyi.curve import RenyiCurve


def concentration(composition: Composition) -> Fraction | None:
    """Return a rho for which the composition is rho-zCDP in its direction, or None.

    >>> from discreet.loss.composition import Composition
    >>> concentration(Composition(((GaussianPair(Fraction(1)), 3),)))
    Fraction(3, 2)
    """
    curve = composition.renyi
    rhos = [(_rho(pair), count) for pair, count in composition.pairs]
    if curve is not None:
        rhos.append((_straight(curve), 1))
    known = [rho * count for rho, count in rhos if rho is not None]
    return sum(known, Fraction(0)) if len(known) == len(rhos) else None


def _straight(curve: RenyiCurve) -> Fraction | None:
    return None if curve.orders else curve.rho


def _rho(pair: Pair) -> Fraction | None:
    match pair:
        case GaussianPair(mu_squared=square):
            return square / 2
        case DiscreteGaussianPair(variance=variance, distance=distance):
            return distance**2 / (2 * variance)
        case _ if knows_curve(pair):
            return _straight(pair.curve())
        case _:
            return _pure(pair)


def _pure(pair: Pair) -> Fraction | None:
    """Bound the loss in both directions."""
    other = pair.reverse()
    largest = max(pair.largest(), other.largest())
    if math.isinf(largest) or pair.infinity().high or other.infinity().high:
        return None
    bound = Fraction(largest)
    return dyadic_up(bound * tanh_half(bound).high)


@final
@dataclass(frozen=True, slots=True)
class MomentGrowth:
    """A bound on cumulants at all orders.

    >>> MomentGrowth(rho=Fraction(1, 2), linear=1.0).over(3.0)
    Fraction(3, 4)
    """

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
        """Compose with itself."""
        slack = 1 + PRODUCT_MARGIN
        return MomentGrowth(
            self.rho * count, self.linear * count * slack, self.constant * count * slack
        )

    def at(self, t: float) -> float:
        """Bound K(t)."""
        value = float_up(self.rho) * t * (t + 1) + self.linear * t + self.constant
        return value * (1 + PRODUCT_MARGIN)

    def over(self, t: float) -> Fraction:
        """Bound K(s) / (s (s + 1)) for every s >= t > 0."""
        order = Fraction(t)
        rest = Fraction(self.linear) + Fraction(self.constant) / order
        return self.rho + dyadic_up(rest / (order + 1))

    def then(self, other: MomentGrowth) -> MomentGrowth:
        """Go on to a third law."""
        root = sqrt(self.rho).high + sqrt(other.rho).high
        return MomentGrowth(
            dyadic_up(root**2),
            (self.linear + other.linear) * (1 + PRODUCT_MARGIN),
            (self.linear + self.constant + other.constant) * (1 + PRODUCT_MARGIN),
        )


@runtime_checkable
class KnowsGrowth(Protocol):
    """A pair that knows the growth of what it is made of."""

    def growth(self) -> MomentGrowth | None:
        """Bound the growth; None where it is not known."""
        ...


def growth(composition: Composition) -> MomentGrowth | None:
    """Add up the growths of the pairs; None where one is not known.

    >>> from discreet.loss.composition import Composition
    >>> from discreet.loss.pairs.laplace import LaplacePair
    >>> growth(Composition(((LaplacePair(Fraction(1, 2)), 3),))).linear >= 1.5
    True
    """
    total = MomentGrowth()
    if composition.renyi is not None:
        if composition.renyi.orders:
            return None
        total = MomentGrowth(composition.renyi.rho)
    for pair, count in composition.pairs:
        own = _growth(pair)
        if own is None:
            return None
        total = total + own.times(count)
    return total


def largest_growth(parts: Iterable[Composition], count: int = 1) -> MomentGrowth | None:
    """Bound the largest growth of several, plus ln count; None where one is not known."""
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
    if isinstance(pair, KnowsGrowth):
        return pair.growth()
    largest = pair.largest()
    if math.isfinite(largest):
        return MomentGrowth(linear=max(0.0, largest))
    rho = _rho(pair)
    return None if rho is None else MomentGrowth(rho)
