"""The names of the columns of a SELECT.

Trust: public.

Definition.  A column is called by its alias; without one, a plain column keeps its name, an
aggregate is called after its function and its column, and anything else after its place.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from discreet.query.expressions import Aggregate, Column, Expression, Star
from discreet.query.relations import folded
from discreet.query.span import Span
from discreet.query.sql.refusals import unsupported
from discreet.query.sql.syntax import Item

__all__ = ["fresh", "output_names"]


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
        _chosen(item) or fresh(_made(item.expression, at), taken)
        for at, item in enumerate(items, start=1)
    )


def fresh(name: str, taken: set[str]) -> str:
    """Return a name that is not taken yet, and take it.

    >>> fresh("count", {"count"})
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
