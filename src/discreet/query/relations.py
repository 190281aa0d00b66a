"""Relations: the tables below the private aggregation, as a tree of operators.

Trust: kernel.  The plan reasons about these nodes, and engines compute them.

Definition.  A relation is a bag of rows.  As read from a text it is *unbound*: leaves are tables by
name, columns may carry the name or alias of their table, and a Project may hold a Star.  The plan
*binds* it: leaves are scans with typed columns, no column has a qualifier, there is no Named, Star
or ``using``, and the names of the columns of every node are unique.

In an unbound relation the alias of a table is visible through Filter, Named's own child ends at the
Named, Join shows both sides, and every other node hides what is below it.  Names are compared
without regard to the case of ASCII letters (:func:`folded`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Self, final

from discreet.query.expressions import Aggregate, Expression
from discreet.query.span import Span
from discreet.query.types import Type

__all__ = [
    "KINDS",
    "Aggregated",
    "Distinct",
    "Filter",
    "Join",
    "Named",
    "Output",
    "Project",
    "Relation",
    "Scan",
    "Table",
    "UnionAll",
    "descend",
    "folded",
]

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
    return name.translate(_FOLDED)


class _Leaf:
    """What has nothing below it."""

    __slots__ = ()

    def children(self) -> tuple[Relation, ...]:
        """Return nothing: there is nothing below."""
        return ()

    def rebuilt(self, children: Sequence[Relation]) -> Self:  # noqa: ARG002 (there are none)
        """Return the node itself."""
        return self


@final
@dataclass(frozen=True, slots=True)
class Table(_Leaf):
    """A table by its name, perhaps with dots, as written in a question.

    >>> Table("visits")
    Table(name='visits')
    """

    name: str
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


@final
@dataclass(frozen=True, slots=True)
class Scan(_Leaf):
    """All rows of a table: what a Table becomes when it is bound.

    >>> Scan("visits", (("ward", Type.TEXT),)).columns
    (('ward', TEXT),)
    """

    table: str
    columns: tuple[tuple[str, Type], ...]
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


@final
@dataclass(frozen=True, slots=True)
class Named:
    """A relation under an alias; unbound relations only.

    >>> Named(Table("visits"), "v").alias
    'v'
    """

    child: Relation
    alias: str
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)

    def children(self) -> tuple[Relation, ...]:
        """Return the relations directly below."""
        return (self.child,)

    def rebuilt(self, children: Sequence[Relation]) -> Named:
        """Return the same node over another relation."""
        return replace(self, child=children[0])


@final
@dataclass(frozen=True, slots=True)
class Filter:
    """The rows for which the predicate is true: neither false nor NULL.

    >>> from discreet.query.expressions import Column
    >>> Filter(Table("visits"), Column("paid")).predicate
    Column(name='paid', table=None)
    """

    child: Relation
    predicate: Expression
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)

    def children(self) -> tuple[Relation, ...]:
        """Return the relations directly below."""
        return (self.child,)

    def rebuilt(self, children: Sequence[Relation]) -> Filter:
        """Return the same node over another relation."""
        return replace(self, child=children[0])


@final
@dataclass(frozen=True, slots=True)
class Project:
    """Each row turned into the outputs, in their order; windows live here.

    >>> from discreet.query.expressions import Column
    >>> Project(Table("visits"), (("w", Column("ward")),)).outputs[0][0]
    'w'
    """

    child: Relation
    outputs: tuple[Output, ...]
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)

    def children(self) -> tuple[Relation, ...]:
        """Return the relations directly below."""
        return (self.child,)

    def rebuilt(self, children: Sequence[Relation]) -> Project:
        """Return the same node over another relation."""
        return replace(self, child=children[0])


@final
@dataclass(frozen=True, slots=True)
class Join:
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

    def children(self) -> tuple[Relation, ...]:
        """Return the relations directly below."""
        return (self.left, self.right)

    def rebuilt(self, children: Sequence[Relation]) -> Join:
        """Return the same join of other relations."""
        left, right = children
        return replace(self, left=left, right=right)


@final
@dataclass(frozen=True, slots=True)
class Aggregated:
    """One row for each combination of the keys that occurs: the keys, then the outputs.

    A plain aggregation, without noise.  Without keys it is one row.  The functions are those of
    ``PLAIN`` in functions: COUNT, SUM, MIN and MAX.

    >>> Aggregated(Table("visits"), (), (("n", Aggregate("COUNT")),)).keys
    ()
    """

    child: Relation
    keys: tuple[Output, ...]
    outputs: tuple[tuple[str, Aggregate], ...]
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)

    def children(self) -> tuple[Relation, ...]:
        """Return the relations directly below."""
        return (self.child,)

    def rebuilt(self, children: Sequence[Relation]) -> Aggregated:
        """Return the same node over another relation."""
        return replace(self, child=children[0])


@final
@dataclass(frozen=True, slots=True)
class Distinct:
    """Each different row once; NULL is like NULL.

    >>> Distinct(Table("wards")).child
    Table(name='wards')
    """

    child: Relation
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)

    def children(self) -> tuple[Relation, ...]:
        """Return the relations directly below."""
        return (self.child,)

    def rebuilt(self, children: Sequence[Relation]) -> Distinct:
        """Return the same node over another relation."""
        return replace(self, child=children[0])


@final
@dataclass(frozen=True, slots=True)
class UnionAll:
    """The rows of all parts, column by column in order; the names are those of the first part.

    >>> len(UnionAll((Table("a"), Table("b"))).parts)
    2
    """

    parts: tuple[Relation, ...]
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)

    def children(self) -> tuple[Relation, ...]:
        """Return the relations directly below."""
        return self.parts

    def rebuilt(self, children: Sequence[Relation]) -> UnionAll:
        """Return the same union of other relations."""
        return replace(self, parts=tuple(children))


Relation = Table | Scan | Named | Filter | Project | Join | Aggregated | Distinct | UnionAll


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
