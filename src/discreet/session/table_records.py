"""What a ledger records of the tables that are opened: their schemas, and their states.

Trust: kernel.  Scopes are compared by names that follow from recorded schemas; two answers are
combined only if their tables were in the same states.

A ledger records the identity of every table that it meets, once.  The name of a state is its place
among those of its table, such as "source 2", and reveals nothing of the data.  Data that one
session holds alone, as frames, cannot be found again by another: its state has a random name, on
record with the answers about it.

Definition.  The content of a frozen table is on record as a digest with a random salt.  It must be
the same at every opening, until the table is opened once with a policy that does not freeze it.
An attacker who has the ledger and all rows of a table but one can test guesses of that row.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Self, final

from discreet.engines.sources.identity import Identity
from discreet.errors import BadPolicy, OtherLedger, SourceChanged
from discreet.ledger.ledger import Ledger
from discreet.noise import SYSTEM
from discreet.plan.binding.scope import table_description
from discreet.query.relations import folded
from discreet.requests.table_schema import Schema, TableFacts
from discreet.units import PrivacyUnit

if TYPE_CHECKING:  # a record is handed in
    from discreet.session.record import Record

_WHAT: Final = "schema"
_MOST: Final = 1000
"""How many columns one description lists; a wider table has several."""


def record_schema(ledger: Ledger, schema: Schema, unit: PrivacyUnit) -> None:
    """Record every private table, or refuse one whose unit contradicts the record."""
    private = [table for table in schema.tables if not table.public]
    contents = [table_description(schema, table, unit.columns) for table in private]
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
    """How a table identifies its unit: by its own columns, or by a pointer to a key elsewhere.

    ``names`` says that the key is the unit's name there, so that the column names it too.
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
        if all(isinstance(part, str) for part in link):
            column, parent, key = link
            return cls((column,), parent, key, names=False)
        (_, _, (column, *_), _), (parent, (key, *_), _, unit), *_ = link
        return cls((column,), parent, key, names=[own for _, own, _ in unit] == [key])

    def agrees(self, other: _Finding) -> bool:
        """Whether rows belong to the same units, if tables on the way identify theirs as before."""
        both = self.names and other.names
        pointed = (self.parent, self.key) == (other.parent, other.key)
        return self.columns == other.columns and (both or pointed)


def _check_unit(schema: Schema, table: TableFacts, before: _Finding, now: _Finding) -> None:
    """Refuse a table that could identify its unit as on record, but now does so otherwise.

    Every table on the way is opened and on record itself, so that each checks its own step.
    Columns that are gone were renamed, by the promise that units keep their names.
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


_BITS: Final = 128


def record_source_states(
    record: Record, identities: Mapping[str, Identity], schema: Schema
) -> Mapping[str, str]:
    """Record what was opened, and return the names of the states of all tables.

    Refuses, before anything is recorded, a frozen table whose content is not the one on record.
    """
    tables = {folded(table.name): table for table in schema.tables}
    contents = {
        table: _content(facts.name, identities[table])
        for table, facts in tables.items()
        if facts.frozen
    }
    if not isinstance(record, Ledger):
        return {table: f"opening {_drawn()}" for table in tables}
    before = {table: _on_record(record, "frozen", table) for table in tables}
    for table, content in contents.items():
        _check_frozen(tables[table].name, before[table], content)
    states = {table: _source(record, table, identities[table]) for table in tables}
    for table in tables:
        number = _frozen(record, table, before[table], contents.get(table))
        if number is not None:
            states[table] = f"frozen {number}"
    return states


def _content(table: str, identity: Identity) -> str:
    if identity.content is None:
        raise BadPolicy(
            what=f"table {table} is frozen, and its content cannot be compared.",
            why="rows on a server, or of a data frame of Spark, change without a trace here.",
            do="remove frozen = true for it, or open an export of it in files.",
        )
    return identity.content()


def _source(record: Ledger, table: str, identity: Identity) -> str:
    """Record the identity of a table, and return the name of its state."""
    if identity.state is None:
        return f"opening {_drawn()}"
    content = {
        "table": table,
        "kind": identity.kind,
        "columns": hashlib.sha256(json.dumps(identity.columns).encode("ascii")).hexdigest(),
        "state": identity.state,
    }
    record.describe("source", content)
    return f"source {_on_record(record, 'source', table).index(content)}"


def _check_frozen(table: str, before: list[Mapping[str, Any]], content: str) -> None:
    last = before[-1] if before else None
    if last is None or last["digest"] is None or last["digest"] == _salted(last["salt"], content):
        return
    raise SourceChanged(
        what=f"table {table} is frozen, and its data is not what is on record.",
        why="answers about a frozen table are all about the same data; nothing was charged.",
        do="bring the data back; or, if the change is meant, write frozen = false in the policy, "
        "open the table once, and freeze it again.",
    )


def _frozen(
    record: Ledger, table: str, before: list[Mapping[str, Any]], content: str | None
) -> int | None:
    """Record that a table is frozen, or not any more; return the number of its frozen state."""
    is_frozen = bool(before) and before[-1]["digest"] is not None
    if is_frozen is (content is not None):
        return len(before) - 1 if is_frozen else None
    salt = None if content is None else _drawn()
    digest = None if content is None or salt is None else _salted(salt, content)
    number = len(before)
    record.describe("frozen", {"table": table, "number": number, "salt": salt, "digest": digest})
    return None if content is None else number


def _on_record(record: Ledger, what: str, table: str) -> list[Mapping[str, Any]]:
    return [entry for entry in record.descriptions(what) if entry["table"] == table]


def _salted(salt: str, content: str) -> str:
    return hashlib.sha256(f"{salt} {content}".encode("ascii")).hexdigest()


def _drawn() -> str:
    return f"{SYSTEM.bits(_BITS):032x}"
