"""Before the first question: datasets, and the wizard that writes a policy.

Trust: public.  None of these pages reads a row.
"""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response

from discreet.errors import DiscreetError, NotAllowed
from discreet.query.types import Type
from discreet.session.display import about_column, part_left
from discreet.web.desk import Visitor
from discreet.web.first_run import FirstRun, proposed_types
from discreet.web.refusals import Refusal
from discreet.web.rendering import see_other
from discreet.web.visits import Form, Visiting, desk_of, field, need, visited

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
