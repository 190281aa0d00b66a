"""SQL text to a question: sqlglot parses, and known nodes are lowered.

Trust: public.  Plan and engine read one tree, so what is misread here costs meaning, never privacy.

Definition.  ``SELECT a, b FROM t ORDER BY c`` becomes the groups of a, b, c and a number that tells
equal rows apart; a and b are shown.
Theorem.  The groups are the rows: their numbers differ if all else is equal, so that no two rows
share a group, and every group has a row.

Definition.  ``SELECT f(a, b) FROM (SELECT x AS a, SUM(y) AS b FROM t GROUP BY x) WHERE c ORDER BY
d`` without groups of its own is ``SELECT f(x, SUM(y)) FROM t GROUP BY x HAVING c ORDER BY d``, with
each name of an output written out.
Theorem.  Both have the same answer, and the second one shows that all that stands above the groups
is computed from released numbers.
Proof.  A row of the subquery is a group, and its columns are its outputs.  A condition on rows of
the subquery is one on groups, beside the one that the subquery may have.

Definition.  ``SELECT APPROX_TOP_COUNT(x, k) FROM t`` with k above 1 is ``SELECT x AS value,
COUNT(*) AS count FROM t GROUP BY x ORDER BY count DESC LIMIT k``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from sqlglot import exp

from discreet.query.expressions import (
    Aggregate,
    Column,
    Expression,
    InnerQuery,
    Order,
    Star,
    Window,
    check_row,
    conjunction,
    holds,
    transformed,
    walk,
)
from discreet.query.nodes import too_much
from discreet.query.question import Question
from discreet.query.relations import Named, Project, Relation, Table, descend, folded
from discreet.query.source_text import rows_refused, unreadable, unsupported
from discreet.query.sql import expressions  # noqa: F401 (registers how they are lowered)
from discreet.query.sql.aggregates import orders
from discreet.query.sql.clauses import bare, check_union, select, subquery, with_tables
from discreet.query.sql.reading import Reading
from discreet.query.sql.select import (
    Item,
    Select,
    filtered,
    fresh_name,
    group_items,
    groups,
    has_groups,
    one_value,
    output_names,
)
from discreet.query.sql.tokens import Parameters


def row_question(select: Select) -> Question:
    """Return the question whose groups are the rows of a SELECT."""
    if any(holds(item.expression, Star) for item in select.items):
        raise rows_refused(select.span)
    for item in select.items:
        check_row(item.expression, "the select list")
    aliases = {folded(item.alias) for item in select.items if item.alias is not None}
    ordered = [
        each.expression
        for each in select.order
        if not isinstance(each.expression, Column)
        or each.expression.table is not None
        or folded(each.expression.name) not in aliases
    ]
    shown = [item for item in select.items if holds(item.expression, Column)]
    keys = (*shown, *(Item(each) for each in ordered if holds(each, Column)))
    if not keys:
        raise rows_refused(select.span)
    grouped = groups(replace(select, group=keys))
    taken = {folded(name) for name, _ in grouped.keys}
    copy = fresh_name("copy", taken)
    number = Window("ROW_NUMBER", (), tuple(value for _, value in grouped.keys))
    relation = Project(filtered(select), (*grouped.keys, (copy, number)), span=select.span)
    names = [*(name for name, _ in grouped.keys), copy]
    return Question(
        relation=relation,
        keys=tuple((name, Column(name)) for name in names),
        outputs=grouped.outputs,
        order=grouped.order,
        limit=select.limit,
        offset=select.offset,
        rows=True,
        span=select.span,
    )


def flattened(select: Select, reading: Reading) -> Select:
    """Return a SELECT over groups as one of groups; any other one as it is."""
    if has_groups(select) or select.distinct or select.inner_queries:
        return select
    source = select.source
    alias = source.alias if isinstance(source, Named) else None
    known = reading.selects.get(id(source.child if isinstance(source, Named) else source))
    if known is None:
        return select
    below = flattened(known[1], reading)
    if not has_groups(below) or below.distinct or below.clause is not None:
        return select
    return _merged(select, below, alias)


def _merged(select: Select, below: Select, alias: str | None) -> Select:
    names = output_names(below.items, below.span)
    outputs = {folded(name): item.expression for name, item in zip(names, below.items, strict=True)}

    def written(expression: Expression) -> Expression:
        return transformed(expression, lambda node: _output(node, outputs, alias))

    items = tuple(
        replace(wide, expression=written(wide.expression))
        for item in select.items
        for wide in _widened(item, names)
    )
    aliases = {folded(item.alias) for item in items if item.alias is not None}
    order = tuple(
        item
        if isinstance(item.expression, Column) and folded(item.expression.name) in aliases
        else replace(item, expression=written(item.expression))
        for item in select.order
    )
    named = {folded(item.alias): item.expression for item in below.items if item.alias is not None}
    own = below.having
    if own is not None:
        own = transformed(own, lambda node: _output(node, named, None))
    where = None if select.where is None else written(select.where)
    _refuse_windows(where)
    _refuse_capture(items, [*([] if own is None else [own]), *([] if where is None else [where])])
    _refuse_capture(items, [item.expression for item in order if item not in select.order])
    return replace(
        below,
        items=items,
        group=tuple(group_items(below)) or None,
        every=False,
        having=conjunction([own, where]),
        order=order,
        limit=select.limit,
        offset=select.offset,
        clause=select.clause,
        span=select.span,
        limit_span=select.limit_span,
    )


def _output(
    node: Expression, outputs: Mapping[str, Expression], alias: str | None
) -> Expression | None:
    """Write out the name of an output of the subquery."""
    if not isinstance(node, Column):
        return None
    here = node.table is None or (alias is not None and folded(node.table) == folded(alias))
    return outputs.get(folded(node.name)) if here else None


def _widened(item: Item, names: tuple[str, ...]) -> list[Item]:
    """Return all outputs if the star stands for them; others keep their names."""
    if isinstance(item.expression, Star):
        return [Item(Column(name), name) for name in names]
    if item.alias is None and isinstance(item.expression, Column):
        return [replace(item, alias=item.expression.name)]
    return [item]


def _refuse_capture(items: tuple[Item, ...], above: Sequence[Expression]) -> None:
    """Refuse a name that means a column of the subquery, and another output outside."""
    named = {folded(item.alias): item.expression for item in items if item.alias is not None}
    waiting = list(above)
    while waiting:
        node = waiting.pop()
        if isinstance(node, Aggregate):
            continue
        waiting.extend(node.children())
        if not isinstance(node, Column) or node.table is not None:
            continue
        if named.get(folded(node.name), node) != node:
            raise unsupported(
                node.span,
                f"{node.name} is a column of the subquery, and another one of the answer.",
                "which of them is meant decides the answer.",
                "use different names with AS.",
            )


def _refuse_windows(where: Expression | None) -> None:
    """Refuse a condition on what is computed over all groups."""
    for node in [] if where is None else walk(where):
        if isinstance(node, Window):
            raise unsupported(
                node.span,
                "a condition compares a window over groups.",
                "which groups are shown is decided before windows look at them.",
                "leave the condition out, and filter the answer; LIMIT takes the first groups.",
            )


def read(text: object, dialect: str | None = None, parameters: Parameters = ()) -> Question:
    """Read a question from SQL; ``parameters`` are those of ``parameters_of``.

    >>> question = read("SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward")
    >>> question.keys, question.outputs[0]
    ((('ward', Column(name='ward', table=None)),), ('ward', Grouped(at=0)))
    """
    reading = Reading(text, dialect, parameters)
    try:
        return _question(reading)
    except RecursionError:
        raise too_much("this is nested too deep.", reading.tokens[0].span) from None
    finally:
        reading.forget()


def _question(reading: Reading) -> Question:
    node = bare(reading, reading.query())
    if isinstance(node, exp.SetOperation):
        if not isinstance(node, exp.Union):
            check_union(reading, node)
        last = reading.at(node.this)[1]
        place = next((t for t in reading.tokens[last + 1 :] if t.word == "UNION"), None)
        raise unsupported(
            reading.span(node) if place is None else place.span,
            "two questions are joined by UNION.",
            "each question is priced and recorded on its own.",
            "ask them one by one, or write FROM (... UNION ALL ...).",
        )
    if not isinstance(node, exp.Select):
        raise reading.refused(node)
    outermost = select(reading, node, with_tables(reading, node, {}, outermost=True))
    if reading.top is not None:
        outermost = top_values(outermost, reading)
    reading.check_used()
    question = as_question(flattened(outermost, reading))
    return (
        replace(question, released=_released(question, reading)) if reading.released else question
    )


def top_values(select: Select, reading: Reading) -> Select:
    """Return SELECT APPROX_TOP_COUNT(x, k) as the k groups of x with the largest counts.

    They are selected by the counts of all groups, which cost what one of them does if a person is
    in one group.
    """
    alone = select.group is None and not (select.every or select.order or select.limited)
    match select.items:
        case (Item(expression=Aggregate(function="MODE") as mode),) if alone and reading.top:
            count, span = reading.top
            value = mode.argument
            assert value is not None  # noqa: S101 (MODE has one)
        case _:
            return select
    reading.top = None
    counted = replace(mode, function="COUNT", argument=None, where=None)
    return replace(
        select,
        where=conjunction([select.where, mode.where], span),
        items=(Item(value, "value"), Item(counted, "count")),
        group=(Item(value),),
        order=(Order(Column("count", span=span), descending=True),),
        limit=count,
    )


def _released(question: Question, reading: Reading) -> tuple[tuple[str, Question], ...]:
    """Return the questions of WITH that another one uses."""
    used = {node.name for node in descend(question.relation) if isinstance(node, Table)}
    found = []
    for name, written in reading.released.items():
        inner = as_question(flattened(written, reading))
        below = {node.name for node in descend(inner.relation) if isinstance(node, Table)}
        if below & reading.released.keys():
            raise unsupported(
                inner.span,
                "a released table is used in another question of WITH.",
                "one question is answered before another.",
                "ask them one by one.",
            )
        if name in used:
            found.append((name, inner))
    return tuple(found)


def _part(text: object) -> Reading:
    """Cut what could be in a select list, or behind ORDER BY."""
    reading = Reading(text)
    if len(reading.tokens) == 1:
        do = "write a column, value or function."
        raise unreadable(reading.tokens[0].span, "an expression is missing here.", do)
    return reading


def read_expression(text: object) -> Expression:
    """Read one expression.

    >>> read_expression("age >= 18")
    Call(function='>=', arguments=(Column(name='age', table=None), Literal(value=18)))
    """
    reading = _part(text)
    try:
        found = reading.expression(reading.parse("_parse_disjunction"))
    except RecursionError:
        raise too_much("this is nested too deep.", reading.tokens[0].span) from None
    reading.check_used()
    return found


def read_item(text: object) -> Item:
    """Read one expression with or without a name.

    >>> read_item("LOWER(ward) AS w").alias
    'w'
    """
    reading = _part(text)
    node, alias = reading.parse("_parse_expression"), None
    if isinstance(node, exp.Alias):
        reading.only(node, "this", "alias")
        node, alias = node.this, reading.name(node.args["alias"], "a name")
    found = Item(reading.expression(node), alias)
    reading.check_used()
    return found


def read_orders(text: object) -> tuple[Order, ...]:
    """Read what could follow ORDER BY.

    >>> read_orders("n DESC")[0].descending
    True
    """
    reading = _part(text)
    found = orders(reading, reading.parse("_parse_orders").expressions)
    reading.check_used()
    return found


def read_relation(text: object) -> Relation:
    """Read a subquery, as it would stand in FROM.

    >>> type(read_relation("SELECT ward FROM visits")).__name__
    'Project'
    """
    reading = Reading(text)
    relation = subquery(reading, reading.query(), {})
    reading.check_used()
    return relation


def as_question(outermost: Select) -> Question:
    """Turn the outermost SELECT into a question."""
    if not outermost.items:
        raise unsupported(
            outermost.span,
            "nothing is asked about the groups.",
            "an answer has at least one column.",
            "add a key, or an aggregate such as count().",
        )
    if outermost.distinct:
        if has_groups(outermost):
            what, why = "DISTINCT is used with aggregates.", "each group comes once anyway."
            raise unsupported(outermost.span, what, why, "leave DISTINCT out.")
        outermost = replace(outermost, distinct=False, group=outermost.items)
    if not has_groups(outermost):
        return row_question(outermost)
    grouped = groups(outermost)
    for _, value in grouped.outputs:
        _refuse_list(value, top=True)
    for item in grouped.order:
        _refuse_list(item.expression, top=False)
    if grouped.having is not None:
        _refuse_list(grouped.having, top=False)
    asks = grouped.having is not None and holds(grouped.having, InnerQuery)
    return Question(
        relation=filtered(outermost),
        keys=grouped.keys,
        sets=grouped.sets,
        outputs=grouped.outputs,
        having=grouped.having,
        values=tuple(map(one_value, outermost.inner_queries)) if asks else (),
        order=grouped.order,
        limit=outermost.limit,
        offset=outermost.offset,
        clause=outermost.clause,
        span=outermost.span,
    )


def _refuse_list(value: Expression, *, top: bool) -> None:
    """Refuse to compute with a list of quantiles."""
    for node in walk(value):
        many = isinstance(node, Aggregate) and node.function == "APPROX_QUANTILES"
        if many and not (top and node is value):
            raise unsupported(
                node.span,
                "a list of quantiles is used inside an expression.",
                "it is not one number.",
                "use PERCENTILE_CONT(x, 0.5), or select it alone.",
            )
