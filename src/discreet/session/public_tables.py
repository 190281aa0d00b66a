"""Public tables: what the session itself may look at.

Trust: kernel.  Nothing but public tables may be read here: no noise is added.

Theorem (key ``unit-local``) has it that a join with a public table does not multiply rows if the
columns that it compares are a key of that table.  The owner declares the key; since anybody may see
the table, the declaration is checked.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from discreet.engines.engine import Engine
from discreet.engines.order import HashOrder
from discreet.errors import BadPolicy, NotPerUnit
from discreet.plan.lowered import KEY_TYPES, Key, KeyValue, Lowered
from discreet.plan.raw import Raw
from discreet.plan.schema import Schema, TableFacts
from discreet.query.expressions import Column
from discreet.query.relations import Relation, Scan, descend, folded
from discreet.query.shape import columns

__all__ = ["PublicTables", "check_keys"]

Rows: TypeAlias = Sequence[tuple[KeyValue, ...]]


class PublicTables:
    """Reads the different rows of relations that are made of public tables alone."""

    __slots__ = ("_engine", "_public")

    def __init__(self, engine: Engine, schema: Schema) -> None:
        """Take the engine, and which tables are public."""
        self._engine = engine
        self._public = {folded(table.name) for table in schema.tables if table.public}

    def __call__(self, relation: Relation) -> Rows:
        """Return the different rows, sorted."""
        if not all(folded(table) in self._public for table in _tables(relation)):
            raise NotPerUnit(
                what="a private table stands where only public ones may.",
                why="its rows would be shown without noise.",
                do="list groups from public tables alone.",
            )
        raw = self.counted(relation)
        return list(zip(*(column.to_pylist() for column in raw.keys), strict=True))

    def counted(self, relation: Relation) -> Raw:
        """Count how often each row is there."""
        keys = tuple(Key(name, Column(name), kind) for name, kind in columns(relation))
        lowered = Lowered(relation=relation, unit=(), keys=keys, groups=None, measures=())
        return self._engine.run(lowered, order=HashOrder(salt=0))


def check_keys(engine: Engine, schema: Schema) -> None:
    """Refuse public tables in which two rows agree on their declared key."""
    reader = PublicTables(engine, schema)
    for table in schema.tables:
        if table.public and table.key:
            raw = reader.counted(_scan(table))
            whole = [
                None not in row for row in zip(*(c.to_pylist() for c in raw.keys), strict=True)
            ]
            if any(count > 1 and known for count, known in zip(raw.units, whole, strict=True)):
                raise BadPolicy(
                    what=f"table {table.name}: two of its rows agree on its key.",
                    why="a join with it could multiply the rows of a person.",
                    do="declare columns that tell all rows apart, or mend the table.",
                )


def _scan(table: TableFacts) -> Scan:
    found = [column for name in table.key if (column := table.column(name)) is not None]
    if any(column.type not in KEY_TYPES for column in found):
        raise BadPolicy(
            what=f"table {table.name}: a column of its key is a float.",
            why="nearly equal numbers do not tell rows apart.",
            do="declare whole numbers or texts as the key.",
        )
    return Scan(table.name, tuple((column.name, column.type) for column in found))


def _tables(relation: Relation) -> Iterator[str]:
    return (node.table for node in descend(relation) if isinstance(node, Scan))
