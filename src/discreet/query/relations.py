"""Relations: the tables below the private aggregation, as a tree of operators.

Trust: kernel.  The plan reasons about these nodes, and engines compute them.

Definition.  A relation is a bag of rows.  As read from a text it is *unbound*: leaves are tables by
name, columns may carry the name or alias of their table, and a Project may hold a Star.  The plan
*binds* it: leaves are scans with typed columns, no column has a qualifier, there is no Named, Star
``using``, ``compared`` or Valued, and the names of the columns of every node are unique.

A node checks its parts when it is made: kinds of joins and functions are known, expressions stand
where they have a meaning (a window in a Project alone, an aggregate in an Aggregated alone), and
everything is what its annotation says.

In an unbound relation the alias of a table is visible through Filter, Named's own child ends at the
Named, Join shows both sides, SemiJoin the left one, and every other node hides what is below it.
A Valued shows the left side and its value, under the name :data:`VALUES` of a table.
Names are compared without regard to the case of ASCII letters (:func:`folded`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final, final

from discreet.query.expressions import Aggregate, Expression, Star, check_row
from discreet.query.functions import PLAIN
from discreet.query.nodes import RelationNode, wrong
from discreet.query.source_text import Span
from discreet.query.types import Type

Output = tuple[str, Expression]
"""A column of a result: its name and what it holds."""

KINDS: Final = ("inner", "left", "right", "full", "cross")
"""The kinds of join."""

_FOLDED: Final = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}


def folded(name: str) -> str:
    """Return a name in the one form in which names are compared.

    >>> folded("Ward") == folded("WARD")
    True
    """
    return name.lower() if name.isascii() else name.translate(_FOLDED)


@final
@dataclass(frozen=True, slots=True)
class Table(RelationNode):
    """A table by its name, perhaps with dots, as written in a question.

    >>> Table("visits")
    Table(name='visits')
    """

    name: str
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


NO_TABLE: Final = "no table"
"""The name of the table of a question without FROM: one row without columns."""


@final
@dataclass(frozen=True, slots=True)
class Scan(RelationNode):
    """All rows of a table: what a Table becomes when it is bound.

    >>> Scan("visits", (("ward", Type.TEXT),)).columns
    (('ward', TEXT),)
    """

    table: str
    columns: tuple[tuple[str, Type], ...]
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


@final
@dataclass(frozen=True, slots=True)
class Named(RelationNode):
    """A relation under an alias; unbound relations only.

    >>> Named(Table("visits"), "v").alias
    'v'
    """

    child: Relation
    alias: str
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


@final
@dataclass(frozen=True, slots=True)
class Filter(RelationNode):
    """The rows for which the predicate is true: neither false nor NULL.

    >>> from discreet.query.expressions import Column
    >>> Filter(Table("visits"), Column("paid")).predicate
    Column(name='paid', table=None)
    """

    child: Relation
    predicate: Expression
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)

    def _check(self) -> None:
        check_row(self.predicate, "WHERE", span=self.span)


@final
@dataclass(frozen=True, slots=True)
class Project(RelationNode):
    """Each row turned into the outputs, in their order; windows live here.

    >>> from discreet.query.expressions import Column
    >>> Project(Table("visits"), (("w", Column("ward")),)).outputs[0][0]
    'w'
    """

    child: Relation
    outputs: tuple[Output, ...]
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)

    def _check(self) -> None:
        for _, value in self.outputs:
            if not isinstance(value, Star):
                check_row(value, "the select list", windows=True, span=self.span)


@final
@dataclass(frozen=True, slots=True)
class Join(RelationNode):
    """Pairs of rows for which ``on`` is true, and as in SQL what an outer join adds.

    ``on`` is None in a cross join, and while ``using`` names the shared columns (unbound only: such
    a column comes once, before all others, and is the first of the two that is not NULL).

    >>> Join(Table("a"), Table("b"), "inner", using=("k",)).using
    ('k',)
    """

    left: Relation
    right: Relation
    kind: str
    on: Expression | None = None
    using: tuple[str, ...] = ()
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)

    def _check(self) -> None:
        if self.kind not in KINDS:
            raise wrong("the kind of a join is not known.", self.span)
        if self.on is not None:
            check_row(self.on, "ON", span=self.span)
        if (self.on is not None) + bool(self.using) != (self.kind != "cross"):
            raise wrong("a join has no condition, or more than one.", self.span)


@final
@dataclass(frozen=True, slots=True)
class SemiJoin(RelationNode):
    """The rows on the left that meet a row on the right, each once; ``anti``: those that meet none.

    Two rows meet if ``on`` is true, or always without one.  ``compared`` is what IN compares (in
    unbound relations only): a value of the left row with one of the right row.  Rows meet if these
    are equal, too; in an anti join, which is NOT IN, already if it is not false that they are.
    In an unbound relation a name in ``on``, or in the second value, is that of a column on the
    right, and of one on the left only if there is none.

    >>> from discreet.query.expressions import Call, Column
    >>> same = Call("=", (Column("id", "v"), Column("id", "w")))
    >>> SemiJoin(Named(Table("visits"), "v"), Named(Table("wards"), "w"), same).anti
    False
    """

    left: Relation
    right: Relation
    on: Expression | None = None
    compared: tuple[Expression, Expression] | None = None
    anti: bool = field(default=False, kw_only=True)
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)

    def _check(self) -> None:
        for value in (*([] if self.on is None else [self.on]), *(self.compared or ())):
            check_row(value, "the select list", span=self.span)


VALUES: Final = "a value of a subquery"
"""The name of the table that values of subqueries are columns of."""


@final
@dataclass(frozen=True, slots=True)
class Valued(RelationNode):
    """The rows on the left, each with a value of the rows on the right that it meets.

    Two rows meet as in a SemiJoin.  The value, a column ``name`` of :data:`VALUES`, is computed
    from ``totals`` of the rows that a left row meets, and of none if it meets none; unbound only.

    >>> from discreet.query.expressions import Column
    >>> mean = Aggregate("MAX", Column("beds"))
    >>> Valued(Table("visits"), Table("wards"), "value_1", Column("m"), (("m", mean),)).name
    'value_1'
    """

    left: Relation
    right: Relation
    name: str
    value: Expression
    totals: tuple[tuple[str, Aggregate], ...]
    on: Expression | None = None
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)

    def _check(self) -> None:
        for value in (self.value, *([] if self.on is None else [self.on])):
            check_row(value, "a subquery", span=self.span)
        _check_totals(self.totals, self.span)


@final
@dataclass(frozen=True, slots=True)
class Aggregated(RelationNode):
    """One row for each combination of the keys that occurs: the keys, then the outputs.

    A plain aggregation, without noise.  Without keys it is one row.  The functions are those of
    ``PLAIN`` in signatures: COUNT, SUM, MIN and MAX.

    >>> Aggregated(Table("visits"), (), (("n", Aggregate("COUNT")),)).keys
    ()
    """

    child: Relation
    keys: tuple[Output, ...]
    outputs: tuple[tuple[str, Aggregate], ...]
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)

    def _check(self) -> None:
        for _, value in self.keys:
            check_row(value, "GROUP BY", span=self.span)
        _check_totals(self.outputs, self.span)


@final
@dataclass(frozen=True, slots=True)
class Distinct(RelationNode):
    """Each different row once; NULL is like NULL.

    >>> Distinct(Table("wards")).child
    Table(name='wards')
    """

    child: Relation
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


@final
@dataclass(frozen=True, slots=True)
class UnionAll(RelationNode):
    """The rows of all parts, column by column in order; the names are those of the first part.

    >>> len(UnionAll((Table("a"), Table("b"))).parts)
    2
    """

    parts: tuple[Relation, ...]
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)

    def _check(self) -> None:
        if not self.parts:
            raise wrong("a union has no parts.", self.span)


@final
@dataclass(frozen=True, slots=True)
class BoundedUnits(RelationNode):
    """The rows of units whose rows are few and small; bound relations only.

    The rows of a unit are those that agree in the columns ``unit``, none of which is NULL.  All of
    them stay if they are at most ``rows``, and the values of ``texts`` in them take at most
    ``text_bytes`` bytes of UTF-8 together.  Otherwise none of them stays.

    >>> BoundedUnits(Table("visits"), ("patient",), (), rows=1000, text_bytes=0).unit
    ('patient',)
    """

    child: Relation
    unit: tuple[str, ...]
    texts: tuple[Expression, ...]
    rows: int = field(kw_only=True)
    text_bytes: int = field(kw_only=True)
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)

    def _check(self) -> None:
        if not self.unit:
            raise wrong("a unit has no columns.", self.span)
        for value in self.texts:
            check_row(value, "a unit", span=self.span)


def _check_totals(totals: Iterable[tuple[str, Aggregate]], span: Span | None) -> None:
    """Refuse aggregates of rows that need noise, or have what only private ones have."""
    for _, total in totals:
        given = (total.parameter, total.bounds_per_group, total.bounds_per_row, total.epsilon)
        if total.function not in PLAIN or any(part is not None for part in given):
            raise wrong("an aggregation without noise holds something else.", span)


Relation = (
    Table
    | Scan
    | Named
    | Filter
    | Project
    | Join
    | SemiJoin
    | Valued
    | Aggregated
    | Distinct
    | UnionAll
    | BoundedUnits
)


def descend(relation: Relation) -> Iterator[Relation]:
    """Yield the relation and everything below it, from the top, left before right.

    >>> [type(node).__name__ for node in descend(Distinct(Table("wards")))]
    ['Distinct', 'Table']
    """
    waiting = [relation]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(reversed(node.children()))
