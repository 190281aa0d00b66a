"""Zero-concentrated differential privacy.

Trust: kernel.

Definition (Bun and Steinke 2016).  M is rho-zCDP when D_a(M(D) || M(D')) <= rho a for every order
a > 1 and all ordered neighbors.
Theorems.  Composition adds rho, adaptively (key ``concentrated-composition``).  A group of k units
has k**2 rho (key ``group-concentrated``).  Through single orders it implies (eps, delta) with
delta(eps) = inf over a of the bound of key ``renyi-to-approximate``.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import final

from discreet.exact import float_up
from discreet.loss.bracket import Bracket
from discreet.loss.composition import Composition
from discreet.loss.limits import checked_count, checked_order, checked_parameter
from discreet.loss.notion import PrivacyLoss
from discreet.loss.profile import Profile
from discreet.loss.renyi_curve import RenyiCurve
from discreet.loss.single_order import concentrated_delta, concentrated_epsilon

__all__ = ["ZeroConcentrated"]


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

    def delta_interval(self, *, epsilon: object) -> Bracket:
        """Bound delta through the best order."""
        return Bracket(0.0, concentrated_delta(rho=self.rho, epsilon=epsilon))

    def interval(self, *, delta: object) -> Bracket:
        """Bound epsilon through the best order."""
        return Bracket(0.0, concentrated_epsilon(rho=self.rho, delta=delta))

    def renyi(self, *, order: object) -> float:
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
