"""A question as people read it: its tree as indented text.

Trust: public.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from fractions import Fraction
from typing import assert_never

from discreet.query.expression_text import quoted, said, said_number, said_order
from discreet.query.expressions import Column
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
    SemiJoin,
    Table,
    UnionAll,
    Valued,
)


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
    if question.sets:
        named = (", ".join(keys[at] for at in each) for each in question.sets)
        lines.append(("sets", ", ".join(f"({each})" for each in named)))
    lines.append(("outputs", _listed(question.outputs, keys)))
    if question.having is not None:
        lines.append(("having", said(question.having, keys)))
    if question.order:
        lines.append(("order", said_order(question.order, keys)))
    if question.limit is not None:
        lines.append(("limit", str(question.limit)))
    if question.offset:
        lines.append(("offset", str(question.offset)))
    below = drawn_relation(question.relation).replace("\n", "\n" + " " * 8)
    lines.append(("from", below))
    for place, value in enumerate(question.values, start=1):
        lines.append((f"query {place}", drawn_relation(value).replace("\n", "\n" + " " * 8)))
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


def _line(relation: Relation) -> str:  # noqa: C901, PLR0911, PLR0912 (one for each kind)
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
        case SemiJoin(on=on, compared=compared, anti=anti):
            kind = "anti join" if anti else "semi join"
            pair = (
                "" if compared is None else f" comparing {said(compared[0])}, {said(compared[1])}"
            )
            return f"{kind}{pair}" + ("" if on is None else f" on {said(on)}")
        case Valued(name=name, value=value, totals=totals, on=on):
            met = "" if on is None else f" on {said(on)}"
            return f"value {quoted(name)} of {said(value)} from {_listed(totals)}{met}"
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
