"""The one text of a question: what its digest is made of.

Trust: kernel.  Two expressions with the same form are held to be the same.  Two questions with the
same text are held to be the same, and are answered once.

Definition.  The form of a node is a list of its kind and of all of its fields that equality
compares, whatever they are; so a field that is added to a node is in its form.  Names are folded,
and a qualifier is replaced by the place of its table among those that are visible.  Operands whose
order cannot change the result, not even in its last bit, are sorted.  An alias of a table, and a
subquery of all columns, add nothing.

Definition.  The text is JSON.  It is the same for questions that differ in space, comments, the
case of names, aliases of tables, parentheses, the spelling of numbers, the order of the operands of
AND, OR, =, <>, + and * and of the list of IN, the side on which a comparison is written, or in
defaults that are spelled out.  Everything else makes a difference, as do names of outputs and their
order.  Every node is a list that begins with its kind, so that different trees have different
texts.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import fields
from datetime import date
from fractions import Fraction
from functools import cache
from typing import Any, Final

from discreet.query.expressions import Call, Column, Expression, Literal, Star, Window
from discreet.query.nodes import Node
from discreet.query.question import Clause, Question
from discreet.query.relations import (
    VALUES,
    Aggregated,
    BoundedUnits,
    Filter,
    Join,
    Named,
    Project,
    Relation,
    Scan,
    SemiJoin,
    Table,
    Valued,
    folded,
)
from discreet.query.types import Type

Scope = Sequence[frozenset[str]]
"""The folded names of each visible table, from left to right; a subquery may have none."""

_NESTED: Final = frozenset({"AND", "OR"})
SORTED: Final = frozenset({"AND", "OR", "=", "<>", "+", "*", "LEAST", "GREATEST"})
_TURNED: Final = {">": "<", ">=": "<="}


def canonical(question: Question) -> str:
    """Return the one text of a question.

    >>> from discreet.query.sql.parse import read
    >>> one = read("SELECT COUNT(*) AS n FROM visits AS v WHERE v.age >= 18 AND v.ward = 'A'")
    >>> two = read("select count(*) as N from Visits where ('A' = ward) and 18.0 <= age")
    >>> canonical(one) == canonical(two)
    True
    """
    scope = visible(question.relation)
    data = {
        "relation": form(question.relation),
        "keys": [form(value, scope) for _, value in question.keys],
        "sets": question.sets,
        "outputs": _part(question.outputs, scope),
        "having": _part(question.having, scope),
        "values": _part(question.values, scope),
        "order": _part(question.order, scope),
        "limit": [question.limit, question.offset],
        "clause": form(question.clause or Clause(), scope),
    }
    if question.other:
        data["other"] = True
    return json.dumps(data, sort_keys=True, separators=(",", ":"))


def form(node: Node, scope: Scope = ()) -> list[Any]:  # noqa: PLR0911 (one each)
    """Return the one form of a node; expressions are over visible tables.

    >>> form(Call(">", (Column("Age", "v"), Literal(18))), [frozenset({"v"})])
    ['call', '<', [['literal', 'INTEGER', '18'], ['column', 0, 'age']]]
    >>> form(Named(Table("Visits"), "v"))
    ['table', 'visits']
    """
    match node:
        case Column(name=name, table=table):
            return ["column", _place(table, scope), folded(name)]
        case Star(table=table) if table is not None:
            return ["star", _place(table, scope)]
        case Literal(value=value, type=known):
            text = value.isoformat() if isinstance(value, date) else str(value)
            return ["literal", None if known is None else known.value, text]
        case Call():
            return _call(node, scope)
        case Named(child=child):
            return form(child)
        case Project(child=child, outputs=((_, Star(table=None)),)) if len(visible(child)) == 1:
            return form(child)
    kind: Any = type(node)
    names = _compared(kind)
    parts = [_part(getattr(node, name), _inside(node, name, scope)) for name in names]
    if isinstance(node, Window):
        parts[names.index("partition")].sort(key=repr)
    if isinstance(node, SemiJoin) and node.compared is not None:
        parts[names.index("compared")][0] = form(node.compared[0], visible(node.left))
    return [kind.__name__.lower(), *parts]


@cache
def _compared(kind: Any) -> tuple[str, ...]:
    """Return the names of the fields that equality compares."""
    return tuple(item.name for item in fields(kind) if item.compare and item.init)


def _part(value: Any, scope: Scope) -> Any:
    match value:
        case Node():
            return form(value, scope)
        case tuple():
            return [_part(each, scope) for each in value]
        case str():
            return folded(value)
        case Fraction():
            return str(value)
        case Type():
            return value.value
        case _:
            return value


def _inside(node: Node, name: str, scope: Scope) -> Scope:
    """Return the tables that a field of a node can name."""
    match node:
        case Filter(child=child) | Project(child=child) | Aggregated(child=child):
            return visible(child)
        case SemiJoin(left=left, right=right) | Valued(left=left, right=right):
            if name in {"totals", "value"}:
                return visible(right) if name == "totals" else [frozenset()]
            return [*visible(left), *visible(right)]
        case Join():
            return visible(node)
        case _:
            return scope


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
        case Filter(child=child) | BoundedUnits(child=child) | SemiJoin(left=child):
            return visible(child)
        case Join(left=left, right=right):
            return [*visible(left), *visible(right)]
        case Valued(left=left):
            return [*visible(left), frozenset({folded(VALUES)})]
        case _:
            return [frozenset()]


def _place(table: str | None, scope: Scope) -> int | str | None:
    """Return the place of the table that a qualifier names; of the only one without any."""
    if table is None:
        return 0 if len(scope) == 1 else None
    places = [place for place, names in enumerate(scope) if folded(table) in names]
    return places[0] if len(places) == 1 else folded(table)


def _call(call: Call, scope: Scope) -> list[Any]:
    name = call.function
    arguments = call.arguments
    if name in _NESTED:
        arguments = tuple(_operands(name, arguments))
    if name in _TURNED:
        name, arguments = _TURNED[name], arguments[::-1]
    forms = [form(argument, scope) for argument in arguments]
    if name == "IN":
        once = {repr(item): item for item in forms[1:]}
        forms = [forms[0], *(once[text] for text in sorted(once))]
    return ["call", name, sorted(forms, key=repr) if name in SORTED else forms]


def _operands(name: str, arguments: Sequence[Expression]) -> list[Expression]:
    """Return the operands of an operator, with those of the same operator inside."""
    operands: list[Expression] = []
    for argument in arguments:
        same = isinstance(argument, Call) and argument.function == name
        operands.extend(_operands(name, argument.children()) if same else [argument])
    return operands
