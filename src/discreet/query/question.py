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
from discreet.query.node_checks import (
    LARGEST_TREE,
    TALLEST_TREE,
    check_flag,
    check_outputs,
    check_place,
    check_size,
    check_span,
    check_tuple,
    fraction_of,
    too_much,
    wrong,
)
from discreet.query.relations import (
    Output,
    Relation,
    Scan,
    check_relation,
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
class Clause:
    """The options of the differential privacy clause; None for those that were not given.

    >>> Clause(epsilon=Fraction(1, 2)).delta is None
    True
    """

    epsilon: Fraction | None = None
    delta: Fraction | None = None
    rho: Fraction | None = None
    max_groups_contributed: int | None = None
    max_rows_per_group: int | None = None
    privacy_unit_column: Expression | None = None
    group_selection_strategy: str | None = None
    group_selection_epsilon: Fraction | None = None
    min_privacy_units_per_group: int | None = None
    noise: str | None = None
    span: Span | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        """Refuse options that are not known, and numbers out of their ranges."""
        check_span(self.span)
        for name in (*_PRICES, "delta"):
            value = getattr(self, name)
            if value is not None:
                exact = fraction_of(value, name, self.span)
                if exact < 0 or (exact >= 1 if name == "delta" else exact == 0):
                    raise wrong(f"{name} is out of range.", self.span)
                object.__setattr__(self, name, exact)
        for name in _COUNTS:
            if getattr(self, name) is not None:
                check_place(getattr(self, name), name, low=1, span=self.span)
        for value, known in ((self.group_selection_strategy, STRATEGIES), (self.noise, NOISES)):
            if value is not None and (type(value) is not str or value not in known):
                raise wrong(f"an option is none of {', '.join(known)}.", self.span)
        if self.privacy_unit_column is not None and type(self.privacy_unit_column) is not Column:
            raise wrong("privacy_unit_column is not a column.", self.span)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
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
    clause: Clause | None = None
    rows: bool = False
    released: tuple[tuple[str, Question], ...] = ()
    span: Span | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        """Refuse what is bound already, misplaced, or too large."""
        check_span(self.span)
        check_flag(self.rows, "whether a question asks for rows", self.span)
        check_tuple(self.values, "the subqueries of an answer", self.span)
        for relation in (self.relation, *self.values):
            check_relation(relation, self.span)
            check_relation_size(relation)
        trees = (self.relation, *self.values)
        if any(type(node) is Scan for tree in trees for node in descend(tree)):
            raise wrong("a question scans a table, and does not name it.", self.span)
        for value in check_outputs(self.keys, self.span):
            check_row(value, span=self.span)
            check_size(value)
        check_tuple(self.order, "the order of an answer", self.span)
        if not all(type(item) is Order for item in self.order):
            raise wrong("the order of an answer holds something else than Order.", self.span)
        above = [*check_outputs(self.outputs, self.span), *(item.expression for item in self.order)]
        for value in above:
            check_group(value, len(self.keys), self.span, windows=True)
            check_size(value)
        if self.having is not None:
            check_group(self.having, len(self.keys), self.span, values=len(self.values))
            check_size(self.having)
        check_tuple(self.released, "the questions of WITH", self.span)
        if not all(type(inner) is Question for _, inner in self.released):
            raise wrong("WITH names something else than questions.", self.span)
        if self.limit is not None and (type(self.limit) is not int or self.limit < 0):
            raise wrong("the limit of an answer is not a whole number from 0 on.", self.span)
        if self.clause is not None and type(self.clause) is not Clause:
            raise wrong("the options of a question are not a Clause.", self.span)

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
