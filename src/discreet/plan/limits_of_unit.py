"""How much of one unit counts: in how many groups, and with how many rows in each.

Trust: kernel.  Without these limits one unit could change everything.

Definition.  ``groups`` is the most groups in which a unit counts, and ``rows`` the most rows with
which it counts in one of them.  They are enforced: what is more is left out, or scaled down.  They
stand in the clause of the question, or else in the policy.  A unit is in one group where there is
one, and where all its rows agree in the keys.  A row that is a unit of its own is in one group.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from discreet.errors import MissingBounds
from discreet.plan.key_values import AskedKey
from discreet.plan.policy import Limits
from discreet.query.question import Clause
from discreet.query.span import Span, pointed

__all__ = ["Contributions", "most_groups"]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Contributions:
    """What one unit may add to an answer.

    ``available`` is how many groups there are, where that is public; ``single`` says that each row
    is a unit.

    >>> Contributions(groups=1, rows=1, available=None, single=True).rows
    1
    """

    groups: int
    rows: int | None
    available: int | None
    single: bool

    @property
    def cap(self) -> int | None:
        """The rows to which a unit is scaled down; a row alone is never scaled."""
        return None if self.single else self.rows

    def most_rows(self, span: Span | None) -> int:
        """Return how many rows of a unit count in a group, or ask for it."""
        if self.rows is not None:
            return self.rows
        raise MissingBounds(
            what=pointed("how many rows of one person count in a group is not limited.", span),
            why="somebody with very many rows would need as much more noise.",
            do="add max_rows_contributed = 10 to OPTIONS, or to the policy:\n"
            "    [limits]\n    max_rows = 10",
        )


def most_groups(
    keys: Sequence[AskedKey],
    *,
    clause: Clause,
    limits: Limits,
    available: int | None,
    single: bool,
) -> Contributions:
    """Return what one unit may add, or ask for the limit on groups.

    >>> most_groups((), clause=Clause(), limits=Limits(), available=1, single=False).groups
    1
    """
    rows = clause.max_rows_contributed or limits.max_rows
    if single:
        return Contributions(groups=1, rows=1, available=available, single=True)
    groups = clause.max_groups_contributed or limits.max_groups
    if available == 1 or all(key.facts.constant for key in keys):
        groups = 1
    if groups is None:
        span = keys[0].key.expression.span
        names = ", ".join(key.key.name for key in keys)
        raise MissingBounds(
            what=pointed(f"in how many groups of {names} one person counts is not limited.", span),
            why="somebody who is in every group would change all of them.",
            do="add max_groups_contributed = 3 to OPTIONS, or to the policy:\n"
            "    [limits]\n    max_groups = 3\n"
            "or declare the columns constant, where all rows of a person agree in them.",
        )
    most = groups if available is None else max(1, min(groups, available))
    return Contributions(groups=most, rows=rows, available=available, single=False)
