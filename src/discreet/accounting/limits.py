"""Limits: from what a budget promises to what it may spend.

Trust: kernel.

A limit is fixed when the budget is made, and never afterwards.  To promise (epsilon, delta), part
of delta is set aside for requests with a delta of their own, and the limit is the largest for which
the currency is proved to imply epsilon at the rest: aside + (1 - aside) rest = delta (key
``filter-approximate``).  The search only proposes; what is returned was checked, and smaller limits
imply no less.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from fractions import Fraction
from typing import Final

from discreet.accounting.amounts import amount_down, number
from discreet.accounting.currency import Basic, Concentrated, Currency, Gaussians, Orders
from discreet.accounting.either import Either
from discreet.errors import OutOfRange, WrongKind
from discreet.loss import ZeroConcentrated
from discreet.loss.limits import checked_delta, checked_order, checked_parameter

__all__ = ["limits_of", "limits_within", "refuse_extras"]

_RESERVE: Final = Fraction(1, 10)
_BITS: Final = 48

Limits = tuple[Currency, tuple[Fraction, ...]]
"""A currency, and the limits of its components but delta; or of all of them."""


def limits_of(kind: str, value: object) -> Limits:
    """Return the currency and the limits, without delta, of a budget that names them.

    >>> limits_of("rho", "0.1")
    (Concentrated(), (Fraction(1, 10),))
    """
    match kind:
        case "rho":
            return Concentrated(), (checked_parameter(value, name="rho"),)
        case "mu":
            return Gaussians(), (checked_parameter(value, name="mu") ** 2,)
        case "mu_squared":
            return Gaussians(), (checked_parameter(value, name="mu_squared"),)
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
            return Orders(orders), tuple(known[order] for order in orders)


def limits_within(epsilon: Fraction, delta: Fraction, name: str, reserve: object) -> Limits:
    """Return the currency and the limits that imply (epsilon, delta).

    >>> kept, (rho, aside) = limits_within(Fraction(1), Fraction(1, 10**6), "zcdp", 0)
    >>> ZeroConcentrated(rho=rho).epsilon(delta="1e-6") <= 1, aside
    (True, Fraction(0, 1))
    """
    if name == Basic.name:
        refuse_extras(Basic(), None, reserve)
        return Basic(), (epsilon, delta)
    if name not in {Concentrated.name, Gaussians.name, Either.name}:
        raise WrongKind(
            what=f"no currency for epsilon and delta is called {str(name)[:40]!r}.",
            why="the rule by which requests are accepted depends on it.",
            do="give 'zcdp', 'basic', 'gaussian' or 'either'.",
        )
    share = _RESERVE if reserve is None else checked_delta(reserve, name="reserve")
    aside = number(amount_down(share * delta))
    rest = (delta - aside) / (1 - aside)
    if rest == 0:
        raise OutOfRange(
            what=f"no delta is left to keep a budget in {name}.",
            why="such losses are within an epsilon only outside an event of positive chance.",
            do="give delta > 0 and reserve < 1, or currency='basic'.",
        )
    if name == Gaussians.name:
        return Gaussians(), (_largest_square(epsilon, rest), aside)
    rho = _largest_rho(epsilon, rest)
    if name == Concentrated.name:
        return Concentrated(), (rho, aside)
    return Either(), (epsilon, rho, aside)


@functools.lru_cache(maxsize=128)
def _largest_rho(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return a rho that is proved to imply (epsilon, delta), hardly below the largest."""
    from discreet.loss import least_scale  # noqa: PLC0415  rare

    return 1 / least_scale(
        lambda scale: ZeroConcentrated(rho=1 / scale), epsilon=epsilon, delta=delta, bits=_BITS
    )


@functools.lru_cache(maxsize=128)
def _largest_square(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return a square of mu that is proved to imply (epsilon, delta), hardly below the largest."""
    from discreet.loss import GaussianDP, least_scale  # noqa: PLC0415  rare

    return 1 / least_scale(
        lambda scale: GaussianDP(mu_squared=1 / scale), epsilon=epsilon, delta=delta, bits=_BITS
    )


def refuse_extras(kept: Currency, currency: str | None, reserve: object) -> None:
    """Refuse a currency or a reserve where neither is for choice.

    >>> refuse_extras(Concentrated(), "zcdp", None)
    """
    if currency not in {None, kept.name} or reserve is not None:
        raise WrongKind(
            what=f"a budget kept in {kept.name} is given another currency, or a reserve.",
            why="it counts what it names, and spends its delta on requests alone.",
            do="leave out currency and reserve, or give epsilon and delta.",
        )
