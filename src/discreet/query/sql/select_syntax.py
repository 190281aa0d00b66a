"""One SELECT as it is written, before groups are worked out, and the names of its columns.

Trust: public.  Plan and engine read one tree, so what is misread here costs meaning, never privacy.

Definition.  A column is called by its alias; without one, a plain column keeps its name, an
aggregate is called after its function and its column, and anything else after its place.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import final

from discreet.query.expressions import Aggregate, Column, Expression, Order, Star
from discreet.query.node_checks import Node
from discreet.query.question import Clause
from discreet.query.relations import Relation, folded
from discreet.query.source_text import Span, unsupported


@final
@dataclass(frozen=True, slots=True)
class Item(Node):
    """One entry of a select list, or of GROUP BY.

    >>> Item(Column("ward")).alias is None
    True
    """

    expression: Expression
    alias: str | None = None


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenQuery:
    """A subquery of WHERE or HAVING: the right side of a semi join, without its left one.

    One that stands for a value has ``value`` and ``totals``, as in a Valued.

    >>> from discreet.query.relations import Table
    >>> WrittenQuery(right=Table("wards")).on is None
    True
    """

    right: Relation
    on: Expression | None = None
    compared: tuple[Expression, Expression] | None = None
    value: Expression | None = None
    totals: tuple[tuple[str, Aggregate], ...] = ()
    span: Span | None = None


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Select(Node):
    """The parts of a SELECT.

    ``group`` is None without GROUP BY; ``every`` stands for GROUP BY ALL.  ``inner_queries`` are
    those that ``where`` and ``having`` hold, by their places.

    >>> from discreet.query.relations import Table
    >>> Select(items=(Item(Column("ward")),), source=Table("visits")).group is None
    True
    """

    items: tuple[Item, ...]
    source: Relation
    where: Expression | None = None
    inner_queries: tuple[WrittenQuery, ...] = ()
    group: tuple[Item, ...] | None = None
    every: bool = False
    having: Expression | None = None
    order: tuple[Order, ...] = ()
    limit: int | None = None
    offset: int = 0
    distinct: bool = False
    clause: Clause | None = None
    span: Span | None = None
    limit_span: Span | None = None

    @property
    def limited(self) -> bool:
        """Whether some groups are left out by their place in the order."""
        return self.limit is not None or self.offset > 0


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
        _chosen(item) or fresh_name(_made(item.expression, place), taken)
        for place, item in enumerate(items, start=1)
    )


def fresh_name(name: str, taken: set[str]) -> str:
    """Return a name that is not taken yet, and take it.

    >>> fresh_name("count", {"count"})
    'count_2'
    """
    fresh, number = name, 1
    while folded(fresh) in taken:
        number += 1
        fresh = f"{name}_{number}"
    taken.add(folded(fresh))
    return fresh


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
