"""One SELECT as it is written, the names of its columns, and its groups worked out.

Trust: public.  Plan and engine read one tree, so what is misread here costs meaning, never privacy.

Definition.  A column is called by its alias; without one, a plain column keeps its name, an
aggregate is called after its function and its column, and anything else after its place.

Definition.  A name in GROUP BY, HAVING or ORDER BY is that of an output first, and of a column of
the tables second; a whole number in GROUP BY or ORDER BY is the place of an output.  An expression
is the key that it equals but for case, parentheses and, with a single table, its qualifier.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final, final

from discreet.query.expressions import (
    Aggregate,
    Call,
    Column,
    Expression,
    Grouped,
    Literal,
    Order,
    Star,
    Window,
    transformed,
    walk,
)
from discreet.query.node_checks import Node, check_size
from discreet.query.question import Clause
from discreet.query.relations import Join, Output, Relation, folded
from discreet.query.row_level import only_rows
from discreet.query.source_text import CLAUSES, Span, unsupported
from discreet.query.types import NUMBERS

FLAT: Final = frozenset({"AND", "OR", "CONCAT"})
"""The operators that are associative."""


def flat_operands(name: str, part: Expression) -> list[Expression]:
    """Return the operands of an operator of this name, or the expression alone.

    >>> from discreet.query.expressions import Column
    >>> flat_operands("AND", Call("AND", (Column("a"), Column("b"))))
    [Column(name='a', table=None), Column(name='b', table=None)]
    """
    same = name in FLAT and isinstance(part, Call) and part.function == name
    return list(part.children()) if same else [part]


def both(first: Expression | None, second: Expression, span: Span | None = None) -> Expression:
    """Return a condition that is true if both are; the first may be missing.

    >>> from discreet.query.expressions import Column
    >>> both(Column("a"), Column("b")).function
    'AND'
    """
    if first is None:
        return second
    parts = (*flat_operands("AND", first), *flat_operands("AND", second))
    return Call("AND", parts, span=span)


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


@final
@dataclass(frozen=True, slots=True)
class GroupedSelect:
    """The keys, and the outputs, condition and order over keys and aggregates."""

    keys: tuple[Output, ...]
    outputs: tuple[Output, ...]
    having: Expression | None
    order: tuple[Order, ...]


def has_groups(select: Select) -> bool:
    """Whether a SELECT speaks of groups, not of rows.

    >>> from discreet.query.relations import Table
    >>> has_groups(Select(items=(Item(Aggregate("COUNT")),), source=Table("visits")))
    True
    """
    above = [item.expression for item in select.items]
    if select.having is not None:
        above.append(select.having)
    nodes = (node for expression in above for node in walk(expression))
    return select.group is not None or any(isinstance(node, Aggregate) for node in nodes)


def groups(select: Select) -> GroupedSelect:
    """Work out the groups of a SELECT.

    >>> from discreet.query.relations import Table
    >>> ward = Item(Column("Ward"))
    >>> groups(Select(items=(ward,), source=Table("v"), group=(Item(Column("ward")),))).outputs
    (('Ward', Grouped(at=0)),)
    """
    single = not isinstance(select.source, Join)
    keys = {_plain(key.expression, single=single): key for key in group_items(select)}
    places = {plain: place for place, plain in enumerate(keys)}
    names = output_names(select.items, select.span)
    values = [_above(item.expression, places, {}, single=single) for item in select.items]
    outputs = tuple(zip(names, values, strict=True))
    aliases = {folded(name): value for name, value in outputs}

    def above(expression: Expression) -> Expression:
        return _above(expression, places, aliases, single=single)

    if select.having is not None:
        _without_windows(select.having, "HAVING")
    order = tuple(
        replace(item, expression=_placed(item.expression, values) or above(item.expression))
        for item in select.order
    )
    having = None if select.having is None else above(select.having)
    if values:
        check_size(*values, *(item.expression for item in order), having or values[0])
    return GroupedSelect(_key_names(tuple(keys.values()), outputs), outputs, having, order)


def group_items(select: Select) -> list[Item]:
    """Return what each entry of GROUP BY stands for.

    >>> from discreet.query.relations import Table
    >>> ward = Item(Column("ward"), "w")
    >>> rows = Select(items=(ward,), source=Table("v"), group=(Item(Literal(1)),))
    >>> group_items(rows)[0].expression
    Column(name='ward', table=None)
    """
    if select.every:
        keys = [item for item in select.items if not _holds_aggregate(item.expression)]
    else:
        keys = [_key(entry, select.items) for entry in select.group or ()]
    for item in keys:
        only_rows(item.expression, place="GROUP BY")
    return keys


def _key(entry: Item, items: tuple[Item, ...]) -> Item:
    expression = entry.expression
    meant = entry
    if isinstance(expression, Column) and expression.table is None:
        aliases = {folded(item.alias): item for item in items if item.alias is not None}
        meant = aliases.get(folded(expression.name), entry)
    elif (place := _place(expression, len(items))) is not None:
        meant = items[place]
    if _holds_aggregate(meant.expression):
        raise unsupported(
            expression.span,
            "this output is an aggregate, not a key.",
            ("groups are made before anything is added up.", "group by columns of the table."),
        )
    return replace(entry, expression=meant.expression, alias=entry.alias or meant.alias)


def _holds_aggregate(expression: Expression) -> bool:
    return any(isinstance(node, Aggregate) for node in walk(expression))


def _placed(expression: Expression, values: list[Expression]) -> Expression | None:
    """Return the output at the place that a number names."""
    place = _place(expression, len(values))
    return None if place is None else values[place]


def _place(expression: Expression, count: int) -> int | None:
    """Return the place, from 0, that a written number names; None if it is no number."""
    if not isinstance(expression, Literal) or expression.type not in NUMBERS:
        return None
    value = expression.value
    if type(value) is not int or not 1 <= value <= count:
        raise unsupported(
            expression.span,
            "there is no output at this place.",
            ("a number stands for the place of an output, from 1.", "name the column."),
        )
    return value - 1


def _plain(expression: Expression, *, single: bool) -> Expression:
    """Return the one form in which expressions are compared."""

    def plain(node: Expression) -> Expression | None:
        if not isinstance(node, Column):
            return None
        table = None if single or node.table is None else folded(node.table)
        return Column(folded(node.name), table)

    return transformed(expression, plain)


def _above(
    expression: Expression,
    places: Mapping[Expression, int],
    aliases: Mapping[str, Expression],
    *,
    single: bool,
) -> Expression:
    """Return an expression in terms of keys, aggregates and outputs."""

    def above(node: Expression) -> Expression | None:
        if isinstance(node, Aggregate):
            for inner in node.children():
                only_rows(inner, place="an aggregate")
            return node
        if isinstance(node, Column) and node.table is None and folded(node.name) in aliases:
            return aliases[folded(node.name)]
        place = places.get(_plain(node, single=single))
        if place is not None:
            return Grouped(place, span=node.span)
        if isinstance(node, Window):
            for inner in node.children():
                _without_windows(inner, "a window")
        _refuse_rows(node)
        return None

    return check_size(transformed(expression, above))


def _without_windows(expression: Expression, place: str) -> None:
    """Refuse windows: groups are chosen, and windows are read, before there are any."""
    for node in walk(expression):
        if isinstance(node, Window):
            raise unsupported(node.span, f"a window stands in {place}.", CLAUSES["QUALIFY"])


def _refuse_rows(node: Expression) -> None:
    """Refuse what belongs to single rows."""
    if isinstance(node, Column):
        raise unsupported(
            node.span,
            f"{node.name} is neither a key nor inside an aggregate.",
            (
                "an answer is about groups; the value of a single row is somebody's.",
                f"add it to GROUP BY, written alike, or aggregate it, as in AVG({node.name}).",
            ),
        )
    if isinstance(node, Star):
        raise unsupported(
            node.span,
            "the star asks for the rows themselves.",
            ("an answer is about groups, not about single rows.", "write COUNT(*), or keys."),
        )


def _key_names(keys: tuple[Item, ...], outputs: tuple[Output, ...]) -> tuple[Output, ...]:
    """Name each key after its output, its column or its place."""
    shown = {value.at: name for name, value in reversed(outputs) if isinstance(value, Grouped)}
    taken: set[str] = set()
    named: list[Output] = []
    for place, key in enumerate(keys):
        plain = key.expression.name if isinstance(key.expression, Column) else f"key_{place + 1}"
        named.append((fresh_name(shown.get(place, key.alias or plain), taken), key.expression))
    return tuple(named)
