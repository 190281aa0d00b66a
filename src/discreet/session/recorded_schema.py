"""What a ledger is told of the tables that are opened with it.

Trust: kernel.  Scopes are compared by names that follow from these descriptions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Self, final

from discreet.errors import OtherLedger
from discreet.ledger import Ledger
from discreet.plan.schema import Schema, TableFacts
from discreet.plan.scope_names import described
from discreet.units import PrivacyUnit

__all__ = ["record_schema"]

_WHAT: Final = "schema"
_MOST: Final = 1000
"""How many columns one description lists; a wider table has several."""


def record_schema(ledger: Ledger, schema: Schema, unit: PrivacyUnit) -> None:
    """Record every private table, or refuse one whose unit contradicts the record."""
    private = [table for table in schema.tables if not table.public]
    contents = [described(schema, table, unit.columns) for table in private]
    recorded = ledger.descriptions(_WHAT)
    for table, content in zip(private, contents, strict=True):
        for before in recorded:
            if before.get("table") == content["table"]:
                _check_unit(schema, table, _Finding.of(before), _Finding.of(content))
    for content in contents:
        columns = content["columns"]
        for first in range(0, max(len(columns), 1), _MOST):
            ledger.describe(_WHAT, {**content, "columns": columns[first : first + _MOST]})


@final
@dataclass(frozen=True, slots=True)
class _Finding:
    """How a table finds its unit: by its own columns, or by one that points to a key elsewhere.

    ``names`` says that the key is what the unit is called there, so that the column names it too.
    """

    columns: tuple[str, ...]
    parent: str | None = None
    key: str | None = None
    names: bool = True

    @classmethod
    def of(cls, content: Mapping[str, Any]) -> Self:
        """Read a description, also one that has the table's own link only."""
        link = content.get("link")
        if link is None:
            return cls(tuple(own for _, own, _ in content.get("unit", ())))
        if all(isinstance(each, str) for each in link):
            column, parent, key = link
            return cls((column,), parent, key, names=False)
        (_, _, (column, *_), _), (parent, (key, *_), _, unit), *_ = link
        return cls((column,), parent, key, names=[own for _, own, _ in unit] == [key])

    def agrees(self, other: _Finding) -> bool:
        """Whether rows belong to the same units, if the tables on the way find theirs as before."""
        both = self.names and other.names
        pointed = (self.parent, self.key) == (other.parent, other.key)
        return self.columns == other.columns and (both or pointed)


def _check_unit(schema: Schema, table: TableFacts, before: _Finding, now: _Finding) -> None:
    """Refuse a table that could find its unit as it did on record, and finds it otherwise.

    Every table on the way is opened and on record itself, so that each checks its own step.  What
    is no longer there was renamed, by the promise that units keep their names.
    """
    if before.agrees(now):
        return
    there = any(table.column(own) is not None for own in before.columns)
    parent = None if before.parent is None else schema.table(before.parent)
    renamed = before.columns == now.columns and before.parent == now.parent
    if renamed and parent is not None and before.key is not None:
        there = parent.column(before.key) is not None
    if there:
        raise OtherLedger(
            what=f"table {table.name} is on record with its unit in other columns, or found by "
            "another link, which are still there.",
            why="what was charged before protects those to whom the rows belonged then.",
            do="name or link its unit as before, or use a ledger of its own for other people.",
        )
