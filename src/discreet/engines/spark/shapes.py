"""Which relations can be divided: by unit, or row by row.

Trust: kernel.
"""

from __future__ import annotations

from collections.abc import Iterator

from discreet.engines.spark.reading import unknown_table
from discreet.errors import NotPerUnit
from discreet.plan.lowered import Lowered
from discreet.plan.schema import Schema, TableFacts
from discreet.query.expressions import Window, walk
from discreet.query.relations import Filter, Join, Named, Project, Relation, Scan, descend, folded
from discreet.query.types import Type

__all__ = ["check_shape", "private_tables", "scans"]


def scans(relation: Relation) -> Iterator[Scan]:
    """Yield all places where a table is read.

    >>> [scan.table for scan in scans(Named(Scan("visits", ()), "v"))]
    ['visits']
    """
    return (node for node in descend(relation) if isinstance(node, Scan))


def private_tables(lowered: Lowered, schema: Schema) -> tuple[TableFacts, ...]:
    """Return the private tables that a question reads, each once."""
    found = {}
    for scan in scans(lowered.relation):
        table = schema.table(scan.table)
        if table is None:
            raise unknown_table(scan.table)
        if not table.public:
            found[folded(scan.table)] = table
    return tuple(found.values())


def check_shape(lowered: Lowered, schema: Schema) -> None:
    """Refuse what cannot be computed from parts."""
    private = private_tables(lowered, schema)
    if lowered.unit:
        if not all(_names_units(table, schema) for table in private):
            raise NotPerUnit(
                what="this question reads a table that does not name the unit, or by a float.",
                why="the rows of a unit could not be brought together.",
                do="name the unit of every private table by whole numbers, texts or days, or link "
                "it to one that does.",
            )
    elif private and not _by_row(lowered.relation, schema):
        raise NotPerUnit(
            what="this question puts rows together, each of which is a unit.",
            why="the rows of several people would meet.",
            do="ask about single rows, perhaps joined with public tables.",
        )


def _names_units(table: TableFacts, schema: Schema) -> bool:
    """Whether equal values tell to whom every row belongs, perhaps through other tables."""
    names = table.unit if table.link is None else (table.link.column,)
    if not names or not all(_is_exact(table, name) for name in names):
        return False
    if table.link is None:
        return True
    parent = schema.table(table.link.parent)
    return parent is not None and _is_exact(parent, table.link.key) and _names_units(parent, schema)


def _is_exact(table: TableFacts, name: str) -> bool:
    column = table.column(name)
    return column is not None and column.type is not Type.FLOAT


def _by_row(node: Relation, schema: Schema) -> bool:
    """Whether every output row follows from one private row, and from public tables."""
    match node:
        case Scan():
            return True
        case Filter(child=child) | Named(child=child):
            return _by_row(child, schema)
        case Project(child=child, outputs=outputs):
            windows = any(isinstance(each, Window) for _, value in outputs for each in walk(value))
            return not windows and _by_row(child, schema)
        case Join(left=left, right=right, kind=kind):
            for one, other, keeps in ((left, right, "left"), (right, left, "right")):
                if _public(other, schema) and kind in {"inner", "cross", keeps}:
                    return _by_row(one, schema)
            return False
        case _:
            return False


def _public(node: Relation, schema: Schema) -> bool:
    tables = [schema.table(scan.table) for scan in scans(node)]
    return all(table is not None and table.public for table in tables)
