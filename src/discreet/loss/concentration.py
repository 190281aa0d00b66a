"""The least rho for which a product of pairs is known to be zero-concentrated.

Trust: kernel.

Theorem (key ``concentrated-composition``).  Rho adds up over a composition.  Each pair contributes
what is known of it: a Gaussian half the square of mu, discrete Gaussian noise the same at integer
distances (key ``discrete-gaussian-renyi``), a pair with a curve its curve (key ``two-bounds``), and
losses that stay between -e and e contribute e tanh(e/2) (key ``pure-to-concentrated``).
"""

from __future__ import annotations

import math
from fractions import Fraction

from discreet.loss.composition import Composition
from discreet.loss.elementary import tanh_half
from discreet.loss.limits import dyadic_up
from discreet.loss.pairs.discrete_gaussian import DiscreteGaussianPair
from discreet.loss.pairs.gaussian import GaussianPair
from discreet.loss.pairs.pair import Pair
from discreet.loss.pairs.two_bounds import knows_curve
from discreet.loss.renyi_curve import RenyiCurve

__all__ = ["concentration"]


def concentration(composition: Composition) -> Fraction | None:
    """Return a rho for which the composition is rho-zCDP in its direction, or None.

    >>> concentration(Composition(((GaussianPair(Fraction(1)), 3),)))
    Fraction(3, 2)
    """
    curve = composition.renyi
    found = [(_rho(pair), count) for pair, count in composition.pairs]
    if curve is not None:
        found.append((_straight(curve), 1))
    known = [rho * count for rho, count in found if rho is not None]
    return sum(known, Fraction(0)) if len(known) == len(found) else None


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
