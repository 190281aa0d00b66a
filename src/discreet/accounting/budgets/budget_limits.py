"""Limits of a budget: what it may spend to keep its promise, and how both are stored.

Trust: kernel.  A limit that is read as a higher one lets more be lost than was promised.

A budget can be counted two ways, in epsilon and in rho; a question must fit one.  A few large
questions are cheap in epsilon, many small ones in rho, and nobody knows in advance which it will
be.  Both sums are kept, and one of them has to stay within its limit.

Theorem (key ``filter-either``).  Let E, R and D' be fixed in advance, such that R-concentrated
releases are (E, D')-private.  If on every path of answers the epsilons sum to at most E or the rhos
to at most R, where answers may decide which of the two, all answers together are (E, D')-private.
    Proof.  Fix two neighbors.  delta(E) is the mean of (1 - e**(E - l))+ under P, with l the loss
    of all answers.  Where the epsilons sum to at most E, l is at most E, and nothing is added.  Now
    stop before each request that would lift the sum of rhos above R: the stopped process is
    R-concentrated (key ``filter-concentrated``), so that its mean is at most D'.  Each path whose
    rhos sum to at most R is a path of it, with the same chances and the same loss.
Events of known chance are added as ever (key ``filter-approximate``); outside them a request has to
obey both of its numbers.  What holds is the one point (E, D): not the whole curve of R, and parts
of such a budget that are spent apart may break it, one in epsilon and another in rho.

A limit is fixed when the budget is made, and never afterwards.  To promise (epsilon, delta), part
of delta is set aside for requests with a delta of their own, and the limit is the largest for which
the currency is proved to imply epsilon at the rest: aside + (1 - aside) rest = delta (key
``filter-approximate``).  The search only proposes; what is returned was checked, and smaller limits
imply no less.

Limits are read as they were written.  A later version may find others for the same promise, and
those would change which requests an old filter accepts.  But no limit is believed: it is read
only if it is proved anew that it implies the promise.  Two proofs will do: that it is at most the
limit which would be fixed today, or that the loss which it stands for is within the promise, by the
conversion that the search for limits relies on (key ``filter-approximate``).
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Final, final

import discreet.loss  # for least_scale, which most budgets do without
from discreet.accounting.budgets.amounts import (
    NEVER,
    amount_down,
    amount_value,
    decode_amounts,
    encode_amounts,
)
from discreet.accounting.budgets.currency import (
    Amounts,
    BasicCurrency,
    ConcentratedCurrency,
    Currency,
    GaussianCurrency,
    RenyiCurrency,
    with_delta,
)
from discreet.accounting.budgets.loss_prices import concentrated_price, point_price
from discreet.accounting.storage.decoding import undecodable
from discreet.accounting.storage.schema import NUMBER, tuple_schema
from discreet.errors import OutOfRange, WrongKind
from discreet.loss import Approximate, GaussianDP, PrivacyLoss, Pure, ZeroConcentrated
from discreet.loss.parameters import checked_delta, checked_order, checked_parameter

__all__ = [
    "EitherCurrency",
    "decode_limits",
    "encode_limits",
    "limits_named",
    "limits_within",
    "refuse_currency_or_reserve",
]


@final
@dataclass(frozen=True, slots=True)
class EitherCurrency(Currency):
    """Epsilons and rhos; one of the two has to fit (key ``filter-either``).

    >>> EitherCurrency().fits((3, 1, 0), (2, 2, 0)), EitherCurrency().fits((3, 3, 0), (2, 2, 0))
    (True, False)
    """

    name: ClassVar[str] = "either"
    components: ClassVar[tuple[str, ...]] = ("epsilon", "rho", "delta")

    def _numbers(self, loss: PrivacyLoss, delta: Fraction | None) -> tuple[Fraction, ...] | None:
        """Return epsilon and rho outside one event, and the chance of that event."""
        point = point_price(loss, delta)
        if point is None:
            known = concentrated_price(loss, delta)
            return None if known is None else (amount_value(NEVER), *known)
        epsilon, chance = point
        rho = Pure(epsilon=epsilon).concentrated()
        if chance == 0:  # with events the two could be about different ones
            known = concentrated_price(loss, delta)
            if known is not None and known[1] == 0:
                rho = min(rho, known[0])
        return epsilon, rho, chance

    def arguments(self, amounts: Amounts) -> dict[str, object]:  # noqa: ARG002  (no amounts work)
        """Refuse, since parts that are spent apart may each fit in another way."""
        raise WrongKind(
            what="a budget of either epsilon or rho is split.",
            why="one part could be spent in epsilon and another in rho, and together break both.",
            do="split a budget with currency='zcdp' or currency='basic'.",
        )

    def loss(self, amounts: Amounts) -> PrivacyLoss:
        """Return the larger of what can be paid in epsilon and what can be paid in rho."""
        epsilon, rho, delta = map(amount_value, amounts)
        if Pure(epsilon=epsilon).concentrated() <= rho:
            return with_delta(ZeroConcentrated(rho=rho), delta)
        return Approximate(epsilon=epsilon, delta=delta) if delta else Pure(epsilon=epsilon)

    def fits(self, total: Amounts, limit: Amounts) -> bool:
        """Say whether delta fits, and one of the others."""
        epsilon, rho, delta = (a <= b for a, b in zip(total, limit, strict=True))
        return delta and (epsilon or rho)


_RESERVE: Final = Fraction(1, 10)
_SEARCH_BITS: Final = 48  # of the search alone: what it returns was checked

Limits = tuple[Currency, tuple[Fraction, ...]]
"""A currency, and the limits of its components but delta; or of all of them."""


def limits_named(kind: str, value: object) -> Limits:
    """Return the currency and the limits, without delta, of a budget that names them.

    >>> limits_named("rho", "0.1")
    (ConcentratedCurrency(), (Fraction(1, 10),))
    """
    match kind:
        case "rho":
            return ConcentratedCurrency(), (checked_parameter(value, name="rho"),)
        case "mu":
            return GaussianCurrency(), (checked_parameter(value, name="mu") ** 2,)
        case "mu_squared":
            return GaussianCurrency(), (checked_parameter(value, name="mu_squared"),)
        case _:
            if not isinstance(value, Mapping) or not value:
                raise WrongKind(
                    what="renyi is not a mapping from orders to divergences.",
                    why="each divergence belongs to one order.",
                    do="give renyi={2: '0.5', 16: 3}.",
                )
            known = {
                checked_order(order): checked_parameter(bound, name="divergence")
                for order, bound in value.items()
            }
            orders = tuple(sorted(known))
            return RenyiCurrency(orders), tuple(known[order] for order in orders)


def limits_within(epsilon: Fraction, delta: Fraction, name: str, reserve: object) -> Limits:
    """Return the currency and the limits that imply (epsilon, delta).

    >>> kept, (rho, aside) = limits_within(Fraction(1), Fraction(1, 10**6), "zcdp", 0)
    >>> ZeroConcentrated(rho=rho).epsilon(delta="1e-6") <= 1, aside
    (True, Fraction(0, 1))
    """
    if name == BasicCurrency.name:
        refuse_currency_or_reserve(BasicCurrency(), None, reserve)
        return BasicCurrency(), (epsilon, delta)
    if name not in {ConcentratedCurrency.name, GaussianCurrency.name, EitherCurrency.name}:
        raise WrongKind(
            what=f"no currency for epsilon and delta is called {str(name)[:40]!r}.",
            why="the rule by which requests are accepted depends on it.",
            do="give 'zcdp', 'basic', 'gaussian' or 'either'.",
        )
    share = _RESERVE if reserve is None else checked_delta(reserve, name="reserve")
    aside = amount_value(amount_down(share * delta))
    rest = (delta - aside) / (1 - aside)
    if rest == 0:
        raise OutOfRange(
            what=f"no delta is left to keep a budget in {name}.",
            why="such losses are within an epsilon only outside an event of positive chance.",
            do="give delta > 0 and reserve < 1, or currency='basic'.",
        )
    if name == GaussianCurrency.name:
        return GaussianCurrency(), (_largest(name, epsilon, rest), aside)
    rho = _largest(ConcentratedCurrency.name, epsilon, rest)
    if name == ConcentratedCurrency.name:
        return ConcentratedCurrency(), (rho, aside)
    return EitherCurrency(), (epsilon, rho, aside)


@functools.lru_cache(maxsize=256)
def _largest(name: str, epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return a rho or a square of mu that is proved to imply (epsilon, delta).

    It lies hardly below the largest such number.
    """
    return 1 / discreet.loss.least_scale(
        lambda scale: _loss(name, 1 / scale), epsilon=epsilon, delta=delta, bits=_SEARCH_BITS
    )


def refuse_currency_or_reserve(kept: Currency, currency: str | None, reserve: object) -> None:
    """Refuse a currency or a reserve where neither is for choice."""
    if currency not in {None, kept.name} or reserve is not None:
        raise WrongKind(
            what=f"a budget kept in {kept.name} is given another currency, or a reserve.",
            why="it counts what it names, and spends its delta on requests alone.",
            do="leave out currency and reserve, or give epsilon and delta.",
        )


_NAMED: Final[dict[str, Currency]] = {
    each.name: each
    for each in (BasicCurrency(), ConcentratedCurrency(), GaussianCurrency(), EitherCurrency())
}
_PROMISING: Final = (ConcentratedCurrency, GaussianCurrency, EitherCurrency)
_NUMBERS: Final = tuple_schema(NUMBER)


def encode_limits(
    currency: Currency, limit: Amounts, promise: Approximate | None
) -> dict[str, object]:
    """Write a currency, its limits and what they promise.

    >>> encode_limits(ConcentratedCurrency(), (10**23, 0), None)["limit"]
    ['100000000000000000000000', '0']
    """
    orders = currency.orders if isinstance(currency, RenyiCurrency) else ()
    return {
        "currency": currency.name,
        "orders": _NUMBERS.write(orders, 0),
        "limit": encode_amounts(limit),
        "promise": None
        if promise is None
        else {
            "epsilon": NUMBER.write(promise.epsilon_bound, 0),
            "delta": NUMBER.write(promise.delta_bound, 0),
        },
    }


def decode_limits(data: object) -> tuple[Currency, Amounts, Approximate | None]:
    """Read what ``encode_limits`` wrote, if the limits imply the promise.

    Without a promise the limits are the promise, and the caller checks their range.

    >>> decode_limits(encode_limits(ConcentratedCurrency(), (10**23, 0), None))
    (ConcentratedCurrency(), (100000000000000000000000, 0), None)
    """
    if not isinstance(data, dict) or set(data) != {"currency", "orders", "limit", "promise"}:
        raise undecodable("a budget does not hold a currency, its orders, a limit and a promise")
    currency = _currency(data["currency"], data["orders"])
    limit = decode_amounts(data["limit"], width=len(currency.components))
    promise = _promise(data["promise"])
    if promise is None and isinstance(currency, EitherCurrency):
        raise undecodable("the limits of a budget promise nothing")
    if promise is not None and not isinstance(currency, _PROMISING):
        raise undecodable("a budget of this currency promises its limits")
    if encode_limits(currency, limit, promise) != data:
        raise undecodable("a number of a budget is not in its written form")
    if promise is not None and not _implied(currency, limit, promise):
        raise undecodable("the limits of a budget do not imply what it promises")
    return currency, limit, promise


def _currency(name: object, orders: object) -> Currency:
    if name == RenyiCurrency.name:
        return RenyiCurrency(_NUMBERS.read(orders, 0))
    if not isinstance(name, str) or name not in _NAMED or orders != []:
        raise undecodable("a budget is kept in an unknown currency")
    return _NAMED[name]


def _promise(data: Any) -> Approximate | None:
    if data is None:
        return None
    if not isinstance(data, dict) or set(data) != {"epsilon", "delta"}:
        raise undecodable("a promise does not hold an epsilon and a delta")
    return Approximate(epsilon=NUMBER.read(data["epsilon"], 0), delta=NUMBER.read(data["delta"], 0))


def _implied(currency: Currency, limit: Amounts, promise: Approximate) -> bool:
    """Whether limits are proved to imply a promise."""
    epsilon, delta, aside = promise.epsilon_bound, promise.delta_bound, amount_value(limit[-1])
    if not aside < delta < 1:
        return False
    _, most = limits_within(epsilon, delta, currency.name, aside / delta)
    if all(here <= amount_down(there) for here, there in zip(limit, most, strict=True)):
        return True
    rest = (delta - aside) / (1 - aside)
    if isinstance(currency, EitherCurrency) and limit[0] > amount_down(epsilon):
        return False
    return _loss(currency.name, amount_value(limit[-2])).delta(epsilon=epsilon) <= rest


def _loss(name: str, bound: Fraction) -> PrivacyLoss:
    """Return the loss that a limit on a square of mu, or on rho, stands for."""
    if name == GaussianCurrency.name:
        return GaussianDP(mu_squared=bound)
    return ZeroConcentrated(rho=bound)
