"""Planning and asking.

Trust: public.  The text of a question travels in forms, and never in an address.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, Final

from fastapi import APIRouter, Request
from fastapi.responses import Response

from discreet.charts import NARROW, Axis, Chart, Picture
from discreet.errors import DiscreetError
from discreet.mechanisms import Gaussian
from discreet.plan.plan import Plan
from discreet.plan.plan_words import brief_price
from discreet.plan.pricing.group_sensitivity import Noise
from discreet.service.ways_out import WaysOut, ways_out, within_policy
from discreet.web.desk import DatasetFacts, Desk, Visitor, form_of
from discreet.web.dummy_twin import dry_run
from discreet.web.ledger_facts import THRESHOLD, shares_of
from discreet.web.question_builder import (
    AGGREGATES,
    Clicked,
    copies_of,
    group_columns,
    number_columns,
)
from discreet.web.rendering import Refusal, see_other
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

_BOUNDED: Final = {"rows": "rows", "groups": "groups", "values": "values"}


def plan_steps(plan: Plan) -> list[str]:
    """Return the steps of a plan in a few words each, in execution order."""
    return list(_steps(plan))


def _steps(plan: Plan) -> Iterator[str]:
    if plan.exact:
        yield "public tables alone: exact, and free"
        return
    who = " and ".join(plan.unit.columns) or plan.unit.name
    for cut in plan.truncations:
        if cut.kind in _BOUNDED and cut.limit is not None:
            each = " in each group" if cut.kind == "rows" and plan.request.keys else ""
            yield f"bound {cut.limit} {_BOUNDED[cut.kind]} of each {who}{each}"
        elif cut.kind == "bounds":
            yield f"clip: {cut.words.rstrip('.')}"
    if plan.selection is not None:
        needed = int(plan.selection.smallest(Fraction(1, 2)))
        yield f"threshold: show groups of about {needed:,} or more ({who})"
    elif plan.request.keys and plan.request.public is not None:
        yield f"{len(plan.request.public)} public groups"
    if plan.search is not None and not plan.found:
        yield "find bounds first"
    steps = {
        measure: step
        for estimate in plan.estimates
        for measure, step in estimate.estimator.steps().items()
    }
    about = dict(plan.descriptions)
    for noise in plan.noises:
        joined = noise.distances.strategy is not None
        name = about[noise.measure] if joined else noise.measure
        yield f"{name}: {_noise(noise, steps.get(noise.measure, Fraction(1)))}"
    if plan.choices:
        yield "choose values by the exponential mechanism"


def _noise(noise: Noise, step: Fraction) -> str:
    """Say the distribution, the size and the grid of a noise, in the unit of the number."""
    mechanism = noise.mechanism
    if isinstance(mechanism, Gaussian):
        size = f"Gaussian σ = {math.sqrt(mechanism.variance) * step:.4g}"
    else:
        size = f"Laplace scale = {float(mechanism.scale * step):.4g}"
    grid = "integers" if step == 1 else f"grid of {float(step):.3g}"
    return f"{size} ({grid})"


router = APIRouter()
_TABS: Final = ("sql", "click", "python")
_LINES: Final = 3
"""How many numbers have a line in the picture of a plan."""
_FEWEST: Final = 2


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
        planned = desk.planned(visitor, dataset, question, exact, curve=action != "ask")
        plan = planned.plan
        preview = plan.budget_preview
        account = desk.open.account_of(visitor.caller, dataset)
        shares = shares_of(facts.ledger, plan, account)
        share = shares.whole
        doubtful = share > THRESHOLD or (plan.expected is not None and plan.expected.unreadable)
        shown: dict[str, Any] = {"plan": plan, "shares": shares, "confirm": doubtful}
        shown["curve"] = curve_of(planned.document["curve"])
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
            if free or confirmed or not doubtful:
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


def curve_of(points: Sequence[Mapping[str, Any]]) -> Picture | None:
    """Draw how exact an answer is at each price, one line for each number.

    >>> points = [{"epsilon": e, "errors": {"n": 3 / e}} for e in (0.1, 0.2)]
    >>> curve_of(points).description
    'epsilon 0.1: n ± 30; epsilon 0.2: n ± 15'
    """
    names = list(dict.fromkeys(name for each in points for name in each["errors"]))[:_LINES]
    halves = [each["errors"][name] for each in points for name in names if name in each["errors"]]
    if len(points) < _FEWEST or not halves or min(halves) <= 0:
        return None
    by = "epsilon" if points[0].get("epsilon") else "rho"
    prices = [float(each[by]) for each in points]
    low, high = (10.0 ** f(math.log10(g(halves))) for f, g in ((math.floor, min), (math.ceil, max)))
    high = max(high, 10 * low)
    step = max(1, round(math.log10(high / low)) // 4)
    ticks = [10.0**k for k in range(round(math.log10(low)), round(math.log10(high)) + 1, step)]
    chart = Chart(
        width=NARROW,
        title="How exact, at which price",
        x=Axis(
            label=by,
            low=prices[0],
            high=prices[-1],
            ticks=prices[::2],
            names=[f"{price:.3g}" for price in prices[::2]],
            log=True,
        ),
        y=Axis(label="±", low=low, high=high, ticks=ticks, log=True),
        description="; ".join(
            f"{by} {each[by]:.3g}: "
            + ", ".join(f"{name} ± {half:.3g}" for name, half in each["errors"].items())
            for each in points
        ),
    )
    for color, name in enumerate(names):
        line = [
            (float(each[by]), each["errors"][name]) for each in points if name in each["errors"]
        ]
        chart.line(line, color=color, label=name[:20])
    return chart.picture()


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
        "curve": None,
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
    shown["cost"] = "" if plan is None else brief_price(plan.price)
    return visited("query.html", request, visitor, facts, status=422 if refused else 200, **shown)
