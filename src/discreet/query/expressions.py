"""Expressions: what is computed from the columns of a row, or of a group.

Trust: kernel.  The plan reasons about these nodes, and engines compute them.

Definition.  An expression is a tree of the nodes below.  A node checks its parts when it is made:
functions are known and have as many arguments as they take, what is added up is computed from one
row, and everything is what its annotation says (:mod:`discreet.query.nodes`).
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, fields
from fractions import Fraction
from functools import cache
from typing import Any, Final, final

from discreet.errors import InputError, QuestionError
from discreet.query.functions import AGGREGATES, ANYWHERE, PLAIN, RELEASED, WINDOWS
from discreet.query.nodes import ExpressionNode, Node, check_function, scalar_of, size_of, wrong
from discreet.query.source_text import CLAUSES, Span, inner_query_refused, unsupported
from discreet.query.types import Scalar, Type, type_of

Pair = tuple[Fraction, Fraction]


class _Hashed(ExpressionNode):
    """What is looked up again and again: its hash is worked out once, and not copied with it."""

    __slots__ = ("_hashed",)

    _hashed: int

    def __hash__(self) -> int:
        """Return what equal nodes share."""
        try:
            return self._hashed
        except AttributeError:
            kind: Any = type(self)
            found = hash(tuple([getattr(self, name) for name in _compared(kind)]))
            object.__setattr__(self, "_hashed", found)
            return found


@cache
def _compared(kind: Any) -> tuple[str, ...]:
    return tuple(item.name for item in fields(kind) if item.compare)


@final
@dataclass(frozen=True, slots=True)
class Column(ExpressionNode):
    """A column by its name; ``table`` is the qualifier, and None once names are bound.

    >>> Column("ward", table="v")
    Column(name='ward', table='v')
    """

    name: str
    table: str | None = None
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


@final
@dataclass(frozen=True, slots=True)
class Literal(_Hashed):
    """A value written in the question; numbers are exact, and 1.0 is 1.

    >>> Literal(Fraction(2)) == Literal(2), Literal(True) == Literal(1)
    (True, False)
    """

    value: Scalar
    type: Type | None = field(init=False, repr=False)
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)
    __hash__ = _Hashed.__hash__

    def __post_init__(self) -> None:
        """Keep one form of every number, and the type apart: True is not 1."""
        if self.span is not None and not isinstance(self.span, Span):
            raise wrong("the place of a value in a text is not a Span.")
        value = scalar_of(self.value, self.span)
        kind = type_of(value)
        if kind is Type.INTEGER:
            value = int(value)  # type: ignore[arg-type]
        elif kind is Type.FLOAT and isinstance(value, int):
            value = Fraction(value)
        if value is not self.value:
            object.__setattr__(self, "value", value)
        object.__setattr__(self, "type", kind)


@final
@dataclass(frozen=True, slots=True)
class Call(_Hashed):
    """A function of :mod:`discreet.query.functions`, or an operator, applied to arguments.

    >>> Call("+", (Column("a"), Literal(1)))
    Call(function='+', arguments=(Column(name='a', table=None), Literal(value=1)))
    """

    function: str
    arguments: tuple[Expression, ...]
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)
    __hash__ = _Hashed.__hash__

    def _check(self) -> None:
        check_function(self.function, ANYWHERE, len(self.arguments), self.span)

    def children(self) -> tuple[Expression, ...]:
        """Return the expressions directly below."""
        return self.arguments

    def rebuilt(self, children: Iterable[Expression]) -> Call:
        """Return the same call of other arguments."""
        return Call(self.function, tuple(children), span=self.span)


@final
@dataclass(frozen=True, slots=True)
class Case(ExpressionNode):
    """The value of the first branch whose condition is true, else the default, else NULL.

    >>> Case(((Column("old"), Literal("senior")),)).default is None
    True
    """

    branches: tuple[tuple[Expression, Expression], ...]
    default: Expression | None = None
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)

    def _check(self) -> None:
        if not self.branches:
            raise wrong("a CASE has no branches.", self.span)


@final
@dataclass(frozen=True, slots=True)
class Cast(ExpressionNode):
    """A value turned into another type; NULL if that cannot be done.

    >>> Cast(Column("age"), Type.INTEGER).to
    INTEGER
    """

    argument: Expression
    to: Type
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


@final
@dataclass(frozen=True, slots=True)
class Order(Node):
    """One item of an order: an expression, its direction and the place of NULL.

    >>> Order(Column("day"), descending=True)
    Order(expression=Column(name='day', table=None), descending=True, nulls_first=False)
    """

    expression: Expression
    descending: bool = False
    nulls_first: bool = False


@final
@dataclass(frozen=True, slots=True)
class Window(ExpressionNode):
    """A function of the rows that share a partition; lives in a Project only.

    The frame is SQL's own: without an order the whole partition, with one all rows up to the
    current row and its peers.  If the order leaves a tie, all columns of the row decide.

    >>> Window("ROW_NUMBER", (), partition=(Column("patient"),)).function
    'ROW_NUMBER'
    """

    function: str
    arguments: tuple[Expression, ...]
    partition: tuple[Expression, ...] = ()
    order: tuple[Order, ...] = ()
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)

    def _check(self) -> None:
        check_function(self.function, WINDOWS, len(self.arguments), self.span)


@final
@dataclass(frozen=True, slots=True)
class Aggregate(_Hashed):
    """A function of the rows of a group (see ``AGGREGATES`` in signatures).

    ``argument`` is None in COUNT(*) alone; only rows for which ``where`` is true count.
    ``parameter`` is the fraction of a percentile or the number of quantiles.  The bounds and
    ``epsilon`` are the named arguments of the differential privacy clause, exactly as written.

    >>> Aggregate("COUNT").argument is None
    True
    """

    function: str
    argument: Expression | None = None
    distinct: bool = field(default=False, kw_only=True)
    where: Expression | None = field(default=None, kw_only=True)
    parameter: Fraction | None = field(default=None, kw_only=True)
    bounds_per_group: Pair | None = field(default=None, kw_only=True)
    bounds_per_row: Pair | None = field(default=None, kw_only=True)
    epsilon: Fraction | None = field(default=None, kw_only=True)
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)
    __hash__ = _Hashed.__hash__

    def _check(self) -> None:
        check_function(self.function, AGGREGATES, int(self.argument is not None), self.span)
        if self.distinct and (self.argument is None or self.function not in PLAIN):
            raise wrong(f"{self.function} does not take DISTINCT.", self.span)
        for value in self.children():
            check_row(value, "an aggregate", span=self.span)
        self._check_numbers()

    def _check_numbers(self) -> None:
        """Refuse numbers out of their ranges."""
        lowest, highest = _PARAMETERS.get(self.function, (None, None))
        if (self.parameter is None) != (lowest is None):
            raise wrong(f"the parameter of {self.function} is missing, or unused.", self.span)
        if lowest is not None and highest is not None and self.parameter is not None:
            whole = self.function != "APPROX_QUANTILES" or self.parameter.denominator == 1
            if not whole or not lowest <= self.parameter <= highest:
                raise wrong(f"the parameter of {self.function} is out of range.", self.span)
            if self.parameter.denominator > FINEST_LEVEL:
                raise wrong(f"the level of {self.function} has more than 18 digits.", self.span)
        if self.epsilon is not None and self.epsilon <= 0:
            raise wrong("the epsilon of an aggregate is not above zero.", self.span)
        clamps = AGGREGATES[self.function].clamps
        allowed = self.function in BOUNDED_BY_GROUP, clamps
        for bounds, takes in zip(
            (self.bounds_per_group, self.bounds_per_row), allowed, strict=True
        ):
            if bounds is not None and (bounds[0] > bounds[1] or not takes):
                what = "the bounds are not in their order, or have no effect."
                raise wrong(what, self.span)


@final
@dataclass(frozen=True, slots=True)
class Grouped(ExpressionNode):
    """The value of the group's key number ``at``, from 0; lives above an aggregation only.

    >>> Grouped(0)
    Grouped(at=0)
    """

    at: int
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


@final
@dataclass(frozen=True, slots=True)
class Grouping(ExpressionNode):
    """Whether a key is totaled, in one of several grouping sets: 1 if it is, 0 if it is a value.

    >>> Grouping(Grouped(0)).argument
    Grouped(at=0)
    """

    argument: Expression
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


@final
@dataclass(frozen=True, slots=True)
class Star(ExpressionNode):
    """All columns, or those of one table; stands in a Project until names are bound.

    >>> Star(table="v")
    Star(table='v')
    """

    table: str | None = None
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


@final
@dataclass(frozen=True, slots=True)
class InnerQuery(ExpressionNode):
    """The subquery number ``at`` of a WHERE, from 0; gone once it is turned into a semi join.

    >>> InnerQuery(0)
    InnerQuery(at=0)
    """

    at: int
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


Expression = (
    Column
    | Literal
    | Call
    | Case
    | Cast
    | Window
    | Aggregate
    | Grouped
    | Grouping
    | Star
    | InnerQuery
)

BOUNDED_BY_GROUP: Final = ("COUNT", "SUM", "AVG")
"""Aggregates with bounds on what one unit adds to one group."""
_PARAMETERS: Final = {"PERCENTILE_CONT": (0, 1), "APPROX_QUANTILES": (1, 1000)}
"""Between which numbers the parameter of an aggregate lies, if it has one."""
FINEST_LEVEL: Final = 10**18
"""The largest denominator of a level: scores of ranks are multiples of one over it."""


def walk(expression: Expression) -> Iterator[Expression]:
    """Yield the expression and everything below it, from the top.

    >>> [type(node).__name__ for node in walk(Call("NOT", (Column("a"),)))]
    ['Call', 'Column']
    """
    waiting = [expression]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(reversed(node.children()))


def conjuncts(predicate: Expression | None) -> list[Expression]:
    """Return conditions that all hold if the predicate does.

    >>> [part.name for part in conjuncts(Call("AND", (Column("a"), Column("b"))))]
    ['a', 'b']
    """
    if isinstance(predicate, Call) and predicate.function == "AND":
        return [part for each in predicate.arguments for part in conjuncts(each)]
    return [] if predicate is None else [predicate]


def conjunction(
    conditions: Iterable[Expression | None], span: Span | None = None
) -> Expression | None:
    """Return the condition that all of some conditions hold; None if there are none.

    >>> conjunction([Column("a"), None])
    Column(name='a', table=None)
    """
    parts = [part for each in conditions for part in conjuncts(each)]
    if len(parts) < 2:
        return parts[0] if parts else None
    return Call("AND", tuple(parts), span=span)


def holds(expression: Expression, *kinds: type) -> bool:
    """Whether a node of some kinds is in an expression.

    >>> holds(Call("NOT", (Column("a"),)), Column), holds(Column("a"), Literal, Call)
    (True, False)
    """
    return any(isinstance(node, kinds) for node in walk(expression))


def transformed(
    expression: Expression, change: Callable[[Expression], Expression | None]
) -> Expression:
    """Replace nodes from the top: if ``change`` gives a node it stays, else go below.

    >>> blank = lambda node: Literal(None) if isinstance(node, Column) else None
    >>> transformed(Call("NOT", (Column("a"),)), blank)
    Call(function='NOT', arguments=(Literal(value=None),))
    """
    changed = change(expression)
    if changed is not None:
        return changed
    below = expression.children()
    if not below:
        return expression
    above = tuple([transformed(child, change) for child in below])
    if all(map(operator.is_, above, below)):
        return expression
    return expression.rebuilt(above)


# --- expressions of one row -----------------------------------------------------------------------

_ROW: Final = (Column, Literal, Call, Case, Cast)


def check_size(*expressions: Expression) -> Expression:
    """Return the last expression, unless all together are too tall or too large."""
    size_of(*expressions)
    return expressions[-1]


def check_row(
    expression: Expression, place: str, *, windows: bool = False, span: Span | None = None
) -> None:
    """Refuse what is not computed from one row, or from windows if these are allowed.

    Below an aggregation, a window in a filter or an aggregate in a key would look at the rows of
    others.  A tree may hold one node in many places; it is looked at once.

    >>> check_row(Call("NOT", (Column("paid"),)), "WHERE")
    """
    waiting = [(expression, windows, place)]
    seen: set[tuple[int, bool]] = set()
    while waiting:
        node, allowed, here = waiting.pop()
        if (id(node), allowed) in seen:
            continue
        seen.add((id(node), allowed))
        if isinstance(node, Window) and allowed:
            allowed, here = False, "a window"
        elif not isinstance(node, _ROW):
            raise _no_row(node, here, span)
        elif isinstance(node, Call) and node.function in RELEASED:
            shown = "POWER(AVG(x), 2)" if node.function == "POWER" else f"{node.function}(AVG(x))"
            raise unsupported(
                node.span,
                f"{node.function} is used where a value of one row is needed.",
                "its last digits differ between engines, and so would the answer.",
                f"apply it to the answer, as in {shown}, or compute it beforehand; x * x is a "
                "square.",
            )
        waiting.extend((child, allowed, here) for child in reversed(node.children()))


def _no_row(node: Expression, place: str, span: Span | None) -> InputError | QuestionError:
    match node:
        case Aggregate():
            return unsupported(
                node.span,
                f"an aggregate is used in {place}.",
                "it is computed for a group, after the rows are chosen.",
                "filter groups with HAVING, or aggregate in a subquery first.",
            )
        case Window():
            return unsupported(node.span, f"a window is used in {place}.", *CLAUSES["QUALIFY"])
        case InnerQuery():
            return inner_query_refused(node.span)
        case Star():
            return unsupported(
                node.span,
                "the star is used where one value is needed.",
                "it means all columns of a table.",
                "name the column.",
            )
        case _:
            what = f"a {type(node).__name__} is used where a value of one row is needed."
            return wrong(what, span)
