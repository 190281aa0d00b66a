"""The scope of a question, enforced: the box that is charged is a filter on the rows that are read.

Trust: kernel.  A unit outside the box does not pay, so the answer must not depend on it.

Definition.  A condition of a box *guards* a scan if the scan reads a private table in which the
column of the condition names the unit, or is promised to be the same in all rows of a unit, or any
column where each row is a unit.  A guarded scan is followed by a filter that is printed from the
set of values of the condition (:mod:`discreet.plan.membership`), whatever the question itself says.
A relation is guarded if each of its rows descends from a row of a guarded scan: a projection, a
filter, a DISTINCT and an aggregation with keys if what is below is guarded, an inner join if one
side is, an outer join if the side that it keeps is, a full join and a union if all parts are.
A condition that does not guard the relation is left out of the box.
Theorem (key ``question-scope``).  The answer does not depend on units outside the box, if columns
that are promised to be the same in all rows of a unit are.
Proof.  Each output row of a unit is computed from rows of this unit and from public tables (key
``unit-local``).  By induction over a guarded relation it descends from a row of the unit in a
guarded scan, which has passed the filter, so that the value of the row lies in the set of the
condition (key ``membership``).  All rows of the unit have this value, so the unit satisfies the
condition.  This holds for every condition of the box; so a unit outside of it has no output row.
How the box was inferred does not matter: a wrong one costs rows, and nobody's privacy.
A box that no unit can lie in would charge nobody, so such a question is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final, assert_never

from discreet.accounting import Box
from discreet.accounting.values import Values, is_not_null
from discreet.errors import UnsupportedSQL
from discreet.plan.fields import Bound
from discreet.plan.membership import membership
from discreet.plan.schema import Schema
from discreet.plan.scope_names import scope_name
from discreet.query.expressions import Call, Expression, Literal
from discreet.query.relations import (
    Aggregated,
    Distinct,
    Filter,
    Join,
    Named,
    Project,
    Relation,
    Scan,
    Table,
    UnionAll,
    descend,
    folded,
)
from discreet.query.span import Span, pointed

__all__ = ["enforced"]

_MATCHED: Final = frozenset({"inner", "cross"})
"""The joins whose rows each come from a row of both sides."""

_KEPT: Final = {"left": (0,), "right": (1,)}
"""The side whose unmatched rows a join keeps; any other one may keep those of both."""

Guards = Mapping[Scan, Expression]
"""The scans that a condition guards, and the filter that follows each of them."""


def enforced(
    bound: Bound, schema: Schema, names: tuple[str, ...] = (), span: Span | None = None
) -> Bound:
    """Return a private relation that reads no row outside its box, with the box that it enforces.

    ``names`` are those of the unit.  A box that nobody can lie in is refused.

    >>> from discreet.accounting.values import equals
    >>> from discreet.plan.schema import ColumnFacts, TableFacts
    >>> from discreet.query.types import Type
    >>> scan = Scan("visits", (("ward", Type.TEXT), ("age", Type.TEXT)))
    >>> ward, age = (ColumnFacts(name=name, type=kind) for name, kind in scan.columns)
    >>> visits = TableFacts(name="visits", columns=(ward, age))
    >>> schema = Schema([visits])
    >>> conditions = {  # no text is 5
    ...     scope_name(schema, visits, ward, ()): equals("A"),
    ...     scope_name(schema, visits, age, ()): equals(5)}
    >>> found = enforced(
    ...     Bound(relation=scan, fields=(), unit=(), scope=Box(conditions)), schema)
    >>> print(found.scope)
    visits.ward 'A'
    >>> found.relation.predicate
    Call(function='IN', arguments=(Column(name='ward', table=None), Literal(value='A')))
    """
    if bound.scope.empty:
        raise _nobody(span)
    kept: dict[str, Values] = {}
    filters: dict[Scan, tuple[Expression, ...]] = {}
    for column, values in bound.scope.conditions:
        guards = _guards(bound.relation, schema, names, (column, values))
        if not _is_guarded(bound.relation, guards):
            continue
        if all(condition == Literal(False) for condition in guards.values()):
            raise _nobody(span)
        kept[column] = values
        for scan, condition in guards.items():
            filters[scan] = (*filters.get(scan, ()), condition)
    return replace(bound, relation=_filtered(bound.relation, filters), scope=Box(kept))


def _guards(
    relation: Relation, schema: Schema, names: tuple[str, ...], condition: tuple[str, Values]
) -> Guards:
    """Return the scans that a condition guards, with their filters."""
    known, values = condition
    found: dict[Scan, Expression] = {}
    for scan in descend(relation):
        table = schema.table(scan.table) if isinstance(scan, Scan) else None
        if not isinstance(scan, Scan) or table is None or table.public:
            continue
        for column in table.columns:
            if scope_name(schema, table, column, names) == known:
                names_unit = folded(column.name) in map(folded, table.unit)
                inside = values & is_not_null() if names_unit else values
                filtered = membership(column.name, column.type, inside)
                if filtered is not None:
                    found[scan] = filtered
    return found


def _is_guarded(node: Relation, guards: Guards) -> bool:  # noqa: PLR0911  one for each kind
    """Whether every row of a relation descends from a row of a guarded scan."""
    match node:
        case Scan():
            return node in guards
        case Filter() | Project() | Distinct() | Named():
            return _is_guarded(node.child, guards)
        case Aggregated(child=child, keys=keys):  # without keys there is a row for no rows
            return bool(keys) and _is_guarded(child, guards)
        case Join(kind=kind):
            sides = [_is_guarded(side, guards) for side in node.children()]
            if kind in _MATCHED:
                return any(sides)
            return all(sides[place] for place in _KEPT.get(kind, (0, 1)))
        case UnionAll(parts=parts):
            return all(_is_guarded(part, guards) for part in parts)
        case Table():
            return False
        case _:
            assert_never(node)


def _filtered(node: Relation, filters: Mapping[Scan, tuple[Expression, ...]]) -> Relation:
    """Put filters directly above the scans."""
    if isinstance(node, Scan):
        found = filters.get(node, ())
        if not found:
            return node
        return Filter(node, found[0] if len(found) == 1 else Call("AND", found), span=node.span)
    return node.rebuilt([_filtered(child, filters) for child in node.children()])


def _nobody(span: Span | None) -> UnsupportedSQL:
    return UnsupportedSQL(
        what=pointed("nobody can meet all conditions of this question.", span),
        why="its answer would be noise alone, and a question about nobody has nobody to pay for "
        "it.",
        do="correct the conditions; two of them exclude each other, or compare with NULL.",
    )
