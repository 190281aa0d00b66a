"""A question: what is asked about groups, and under which clause.

Trust: kernel.  The plan prices exactly what stands here.

A question is unbound: it names tables and does not scan them.  What its parts may be, and how large
they are, is checked when it is made (:mod:`discreet.query.nodes`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, Final, final

from discreet.errors import UnsupportedSQL
from discreet.query.expressions import (
    Aggregate,
    Call,
    Case,
    Cast,
    Column,
    Expression,
    Grouped,
    Grouping,
    InnerQuery,
    Literal,
    Order,
    Window,
    check_row,
    transformed,
    walk,
)
from discreet.query.nodes import Node, size_of, wrong
from discreet.query.relations import Output, Relation, Scan, descend, folded
from discreet.query.source_text import Span, pointed

STRATEGIES: Final = ("LAPLACE_THRESHOLD", "GAUSSIAN_THRESHOLD", "OPTIMAL", "PUBLIC_GROUPS")
"""Ways to choose which groups appear."""
NOISES: Final = ("LAPLACE", "GAUSSIAN")
"""Kinds of noise that can be asked for."""

MOST_SETS: Final = 10_000
"""Grouping sets of one question."""

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
    they are computed from what is released, and cost nothing of their own.  With grouping ``sets``,
    each a rising tuple of numbers of keys, there are groups for the values of each set, in which
    the other keys are NULL and :class:`Grouping` of them is 1.  Outputs and order may
    hold windows over such values of all groups.  ``having`` may hold the values of subqueries
    (:class:`InnerQuery`), which ``values`` compute.  ``clause`` is None if the text is plain SQL.
    ``rows`` says that its groups are single rows, which public tables alone may answer;
    ``released`` are questions with a clause that WITH has named, whose groups it is about
    (:mod:`discreet.query.released_groups`).  With ``other``, all groups that are not shown are one
    more, in which the keys are NULL and :class:`Grouping` of them is 1 (:func:`with_other`).

    >>> from discreet.query.relations import Table
    >>> Question(relation=Table("visits"), outputs=(("n", Aggregate("COUNT")),)).keys
    ()
    """

    relation: Relation
    keys: tuple[Output, ...] = ()
    sets: tuple[tuple[int, ...], ...] = ()
    outputs: tuple[Output, ...]
    having: Expression | None = None
    values: tuple[Relation, ...] = ()
    order: tuple[Order, ...] = ()
    limit: int | None = None
    offset: int = 0
    clause: Clause | None = None
    rows: bool = False
    other: bool = False
    released: tuple[tuple[str, Question], ...] = ()
    span: Span | None = field(default=None, compare=False, repr=False)

    def _check(self) -> None:
        """Refuse what is bound already, misplaced, or too large."""
        for tree in (self.relation, *self.values):
            size_of(tree)
            if any(isinstance(node, Scan) for node in descend(tree)):
                raise wrong("a question scans a table, and does not name it.", self.span)
        for _, value in self.keys:
            check_row(value, "GROUP BY", span=self.span)
            size_of(value)
        self._check_sets()
        for value in self.above():
            size_of(value)
            self._check_group(value, windows=value is not self.having)

    def _check_sets(self) -> None:
        """Refuse grouping sets that are not in their one form, or leave a key without a set."""
        used = {at for each in self.sets for at in each}
        sorted_ = all(list(each) == sorted(set(each)) for each in self.sets)
        once = list(self.sets) == sorted(set(self.sets))
        every = used == set(range(len(self.keys)))
        if self.sets and not (sorted_ and once and every and len(self.sets) > 1):
            raise wrong("the grouping sets are not rising, or not those of all keys.", self.span)
        if self.other and (not self.keys or self.sets):
            raise wrong("the other groups are not those of one list of keys.", self.span)
        if len(self.sets) > MOST_SETS:
            raise wrong(f"there are more than {MOST_SETS} grouping sets.", self.span)

    def _check_group(self, expression: Expression, *, windows: bool) -> None:
        """Refuse what is not computed from aggregates and keys; windows look at all groups."""
        waiting = [(expression, windows)]
        seen: set[tuple[int, bool]] = set()
        while waiting:
            node, allowed = waiting.pop()
            if (id(node), allowed) in seen:
                continue
            seen.add((id(node), allowed))
            match node:
                case Aggregate(distinct=True, function=name) if name not in {"COUNT", "SUM"}:
                    raise wrong(f"{name} of a group takes all values.", self.span)
                case Grouped(at=at) if at >= len(self.keys):
                    raise wrong("there is no key of this number.", self.span)
                case Grouping(argument=Grouped()) if self.sets or self.other:
                    waiting.append((node.argument, allowed))
                case InnerQuery(at=at) if expression is self.having and at < len(self.values):
                    continue
                case Aggregate() | Grouped() | Literal():
                    continue
                case Call() | Case() | Cast():
                    waiting.extend((child, allowed) for child in node.children())
                case Window() if allowed:
                    waiting.extend((child, False) for child in node.children())
                case _:
                    shown = f"a {type(node).__name__}"
                    raise wrong(f"{shown} is used where a value of a group is needed.", self.span)

    @property
    def limited(self) -> bool:
        """Whether some of its groups are left out by number."""
        return self.limit is not None or self.offset > 0

    def above(self) -> tuple[Expression, ...]:
        """Return what is computed from aggregates and keys: outputs, condition and order."""
        having = () if self.having is None else (self.having,)
        outputs = (value for _, value in self.outputs)
        return (*outputs, *having, *(item.expression for item in self.order))

    def changed(self, change: Callable[[Expression], Expression | None], **more: Any) -> Question:
        """Return a question with nodes above its relation replaced, as ``transformed`` does."""

        def over(expression: Expression) -> Expression:
            return transformed(expression, change)

        values = {
            "keys": tuple((name, over(value)) for name, value in self.keys),
            "outputs": tuple((name, over(value)) for name, value in self.outputs),
            "having": None if self.having is None else over(self.having),
            "order": tuple(replace(each, expression=over(each.expression)) for each in self.order),
        }
        return replace(self, **values | more)

    @property
    def text(self) -> str | None:
        """The words of the question, if there are any."""
        return None if self.span is None else self.span.text


OTHER: Final = "is_other"
"""The name of the column that tells the row of the other groups from all others."""


def with_other(question: Question) -> Question:
    """Ask for one more row, of all groups that are not shown, and for the column that marks it.

    >>> from discreet.query.relations import Table
    >>> keys, count = (("ward", Column("ward")),), (("n", Aggregate("COUNT")),)
    >>> [name for name, _ in with_other(
    ...     Question(relation=Table("t"), keys=keys, outputs=count)).outputs]
    ['n', 'is_other']
    """
    what = None
    if not question.keys or question.sets:
        what = "other=True needs GROUP BY, without grouping sets."
    elif question.having is not None or question.limited or question.released:
        what = "other=True allows no HAVING, no LIMIT (APPROX_TOP_COUNT has one) and no WITH."
    elif any(folded(name) == OTHER for name, _ in question.outputs):
        what = f"an output is called {OTHER}, which is the mark of the other groups."
    if what is not None:
        raise UnsupportedSQL(
            what=pointed(what, question.span),
            why="the remainder is that of all groups that are not selected, in a row of its own.",
            do="ask for all groups, and sort, filter or cut the rows of the answer, which is free.",
        )
    mark = Call("=", (Grouping(Grouped(0)), Literal(1)))
    return replace(question, outputs=(*question.outputs, (OTHER, mark)), other=True)


def aggregates(question: Question) -> tuple[Aggregate, ...]:
    """Return each different aggregate once, in the order in which they are written.

    >>> from discreet.query.relations import Table
    >>> count = Aggregate("COUNT")
    >>> both = Question(relation=Table("t"), outputs=(("a", count), ("b", count)))
    >>> len(aggregates(both))
    1
    """
    nodes = (node for expression in question.above() for node in walk(expression))
    return tuple(dict.fromkeys(node for node in nodes if isinstance(node, Aggregate)))
