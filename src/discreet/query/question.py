"""A question: what is asked about the groups of a relation, and under which clause.

Trust: kernel.  The plan prices exactly what stands here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import final

from discreet.query.expressions import Aggregate, Expression, Order, walk
from discreet.query.relations import Output, Relation
from discreet.query.span import Span

__all__ = ["Clause", "Question", "aggregates"]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Clause:
    """The options of the differential privacy clause; None for those that were not given.

    >>> Clause(epsilon=Fraction(1, 2)).delta is None
    True
    """

    epsilon: Fraction | None = None
    delta: Fraction | None = None
    rho: Fraction | None = None
    max_groups_contributed: int | None = None
    max_rows_contributed: int | None = None
    privacy_unit_column: Expression | None = None
    group_selection_strategy: str | None = None
    group_selection_epsilon: Fraction | None = None
    min_privacy_units_per_group: int | None = None
    noise: str | None = None
    span: Span | None = field(default=None, compare=False, repr=False)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """Aggregates over the groups of a relation.

    ``keys`` are expressions over the columns of the relation.  ``outputs``, ``having`` and
    ``order`` are expressions over aggregates (:class:`Aggregate`) and keys (:class:`Grouped`):
    they are computed from what is released, and cost nothing of their own.  ``clause`` is None
    if the text is plain SQL.

    >>> from discreet.query.relations import Table
    >>> Question(relation=Table("visits"), outputs=(("n", Aggregate("COUNT")),)).keys
    ()
    """

    relation: Relation
    keys: tuple[Output, ...] = ()
    outputs: tuple[Output, ...]
    having: Expression | None = None
    order: tuple[Order, ...] = ()
    limit: int | None = None
    clause: Clause | None = None
    span: Span | None = field(default=None, compare=False, repr=False)

    @property
    def text(self) -> str | None:
        """The words of the question, where there are any."""
        return None if self.span is None else self.span.text


def aggregates(question: Question) -> tuple[Aggregate, ...]:
    """Return each different aggregate once, in the order in which they are written.

    >>> from discreet.query.relations import Table
    >>> count = Aggregate("COUNT")
    >>> both = Question(relation=Table("t"), outputs=(("a", count), ("b", count)))
    >>> len(aggregates(both))
    1
    """
    found = (
        node
        for expression in _above(question)
        for node in walk(expression)
        if isinstance(node, Aggregate)
    )
    return tuple(dict.fromkeys(found))


def _above(question: Question) -> Iterator[Expression]:
    yield from (expression for _, expression in question.outputs)
    if question.having is not None:
        yield question.having
    yield from (item.expression for item in question.order)
