"""Which columns hold the same: the lines of a policy, with how their tables find the unit.

Trust: kernel.  The names of these columns in scopes follow from what is returned here, and from
the policy alone: they are the same in sessions that open some of the tables only.

Definition.  A member of a line is the list of its table, its column, and the names by which rows
of the table find their unit: a pointer, the table that it points to and the key there, for each
link on the way, and the columns that name the unit at its end.  How tables are stored is no part
of it, so that a promise outlasts a change of format.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from discreet.plan.policy_names import Same
from discreet.plan.schema import SameColumns, TableFacts
from discreet.query.relations import folded

__all__ = ["same_columns"]


def same_columns(
    lines: Iterable[Same], tables: Iterable[TableFacts], unit: tuple[str, ...]
) -> Mapping[tuple[str, str], SameColumns]:
    """Return what is promised of each column, by table and name.

    Args:
        lines: those of the policy.
        tables: as the policy describes them; one that it does not mention names the unit itself.
        unit: the columns that name the unit where a table says nothing else.

    >>> line = Same(label="sex", columns=(("visits", "sex"),))
    >>> same_columns([line], [], ("patient",))["visits", "sex"].members
    (('visits', 'sex', 'patient'),)
    """
    known = {folded(table.name): table for table in tables}
    found: dict[tuple[str, str], SameColumns] = {}
    for line in lines:
        members = sorted((*place, *_way(place[0], known, unit)) for place in line.columns)
        same = SameColumns(label=line.label, members=tuple(members))
        found |= dict.fromkeys(line.columns, same)
    return found


def _way(table: str, known: Mapping[str, TableFacts], unit: tuple[str, ...]) -> Iterator[str]:
    facts = known.get(table)
    if facts is None or facts.link is None:
        yield from map(folded, (facts and facts.unit) or unit)
        return
    link = facts.link
    yield from map(folded, (link.column, link.parent, link.key))
    yield from _way(folded(link.parent), known, unit)
