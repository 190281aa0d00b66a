"""The budget: spending by person and purpose, its meaning, and items that need attention.

Trust: public.  All of it is read from the ledger, and none of it depends on data.

Definition.  The path of an account names a purpose and a person: in ``data/flu/ana``, ana pays for
the flu.  What a purpose has spent is the sum of its charges, also of those about different people.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from typing import Any, Final, final

from fastapi import APIRouter, Request
from fastapi.responses import Response

from discreet.accounting import Budget, Left
from discreet.accounting.amounts import amount_value, format_down, format_up
from discreet.charts import NARROW, Area, Picture, Strokes, Words
from discreet.errors import DiscreetError
from discreet.explain.explaining import explain_disclosure
from discreet.explain.pictures.spending import highest_amount, spending
from discreet.explain.sources import disclosure_of
from discreet.explain.words import rounded_up
from discreet.ledger.ledger_view import LedgerView
from discreet.ledger.values import Receipt
from discreet.service.views import Upkeep
from discreet.web.ledger_facts import attention
from discreet.web.record_pages import rows_of
from discreet.web.visits import Visiting, dataset_of, desk_of, need, visited

_WIDE, _HIGH = 120, 28
_MOST: Final = 4
"""How many parts a bar has: as many as there are distinguishable colors."""
_ELSE: Final = "without a purpose"
_CHANCE: Final = Fraction(1, 10**9)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class AccountFacts:
    """An account: its spent share, its balance, and its charges over time."""

    path: str
    person: str
    limited: bool
    spent: int
    left: str
    charges: int
    sparkline: Picture


def account_facts(
    ledger: LedgerView, entries: Sequence[Mapping[str, Any]], people: Iterable[str]
) -> list[AccountFacts]:
    """Return all accounts, by their paths; ``people`` are those whose names may end one."""
    known, found = frozenset(people), []
    for path, account in sorted(ledger.accounts.items()):
        left = ledger.left(account=path)
        own = [entry for entry in charges_of(entries) if _within(str(entry["account"]), path)]
        name = path.rpartition("/")[2]
        found.append(
            AccountFacts(
                path=path,
                person=name if "/" in path and name in known else "",
                limited=account.limited,
                spent=100 - int(100 * left.share),
                left=_left_words(left) if account.limited else "as above",
                charges=len(own),
                sparkline=sparkline(own, entries, path),
            )
        )
    return found


def charges_of(entries: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the charges among entries."""
    return [entry for entry in entries if entry["kind"] == "charge"]


def by_purpose(entries: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """Return what was charged for each purpose, in the first component, the most first.

    >>> charge = {"kind": "charge", "account": "data/flu/ana", "amounts": {"data": [[[10**24]]]}}
    >>> spent = by_purpose([charge, charge, {**charge, "account": "data"}])
    >>> {name: format_up(amount) for name, amount in spent.items()}
    {'flu': '2', 'without a purpose': '1'}
    """
    sums: dict[str, int] = {}
    for entry in charges_of(entries):
        parts = str(entry["account"]).split("/")
        name = parts[1] if len(parts) > 1 else _ELSE
        sums[name] = sums.get(name, 0) + highest_amount(entry, 0)
    return dict(sorted(sums.items(), key=lambda each: -each[1]))


def purpose_bar(sums: Mapping[str, int], component: str) -> Picture | None:
    """Draw one bar with a part for each purpose, and the sums in words below."""
    total = sum(sums.values())
    if not total:
        return None
    parts = list(sums.items())
    if len(parts) > _MOST:
        parts = [*parts[: _MOST - 1], ("others", sum(each for _, each in parts[_MOST - 1 :]))]
    title = f"{component} charged, by purpose"
    shapes: list[Any] = [Words(at=(20, 28), text=title, anchor="start", bold=True)]
    start, width = 20.0, NARROW - 40
    for color, (name, amount) in enumerate(parts):
        end = start + width * amount / total
        shapes.append(Area(corners=((start, 44), (max(end - 2, start + 1), 72)), color=color))
        line = 96 + 24 * color
        shapes.append(Area(corners=((20, line - 11), (34, line + 3)), color=color))
        words = f"{name[:30]}: {format_up(amount)}, {100 * amount / total:.0f} %"
        shapes.append(Words(at=(42, line), text=words, anchor="start"))
        start = end
    return Picture(
        title=title,
        description="; ".join(f"{name}: {format_up(amount)}" for name, amount in parts),
        width=NARROW,
        height=96 + 24 * len(parts),
        shapes=tuple(shapes),
    )


def sparkline(
    own: Sequence[Mapping[str, Any]], entries: Sequence[Mapping[str, Any]], path: str
) -> Picture:
    """Draw the sum of some charges, from the first entry of the ledger to the last."""
    first, last = moment(entries[0]), moment(entries[-1])
    whole = max((last - first).total_seconds(), 1.0)
    sums, total = [(0.0, 0.0)], 0
    for entry in own:
        total += highest_amount(entry, 0)
        sums.append(((moment(entry) - first).total_seconds() / whole, float(amount_value(total))))
    most = sums[-1][1] or 1.0
    points = [(0.0, 0.0)]
    for at, amount in sums[1:]:
        points += [(at, points[-1][1]), (at, amount)]
    points.append((1.0, points[-1][1]))
    line = tuple((3 + (_WIDE - 6) * x, _HIGH - 3 - (_HIGH - 6) * y / most) for x, y in points)
    return Picture(
        title=f"Charges to {path} over time",
        description=f"{len(own)} charges, {format_up(total)} together",
        width=_WIDE,
        height=_HIGH,
        shapes=(Strokes(lines=(line,), color=0, curve=True),),
    )


def guarantee_words(budget: Budget) -> str:
    """Say what a budget promises, and which epsilon that is if it is counted otherwise.

    >>> from discreet.accounting import Budget
    >>> guarantee_words(Budget(epsilon=1)), guarantee_words(Budget(rho="0.1"))
    ('epsilon 1', 'rho 0.1 ≙ epsilon 2.716 at delta 1e-9')
    """
    if budget.promise is not None or "epsilon" in budget.components:
        return budget.promised
    try:
        epsilon = budget.guarantee.epsilon(delta=_CHANCE)
    except DiscreetError:
        return budget.promised
    return f"{budget.promised} ≙ epsilon {rounded_up(epsilon, 4)} at delta 1e-9"


def unanswered(entries: Sequence[Mapping[str, Any]]) -> Fraction:
    """Return which part of all that was charged is paid, and not answered.

    >>> charge = {"kind": "charge", "key": "a", "amounts": {"data": [[[3]]]}}
    >>> other = {"kind": "charge", "key": "b", "amounts": {"data": [[[1]]]}}
    >>> unanswered([charge, other, {"kind": "release", "key": "a"}])
    Fraction(1, 4)
    """
    answered = {entry["key"] for entry in entries if entry["kind"] == "release"}
    charges = charges_of(entries)
    whole = sum(highest_amount(entry, 0) for entry in charges)
    waiting = sum(highest_amount(entry, 0) for entry in charges if entry["key"] not in answered)
    return Fraction(waiting, whole) if whole else Fraction(0)


def upkeep_warnings(upkeep: Upkeep, receipt: Receipt, now: datetime) -> list[str]:
    """Say what an operator should do: back the ledger up, or look at its witness.

    >>> from discreet.ledger.witness import Anchor
    >>> end = Receipt(ledger="1" * 32, seq=9, head="a" * 64)
    >>> old = Anchor(at="2026-01-01T00:00:00.000000Z", receipt=Receipt("1" * 32, 4, "b" * 64))
    >>> noted = Upkeep(notes_backups=True, backup=old, witness=None, anchor=None, problem="")
    >>> upkeep_warnings(noted, end, datetime.fromisoformat("2026-01-03T12:00:00Z"))
    ['The last backup is older than 24 h (2026-01-01 00:00), and 5 entries are not in it.']
    """
    said = [upkeep.problem] if upkeep.problem else []
    backup = upkeep.backup
    if upkeep.notes_backups and backup is None:
        said.append("No backup is on record: run `discreet ledger backup`.")
    if backup is not None and now - datetime.fromisoformat(backup.at) > timedelta(hours=24):
        missing = receipt.seq - backup.receipt.seq
        if missing > 0:
            are = "entry is" if missing == 1 else "entries are"
            said.append(
                f"The last backup is older than 24 h ({backup.at[:16].replace('T', ' ')}), and "
                f"{missing} {are} not in it."
            )
    return said


def warnings(
    accounts: Iterable[AccountFacts], *, refused: Mapping[str, int], waiting: int
) -> list[str]:
    """List what a steward should review in addition to open questions.

    >>> warnings([], refused={"bo": 3}, waiting=1)
    ['1 request waits for a decision.', 'bo was refused 3 times within an hour: offer help.']
    """
    said = []
    if waiting:
        said.append(
            "1 request waits for a decision."
            if waiting == 1
            else f"{waiting} requests wait for a decision."
        )
    said += [
        f"{name} was refused {times} times within an hour: offer help."
        for name, times in sorted(refused.items())
    ]
    said += [
        f"{each.path}: {100 - each.spent} % is left."
        for each in accounts
        if each.limited and "/" in each.path and each.spent > 90
    ]
    return said


def moment(entry: Mapping[str, Any]) -> datetime:
    """Return when an entry was recorded.

    >>> moment({"at": "2026-11-17T09:29:35Z"}).minute
    29
    """
    return datetime.fromisoformat(str(entry["at"]))


def _left_words(left: Left) -> str:
    parts = zip(left.budget.components, left.amounts, left.budget.limit, strict=True)
    return ", ".join(
        f"{name} {format_down(have)} of {format_down(limit)}"
        for name, have, limit in parts
        if "delta" not in name
    )


def _within(path: str, above: str) -> bool:
    return path == above or path.startswith(f"{above}/")


router = APIRouter()


@router.get("/data/{dataset}/budget")
def budget(request: Request, visitor: Visiting, dataset: str) -> Response:
    """Show spending, its meaning, and items that need attention."""
    need(visitor, "budget", dataset)
    facts, desk = dataset_of(request, visitor, dataset), desk_of(request)
    ledger = facts.ledger
    left = ledger.left()
    told = explain_disclosure(disclosure_of(ledger, about=facts.policy.about), audience="steward")
    rows = rows_of(request, visitor, facts)
    entries = ledger.proved_entries()
    people = {each.person for each in desk.open.directory.people()}
    accounts = account_facts(ledger, entries, people)
    requests = desk.open.requests(visitor.caller, dataset)
    heed = attention(rows, left.share)
    if visitor.may("decide"):
        heed += warnings(
            accounts,
            refused=desk.refusal_loops(dataset),
            waiting=sum(each.state == "open" for each in requests),
        )
    if visitor.may("ledger"):
        upkeep = desk.open.upkeep(visitor.caller, dataset)
        heed += upkeep_warnings(upkeep, ledger.receipt, datetime.now(UTC))
    sums = by_purpose(entries)
    return visited(
        "budget.html",
        request,
        visitor,
        facts,
        told=told,
        spent=100 - int(100 * left.share),
        words=str(left),
        accounts=accounts,
        purposes=purpose_bar(sums, left.budget.components[0]),
        course=spending(ledger, entries=entries),
        reserved=math.ceil((100 - 100 * left.share) * unanswered(entries)),
        guarantee=guarantee_words(left.budget),
        heed=heed,
        requests=requests,
        charges=sum(row.kind == "charge" for row in rows),
    )
