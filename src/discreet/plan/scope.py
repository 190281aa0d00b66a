"""The scope of a question: the units that its answer can depend on, as a box.

Trust: kernel.  What is said here is an inference, and only a proposal: what is charged is what
:mod:`discreet.plan.enforced` makes the engine enforce.

Definition.  A unit lies in the box if its values in the columns that all its rows share satisfy
every condition of the box.  Where each row is a unit, its rows share all columns.
Only units with an output row count.  A row passes a filter only if its predicate is true, and then
the row lies in the true set of the predicate (key ``truth-sets``).  If a condition of that set is
on an unchanged column of a private table, in which all rows of the unit agree, then the unit's
value satisfies it, and the condition is taken into the box.  Everything else is left out, which
makes the box larger.  If the true set is empty, no row passes, and the box is empty.
An inner join has output rows only for units that have rows on both sides, an outer join for those
of a side that is kept, and a union for those of any part: there the box is kept only where all
parts agree.
Columns stand in the box under names that say what they are read from, and how
(:mod:`discreet.accounting.scope_column`); those that name the unit have one name in all tables.
"""

from __future__ import annotations

from collections.abc import Mapping

from discreet.accounting import Box
from discreet.accounting.values import nothing
from discreet.plan.facts import Facts
from discreet.plan.truth_sets import truth_sets
from discreet.query.expressions import Expression

__all__ = ["shared_box"]


def shared_box(
    predicate: Expression, facts: Mapping[str, Facts], unit: tuple[str, ...] | None
) -> Box:
    """Return what a predicate says about the units of a private relation, by their own columns.

    The columns are those of private tables that all rows of a unit share: those that name it, and
    constant ones; where each row is a unit (``unit`` is empty), all of them.

    >>> from discreet.plan.facts import Source
    >>> from discreet.query.expressions import Call, Column, Literal
    >>> from discreet.query.types import Type
    >>> ward = Facts(type=Type.TEXT, source=Source("visits", "Ward", scope="ward"))
    >>> only = Call("=", (Column("ward_2"), Literal("A")))
    >>> print(shared_box(only, {"ward_2": ward}, unit=()))
    ward 'A'
    >>> print(shared_box(only, {"ward_2": ward}, unit=("patient",)))
    everything
    """
    if unit is None:
        return Box.everything()
    region = truth_sets(predicate, facts).true
    if region is None:
        return Box({"": nothing()})
    box = Box.everything()
    for name, values in region.items():
        source = facts[name].source
        if source is not None and not source.public and (not unit or facts[name].constant):
            box = box if source.scope is None else box & Box({source.scope: values})
    return box
