"""Zero-concentrated (zCDP) and Rényi differential privacy (RDP).

Trust: kernel.

Definition (Bun and Steinke 2016).  M is rho-zCDP when D_a(M(D) || M(D')) <= rho a for every order
a > 1 and all ordered neighbors.
Theorems.  Composition adds rho, adaptively (key ``concentrated-composition``).  A group of k units
has k**2 rho (key ``group-concentrated``).  Through single orders it implies (eps, delta) with
delta(eps) = inf over a of the bound of key ``renyi-to-approximate``.

Definition (Mironov 2017).  M is (a, r)-RDP when D_a(M(D) || M(D')) <= r for all ordered neighbors.
Theorems.  Composition adds the values order by order, adaptively (key ``renyi-composition``).
Each order proves an (eps, delta) (key ``renyi-to-approximate``); the best one is taken.  Choosing
the best order after the fact is sound for one finished composition, not for a running budget.

Theorem (key ``renyi-composition``; Mironov 2017, Rényi Differential Privacy).  Rényi divergences
of adaptive compositions add, order by order.

Theorem (key ``pure-to-concentrated``; differentialprivacy.org, 27 May 2024; randomized response
attains it as the order tends to 1).  epsilon-DP implies (epsilon tanh(epsilon/2))-zCDP, and no
smaller rho.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import final

from discreet.errors import OutOfRange
from discreet.exact import float_up
from discreet.loss.bracket import Bracket
from discreet.loss.composition import Composition
from discreet.loss.gaussian_dp import GaussianDP
from discreet.loss.group_privacy import group_renyi
from discreet.loss.parameters import checked_count, checked_order, checked_parameter
from discreet.loss.privacy_loss import PrivacyLoss
from discreet.loss.profile import Profile
from discreet.loss.renyi.curve import RenyiCurve
from discreet.loss.renyi.divergences import (
    concentrated_delta,
    concentrated_epsilon,
    renyi_delta,
    renyi_epsilon,
)


@final
@dataclass(frozen=True, slots=True, init=False)
class ZeroConcentrated(PrivacyLoss):
    """A loss whose Rényi divergences are at most rho times their order.

    >>> ZeroConcentrated(rho="0.5").epsilon(delta=1e-5)
    4.728386984943316
    >>> ZeroConcentrated(rho="0.08").group(3)
    ZeroConcentrated(rho=Fraction(18, 25))
    """

    rho: Fraction

    def __init__(self, *, rho: object) -> None:
        """Take an exact rho >= 0."""
        object.__setattr__(self, "rho", checked_parameter(rho, name="rho"))

    def profile(self) -> Profile:
        """Return what the divergences imply; nothing is known from below."""
        return Profile.symmetric(Composition(pairs=(), renyi=RenyiCurve(rho=self.rho)))

    def delta_interval(self, epsilon: object) -> Bracket:
        """Bound delta through the best order."""
        return Bracket(0.0, concentrated_delta(rho=self.rho, epsilon=epsilon))

    def interval(self, delta: object) -> Bracket:
        """Bound epsilon through the best order."""
        return Bracket(0.0, concentrated_epsilon(rho=self.rho, delta=delta))

    def renyi(self, order: object) -> float:
        """Return rho times the order, rounded up."""
        return float_up(self.rho * checked_order(order))

    def concentrated(self) -> Fraction:
        """Return rho."""
        return self.rho

    def compose(self, other: PrivacyLoss) -> PrivacyLoss:
        """Add rho to rho; anything else goes through profiles."""
        if isinstance(other, ZeroConcentrated):
            return ZeroConcentrated(rho=self.rho + other.rho)
        return PrivacyLoss.compose(self, other)

    def power(self, count: int) -> ZeroConcentrated:
        """Multiply rho."""
        return ZeroConcentrated(rho=checked_count(count, low=0) * self.rho)

    def group(self, size: int) -> ZeroConcentrated:
        """Multiply rho by the square of the size."""
        return ZeroConcentrated(rho=checked_count(size, name="size") ** 2 * self.rho)

    def dominates(self, other: PrivacyLoss) -> bool:
        """Compare with the least rho known of the other."""
        least = other.concentrated()
        return least is not None and least <= self.rho


@final
@dataclass(frozen=True, slots=True, init=False)
class RenyiDP(PrivacyLoss):
    """A loss known through its Rényi divergences at some orders.

    >>> loss = RenyiDP(orders=(2, 10), values=("0.1", "0.5"))
    >>> loss.epsilon(delta=1e-5)
    1.418010636783972
    """

    orders: tuple[Fraction, ...]
    values: tuple[Fraction, ...]

    def __init__(self, *, orders: Sequence[object], values: Sequence[object]) -> None:
        """Take increasing orders above 1 and one value for each."""
        checked = tuple(checked_order(order) for order in orders)
        bounds = tuple(checked_parameter(value, name="value") for value in values)
        rising = all(a < b for a, b in pairwise(checked))
        if not checked or len(checked) != len(bounds) or not rising:
            raise OutOfRange(
                "the orders of a Rényi loss do not fit its values; give increasing orders above 1 "
                "and as many values."
            )
        object.__setattr__(self, "orders", checked)
        object.__setattr__(self, "values", bounds)

    @property
    def curve(self) -> RenyiCurve:
        """The same as a curve between the orders."""
        return RenyiCurve(orders=self.orders, values=self.values)

    def profile(self) -> Profile:
        """Return what the divergences imply; nothing is known from below."""
        return Profile.symmetric(Composition(pairs=(), renyi=self.curve))

    def delta_interval(self, epsilon: object) -> Bracket:
        """Bound delta through the best of the orders."""
        known = zip(self.orders, self.values, strict=True)
        return Bracket(0.0, min(renyi_delta(order=a, value=r, epsilon=epsilon) for a, r in known))

    def interval(self, delta: object) -> Bracket:
        """Bound epsilon through the best of the orders."""
        known = zip(self.orders, self.values, strict=True)
        return Bracket(0.0, min(renyi_epsilon(order=a, value=r, delta=delta) for a, r in known))

    def renyi(self, order: object) -> float:
        """Return the chord between known orders, rounded up; infinite above the largest."""
        value = self.curve.at(checked_order(order))
        return math.inf if value is None else float_up(value)

    def compose(self, other: PrivacyLoss) -> PrivacyLoss:
        """Add the curves of two Rényi losses; anything else goes through profiles."""
        if isinstance(other, RenyiDP):
            return _from(self.curve + other.curve)
        return PrivacyLoss.compose(self, other)

    def power(self, count: int) -> RenyiDP:
        """Multiply the values."""
        return _from(self.curve.times(checked_count(count, low=0)))

    def group(self, size: int) -> RenyiDP:
        """Chain the weak triangle inequality; the orders shrink."""
        return _from(group_renyi(self.curve, checked_count(size, name="size")))

    def dominates(self, other: PrivacyLoss) -> bool:
        """Compare at every order of this one."""
        known = zip(self.orders, self.values, strict=True)
        return all(_divergence(other, a) <= value for a, value in known)


def _divergence(loss: PrivacyLoss, order: Fraction) -> Fraction | float:
    """Return the divergence of an order, exactly where it is known so."""
    match loss:
        case RenyiDP():
            value = loss.curve.at(order)
            return math.inf if value is None else value
        case ZeroConcentrated(rho=rho):
            return rho * order
        case GaussianDP(mu_squared=square):
            return square * order / 2
        case _:
            return loss.renyi(order=order)


def _from(curve: RenyiCurve) -> RenyiDP:
    return RenyiDP(orders=curve.orders, values=curve.values)
