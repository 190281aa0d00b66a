"""One SELECT as it is written, before names and groups are worked out.

Trust: kernel.  Both the SQL text and the table builder become this, and nothing is left out of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from discreet.query.expressions import Expression, Order, check_expression
from discreet.query.question import Clause
from discreet.query.relations import Relation, check_relation
from discreet.query.source_text import Span
from discreet.query.types import check_name, check_tuple, wrong

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

    def __post_init__(self) -> None:
        """Refuse what is no expression, or no name."""
        check_expression(self.expression)
        if self.alias is not None:
            check_name(self.alias, "a column")


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

    def __post_init__(self) -> None:
        """Refuse what are no items; a Question and relations check the rest."""
        check_relation(self.source)
        for items in (self.items, self.group or ()):
            check_tuple(items, "the items of a SELECT")
            if not all(type(item) is Item for item in items):
                raise wrong("a SELECT holds something else than items.")
