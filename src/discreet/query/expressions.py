"""Expressions: what is computed from the columns of a row, or of a group.

Trust: kernel.  The plan reasons about these nodes, and engines compute them.

Definition.  An expression is a tree of the nodes below.  Nodes are values: two are equal if they
compute the same thing in the same words, wherever they were written (spans do not count).
A node checks its parts when it is made: functions are known and have as many arguments as they
take, and everything is what its annotation says (:mod:`discreet.query.node_checks`).
``children()`` are the expressions directly below; ``rebuilt(children)`` is the same node over
others, in the same order and number.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Final, Self, final

from discreet.query.functions import AGGREGATES, ANYWHERE, PLAIN, WINDOWS
from discreet.query.node_checks import Node, check_function, scalar_of, wrong
from discreet.query.source_text import Span
from discreet.query.types import Scalar, Type, type_of

Pair = tuple[Fraction, Fraction]


class Leaf(Node):
    """What has nothing below it, in an expression or a relation."""

    __slots__ = ()

    def children(self) -> tuple[()]:
        """Return nothing: there is nothing below."""
        return ()

    def rebuilt(self, children: Sequence[object]) -> Self:  # noqa: ARG002 (there are none)
        """Return the node itself."""
        return self


class _Hashed(Node):
    """What is looked up again and again: its hash is worked out once."""

    __slots__ = ("_hashed",)

    _hashed: int
    """No part of the value, and not copied with it."""

    def _keep_hash(self, *parts: object) -> int:
        """Work out the hash of the parts that equal nodes share."""
        found = hash(parts)
        object.__setattr__(self, "_hashed", found)
        return found


@final
@dataclass(frozen=True, slots=True)
class Column(Leaf):
    """A column by its name; ``table`` is the qualifier, and None once names are bound.

    >>> Column("ward", table="v")
    Column(name='ward', table='v')
    """

    name: str
    table: str | None = None
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


@final
@dataclass(frozen=True, slots=True)
class Literal(Leaf):
    """A value written in the question; numbers are exact, and 1.0 is 1.

    >>> Literal(Fraction(2)) == Literal(2), Literal(True) == Literal(1)
    (True, False)
    """

    value: Scalar
    type: Type | None = field(init=False, repr=False)
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)

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

    def _check(self) -> None:
        check_function(self.function, ANYWHERE, len(self.arguments), self.span)

    def __hash__(self) -> int:
        """Return what equal calls share."""
        try:
            return self._hashed
        except AttributeError:
            return self._keep_hash(self.function, self.arguments)

    def children(self) -> tuple[Expression, ...]:
        """Return the expressions directly below."""
        return self.arguments

    def rebuilt(self, children: Sequence[Expression]) -> Call:
        """Return the same call of other arguments."""
        return Call(self.function, tuple(children), span=self.span)


@final
@dataclass(frozen=True, slots=True)
class Case(Node):
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
class Cast(Node):
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
        return Cast(children[0], self.to, span=self.span)


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
class Window(Node):
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

    def _check(self) -> None:
        check_function(self.function, WINDOWS, len(self.arguments), self.span)

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

    def _check(self) -> None:
        check_function(self.function, AGGREGATES, int(self.argument is not None), self.span)
        if self.distinct and (self.argument is None or self.function not in PLAIN):
            raise wrong(f"{self.function} does not tell distinct values apart.", self.span)
        self._check_numbers()

    def __hash__(self) -> int:
        """Return what equal aggregates share."""
        try:
            return self._hashed
        except AttributeError:
            numbers = (self.parameter, self.bounds_per_group, self.bounds_per_row, self.epsilon)
            parts = (self.function, self.argument, self.distinct, self.where)
            return self._keep_hash(*parts, *numbers)

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
        for bounds in (self.bounds_per_group, self.bounds_per_row):
            if bounds is not None and bounds[0] > bounds[1]:
                raise wrong("the bounds are not in their order.", self.span)

    def children(self) -> tuple[Expression, ...]:
        """Return the argument and the condition, as far as there are any."""
        return tuple(part for part in (self.argument, self.where) if part is not None)

    def rebuilt(self, children: Sequence[Expression]) -> Aggregate:
        """Return the same aggregate over other expressions."""
        rest = list(children)
        argument = None if self.argument is None else rest.pop(0)
        where = None if self.where is None else rest.pop(0)
        return Aggregate(
            self.function,
            argument,
            distinct=self.distinct,
            where=where,
            parameter=self.parameter,
            bounds_per_group=self.bounds_per_group,
            bounds_per_row=self.bounds_per_row,
            epsilon=self.epsilon,
            span=self.span,
        )


@final
@dataclass(frozen=True, slots=True)
class Grouped(Leaf):
    """The value of the group's key number ``at``, from 0; lives above an aggregation only.

    >>> Grouped(0)
    Grouped(at=0)
    """

    at: int
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


@final
@dataclass(frozen=True, slots=True)
class Star(Leaf):
    """All columns, or those of one table; stands in a Project until names are bound.

    >>> Star(table="v")
    Star(table='v')
    """

    table: str | None = None
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


@final
@dataclass(frozen=True, slots=True)
class InnerQuery(Leaf):
    """The subquery number ``at`` of a WHERE, from 0; gone once it is turned into a semi join.

    >>> InnerQuery(0)
    InnerQuery(at=0)
    """

    at: int
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


Expression = (
    Column | Literal | Call | Case | Cast | Window | Aggregate | Grouped | Star | InnerQuery
)

_PARAMETERS: Final = {"PERCENTILE_CONT": (0, 1), "APPROX_QUANTILES": (1, 1000)}
"""Between which numbers the parameter of an aggregate lies, where it has one."""
FINEST_LEVEL: Final = 10**18
"""The largest denominator of a level: scores of ranks are multiples of one over it."""


def check_expression(value: object, span: Span | None = None) -> None:
    """Refuse anything but a node of an expression.

    >>> check_expression(Column("ward"))
    """
    if not isinstance(value, Expression):
        raise wrong(f"a {type(value).__name__} stands where an expression is needed.", span)


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


def conjuncts(predicate: Expression | None) -> Iterator[Expression]:
    """Yield conditions that all hold where the predicate does.

    >>> [part.name for part in conjuncts(Call("AND", (Column("a"), Column("b"))))]
    ['a', 'b']
    """
    if isinstance(predicate, Call) and predicate.function == "AND":
        for part in predicate.arguments:
            yield from conjuncts(part)
    elif predicate is not None:
        yield predicate


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
    if not below:
        return expression
    above = tuple([transformed(child, change) for child in below])
    if all(map(operator.is_, above, below)):
        return expression
    return expression.rebuilt(above)
