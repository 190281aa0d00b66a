"""The loss of continuous Laplace noise.

Trust: kernel.

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
from typing import final

from discreet.errors import OutOfRange
from discreet.loss.pairs.laplace import LaplacePair
from discreet.loss.parameters import checked_count, checked_parameter
from discreet.loss.privacy_loss import PrivacyLoss
from discreet.loss.profile import Profile


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
