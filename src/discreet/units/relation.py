"""Neighbor relations, and the distances of tables and vectors that follow from them.

Trust: kernel.

Definition.  Tables are multisets of rows.  Two different tables are neighbors

``add_remove``
    if one arises from the other by adding one row (also called unbounded);
``replace``
    if one arises from the other by changing one row (bounded; the number of rows is public);
``either``
    if one of the two above holds;
``replace_null``
    if each row has a fixed place, and one place holds a row in one table and nothing in the other;
``local``
    if each table is a single row, whatever the two rows are: the local model is the same
    definition of privacy, for tables of one person.

For units larger than a row, read "everything of one unit" in place of "row".

Definition.  The canonical metric of a relation is the length of the shortest path of neighbors
from one table to another, and infinity where there is no path.
Theorem (key ``canonical-metric``; Guerra-Balboa, Miranda-Pascual, Parra-Arnau and Strufe 2024).
With multiset differences L = D - D' and R = D' - D, the canonical metric is

    add_remove      |L| + |R|
    replace         |L|  if |D| = |D'|, else infinity
    either          max(|L|, |R|)
    replace_null    over all places: 1 if one side is null, 2 if two different rows, else 0
    local           1 if D and D' are different single rows; infinity if they are other tables

A mechanism is epsilon-DP for the relation if and only if it is (epsilon d)-private for its metric
d, so a group of k units is nothing but a distance of k (key ``group-distance``).

Theorem (key ``group-distance``; Guerra-Balboa, Miranda-Pascual, Parra-Arnau and Strufe 2024, CSF).
A mechanism is epsilon-DP for a relation if and only if it is (epsilon d)-private for the
relation's canonical metric d; so k units are protected at distance k, and neighbors of another
relation at the largest distance between them.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from enum import Enum
from fractions import Fraction
from typing import assert_never, final

from discreet.arrays import listed
from discreet.errors import OutOfRange, WrongKind
from discreet.exact import rational


@final
class Relation(Enum):
    """A neighbor relation between tables.

    Definition.  Each step from a table to a neighbor adds or removes one row, or replaces one.  A
    relation *adds* if some neighbors differ by a row that only one of them has, and *replaces* if
    in some neighbors two different rows stand for each other.  Every relation does one or both:

                        adds    replaces    sides   size is public    has places
        add_remove      yes     no          1       no                no
        replace         no      yes         2       yes               no
        either          yes     yes         2       no                no
        replace_null    yes     no          1       no                yes
        local           no      yes         2       yes               yes

    ``sides`` is the largest number of rows that one step touches: the one that leaves, and the one
    that comes.  The number of rows is public where no step changes it: where nothing is added.

    >>> Relation.read("replace")
    <Relation.REPLACE: 'replace'>
    >>> Relation.EITHER.adds, Relation.EITHER.replaces, Relation.EITHER.sides
    (True, True, 2)
    >>> Relation.REPLACE.size_is_public, Relation.ADD_REMOVE.size_is_public
    (True, False)
    """

    ADD_REMOVE = "add_remove"
    REPLACE = "replace"
    EITHER = "either"
    REPLACE_NULL = "replace_null"
    LOCAL = "local"

    __hash__ = object.__hash__  # each is one object, and leaves are looked up by the thousand

    @classmethod
    def read(cls, value: object) -> Relation:
        """Read a relation, or the name of one."""
        if isinstance(value, cls):
            return value
        for relation in cls:
            if isinstance(value, str) and value == relation.value:
                return relation
        given = f"{value[:40]!r}" if isinstance(value, str) else f"a {type(value).__name__}"
        names = ", ".join(repr(relation.value) for relation in cls)
        raise WrongKind(f"the relation is {given}, which is unknown; give one of {names}.")

    @property
    def size_is_public(self) -> bool:
        """Whether all neighbors have the same number of rows."""
        return not self.adds

    @property
    def adds(self) -> bool:
        """Whether some neighbors differ by a row that only one of them has."""
        return self not in {Relation.REPLACE, Relation.LOCAL}

    @property
    def replaces(self) -> bool:
        """Whether some neighbors differ by two rows that stand for each other."""
        return self in {Relation.REPLACE, Relation.LOCAL, Relation.EITHER}

    @property
    def sides(self) -> int:
        """How many rows one step touches at most: 1, or 2 where one row replaces another."""
        return 2 if self.replaces else 1

    @property
    def has_places(self) -> bool:
        """Whether each row has a fixed place, so that rows can be told apart by it."""
        return self in {Relation.REPLACE_NULL, Relation.LOCAL}


def table_distance(
    left: Sequence[Hashable], right: Sequence[Hashable], *, relation: Relation | str
) -> int | float:
    """Return the canonical distance of two tables: a integer, or infinity.

    Rows can be any hashable values; ``None`` is a place without a row.

    >>> table_distance(["a", "b"], ["b", "c"], relation="add_remove")
    2
    >>> table_distance(["a", "b"], ["b", "c"], relation="replace")
    1
    >>> table_distance(["a"], ["a", "b"], relation="replace")
    inf
    """
    kind = Relation.read(relation)
    first, second = _rows(left), _rows(right)
    if kind is Relation.REPLACE_NULL:
        return _by_place(first, second)
    here, there = (Counter(row for row in rows if row is not None) for rows in (first, second))
    gone, come = (here - there).total(), (there - here).total()
    match kind:
        case Relation.ADD_REMOVE:
            return gone + come
        case Relation.REPLACE:
            return gone if gone == come else math.inf
        case Relation.EITHER:
            return max(gone, come)
        case Relation.LOCAL:
            if gone == come == 0:
                return 0
            return 1 if here.total() == there.total() == 1 else math.inf
        case _:  # pragma: no cover
            assert_never(kind)


def steps(*, certified: Relation | str, wanted: Relation | str) -> int | float:
    """Return how far neighbors of the wanted relation can be apart in the certified one.

    A mechanism that is epsilon-DP under ``certified`` is (steps * epsilon)-DP under ``wanted``.

    >>> steps(certified="add_remove", wanted="replace")
    2
    >>> steps(certified="replace", wanted="add_remove")  # a size was never protected
    inf
    """
    source, target = Relation.read(certified), Relation.read(wanted)
    return 1 if source is target else _STEPS.get((source, target), math.inf)


_STEPS = {
    (Relation.ADD_REMOVE, Relation.REPLACE): 2,
    (Relation.ADD_REMOVE, Relation.EITHER): 2,
    (Relation.ADD_REMOVE, Relation.REPLACE_NULL): 1,
    (Relation.ADD_REMOVE, Relation.LOCAL): 2,
    (Relation.REPLACE, Relation.LOCAL): 1,
    (Relation.EITHER, Relation.ADD_REMOVE): 1,
    (Relation.EITHER, Relation.REPLACE): 1,
    (Relation.EITHER, Relation.REPLACE_NULL): 1,
    (Relation.EITHER, Relation.LOCAL): 1,
    (Relation.REPLACE_NULL, Relation.LOCAL): 2,
}  # elsewhere no path exists: sizes differ, rows lose their places, or tables have more rows


def l1(left: Sequence[object], right: Sequence[object]) -> Fraction:
    """Add up the absolute differences.

    >>> l1([1, 2, 3], [1, 5, "2.5"])
    Fraction(7, 2)
    """
    return sum((abs(gap) for gap in _gaps(left, right)), Fraction(0))


def _gaps(left: Sequence[object], right: Sequence[object]) -> list[Fraction]:
    first, second = listed(left, name="entries"), listed(right, name="entries")
    if len(first) != len(second):
        raise WrongKind("the two vectors have different lengths; give two vectors of one length.")
    return [
        rational(one, name="each entry") - rational(other, name="each entry")
        for one, other in zip(first, second, strict=True)
    ]


def _rows(table: Sequence[Hashable]) -> list[Hashable]:
    rows = listed(table, name="rows")
    for row in rows:
        try:
            hash(row)
        except TypeError:
            raise WrongKind(
                f"a row is a {type(row).__name__}, which cannot be compared as a whole; give rows "
                "as tuples, text or numbers."
            ) from None
        if _has_nan(row):
            raise OutOfRange("a row holds a NaN; write missing values as None.")
    return rows


def _has_nan(row: object) -> bool:
    if isinstance(row, tuple | frozenset):
        return any(_has_nan(entry) for entry in row)
    return isinstance(row, float) and math.isnan(row)


def _by_place(left: Iterable[Hashable], right: Iterable[Hashable]) -> int | float:
    first, second = list(left), list(right)
    if len(first) != len(second):
        return math.inf
    return sum(
        0 if one == other else 1 if one is None or other is None else 2
        for one, other in zip(first, second, strict=True)
    )
