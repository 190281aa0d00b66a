"""Bound relations: what a question's tables become once every name is known.

Trust: kernel.

Definition.  A bound relation has columns with unique names; each is *visible* under a name and
perhaps the alias of a table, or hidden.  A private relation is the union over units of something
that is computed from the rows of each unit and from public tables alone; ``unit`` names the columns
that hold the unit, and is empty if each row is a unit of its own.  Other columns of the same type
may hold the same values in all rows, as both sides of a join on the unit do: they name the unit
as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import final

from discreet.accounting import Box
from discreet.plan.facts import Facts
from discreet.query.relations import Relation

__all__ = ["Bound", "Field"]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One column: its unique name, the name and alias under which it is seen, and its facts.

    >>> from discreet.query.types import Type
    >>> Field(column="ward_2", name="ward", table="v", facts=Facts(type=Type.TEXT)).column
    'ward_2'
    """

    column: str
    name: str | None
    table: str | None = None
    facts: Facts


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """A bound relation, its columns, and whose rows it holds.

    ``unit`` is None if the relation is public.  ``same`` has, for each column of the unit, others
    that agree with it in all rows.  ``key`` names columns in which no two rows agree.  ``scope``
    holds all units that have a row in it, by the columns that their rows share.  ``fan_out`` says
    how far the rows of a unit are multiplied, see :mod:`discreet.plan.fan_out`.
    """

    relation: Relation
    fields: tuple[Field, ...]
    unit: tuple[str, ...] | None
    same: tuple[frozenset[str], ...] = ()
    key: tuple[str, ...] | None = None
    scope: Box = field(default_factory=Box.everything)
    fan_out: int = 1

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
    def facts(self) -> Mapping[str, Facts]:
        """What is known of each column, by its unique name."""
        return {each.column: each.facts for each in self.fields}

    @property
    def visible(self) -> tuple[Field, ...]:
        """The columns that a question can name, in order."""
        return tuple(each for each in self.fields if each.name is not None)

    def named(self, alias: str) -> Bound:
        """Return the same relation under an alias."""
        fields = tuple(
            replace(each, table=alias) if each.name is not None else each for each in self.fields
        )
        return replace(self, fields=fields)
