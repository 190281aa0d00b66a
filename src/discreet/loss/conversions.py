"""The graph of conversions: what one notion of loss implies about another.

Trust: kernel.

Each edge is a function from one notion to the best parameter of another that is true of every
mechanism with the first, rounded up, and names the theorem it rests on.  ``convert`` follows the
one edge between two notions where there is one; longer chains are allowed and never gain.
The first edge is a definition (key ``pure-to-approximate``).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, final

from discreet.errors import WrongKind
from discreet.loss.gaussian_dp import GaussianDP
from discreet.loss.parameters import checked_delta, checked_epsilon
from discreet.loss.privacy_loss import PrivacyLoss
from discreet.loss.profile import Profile
from discreet.loss.pure_and_approximate import Approximate, Pure
from discreet.loss.renyi.divergences import pure_to_gaussian_mu
from discreet.loss.renyi.renyi_and_zcdp import RenyiDP, ZeroConcentrated


@final
@dataclass(frozen=True, slots=True)
class Conversion:
    """An edge: from, to, the theorem, and the function.

    >>> [edge.theorem for edge in CONVERSIONS if edge.target is ZeroConcentrated]
    ['pure-to-concentrated', 'gaussian-to-concentrated']
    """

    source: type[PrivacyLoss]
    target: type[PrivacyLoss]
    theorem: str
    apply: Callable[[PrivacyLoss], PrivacyLoss]


def pure_to_approximate(loss: Pure) -> Approximate:
    """Set delta to 0, by definition.

    >>> pure_to_approximate(Pure(epsilon=1))
    Approximate(epsilon=Fraction(1, 1), delta=Fraction(0, 1))
    """
    return Approximate(epsilon=loss.bound, delta=0)


def pure_to_concentrated(loss: Pure) -> ZeroConcentrated:
    """Return rho = eps tanh(eps / 2) (key ``pure-to-concentrated``); no smaller rho is true.

    >>> float(pure_to_concentrated(Pure(epsilon=1)).rho)
    0.4621171572600098
    """
    return ZeroConcentrated(rho=loss.concentrated())


def bounded_range_to_concentrated(*, epsilon: object) -> ZeroConcentrated:
    """Return rho = eps**2 / 8 for a loss whose range has length epsilon, as exponential mechanisms.

    Theorem (key ``bounded-range``; Cesar and Rogers 2021).

    >>> bounded_range_to_concentrated(epsilon=1)
    ZeroConcentrated(rho=Fraction(1, 8))
    """
    return ZeroConcentrated(rho=checked_epsilon(epsilon) ** 2 / 8)


def pure_to_gaussian(loss: Pure) -> GaussianDP:
    """Return the Gaussian whose trade-off touches that of epsilon (key ``pure-to-gaussian``).

    >>> pure_to_gaussian(Pure(epsilon=1)).mu
    1.2320353853449029
    """
    return GaussianDP(mu=pure_to_gaussian_mu(epsilon=loss.bound))


def gaussian_to_concentrated(loss: GaussianDP) -> ZeroConcentrated:
    """Return rho = mu**2 / 2 (key ``gaussian-to-concentrated``).

    >>> gaussian_to_concentrated(GaussianDP(mu=1))
    ZeroConcentrated(rho=Fraction(1, 2))
    """
    return ZeroConcentrated(rho=loss.concentrated())


def approximate_at(loss: PrivacyLoss, *, delta: object) -> Approximate:
    """Return the point of the profile at a delta.

    >>> approximate_at(Pure(epsilon=1), delta=0)
    Approximate(epsilon=Fraction(1, 1), delta=Fraction(0, 1))
    """
    chance = checked_delta(delta)
    return Approximate(epsilon=Fraction(loss.epsilon(delta=chance)), delta=chance)


def renyi_at(loss: PrivacyLoss, *, orders: tuple[object, ...]) -> RenyiDP:
    """Return the divergences at some orders.

    >>> renyi_at(GaussianDP(mu=1), orders=(2, 4))
    RenyiDP(orders=(Fraction(2, 1), Fraction(4, 1)), values=(Fraction(1, 1), Fraction(2, 1)))
    """
    return RenyiDP(orders=orders, values=[Fraction(loss.renyi(order=order)) for order in orders])


def _from_pure(convert: Callable[[Pure], PrivacyLoss]) -> Callable[[PrivacyLoss], PrivacyLoss]:
    def apply(loss: PrivacyLoss) -> PrivacyLoss:
        return convert(loss) if isinstance(loss, Pure) else _refuse(loss, Pure)

    return apply


def _from_gaussian(loss: PrivacyLoss) -> PrivacyLoss:
    if isinstance(loss, GaussianDP):
        return gaussian_to_concentrated(loss)
    return _refuse(loss, GaussianDP)


def _to_profile(loss: PrivacyLoss) -> PrivacyLoss:
    return loss.profile()


CONVERSIONS: Final = (
    Conversion(Pure, Approximate, "pure-to-approximate", _from_pure(pure_to_approximate)),
    Conversion(Pure, ZeroConcentrated, "pure-to-concentrated", _from_pure(pure_to_concentrated)),
    Conversion(GaussianDP, ZeroConcentrated, "gaussian-to-concentrated", _from_gaussian),
    Conversion(Pure, GaussianDP, "pure-to-gaussian", _from_pure(pure_to_gaussian)),
    Conversion(Pure, Profile, "randomized-response", _to_profile),
    Conversion(Approximate, Profile, "randomized-response", _to_profile),
    Conversion(GaussianDP, Profile, "gaussian-profile", _to_profile),
    Conversion(ZeroConcentrated, Profile, "renyi-to-approximate", _to_profile),
    Conversion(RenyiDP, Profile, "renyi-to-approximate", _to_profile),
)
"""Every edge that needs no further parameter; ``approximate_at`` and ``renyi_at`` take one."""


def convert(loss: PrivacyLoss, to: type[PrivacyLoss]) -> PrivacyLoss:
    """Follow the edge from a loss to another notion.

    >>> convert(GaussianDP(mu=1), ZeroConcentrated)
    ZeroConcentrated(rho=Fraction(1, 2))
    """
    if isinstance(loss, to):
        return loss
    for edge in CONVERSIONS:
        if isinstance(loss, edge.source) and edge.target is to:
            return edge.apply(loss)
    return _refuse(loss, to)


def _refuse(loss: PrivacyLoss, to: type[PrivacyLoss]) -> PrivacyLoss:
    raise WrongKind(
        what=f"a {type(loss).__name__} loss does not imply a {to.__name__} one.",
        why="a conversion exists only where a theorem proves it.",
        do="ask the loss itself: epsilon(delta=...), renyi(order=...), or profile().",
    )
