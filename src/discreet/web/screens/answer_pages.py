"""Answers: under way, released, explained, remeasured, shown again.

Trust: public.  What is shown was released, and is on record.
"""

from __future__ import annotations

from typing import Any, Final

from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response

from discreet.errors import DiscreetError, UnknownName
from discreet.explain import explain, label_of
from discreet.explain.label.rendering import label_lines
from discreet.explain.pictures.answer_bars import answer_bars, can_be_drawn
from discreet.release import Release
from discreet.release.display import cells, notes, plain
from discreet.service.protocol.question_form import QuestionForm
from discreet.web.code_copies import copies_of
from discreet.web.desk import DatasetFacts, Progress, Visitor, form_of
from discreet.web.refusals import Refusal
from discreet.web.remeasuring import Remeasure, remeasure_of
from discreet.web.rendering import see_other
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
    waiting,
    written_form,
)

router = APIRouter()
AUDIENCES: Final = ("analyst", "subject", "steward", "auditor")
_ROWS: Final = 500
_KEPT: Final = frozenset({"confidence", "delta", "size"})
"""What another draw of an answer takes over from the first."""


@router.get("/data/{dataset}/answers/{number}")
async def answer(request: Request, visitor: Visiting, dataset: str, number: str) -> Response:
    """Show an answer, or how long it has been under way; no thread waits for it."""
    await desk_of(request).until_told(visitor, number)
    return await _shown(request, visitor=visitor, dataset=dataset, number=number)


@waiting
def _shown(request: Request, visitor: Visitor, dataset: str, number: str) -> Response:
    facts, progress = _found(request, visitor, dataset, number)
    return _page(request, visitor, facts, progress)


@router.post("/data/{dataset}/answers/{number}/cancel", dependencies=[Depends(ours)])
def cancel(request: Request, visitor: Visiting, dataset: str, number: str) -> Response:
    """Stop waiting for an answer."""
    _found(request, visitor, dataset, number)
    desk_of(request).open.cancel(visitor.caller, number)
    return see_other(f"/data/{dataset}/answers/{number}")


@router.post("/data/{dataset}/releases/{entry}", dependencies=[Depends(ours)])
def again(request: Request, visitor: Visiting, dataset: str, entry: Numbered) -> Response:
    """Ask the same question again: it is free, from the record."""
    need(visitor, "ask", dataset)
    dataset_of(request, visitor, dataset)
    desk = desk_of(request)
    begun = desk.ask(visitor, dataset, *desk.asked(visitor, dataset, entry).forms)
    return see_other(f"/data/{dataset}/answers/{begun.id}")


@router.post("/data/{dataset}/answers/{number}/remeasure")
@waiting
def remeasure(
    request: Request, visitor: Visiting, form: Form, dataset: str, number: str
) -> Response:
    """Say what another draw would cost and give; or buy it, and combine both."""
    need(visitor, "ask", dataset)
    facts, progress = _found(request, visitor, dataset, number)
    by = "rho" if field(form, "by") == "rho" else "epsilon"
    price = (by, field(form, "amount").strip())
    more = _another(progress, price)
    if field(form, "action") != "pay" or progress.release is None:
        return _page(request, visitor, facts, progress, price=price)
    offer = _offer(request, visitor, facts, progress, price)
    confirmed = field(form, "confirm") == offer.token
    if not offer.fits or (offer.confirm and not confirmed):
        return _page(request, visitor, facts, progress, price=price, urged=True)
    begun = desk_of(request).ask(visitor, dataset, *progress.forms, more)
    return see_other(f"/data/{dataset}/answers/{begun.id}", request)


def _another(progress: Progress, price: tuple[str, str]) -> QuestionForm:
    """Return another draw of a question, with the confidence of the first."""
    question, first = written_form(progress.forms[0])
    kept = {name: value for name, value in first.items() if name in _KEPT}
    return form_of(question, {**kept, price[0]: price[1]})


def _offer(
    request: Request,
    visitor: Visitor,
    facts: DatasetFacts,
    progress: Progress,
    price: tuple[str, str],
) -> Remeasure:
    """Plan another draw; this spends nothing."""
    assert progress.release is not None  # noqa: S101  asked for where there is one
    desk, more = desk_of(request), _another(progress, price)
    bought = desk.open.asked(visitor.caller, facts.name)
    return remeasure_of(
        progress.release,
        desk.plan(visitor, facts.name, *written_form(more)),
        facts.ledger,
        account=desk.open.account_of(visitor.caller, facts.name),
        price=price,
        free=any(each.forms == (*progress.forms, more) for each in bought),
    )


def _page(  # noqa: PLR0913  who sees what, and what was asked for below it
    request: Request,
    visitor: Visitor,
    facts: DatasetFacts,
    progress: Progress,
    *,
    price: tuple[str, str] | None = None,
    urged: bool = False,
) -> Response:
    shown: dict[str, Any] = {"progress": progress, "refusal": None, "release": None}
    shown |= {"offer": None, "not_offered": None, "urged": urged}
    if progress.refused is not None:
        shown["refusal"] = Refusal.of(progress.refused)
    if progress.release is not None:
        question, paid = written_form(progress.forms[0])
        shown |= _answer(progress.release)
        shown["copies"] = copies_of(
            question, paid, site=desk_of(request).open.site, dataset=facts.name
        )
        name = "rho" if "rho" in paid else "epsilon"
        shown["price"] = price or (name, str(paid.get(name, "0.1")))
        if visitor.may("ask"):
            try:
                shown["offer"] = _offer(request, visitor, facts, progress, shown["price"])
            except DiscreetError as error:
                shown["not_offered"] = Refusal.of(error)
    return visited("answer.html", request, visitor, facts, **shown)


@router.get("/data/{dataset}/answers/{number}/explain/{audience}")
def explained(
    request: Request, visitor: Visiting, dataset: str, number: str, audience: str
) -> Response:
    """Say what an answer gives away, to one of four audiences."""
    facts, progress = _found(request, visitor, dataset, number)
    if progress.release is None or audience not in AUDIENCES:
        raise _unknown()
    told = explain(progress.release, audience=audience, about=facts.policy.about)
    return visited(
        "explain.html",
        request,
        visitor,
        facts,
        told=told,
        audiences=AUDIENCES,
        base=f"/data/{dataset}/answers/{number}",
    )


@router.get("/data/{dataset}/answers/{number}/label")
def answer_label(request: Request, visitor: Visiting, dataset: str, number: str) -> Response:
    """Show the privacy label of one answer."""
    facts, progress = _found(request, visitor, dataset, number)
    if progress.release is None:
        raise _unknown()
    number_of = None if progress.release.receipt is None else progress.release.receipt.seq
    record = desk_of(request).open.ledger(visitor.caller, dataset, entry=number_of)
    label = label_of(progress.release, ledger=record, about=facts.policy.about)
    return visited(
        "label.html",
        request,
        visitor,
        facts,
        lines=list(label_lines(label.content)),
        pictures=label.pictures,
        named=f"R-{progress.release.receipt.seq:04d}" if progress.release.receipt else "",
    )


def _found(
    request: Request, visitor: Visitor, dataset: str, number: str
) -> tuple[DatasetFacts, Progress]:
    need(visitor, "releases", dataset)
    facts = dataset_of(request, visitor, dataset)
    progress = desk_of(request).progress(visitor, number)
    if progress.job.dataset != dataset:
        raise _unknown()
    return facts, progress


def _answer(release: Release) -> dict[str, Any]:
    columns = [cells(column, _ROWS) for column in release.columns]
    return {
        "release": release,
        "heads": [(plain(column.name), column.low is not None) for column in release.columns],
        "rows": list(zip(*columns, strict=True)),
        "notes": list(notes(release)),
        "chart": answer_bars(release) if can_be_drawn(release) else None,
        "odds": release.odds.sentence(),
    }


def _unknown() -> UnknownName:
    return UnknownName(
        what="there is no such answer here.",
        why="only what was asked and answered can be shown.",
        do="look at the list of releases.",
    )
