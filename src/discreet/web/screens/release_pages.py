"""Releases: one's own questions, all answers that are published, and their label.

Trust: public.  Those who may not read the ledger see what is published.
"""

from __future__ import annotations

from typing import Any, Final

from fastapi import APIRouter, Request
from fastapi.responses import Response

from discreet.errors import DiscreetError, UnknownName
from discreet.explain import explain, label_of
from discreet.explain.label.rendering import label_lines
from discreet.release.display import cells, plain
from discreet.release.serialization import read_columns
from discreet.web.desk import DatasetFacts
from discreet.web.ledger_facts import cost_of_entry
from discreet.web.visits import Numbered, Visiting, dataset_of, desk_of, need, visited, written_form

router = APIRouter()
_PAGE: Final = 200
_ROWS: Final = 500


@router.get("/data/{dataset}/releases")
def releases(request: Request, visitor: Visiting, dataset: str) -> Response:
    """List what the visitor has asked, and what was released to anybody, the latest first."""
    need(visitor, "releases", dataset)
    facts = dataset_of(request, visitor, dataset)
    asked = desk_of(request).open.asked(visitor.caller, dataset)
    history = [(each, *written_form(each.forms[0]), len(each.forms)) for each in asked]
    return visited(
        "releases.html", request, visitor, facts, history=history, published=_published(facts)
    )


@router.get("/data/{dataset}/releases/{entry}")
def recorded(request: Request, visitor: Visiting, dataset: str, entry: Numbered) -> Response:
    """Show an answer as it is on record, and what it gives away."""
    need(visitor, "releases", dataset)
    facts = dataset_of(request, visitor, dataset)
    counter = desk_of(request).open
    stored = counter.release(visitor.caller, dataset, entry)
    record = counter.ledger(visitor.caller, dataset, entry=entry)
    try:
        told = explain(record, audience="subject", entry=entry, about=facts.policy.about)
    except DiscreetError:  # it rests on a charge that is explained as a part of all answers
        told = None
    return visited(
        "recorded.html",
        request,
        visitor,
        facts,
        entry=entry,
        stored=stored,
        told=told,
        **_cells(stored),
    )


@router.get("/data/{dataset}/label")
def whole_label(request: Request, visitor: Visiting, dataset: str) -> Response:
    """Show the privacy label of all answers."""
    need(visitor, "releases", dataset)
    facts = dataset_of(request, visitor, dataset)
    label = label_of(facts.ledger, about=facts.policy.about)
    lines = list(label_lines(label.content))
    return visited(
        "label.html", request, visitor, facts, lines=lines, pictures=label.pictures, named=""
    )


@router.get("/data/{dataset}/releases/{entry}/label")
def recorded_label(request: Request, visitor: Visiting, dataset: str, entry: Numbered) -> Response:
    """Show the privacy label of one answer on record."""
    need(visitor, "releases", dataset)
    facts = dataset_of(request, visitor, dataset)
    record = desk_of(request).open.ledger(visitor.caller, dataset, entry=entry)
    label = label_of(record, about=facts.policy.about, entry=entry)
    return visited(
        "label.html",
        request,
        visitor,
        facts,
        lines=list(label_lines(label.content)),
        pictures=label.pictures,
        named=f"R-{entry:04d}",
    )


def _published(facts: DatasetFacts) -> list[tuple[int, str, str]]:
    """Return the entry, the minute and the cost of each published answer, the newest first."""
    budget = facts.ledger.left().budget
    costs: dict[object, str] = {}
    found = []
    for entry in facts.ledger.entries():
        if entry["kind"] == "charge":
            costs[entry["key"]] = cost_of_entry(budget, entry)
        elif entry["kind"] == "release":
            seq = int(str(entry["seq"]))
            found.append((seq, str(entry["at"]), costs.get(entry["key"], "")))
    return found[::-1][:_PAGE]


def _cells(stored: Any) -> dict[str, Any]:
    """Return the table of a stored answer."""
    document = stored["answer"]
    if isinstance(document, dict) and isinstance(document.get("answer"), dict):
        document = document["answer"]  # bounds were found first
    if not isinstance(document, dict) or "columns" not in document:
        raise UnknownName(
            what="this entry records something other than a table.",
            why="programs record models and synthetic tables, which are files.",
            do="look at its explanation in the ledger.",
        )
    columns = read_columns(document)
    return {
        "heads": [(plain(column.name), column.low is not None) for column in columns],
        "rows": list(zip(*(cells(column, _ROWS) for column in columns), strict=True)),
    }
