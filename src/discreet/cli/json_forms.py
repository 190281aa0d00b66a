"""Plans and releases as JSON, for scripts: fields are added, and never change their meaning.

Trust: public.
"""

from __future__ import annotations

from datetime import date
from fractions import Fraction
from typing import Any

from discreet.accounting import Left
from discreet.accounting.left import shown_unit
from discreet.plan.plan import Plan
from discreet.plan.prices import Price
from discreet.plan.standing import Standing
from discreet.release.release import Release
from discreet.session.bar import part_left

__all__ = ["plan_form", "release_form"]


def plan_form(plan: Plan) -> dict[str, object]:
    """Return what a plan says.  Exact numbers are texts, such as 1/10."""
    return {
        "digest": plan.digest,
        "unit": shown_unit(plan.unit),
        "scope": str(plan.scope),
        "promises": [
            {
                "kind": each.kind,
                "table": each.table or None,
                "column": each.column or None,
                "words": str(each),
            }
            for each in plan.promises
        ],
        "price": _price(plan.price),
        "confidence": str(plan.confidence),
        "errors": [
            {
                "output": each.output,
                "half_width": None if each.half_width is None else float(each.half_width),
                "words": each.words,
            }
            for each in plan.predicted
        ],
        "bounds": None if plan.search is None else _price(plan.search.price),
        "standing": _standing(plan.standing),
        "text": str(plan),
    }


def release_form(release: Release, left: Left | None) -> dict[str, object]:
    """Return an answer, what it cost and what is left."""
    return {
        "columns": [
            {"name": column.name, "type": column.type.value.lower()} for column in release.columns
        ],
        "rows": [{name: _value(each) for name, each in row.items()} for row in release.rows()],
        "price": _price(release.plan.price),
        "bounds": [
            {"of": each.about, "low": str(each.low), "high": str(each.high), "seen": each.seen}
            for each in release.plan.found
        ],
        "confidence": str(release.confidence),
        "replayed": release.replayed,
        "private": release.private,
        "receipt": None if release.receipt is None else str(release.receipt),
        "plan": release.plan.digest,
        "left": None if left is None else {"part": float(part_left(left)), "text": str(left)},
    }


def _standing(found: Standing | None) -> dict[str, object] | None:
    """Return what the ledger says of a plan: its entry if it was answered, and what it leaves."""
    if found is None:
        return None
    return {"answered": found.entry, "fits": found.fits, "left": found.left or None}


def _price(price: Price) -> dict[str, str | None]:
    def shown(value: Fraction | None) -> str | None:
        return None if value is None else str(value)

    return {
        "epsilon": shown(price.epsilon),
        "delta": shown(price.delta),
        "rho": shown(price.rho),
    }


def _value(value: Any) -> Any:
    if isinstance(value, list):
        return [_value(each) for each in value]
    return value.isoformat() if isinstance(value, date) else value
