"""What a ledger is told of the tables that are opened with it.

Trust: kernel.  Scopes are compared by names that follow from these descriptions.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from discreet.errors import OtherLedger
from discreet.ledger import Ledger
from discreet.plan.schema import Schema, TableFacts
from discreet.plan.scope_names import described
from discreet.query.relations import folded
from discreet.units import PrivacyUnit

__all__ = ["record_schema"]

_WHAT: Final = "schema"
_MOST: Final = 1000
"""How many columns one description lists; a wider table has several."""


def record_schema(ledger: Ledger, schema: Schema, unit: PrivacyUnit) -> None:
    """Record every private table, or refuse one whose unit contradicts the record."""
    private = [table for table in schema.tables if not table.public]
    recorded = ledger.descriptions(_WHAT)
    for table in private:
        for content in recorded:
            if content.get("table") == folded(table.name):
                _check_unit(table, content)
    for table in private:
        content = described(table, unit.columns)
        columns = content["columns"]
        for first in range(0, max(len(columns), 1), _MOST):
            ledger.describe(_WHAT, {**content, "columns": columns[first : first + _MOST]})


def _check_unit(table: TableFacts, content: Mapping[str, Any]) -> None:
    """Refuse a table that has the columns that named its unit, and names it by others now."""
    now = [folded(name) for name in table.unit]
    before = [own for _, own, _ in content.get("unit", ())]
    if before != now and any(table.column(own) is not None for own in before):
        raise OtherLedger(
            what=f"table {table.name} is on record with its unit in other columns, which are "
            "still there.",
            why="what was charged before protects whom those columns name.",
            do="name its unit as before, or use a ledger of its own for other people.",
        )
