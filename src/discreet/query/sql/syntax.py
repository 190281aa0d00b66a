"""One SELECT as it is written, before names and groups are worked out.

Trust: kernel.  Both the SQL text and the table builder become this, and nothing is left out of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from discreet.query.expressions import Expression, Order
from discreet.query.question import Clause
from discreet.query.relations import Relation
from discreet.query.span import Span

__all__ = ["Item", "Select"]


@final
@dataclass(frozen=True, slots=True)
class Item:
    """One entry of a select list, or of GROUP BY.

    >>> from discreet.query.expressions import Column
    >>> Item(Column("ward")).alias is None
    True
    """

    expression: Expression
    alias: str | None = None


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Select:
    """The parts of a SELECT.

    ``group`` is None without GROUP BY; ``every`` stands for GROUP BY ALL.

    >>> from discreet.query.expressions import Column
    >>> from discreet.query.relations import Table
    >>> Select(items=(Item(Column("ward")),), source=Table("visits")).group is None
    True
    """

    items: tuple[Item, ...]
    source: Relation
    where: Expression | None = None
    group: tuple[Item, ...] | None = None
    every: bool = False
    having: Expression | None = None
    order: tuple[Order, ...] = ()
    limit: int | None = None
    distinct: bool = False
    clause: Clause | None = None
    span: Span | None = None
    limit_span: Span | None = None
