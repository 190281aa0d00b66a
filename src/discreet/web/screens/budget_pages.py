"""The budget dashboard: what is spent, by whom and what for, what it means, what needs attention.

Trust: public.  Everything on this page is a fact of the ledger.
"""

from __future__ import annotations

import math
from datetime import UTC, datetime

from fastapi import APIRouter, Request
from fastapi.responses import Response

from discreet.explain.explaining import explain_disclosure
from discreet.explain.pictures.spending import spending
from discreet.explain.sources import disclosure_of
from discreet.session.display import part_left
from discreet.web.budget_facts import (
    account_facts,
    by_purpose,
    guarantee_words,
    purpose_bar,
    unanswered,
    upkeep_warnings,
    warnings,
)
from discreet.web.ledger_facts import attention
from discreet.web.screens.record_pages import rows_of
from discreet.web.visits import Visiting, dataset_of, desk_of, need, visited

router = APIRouter()


@router.get("/data/{dataset}/budget")
def budget(request: Request, visitor: Visiting, dataset: str) -> Response:
    """Show what is spent, what it means, and what needs attention."""
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
    heed = attention(rows, part_left(left))
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
        spent=100 - int(100 * part_left(left)),
        words=str(left),
        accounts=accounts,
        purposes=purpose_bar(sums, left.budget.components[0]),
        course=spending(ledger, entries=entries),
        reserved=math.ceil((100 - 100 * part_left(left)) * unanswered(entries)),
        guarantee=guarantee_words(left.budget),
        heed=heed,
        requests=requests,
        charges=sum(row.kind == "charge" for row in rows),
    )
