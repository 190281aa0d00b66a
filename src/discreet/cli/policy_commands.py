"""``discreet init`` and ``discreet check``: how an owner writes a policy, and tests it on the data.

Trust: kernel.  ``init`` reads only the names and types of columns, unless the owner looks at the
rows (``--owner``), shows what it proposes, makes the ledger, and writes the policy.  ``check``
writes exact numbers about the data, and says so first.
"""

from __future__ import annotations

import sys
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Final

import typer

from discreet import session as sessions
from discreet.cli.exit_codes import DONE, VIOLATION, errors_reported, write_json, write_result
from discreet.cli.init_screen import ask_everything
from discreet.cli.options import (
    POLICY,
    SERVERS,
    DataOption,
    JsonOption,
    command_inputs,
    data_of,
    name_value_pairs,
)
from discreet.errors import WrongKind
from discreet.ledger.store import is_server, store_for
from discreet.plan.policy.policy import Policy, SessionSettings
from discreet.requests.table_schema import CsvFormat, Schema
from discreet.session.first_run.column_notes import forecast_lines, share_words, unit_words
from discreet.session.first_run.policy_proposal import (
    PolicyProposal,
    refuse_damaged,
    refuse_overwriting,
    with_ledger,
    write_policy,
)
from discreet.session.first_run.policy_questionnaire import LOOKED, UNSEEN, Answers
from discreet.session.opening_arguments import named_sources, without_password


def check(
    policy: Annotated[
        str | None, typer.Argument(help="The policy of the owner; policy.toml unless given.")
    ] = None,
    *,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Say which promises hold in the data. NOT private: exact numbers, for the owner only.

    Does not read or write the ledger. Exits with 6 if the data breaks a promise that prices rely
    on. A broken promise that is enforced anyway only costs accuracy, and exits with 0.
    """
    with errors_reported(as_json=as_json) as ending:
        project = command_inputs(data=data_of(data), policy=policy)
        report = sessions.check(project.named_data(), policy=project.policy)
        ending.code = DONE if report.holds else VIOLATION
        write_result("check", report.to_json(), report, as_json=as_json)


_SLASHES: Final = 3  # of the address of a database


def init(  # noqa: PLR0913  one option for each answer
    context: typer.Context,
    source: Annotated[
        str,
        typer.Argument(
            help="A CSV or Parquet file, or a DuckDB database; more files may follow, as FILE or "
            "NAME=FILE."
        ),
    ],
    *,
    table: Annotated[str | None, typer.Option(help="What the table is called.")] = None,
    unit: Annotated[
        list[str] | None, typer.Option(help="The column that names a person; or 'row'.")
    ] = None,
    max_rows: Annotated[str, typer.Option(help="Rows of a person in one group.")] = "",
    max_groups: Annotated[str, typer.Option(help="Groups of a person.")] = "",
    bounds: Annotated[
        list[str] | None, typer.Option(help="COLUMN=LOW:HIGH, public bounds; may be repeated.")
    ] = None,
    categories: Annotated[
        list[str] | None, typer.Option(help="COLUMN=A,B,C, public values; may be repeated.")
    ] = None,
    types: Annotated[
        list[str] | None, typer.Option("--type", help="COLUMN=TYPE; may be repeated.")
    ] = None,
    constant: Annotated[
        list[str] | None, typer.Option(help="A column in which all rows of a person agree.")
    ] = None,
    analyst: Annotated[list[str] | None, typer.Option(help="Who may ask; or anybody.")] = None,
    epsilon: Annotated[str, typer.Option(help="The budget in all.")] = "",
    delta: Annotated[str, typer.Option(help="The chance that the promise fails.")] = "",
    csv: Annotated[
        list[str] | None,
        typer.Option(
            help="How a CSV file is written: separator=;, encoding=latin-1, decimal=,, thousands=. "
            "or dates=DD.MM.YYYY; may be repeated."
        ),
    ] = None,
    owner: Annotated[
        bool,
        typer.Option(
            "--owner",
            help="Look at the rows: propose types, bounds, categories, limits and size, and say "
            "how many cells cannot be read. NOT private: exact numbers, for the owner only.",
        ),
    ] = False,
    accept_proposals: Annotated[
        bool,
        typer.Option("--accept-proposals", help="With --owner --yes: write what is proposed."),
    ] = False,
    public: Annotated[
        list[str] | None, typer.Option(help="A table that anybody may see; may be repeated.")
    ] = None,
    policy: Annotated[Path, typer.Option(help="Where to write the policy.")] = Path(POLICY),
    ledger: Annotated[str, typer.Option(help="Where the ledger is made.")] = "",
    yes: Annotated[bool, typer.Option("--yes", help="Ask nothing; use the defaults.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Propose a policy for one table or several, create its ledger, and write it."""
    with errors_reported(as_json=as_json):
        refuse_overwriting(policy)
        form = _format(name_value_pairs(csv, option="--csv", of="value"))
        answers = Answers(
            unit=",".join(unit or ()),
            max_rows=max_rows,
            max_groups=max_groups,
            analysts=",".join(analyst or ()),
            epsilon=epsilon,
            delta=delta,
            bounds=name_value_pairs(bounds, option="--bounds", of="low:high"),
            categories=name_value_pairs(categories, option="--categories", of="values"),
            types=name_value_pairs(types, option="--type", of="type"),
            constant=tuple(constant or ()),
            csv=form,
        )
        if accept_proposals and not (owner and yes):
            raise WrongKind(
                what="--accept-proposals is given without --owner --yes.",
                why="proposals come from the rows, and their owner has to accept them.",
                do="give all three in a script; at a terminal, leave it out, and look.",
            )
        files = _files([source, *context.args])
        made = PolicyProposal(source if files is None else files, answers, name=table, owner=owner)
        ledger = ledger or f"{made.tables[0].name}.ledger"
        refuse_damaged(ledger, policy)
        seen = {name: _seen_from(policy, each) for name, each in (files or {"": source}).items()}
        data = seen if files else seen[""]
        place = SessionSettings(data=data, ledger=_shareable(ledger))
        if yes:
            _take_defaults(made, public or [], accepted=accept_proposals)
        elif _at_a_terminal():
            ask_everything(made, _show, _prompt)
        else:
            raise _no_terminal(answers)
        rules, schema = made.made(place, accepted=UNSEEN if yes else LOOKED)
        rules = with_ledger(rules, ledger, policy)
        write_policy(policy, rules)
        _say(rules, schema, policy, made, as_json=as_json)


def _files(given: list[str]) -> dict[str, str] | None:
    """Return several files by the names of their tables, NAME=FILE or as the file is called."""
    if len(given) == 1:
        return None
    found: dict[str, str] = {}
    for each in given:
        name, equals, rest = each.partition("=")
        is_pair = bool(equals) and name.isidentifier()
        source = rest if is_pair else each
        (known,) = named_sources(source, name if is_pair else None, [])
        if known in found:
            raise WrongKind(
                what=f"two tables are called {known}.",
                why="questions call tables by their names.",
                do=f"give one another name: other={source}.",
            )
        found[known] = source
    return found


def _take_defaults(made: PolicyProposal, public: list[str], *, accepted: bool) -> None:
    """Accept all proposals, or use what follows from names alone."""
    unit = made.answers.unit
    for table in made.tables:
        if accepted:
            table.take_form()
        else:
            table.forget_rows()
    if accepted and not unit:
        _, unit = unit_words(made.unit_guesses())
    made.protect(unit, public)


def _no_terminal(answers: Answers) -> WrongKind:
    missing = "who is a person here" if not answers.unit else "whether the defaults are meant"
    return WrongKind(
        what="an answer is missing, and there is no terminal to ask at.",
        why=f"the question is: {missing}.",
        do="give it as an option, or --yes to use the defaults.",
    )


def _format(said: dict[str, str]) -> CsvFormat | None:
    known = [field.name for field in fields(CsvFormat)]
    for name in said:
        if name not in known:
            raise WrongKind(
                what=f"--csv {name}= says nothing of how a file is written.",
                why="what is not understood would not be followed.",
                do=f"use one of: {', '.join(known)}.",
            )
    return CsvFormat(**said) if said else None


def _seen_from(policy: Path, source: str) -> str:
    """Return the path of the data relative to the folder of the policy."""
    if source.startswith(SERVERS):
        return without_password(source)
    try:
        return str(Path(source).resolve().relative_to(policy.parent.resolve()))
    except ValueError:
        return str(Path(source).resolve())


def _shareable(ledger: str) -> str:
    """Return the address of the ledger without a password."""
    store_for(ledger, timeout=1)  # refuses an invalid address: a name follows '#'
    place, mark, name = ledger.partition("#")
    if not is_server(ledger):
        return ledger
    if not ledger.startswith(SERVERS):
        return _without_password(ledger)
    shared = without_password(place)
    if place.partition("?")[0].count("/") > _SLASHES:
        raise WrongKind(
            what="the address of the ledger names a table.",
            why="a ledger is a schema of a database, with tables of its own.",
            do="give 'postgresql://role@host/database#name'.",
        )
    return f"{shared}{mark}{name}"


def _without_password(ledger: str) -> str:
    """Refuse a password in the key-value form: the policy is for others to read."""
    if "password" in ledger:
        raise WrongKind(
            what="the address of the ledger holds a password.",
            why="the policy is reviewed and shared, and a password in it would be too.",
            do="leave it out, and set PGPASSWORD or use a password file.",
        )
    return ledger


def _prompt(question: str, default: str) -> str:
    shown = bool(default) and not question.endswith("]")  # [Y/n] says it
    return str(typer.prompt(question, default=default, show_default=shown, err=True))


def _show(line: str) -> None:
    typer.echo(line, err=True)


def _at_a_terminal() -> bool:
    return sys.stdin.isatty()


def _say(
    policy: Policy, schema: Schema, path: Path, made: PolicyProposal, *, as_json: bool
) -> None:
    types = {each.name: {it.name: it.type for it in each.columns} for each in policy.tables}
    lost = {
        (table.name, name): share
        for table in made.tables
        for name, share in table.found.unreadable(types[table.name]).items()
        if share
    }
    looked = any(table.found.shares is not None for table in made.tables)
    if as_json:
        shown: dict[str, object] = {
            "written": str(path),
            "table": made.tables[0].name,
            "tables": list(types),
            "looked": looked,
            "confirmed": policy.about.tuning is not None,
        }
        found = {name: float(share) for (_, name), share in lost.items()}
        write_json("policy", {**shown, **({"unreadable": found} if looked else {})})
        return
    write = sys.stdout.write
    if lost:
        write("NOT PRIVATE, for the owner only:\n")
    for (table, name), share in lost.items():
        kind = types[table][name].value.lower()
        write(f"  {name}: {share_words(share)} of cells cannot be read as {kind}, and are NULL\n")
    for line in forecast_lines(policy, schema):
        write(f"{line}\n")
    if looked and policy.about.tuning is None:
        write("Nothing from the rows was written: add --accept-proposals, or use a terminal.\n")
    elif not looked:
        for each in made.tables:
            if any(map(each.look.is_cell, types[each.name])):
                read = (f"{name} {kind.value.lower()}" for name, kind in types[each.name].items())
                write(f"types: {', '.join(read)}. Other cells are NULL; --owner proposes types.\n")
    place = policy.session or SessionSettings()
    known = [place.ledger or "", *place.sources.values()]
    if any(text.startswith(SERVERS) for text in known):
        write("no password is in it: set PGPASSWORD, or use a password file.\n")
    write(f"Wrote {path} (review it like code) and {place.ledger}.\n")
    question = f"SELECT COUNT(*) AS n FROM {made.tables[0].name}"  # noqa: S608 (a checked name, only shown)
    write(f'next: discreet plan "{question}" --epsilon 0.1\n')
