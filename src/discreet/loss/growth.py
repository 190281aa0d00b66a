"""How fast the moments of a loss can grow with the order.

Trust: kernel.

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
from typing import Protocol, final, runtime_checkable

from discreet.exact import float_up
from discreet.loss.composition import Composition
from discreet.loss.concentration import concentration
from discreet.loss.elementary import sqrt
from discreet.loss.limits import dyadic_up
from discreet.loss.pairs.pair import Pair

__all__ = ["Growing", "Growth", "growth"]


@final
@dataclass(frozen=True, slots=True)
class Growth:
    """A bound on cumulants at all orders.

    >>> Growth(rho=Fraction(1, 2), linear=1.0).over(3.0)
    Fraction(3, 4)
    """

    rho: Fraction = Fraction(0)
    linear: float = 0.0
    constant: float = 0.0

    def __add__(self, other: Growth) -> Growth:
        return Growth(
            self.rho + other.rho,
            (self.linear + other.linear) * (1 + 2**-52),
            (self.constant + other.constant) * (1 + 2**-52),
        )

    def times(self, count: int) -> Growth:
        """Compose with itself."""
        slack = 1 + 1e-15
        return Growth(self.rho * count, self.linear * count * slack, self.constant * count * slack)

    def at(self, t: float) -> float:
        """Bound K(t)."""
        value = float_up(self.rho) * t * (t + 1) + self.linear * t + self.constant
        return value * (1 + 1e-15)

    def over(self, t: float) -> Fraction:
        """Bound K(s) / (s (s + 1)) for every s >= t > 0."""
        order = Fraction(t)
        rest = Fraction(self.linear) + Fraction(self.constant) / order
        return self.rho + dyadic_up(rest / (order + 1))

    @staticmethod
    def largest(parts: Iterable[Growth], count: int = 1) -> Growth:
        """Bound the largest of several, plus ln count."""
        found = list(parts)
        return Growth(
            max(part.rho for part in found),
            max(part.linear for part in found),
            max(part.constant for part in found) + math.log(count) * (1 + 1e-15),
        )

    def then(self, other: Growth) -> Growth:
        """Go on to a third law."""
        root = sqrt(self.rho).high + sqrt(other.rho).high
        return Growth(
            dyadic_up(root**2),
            (self.linear + other.linear) * (1 + 1e-15),
            (self.linear + self.constant + other.constant) * (1 + 1e-15),
        )


@runtime_checkable
class Growing(Protocol):
    """A pair that knows the growth of what it is made of."""

    def growth(self) -> Growth | None:
        """Bound the growth; None where it is not known."""
        ...


def growth(composition: Composition) -> Growth | None:
    """Add up the growths of the pairs; None where one is not known.

    >>> from discreet.loss.pairs.laplace import LaplacePair
    >>> growth(Composition(((LaplacePair(Fraction(1, 2)), 3),))).linear >= 1.5
    True
    """
    total = Growth()
    if composition.renyi is not None:
        if composition.renyi.orders:
            return None
        total = Growth(composition.renyi.rho)
    for pair, count in composition.pairs:
        own = _growth(pair)
        if own is None:
            return None
        total = total + own.times(count)
    return total


def _growth(pair: Pair) -> Growth | None:
    if isinstance(pair, Growing):
        return pair.growth()
    largest = pair.largest()
    if math.isfinite(largest):
        return Growth(linear=max(0.0, largest))
    rho = concentration(Composition(((pair, 1),)))
    return None if rho is None else Growth(rho)
