"""Plans, answers and schemas as the JSON that people's programs read.

Trust: public.  Fields are added, and never change their meaning.
"""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Any

from discreet.units.unit import describe_unit

if TYPE_CHECKING:  # handed in
    from discreet.accounting import Left
    from discreet.plan.plan import BudgetPreview, Plan
    from discreet.plan.pricing.calibration import Price
    from discreet.release import Release
    from discreet.session import Session


def price_document(price: Price) -> dict[str, str | None]:
    """Return a price.  Exact numbers are texts, such as 1/10."""
    parts = {"epsilon": price.epsilon, "delta": price.delta, "rho": price.rho}
    return {name: None if value is None else str(value) for name, value in parts.items()}


def plan_document(plan: Plan) -> dict[str, Any]:
    """Return what a plan says."""
    return {
        "digest": plan.digest,
        "unit": describe_unit(plan.unit),
        "scope": str(plan.scope),
        "price": price_document(plan.price),
        "confidence": str(plan.confidence),
        "errors": [
            {
                "output": item.output,
                "half_width": None if item.half_width is None else float(item.half_width),
                "words": item.words,
            }
            for item in plan.predicted
        ],
        "promises": [str(item) for item in plan.promises],
        "warnings": list(plan.warnings),
        "truncations": [str(item) for item in plan.truncations],
        "standing": _preview(plan.budget_preview),
        "text": str(plan),
    }


def _preview(preview: BudgetPreview | None) -> dict[str, Any] | None:
    if preview is None:
        return None
    return {
        "answered": preview.entry,
        "fits": preview.fits,
        "left": preview.left or None,
        "notes": list(preview.notes),
    }


def release_document(release: Release, left: Left | None) -> dict[str, Any]:
    """Return an answer, what it cost and what is left."""
    return {
        "columns": [
            {"name": column.name, "type": column.type.value.lower()} for column in release.columns
        ],
        "rows": [{name: _value(item) for name, item in row.items()} for row in release.rows()],
        "price": price_document(release.plan.price),
        "confidence": str(release.confidence),
        "intervals": "noise alone",
        "warnings": list(release.plan.warnings),
        "truncations": [str(item) for item in release.plan.truncations],
        "replayed": release.replayed,
        "private": release.private,
        "entry": None if release.receipt is None else release.receipt.seq,
        "receipt": None if release.receipt is None else str(release.receipt),
        "plan": release.plan.digest,
        "left": None if left is None else str(left),
    }


def _value(value: Any) -> Any:
    if isinstance(value, list):
        return [_value(item) for item in value]
    return value.isoformat() if isinstance(value, date) else value


def schema_document(session: Session) -> dict[str, Any]:
    """Return what is public about the tables: their columns, types and bounds, and the unit."""
    return {
        "unit": describe_unit(session.unit),
        "tables": {
            table.name: {
                "public": table.public,
                "columns": [
                    {
                        "name": column.name,
                        "type": column.type.value.lower(),
                        "low": None if column.low is None else str(column.low),
                        "high": None if column.high is None else str(column.high),
                        "categories": None
                        if column.categories is None
                        else [_value(value) for value in column.categories],
                    }
                    for column in table.columns
                ],
            }
            for table in session.schema.tables
        },
    }
