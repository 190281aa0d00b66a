"""JOIN ... USING with a public list of groups, written as the same join with ON.

Trust: kernel.

Theorem.  A left or right join with USING (c) is that with ON a.c = b.c, where the bare name c means
the column of the side whose unmatched rows are kept.
Proof.  The shared column is the first of the two that is not NULL.  In a pair that meets both are
equal, and in an unmatched row that of the other side is NULL.  If the columns are of different
types, equal values may look different; so this is done only for a list of groups, whose columns are
what the answer shows.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from discreet.query.expressions import Call, Column, Expression, transformed
from discreet.query.question import Question
from discreet.query.relations import Distinct, Filter, Join, Named, Relation, Table, folded

KEPT: Final = {"left": 0, "right": 1}
"""Which side of a join keeps its unmatched rows."""
_ALIAS: Final = "listed groups"


def is_list(side: Relation) -> bool:
    """Whether a side of a join is a SELECT DISTINCT, perhaps under an alias.

    >>> is_list(Named(Distinct(Table("wards")), "w"))
    True
    """
    while isinstance(side, Named):
        side = side.child
    return isinstance(side, Distinct)


def with_names_on(question: Question) -> Question:
    """Return a question whose list of groups is joined with ON, if it was joined with USING.

    >>> from discreet.query.sql.parse import read
    >>> asked = read("SELECT ward, COUNT(*) AS n FROM visits RIGHT JOIN "
    ...              "(SELECT DISTINCT ward FROM wards) AS w USING (ward) GROUP BY ward")
    >>> with_names_on(asked).keys
    (('ward', Column(name='ward', table='w')),)
    """
    relation, above = question.relation, []
    while isinstance(relation, Filter):
        above.append(relation)
        relation = relation.child
    if not isinstance(relation, Join) or not relation.using or relation.kind not in KEPT:
        return question
    kept = relation.children()[KEPT[relation.kind]]
    sides = [_under_name(side) for side in relation.children()]
    names = [_name(side) for side in sides]
    if not is_list(kept) or None in names:
        return question
    shown = names[KEPT[relation.kind]]
    shared = {folded(name) for name in relation.using}

    def qualified(expression: Expression) -> Expression:
        return transformed(
            expression,
            lambda node: (
                replace(node, table=shown)
                if isinstance(node, Column) and node.table is None and folded(node.name) in shared
                else None
            ),
        )

    equal = tuple(
        Call("=", (Column(name, names[0]), Column(name, names[1])), span=relation.span)
        for name in relation.using
    )
    on = equal[0] if len(equal) == 1 else Call("AND", equal, span=relation.span)
    joined: Relation = replace(relation, left=sides[0], right=sides[1], on=on, using=())
    for condition in reversed(above):
        joined = replace(condition, child=joined, predicate=qualified(condition.predicate))
    return replace(
        question,
        relation=joined,
        keys=tuple((name, qualified(value)) for name, value in question.keys),
        outputs=tuple((name, qualified(value)) for name, value in question.outputs),
        having=None if question.having is None else qualified(question.having),
        order=tuple(
            replace(item, expression=qualified(item.expression)) for item in question.order
        ),
    )


def _under_name(side: Relation) -> Relation:
    return side if isinstance(side, Named | Table | Join) else Named(side, _ALIAS)


def _name(side: Relation) -> str | None:
    """Return the name by which the columns of a side are called."""
    match side:
        case Named(alias=alias):
            return alias
        case Table(name=name):
            return name.rpartition(".")[2]
        case _:
            return None
