"""How a budget is stored: the limits that were fixed when it was made, and what they promise.

Trust: kernel.  A limit that is read as a higher one lets more be lost than was promised.

Limits are read as they were written.  A later version may find others for the same promise, and
those would change which requests an old book accepts.  But no limit is believed: it is read only if
it is proved anew that it implies the promise.  Two proofs will do: that it is at most the limit
which would be fixed today, or that the loss which it stands for is within the promise, by the
conversion that the search for limits relies on (key ``filter-approximate``).
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Final

from discreet.accounting.amounts import amount_down, number
from discreet.accounting.currency import (
    Amounts,
    Basic,
    Concentrated,
    Currency,
    Gaussians,
    Orders,
)
from discreet.accounting.decimals import read_decimals, written_decimals
from discreet.accounting.either import Either
from discreet.accounting.forms import many, unreadable
from discreet.accounting.limits import limits_within
from discreet.accounting.written_values import NUMBER
from discreet.loss import Approximate, PrivacyLoss, ZeroConcentrated

__all__ = ["read_limits", "written_limits"]

_NAMED: Final[dict[str, Currency]] = {
    each.name: each for each in (Basic(), Concentrated(), Gaussians(), Either())
}
_PROMISING: Final = (Concentrated, Gaussians, Either)
_NUMBERS: Final = many(NUMBER)


def written_limits(
    currency: Currency, limit: Amounts, promise: Approximate | None
) -> dict[str, object]:
    """Write a currency, its limits and what they promise.

    >>> written_limits(Concentrated(), (10**23, 0), None)["limit"]
    ['100000000000000000000000', '0']
    """
    orders = currency.orders if isinstance(currency, Orders) else ()
    return {
        "currency": currency.name,
        "orders": _NUMBERS.write(orders, 0),
        "limit": written_decimals(limit),
        "promise": None
        if promise is None
        else {
            "epsilon": NUMBER.write(promise.epsilon_bound, 0),
            "delta": NUMBER.write(promise.delta_bound, 0),
        },
    }


def read_limits(data: object) -> tuple[Currency, Amounts, Approximate | None]:
    """Read what ``written_limits`` wrote, if the limits imply the promise.

    Without a promise the limits are the promise, and whoever asks checks their range.

    >>> read_limits(written_limits(Concentrated(), (10**23, 0), None))
    (Concentrated(), (100000000000000000000000, 0), None)
    """
    if not isinstance(data, dict) or set(data) != {"currency", "orders", "limit", "promise"}:
        raise unreadable("a budget does not hold a currency, its orders, a limit and a promise")
    currency = _currency(data["currency"], data["orders"])
    limit = read_decimals(data["limit"], width=len(currency.components))
    promise = _promise(data["promise"])
    if promise is None and isinstance(currency, Either):
        raise unreadable("the limits of a budget promise nothing")
    if promise is not None and not isinstance(currency, _PROMISING):
        raise unreadable("a budget of this currency promises its limits")
    if written_limits(currency, limit, promise) != data:
        raise unreadable("a number of a budget is not in its written form")
    if promise is not None and not _implied(currency, limit, promise):
        raise unreadable("the limits of a budget do not imply what it promises")
    return currency, limit, promise


def _currency(name: object, orders: object) -> Currency:
    if name == Orders.name:
        return Orders(_NUMBERS.read(orders, 0))
    if not isinstance(name, str) or name not in _NAMED or orders != []:
        raise unreadable("a budget is kept in an unknown currency")
    return _NAMED[name]


def _promise(data: Any) -> Approximate | None:
    if data is None:
        return None
    if not isinstance(data, dict) or set(data) != {"epsilon", "delta"}:
        raise unreadable("a promise does not hold an epsilon and a delta")
    return Approximate(epsilon=NUMBER.read(data["epsilon"], 0), delta=NUMBER.read(data["delta"], 0))


def _implied(currency: Currency, limit: Amounts, promise: Approximate) -> bool:
    """Whether limits are proved to imply a promise."""
    epsilon, delta, aside = promise.epsilon_bound, promise.delta_bound, number(limit[-1])
    if not aside < delta < 1:
        return False
    _, most = limits_within(epsilon, delta, currency.name, aside / delta)
    if all(here <= amount_down(there) for here, there in zip(limit, most, strict=True)):
        return True
    rest = (delta - aside) / (1 - aside)
    if isinstance(currency, Either) and limit[0] > amount_down(epsilon):
        return False
    return _loss(currency, number(limit[-2])).delta(epsilon=epsilon) <= rest


def _loss(currency: Currency, bound: Fraction) -> PrivacyLoss:
    if isinstance(currency, Gaussians):
        from discreet.loss import GaussianDP  # noqa: PLC0415  rare

        return GaussianDP(mu_squared=bound)
    return ZeroConcentrated(rho=bound)
