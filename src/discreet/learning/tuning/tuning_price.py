"""The price of tuning: what the best of a random number of private runs costs.

Trust: kernel.  How many runs there were stays secret, and only the best is told.

Theorem (key ``random-stopping``; Papernot and Steinke 2022, theorem 2 with eta = 0).  Let each run,
its score included, satisfy rho-zCDP, let K have the logarithmic law P[K = k] = c (1-g)**k / k, and
let the best of K independent runs be released.  For all orders a > 1 and b > 1 the Rényi divergence
of order a is at most
    rho a + (1 - 1/b) rho b + ln(1/g) / b + ln E[K] / (a - 1),   E[K] = (1/g - 1) / ln(1/g).
With b = sqrt(ln(1/g) / rho), if that is above 1, it is rho (a - 1) + 2 sqrt(rho ln(1/g)) +
ln E[K] / (a - 1).
Picking the candidate of a run at random is part of the run, which then is a mixture of runs that
all satisfy rho-zCDP, and satisfies it, too: the divergence is quasi-convex.

Theorem (key ``logarithmic-draw``).  Draw k from the geometric law g (1-g)**(k-1) and keep it with a
chance of 1/k, until one is kept: the kept k has the logarithmic law.
Proof.  The chance of keeping k is proportional to (1-g)**k / k.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, final

from discreet.accounting import Leaf
from discreet.errors import OutOfRange
from discreet.exact import decimal, float_up
from discreet.loss import Approximate, RenyiDP
from discreet.noise import SYSTEM, Bernoulli, Entropy
from discreet.units import PrivacyUnit, Relation

_BITS: Final = 30
_ORDERS: Final = 192
_UP: Final = 1 + 2.0**-40  # more than a handful of roundings


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class TuningPrice:
    """What the best of a random number of runs costs (key ``random-stopping``).

    >>> price = TuningPrice(rho=Fraction(1, 50), mean=10)
    >>> round(price.epsilon(Fraction(1, 10**5)), 3)
    1.418
    """

    rho: Fraction
    mean: Any

    def __post_init__(self) -> None:
        """Refuse what has no price."""
        if self.rho <= 0 or decimal(self.mean, name="mean") <= 1:
            raise OutOfRange(
                what="rho is not above zero, or the mean number of runs not above one.",
                why="a random number of runs is at least one, and more on average.",
                do="give mean=10, say.",
            )

    @property
    def stop(self) -> Fraction:
        """The parameter g of the logarithmic law, whose mean is at most the one asked for."""
        low, high = 0, 1 << _BITS
        mean = float(decimal(self.mean, name="mean"))
        while high - low > 1:
            middle = (low + high) // 2
            if middle and _mean_runs(middle / (1 << _BITS)) <= mean:
                high = middle
            else:
                low = middle
        return Fraction(high, 1 << _BITS)

    def divergence(self, order: float) -> float:
        """Return the Rényi divergence of an order, rounded up."""
        rho, log = float(self.rho), -math.log(float(self.stop))
        other = max(math.sqrt(log / rho), 1 + 1e-9)
        mixed = (1 - 1 / other) * rho * other + log / other
        runs = math.log(_mean_runs(float(self.stop))) / (order - 1)
        return (rho * order + mixed + runs) * _UP

    def epsilon(self, delta: Fraction) -> float:
        """Return the least epsilon that the divergences prove at a delta."""
        return self.loss(delta).epsilon(delta=delta)

    def loss(self, delta: Fraction) -> RenyiDP:
        """Return the loss, at orders that matter for a delta."""
        spread = math.sqrt(-math.log(float(delta)) / float(self.rho))
        exact = {
            Fraction(1 + spread * 2 ** (place / 32 - 4)).limit_denominator(1 << 20)
            for place in range(_ORDERS)
        }
        orders = sorted(exact)
        values = [Fraction(self.divergence(float(order))) for order in orders]
        return RenyiDP(orders=orders, values=values)

    def leaf(self, delta: Fraction, unit: PrivacyUnit) -> Leaf:
        """Return what is charged to a unit, whose every run costs the stated rho."""
        epsilon = Fraction(float_up(Fraction(self.epsilon(delta))))
        loss = Approximate(epsilon=epsilon, delta=delta)
        whose = PrivacyUnit(name=unit.name, columns=unit.columns, relation=Relation.ADD_REMOVE)
        replaced = loss if unit.relation.replaces else None
        return Leaf(loss, name="tuning", unit=whose, replaced=replaced)


def _mean_runs(stop: float) -> float:
    return (1 / stop - 1) / -math.log(stop)


def logarithmic(stop: Fraction, entropy: Entropy = SYSTEM) -> int:
    """Draw from the logarithmic law by exact coins (key ``logarithmic-draw``).

    >>> logarithmic(Fraction(1, 2)) >= 1
    True
    """
    while True:
        count = 1
        while not Bernoulli(p=stop).sample(1, entropy=entropy)[0]:
            count += 1
        if Bernoulli(p=Fraction(1, count)).sample(1, entropy=entropy)[0]:
            return count
