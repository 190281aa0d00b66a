"""How often each combination of values occurs in a session's table, a unit being bounded.

Trust: kernel.  This is the request of workshops that need rows, and not totals: the engine keeps a
unit in at most ``max_groups`` different rows, each at most ``max_rows`` times.

Theorem (key ``session-rows``).  Let the request bound a unit to m groups of r rows; m = r = 1 where
each row is a unit.  The rows that a workshop sees are the groups, each as often as it counts;
adding or removing a unit adds or removes at most m r of them.
Proof.  By ``bounded-contribution`` the unit changes at most m counts, each by at most r and upward
when it is added.  Cutting counts off at a public ceiling, leaving out groups and clamping values
act on each group by itself, and bring no two multisets of rows further apart.
"""

from __future__ import annotations

from typing import Final
from weakref import WeakKeyDictionary

from discreet.errors import OutOfRange
from discreet.query import Aggregate, Call, Column, Literal, Question, Relation
from discreet.requests.engine_request import EngineRequest, KeyColumn, Total
from discreet.session.programs import ProgramRows

ROWS: Final = "rows"
"""The name of the counts in the totals."""
_KNOWN: Final = WeakKeyDictionary[ProgramRows, EngineRequest]()


def rows_question(relation: Relation, names: tuple[str, ...]) -> Question:
    """Return the question about the rows of some columns, which a session binds.

    >>> from discreet.query import table
    >>> rows_question(table("visits").relation(), ("age", "ward")).keys[1][0]
    'ward'
    """
    return Question(
        relation=relation,
        keys=tuple((name, Column(name)) for name in names),
        outputs=((ROWS, Aggregate("COUNT")),),
    )


def rows_request(rows: ProgramRows) -> EngineRequest:
    """Ask how often each combination of values occurs, once for all programs on these rows."""
    known = _KNOWN.get(rows)
    if known is None:
        known = _KNOWN[rows] = _request(rows)
    return known


def _request(rows: ProgramRows) -> EngineRequest:
    keys = tuple(
        KeyColumn(f"value {place}", key.key.expression, key.facts.type)
        for place, key in enumerate(rows.bound.keys)
    )
    limits = rows.contributions
    return rows.request(
        keys=keys,
        measures=(Total(name=ROWS, row=Literal(1), low=0, high=limits.most_rows(None)),),
        conditions=tuple(
            Call("NOT", (Call("IS NULL", (key.key.expression,)),)) for key in rows.bound.keys
        ),
        groups=limits.groups,
    )


def rows_of_unit(request: EngineRequest) -> int:
    """Return how many rows of a unit such a request shows, as the engine enforces it."""
    (total,) = request.totals
    if total.low != 0:
        raise OutOfRange("a request does not bound how often a row counts.")
    return total.most * (1 if request.groups is None else request.groups)
