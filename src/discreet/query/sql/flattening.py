"""A SELECT over the groups of one subquery, written as one SELECT of groups.

Trust: public.  Plan and engine read one tree, so what is misread here costs meaning, never privacy.

Definition.  ``SELECT f(a, b) FROM (SELECT x AS a, SUM(y) AS b FROM t GROUP BY x) WHERE c ORDER BY
d`` without groups of its own is ``SELECT f(x, SUM(y)) FROM t GROUP BY x HAVING c ORDER BY d``, with
each name of an output written out.
Theorem.  Both have the same answer, and the second one shows that all that stands above the groups
is computed from released numbers.
Proof.  A row of the subquery is a group, and its columns are its outputs.  A condition on rows of
the subquery is one on groups, beside the one that the subquery may have.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from discreet.query.expressions import (
    Aggregate,
    Column,
    Expression,
    Star,
    Window,
    transformed,
    walk,
)
from discreet.query.relations import Named, folded
from discreet.query.source_text import unsupported
from discreet.query.sql.conditions import both
from discreet.query.sql.group_by import group_items, has_groups
from discreet.query.sql.select_syntax import Item, Select, output_names

if TYPE_CHECKING:  # reads what was read before
    from discreet.query.sql.reading import Reading


def flattened(select: Select, reading: Reading) -> Select:
    """Return a SELECT over groups as one of groups; any other one as it is.

    >>> from discreet.query.relations import Table
    >>> from discreet.query.sql.reading import Reading
    >>> rows = Select(items=(Item(Column("ward")),), source=Table("visits"))
    >>> flattened(rows, Reading("SELECT")) is rows
    True
    """
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
    own = None if below.having is None else _with_aliases(below.having, below)
    where = None if select.where is None else written(select.where)
    _refuse_windows(where)
    _refuse_capture(items, [*([] if own is None else [own]), *([] if where is None else [where])])
    _refuse_capture(items, [item.expression for item in order if item not in select.order])
    return replace(
        below,
        items=items,
        group=tuple(group_items(below)) or None,
        every=False,
        having=own if where is None else both(own, where),
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
    """Return all outputs where the star stands for them; others keep their names."""
    if isinstance(item.expression, Star):
        return [Item(Column(name), name) for name in names]
    if item.alias is None and isinstance(item.expression, Column):
        return [replace(item, alias=item.expression.name)]
    return [item]


def _with_aliases(having: Expression, below: Select) -> Expression:
    aliases = {
        folded(item.alias): item.expression for item in below.items if item.alias is not None
    }
    return transformed(having, lambda node: _output(node, aliases, None))


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
                ("which of them is meant decides the answer.", "use different names with AS."),
            )


def _refuse_windows(where: Expression | None) -> None:
    """Refuse a condition on what is computed over all groups."""
    for node in [] if where is None else walk(where):
        if isinstance(node, Window):
            raise unsupported(
                node.span,
                "a condition compares a window over groups.",
                (
                    "which groups are shown is decided before windows look at them.",
                    "leave the condition out, and filter the answer; LIMIT takes the first groups.",
                ),
            )
