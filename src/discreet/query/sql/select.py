"""One SELECT as it is written: the names of its columns, its groups, and the relation that it is.

Trust: public.  Plan and engine read one tree, so what is misread here costs meaning, never privacy.

Definition.  A column is called by its alias; without one, a plain column keeps its name, an
aggregate is called after its function and its column, and anything else after its place.

Definition.  A name in GROUP BY, HAVING or ORDER BY is that of an output first, and of a column of
the tables second; a whole number in GROUP BY or ORDER BY is the place of an output.  An expression
is the key that it equals but for case, parentheses and, with a single table, its qualifier.

Theorem.  WHERE keeps the rows for which all its conditions are true.  ``EXISTS (...)`` is never
NULL, and ``NOT`` before it turns a semi join into an anti join.  ``x IN (...)`` is true if some
value of the subquery equals x, which is a semi join.  It is false if all values of the subquery are
known to differ from x: ``x NOT IN (...)`` keeps the rows for which no value is equal, or NULL, or
compared with an x that is NULL, which is an anti join of rows for which equality is not false.
So each of them can be computed by itself, if it is one of several conditions joined by AND.
A subquery that stands for one value is a column of the rows that it is compared with.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import final

from discreet.errors import UnsupportedSQL
from discreet.query.expressions import (
    Aggregate,
    Call,
    Column,
    Expression,
    Grouped,
    Grouping,
    InnerQuery,
    Literal,
    Order,
    Star,
    Window,
    check_row,
    check_size,
    conjunction,
    conjuncts,
    holds,
    transformed,
    walk,
)
from discreet.query.functions import PLAIN
from discreet.query.nodes import Node, size_of
from discreet.query.question import Clause
from discreet.query.relations import (
    VALUES,
    Aggregated,
    Distinct,
    Filter,
    Join,
    Output,
    Project,
    Relation,
    SemiJoin,
    UnionAll,
    Valued,
    folded,
)
from discreet.query.source_text import CLAUSES, Span, inner_query_refused, unsupported
from discreet.query.types import NUMBERS


@final
@dataclass(frozen=True, slots=True)
class Item(Node):
    """One entry of a select list, or of GROUP BY."""

    expression: Expression
    alias: str | None = None


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenQuery:
    """A subquery of WHERE or HAVING: the right side of a semi join, without its left one.

    One that stands for a value has ``value`` and ``totals``, as in a Valued.
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

    ``group`` is None without GROUP BY; ``every`` stands for GROUP BY ALL.  ``sets`` are the
    grouping sets, by the places of their keys in ``group``; without any all keys are one.
    ``inner_queries`` are those that ``where`` and ``having`` hold, by their places.
    """

    items: tuple[Item, ...]
    source: Relation
    where: Expression | None = None
    inner_queries: tuple[WrittenQuery, ...] = ()
    group: tuple[Item, ...] | None = None
    every: bool = False
    sets: tuple[tuple[int, ...], ...] = ()
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
    """Return the names of a select list; two that a person chose must differ."""
    chosen: set[str] = set()
    for item in items:
        name = _chosen(item)
        if name is None or isinstance(item.expression, Star):
            continue
        if folded(name) in chosen:
            raise unsupported(
                item.expression.span or span,
                f"two columns are called {name}.",
                "each column of an answer has its own name.",
                "name one with AS.",
            )
        chosen.add(folded(name))
    taken = set(chosen)
    return tuple(
        _chosen(item) or fresh_name(_made(item.expression, place), taken)
        for place, item in enumerate(items, start=1)
    )


def fresh_name(name: str, taken: set[str]) -> str:
    """Return a name that is not taken yet, and take it."""
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
    """Name an aggregate after its function and column, and anything else after its place."""
    if not isinstance(expression, Aggregate):
        return f"column_{place}"
    median = expression.function == "PERCENTILE_CONT" and expression.parameter == Fraction(1, 2)
    words = ["median" if median else expression.function.lower()]
    words += ["distinct"] if expression.distinct else []
    words += [expression.argument.name] if isinstance(expression.argument, Column) else []
    return "_".join(words)


@final
@dataclass(frozen=True, slots=True)
class GroupedSelect:
    """The keys, and the outputs, condition and order over keys and aggregates."""

    keys: tuple[Output, ...]
    outputs: tuple[Output, ...]
    having: Expression | None
    order: tuple[Order, ...]
    sets: tuple[tuple[int, ...], ...] = ()


def has_groups(select: Select) -> bool:
    """Whether a SELECT speaks of groups, not of rows."""
    above = [*(item.expression for item in select.items), select.having or Literal(None)]
    return select.group is not None or any(holds(each, Aggregate) for each in above)


def groups(select: Select) -> GroupedSelect:
    """Work out the groups of a SELECT."""
    single = not isinstance(select.source, Join)
    entries = group_items(select)
    keys = {_plain(key.expression, single=single): key for key in entries}
    places = {plain: place for place, plain in enumerate(keys)}
    spots = [places[_plain(key.expression, single=single)] for key in entries]
    sets = sorted({tuple(sorted({spots[at] for at in each})) for each in select.sets})
    several = tuple(sets) if len(sets) > 1 else ()
    called: dict[Expression, int] = {
        Column(folded(key.alias)): at for at, key in enumerate(keys.values()) if key.alias
    }

    def leveled(expression: Expression) -> Expression:
        return _with_groupings(expression, called | places, several, single=single)

    names = output_names(select.items, select.span)
    values = [_above(leveled(item.expression), places, {}, single=single) for item in select.items]
    outputs = tuple(zip(names, values, strict=True))
    aliases = {folded(name): value for name, value in outputs}

    def above(expression: Expression) -> Expression:
        return _above(leveled(expression), places, aliases, single=single)

    if select.having is not None:
        _without_windows(select.having, "HAVING")
    order = tuple(
        replace(item, expression=_placed(item.expression, values) or above(item.expression))
        for item in select.order
    )
    having = None if select.having is None else above(select.having)
    if values:
        size_of(*values, *(item.expression for item in order), having or values[0])
    named = _key_names(tuple(keys.values()), outputs)
    return GroupedSelect(named, outputs, having, order, several)


def _with_groupings(
    expression: Expression,
    places: Mapping[Expression, int],
    sets: tuple[tuple[int, ...], ...],
    *,
    single: bool,
) -> Expression:
    """Return an expression with GROUPING of keys by their numbers."""

    def numbered(node: Expression) -> Expression | None:
        if not isinstance(node, Grouping):
            return None
        at = places.get(_plain(node.argument, single=single))
        if at is None:
            raise unsupported(
                node.span,
                "GROUPING is about something that is not a key.",
                "it tells whether the values of a key are added up.",
                "give it an expression of GROUP BY ROLLUP, CUBE or GROUPING SETS.",
            )
        if not sets:
            raise unsupported(
                node.span,
                "GROUPING stands in a question with one kind of groups.",
                "no key is totaled there.",
                "leave it out, or write GROUP BY ROLLUP, CUBE or GROUPING SETS.",
            )
        return Grouping(Grouped(at, span=node.argument.span), span=node.span)

    return transformed(expression, numbered)


def group_items(select: Select) -> list[Item]:
    """Return what each entry of GROUP BY stands for."""
    if select.every:
        keys = [item for item in select.items if not holds(item.expression, Aggregate)]
    else:
        keys = [_key(entry, select.items) for entry in select.group or ()]
    for item in keys:
        check_row(item.expression, "GROUP BY")
    return keys


def _key(entry: Item, items: tuple[Item, ...]) -> Item:
    expression = entry.expression
    meant = entry
    if isinstance(expression, Column) and expression.table is None:
        aliases = {folded(item.alias): item for item in items if item.alias is not None}
        meant = aliases.get(folded(expression.name), entry)
    elif (place := _place(expression, len(items))) is not None:
        meant = items[place]
    if holds(meant.expression, Aggregate):
        raise unsupported(
            expression.span,
            "this output is an aggregate, not a key.",
            "groups are made before anything is added up.",
            "group by columns of the table.",
        )
    return replace(entry, expression=meant.expression, alias=entry.alias or meant.alias)


def _placed(expression: Expression, values: list[Expression]) -> Expression | None:
    """Return the output at the place that a number names."""
    place = _place(expression, len(values))
    return None if place is None else values[place]


def _place(expression: Expression, count: int) -> int | None:
    """Return the place, from 0, that a written number names; None if it is not a number."""
    if not isinstance(expression, Literal) or expression.type not in NUMBERS:
        return None
    value = expression.value
    if type(value) is not int or not 1 <= value <= count:
        raise unsupported(
            expression.span,
            "there is no output at this place.",
            "a number stands for the place of an output, from 1.",
            "name the column.",
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
        if isinstance(node, Aggregate | Grouping):
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
            raise unsupported(node.span, f"a window is used in {place}.", *CLAUSES["QUALIFY"])


def _refuse_rows(node: Expression) -> None:
    """Refuse what belongs to single rows."""
    if isinstance(node, Column):
        raise unsupported(
            node.span,
            f"{node.name} is neither a key nor inside an aggregate.",
            "an answer is about groups; the value of a single row is somebody's.",
            f"add it to GROUP BY, written alike, or aggregate it, as in AVG({node.name}).",
        )
    if isinstance(node, Star):
        raise unsupported(
            node.span,
            "the star asks for the rows themselves.",
            "an answer is about groups, not about single rows.",
            "write COUNT(*), or keys.",
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


# --- subqueries -----------------------------------------------------------------------------------

Chosen = tuple[WrittenQuery, bool]
"""A subquery, and whether the rows that it does not meet are kept."""


def filtered(select: Select) -> Relation:
    """Return the rows of FROM that WHERE lets through."""
    plain, chosen, compared = split_where(select)
    relation = select.source
    if plain is not None:
        relation = Filter(relation, plain, span=plain.span)
    return with_values(semi_joined(relation, chosen), compared, select)


def semi_joined(relation: Relation, chosen: Sequence[Chosen]) -> Relation:
    """Return the rows of a relation that all subqueries let through."""
    for query, anti in chosen:
        relation = SemiJoin(
            relation, query.right, query.on, query.compared, anti=anti, span=query.span
        )
    return relation


def with_values(relation: Relation, conditions: Sequence[Expression], select: Select) -> Relation:
    """Return the rows of a relation for which conditions on values of subqueries are true."""
    for condition in conditions:
        places = [node.at for node in walk(condition) if isinstance(node, InnerQuery)]
        for place in dict.fromkeys(places):
            query = select.inner_queries[place]
            if query.value is None:
                raise inner_query_refused(query.span)
            relation = Valued(
                relation,
                query.right,
                f"value_{place + 1}",
                query.value,
                query.totals,
                query.on,
                span=query.span,
            )
        predicate = transformed(
            condition,
            lambda node: (
                Column(f"value_{node.at + 1}", VALUES, span=node.span)
                if isinstance(node, InnerQuery)
                else None
            ),
        )
        relation = Filter(relation, predicate, span=condition.span)
    return relation


def split_where(
    select: Select,
) -> tuple[Expression | None, list[Chosen], list[Expression]]:
    """Return the conditions on rows alone, the subqueries, and conditions on values of these."""
    plain: list[Expression] = []
    chosen: list[Chosen] = []
    compared: list[Expression] = []
    for part in conjuncts(select.where):
        inner, anti = part, False
        while isinstance(inner, Call) and inner.function == "NOT":
            inner, anti = inner.arguments[0], not anti
        if isinstance(inner, InnerQuery) and select.inner_queries[inner.at].value is None:
            chosen.append((select.inner_queries[inner.at], anti))
        elif holds(part, InnerQuery):
            compared.append(part)
        else:
            plain.append(part)
    if plain and not (chosen or compared):
        return select.where, chosen, compared
    return conjunction(plain), chosen, compared


def subquery_relation(select: Select) -> Relation:
    """Turn a SELECT of a subquery into a relation."""
    _refuse_top(select)
    relation = _aggregated(select) if has_groups(select) else _projected(select)
    return Distinct(relation, span=select.span) if select.distinct else relation


def written_query(
    query: Select | Relation, compared: Expression | None, span: Span
) -> WrittenQuery:
    """Turn a subquery of WHERE into the right side of a semi join; ``compared`` stands before IN.

    The conditions of a SELECT of rows are those of the join, where they may name columns of both
    sides.  A SELECT of groups, of windows, of different rows or of several parts is computed by
    itself.
    """
    if (
        not isinstance(query, Select)
        or query.distinct
        or has_groups(query)
        or any(holds(item.expression, Window) for item in query.items)
    ):
        right = subquery_relation(query) if isinstance(query, Select) else query
        named = None if compared is None else (compared, Column(_only_name(right, span)))
        return WrittenQuery(right=right, compared=named, span=span)
    _refuse_top(query)
    plain, chosen, values = split_where(query)
    if values and isinstance(query.source, Join):
        raise value_refused(values[0].span, "inside a subquery of several tables.")
    pair: tuple[Expression, Expression] | None = None
    if compared is not None:
        if len(query.items) != 1 or isinstance(query.items[0].expression, Star):
            raise _not_one(span)
        pair = (compared, query.items[0].expression)
    right = with_values(semi_joined(query.source, chosen), values, query)
    return WrittenQuery(right=right, on=plain, compared=pair, span=span)


def written_value(query: Select | Relation, span: Span) -> WrittenQuery:
    """Turn a subquery that stands for one value into totals of its rows, and a formula of them."""
    if not isinstance(query, Select) or query.group is not None or query.having is not None:
        raise value_refused(span, "over groups or several parts.")
    if query.distinct or query.order or query.limited:
        raise value_refused(span, "with DISTINCT, ORDER BY or LIMIT.")
    if len(query.items) != 1 or not has_groups(query):
        raise value_refused(span, "and is not a single aggregate.")
    _refuse_top(query)
    plain, chosen, values = split_where(query)
    if values:
        raise value_refused(span, "and holds another one.")
    totals: dict[Aggregate, str] = {}
    value = transformed(
        groups(query).outputs[0][1],
        lambda node: _total_column(node, totals) if isinstance(node, Aggregate) else None,
    )
    named = tuple((name, total) for total, name in totals.items())
    right = semi_joined(query.source, chosen)
    return WrittenQuery(right=right, on=plain, value=value, totals=named, span=span)


def one_value(query: WrittenQuery) -> Relation:
    """Return a subquery as a relation of one row and one column, if it stands for a value."""
    if query.value is None:  # a condition of WHERE, which nothing else refers to
        return query.right
    rows = query.right if query.on is None else Filter(query.right, query.on, span=query.span)
    total = Aggregated(rows, (), query.totals, span=query.span)
    return Project(total, (("value", query.value),), span=query.span)


def value_refused(span: Span | None, where: str) -> UnsupportedSQL:
    """Return the refusal of a subquery that stands for a value that is not one by its form."""
    return unsupported(
        span,
        f"a subquery stands for one value, {where}",
        "a value is one, for any contents of the tables, only as one aggregate of rows.",
        (
            "write (SELECT MAX(x) FROM ... WHERE ...) with one aggregate, or aggregate in a "
            "subquery of FROM, and join it."
        ),
    )


def _only_name(relation: Relation, span: Span) -> str:
    """Return the name of the only column of a subquery."""
    while isinstance(relation, Distinct | UnionAll):
        relation = relation.children()[0]
    outputs = relation.outputs if isinstance(relation, Project) else ()
    if len(outputs) != 1 or isinstance(outputs[0][1], Star):
        raise _not_one(span)
    return outputs[0][0]


def _not_one(span: Span) -> UnsupportedSQL:
    return unsupported(
        span,
        "the subquery of IN does not select one column by its name.",
        "IN compares one value with the values of one column.",
        "select that column alone.",
    )


def _refuse_top(select: Select) -> None:
    """Refuse what only the outermost SELECT can have."""
    if select.clause is not None:
        raise unsupported(
            select.clause.span,
            "the differential privacy clause is used in a subquery.",
            "noise is added once, to the outermost aggregates.",
            "put the clause on the outermost SELECT, or ask two questions.",
        )
    if select.sets:
        raise unsupported(
            select.span,
            "ROLLUP, CUBE or GROUPING SETS stand in a subquery.",
            "the rows of several levels would count one person several times.",
            "put them on the outermost SELECT.",
        )
    if select.order or select.limited:
        raise no_order(select.order[0].expression.span if select.order else select.limit_span)


def no_order(span: Span | None) -> UnsupportedSQL:
    """Return the refusal of an order, or a limit, in a subquery."""
    return unsupported(
        span,
        "a subquery has no order and no limit.",
        "which rows it keeps would depend on other people.",
        "leave it out; ROW_NUMBER() OVER (PARTITION BY unit ORDER BY ...) picks rows.",
    )


def _projected(select: Select) -> Relation:
    """Turn a SELECT of rows into a projection."""
    if select.having is not None:
        raise unsupported(
            select.having.span, "HAVING is used without groups.", "it is for groups.", "use WHERE."
        )
    names = output_names(select.items, select.span)
    outputs = zip(names, (item.expression for item in select.items), strict=True)
    return Project(filtered(select), tuple(outputs), span=select.span)


def _aggregated(select: Select) -> Relation:
    """Turn a grouped SELECT into an aggregation, a filter of groups and a projection."""
    grouped = groups(select)
    totals: dict[Aggregate, str] = {}

    def below(node: Expression) -> Expression | None:
        if isinstance(node, Grouped):
            return Column(f"key_{node.at + 1}", span=node.span)
        return _total_column(node, totals) if isinstance(node, Aggregate) else None

    outputs = tuple((name, transformed(value, below)) for name, value in grouped.outputs)
    conditions = [transformed(condition, below) for condition in conjuncts(grouped.having)]
    keys = tuple((f"key_{at}", value) for at, (_, value) in enumerate(grouped.keys, start=1))
    named = tuple((name, total) for total, name in totals.items())
    relation: Relation = Aggregated(filtered(select), keys, named, span=select.span)
    for condition in conditions:
        if not holds(condition, InnerQuery):
            relation = Filter(relation, condition, span=condition.span)
    valued = [part for part in conditions if holds(part, InnerQuery)]
    return Project(with_values(relation, valued, select), outputs, span=select.span)


def _total_column(total: Aggregate, totals: dict[Aggregate, str]) -> Expression:
    """Return the column of a plain aggregate; a mean is a sum over a count."""
    given = (total.bounds_per_group, total.bounds_per_row, total.epsilon)
    if any(value is not None for value in given):
        raise unsupported(
            total.span,
            "bounds and epsilon are given in a subquery.",
            "noise is added once, to the outermost aggregates.",
            "give them to the outermost aggregates.",
        )
    if total.function == "AVG":
        parts = (replace(total, function=name) for name in ("SUM", "COUNT"))
        return Call("/", tuple(_total_column(part, totals) for part in parts), span=total.span)
    if total.function not in PLAIN:
        raise unsupported(
            total.span,
            f"{total.function} is used in a subquery.",
            "its digits differ between engines when it is computed without noise.",
            f"use {', '.join(PLAIN)} or AVG there.",
        )
    name = totals.setdefault(total, f"total_{len(totals) + 1}")
    return Column(name, span=total.span)
