"""The explorer: error against budget for one statistic, and what asking for it would give away.

Trust: public.  No page of it reads a row.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response

from discreet.charts import Picture
from discreet.errors import DiscreetError, OutOfRange
from discreet.exact import decimal
from discreet.explain.figures import GuessOdds
from discreet.explain.guesses import Guesses
from discreet.explain.pictures.icon_arrays import icon_arrays
from discreet.explain.sources import disclosure_of
from discreet.loss import Pure
from discreet.web.desk import DatasetFacts, Visitor
from discreet.web.explorer import (
    ErrorCurve,
    GroupError,
    curve_of,
    group_errors,
    quantile_places,
)
from discreet.web.question_builder import AGGREGATES, Clicked, group_columns, number_columns
from discreet.web.refusals import Refusal
from discreet.web.rendering import page
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


@router.get("/data/{dataset}/explore")
@waiting
def explore(request: Request, visitor: Visiting, dataset: str) -> Response:
    """Show the curve of a count."""
    facts = dataset_of(request, visitor, dataset)
    return _explored(request, visitor, facts, {})


@router.post("/data/{dataset}/explore")
@waiting
def explored(request: Request, visitor: Visiting, form: Form, dataset: str) -> Response:
    """Show the curve of what was chosen."""
    facts = dataset_of(request, visitor, dataset)
    return _explored(request, visitor, facts, form)


@router.post("/data/{dataset}/explore/odds")
def odds(request: Request, visitor: Visiting, form: Form, dataset: str) -> Response:
    """Draw what all answers give away, before and after one more, for a slider that was moved."""
    need(visitor, "plan", dataset)
    facts = dataset_of(request, visitor, dataset)
    epsilon = field(form, "epsilon", "0.1")
    try:
        worlds = _worlds(facts, epsilon)
    except DiscreetError:  # half a number, say: what is typed next draws it
        worlds = []
    return page("worlds.html", request, worlds=worlds, epsilon=epsilon)


def _explored(
    request: Request, visitor: Visitor, facts: DatasetFacts, form: dict[str, list[str]]
) -> Response:
    need(visitor, "plan", facts.name)
    private = [table for table in facts.schema.tables if not table.public]
    said = {
        "table": field(form, "table", private[0].name if private else ""),
        "aggregate": field(form, "aggregate", "count"),
        "column": field(form, "column"),
        "group": field(form, "group"),
        "people": field(form, "people", "10000"),
        "confidence": field(form, "confidence", "0.95"),
        "epsilon": field(form, "epsilon", "0.1"),
        "error": field(form, "error"),
    }
    clicked = _clicked(said)
    shown: dict[str, Any] = {"said": said, "curve": None, "refusal": None, "ends": (1, 10)}
    shown |= {"groups": [], "worlds": [], "dots": None}
    try:
        sure = _number(said["confidence"], name="the confidence", low=0.01, high=0.999999)
        curve = _curve(request, visitor, facts, clicked, said)
        if field(form, "action") == "error" and said["error"]:
            wanted = _number(said["error"], name="the error", low=1e-30, high=1e30)
            said["epsilon"] = f"{curve.epsilon(error=wanted):.4g}"
        spent = _number(said["epsilon"], name="epsilon", low=1e-12, high=1e6)
        said["error"] = f"{curve.error(epsilon=spent):.4g}"
        values = (curve.floor or math.inf, curve.k / 10, curve.k / 1e-3)
        low = 10.0 ** math.floor(math.log10(min(values[0], values[1])))
        high = 10.0 ** math.ceil(math.log10(max(curve.floor, values[2])))
        shown |= {"curve": curve, "picture": curve.picture(epsilon=spent), "ends": (low, high)}
        shown["dots"] = quantile_places(float(said["error"]), sure)
        shown["groups"] = _groups(clicked, facts, curve, form, spent)
        shown["worlds"] = _worlds(facts, said["epsilon"])
    except (DiscreetError, ZeroDivisionError) as error:
        shown["refusal"] = Refusal.of(error) if isinstance(error, DiscreetError) else None
    tables = [(table, number_columns(table), group_columns(table)) for table in private]
    left = facts.ledger.left()
    total = next(
        (
            float(amount) / 1e24
            for name, amount in zip(left.budget.components, left.amounts, strict=True)
            if name == "epsilon"
        ),
        1.0,
    )
    return visited(
        "explore.html",
        request,
        visitor,
        facts,
        tables=tables,
        aggregates=AGGREGATES,
        total=total,
        **shown,
    )


def _number(typed: str, *, name: str, low: float, high: float) -> float:
    """Return a number between two others, which is what curves are drawn for."""
    found = decimal(typed, name=name)
    if not Fraction(low) <= found <= Fraction(high):
        raise OutOfRange(
            what=f"{name} is not between {low:g} and {high:g}.",
            why="the curve is drawn for numbers that somebody may want.",
            do="give a number between them.",
        )
    return float(found)


def _clicked(said: dict[str, str]) -> Clicked:
    return Clicked(
        table=said["table"],
        aggregate=said["aggregate"],
        column=said["column"],
        groups=(said["group"],) if said["group"] else (),
    )


def _curve(
    request: Request, visitor: Visitor, facts: DatasetFacts, clicked: Clicked, said: dict[str, str]
) -> ErrorCurve:
    return curve_of(
        clicked,
        facts.schema,
        lambda question, price: desk_of(request).plan(visitor, facts.name, question, price),
        people=whole_of(said["people"]) or 0,
        confidence=said["confidence"].strip(),
    )


def _groups(
    clicked: Clicked,
    facts: DatasetFacts,
    curve: ErrorCurve,
    form: dict[str, list[str]],
    spent: float,
) -> list[GroupError]:
    """Return the error of each public group, for the sizes that the visitor guesses."""
    guessed = {
        whole_of(name.removeprefix("size.")): whole_of(values[0]) for name, values in form.items()
    }
    sizes = {place: size for place, size in guessed.items() if place is not None and size}
    changed = (field(form, "group"), field(form, "people")) != (
        field(form, "sized"),
        field(form, "sized_people"),
    )
    return group_errors(clicked, facts.schema, curve, sizes={} if changed else sizes, epsilon=spent)


def _worlds(facts: DatasetFacts, epsilon: str) -> list[tuple[str, Picture]]:
    """Return what all answers give away before and after this one, as icons."""
    before = disclosure_of(facts.ledger, about=facts.policy.about)
    _number(epsilon, name="epsilon", low=1e-12, high=1e6)
    more = Pure(epsilon=decimal(epsilon, name="epsilon"))
    after = replace(before, losses=tuple(loss.compose(more) for loss in before.losses))
    return [
        (word, icon_arrays(each, GuessOdds.of(Guesses(*each.losses))))
        for word, each in (("All answers so far", before), ("With this one", after))
        if each.losses
    ]
