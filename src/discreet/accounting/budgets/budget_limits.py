"""Limits of a budget: what it may spend to keep its promise, and how both are stored.

Trust: kernel.  A limit that is read as a higher one lets more be lost than was promised.

A limit is fixed when the budget is made, and never afterwards.  To promise (epsilon, delta), part
of delta is set aside for requests with a delta of their own, and the limit is the largest for which
the currency is proved to imply epsilon at the rest: aside + (1 - aside) rest = delta (key
``filter-approximate``).  Of a budget that is kept jointly in epsilon and rho, a further share C
pays for losses that are known by their rho and counted in epsilon: aside + (1 - aside) (C + rest)
= delta (key ``filter-joint``).  The search only proposes; what is returned was checked, and smaller
limits imply no less.

Limits are read as they were written, and only if they are at most the limits that would be fixed
for the promise, or the loss that they stand for is within the promise, by the conversion that the
search for limits relies on (key ``filter-approximate``).
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
    JointCurrency,
)
from discreet.accounting.storage.decoding import undecodable
from discreet.accounting.storage.schema import NUMBER
from discreet.errors import OutOfRange, WrongKind
from discreet.loss import Approximate, ZeroConcentrated
from discreet.loss.parameters import checked_delta

_RESERVE: Final = Fraction(1, 10)
_JOINT_RESERVE: Final = Fraction(1, 4)
_CONVERSIONS: Final = Fraction(1, 15)  # of what is not in reserve, so one twentieth of delta
_CONVERSION: Final = Fraction(1, 1000)
_SEARCH_BITS: Final = 48  # of the search alone: what it returns was checked

_SHARES: Final = {ConcentratedCurrency.name: _RESERVE, JointCurrency.name: _JOINT_RESERVE}
"""The part of delta that is set aside for events, by currency."""

Limits = tuple[Currency, tuple[Fraction, ...]]
"""A currency, and the limits of its components but delta; or of all of them."""


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
            do="give 'joint', 'zcdp' or 'basic'.",
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
    if name == ConcentratedCurrency.name:
        return ConcentratedCurrency(), (_largest_rho(epsilon, rest), aside)
    points = amount_value(amount_down(_CONVERSIONS * (delta - aside)))
    rho = _largest_rho(epsilon, rest - points)
    return JointCurrency(amount_down(_CONVERSION * points)), (epsilon, points, rho, aside)


@functools.lru_cache(maxsize=256)
def _largest_rho(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return a rho that is proved to imply (epsilon, delta), just below the largest one."""
    return 1 / discreet.loss.least_scale(
        lambda scale: ZeroConcentrated(rho=1 / scale),
        epsilon=epsilon,
        delta=delta,
        bits=_SEARCH_BITS,
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
    each.name: each for each in (BasicCurrency(), ConcentratedCurrency())
}
_FIELDS: Final = {"currency", "limit", "promise"}


def encode_limits(
    currency: Currency, limit: Amounts, promise: Approximate | None
) -> dict[str, object]:
    """Write a currency, its limits and what they promise.

    >>> encode_limits(ConcentratedCurrency(), (10**23, 0), None)["limit"]
    ['100000000000000000000000', '0']
    """
    point = {"conversion": str(currency.conversion)} if isinstance(currency, JointCurrency) else {}
    return {
        **point,
        "currency": currency.name,
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
        raise undecodable("a budget does not hold a currency, a limit and a promise")
    currency = _currency(data["currency"], data.get("conversion"))
    limit = decode_amounts(data["limit"], width=len(currency.components))
    promise = _promise(data["promise"])
    if promise is None and joint:
        raise undecodable("the limits of a budget promise nothing")
    if promise is not None and isinstance(currency, BasicCurrency):
        raise undecodable("a budget of this currency promises its limits")
    if encode_limits(currency, limit, promise) != data:
        raise undecodable("a number of a budget is not in its written form")
    if promise is not None and not _implied(currency, limit, promise):
        raise undecodable("the limits of a budget do not imply what it promises")
    return currency, limit, promise


def _currency(name: object, conversion: object) -> Currency:
    if name == JointCurrency.name:
        return JointCurrency(*decode_amounts([conversion], width=1))
    if not isinstance(name, str) or name not in _NAMED:
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
    if isinstance(currency, JointCurrency):
        if limit[0] > amount_down(epsilon):
            return False
        rest -= amount_value(limit[1])
    return ZeroConcentrated(rho=amount_value(limit[-2])).delta(epsilon=epsilon) <= rest


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
            do="give one of epsilon and rho, perhaps with a delta.",
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
