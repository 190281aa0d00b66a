"""Limits of a budget: what it may spend to keep its promise, and how both are stored.

Trust: kernel.  A limit that is read as a higher one lets more be lost than was promised.

A limit is fixed when the budget is made, and never afterwards.  To promise (epsilon, delta), part
of delta is set aside for requests with a delta of their own, and the limit is the largest for which
the currency is proved to imply epsilon at the rest: aside + (1 - aside) rest = delta (key
``filter-approximate``).  Of a budget that is kept jointly in epsilon and rho, a further share C
pays for losses that are known by their rho and counted in epsilon: aside + (1 - aside) (C + rest)
= delta (key ``filter-joint``).  The search only proposes; what is returned was checked, and smaller
limits imply no less.

Limits are read as they were written.  A later version may find others for the same promise, and
those would change which requests an old filter accepts.  But no limit is believed: it is read
only if it is proved anew that it implies the promise.  Two proofs will do: that it is at most the
limit which would be fixed today, or that the loss which it stands for is within the promise, by the
conversion that the search for limits relies on (key ``filter-approximate``).
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, Final

import discreet.loss  # for least_scale, which most budgets do without
from discreet.accounting.budgets.amounts import (
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
)
from discreet.accounting.budgets.two_routes import EitherCurrency, JointCurrency
from discreet.accounting.storage.decoding import undecodable
from discreet.accounting.storage.schema import NUMBER, tuple_schema
from discreet.errors import OutOfRange, WrongKind
from discreet.loss import Approximate, GaussianDP, PrivacyLoss, ZeroConcentrated
from discreet.loss.parameters import checked_delta, checked_order, checked_parameter

_RESERVE: Final = Fraction(1, 10)
_JOINT_RESERVE: Final = Fraction(1, 4)
_CONVERSIONS: Final = Fraction(1, 15)  # of what is not in reserve, so one twentieth of delta
_CONVERSION: Final = Fraction(1, 1000)
_SEARCH_BITS: Final = 48  # of the search alone: what it returns was checked

_SHARES: Final = {
    ConcentratedCurrency.name: _RESERVE,
    GaussianCurrency.name: _RESERVE,
    EitherCurrency.name: _RESERVE,
    JointCurrency.name: _JOINT_RESERVE,
}
"""The part of delta that is set aside for events, by currency; those of old budgets stay."""

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
    if name not in _SHARES:
        raise WrongKind(
            what=f"no currency for epsilon and delta is called {str(name)[:40]!r}.",
            why="the rule by which requests are accepted depends on it.",
            do="give 'joint', 'zcdp', 'basic', 'gaussian' or 'either'.",
        )
    share = _SHARES[name] if reserve is None else checked_delta(reserve, name="reserve")
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
    if name == JointCurrency.name:
        points = amount_value(amount_down(_CONVERSIONS * (delta - aside)))
        rho = _largest(ConcentratedCurrency.name, epsilon, rest - points)
        return JointCurrency(amount_down(_CONVERSION * points)), (epsilon, points, rho, aside)
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
_TWO_ROUTES: Final = (EitherCurrency, JointCurrency)
_PROMISING: Final = (ConcentratedCurrency, GaussianCurrency, *_TWO_ROUTES)
_FIELDS: Final = {"currency", "orders", "limit", "promise"}
_NUMBERS: Final = tuple_schema(NUMBER)


def encode_limits(
    currency: Currency, limit: Amounts, promise: Approximate | None
) -> dict[str, object]:
    """Write a currency, its limits and what they promise.

    >>> encode_limits(ConcentratedCurrency(), (10**23, 0), None)["limit"]
    ['100000000000000000000000', '0']
    """
    orders = currency.orders if isinstance(currency, RenyiCurrency) else ()
    point = {"conversion": str(currency.conversion)} if isinstance(currency, JointCurrency) else {}
    return {
        **point,
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
    joint = isinstance(data, dict) and data.get("currency") == JointCurrency.name
    if not isinstance(data, dict) or set(data) != _FIELDS | ({"conversion"} if joint else set()):
        raise undecodable("a budget does not hold a currency, its orders, a limit and a promise")
    currency = _currency(data["currency"], data["orders"], data.get("conversion"))
    limit = decode_amounts(data["limit"], width=len(currency.components))
    promise = _promise(data["promise"])
    if promise is None and isinstance(currency, _TWO_ROUTES):
        raise undecodable("the limits of a budget promise nothing")
    if promise is not None and not isinstance(currency, _PROMISING):
        raise undecodable("a budget of this currency promises its limits")
    if encode_limits(currency, limit, promise) != data:
        raise undecodable("a number of a budget is not in its written form")
    if promise is not None and not _implied(currency, limit, promise):
        raise undecodable("the limits of a budget do not imply what it promises")
    return currency, limit, promise


def _currency(name: object, orders: object, conversion: object) -> Currency:
    if name == RenyiCurrency.name:
        return RenyiCurrency(_NUMBERS.read(orders, 0))
    if name == JointCurrency.name and orders == []:
        return JointCurrency(*decode_amounts([conversion], width=1))
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
    if isinstance(currency, _TWO_ROUTES) and limit[0] > amount_down(epsilon):
        return False
    if isinstance(currency, JointCurrency):
        rest -= amount_value(limit[1])
    return _loss(currency.name, amount_value(limit[-2])).delta(epsilon=epsilon) <= rest


def _loss(name: str, bound: Fraction) -> PrivacyLoss:
    """Return the loss that a limit on a square of mu, or on rho, stands for."""
    if name == GaussianCurrency.name:
        return GaussianDP(mu_squared=bound)
    return ZeroConcentrated(rho=bound)


def only_kind(given: Mapping[str, object]) -> str:
    """Return the one kind of limit that is given.

    >>> only_kind({"epsilon": 1, "rho": None})
    'epsilon'
    """
    named = [name for name, value in given.items() if value is not None]
    if len(named) != 1:
        raise WrongKind(
            what=f"a budget is given by {' and '.join(named) or 'nothing'}.",
            why="one number limits the loss, and two could disagree.",
            do="give one of epsilon, rho, mu and renyi, perhaps with a delta.",
        )
    return named[0]


def delta_below_one(delta: object) -> Fraction:
    """Refuse a delta of 1.

    >>> delta_below_one("0.5")
    Fraction(1, 2)
    """
    chance = checked_delta(delta)
    if chance == 1:
        raise OutOfRange(
            what="the delta of a budget is 1.",
            why="a promise that may always fail is none.",
            do="give delta < 1; useful values are below one over the number of people.",
        )
    return chance
