"""Which groups an answer shows: all of a public list, or some that are chosen privately.

Trust: kernel.

Definition.  Groups are public if every key has public values, and then there is one for each
combination; or if a public table lists them; or if there are no keys, and one group.  All of them
are shown, empty ones too; where there are more combinations than could be listed, all that reach a
threshold (:mod:`discreet.plan.reached`).  Otherwise which groups there are is told by the data, and
a choice of keys, which has a price, decides which of them are shown.
Where a question asks for a least number of units in a group, groups are chosen in any case.
Values of a key that is public by itself are enforced in both cases: other rows are left out.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Final, final

from discreet.errors import UnsupportedSQL
from discreet.plan.asked import Asked
from discreet.plan.key_values import AskedKey
from discreet.plan.lowered import KeyValue, PublicGroups
from discreet.plan.product import MOST_GROUPS, Product
from discreet.query.expressions import Call, Column, Expression, Literal
from discreet.query.question import Clause
from discreet.query.relations import Filter, Relation
from discreet.query.span import pointed

__all__ = ["Groups", "groups_of", "within_categories"]

_MOST: Final = 10**6
PUBLIC: Final = "PUBLIC_GROUPS"


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Groups:
    """The groups that are public, and how others are chosen.

    ``chosen`` says whether a choice of keys is needed; it never shows a group of fewer than
    ``fewest`` units.
    """

    public: PublicGroups | None
    chosen: bool
    strategy: str | None = None
    fewest: int = 1

    @property
    def available(self) -> int | None:
        """How many groups there are, if that is public."""
        return None if self.public is None else max(len(self.public), 1)


def groups_of(asked: Asked) -> Groups:
    """Return the groups of a question, or refuse a list that is too long or not there."""
    clause = asked.question.clause or Clause()
    strategy, fewest = clause.group_selection_strategy, clause.min_privacy_units_per_group
    public = asked.groups if asked.groups is not None else _product(asked)
    if strategy == PUBLIC and (public is None or fewest is not None):
        raise _not_public(asked, public is None)
    return Groups(
        public=public,
        chosen=public is None or fewest is not None,
        strategy=None if strategy == PUBLIC else strategy,
        fewest=fewest or 1,
    )


def within_categories(relation: Relation, keys: tuple[AskedKey, ...]) -> Relation:
    """Leave out rows whose key is none of its public values.

    >>> from discreet.query.relations import Table
    >>> within_categories(Table("visits"), ())
    Table(name='visits')
    """
    for asked in keys:
        if asked.values is not None and isinstance(asked.key.expression, Column):
            relation = Filter(relation, _one_of(asked.key.expression, asked.values))
    return relation


def _one_of(key: Expression, values: tuple[KeyValue, ...]) -> Expression:
    listed = tuple(Literal(value) for value in values if value is not None)
    found: list[Expression] = [Call("IN", (key, *listed))] if listed else []
    if None in values:
        found.append(Call("IS NULL", (key,)))
    return found[0] if len(found) == 1 else Call("OR", tuple(found))


def _product(asked: Asked) -> PublicGroups | None:
    """Return all combinations of public values, listed unless there are too many."""
    lists = [key.values for key in asked.keys]
    known = [values for values in lists if values is not None]
    if len(known) < len(lists):
        return None
    count = math.prod(map(len, known))
    if count <= _MOST:
        return tuple(itertools.product(*known))
    if count > MOST_GROUPS or not _some(asked):
        raise UnsupportedSQL(
            what=pointed(
                f"there are {count} groups, more than {_MOST}.", asked.keys[0].key.expression.span
            ),
            why="each of them would be computed and shown, empty or not.",
            do="show only those that reach a threshold, such as HAVING COUNT(*) >= 100; or group "
            "by fewer keys, or list the values that matter with IN (...).",
        )
    return Product(tuple(known))


def _some(asked: Asked) -> bool:
    """Whether a question may leave groups out."""
    clause = asked.question.clause or Clause()
    return asked.question.having is not None or clause.min_privacy_units_per_group is not None


def _not_public(asked: Asked, unknown: bool) -> UnsupportedSQL:  # noqa: FBT001
    clause = asked.question.clause
    span = None if clause is None else clause.span
    if not unknown:
        return UnsupportedSQL(
            what=pointed("public groups are to have a least number of people.", span),
            why="which of them have so many depends on the data, so it has to be chosen privately.",
            do="leave out group_selection_strategy, or min_privacy_units_per_group.",
        )
    names = ", ".join(key.key.name for key in asked.keys if key.values is None)
    return UnsupportedSQL(
        what=pointed(f"the groups are to be public, and the values of {names} are not.", span),
        why="a list of groups that comes from the data would show who is in it.",
        do=f"list the values with WHERE {names} IN (...), declare categories in the policy, or "
        "keep the rows of SELECT DISTINCT of a public table in an outer join.",
    )
