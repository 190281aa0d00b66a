"""Refusals for budget, told to programs: which limit, what is needed, what is left, and ways out.

Trust: public.  Amounts are those of plans and of the ledger, which charges before data is read: no
number of it depends on data.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from discreet.errors import OverBudget

if TYPE_CHECKING:  # handed in
    from discreet.service.ways_out import HigherLimit, WayOut, WaysOut

Way = dict[str, Any]


def with_shortage(error: OverBudget, ways: WaysOut) -> OverBudget:
    """Return a refusal that also says what lacks, and what can be done about it.

    The sentence on what to do lists the priced ways; an error stays as it is where it is not known
    which limit is too low.

    >>> from discreet.service.ways_out import Shortfall, WayOut, WaysOut
    >>> low = Shortfall(account="data/ana", scope="yours", component="epsilon", needed="0.5",
    ...                 left="0.2", limit="1")
    >>> wider = WayOut(title="Accept a wider ±", words="epsilon 0.2 buys n ± 15",
    ...                question="SELECT COUNT(*) AS n FROM visits", by="epsilon", amount="0.2")
    >>> refused = OverBudget(what="too much.", why="a promise.", do="less.")
    >>> told = with_shortage(refused, WaysOut(shortfalls=(low,), ways=(wider,)))
    >>> print(told)
    OverBudget[E301]: too much.
      Why: a promise.
      Do:  accept a wider ±: epsilon 0.2 buys n ± 15; or repeat what was paid for before.
    >>> told.shortage["scope"], told.shortage["needed"], told.shortage["left"]
    ('yours', {'epsilon': '0.5'}, {'epsilon': '0.2'})
    >>> [(way["change"], way["cost"]) for way in told.shortage["ways_out"]][0]
    ('Accept a wider ±: epsilon 0.2 buys n ± 15', {'epsilon': '0.2'})
    """
    if not ways.shortfalls:
        return error
    first = ways.shortfalls[0]
    lacking = [each for each in ways.shortfalls if each.account == first.account]
    needed = {each.component: each.needed for each in lacking}
    told = list(_ways(ways, needed))
    changes = "; or ".join(_begun_small(way["change"]) for way in told)
    return OverBudget(
        what=error.what,
        why=error.why,
        do=f"{changes}.",
        details=error.details,
        shortage={
            "scope": first.scope,
            "account": first.account,
            "needed": needed,
            "left": {each.component: each.left for each in lacking},
            "ways_out": told,
        },
    )


def _ways(ways: WaysOut, needed: dict[str, str]) -> Iterator[Way]:
    """Yield other questions first, then an old answer, then a higher limit."""
    yield from map(_other_question, ways.ways)
    yield {
        "change": "Repeat what was paid for before",
        "cost": {},
        "call": "GET .../releases",
    }
    if ways.request is not None:
        yield _raise(ways.request, needed)


def _other_question(way: WayOut) -> Way:
    return {
        "change": f"{way.title}: {way.words}",
        "cost": {way.by: way.amount},
        "call": "POST .../queries",
        "body": {"question": way.question, way.by: way.amount},
    }


def _raise(request: HigherLimit, needed: dict[str, str]) -> Way:
    return {
        "change": f"Have two people raise the limit of {request.account} to {request.words}",
        "cost": needed,
        "call": "POST .../requests",
        "body": {"account": request.account, "budget": dict(request.budget)},
    }


def _begun_small(words: str) -> str:
    return words[:1].lower() + words[1:]
