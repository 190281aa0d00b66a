"""The one text of a question: what its digest is made of.

Trust: kernel.  Two questions with the same text are held to be the same, and are answered once.

Definition.  The text is JSON.  It does not tell apart questions that differ in space, comments, the
case of names, aliases of tables, parentheses, the spelling of numbers, the order of the operands of
AND, OR, =, <>, + and * and of the list of IN, the side on which a comparison is written, or in
defaults that are spelled out.  It tells apart everything else; the names of outputs and their order
matter.  Every node is a list that begins with its kind, so that different trees have different
texts.
"""

from __future__ import annotations

import json
from dataclasses import fields
from fractions import Fraction
from typing import Any, Final, assert_never

from discreet.query.expressions import Column, Star
from discreet.query.operands import Scope, form
from discreet.query.question import Clause, Question
from discreet.query.relations import (
    Aggregated,
    Distinct,
    Filter,
    Join,
    Named,
    Output,
    Project,
    Relation,
    Scan,
    Table,
    UnionAll,
    folded,
)

__all__ = ["VERSION", "canonical", "relation_form", "visible"]

VERSION: Final = 1
"""Counted up whenever some question gets another text."""


def canonical(question: Question) -> str:
    """Return the one text of a question.

    >>> from discreet.query.sql.read import read
    >>> one = read("SELECT COUNT(*) AS n FROM visits AS v WHERE v.age >= 18 AND v.ward = 'A'")
    >>> two = read("select count(*) as N from Visits where ('A' = ward) and 18.0 <= age")
    >>> canonical(one) == canonical(two)
    True
    """
    scope = visible(question.relation)
    data = {
        "version": VERSION,
        "relation": relation_form(question.relation),
        "keys": [form(value, scope) for _, value in question.keys],
        "outputs": _outputs(question.outputs, scope),
        "having": None if question.having is None else form(question.having, scope),
        "order": [
            [form(item.expression, scope), item.descending, item.nulls_first]
            for item in question.order
        ],
        "limit": question.limit,
        "clause": {} if question.clause is None else _clause(question.clause, scope),
    }
    return json.dumps(data, sort_keys=True, separators=(",", ":"))


def visible(relation: Relation) -> Scope:
    """Return the names by which each table of a FROM can be called, from left to right.

    >>> visible(Join(Table("a.visits"), Named(Table("wards"), "W"), "cross"))[1]
    frozenset({'w'})
    """
    match relation:
        case Table(name=name) | Scan(table=name):
            whole = folded(name)
            return [frozenset({whole, whole.rpartition(".")[2]})]
        case Named(alias=alias):
            return [frozenset({folded(alias)})]
        case Filter(child=child):
            return visible(child)
        case Join(left=left, right=right):
            return [*visible(left), *visible(right)]
        case _:
            return [frozenset()]


def relation_form(  # noqa: C901, PLR0911 (one for each kind of node)
    relation: Relation,
) -> list[Any]:
    """Return the one form of a relation: a nested list.

    >>> relation_form(Named(Table("Visits"), "v"))
    ['table', 'visits']
    """
    match relation:
        case Table(name=name):
            return ["table", folded(name)]
        case Scan(table=table, columns=columns):
            return ["scan", folded(table), [[folded(name), kind.value] for name, kind in columns]]
        case Named(child=child):
            return relation_form(child)
        case Filter(child=child, predicate=predicate):
            return ["filter", relation_form(child), form(predicate, visible(child))]
        case Project(child=child, outputs=outputs):
            scope = visible(child)
            if len(scope) == 1 and [value for _, value in outputs] == [Star()]:
                return relation_form(child)
            return ["project", relation_form(child), _outputs(outputs, scope)]
        case Join():
            return _join(relation)
        case Aggregated(child=child, keys=keys, outputs=outputs):
            scope = visible(child)
            totals = _outputs(outputs, scope)
            return ["aggregate", relation_form(child), _outputs(keys, scope), totals]
        case Distinct(child=child):
            return ["distinct", relation_form(child)]
        case UnionAll(parts=parts):
            return ["union", *(relation_form(part) for part in parts)]
        case _:
            assert_never(relation)


def _join(join: Join) -> list[Any]:
    on = None if join.on is None else form(join.on, visible(join))
    below = [relation_form(join.left), relation_form(join.right)]
    return ["join", join.kind, *below, on, [folded(name) for name in join.using]]


def _outputs(outputs: tuple[Output, ...], scope: Scope) -> list[list[Any]]:
    return [[folded(name), form(value, scope)] for name, value in outputs]


def _clause(clause: Clause, scope: Scope) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for item in fields(clause):
        value = getattr(clause, item.name)
        if value is None or item.name == "span":
            continue
        if isinstance(value, Fraction):
            value = str(value)
        elif isinstance(value, Column):
            value = form(value, scope)
        found[item.name] = value
    return found
