"""Currencies: the terms in which a budget is kept, each with a rule that adaptive questions obey.

Trust: kernel.

Definition.  A filter accepts requests one by one.  Each request, its loss, and whether another one
is made may depend on all answers so far; the rule is that on every path of answers the sums of
what the requests cost stay within limits that were fixed in advance.  Fix two neighbors, and let P
and Q be the laws of everything that is answered.

Theorem (key ``filter-basic``; Rogers, Roth, Ullman and Vadhan 2016, Privacy Odometers and
Filters).  If epsilons sum to at most E and deltas to at most D on every path, all answers together
are (E, D)-private.
    Proof, by induction from the last request.  After a first answer y the rest obeys
    P_y(S) <= min(1, e**(E - e_1) Q_y(S)) + D - d_1.  Average over y, and apply the (e_1, d_1)
    bound of the first request to the function min(1, .) of y, which has values in [0, 1].
Theorem (key ``filter-renyi``; Feldman and Zrnic 2021).  If divergences of one order a sum to at
most B on every path, all answers together have a divergence of at most B at that order.
    Proof.  With l_t the loss of answer t and r_t its bound, exp((a-1)(l_1 + ... + l_t - r_1 - ... -
    r_t)) is a supermartingale under P, so E_P exp((a-1) l) <= exp((a-1) B).
Limits at several orders that all hold at once may be converted by the best of them afterwards.
A rule that asks for some order to hold on each path, no matter which, is not valid.
Theorem (key ``filter-concentrated``; Whitehouse, Ramdas, Rogers and Wu 2023).  If rhos sum to at
most R on every path, all answers together are R-concentrated: the theorem above at every order.
Theorem (key ``filter-gaussian``; Smith and Thakurta 2022; Koskela, Tobaben and Honkela 2023).  If
squares of mus sum to at most M**2 on every path, all answers together are M-Gaussian.
    Proof, by induction from the last request.  Let h_s be the profile of the Gaussian with square
    s, as a function of the likelihood ratio.  After an answer of ratio x the rest has at most the
    profile h_(s - m)(a x), which is convex and falling in x; so its mean grows if the first
    request is replaced by the Gaussian pair that dominates it, and then it is h_s(a).
Theorem (key ``filter-approximate``).  Let each request obey its numbers outside an event whose
chance d_t is known and does not depend on the data, and let the d_t sum to at most D on every path.
Then the profile of all answers is at most (1 - D) h + D, with h the profile that the numbers imply.
    Proof.  Reveal everything when an event happens.  Until then the answers obey the numbers, and
    none happens with a chance of at least 1 - D on every path.  At the end reveal everything once
    more with a chance that makes it 1 - D on every path: then the law of the answers without an
    event is (1 - D) times one that obeys the numbers, under both neighbors.

Which loss fits is decided by the limits alone: what has been spent so far is not a guarantee, and
the composition of what was really asked must not be compared with a target, since the choice of
what to ask next may depend on where that composition stands.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, final

from discreet.accounting.budgets.amounts import amount_up, amount_value, format_up
from discreet.accounting.budgets.loss_prices import (
    concentrated_price,
    divergence_price,
    gaussian_price,
    point_price,
)
from discreet.errors import WrongKind
from discreet.loss import Approximate, GaussianDP, PrivacyLoss, Pure, RenyiDP, ZeroConcentrated

Amounts = tuple[int, ...]
"""One amount for each component of a currency; the last one is always delta."""


class Currency(ABC):
    """The components of a price, how to find it, and what a limit on them implies."""

    __slots__ = ()

    name: ClassVar[str]

    @property
    @abstractmethod
    def components(self) -> tuple[str, ...]:
        """What is counted; the last component is delta."""

    @property
    def routes(self) -> tuple[tuple[int, ...], ...]:
        """The components that have to fit together, beside delta; one of these routes has to."""
        return (tuple(range(len(self.components) - 1)),)

    @abstractmethod
    def _numbers(self, loss: PrivacyLoss, delta: Fraction | None) -> tuple[Fraction, ...] | None:
        """Return the numbers of a loss, one for each component; None where they are not known."""

    @abstractmethod
    def loss(self, amounts: Amounts) -> PrivacyLoss:
        """Return what a limit of these amounts implies, beside a delta (``filter-approximate``)."""

    def common_loss(self, amounts: Amounts) -> PrivacyLoss:
        """Return a loss that fits into these amounts on every route."""
        return self.loss(amounts)

    def price(self, loss: PrivacyLoss, delta: Fraction | None = None) -> Amounts | None:
        """Return what a loss costs, rounded up; None where no price is known."""
        numbers = self._numbers(loss, delta)
        return None if numbers is None else tuple(map(amount_up, numbers))

    def arguments(self, amounts: Amounts) -> dict[str, object]:
        """Return what to give to Budget for a limit of these amounts."""
        names = (name.replace(" ", "_") for name in self.components)
        return dict(zip(names, map(amount_value, amounts), strict=True))

    def fits(self, total: Amounts, limit: Amounts) -> bool:
        """Say whether a total stays within a limit: delta does, and all of some route."""
        within = [spent <= most for spent, most in zip(total, limit, strict=True)]
        return within[-1] and any(all(within[at] for at in route) for route in self.routes)


@final
@dataclass(frozen=True, slots=True)
class BasicCurrency(Currency):
    """Epsilons and deltas, added up (key ``filter-basic``).

    >>> [float(amount_value(amount)) for amount in BasicCurrency().price(Pure(epsilon="0.1"))]
    [0.1, 0.0]
    """

    name: ClassVar[str] = "basic"
    components: ClassVar[tuple[str, ...]] = ("epsilon", "delta")

    def _numbers(self, loss: PrivacyLoss, delta: Fraction | None) -> tuple[Fraction, ...] | None:
        return point_price(loss, delta)

    def arguments(self, amounts: Amounts) -> dict[str, object]:
        """Return epsilon and delta, and that they are added up as they are."""
        epsilon, delta = map(amount_value, amounts)
        return {"epsilon": epsilon, "delta": delta, "currency": self.name}

    def loss(self, amounts: Amounts) -> PrivacyLoss:
        """Return the point, pure where delta is 0."""
        epsilon, delta = map(amount_value, amounts)
        return Approximate(epsilon=epsilon, delta=delta) if delta else Pure(epsilon=epsilon)


@final
@dataclass(frozen=True, slots=True)
class ConcentratedCurrency(Currency):
    """Rhos of zero-concentrated privacy, added up (key ``filter-concentrated``).

    >>> ConcentratedCurrency().loss((5 * 10**23, 0))
    ZeroConcentrated(rho=Fraction(1, 2))
    """

    name: ClassVar[str] = "zcdp"
    components: ClassVar[tuple[str, ...]] = ("rho", "delta")

    def _numbers(self, loss: PrivacyLoss, delta: Fraction | None) -> tuple[Fraction, ...] | None:
        return concentrated_price(loss, delta)

    def loss(self, amounts: Amounts) -> PrivacyLoss:
        """Return the concentrated loss, beside a delta."""
        rho, delta = map(amount_value, amounts)
        return with_delta(ZeroConcentrated(rho=rho), delta)


@final
@dataclass(frozen=True, slots=True)
class GaussianCurrency(Currency):
    """Squares of the mus of Gaussian privacy, added up (key ``filter-gaussian``).

    >>> GaussianCurrency().loss((4 * 10**24, 0))
    GaussianDP(mu=Fraction(2, 1))
    """

    name: ClassVar[str] = "gaussian"
    components: ClassVar[tuple[str, ...]] = ("mu squared", "delta")

    def _numbers(self, loss: PrivacyLoss, delta: Fraction | None) -> tuple[Fraction, ...] | None:
        return gaussian_price(loss, delta)

    def loss(self, amounts: Amounts) -> PrivacyLoss:
        """Return the Gaussian loss, beside a delta."""
        square, delta = map(amount_value, amounts)
        return with_delta(GaussianDP(mu_squared=square), delta)


@final
@dataclass(frozen=True, slots=True)
class RenyiCurrency(Currency):
    """Divergences of fixed orders, each added up and all limited (key ``filter-renyi``).

    >>> RenyiCurrency((Fraction(2), Fraction(16))).components
    ('divergence of order 2', 'divergence of order 16', 'delta')
    """

    orders: tuple[Fraction, ...]

    name: ClassVar[str] = "renyi"

    @property
    def components(self) -> tuple[str, ...]:
        """One divergence for each order, and delta."""
        return (*(f"divergence of order {order}" for order in self.orders), "delta")

    def _numbers(self, loss: PrivacyLoss, delta: Fraction | None) -> tuple[Fraction, ...] | None:
        return divergence_price(loss, self.orders, delta)

    def arguments(self, amounts: Amounts) -> dict[str, object]:
        """Return the divergences, and delta."""
        *values, delta = map(amount_value, amounts)
        return {"renyi": dict(zip(self.orders, values, strict=True)), "delta": delta}

    def loss(self, amounts: Amounts) -> PrivacyLoss:
        """Return the divergences, beside a delta."""
        *values, delta = map(amount_value, amounts)
        return with_delta(RenyiDP(orders=self.orders, values=values), delta)


def price_in_currency(
    currency: Currency, loss: PrivacyLoss, delta: Fraction | None = None
) -> Amounts:
    """Return what a loss costs in a currency, whatever the limits are.

    >>> price_in_currency(BasicCurrency(), Pure(epsilon="0.1"))
    (100000000000000000000000, 0)
    """
    price = currency.price(loss, delta)
    if price is None:
        raise WrongKind(
            what=f"a {type(loss).__name__} loss has no price in {currency.components[0]}.",
            why="a loss is admitted only by a theorem that turns it into what the budget "
            "counts, and a delta is never dropped.",
            do="name a delta to spend on it, delta=1e-9 say, or keep the budget in another "
            "currency.",
        )
    return price


def with_delta(loss: PrivacyLoss, delta: Fraction) -> PrivacyLoss:
    """Return the profile (1 - delta) h + delta, for the profile h of a loss.

    >>> with_delta(Pure(epsilon=1), Fraction(0))
    Pure(epsilon=Fraction(1, 1))
    """
    return loss.compose(Approximate(epsilon=0, delta=delta)) if delta else loss


def format_amounts(currency: Currency, amounts: Amounts) -> str:
    """Show what is spent, component by component, rounded up.

    >>> format_amounts(ConcentratedCurrency(), (10**23, 0))
    'rho 0.1'
    """
    named = zip(currency.components, amounts, strict=True)
    return ", ".join(f"{name} {format_up(a)}" for name, a in named if a or name != "delta")
