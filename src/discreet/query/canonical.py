"""The one text of a question: what its digest is made of.

Trust: kernel.  Two expressions with the same form are held to be the same.  Two questions with the
same text are held to be the same, and are answered once.

Definition.  A form is a nested list that begins with the kind of its node.  Names are folded, and a
qualifier is replaced by the place of its table among those that are visible.  Operands whose order
cannot change the result, not even in its last bit, are sorted.

Definition.  The text is JSON.  It does not tell apart questions that differ in space, comments, the
case of names, aliases of tables, parentheses, the spelling of numbers, the order of the operands of
AND, OR, =, <>, + and * and of the list of IN, the side on which a comparison is written, or in
defaults that are spelled out.  It tells apart everything else; the names of outputs and their order
matter.  Every node is a list that begins with its kind, so that different trees have different
texts.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import fields
from datetime import date
from fractions import Fraction
from typing import Any, Final, assert_never

from discreet.query.expressions import (
    Aggregate,
    Call,
    Case,
    Cast,
    Column,
    Expression,
    Grouped,
    InnerQuery,
    Literal,
    Order,
    Star,
    Window,
)
from discreet.query.question import Clause, Question
from discreet.query.relations import (
    VALUES,
    Aggregated,
    BoundedUnits,
    Distinct,
    Filter,
    Join,
    Named,
    Output,
    Project,
    Relation,
    Scan,
    SemiJoin,
    Table,
    UnionAll,
    Valued,
    folded,
)

Scope = Sequence[frozenset[str]]
"""The folded names of each visible table, from left to right; a subquery may have none."""

Form = list[Any]

_NESTED: Final = frozenset({"AND", "OR"})
_SORTED: Final = frozenset({"AND", "OR", "=", "<>", "+", "*", "LEAST", "GREATEST"})
_TURNED: Final = {">": "<", ">=": "<="}


def form(expression: Expression, scope: Scope) -> Form:  # noqa: C901, PLR0911 (one for each)
    """Return the one form of an expression over visible tables.

    >>> form(Call(">", (Column("Age", "v"), Literal(18))), [frozenset({"v"})])
    ['call', '<', ['literal', 'INTEGER', '18'], ['column', 0, 'age']]
    """
    match expression:
        case Column(name=name, table=table):
            return ["column", _place(table, scope), folded(name)]
        case Literal(value=value, type=kind):
            return ["literal", None if kind is None else kind.value, _written(value)]
        case Call():
            return _call(expression, scope)
        case Case(branches=branches, default=default):
            listed = [[form(when, scope), form(then, scope)] for when, then in branches]
            return ["case", listed, _perhaps(default, scope)]
        case Cast(argument=argument, to=to):
            return ["cast", to.value, form(argument, scope)]
        case Window():
            return _window(expression, scope)
        case Aggregate():
            return _aggregate(expression, scope)
        case Grouped(at=at):
            return ["key", at]
        case Star(table=table):
            return ["star", None if table is None else _place(table, scope)]
        case InnerQuery(at=at):
            return ["subquery", at]
        case _:
            assert_never(expression)


def _place(table: str | None, scope: Scope) -> int | str | None:
    """Return the place of the table that a qualifier names; of the only one without any."""
    if table is None:
        return 0 if len(scope) == 1 else None
    places = [place for place, names in enumerate(scope) if folded(table) in names]
    return places[0] if len(places) == 1 else folded(table)


def _written(value: object) -> str:
    return value.isoformat() if isinstance(value, date) else str(value)


def _call(call: Call, scope: Scope) -> Form:
    name = call.function
    arguments = call.arguments
    if name in _NESTED:
        arguments = tuple(_operands(name, arguments))
    if name in _TURNED:
        name, arguments = _TURNED[name], arguments[::-1]
    forms = [form(argument, scope) for argument in arguments]
    if name == "IN":
        forms = [forms[0], *_once(forms[1:])]
    return ["call", name, *(_sorted(forms) if name in _SORTED else forms)]


def _operands(name: str, arguments: Sequence[Expression]) -> list[Expression]:
    """Return the operands of an operator, with those of the same operator inside."""
    operands: list[Expression] = []
    for argument in arguments:
        same = isinstance(argument, Call) and argument.function == name
        operands.extend(_operands(name, argument.children()) if same else [argument])
    return operands


def _sorted(forms: Sequence[Form]) -> list[Form]:
    if len(forms) == 2 and forms[0][0] != forms[1][0]:
        return [*forms] if forms[0][0] < forms[1][0] else [forms[1], forms[0]]
    if len({item[0] for item in forms}) == len(forms):  # texts differ in their first words
        return sorted(forms, key=_kind)
    return sorted(forms, key=json.dumps)


def _kind(item: Form) -> str:
    return str(item[0])


def _once(forms: Sequence[Form]) -> list[Form]:
    return [json.loads(text) for text in sorted({json.dumps(item) for item in forms})]


def _perhaps(expression: Expression | None, scope: Scope) -> Form | None:
    return None if expression is None else form(expression, scope)


def _window(window: Window, scope: Scope) -> Form:
    return [
        "window",
        window.function,
        [form(part, scope) for part in window.arguments],
        _sorted([form(part, scope) for part in window.partition]),
        _order(window.order, scope),
    ]


def _order(order: Sequence[Order], scope: Scope) -> list[Form]:
    return [[form(item.expression, scope), item.descending, item.nulls_first] for item in order]


def _aggregate(total: Aggregate, scope: Scope) -> Form:
    return [
        "aggregate",
        total.function,
        _perhaps(total.argument, scope),
        total.distinct,
        _perhaps(total.where, scope),
        None if total.parameter is None else str(total.parameter),
        _pair(total.bounds_per_group),
        _pair(total.bounds_per_row),
        None if total.epsilon is None else str(total.epsilon),
    ]


def _pair(pair: tuple[Fraction, Fraction] | None) -> list[str] | None:
    return None if pair is None else [str(end) for end in pair]


VERSION: Final = 1
"""Counted up whenever some question gets another text."""


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
        "version": VERSION,
        "relation": relation_form(question.relation),
        "keys": [form(value, scope) for _, value in question.keys],
        "outputs": _outputs(question.outputs, scope),
        "having": _perhaps(question.having, scope),
        "order": _order(question.order, scope),
        "limit": question.limit,
        **({"offset": question.offset} if question.offset else {}),
        **({"values": list(map(relation_form, question.values))} if question.values else {}),
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
        case Filter(child=child) | BoundedUnits(child=child) | SemiJoin(left=child):
            return visible(child)
        case Join(left=left, right=right):
            return [*visible(left), *visible(right)]
        case Valued(left=left):
            return [*visible(left), frozenset({folded(VALUES)})]
        case _:
            return [frozenset()]


def relation_form(relation: Relation) -> Form:  # noqa: C901, PLR0911, PLR0912 (one each)
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
        case BoundedUnits(child=child, unit=unit, rows=rows, text_bytes=text_bytes):
            names = [folded(name) for name in unit]
            return ["bounded units", relation_form(child), names, rows, text_bytes]
        case Filter(child=child, predicate=predicate):
            return ["filter", relation_form(child), form(predicate, visible(child))]
        case Project(child=child, outputs=outputs):
            scope = visible(child)
            if len(scope) == 1 and [value for _, value in outputs] == [Star()]:
                return relation_form(child)
            return ["project", relation_form(child), _outputs(outputs, scope)]
        case Join():
            return _join(relation)
        case SemiJoin():
            return _semi_join(relation)
        case Valued():
            return _valued(relation)
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


def _semi_join(join: SemiJoin) -> list[Any]:
    left, right = visible(join.left), visible(join.right)
    below = [relation_form(join.left), relation_form(join.right)]
    compared = None
    if join.compared is not None:
        compared = [form(join.compared[0], left), form(join.compared[1], [*left, *right])]
    on = None if join.on is None else form(join.on, [*left, *right])
    return ["semi join", join.anti, *below, on, compared]


def _valued(node: Valued) -> list[Any]:
    left, right = visible(node.left), visible(node.right)
    below = [relation_form(node.left), relation_form(node.right)]
    on = None if node.on is None else form(node.on, [*left, *right])
    value = form(node.value, [frozenset()])
    return ["value", folded(node.name), *below, on, value, _outputs(node.totals, right)]


def _outputs(outputs: tuple[Output, ...], scope: Scope) -> list[list[Any]]:
    return [[folded(name), form(value, scope)] for name, value in outputs]


def _clause(clause: Clause, scope: Scope) -> dict[str, Any]:
    options: dict[str, Any] = {}
    for item in fields(clause):
        value = getattr(clause, item.name)
        if value is None or item.name == "span":
            continue
        if isinstance(value, Fraction):
            value = str(value)
        elif isinstance(value, Column):
            value = form(value, scope)
        options[item.name] = value
    return options
