"""Before the first question: datasets, the explorer, and the wizard that writes a policy.

Trust: public.  None of these pages reads a row.
"""

from __future__ import annotations

import math
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response

from discreet.errors import DiscreetError, NotAllowed
from discreet.exact import decimal
from discreet.query.types import Type
from discreet.session.display import about_column, part_left
from discreet.web.desk import DatasetFacts, Visitor
from discreet.web.explorer import ErrorCurve, curve_of
from discreet.web.first_run import FirstRun, proposed_types
from discreet.web.question_builder import AGGREGATES, Clicked, group_columns, number_columns
from discreet.web.refusals import Refusal
from discreet.web.rendering import see_other
from discreet.web.visits import Form, Visiting, dataset_of, desk_of, field, need, visited

router = APIRouter()


@router.get("/datasets")
def datasets(request: Request, visitor: Visiting) -> Response:
    """List what there is, with everything that is public about it."""
    desk = desk_of(request)
    found = [desk.facts(visitor, name) for name in desk.datasets(visitor)]
    listed = [
        (
            facts,
            int(100 * part_left(facts.ledger.left())),
            [
                (table, [(column, about_column(column, table)) for column in table.columns])
                for table in facts.schema.tables
            ],
        )
        for facts in found
    ]
    wizard = _wizard(request) is not None
    return visited("datasets.html", request, visitor, listed=listed, wizard=wizard)


# --- the explorer -----------------------------------------------------------------------------


@router.get("/data/{dataset}/explore")
def explore(request: Request, visitor: Visiting, dataset: str) -> Response:
    """Show the curve of a count."""
    facts = dataset_of(request, visitor, dataset)
    return _explored(request, visitor, facts, {})


@router.post("/data/{dataset}/explore")
def explored(request: Request, visitor: Visiting, form: Form, dataset: str) -> Response:
    """Show the curve of what was chosen."""
    facts = dataset_of(request, visitor, dataset)
    return _explored(request, visitor, facts, form)


def _explored(
    request: Request, visitor: Visitor, facts: DatasetFacts, form: dict[str, list[str]]
) -> Response:
    need(visitor, "plan")
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
    shown: dict[str, Any] = {"said": said, "curve": None, "refusal": None, "ends": (1, 10)}
    try:
        curve = _curve(request, visitor, facts, said)
        if field(form, "action") == "error" and said["error"]:
            wanted = float(decimal(said["error"], name="the error"))
            said["epsilon"] = f"{curve.epsilon(error=wanted):.4g}"
        spent = float(decimal(said["epsilon"], name="epsilon"))
        said["error"] = f"{curve.error(epsilon=spent):.4g}"
        values = (curve.floor or math.inf, curve.k / 10, curve.k / 1e-3)
        low = 10.0 ** math.floor(math.log10(min(values[0], values[1])))
        high = 10.0 ** math.ceil(math.log10(max(curve.floor, values[2])))
        shown |= {"curve": curve, "picture": curve.picture(epsilon=spent), "ends": (low, high)}
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


def _curve(
    request: Request, visitor: Visitor, facts: DatasetFacts, said: dict[str, str]
) -> ErrorCurve:
    clicked = Clicked(
        table=said["table"],
        aggregate=said["aggregate"],
        column=said["column"],
        groups=(said["group"],) if said["group"] else (),
    )
    people = said["people"].strip()
    return curve_of(
        clicked,
        facts.schema,
        lambda question, price: desk_of(request).plan(visitor, facts.name, question, price),
        people=int(people) if people.isdecimal() else 0,
        confidence=said["confidence"].strip(),
    )


# --- the wizard -------------------------------------------------------------------------------


@router.get("/wizard")
def wizard(request: Request, visitor: Visiting) -> Response:
    """Ask which file the policy is for."""
    run = _needed(request, visitor)
    return visited("wizard.html", request, visitor, files=run.files(), policy=run.policy.name)


@router.post("/wizard/questions")
def questions(request: Request, visitor: Visiting, form: Form) -> Response:
    """Ask the six questions about a file."""
    run = _needed(request, visitor)
    return _questions(request, visitor, run, form, None)


@router.post("/wizard/review")
def review(request: Request, visitor: Visiting, form: Form) -> Response:
    """Show the policy that the answers make; nothing is written yet."""
    run = _needed(request, visitor)
    said = {name: field(form, name) for name in form if name != "csrf"}
    try:
        rules = run.policy_for(field(form, "file"), said)
    except DiscreetError as error:
        return _questions(request, visitor, run, form, Refusal.of(error))
    shown: dict[str, Any] = {"said": said, "text": rules.written(), "policy": run.policy.name}
    return visited("review.html", request, visitor, **shown)


@router.post("/wizard/write")
def write(request: Request, visitor: Visiting, form: Form) -> Response:
    """Make the ledger and write the policy."""
    run = _needed(request, visitor)
    said = {name: field(form, name) for name in form}
    name = run.write(field(form, "file"), said)
    return see_other(f"/data/{name}/query")


def _questions(
    request: Request,
    visitor: Visitor,
    run: FirstRun,
    form: dict[str, list[str]],
    refusal: Refusal | None,
) -> Response:
    name = field(form, "file")
    look = run.look(name)
    said = {each: field(form, each) for each in form if each != "csrf"}
    return visited(
        "questions.html",
        request,
        visitor,
        file=name,
        types=proposed_types(look),
        cells={column for column in look.columns if look.is_cell(column)},
        known=[kind.value.lower() for kind in Type],
        said=said,
        refusal=refusal,
        status=200 if refusal is None else 422,
    )


def _wizard(request: Request) -> FirstRun | None:
    found: FirstRun | None = getattr(request.app.state, "first_run", None)
    return found if found is not None and not found.policy.exists() else None


def _needed(request: Request, visitor: Visitor) -> FirstRun:
    need(visitor, "people")
    run = _wizard(request)
    if run is None:
        raise NotAllowed(
            what="there is a policy already.",
            why="a policy that people have reviewed is not replaced in passing.",
            do="change the file, and have it reviewed.",
        )
    return run
