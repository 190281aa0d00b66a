"""Binding names: every column of an expression gets its unique name.

Trust: kernel.

Names are compared without regard to case.  A name that two columns answer to is refused, and so is
one that none answers to.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import final

from discreet.errors import UnknownName, UnsupportedSQL, WrongType
from discreet.plan.fields import Bound, Field
from discreet.query.expressions import Column, Expression, Star, transformed
from discreet.query.functions import typed
from discreet.query.relations import folded
from discreet.query.span import pointed
from discreet.query.types import Type

__all__ = ["Fresh", "bound_expression", "checked", "condition", "starred"]


@final
class Fresh:
    """Unique names for the columns of one question.

    >>> fresh = Fresh()
    >>> fresh("ward"), fresh("Ward"), fresh("ward")
    ('ward', 'Ward_2', 'ward_3')
    """

    __slots__ = ("_used",)

    def __init__(self) -> None:
        """Begin with no names in use."""
        self._used: set[str] = set()

    def __call__(self, name: str) -> str:
        """Return the name, or the name with the first number that makes it unique."""
        found, number = name, 1
        while folded(found) in self._used:
            number += 1
            found = f"{name}_{number}"
        self._used.add(folded(found))
        return found


def bound_expression(expression: Expression, fields: Sequence[Field]) -> Expression:
    """Return the expression over unique names.

    >>> from discreet.plan.facts import Facts
    >>> from discreet.query.types import Type
    >>> ward = Field(column="ward_2", name="ward", table="v", facts=Facts(type=Type.TEXT))
    >>> bound_expression(Column("WARD"), [ward])
    Column(name='ward_2', table=None)
    """

    def change(node: Expression) -> Expression | None:
        if isinstance(node, Column):
            return Column(_field(node, fields).column, span=node.span)
        return None

    return transformed(expression, change)


def checked(expression: Expression, below: Bound) -> tuple[Expression, Type]:
    """Bind an expression over a relation, and return its type."""
    found = bound_expression(expression, below.fields)
    return found, typed(found, {name: facts.type for name, facts in below.facts.items()})


def condition(expression: Expression, below: Bound) -> Expression:
    """Bind a condition over a relation."""
    found, kind = checked(expression, below)
    if kind is not Type.BOOLEAN:
        raise WrongType(
            what=pointed(f"a {kind.value} stands where a condition is.", expression.span),
            why="only true lets a row through, and engines disagree on what else is true.",
            do="compare it with something, such as x > 0.",
        )
    return found


def starred(star: Star, fields: Sequence[Field]) -> tuple[Field, ...]:
    """Return the visible columns that a star stands for."""
    found = tuple(
        field
        for field in fields
        if field.name is not None and (star.table is None or _same(field.table, star.table))
    )
    if not found:
        raise UnknownName(
            what=pointed("there is no table of that name here.", star.span),
            why="a star stands for the columns of a table of this question.",
            do="use the name or the alias of a table in FROM.",
        )
    return found


def _field(column: Column, fields: Sequence[Field]) -> Field:
    found = [
        field
        for field in fields
        if field.name is not None
        and _same(field.name, column.name)
        and (column.table is None or _same(field.table, column.table))
    ]
    if len(found) == 1:
        return found[0]
    if found:
        raise UnsupportedSQL(
            what=pointed(f"{column.name} is the name of {len(found)} columns here.", column.span),
            why="which one is meant decides the answer.",
            do="write the table before it, such as v.ward.",
        )
    raise _unknown(column, fields)


def _unknown(column: Column, fields: Sequence[Field]) -> UnknownName:
    shown = column.name if column.table is None else f"{column.table}.{column.name}"
    names = sorted({field.name for field in fields if field.name is not None})
    near = difflib.get_close_matches(column.name.lower(), [name.lower() for name in names], n=1)
    offered = ", ".join(names) or "(there are none)"
    return UnknownName(
        what=pointed(f"there is no column {shown} here.", column.span),
        why="only columns that the tables declare can be asked about.",
        do=f"did you mean {near[0]}?" if near else f"use one of: {offered}.",
    )


def _same(one: str | None, other: str) -> bool:
    return one is not None and folded(one) == folded(other)
