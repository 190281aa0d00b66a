"""The record: budgets, the ledger, the evidence of audits.

Trust: public.  Everything on these pages is a fact of the ledger, or of a report about our code.
"""

from __future__ import annotations

import csv
import io
import json
from typing import Final

from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response

from discreet.errors import DiscreetError, UnknownName
from discreet.explain import explain
from discreet.session.display import part_left
from discreet.theorems import THEOREMS
from discreet.web.audit_facts import audit_picture, audited_promises
from discreet.web.desk import DatasetFacts, Visitor
from discreet.web.ledger_facts import LedgerRow, attention, ledger_rows
from discreet.web.rendering import download
from discreet.web.visits import (
    Form,
    Visiting,
    dataset_of,
    desk_of,
    field,
    need,
    ours,
    visited,
    written_form,
)

router = APIRouter()
_PAGE: Final = 100


@router.get("/data/{dataset}/budget")
def budget(request: Request, visitor: Visiting, dataset: str) -> Response:
    """Show what is spent, what it means, and what needs attention."""
    need(visitor, "budget")
    facts = dataset_of(request, visitor, dataset)
    ledger = facts.ledger
    told = explain(ledger, audience="steward", about=facts.policy.about)
    rows = _rows(request, visitor, facts)
    accounts = [
        (
            path,
            100 - int(100 * part_left(ledger.left(account=path))),
            str(ledger.left(account=path)),
        )
        for path in sorted(ledger.accounts)
    ]
    return visited(
        "budget.html",
        request,
        visitor,
        facts,
        told=told,
        spent=100 - int(100 * part_left(ledger.left())),
        words=str(ledger.left()),
        accounts=accounts,
        heed=attention(rows, part_left(ledger.left())),
        requests=desk_of(request).open.requests(visitor.caller, dataset),
        charges=sum(row.kind == "charge" for row in rows),
    )


@router.get("/data/{dataset}/ledger")
def history(request: Request, visitor: Visiting, dataset: str) -> Response:
    """Show the latest entries."""
    return _history(request, visitor, dataset, {})


@router.post("/data/{dataset}/ledger")
def filtered(request: Request, visitor: Visiting, form: Form, dataset: str) -> Response:
    """Show entries that fit some words, further back, or after the whole chain was verified."""
    return _history(request, visitor, dataset, form)


def _history(
    request: Request, visitor: Visitor, dataset: str, form: dict[str, list[str]]
) -> Response:
    need(visitor, "ledger")
    facts = dataset_of(request, visitor, dataset)
    report = None
    if field(form, "action") == "verify":
        report = desk_of(request).open.verify(visitor.caller, dataset)
    words = field(form, "words").strip().lower()
    rows = [row for row in reversed(_rows(request, visitor, facts)) if _fits(row, words)]
    wanted = field(form, "shown")
    shown = max(_PAGE, int(wanted)) if wanted.isdecimal() else _PAGE
    return visited(
        "ledger.html",
        request,
        visitor,
        facts,
        rows=rows[:shown],
        more=len(rows) - shown,
        next=shown + _PAGE,
        words=words,
        report=report,
        receipt=facts.ledger.receipt,
    )


@router.get("/data/{dataset}/ledger/{seq}")
def entry(request: Request, visitor: Visiting, dataset: str, seq: int) -> Response:
    """Show one entry: all that it records, and what it gives away."""
    need(visitor, "ledger")
    facts = dataset_of(request, visitor, dataset)
    found = next((each for each in facts.ledger.entries(seq - 1) if each["seq"] == seq), None)
    if found is None:
        raise UnknownName(
            what="there is no such entry.",
            why="the ledger has the entries that its list shows.",
            do="choose one from the list.",
        )
    answers: list[int] = []
    if found["kind"] == "charge":
        answers = [
            int(str(each["seq"]))
            for each in facts.ledger.entries(seq)
            if each["kind"] == "release" and each["key"] == found["key"]
        ]
    told = None
    if answers:
        try:
            told = explain(facts.ledger, audience="auditor", entry=answers[0])
        except DiscreetError:
            told = None
    text = json.dumps(found, indent=2, ensure_ascii=False, sort_keys=True, default=str)
    return visited(
        "entry.html", request, visitor, facts, entry=found, text=text, told=told, answers=answers
    )


@router.post("/data/{dataset}/ledger/export/{kind}", dependencies=[Depends(ours)])
def export(request: Request, visitor: Visiting, dataset: str, kind: str) -> Response:
    """Hand out all entries, without answers, as JSON lines or as a table."""
    need(visitor, "ledger")
    facts = dataset_of(request, visitor, dataset)
    if kind == "jsonl":
        lines = (json.dumps(each, default=str) for each in facts.ledger.entries())
        return download(
            "".join(f"{line}\n" for line in lines), name="ledger.jsonl", kind="application/x-ndjson"
        )
    table = io.StringIO()
    writer = csv.writer(table)
    writer.writerow(["entry", "when", "kind", "account", "about", "cost", "state", "answer"])
    for row in _rows(request, visitor, facts):
        cells = [row.seq, row.at, row.kind, row.account, row.about, row.cost, row.state, row.answer]
        writer.writerow([_safe(str(cell)) for cell in cells])
    return download(table.getvalue(), name="ledger.csv", kind="text/csv")


@router.get("/audit")
def audit(request: Request, visitor: Visiting) -> Response:
    """Show what attacks on this package have measured, and which theorems it rests on."""
    need(visitor, "audit")
    counter = desk_of(request).open
    report = counter.audit(visitor.caller)
    promises = [] if report is None else audited_promises(report)
    return visited(
        "audit.html",
        request,
        visitor,
        None,
        report=report,
        promises=promises,
        picture=audit_picture(promises),
        theorems=THEOREMS,
        log=counter.security_log(visitor.caller)[::-1][:_PAGE],
    )


def _rows(request: Request, visitor: Visitor, facts: DatasetFacts) -> list[LedgerRow]:
    entries = facts.ledger.proved_entries()
    asked = desk_of(request).open.asked(visitor.caller, facts.name)
    by_entry = {each.entry: written_form(each.forms[0])[0] for each in asked}
    questions = {
        str(each["key"]): by_entry[each["seq"]]
        for each in entries
        if each["kind"] == "release" and each["seq"] in by_entry
    }
    return ledger_rows(facts.ledger, entries, questions)


def _fits(row: LedgerRow, words: str) -> bool:
    return words in f"{row.kind} {row.account} {row.about} {row.state} {row.at}".lower()


def _safe(cell: str) -> str:
    """Return a cell that no spreadsheet takes for a formula."""
    return f"'{cell}" if cell.startswith(("=", "+", "-", "@", "\t")) else cell
