"""The record: entries of the ledger, one by one, exported, and verified; and the security log.

Trust: public.  Everything on these pages is a fact of the ledger or of the log, and no value of any
data.
"""

from __future__ import annotations

import csv
import io
import json
import time
from collections.abc import Mapping
from typing import Any, Final

from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response

from discreet.errors import DiscreetError, UnknownName
from discreet.explain import explain
from discreet.web.desk import DatasetFacts, Visitor
from discreet.web.ledger_facts import (
    LedgerRow,
    chained,
    cost_of_entry,
    curve_around,
    ledger_rows,
    mechanism_facts,
)
from discreet.web.rendering import download, see_other
from discreet.web.visits import (
    Form,
    Numbered,
    Visiting,
    dataset_of,
    desk_of,
    field,
    need,
    ours,
    visited,
    whole_of,
)

router = APIRouter()
_PAGE: Final = 100


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
    need(visitor, "ledger", dataset)
    facts = dataset_of(request, visitor, dataset)
    report, began = None, time.monotonic()
    receipts = field(form, "receipts").split()
    if field(form, "action") == "verify":
        report = desk_of(request).open.verify(visitor.caller, dataset, receipts[:_PAGE])
    seconds = time.monotonic() - began
    words = field(form, "words").strip().lower()
    rows = [row for row in reversed(rows_of(request, visitor, facts)) if _fits(row, words)]
    shown = max(_PAGE, whole_of(field(form, "shown")) or 0)
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
        seconds=seconds,
        receipts=receipts,
        receipt=facts.ledger.receipt,
        upkeep=desk_of(request).open.upkeep(visitor.caller, dataset),
        heads={each.seq: each.head for each in facts.ledger.proved_receipts()},
    )


@router.get("/data/{dataset}/ledger/{seq}")
def entry(request: Request, visitor: Visiting, dataset: str, seq: Numbered) -> Response:
    """Show one entry: all that it records, and what it gives away."""
    need(visitor, "ledger", dataset)
    facts = dataset_of(request, visitor, dataset)
    found = next((each for each in facts.ledger.entries(seq - 1) if each["seq"] == seq), None)
    if found is None:
        raise UnknownName(
            what="there is no such entry.",
            why="the ledger has the entries that its list shows.",
            do="choose one from the list.",
        )
    text = json.dumps(found, indent=2, ensure_ascii=False, sort_keys=True, default=str)
    shown: dict[str, Any] = {"told": None, "answer": None, "mechanisms": [], "curve": None}
    shown |= {"question": "", "cost": "", "closed": False}
    around = chained(facts.ledger, seq)
    if found["kind"] == "charge":
        shown |= _charge(request, visitor, facts, found)
        shown["curve"] = curve_around(facts.ledger, facts.policy.about, around)
    return visited(
        "entry.html",
        request,
        visitor,
        facts,
        entry=found,
        text=text,
        chained=around,
        **shown,
    )


def _charge(
    request: Request, visitor: Visitor, facts: DatasetFacts, found: Mapping[str, Any]
) -> dict[str, Any]:
    """Return what there is to say about a charge, and about its answer if there is one."""
    seq = int(found["seq"])
    answer = next(
        (
            int(str(each["seq"]))
            for each in facts.ledger.entries(seq)
            if each["kind"] == "release" and each["key"] == found["key"]
        ),
        None,
    )
    told = None
    if answer is not None:
        try:
            told = explain(facts.ledger, audience="auditor", entry=answer)
        except DiscreetError:  # it rests on a charge that is explained as a part of all answers
            told = None
    return {
        "answer": answer,
        "closed": str(found["key"]) in facts.ledger.closed,
        "told": told,
        "question": _questions(request, visitor, facts).get(str(found["key"]), ""),
        "cost": cost_of_entry(facts.ledger.left().budget, found),
        "mechanisms": mechanism_facts(found),
    }


@router.post("/data/{dataset}/ledger/{seq}/reopen")
def reopen(
    request: Request, visitor: Visiting, form: Form, dataset: str, seq: Numbered
) -> Response:
    """Allow further attempts at a question that a failure has closed."""
    need(visitor, "reopen", dataset)
    facts = dataset_of(request, visitor, dataset)
    found = next((each for each in facts.ledger.entries(seq - 1) if each["seq"] == seq), {})
    reason = field(form, "reason").strip()
    desk_of(request).open.reopen(visitor.caller, dataset, str(found.get("key", "")), reason=reason)
    return see_other(f"/data/{dataset}/ledger/{seq}")


@router.post("/data/{dataset}/ledger/export/{kind}", dependencies=[Depends(ours)])
def export(request: Request, visitor: Visiting, dataset: str, kind: str) -> Response:
    """Hand out all entries, without answers, as JSON lines or as a table."""
    need(visitor, "ledger", dataset)
    facts = dataset_of(request, visitor, dataset)
    if kind == "jsonl":
        lines = (json.dumps(each, default=str) for each in facts.ledger.entries())
        return download(
            "".join(f"{line}\n" for line in lines), name="ledger.jsonl", kind="application/x-ndjson"
        )
    table = io.StringIO()
    writer = csv.writer(table)
    writer.writerow(["entry", "when", "kind", "account", "about", "cost", "state", "answer"])
    for row in rows_of(request, visitor, facts):
        cells = [row.seq, row.at, row.kind, row.account, row.about, row.cost, row.state, row.answer]
        writer.writerow([_safe(str(cell)) for cell in cells])
    return download(table.getvalue(), name="ledger.csv", kind="text/csv")


def rows_of(request: Request, visitor: Visitor, facts: DatasetFacts) -> list[LedgerRow]:
    """Return the entries of a dataset as rows, with the questions that the visitor asked."""
    return ledger_rows(
        facts.ledger,
        facts.ledger.proved_entries(),
        _questions(request, visitor, facts),
        people=frozenset(each.person for each in desk_of(request).open.directory.people()),
    )


def _questions(request: Request, visitor: Visitor, facts: DatasetFacts) -> dict[str, str]:
    """Return the texts of what the visitor asked, by the keys of charges."""
    asked = desk_of(request).open.asked(visitor.caller, facts.name)
    by_entry = {each.entry: each.forms[0].text for each in asked}
    return {
        str(each["key"]): by_entry[seq]
        for each in facts.ledger.entries()
        if each["kind"] == "release" and (seq := int(str(each["seq"]))) in by_entry
    }


def _fits(row: LedgerRow, words: str) -> bool:
    return words in f"{row.kind} {row.account} {row.about} {row.state} {row.at}".lower()


def _safe(cell: str) -> str:
    """Return a cell that no spreadsheet takes for a formula."""
    return f"'{cell}" if cell.startswith(("=", "+", "-", "@", "\t", "\r", "\n")) else cell


_LINES: Final = 100


@router.get("/log")
def log(request: Request, visitor: Visiting) -> Response:
    """Show the latest lines of the security log."""
    need(visitor, "audit")
    lines = desk_of(request).open.security_log(visitor.caller)[::-1][:_LINES]
    return visited("log.html", request, visitor, None, log=lines)
