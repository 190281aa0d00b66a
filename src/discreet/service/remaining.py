"""What is left of a budget, as JSON, and as a client shows it.

Trust: public.  A client's view is a preview, as that of a plan is: the ledger decides every charge.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from discreet import accounting
from discreet.accounting import Budget, Leaf, Left, Node
from discreet.accounting.amounts import decode_amounts, encode_amounts
from discreet.accounting.codec import decode_unit, encode_unit
from discreet.accounting.currencies import Amounts
from discreet.accounting.requests import Priceable
from discreet.loss import PrivacyLoss


def left_document(left: Left) -> dict[str, Any]:
    """Return what is left as JSON."""
    return {
        "budget": left.budget.written(),
        "unit": encode_unit(left.unit),
        "amounts": encode_amounts(left.amounts),
        "spent": encode_amounts(left.spent),
        "every_route": left.every_route,
        "text": str(left),
    }


def read_left(document: Mapping[str, Any]) -> Left:
    """Return what ``left_document`` was made of; requests are priced as if about everybody."""
    budget = Budget.read(document["budget"])
    width = len(budget.limit)
    return _left(
        Left(
            budget=budget,
            unit=decode_unit(document["unit"]),
            amounts=decode_amounts(document["amounts"], width=width),
            spent=decode_amounts(document["spent"], width=width),
            every_route=document["every_route"],
            fitting=_nothing,
            charging=_nothing,
        )
    )


def _nothing(what: Priceable, delta: object) -> Any:
    raise NotImplementedError  # replaced below, before anybody has it


def _left(left: Left) -> Left:
    """Return the same with what it says of requests."""

    def price(what: Priceable, delta: object) -> Amounts:
        if isinstance(what, PrivacyLoss):
            return left.budget.price(what, delta=delta)
        node = what if isinstance(what, Node) else Leaf(what)
        loss = accounting.account(node, unit=left.unit).loss
        return left.budget.price(loss, delta=delta)

    def fitting(what: Priceable, delta: object) -> Callable[[int], bool]:
        one = price(what, delta)
        return lambda times: left.budget.fits(left.spent, [times * part for part in one])

    def charging(what: Priceable, delta: object) -> Left:
        one = price(what, delta)
        return _left(
            replace(
                left,
                spent=tuple(a + b for a, b in zip(left.spent, one, strict=True)),
                amounts=tuple(max(0, a - b) for a, b in zip(left.amounts, one, strict=True)),
            )
        )

    return replace(left, fitting=fitting, charging=charging)
