"""A SELECT of single rows, written as one of groups that are the rows: for public tables alone.

Trust: public.  Plan and engine read one tree, so what is misread here costs meaning, never privacy.

Definition.  ``SELECT a, b FROM t ORDER BY c`` becomes the groups of a, b, c and a number that tells
equal rows apart; a and b are shown.
Theorem.  The groups are the rows: their numbers differ where all else is equal, so that no two rows
share a group, and every group has a row.
"""

from __future__ import annotations

from dataclasses import replace

from discreet.query.expressions import Column, Expression, Star, Window, walk
from discreet.query.question import Question
from discreet.query.relations import Project, folded
from discreet.query.row_level import only_rows
from discreet.query.source_text import rows_refused
from discreet.query.sql.group_by import groups
from discreet.query.sql.row_choice import filtered
from discreet.query.sql.select_syntax import Item, Select, fresh_name


def row_question(select: Select) -> Question:
    """Return the question whose groups are the rows of a SELECT.

    >>> from discreet.query.relations import Table
    >>> rows = row_question(Select(items=(Item(Column("ward")),), source=Table("wards")))
    >>> rows.rows, [name for name, _ in rows.keys], [name for name, _ in rows.outputs]
    (True, ['ward', 'copy'], ['ward'])
    """
    if any(isinstance(node, Star) for item in select.items for node in walk(item.expression)):
        raise rows_refused(select.span)
    for item in select.items:
        only_rows(item.expression, place="the select list")
    aliases = {folded(item.alias) for item in select.items if item.alias is not None}
    ordered = [each.expression for each in select.order if not _is_output(each.expression, aliases)]
    shown = [item for item in select.items if _has_columns(item.expression)]
    keys = (*shown, *(Item(each) for each in ordered if _has_columns(each)))
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


def _is_output(expression: Expression, aliases: set[str]) -> bool:
    return isinstance(expression, Column) and (
        expression.table is None and folded(expression.name) in aliases
    )


def _has_columns(expression: Expression) -> bool:
    return any(isinstance(node, Column) for node in walk(expression))
