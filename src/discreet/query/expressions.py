"""Expressions: what is computed from the columns of a row, or of a group.

Trust: kernel.  The plan reasons about these nodes, and engines compute them.

Definition.  An expression is a tree of the nodes below.  Nodes are values: two are equal if they
compute the same thing in the same words, wherever they were written (spans do not count).
``children()`` are the expressions directly below; ``rebuilt(children)`` is the same node over
others, in the same order and number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Self, final

from discreet.query.span import Span
from discreet.query.types import Scalar, Type, type_of

__all__ = [
    "Aggregate",
    "Call",
    "Case",
    "Cast",
    "Column",
    "Expression",
    "Grouped",
    "Literal",
    "Order",
    "Star",
    "Window",
    "transformed",
    "walk",
]

Pair = tuple[Fraction, Fraction]


class _Leaf:
    """What has nothing below it."""

    __slots__ = ()

    def children(self) -> tuple[Expression, ...]:
        """Return nothing: there is nothing below."""
        return ()

    def rebuilt(self, children: Sequence[Expression]) -> Self:  # noqa: ARG002 (there are none)
        """Return the node itself."""
        return self


@final
@dataclass(frozen=True, slots=True)
class Column(_Leaf):
    """A column by its name; ``table`` is the qualifier, and None once names are bound.

    >>> Column("ward", table="v")
    Column(name='ward', table='v')
    """

    name: str
    table: str | None = None
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


@final
@dataclass(frozen=True, slots=True)
class Literal(_Leaf):
    """A value written in the question; numbers are exact, and 1.0 is 1.

    >>> Literal(Fraction(2)) == Literal(2), Literal(True) == Literal(1)
    (True, False)
    """

    value: Scalar
    type: Type | None = field(init=False, repr=False)
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)

    def __post_init__(self) -> None:
        """Keep one form of every number, and the type apart: True is not 1."""
        kind = type_of(self.value)
        if kind is Type.INTEGER:
            object.__setattr__(self, "value", int(self.value))  # type: ignore[arg-type]
        elif kind is Type.FLOAT:
            object.__setattr__(self, "value", Fraction(self.value))  # type: ignore[arg-type]
        object.__setattr__(self, "type", kind)


@final
@dataclass(frozen=True, slots=True)
class Call:
    """A function of :mod:`discreet.query.functions`, or an operator, applied to arguments.

    >>> Call("+", (Column("a"), Literal(1)))
    Call(function='+', arguments=(Column(name='a', table=None), Literal(value=1)))
    """

    function: str
    arguments: tuple[Expression, ...]
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)

    def children(self) -> tuple[Expression, ...]:
        """Return the expressions directly below."""
        return self.arguments

    def rebuilt(self, children: Sequence[Expression]) -> Call:
        """Return the same call of other arguments."""
        return replace(self, arguments=tuple(children))


@final
@dataclass(frozen=True, slots=True)
class Case:
    """The value of the first branch whose condition is true, else the default, else NULL.

    >>> Case(((Column("old"), Literal("senior")),)).default is None
    True
    """

    branches: tuple[tuple[Expression, Expression], ...]
    default: Expression | None = None
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)

    def children(self) -> tuple[Expression, ...]:
        """Return conditions and values by turns, then the default."""
        pairs = tuple(part for branch in self.branches for part in branch)
        return pairs if self.default is None else (*pairs, self.default)

    def rebuilt(self, children: Sequence[Expression]) -> Case:
        """Return the same branches over other expressions."""
        count = 2 * len(self.branches)
        pairs = tuple(zip(children[0:count:2], children[1:count:2], strict=True))
        return replace(self, branches=pairs, default=None if self.default is None else children[-1])


@final
@dataclass(frozen=True, slots=True)
class Cast:
    """A value turned into another type; NULL where that cannot be done.

    >>> Cast(Column("age"), Type.INTEGER).to
    INTEGER
    """

    argument: Expression
    to: Type
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)

    def children(self) -> tuple[Expression, ...]:
        """Return the expressions directly below."""
        return (self.argument,)

    def rebuilt(self, children: Sequence[Expression]) -> Cast:
        """Return the same cast of another expression."""
        return replace(self, argument=children[0])


@final
@dataclass(frozen=True, slots=True)
class Order:
    """One item of an order: an expression, its direction and the place of NULL.

    >>> Order(Column("day"), descending=True)
    Order(expression=Column(name='day', table=None), descending=True, nulls_first=False)
    """

    expression: Expression
    descending: bool = False
    nulls_first: bool = False


@final
@dataclass(frozen=True, slots=True)
class Window:
    """A function of the rows that share a partition; lives in a Project only.

    The frame is SQL's own: without an order the whole partition, with one all rows up to the
    current row and its peers.  Where the order leaves a tie, all columns of the row decide.

    >>> Window("ROW_NUMBER", (), partition=(Column("patient"),)).function
    'ROW_NUMBER'
    """

    function: str
    arguments: tuple[Expression, ...]
    partition: tuple[Expression, ...] = ()
    order: tuple[Order, ...] = ()
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)

    def children(self) -> tuple[Expression, ...]:
        """Return arguments, partition and order, in this order."""
        return (*self.arguments, *self.partition, *(item.expression for item in self.order))

    def rebuilt(self, children: Sequence[Expression]) -> Window:
        """Return the same window over other expressions."""
        first, second = len(self.arguments), len(self.arguments) + len(self.partition)
        pairs = zip(self.order, children[second:], strict=True)
        return replace(
            self,
            arguments=tuple(children[:first]),
            partition=tuple(children[first:second]),
            order=tuple(replace(item, expression=child) for item, child in pairs),
        )


@final
@dataclass(frozen=True, slots=True)
class Aggregate:
    """A function of the rows of a group (see ``AGGREGATES`` in functions).

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

    def children(self) -> tuple[Expression, ...]:
        """Return the argument, then the condition, those that there are."""
        return tuple(part for part in (self.argument, self.where) if part is not None)

    def rebuilt(self, children: Sequence[Expression]) -> Aggregate:
        """Return the same aggregate over other expressions."""
        rest = list(children)
        argument = None if self.argument is None else rest.pop(0)
        where = None if self.where is None else rest.pop(0)
        return replace(self, argument=argument, where=where)


@final
@dataclass(frozen=True, slots=True)
class Grouped(_Leaf):
    """The value of the group's key number ``at``, from 0; lives above an aggregation only.

    >>> Grouped(0)
    Grouped(at=0)
    """

    at: int
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


@final
@dataclass(frozen=True, slots=True)
class Star(_Leaf):
    """All columns, or those of one table; stands in a Project until names are bound.

    >>> Star(table="v")
    Star(table='v')
    """

    table: str | None = None
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


Expression = Column | Literal | Call | Case | Cast | Window | Aggregate | Grouped | Star


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


def transformed(
    expression: Expression, change: Callable[[Expression], Expression | None]
) -> Expression:
    """Replace nodes from the top: where ``change`` gives a node it stays, else go below.

    >>> blank = lambda node: Literal(None) if isinstance(node, Column) else None
    >>> transformed(Call("NOT", (Column("a"),)), blank)
    Call(function='NOT', arguments=(Literal(value=None),))
    """
    changed = change(expression)
    if changed is not None:
        return changed
    below = expression.children()
    above = tuple(transformed(child, change) for child in below)
    if all(new is old for new, old in zip(above, below, strict=True)):
        return expression
    return expression.rebuilt(above)
