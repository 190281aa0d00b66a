"""Planning, asking and looking at answers.

Trust: public.  The text of a question travels in forms, and never in an address.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, Final

from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response

from discreet.errors import DiscreetError, UnknownName
from discreet.explain import explain, label_of
from discreet.explain.label.rendering import label_lines
from discreet.explain.pictures.answer_bars import answer_bars, can_be_drawn
from discreet.plan.plan import Plan
from discreet.release import Release
from discreet.release.display import cells, notes, plain
from discreet.web.code_copies import local_copies, served_copies
from discreet.web.desk import DatasetFacts, Desk, Progress, Visitor, form_of
from discreet.web.ledger_facts import cost_of_plan, share_of
from discreet.web.question_builder import AGGREGATES, Clicked, group_columns, number_columns
from discreet.web.refusals import Refusal
from discreet.web.rendering import see_other
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
THRESHOLD: Final = Fraction(1, 10)
"""The share of a whole budget above which a question is confirmed."""
AUDIENCES: Final = ("analyst", "subject", "steward", "auditor")
_ROWS: Final = 500


@router.get("/data/{dataset}/query")
def query(request: Request, visitor: Visiting, dataset: str) -> Response:
    """Show an empty form, or the latest question."""
    need(visitor, "plan")
    facts = dataset_of(request, visitor, dataset)
    return _form(request, visitor, facts, {})


@router.post("/data/{dataset}/query")
def plan_or_ask(request: Request, visitor: Visiting, form: Form, dataset: str) -> Response:
    """Write SQL from clicks, plan a question, or ask it; a refusal comes on the same page."""
    need(visitor, "plan")
    facts, desk = dataset_of(request, visitor, dataset), desk_of(request)
    said = {name: field(form, name) for name in form}
    action = said.get("action", "plan")
    try:
        if action == "build":
            said["sql"] = _clicked(form).sql(facts.schema)
        question, price = said.get("sql", ""), price_of(said)
        exact = _with_output(desk, visitor, facts, question, price)
        plan = desk.plan(visitor, dataset, question, exact)
        share = share_of(facts.ledger.left().budget, plan)
        if action == "ask":
            free = plan.budget_preview is not None and plan.budget_preview.entry is not None
            if share <= THRESHOLD or free or said.get("confirm") == "yes":
                bought = {**exact, **({"confirm": True} if said.get("confirm") == "yes" else {})}
                begun = desk.ask(visitor, dataset, form_of(question, bought))
                return see_other(f"/data/{dataset}/answers/{begun.id}", request)
        return _form(
            request,
            visitor,
            facts,
            said,
            plan=plan,
            share=share,
            confirm=share > THRESHOLD,
            urged=action == "ask",
            copies=_copies(desk, dataset, question, exact),
        )
    except DiscreetError as error:
        return _form(request, visitor, facts, said, refusal=Refusal.of(error))


@router.get("/data/{dataset}/answers/{number}")
def answer(request: Request, visitor: Visiting, dataset: str, number: str) -> Response:
    """Show an answer, or how long it has been under way."""
    facts, progress = _found(request, visitor, dataset, number)
    shown: dict[str, Any] = {"progress": progress, "refusal": None, "release": None}
    if progress.refused is not None:
        shown["refusal"] = Refusal.of(progress.refused)
    if progress.release is not None:
        question, price = written_form(progress.forms[0])
        shown |= _answer(progress.release)
        shown["copies"] = _copies(desk_of(request), dataset, question, price)
    return visited("answer.html", request, visitor, facts, **shown)


@router.post("/data/{dataset}/answers/{number}/cancel", dependencies=[Depends(ours)])
def cancel(request: Request, visitor: Visiting, dataset: str, number: str) -> Response:
    """Stop waiting for an answer."""
    _found(request, visitor, dataset, number)
    desk_of(request).open.cancel(visitor.caller, number)
    return see_other(f"/data/{dataset}/answers/{number}")


@router.post("/data/{dataset}/releases/{entry}", dependencies=[Depends(ours)])
def again(request: Request, visitor: Visiting, dataset: str, entry: int) -> Response:
    """Ask the same question again: it is free, from the record."""
    need(visitor, "ask")
    dataset_of(request, visitor, dataset)
    desk = desk_of(request)
    begun = desk.ask(visitor, dataset, *desk.asked(visitor, dataset, entry).forms)
    return see_other(f"/data/{dataset}/answers/{begun.id}")


@router.post("/data/{dataset}/answers/{number}/remeasure")
def remeasure(
    request: Request, visitor: Visiting, form: Form, dataset: str, number: str
) -> Response:
    """Buy another draw, and combine both."""
    need(visitor, "ask")
    forms = _found(request, visitor, dataset, number)[1].forms
    question, _ = written_form(forms[0])
    more = form_of(question, {"epsilon": field(form, "epsilon").strip()})
    begun = desk_of(request).ask(visitor, dataset, *forms, more)
    return see_other(f"/data/{dataset}/answers/{begun.id}")


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


@router.get("/data/{dataset}/label")
def whole_label(request: Request, visitor: Visiting, dataset: str) -> Response:
    """Show the privacy label of all answers."""
    need(visitor, "releases")
    facts = dataset_of(request, visitor, dataset)
    label = label_of(facts.ledger, about=facts.policy.about)
    lines = list(label_lines(label.content))
    return visited(
        "label.html", request, visitor, facts, lines=lines, pictures=label.pictures, named=""
    )


@router.get("/data/{dataset}/releases")
def releases(request: Request, visitor: Visiting, dataset: str) -> Response:
    """List what was asked, the latest first."""
    need(visitor, "releases")
    facts = dataset_of(request, visitor, dataset)
    asked = desk_of(request).open.asked(visitor.caller, dataset)
    history = [(each, *written_form(each.forms[0]), len(each.forms)) for each in asked]
    return visited("releases.html", request, visitor, facts, history=history)


def price_of(said: Mapping[str, str]) -> dict[str, Any]:
    """Return the price that a form names.

    >>> price_of({"by": "rho", "amount": " 0.1 ", "confidence": "0.9"})
    {'rho': '0.1', 'confidence': '0.9'}
    """
    kind = said.get("by", "epsilon")
    name = kind if kind in {"epsilon", "rho", "error"} else "epsilon"
    price: dict[str, Any] = {name: said.get("amount", "").strip() or "0.1"}
    if said.get("confidence", "").strip():
        price["confidence"] = said["confidence"].strip()
    if said.get("size", "").strip().isdecimal():
        price["size"] = int(said["size"])
    return price


def _with_output(
    desk: Desk, visitor: Visitor, facts: DatasetFacts, question: str, price: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the price with a target error for each number whose error can be known."""
    if "error" not in price:
        return dict(price)
    others = {name: value for name, value in price.items() if name != "error"}
    draft = desk.plan(visitor, facts.name, question, {**others, "epsilon": "0.1"})
    names = [each.output for each in draft.predicted]
    return {**others, "error": dict.fromkeys(names, price["error"])}


def _clicked(form: Mapping[str, list[str]]) -> Clicked:
    return Clicked(
        table=field(form, "table"),
        aggregate=field(form, "aggregate", "count"),
        column=field(form, "column"),
        groups=tuple(form.get("groups", ())),
    )


def _form(
    request: Request,
    visitor: Visitor,
    facts: DatasetFacts,
    said: Mapping[str, str],
    **values: Any,
) -> Response:
    empty: dict[str, Any] = {
        "plan": None,
        "refusal": None,
        "share": None,
        "confirm": False,
        "urged": False,
        "copies": {},
    }
    tables = [(table, number_columns(table), group_columns(table)) for table in facts.schema.tables]
    status = 422 if values.get("refusal") is not None else 200
    shown = {**empty, **values, "said": said, "tables": tables, "aggregates": AGGREGATES}
    plan: Plan | None = shown["plan"]
    shown["digest"] = "" if plan is None else plan.digest
    shown["cost"] = "" if plan is None else cost_of_plan(facts.ledger.left().budget, plan)
    return visited("query.html", request, visitor, facts, status=status, **shown)


def _found(
    request: Request, visitor: Visitor, dataset: str, number: str
) -> tuple[DatasetFacts, Progress]:
    need(visitor, "releases")
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


def _copies(desk: Desk, dataset: str, question: str, price: Mapping[str, Any]) -> dict[str, str]:
    """Return a question as code: of a client, or of whoever has the files."""
    site = desk.open.site
    price = {name: value for name, value in price.items() if name != "confirm"}
    if site.loopback_person is None:
        return served_copies(question, price, server=site.address.url, dataset=dataset)
    found = site.datasets[dataset]
    data = found.data if isinstance(found.data, str) else dict(found.data)
    return local_copies(question, price, data=data, policy=str(found.policy), ledger=found.ledger)


def _unknown() -> UnknownName:
    return UnknownName(
        what="there is no such answer here.",
        why="only what was asked and answered can be shown.",
        do="look at the list of releases.",
    )
