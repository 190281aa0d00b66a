"""Bound relations, and how every column of an expression gets its unique name.

Trust: kernel.

Definition.  A bound relation has columns with unique names; each is *visible* under a name and
perhaps the alias of a table, or hidden.  A private relation is the union over units of something
that is computed from the rows of each unit and from public tables alone; ``unit`` names the columns
that hold the unit, and is empty if each row is a unit of its own.  Other columns of the same type
may hold the same values in all rows, as both sides of a join on the unit do: they name the unit
as well.

Names are compared without regard to case.  A name that two columns answer to is refused, and so is
one that none answers to.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Final, final

from discreet.accounting import Box
from discreet.errors import NotPerUnit, UnknownName, UnsupportedSQL, WrongType
from discreet.exact import with_article
from discreet.plan.binding.value_facts import Facts, KnownFacts
from discreet.query.expression_types import COMPARED, typed
from discreet.query.expressions import (
    Aggregate,
    Call,
    Cast,
    Column,
    Expression,
    Literal,
    Star,
    transformed,
)
from discreet.query.functions import moment
from discreet.query.relations import VALUES, Output, Relation, folded
from discreet.query.source_text import Span, meant_as_text, pointed
from discreet.query.types import Scalar, Type


def not_per_unit(span: Span | None, *, what: str, do: str) -> NotPerUnit:
    """Return the error for a step that looks at several units at once.

    >>> print(not_per_unit(None, what="it does.", do="write it otherwise."))
    NotPerUnit[E504]: it does.
      Why: noise hides one person only if all before it treats each person by themselves.
      Do:  write it otherwise.
    """
    return NotPerUnit(
        what=pointed(what, span),
        why="noise hides one person only if all before it treats each person by themselves.",
        do=do,
    )


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One column: its unique name, the name and alias under which it is seen, and its facts.

    A ``shared`` one, of a join with USING, is seen together with its alias alone.

    >>> from discreet.query.types import Type
    >>> Field(column="ward_2", name="ward", table="v", facts=Facts(type=Type.TEXT)).column
    'ward_2'
    """

    column: str
    name: str | None
    table: str | None = None
    facts: Facts
    shared: bool = False


FieldsByName = Mapping[str, Sequence[Field]]
"""Columns that can be seen, by their names as they are compared."""


def _by_name(fields: Sequence[Field]) -> FieldsByName:
    found: dict[str, list[Field]] = {}
    for each in fields:
        if each.name is not None:
            found.setdefault(folded(each.name), []).append(each)
    return found


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class BoundRelation:
    """A bound relation, its columns, and whose rows it holds.

    ``unit`` is None if the relation is public.  ``same`` has, for each column of the unit, others
    that agree with it in all rows.  ``key`` names columns in which no two rows agree.  ``scope``
    holds all units that have a row in it, by the columns that their rows share.  ``fan_out`` says
    how far the rows of a unit are multiplied, see :mod:`discreet.plan.binding.fan_out`.
    """

    relation: Relation
    fields: tuple[Field, ...]
    unit: tuple[str, ...] | None
    same: tuple[frozenset[str], ...] = ()
    key: tuple[str, ...] | None = None
    scope: Box = field(default_factory=Box.everything)
    fan_out: int = 1
    facts: KnownFacts = field(init=False, repr=False, compare=False)
    """What is known of each column, by its unique name."""
    by_name: FieldsByName = field(init=False, repr=False, compare=False)
    """The columns that questions see under each name."""

    def __post_init__(self) -> None:
        """Collect what is known of columns, which is looked up for every expression."""
        object.__setattr__(
            self, "facts", KnownFacts({each.column: each.facts for each in self.fields})
        )
        object.__setattr__(self, "by_name", _by_name(self.fields))

    @property
    def public(self) -> bool:
        """Whether it is made of public tables alone."""
        return self.unit is None

    @property
    def holders(self) -> tuple[frozenset[str], ...]:
        """For each column of the unit, all columns that hold it."""
        names = self.unit or ()
        more = self.same or (frozenset[str](),) * len(names)
        return tuple(others | {name} for name, others in zip(names, more, strict=True))

    @property
    def columns(self) -> tuple[Output, ...]:
        """All columns, each as what a projection keeps of them."""
        return tuple((field.column, Column(field.column)) for field in self.fields)

    @property
    def visible(self) -> tuple[Field, ...]:
        """The columns that a question can name, in order."""
        return tuple(field for field in self.fields if field.name is not None)

    def named(self, alias: str) -> BoundRelation:
        """Return the same relation under an alias."""
        fields = tuple(
            replace(field, table=alias) if field.name is not None else field
            for field in self.fields
        )
        return replace(self, fields=fields)


@final
class FreshNames:
    """Unique names for the columns of one question.

    >>> fresh = FreshNames()
    >>> fresh("ward"), fresh("Ward"), fresh("ward")
    ('ward', 'Ward_2', 'ward_3')
    """

    __slots__ = ("_used",)

    def __init__(self) -> None:
        """Begin with no names in use."""
        self._used: set[str] = set()

    def __call__(self, name: str) -> str:
        """Return the name, or the name with the first number that makes it unique."""
        fresh, number = name, 1
        while folded(fresh) in self._used:
            number += 1
            fresh = f"{name}_{number}"
        self._used.add(folded(fresh))
        return fresh


def bound_expression(expression: Expression, fields: Sequence[Field]) -> Expression:
    """Return the expression over unique names.

    >>> from discreet.plan.binding.value_facts import Facts
    >>> from discreet.query.types import Type
    >>> ward = Field(column="ward_2", name="ward", table="v", facts=Facts(type=Type.TEXT))
    >>> bound_expression(Column("WARD"), [ward])
    Column(name='ward_2', table=None)
    """
    types = {field.column: field.facts.type for field in fields}
    return transformed(expression, _Binding(_by_name(fields), types))


_ADDED: Final = frozenset({"AVG", "SUM"})


@final
@dataclass(frozen=True, slots=True)
class _Binding:
    """Replaces names, and what means something else among columns of some types."""

    fields: FieldsByName
    types: Mapping[str, Type]

    def __call__(self, node: Expression) -> Expression | None:
        if isinstance(node, Column):
            return Column(_field(node, self.fields).column, span=node.span)
        if (number := written_number(node)) is not None and number.denominator > 1:
            return Literal(number, span=node.span)
        if isinstance(node, Aggregate) and node.function in _ADDED and node.argument is not None:
            return self._added(node, transformed(node.argument, self))
        if isinstance(node, Call) and node.function in COMPARED and any(map(_text, node.arguments)):
            bound = tuple(transformed(argument, self) for argument in node.arguments)
            return replace(node, arguments=with_days(bound, self.types))
        return None

    def _added(self, node: Aggregate, argument: Expression) -> Aggregate:
        """Count what is true as 1, and what is false as 0, if truth values are added up."""
        if not isinstance(argument, Literal) and typed(argument, self.types) is Type.BOOLEAN:
            argument = Cast(argument, Type.INTEGER, span=argument.span)
        where = None if node.where is None else transformed(node.where, self)
        return replace(node, argument=argument, where=where)


def written_number(node: Expression) -> Fraction | None:
    """Return the number that a question writes, perhaps as a sum or a product, exactly.

    Floats would make 0.06 + 0.01 less than 0.07.

    >>> written_number(Call("+", (Literal(Fraction("0.06")), Literal(Fraction("0.01")))))
    Fraction(7, 100)
    """
    match node:
        case Literal(value=int() | Fraction() as value) if node.type is not Type.BOOLEAN:
            return Fraction(value)
        case Call(function="+" | "-" | "*" as name, arguments=(one, other)):
            if (first := written_number(one)) is None:
                return None
            if (second := written_number(other)) is None:
                return None
            if name == "*":
                return first * second
            return first + second if name == "+" else first - second
        case _:
            return None


def _text(node: Expression) -> str:
    """Return a written text; empty if there is none."""
    return node.value if isinstance(node, Literal) and isinstance(node.value, str) else ""


def with_days(
    arguments: tuple[Expression, ...], types: Mapping[str, Type]
) -> tuple[Expression, ...]:
    """Return what is compared; a text that is compared with days is read as a day.

    One that is compared with truth values is read as the cells of a file are.

    >>> with_days((Column("day"), Literal("2025-01-31")), {"day": Type.DATE})[1].value
    datetime.date(2025, 1, 31)
    >>> with_days((Column("paid"), Literal("yes")), {"paid": Type.BOOLEAN})[1].value
    True
    """
    kinds = {typed(node, types) for node in arguments if not isinstance(node, Literal)}
    kind = next(iter(kinds)) if len(kinds) == 1 else None

    def read(node: Expression) -> Expression:
        value: Scalar = None
        if kind is Type.BOOLEAN:
            value = _TRUTH.get(_text(node).lower())
        elif kind in {Type.DATE, Type.TIMESTAMP}:
            value = moment(_text(node), kind)
        return node if value is None else Literal(value, span=node.span)

    return tuple(map(read, arguments))


_TRUTH: Final = {
    **dict.fromkeys(("true", "t", "yes", "y"), True),
    **dict.fromkeys(("false", "f", "no", "n"), False),
}


def checked(expression: Expression, below: BoundRelation) -> tuple[Expression, Type]:
    """Bind an expression over a relation, and return its type."""
    types = below.facts.types
    bound = transformed(expression, _Binding(below.by_name, types))
    return bound, typed(bound, types)


def condition(expression: Expression, below: BoundRelation) -> Expression:
    """Bind a condition over a relation."""
    bound, kind = checked(expression, below)
    if kind is not Type.BOOLEAN:
        raise WrongType(
            what=pointed(
                f"a condition is needed here, not {with_article(kind.value)}.", expression.span
            ),
            why="only true lets a row through, and engines disagree on what else is true.",
            do="compare it with something, such as x > 0.",
        )
    return bound


def starred(star: Star, fields: Sequence[Field]) -> tuple[Field, ...]:
    """Return the visible columns that a star stands for."""
    columns = tuple(
        field
        for field in fields
        if field.name is not None
        and field.table != VALUES
        and (not field.shared if star.table is None else _same(field.table, star.table))
    )
    if not columns:
        raise UnknownName(
            what=pointed("there is no table of that name here.", star.span),
            why="a star stands for the columns of a table of this question.",
            do="use the name or the alias of a table in FROM.",
        )
    return columns


def answers_to(field: Field, column: Column) -> bool:
    """Say whether a column of a question may be this one."""
    named = field.name is not None and _same(field.name, column.name)
    if column.table is None:
        return named and not field.shared
    return named and _same(field.table, column.table)


def _field(column: Column, fields: FieldsByName) -> Field:
    matches = [field for field in fields.get(folded(column.name), ()) if answers_to(field, column)]
    if len(matches) == 1:
        return matches[0]
    if matches:
        raise UnsupportedSQL(
            what=pointed(f"{column.name} is the name of {len(matches)} columns here.", column.span),
            why="which one is meant decides the answer.",
            do="write the table before it, such as v.ward.",
        )
    raise _unknown(column, fields)


def _unknown(column: Column, fields: FieldsByName) -> UnknownName:
    shown = column.name if column.table is None else f"{column.table}.{column.name}"
    names = sorted({str(field.name) for same in fields.values() for field in same})
    near = difflib.get_close_matches(column.name.lower(), [name.lower() for name in names], n=1)
    offered = ", ".join(names) or "(there are none)"
    return UnknownName(
        what=pointed(f"there is no column {shown} here.", column.span),
        why="only columns that the tables declare can be asked about.",
        do=meant_as_text(column.span)
        + (f"did you mean {near[0]}?" if near else f"use one of: {offered}."),
    )


def _same(one: str | None, other: str) -> bool:
    return one is not None and folded(one) == folded(other)
