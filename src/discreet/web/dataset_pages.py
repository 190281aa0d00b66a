"""Before the first question: datasets, and the wizard that writes a policy.

Trust: public.  It reads names and types of columns, and no rows; files are those of one folder.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, final

from fastapi import APIRouter, Request
from fastapi.responses import Response

from discreet.errors import DiscreetError, NotAllowed, UnknownName
from discreet.plan.policy.policy import Policy, SessionSettings, read_policy
from discreet.query.types import Type
from discreet.session.display import about_column, part_left
from discreet.session.first_run import (
    Answers,
    policy_from,
    refuse_overwriting,
    type_by_name,
    with_ledger,
    write_policy,
)
from discreet.session.opening_arguments import unit_of
from discreet.session.owner_check.cell_shares import FirstLook, first_look
from discreet.session.schemas import schema_of
from discreet.web.desk import Visitor
from discreet.web.rendering import Refusal, see_other
from discreet.web.visits import Form, Visiting, desk_of, field, need, visited

_ENDINGS: Final = (".csv", ".parquet")


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class FirstRun:
    """Where the wizard looks for data and writes the policy; ``opened`` serves what it wrote."""

    policy: Path
    opened: Callable[[Path], str]

    @property
    def folder(self) -> Path:
        """The folder of the policy, and of the data."""
        return self.policy.parent

    def files(self) -> list[str]:
        """Return the names of the files that can be opened."""
        found = (path for path in self.folder.iterdir() if path.suffix.lower() in _ENDINGS)
        return sorted(path.name for path in found if path.is_file())

    def look(self, name: str) -> FirstLook:
        """Read the names and types of the columns of one of these files."""
        if name not in self.files():
            raise UnknownName(
                what="there is no such file in the folder of the policy.",
                why="the wizard opens CSV and Parquet files of this folder alone.",
                do="put the file there, and choose it from the list.",
            )
        return first_look(str(self.folder / name))

    def policy_for(self, name: str, said: Mapping[str, str]) -> Policy:
        """Return the policy that answers make; it fits the columns of the file."""
        look = self.look(name)
        place = SessionSettings(data=name, ledger=f"{look.table}.ledger")
        made = policy_from(answers_of(said, look), look=look, session=place)
        rules = read_policy(made.written())
        schema_of(
            rules, unit_of(None, rules), {look.table: look.columns}, {look.table: look.stored}
        )
        return rules

    def write(self, name: str, said: Mapping[str, str]) -> str:
        """Make the ledger, write the policy, and open both; return the name of the dataset."""
        refuse_overwriting(self.policy)
        rules = self.policy_for(name, said)
        place = rules.session or SessionSettings()
        rules = with_ledger(rules, place.ledger or "data.ledger", self.policy)
        write_policy(self.policy, rules)
        return self.opened(self.policy)


def answers_of(said: Mapping[str, str], look: FirstLook) -> Answers:
    """Return the answers of a form; a column has fields type., low., high. and categories.

    >>> look = FirstLook(table="people", columns={"age": None}, stored={})
    >>> said = {"unit": "row", "low.age": "0", "high.age": "110", "type.age": "integer"}
    >>> answers_of(said, look).bounds
    {'age': '0:110'}
    """

    def given(field: str) -> str:
        return said.get(field, "").strip()

    bounds, categories, types = {}, {}, {}
    for column in look.columns:
        if given(f"low.{column}") or given(f"high.{column}"):
            bounds[column] = f"{given(f'low.{column}')}:{given(f'high.{column}')}"
        if given(f"categories.{column}"):
            categories[column] = given(f"categories.{column}")
        if given(f"type.{column}") and look.is_cell(column):
            types[column] = given(f"type.{column}")
    return Answers(
        unit=given("unit"),
        max_rows=given("max_rows"),
        max_groups=given("max_groups"),
        analysts=given("analysts"),
        epsilon=given("epsilon"),
        delta=given("delta"),
        bounds=bounds,
        categories=categories,
        types=types,
    )


def proposed_types(look: FirstLook) -> dict[str, str]:
    """Return a type for each column: that of the file, or one that its name suggests."""
    return {
        name: (type_by_name(name) if kind is None or look.is_cell(name) else kind).value.lower()
        for name, kind in look.columns.items()
    }


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
