"""Before the first question: datasets, and the wizard that writes a policy.

Trust: kernel.  The wizard shows the owner a policy proposed from the rows; files are those of one
folder.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, final

from fastapi import APIRouter, Request
from fastapi.responses import Response

from discreet.errors import BadPolicy, DiscreetError, NotAllowed, UnknownName
from discreet.plan.policy.policy import Policy, SessionSettings
from discreet.requests.table_schema import Schema
from discreet.session.display import about_column
from discreet.session.first_run.column_notes import forecast_lines, guess_words, unit_words
from discreet.session.first_run.policy_proposal import (
    PolicyProposal,
    refuse_overwriting,
    with_ledger,
    write_policy,
)
from discreet.session.first_run.policy_questionnaire import Answers, line_of, usual_delta
from discreet.session.opening_arguments import table_name
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

    def proposal(self, names: list[str], said: Mapping[str, str]) -> PolicyProposal:
        """Look at the files, and propose what to declare for the people that were named.

        A line of the form that differs from its proposal is a change.
        """
        if not names or not set(names) <= set(self.files()):
            raise UnknownName(
                what="there is no such file in the folder of the policy.",
                why="the wizard opens CSV and Parquet files of this folder alone.",
                do="put the file there, and choose it from the list.",
            )
        answers = Answers(
            analysts=said.get("analysts", ""),
            epsilon=said.get("epsilon", ""),
            delta=said.get("delta", ""),
            max_rows=said.get("max_rows", ""),
            max_groups=said.get("max_groups", ""),
        )
        made = PolicyProposal(
            {table_name(name): str(self.folder / name) for name in names}, answers
        )
        for table in made.tables:
            table.take_form()
        unit = said.get("unit") or unit_words(made.unit_guesses())[1]
        made.protect(unit, made.unclear(unit) if said.get("public") else ())
        for table in made.tables:
            if said.get("size") == "no":
                table.size = None
            if said.get(f"key.{table.name}") == "no":
                table.key = ()
        return made

    def reviewed(self, names: list[str], said: Mapping[str, str]) -> tuple[Policy, Schema]:
        """Return the policy that the answers of a form make, and its schema."""
        made = self.proposal(names, said)
        for table in made.tables:
            for facts in table.listed():
                line = said.get(f"line.{table.name}.{facts.name}", "").strip()
                if line and line != line_of(facts):
                    made.change(facts.name, line, table=table.name)
                elif not line:
                    made.change(facts.name, facts.type.value.lower(), table=table.name)
        if not made.answers.delta:
            made.answers = replace(made.answers, delta=usual_delta(made.tables[0].size))
        data = names[0] if len(names) == 1 else {table_name(name): name for name in names}
        ledger = f"{made.tables[0].name}.ledger"
        return made.made(SessionSettings(data=data, ledger=ledger))

    def write(self, names: list[str], said: Mapping[str, str]) -> str:
        """Make the ledger, write the policy, and open both; return the name of the dataset."""
        refuse_overwriting(self.policy)
        rules, _ = self.reviewed(names, said)
        place = rules.session or SessionSettings()
        write_policy(self.policy, with_ledger(rules, place.ledger or "data.ledger", self.policy))
        return self.opened(self.policy)


router = APIRouter()


@router.get("/datasets")
def datasets(request: Request, visitor: Visiting) -> Response:
    """List what there is, with everything that is public about it."""
    desk = desk_of(request)
    found = [desk.facts(visitor, name) for name in desk.datasets(visitor)]
    listed = [
        (
            facts,
            int(100 * facts.ledger.left().share),
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
    """Ask which files the policy is for."""
    run = _needed(request, visitor)
    return visited("wizard.html", request, visitor, files=run.files(), policy=run.policy.name)


@router.post("/wizard/questions")
def questions(request: Request, visitor: Visiting, form: Form) -> Response:
    """Show the proposed policy for the files."""
    run = _needed(request, visitor)
    return _questions(request, visitor, run, form, None)


@router.post("/wizard/review")
def review(request: Request, visitor: Visiting, form: Form) -> Response:
    """Show the policy that the answers make; nothing is written yet."""
    run = _needed(request, visitor)
    said = _said(form)
    try:
        rules, schema = run.reviewed(form.get("file", []), said)
    except DiscreetError as error:
        return _questions(request, visitor, run, form, Refusal.of(error))
    shown: dict[str, Any] = {
        "said": said,
        "files": form.get("file", []),
        "text": rules.written(),
        "policy": run.policy.name,
        "forecast": list(forecast_lines(rules, schema)),
    }
    return visited("review.html", request, visitor, **shown)


@router.post("/wizard/write")
def write(request: Request, visitor: Visiting, form: Form) -> Response:
    """Make the ledger and write the policy."""
    run = _needed(request, visitor)
    name = run.write(form.get("file", []), _said(form))
    return see_other(f"/data/{name}/query")


def _said(form: dict[str, list[str]]) -> dict[str, str]:
    return {name: field(form, name) for name in form if name not in {"csrf", "file"}}


def _questions(
    request: Request,
    visitor: Visitor,
    run: FirstRun,
    form: dict[str, list[str]],
    refusal: Refusal | None,
) -> Response:
    files, said = form.get("file", []), _said(form)
    unit = said.get("unit", "")
    try:
        made = run.proposal(files, said)
    except BadPolicy as error:  # a table that says nothing of people
        refusal, said = Refusal.of(error), {**said, "public": "yes"}
        made = run.proposal(files, said)
    if unit != said.get("looked", unit):  # lines that were proposed for other people
        said = {name: value for name, value in said.items() if not name.startswith("line.")}
    return visited(
        "questions.html",
        request,
        visitor,
        files=files,
        made=made,
        question=unit_words(made.unit_guesses())[0],
        line_of=line_of,
        guess=guess_words(1.0),
        delta=usual_delta(made.tables[0].size),
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
