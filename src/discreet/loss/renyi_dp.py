"""Rényi differential privacy: divergences known at finitely many orders.

Trust: kernel.

Definition (Mironov 2017).  M is (a, r)-RDP when D_a(M(D) || M(D')) <= r for all ordered neighbors.
Theorems.  Composition adds the values order by order, adaptively (key ``renyi-composition``).
Each order proves an (eps, delta) (key ``renyi-to-approximate``); the best one is taken.  Choosing
the best order after the fact is sound for one finished composition, not for a running budget.
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
from discreet.loss.limits import checked_count, checked_order, checked_parameter
from discreet.loss.notion import PrivacyLoss
from discreet.loss.profile import Profile
from discreet.loss.renyi_curve import RenyiCurve
from discreet.loss.single_order import renyi_delta, renyi_epsilon
from discreet.loss.zero_concentrated import ZeroConcentrated

__all__ = ["RenyiDP"]


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
                what="the orders of a Rényi loss do not fit its values.",
                why="each value bounds the divergence of one order.",
                do="give increasing orders above 1 and as many values.",
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

    def delta_interval(self, *, epsilon: object) -> Bracket:
        """Bound delta through the best of the orders."""
        known = zip(self.orders, self.values, strict=True)
        return Bracket(0.0, min(renyi_delta(order=a, value=r, epsilon=epsilon) for a, r in known))

    def interval(self, *, delta: object) -> Bracket:
        """Bound epsilon through the best of the orders."""
        known = zip(self.orders, self.values, strict=True)
        return Bracket(0.0, min(renyi_epsilon(order=a, value=r, delta=delta) for a, r in known))

    def renyi(self, *, order: object) -> float:
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
        from discreet.loss.group import group_renyi  # noqa: PLC0415  rare

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
