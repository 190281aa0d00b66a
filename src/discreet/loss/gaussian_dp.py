"""Gaussian differential privacy.

Trust: kernel.

Definition (Dong, Roth and Su 2022).  M is mu-GDP when telling D from D' is at least as hard as
telling N(mu, 1) from N(0, 1), for all ordered neighbors.
Theorems.  Composition adds mu**2, adaptively (key ``gaussian-composition``).  A group of k units
has k mu (key ``group-gaussian``).  The profile has a closed form (key ``gaussian-profile``), and
the trade-off is Phi(Phi^-1(1 - alpha) - mu).

Theorem (key ``group-gaussian``; Dong, Roth and Su 2022, Gaussian Differential Privacy).  A group
of k units of a mu-Gaussian loss has k mu.

Theorem (key ``gaussian-composition``; Dong, Roth and Su 2022, Gaussian Differential Privacy).
Adaptive compositions of mu_i-Gaussian losses are sqrt(sum mu_i^2)-Gaussian.

Theorem (key ``gaussian-to-concentrated``; data processing inequality; Bun and Steinke 2016).
mu-Gaussian DP implies (mu^2/2)-zCDP.

The loss of continuous Laplace noise.

Definition.  Release x + Z, where Z has the density e**(-|z| / scale) / (2 scale) on the reals, and
one unit moves x by at most 1.
Theorem (key ``laplace-profile``; Balle, Barthe and Gaboardi 2018).  With e = 1 / scale, delta(eps)
is (1 - e**((eps - e)/2))+, both ways.  A unit that moves x by less loses less, and a group of k
units loses what noise of scale / k loses, which is the pair at distance k e.
It is what papers call the Laplace mechanism.  ``mechanisms.Laplace``, which runs, draws integers:
at distance 1 its loss is that of randomized response with the same epsilon, whose delta is larger
at every smaller epsilon (key ``discrete-laplace-loss``).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Final, final

from discreet.errors import OutOfRange, WrongKind
from discreet.exact import Interval, float_down, float_up
from discreet.loss.bracket import Bracket
from discreet.loss.elementary import gaussian_profile, normal_cdf, normal_quantile_up, sqrt
from discreet.loss.pairs.gaussian import GaussianPair
from discreet.loss.pairs.laplace import LaplacePair
from discreet.loss.parameters import (
    checked_count,
    checked_delta,
    checked_epsilon,
    checked_parameter,
)
from discreet.loss.privacy_loss import PrivacyLoss
from discreet.loss.profile import Profile
from discreet.loss.renyi.divergences import gaussian_renyi, pure_to_gaussian_mu

_FAR: Final = 1000


@final
@dataclass(frozen=True, slots=True, init=False, repr=False)
class GaussianDP(PrivacyLoss):
    """A loss no larger than that of one unit-variance Gaussian shifted by mu.

    It keeps the square of mu, which adds up exactly.

    >>> GaussianDP(mu=1).delta(epsilon=1)
    0.12693673750664397
    >>> GaussianDP(mu=3).compose(GaussianDP(mu=4))
    GaussianDP(mu=Fraction(5, 1))
    """

    mu_squared: Fraction

    def __init__(self, *, mu: object = None, mu_squared: object = None) -> None:
        """Take an exact mu >= 0, or its square."""
        if (mu is None) == (mu_squared is None):
            raise WrongKind(
                "GaussianDP takes one number: mu or mu_squared; give mu=..., or mu_squared=... "
                "where mu is a square root."
            )
        if mu is not None:
            square = checked_parameter(mu, name="mu") ** 2
        else:
            square = checked_parameter(mu_squared, name="mu_squared")
        object.__setattr__(self, "mu_squared", square)

    def __repr__(self) -> str:
        """Show how to make it again."""
        root = sqrt(self.mu_squared)
        if root.low == root.high:
            return f"GaussianDP(mu={root.low!r})"
        return f"GaussianDP(mu_squared={self.mu_squared!r})"

    @property
    def mu(self) -> float:
        """The shift, rounded up."""
        return float_up(sqrt(self.mu_squared).high)

    def profile(self) -> Profile:
        """Return the Gaussian pair."""
        return Profile.of(GaussianPair(self.mu_squared))

    def delta_interval(self, epsilon: object) -> Bracket:
        """Evaluate the closed form."""
        target = checked_epsilon(epsilon)
        if target > _FAR:  # e**epsilon has too many digits to write down
            return self.profile().delta_interval(epsilon=target)
        return Bracket(*gaussian_profile(self.mu_squared, target).floats())

    def renyi(self, order: object) -> float:
        """Return order * mu**2 / 2, rounded up."""
        return gaussian_renyi(mu_squared=self.mu_squared, order=order)

    def tradeoff(self, false_alarm: object) -> float:
        """Return Phi(Phi^-1(1 - alpha) - mu), rounded down."""
        alarm = checked_delta(false_alarm, name="false_alarm")
        if alarm in (0, 1):
            return float(1 - alarm)
        cut = -normal_quantile_up(Interval(alarm, alarm))
        return float_down(normal_cdf(cut - sqrt(self.mu_squared).high).low)

    def concentrated(self) -> Fraction:
        """Return mu**2 / 2."""
        return self.mu_squared / 2

    def compose(self, other: PrivacyLoss) -> PrivacyLoss:
        """Add the squares; anything else goes through profiles."""
        if isinstance(other, GaussianDP):
            return GaussianDP(mu_squared=self.mu_squared + other.mu_squared)
        return PrivacyLoss.compose(self, other)

    def power(self, count: int) -> GaussianDP:
        """Multiply the square."""
        return GaussianDP(mu_squared=checked_count(count, low=0) * self.mu_squared)

    def group(self, size: int) -> GaussianDP:
        """Multiply mu."""
        return GaussianDP(mu_squared=checked_count(size, name="size") ** 2 * self.mu_squared)

    def dominates(self, other: PrivacyLoss) -> bool:
        """Compare mu, where the other's is known."""
        match other:
            case GaussianDP(mu_squared=square):
                return square <= self.mu_squared
            case _ if (bound := other.pure_bound()) is not None and (
                pure_to_gaussian_mu(epsilon=bound) ** 2 <= self.mu_squared
            ):
                return True
            case _:
                return self.profile().dominates(other)


@final
@dataclass(frozen=True, slots=True, init=False, repr=False)
class ContinuousLaplace(PrivacyLoss):
    """The loss of continuous Laplace noise on a number that one unit moves by at most 1.

    For a number that moves by at most d, divide the scale by d.  In ``discreet.loss`` it is called
    ``Laplace``.

    >>> from discreet import loss
    >>> noise = loss.Laplace(scale=2)
    >>> noise.epsilon(delta=0), round(noise.epsilon(delta="0.01"), 4)
    (0.5, 0.4799)
    >>> noise.group(2)
    loss.Laplace(scale=Fraction(1, 1))
    """

    scale: Fraction

    def __init__(self, *, scale: object) -> None:
        """Take the scale of the noise, in units of how far one unit moves the number."""
        width = checked_parameter(scale, name="scale")
        if width == 0:
            raise OutOfRange("scale is zero; give a scale above zero; epsilon is its reciprocal.")
        object.__setattr__(self, "scale", width)

    def __repr__(self) -> str:
        """Show how to make it again."""
        return f"loss.Laplace(scale={self.scale!r})"

    def profile(self) -> Profile:
        """Return the Laplace pair."""
        return Profile.of(LaplacePair(1 / self.scale))

    def pure_bound(self) -> Fraction:
        """Return the reciprocal of the scale."""
        return 1 / self.scale

    def concentrated(self) -> Fraction | None:
        """Return a rho within a thousandth of the least."""
        return self.profile().concentrated()

    def group(self, size: int) -> ContinuousLaplace:
        """Divide the scale."""
        return ContinuousLaplace(scale=self.scale / checked_count(size, name="size"))

    def dominates(self, other: PrivacyLoss) -> bool:
        """Compare scales, or pairs."""
        if isinstance(other, ContinuousLaplace):
            return self.scale <= other.scale
        return self.profile().dominates(other)


Laplace = ContinuousLaplace
"""Its name at the door: a class of that name, which draws integers, is in ``mechanisms``."""
