"""Planning and asking.

Trust: public.  The text of a question travels in forms, and never in an address.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from fastapi import APIRouter, Request
from fastapi.responses import Response

from discreet.errors import DiscreetError
from discreet.plan.plan import Plan
from discreet.service.ways_out import WaysOut, ways_out, within_policy
from discreet.web.code_copies import copies_of
from discreet.web.desk import DatasetFacts, Desk, Visitor, form_of
from discreet.web.dummy_twin import dry_run
from discreet.web.ledger_facts import THRESHOLD, cost_of_plan, shares_of
from discreet.web.plan_steps import plan_steps
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
    visited,
    waiting,
    whole_of,
)

router = APIRouter()
_TABS: Final = ("sql", "click", "python")


@router.get("/data/{dataset}/query")
def query(request: Request, visitor: Visiting, dataset: str) -> Response:
    """Show an empty form."""
    need(visitor, "plan", dataset)
    facts = dataset_of(request, visitor, dataset)
    return _form(request, visitor, facts, {})


@router.post("/data/{dataset}/query")
@waiting
def plan_or_ask(request: Request, visitor: Visiting, form: Form, dataset: str) -> Response:
    """Write SQL from clicks, plan a question, run it on a dummy twin, or ask it.

    A refusal comes on the same page, with ways out and their prices.
    """
    need(visitor, "plan", dataset)
    facts, desk = dataset_of(request, visitor, dataset), desk_of(request)
    said = _said(form)
    action = said.get("action", "plan")
    exact: dict[str, Any] = {}
    try:
        if action == "build":
            said["sql"], said["tab"] = _clicked(form).sql(facts.schema), "sql"
        question, price = said.get("sql", ""), price_of(said)
        exact = price if "error" not in price else {}
        exact = _with_output(desk, visitor, facts, question, price)
        plan = desk.plan(visitor, dataset, question, exact)
        preview = plan.budget_preview
        account = desk.open.account_of(visitor.caller, dataset)
        shares = shares_of(facts.ledger, plan, account)
        share = shares.whole
        shown: dict[str, Any] = {"plan": plan, "shares": shares, "confirm": share > THRESHOLD}
        confirmed = said.get("confirm") == str(share)  # of this price, and no other
        shown["copies"] = copies_of(question, exact, site=desk.open.site, dataset=dataset)
        if preview is not None and not preview.fits:
            desk.note_refusal(visitor, dataset)
            shown["ways"] = ways_out(
                question,
                exact,
                plan,
                facts.ledger,
                account=account,
                planned=lambda text, paid: desk.plan(visitor, dataset, text, paid),
            )
            return _form(request, visitor, facts, said, **shown)
        if action == "dry":
            shown["dummy"] = dry_run(facts.policy, question, exact)
        if action == "ask":
            free = preview is not None and preview.entry is not None
            if share <= THRESHOLD or free or confirmed:
                bought = {**exact, **({"confirm": True} if confirmed else {})}
                begun = desk.ask(visitor, dataset, form_of(question, bought))
                return see_other(f"/data/{dataset}/answers/{begun.id}", request)
        return _form(request, visitor, facts, said, urged=action == "ask", **shown)
    except DiscreetError as error:
        ways = within_policy(
            said.get("sql", ""),
            exact,
            facts.policy.limits,
            lambda text, paid: desk.plan(visitor, dataset, text, paid),
        )
        return _form(request, visitor, facts, said, refusal=Refusal.of(error), ways=ways)


def _said(form: Mapping[str, list[str]]) -> dict[str, str]:
    """Return the fields of a form; those of a way out take the place of what was written."""
    said = {name: field(form, name) for name in form}
    way = said.get("way", "")
    if way.isdecimal() and f"way.{way}.sql" in said:
        taken = {name: said[f"way.{way}.{name}"] for name in ("sql", "by", "amount")}
        said |= {**taken, "action": "plan"}
    return said


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
    if (size := whole_of(said.get("size", ""))) is not None:
        price["size"] = size
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
        "ways": WaysOut(),
        "dummy": None,
        "shares": None,
        "confirm": False,
        "urged": False,
        "copies": {},
    }
    tables = [(table, number_columns(table), group_columns(table)) for table in facts.schema.tables]
    shown = {**empty, **values, "said": said, "tables": tables, "aggregates": AGGREGATES}
    refused = shown["refusal"] is not None or bool(shown["ways"].shortfalls)
    plan: Plan | None = shown["plan"]
    tab = said.get("tab", "sql")
    shown["tab"] = tab if tab in _TABS else "sql"
    shown["steps"] = [] if plan is None else plan_steps(plan)
    shown["cost"] = "" if plan is None else cost_of_plan(facts.ledger.left().budget, plan)
    return visited("query.html", request, visitor, facts, status=422 if refused else 200, **shown)
