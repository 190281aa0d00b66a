"""Questions about limits: how rows and groups of units are spread, and which share is cut.

Trust: public.  These are questions like any other: they are planned, charged and recorded before
data is read, each with a price of its own, and hold one row of each unit (key
``bounded-contribution``), so that noise of scale 1 / epsilon hides it in a histogram.

Definition.  The *share that is cut* is the part of all rows that limits leave out: that beyond the
limit of each cell (:mod:`discreet.plan.statistics.limit_choice`), and of units with more cells than
count, the part of their cells that does not.  It is read from two noisy sums: of rows that are cut,
whose bounds are found, and of rows that are kept, at most as many as limits allow.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.errors import UnsupportedSQL
from discreet.plan.statistics.limit_choice import EDGES
from discreet.plan.statistics.partition_selection import one_of
from discreet.query.expressions import Aggregate, Call, Cast, Column, Expression, Grouped, Literal
from discreet.query.question import Question
from discreet.query.relations import Aggregated, Filter, Output, Project, Relation
from discreet.query.types import Type

if TYPE_CHECKING:  # made by binding
    from discreet.plan.binding.bound_question import BoundQuestion

ROWS, GROUPS, UNITS, CUT, KEPT = "rows", "groups", "units", "rows_cut", "rows_kept"


def spread_questions(bound: BoundQuestion) -> Mapping[str, Question]:
    """Return the questions that count units by the rows of their largest cell, and by cells."""
    units = _by_unit(bound, (ROWS, Aggregate("MAX", Column(ROWS))), (GROUPS, Aggregate("COUNT")))
    edges = tuple(Literal(edge) for edge in EDGES[1:])
    names = (ROWS, GROUPS) if bound.keys else (ROWS,)
    return {
        name: Question(
            relation=units,
            keys=((name, Call("RANGE_BUCKET", (Column(name), *edges))),),
            outputs=((name, Grouped(0)), (UNITS, Aggregate("COUNT"))),
        )
        for name in names
    }


def share_question(bound: BoundQuestion, *, rows: int, groups: int | None) -> Question:
    """Return the question that adds up the rows that limits cut, and those that they keep.

    ``groups`` is None where a unit can be in no more groups than count.
    """
    small = Call("LEAST", (Column(ROWS), Literal(rows)))
    units = _by_unit(
        bound,
        (ROWS, Aggregate("SUM", Column(ROWS))),
        (KEPT, Aggregate("SUM", small)),
        (GROUPS, Aggregate("COUNT")),
    )
    kept: Expression = Column(KEPT)
    if groups is not None:
        part = Call("LEAST", (Literal(Fraction(1)), Call("/", (Literal(groups), Column(GROUPS)))))
        product = Call("*", (Cast(kept, Type.FLOAT), part))
        kept = Cast(Call("FLOOR", (product,)), Type.INTEGER)
    cut = Call("-", (Column(ROWS), kept))
    holders = [(name, Column(name)) for name in _unit_names(bound)]
    cells = groups or math.prod(max(1, len(key.values or ())) for key in bound.keys)
    most = Fraction(rows * cells)
    return Question(
        relation=Project(units, (*holders, (CUT, cut), (KEPT, kept))),
        outputs=(
            (CUT, Aggregate("SUM", Column(CUT))),
            (KEPT, Aggregate("SUM", Column(KEPT), bounds_per_row=(Fraction(0), most))),
        ),
    )


def _by_unit(bound: BoundQuestion, *outputs: tuple[str, Aggregate]) -> Relation:
    """Return one row for each unit, with aggregates over the numbers of rows of its cells."""
    question, names = bound.question, _unit_names(bound)
    unit = tuple(zip(names, _unit_columns(bound), strict=True))
    groups: tuple[Output, ...] = tuple(
        (f"group{place}", value) for place, (_, value) in enumerate(question.keys)
    )
    cells: Relation = Aggregated(question.relation, (*unit, *groups), ((ROWS, Aggregate("COUNT")),))
    for (name, _), key in zip(groups, bound.keys, strict=True):
        if key.values is not None:  # rows of other groups are left out before limits are applied
            cells = Filter(cells, one_of(Column(name), key.values))
    return Aggregated(cells, tuple((name, Column(name)) for name in names), outputs)


def _unit_names(bound: BoundQuestion) -> list[str]:
    return [f"unit{place}" for place, _ in enumerate(bound.rows.unit or ())]


def _unit_columns(bound: BoundQuestion) -> list[Expression]:
    """Return what the question calls the columns of the unit, or refuse it."""
    found: list[Expression] = []
    for holders in bound.rows.holders:
        seen = [field for field in bound.rows.visible if field.column in holders]
        if not seen or bound.groups is not None:
            raise UnsupportedSQL(
                what="the rows of a unit cannot be counted for this question.",
                why="the rows of a linked table, of some subqueries and of joins that list public "
                "groups do not name their unit.",
                do="ask about a table, a join or a subquery that has the columns of the unit.",
            )
        found.append(Column(str(seen[0].name), table=seen[0].table))
    return found
