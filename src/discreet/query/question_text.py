"""A question as people read it: the names of its columns, and its tree as indented text.

Trust: public.

Definition.  A column is called by its alias; without one, a plain column keeps its name, an
aggregate is called after its function and its column, and anything else after its place.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import fields
from fractions import Fraction
from typing import assert_never

from discreet.query.expression_text import quoted, said, said_number, said_order
from discreet.query.expressions import Aggregate, Column, Expression, Star
from discreet.query.question import Clause, Question
from discreet.query.relations import (
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
    Table,
    UnionAll,
    folded,
)
from discreet.query.source_text import Span, unsupported
from discreet.query.sql.select_syntax import Item

__all__ = ["drawn", "drawn_relation", "fresh_name", "output_names"]


def output_names(items: tuple[Item, ...], span: Span | None) -> tuple[str, ...]:
    """Return the names of a select list; two that a person chose must differ.

    >>> from discreet.query.expressions import Literal
    >>> output_names((Item(Column("ward")), Item(Aggregate("COUNT")), Item(Literal(1))), None)
    ('ward', 'count', 'column_3')
    """
    chosen: set[str] = set()
    for item in items:
        name = _chosen(item)
        if name is None or isinstance(item.expression, Star):
            continue
        if folded(name) in chosen:
            raise unsupported(
                item.expression.span or span,
                f"two columns are called {name}.",
                ("each column of an answer has its own name.", "name one with AS."),
            )
        chosen.add(folded(name))
    taken = set(chosen)
    return tuple(
        _chosen(item) or fresh_name(_made(item.expression, at), taken)
        for at, item in enumerate(items, start=1)
    )


def fresh_name(name: str, taken: set[str]) -> str:
    """Return a name that is not taken yet, and take it.

    >>> fresh_name("count", {"count"})
    'count_2'
    """
    found, number = name, 1
    while folded(found) in taken:
        number += 1
        found = f"{name}_{number}"
    taken.add(folded(found))
    return found


def _chosen(item: Item) -> str | None:
    """Return the name that stands in the text."""
    match item.expression:
        case _ if item.alias is not None:
            return item.alias
        case Column(name=name):
            return name
        case Star():
            return "*"
        case _:
            return None


def _made(expression: Expression, place: int) -> str:
    if not isinstance(expression, Aggregate):
        return f"column_{place}"
    return "_".join(_words(expression))


def _words(total: Aggregate) -> Iterable[str]:
    median = total.function == "PERCENTILE_CONT" and total.parameter == Fraction(1, 2)
    yield "median" if median else total.function.lower()
    if total.distinct:
        yield "distinct"
    if isinstance(total.argument, Column):
        yield total.argument.name


def drawn(question: Question) -> str:
    """Return a question as text, one part a line, the relation below.

    >>> from discreet.query.sql.parse import read
    >>> print(drawn(read("SELECT ward, COUNT(*) AS n FROM visits WHERE age > 17 GROUP BY 1")))
    keys    ward
    outputs <ward> AS ward, COUNT(*) AS n
    from    filter age > 17
              table visits
    """
    keys = tuple(name for name, _ in question.keys)
    lines = [("clause", _clause(question.clause))] if question.clause is not None else []
    if question.keys:
        lines.append(("keys", _listed(question.keys)))
    lines.append(("outputs", _listed(question.outputs, keys)))
    if question.having is not None:
        lines.append(("having", said(question.having, keys)))
    if question.order:
        lines.append(("order", said_order(question.order, keys)))
    if question.limit is not None:
        lines.append(("limit", str(question.limit)))
    below = drawn_relation(question.relation).replace("\n", "\n" + " " * 8)
    lines.append(("from", below))
    return "\n".join(f"{name:<7} {text}" for name, text in lines)


def drawn_relation(relation: Relation) -> str:
    """Return a relation as indented text.

    >>> print(drawn_relation(Distinct(Table("wards"))))
    distinct
      table wards
    """
    return "\n".join(_lines(relation, 0))


def _lines(relation: Relation, depth: int) -> Iterator[str]:
    yield "  " * depth + _line(relation)
    for child in relation.children():
        yield from _lines(child, depth + 1)


def _line(relation: Relation) -> str:  # noqa: C901, PLR0911 (one for each kind)
    match relation:
        case Table(name=name):
            return f"table {name}"
        case Scan(table=table, columns=columns):
            return f"scan {table} ({', '.join(f'{name} {kind.value}' for name, kind in columns)})"
        case Named(alias=alias):
            return f"named {quoted(alias)}"
        case Filter(predicate=predicate):
            return f"filter {said(predicate)}"
        case Project(outputs=outputs):
            return f"project {_listed(outputs)}"
        case Join(kind=kind, on=on, using=using):
            how = f" using {', '.join(using)}" if using else ""
            return f"{kind} join{how}" + ("" if on is None else f" on {said(on)}")
        case Aggregated(keys=keys, outputs=outputs):
            by = f" by {_listed(keys)}" if keys else ""
            return f"aggregate {_listed(outputs)}{by}"
        case Distinct():
            return "distinct"
        case UnionAll():
            return "union all"
        case BoundedUnits():
            return "rows of units with few rows"
        case _:
            assert_never(relation)


def _listed(outputs: tuple[Output, ...], keys: tuple[str, ...] = ()) -> str:
    return ", ".join(
        said(value, keys)
        if name == "*" or value == Column(name)
        else f"{said(value, keys)} AS {quoted(name)}"
        for name, value in outputs
    )


def _clause(clause: Clause) -> str:
    given = ((item.name, getattr(clause, item.name)) for item in fields(clause))
    return ", ".join(
        f"{name} = {_option(value)}"
        for name, value in given
        if value is not None and name != "span"
    )


def _option(value: object) -> str:
    match value:
        case Fraction():
            return said_number(value)
        case Column():
            return said(value)
        case _:
            return str(value)
