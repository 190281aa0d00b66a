"""Which columns of which tables a question needs.

Trust: kernel.  A column that is needed and left out would be read as NULL.

Definition.  A column of a relation is *wanted* if a value of it can make a difference to the
answer.  What is wanted of a node decides what is wanted below it: the columns of a predicate or a
join, those in outputs that are wanted, and all columns where rows are compared as a whole or put in
order (DISTINCT, the ties of a window).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import assert_never

from discreet.query.expression_types import columns
from discreet.query.expressions import Column, Expression, Window, walk
from discreet.query.relations import (
    Aggregated,
    BoundedUnits,
    Distinct,
    Filter,
    Join,
    Named,
    Project,
    Relation,
    Scan,
    SemiJoin,
    Table,
    UnionAll,
    Valued,
    folded,
)
from discreet.requests.cell_sums import CellSums
from discreet.requests.distinct_sum import DistinctSum
from discreet.requests.engine_request import DistinctCount, EngineRequest, Leaves, Total

RequiredColumns = Iterator[tuple[str, frozenset[str]]]


def required_columns(request: EngineRequest) -> dict[str, frozenset[str]]:
    """Return the wanted columns of every table, both by their folded names."""
    used = [*request.unit, *(key.expression for key in request.keys)]
    for measure in request.measures:
        match measure:
            case Total(row=row) | Leaves(row=row) | DistinctSum(row=row):
                used.append(row)
            case CellSums(row=row, value=value):
                used += [row, value]
            case DistinctCount(expression=expression):
                used.append(expression)
            case _:
                assert_never(measure)
    required: dict[str, frozenset[str]] = {}
    for table, names in _below(request.relation, _named(used)):
        required[table] = required.get(table, frozenset()) | names
    return required


def _named(expressions: Iterable[Expression]) -> frozenset[str]:
    """Return the columns that are named in some expressions."""
    return frozenset(
        node.name for value in expressions for node in walk(value) if isinstance(node, Column)
    )


def _all(relation: Relation) -> frozenset[str]:
    return frozenset(name for name, _ in columns(relation))


def _below(node: Relation, names: frozenset[str]) -> RequiredColumns:  # noqa: C901, PLR0912 (one for each)
    """Yield what is wanted of every table, where some columns of a relation are."""
    match node:
        case Scan(table=table):
            yield folded(table), frozenset(folded(name) for name in names & _all(node))
        case Named(child=child):
            yield from _below(child, names)
        case Filter(child=child, predicate=predicate):
            yield from _below(child, names | _named([predicate]))
        case Project(child=child):
            yield from _below(child, _of_outputs(node, names))
        case Join(left=left, right=right, on=on):
            both = names if on is None else names | _named([on])
            yield from _below(left, both & _all(left))
            yield from _below(right, both & _all(right))
        case SemiJoin(left=left, right=right, on=on):
            met = frozenset() if on is None else _named([on])
            yield from _below(left, (names | met) & _all(left))
            yield from _below(right, met & _all(right))
        case Aggregated(child=child, keys=keys, outputs=outputs):
            kept = [value for name, value in outputs if name in names]
            yield from _below(child, _named([*(value for _, value in keys), *kept]))
        case Distinct(child=child):
            yield from _below(child, _all(child))
        case BoundedUnits(child=child, unit=unit, texts=texts):
            yield from _below(child, names | frozenset(unit) | _named(texts))
        case UnionAll(parts=parts):
            places = [place for place, (name, _) in enumerate(columns(node)) if name in names]
            for part in parts:
                own = columns(part)
                yield from _below(part, frozenset(own[place][0] for place in places))
        case Table() | Valued():
            message = "a relation is computed only when it is bound"
            raise TypeError(message)
        case _:
            assert_never(node)


def _of_outputs(node: Project, names: frozenset[str]) -> frozenset[str]:
    kept = [value for name, value in node.outputs if name in names]
    if any(isinstance(part, Window) for value in kept for part in walk(value)):
        return _all(node.child)
    return _named(kept)
