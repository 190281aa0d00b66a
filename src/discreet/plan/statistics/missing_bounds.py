"""The refusal of a number without public bounds, which says what would give it some.

Trust: public.
"""

from __future__ import annotations

from collections.abc import Mapping

from discreet.errors import MissingBounds
from discreet.plan.binding.value_facts import ColumnSource, Facts
from discreet.query.expression_text import said
from discreet.query.expressions import Aggregate, Column, Expression, walk
from discreet.query.source_text import pointed
from discreet.query.types import Type


def missing_bounds(
    aggregate: Aggregate, argument: Expression, columns: Mapping[str, Facts]
) -> MissingBounds:
    """Ask for bounds on what is added up; ``columns`` tells which of its columns have none.

    >>> from discreet.query.expressions import Call
    >>> paid = Call("*", (Column("price"), Column("rate")))
    >>> rate = {"rate": Facts(type=Type.FLOAT, source=ColumnSource("shops", "rate"))}
    >>> print(missing_bounds(Aggregate("SUM", paid), paid, rate).what)
    there are no public bounds on price * rate, because there are none on rate.
    """
    call = said(aggregate).removesuffix(")")
    fix = f"write {call}, contribution_bounds_per_row => (0, 100))"
    named = dict.fromkeys(node.name for node in walk(argument) if isinstance(node, Column))
    found = {name: columns[name] for name in named if name in columns}
    without = {name: facts for name, facts in found.items() if _unbounded(facts)}
    places = [
        _place(facts.source, facts.type) for facts in without.values() if facts.source is not None
    ]
    if places:
        fix += ",\nor add to the policy:\n" + "\n".join(places)
    alone = isinstance(argument, Column) or not without
    because = "" if alone else f", because there are none on {', '.join(without)}"
    return MissingBounds(
        what=pointed(f"there are no public bounds on {said(argument)}{because}.", aggregate.span),
        why="noise has to hide the largest possible value, so there must be a largest one.",
        do=f"{fix}\nwith bounds that you know without looking at the data; or let them be found "
        "privately,\nwhich has a price of its own: bounds=dp.estimate(epsilon=0.1), on the command "
        "line --bounds-epsilon=0.1.",
    )


def _unbounded(facts: Facts) -> bool:
    return facts.bounds is None and facts.type.is_number


def _place(source: ColumnSource, kind: Type) -> str:
    """Return the lines of a policy that give a column bounds."""
    return (
        f"    [tables.{source.table}.columns.{source.column}]\n"
        f'    type = "{kind.value.lower()}"\n    low = 0\n    high = 100'
    )
