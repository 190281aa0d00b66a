"""Fan-out: how many rows of a join a row of a person becomes, at most; and bounded units.

Trust: kernel.  A window looks at all rows of a unit at once, and an engine that runs out of memory
reveals to the asker that some unit had too many rows.  How many rows a unit has is up to the data:
so the bound is part of the relation, and engines enforce it by an aggregation that holds no rows.

Definition.  Below every projection with windows over the rows of units, and below the choice of
first rows in a private join (:mod:`discreet.plan.binding.fan_out`), a relation keeps the rows of
the units that have at most ``MOST_ROWS`` rows in it, whose texts take at most ``MOST_TEXT`` bytes:
those of all columns, and those that the windows make.  If each row is a unit, or a relation is
public, there is nothing to bound.
Theorem (key ``bounded-units``).  Bounding changes no rows of other units, and no stability: what it
keeps is the union over units of a function of each unit's rows (key ``unit-local``).  No window
holds more of one unit than the two limits, for any contents of the tables.
Proof.  Whether the rows of a unit stay follows from their number and their texts.  If they do, all
of them stay as they are.  Every partition of a window is within the rows of one unit.
Rows whose unit is NULL belong to nobody, and are dropped here already.

Both limits are the same for every question, so they are not part of its digest.  They come from
measurement: with 400 MB DuckDB computed ROW_NUMBER, LAG and SUM over one unit of 2**24 rows, all
other windows over one of 10**7 rows, and each of them over 2**27 bytes of text.

An engine that runs out of memory tells anyone who asks that somebody's rows were too
many, so how far rows multiply is known, and limited, before the first of them is read.

Definition.  A private relation has *fan-out* f if a unit with n rows in the private tables has at
most f n rows in it, for any contents of the tables.
Theorem (key ``fan-out``).  A scan has fan-out 1; filters, projections, windows, DISTINCT and
aggregations keep that of the relation below; a union has the sum of its parts.  A join in which
every row of one side meets at most m rows of the other has fan-out f max(1, m), and if it keeps
unmatched rows of the other side, that of the other side more; a semi join keeps that of its left
side.  A semi join that looks at m public rows for each row counts as f m all the same, for the time
that this takes (:mod:`discreet.plan.binding.subqueries`).
Proof.  Every output row of a join is a pair, or an unmatched row of a side that is kept.

The m is enforced by the relation itself (:func:`first_rows`): of rows that agree in what the join
compares, the first m stay, in the order of all their columns.
1.  A public table on all columns of its key: m is 1.
2.  Any other public relation: m is the largest number of its rows that agree in the columns that
    the join compares, which is public; all of its rows, if it compares none.
3.  A private relation: first rows are those of a unit, so that the choice is a function of the
    unit's own rows (key ``unit-local``).  Their number is the largest for which the whole question
    has at most the owner's ``max_fan_out``.
A question that exceeds it at the lowest number is refused.  All of this follows from the question,
the policy and public tables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias, final

from discreet.errors import NotAllowed
from discreet.plan.binding.names import BoundRelation, FreshNames
from discreet.query.expression_types import columns, typed
from discreet.query.expressions import Aggregate, Call, Column, Expression, Literal, Window, walk
from discreet.query.relations import (
    Aggregated,
    BoundedUnits,
    Filter,
    Join,
    Project,
    Relation,
    SemiJoin,
    UnionAll,
    descend,
)
from discreet.query.source_text import pointed
from discreet.query.types import Type
from discreet.requests.table_schema import KeyValue

MOST_ROWS: Final = 2**24
"""Rows of a unit that a window may look at."""
MOST_TEXT: Final = 2**27
"""Bytes of the texts in them."""
ROW_NUMBER: Final = "row number"
"""How names of columns begin that number the rows which a join may meet."""


def bounded_units(below: BoundRelation, outputs: Iterable[Expression]) -> BoundRelation:
    """Return a relation without the units that are too large for the windows in some outputs."""
    nodes = (node for value in outputs for node in walk(value))
    windows = [node for node in nodes if isinstance(node, Window)]
    if not windows or not below.unit:
        return below
    types = dict(columns(below.relation))
    parts = dict.fromkeys(part for window in windows for part in window.children())
    made = [part for part in parts if not isinstance(part, Column)]
    texts = [value for value in (*map(Column, types), *made) if typed(value, types) is Type.TEXT]
    relation = BoundedUnits(
        below.relation, below.unit, tuple(texts), rows=MOST_ROWS, text_bytes=MOST_TEXT
    )
    return replace(below, relation=relation)


MOST_FAN_OUT: Final = 100
"""How many rows a question can make of one, unless the policy says otherwise."""

PublicRows: TypeAlias = Callable[[Relation], Sequence[tuple[KeyValue, ...]]]
"""Reads the rows of a relation of public tables, each once."""


@final
@dataclass(frozen=True, slots=True)
class FanOut:
    """How many rows of another private relation a row may meet, and who counts public ones.

    Without a reader, a row is taken to meet as many rows of a public relation, and no more do.
    """

    matches: int = MOST_FAN_OUT
    public_rows: PublicRows | None = None
    fresh: FreshNames = field(default_factory=FreshNames, compare=False, repr=False)
    """Names for the columns of one binding."""
    _known: dict[tuple[Relation, tuple[str, ...]], int] = field(
        default_factory=dict, compare=False, repr=False
    )

    def public(self, side: BoundRelation, compared: Iterable[str]) -> tuple[BoundRelation, int]:
        """Limit a public side of a join, and return how many of its rows a row can meet."""
        names = tuple(sorted(compared))
        if side.key is not None and set(side.key) <= set(names):
            return first_rows(side, side.key, 1, self.fresh), 1
        most = self._counted(side.relation, names)
        return first_rows(side, names, most, self.fresh), most

    def private(self, side: BoundRelation, compared: Iterable[str]) -> tuple[BoundRelation, int]:
        """Limit a private side of a join, and return how many of its rows a row can meet."""
        names = set(compared)
        most = 1 if side.key is not None and set(side.key) <= names else self.matches
        by = (*(side.unit or ()), *sorted(names - set(side.unit or ())))
        return first_rows(side, by, most, self.fresh), most

    def _counted(self, relation: Relation, names: tuple[str, ...]) -> int:
        """Return the largest number of public rows that agree in some columns, at least 1."""
        if self.public_rows is None:
            return self.matches
        place = relation, names
        if place not in self._known:
            counts = self.public_rows(_largest(relation, names))
            self._known[place] = max(1, *(int(row[0] or 0) for row in counts))  # type: ignore[arg-type]
        return self._known[place]


def first_rows(
    side: BoundRelation, by: Sequence[str], most: int, fresh: FreshNames
) -> BoundRelation:
    """Return the first rows of those that agree in some columns, in the order of all columns."""
    kept = side.columns
    number = fresh(ROW_NUMBER)
    rank = Window("ROW_NUMBER", (), partition=tuple(map(Column, by)))
    side = bounded_units(side, [rank])
    numbered = Project(side.relation, (*kept, (number, rank)))
    first = Filter(numbered, Call("<=", (Column(number), Literal(most))))
    return replace(side, relation=Project(first, kept))


def within(most: int, bind: Callable[[int], BoundRelation]) -> BoundRelation:
    """Bind a question with the largest number of matches that keeps its fan-out in the limit.

    Args:
        most: the limit of the owner.
        bind: binds the question, given how many private rows a row may meet in a join.
    """
    bound = bind(most)
    if bound.fan_out <= most:
        return bound
    bound = bind(1)
    if bound.fan_out > most:
        raise _refused(bound.relation, most)
    low, high = 1, most  # the fan-out never falls as matches rise: low fits, high does not
    while high - low > 1:
        middle = (low + high) // 2
        tried = bind(middle)
        if tried.fan_out <= most:
            low, bound = middle, tried
        else:
            high = middle
    return bound


def _largest(relation: Relation, names: tuple[str, ...]) -> Relation:
    """Return a relation of one row: how many rows agree in some columns that are not NULL."""
    for name in names:
        relation = Filter(relation, Call("NOT", (Call("IS NULL", (Column(name),)),)))
    keys = tuple((name, Column(name)) for name in names)
    counted = Aggregated(relation, keys, (("rows", Aggregate("COUNT")),))
    return Aggregated(counted, (), (("most", Aggregate("MAX", Column("rows"))),))


def _refused(relation: Relation, most: int) -> NotAllowed:
    several = (node for node in descend(relation) if isinstance(node, Join | SemiJoin | UnionAll))
    span = next((node.span for node in several if node.span is not None), None)
    return NotAllowed(
        what=pointed(f"this can make, or compare, more than {most} rows for one.", span),
        why="the rows of one person could fill the memory, and whether they do reveals them.",
        do="join public tables on all columns of their key, declared as key = [...] in the policy, "
        "and others on more columns; or have the owner raise max_fan_out under [limits].",
    )
