"""A question: what is asked about groups, and under which clause.

Trust: kernel.  The plan prices exactly what stands here.

A question is unbound: it names tables and does not scan them.  What its parts may be, and how large
they are, is checked when it is made (:mod:`discreet.query.node_checks`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final, final

from discreet.query.expressions import Aggregate, Column, Expression, Order, walk
from discreet.query.node_checks import LARGEST_TREE, TALLEST_TREE, Node, check_size, too_much, wrong
from discreet.query.relations import (
    Output,
    Relation,
    Scan,
    descend,
    expressions_in,
)
from discreet.query.row_level import check_group, check_row
from discreet.query.source_text import Span


def check_relation_size(relation: Relation) -> int:
    """Return the number of nodes of a relation and its expressions, unless it is too much.

    >>> from discreet.query.relations import Table
    >>> check_relation_size(Table("visits"))
    1
    """
    waiting = [(relation, 1)]
    count = 0
    while waiting:
        node, height = waiting.pop()
        count += 1
        below = [(expression, 1) for expression in expressions_in(node)]
        while below and count <= LARGEST_TREE:
            expression, depth = below.pop()
            count += 1
            if depth > TALLEST_TREE:
                raise too_much("this expression is too large.", expression.span)
            below.extend((child, depth + 1) for child in expression.children())
        if height > TALLEST_TREE or count > LARGEST_TREE:
            raise too_much("the tables of this question are too much.", relation.span)
        waiting.extend((child, height + 1) for child in node.children())
    return count


STRATEGIES: Final = ("LAPLACE_THRESHOLD", "GAUSSIAN_THRESHOLD", "OPTIMAL", "PUBLIC_GROUPS")
"""Ways to choose which groups appear."""
NOISES: Final = ("LAPLACE", "GAUSSIAN")
"""Kinds of noise that can be asked for."""

_PRICES: Final = ("epsilon", "rho", "group_selection_epsilon")
_COUNTS: Final = ("max_groups_contributed", "max_rows_per_group", "min_privacy_units_per_group")


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Clause(Node):
    """The options of the differential privacy clause; None for those that were not given.

    >>> Clause(epsilon=Fraction(1, 2)).delta is None
    True
    """

    epsilon: Fraction | None = None
    delta: Fraction | None = None
    rho: Fraction | None = None
    max_groups_contributed: int | None = None
    max_rows_per_group: int | None = None
    privacy_unit_column: Column | None = None
    group_selection_strategy: str | None = None
    group_selection_epsilon: Fraction | None = None
    min_privacy_units_per_group: int | None = None
    noise: str | None = None
    span: Span | None = field(default=None, compare=False, repr=False)

    def _check(self) -> None:
        for name in (*_PRICES, *_COUNTS):
            value = getattr(self, name)
            large = name in _COUNTS and value is not None and value >= 2**31
            if value is not None and (value <= 0 or large):
                raise wrong(f"{name} is out of range.", self.span)
        if self.delta is not None and not 0 <= self.delta < 1:
            raise wrong("delta is out of range.", self.span)
        for value, known in ((self.group_selection_strategy, STRATEGIES), (self.noise, NOISES)):
            if value is not None and value not in known:
                raise wrong(f"an option is none of {', '.join(known)}.", self.span)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Question(Node):
    """Aggregates over the groups of a relation.

    ``keys`` are expressions over the columns of the relation.  ``outputs``, ``having`` and
    ``order`` are expressions over aggregates (:class:`Aggregate`) and keys (:class:`Grouped`):
    they are computed from what is released, and cost nothing of their own.  Outputs and order may
    hold windows over such values of all groups.  ``having`` may hold the values of subqueries
    (:class:`InnerQuery`), which ``values`` compute.  ``clause`` is None if the text is plain SQL.
    ``rows`` says that its groups are single rows, which public tables alone may answer;
    ``released`` are questions with a clause that WITH has named, whose groups it is about
    (:mod:`discreet.query.released_groups`).

    >>> from discreet.query.relations import Table
    >>> Question(relation=Table("visits"), outputs=(("n", Aggregate("COUNT")),)).keys
    ()
    """

    relation: Relation
    keys: tuple[Output, ...] = ()
    outputs: tuple[Output, ...]
    having: Expression | None = None
    values: tuple[Relation, ...] = ()
    order: tuple[Order, ...] = ()
    limit: int | None = None
    offset: int = 0
    clause: Clause | None = None
    rows: bool = False
    released: tuple[tuple[str, Question], ...] = ()
    span: Span | None = field(default=None, compare=False, repr=False)

    def _check(self) -> None:
        """Refuse what is bound already, misplaced, or too large."""
        trees = (self.relation, *self.values)
        for relation in trees:
            check_relation_size(relation)
        if any(isinstance(node, Scan) for tree in trees for node in descend(tree)):
            raise wrong("a question scans a table, and does not name it.", self.span)
        for _, value in self.keys:
            check_row(value, span=self.span)
            check_size(value)
        outputs = (value for _, value in self.outputs)
        for value in (*outputs, *(item.expression for item in self.order)):
            check_group(value, len(self.keys), self.span, windows=True)
            check_size(value)
        if self.having is not None:
            check_group(self.having, len(self.keys), self.span, values=len(self.values))
            check_size(self.having)

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
    nodes = (
        node
        for expression in _above(question)
        for node in walk(expression)
        if isinstance(node, Aggregate)
    )
    return tuple(dict.fromkeys(nodes))


def _above(question: Question) -> Iterator[Expression]:
    yield from (expression for _, expression in question.outputs)
    if question.having is not None:
        yield question.having
    yield from (item.expression for item in question.order)
