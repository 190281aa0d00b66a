"""``discreet init`` and ``discreet check``: how an owner writes a policy, and tests it on the data.

Trust: kernel.  ``init`` reads only the names and types of columns, unless the owner looks at the
rows (``--owner``), asks six questions, makes the ledger, and writes the policy.  ``check`` writes
exact numbers about the data, and says so first.
"""

from __future__ import annotations

import sys
from dataclasses import fields, replace
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from discreet import session as sessions
from discreet.cli.exit_codes import DONE, VIOLATION, errors_reported, write_json, write_result
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
from discreet.ledger.stores.store import is_server, store_for
from discreet.plan.policy.policy import Policy, SessionSettings, read_policy
from discreet.requests.csv_format import CsvFormat
from discreet.session.first_run import (
    HEADER,
    USUAL_GROUPS,
    Answers,
    Ask,
    policy_from,
    refuse_overwriting,
    with_ledger,
    write_policy,
)
from discreet.session.opening_arguments import unit_of, without_password
from discreet.session.schemas import schema_of


def check(
    policy: Annotated[
        str | None, typer.Argument(help="The policy of the owner; policy.toml unless given.")
    ] = None,
    *,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Say which promises hold in the data. NOT private: exact numbers, for the owner only.

    Asks nothing of the ledger, and writes nothing into it. Ends with 6 if a promise is broken that
    prices rest on; what is enforced anyway costs accuracy, and ends with 0.
    """
    with errors_reported(as_json=as_json) as ending:
        project = command_inputs(data=data_of(data), policy=policy)
        report = sessions.check(project.named_data(), policy=project.policy)
        ending.code = DONE if report.holds else VIOLATION
        write_result("check", report.to_json(), report, as_json=as_json)


_LOOKED: Final = """\
# NOT PRIVATE: types, limits, and a key that equals the unit were proposed by `discreet init
# --owner` from the rows themselves: 99 % of people have no more rows and groups.  Whoever sees
# them learns that much, and no price covers it.  Round them, or keep this file from those who ask.

"""

_SLASHES: Final = 3  # of the address of a database


def init(  # noqa: PLR0913  one option for each answer
    source: Annotated[str, typer.Argument(help="A CSV or Parquet file, or a DuckDB database.")],
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
            help="Look at the rows: propose types and limits, and say how many cells cannot be "
            "read. NOT private: exact numbers, for the owner only.",
        ),
    ] = False,
    policy: Annotated[Path, typer.Option(help="Where to write the policy.")] = Path(POLICY),
    ledger: Annotated[str, typer.Option(help="Where the ledger is made.")] = "",
    yes: Annotated[bool, typer.Option("--yes", help="Ask nothing; use the defaults.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Ask six questions about a table, make the ledger, and write the policy."""
    with errors_reported(as_json=as_json):
        refuse_overwriting(policy)
        form = _format(name_value_pairs(csv, option="--csv", of="value"))
        look = sessions.first_look(source, tables=table, csv=form, owner=owner)
        name = look.table
        answers = Answers(
            unit=",".join(unit or ()),
            max_rows=max_rows or ("1" if owner else ""),
            max_groups=max_groups or (USUAL_GROUPS if owner else ""),
            analysts=",".join(analyst or ()),
            epsilon=epsilon,
            delta=delta,
            bounds=name_value_pairs(bounds, option="--bounds", of="low:high"),
            categories=name_value_pairs(categories, option="--categories", of="values"),
            types=name_value_pairs(types, option="--type", of="type"),
            constant=tuple(constant or ()),
            csv=form,
        )
        place = SessionSettings(
            data=_seen_from(policy, source), ledger=_shareable(ledger or f"{name}.ledger")
        )
        made = policy_from(answers, _asker(yes=yes), look=look, session=place)
        seen: tuple[str, ...] = ()
        if owner:
            made, seen = _owner_limits(made, source, name, max_rows, max_groups)
        rules = read_policy(made.written())  # what is written can be followed, and fits the data
        schema_of(rules, unit_of(None, rules), {name: look.columns}, {name: look.stored})
        rules = with_ledger(rules, ledger or f"{name}.ledger", policy)
        header = HEADER + (_LOOKED if owner else "")
        write_policy(policy, rules, header=header)
        _say(rules, policy, look, seen, as_json=as_json)


def _owner_limits(
    made: Policy, source: str, name: str, max_rows: str, max_groups: str
) -> tuple[Policy, tuple[str, ...]]:
    """Return the policy with limits that the owner's look at the rows proposes, and these."""
    if made.unit is None or not made.unit.columns:
        return made, ()
    rows, groups, one_row = sessions.owner_limits(source, policy=made, table=name)
    (table,) = made.tables
    if one_row and not max_rows:
        table = replace(table, key=made.unit.columns)
    found: dict[str, Any] = {} if max_rows else {"max_rows": rows}
    if groups is not None and not max_groups:
        found["max_groups"] = groups
    seen = tuple(f"{limit} = {most}" for limit, most in found.items())
    return replace(made, limits=replace(made.limits, **found), tables=(table,)), seen


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
    store_for(ledger, timeout=1)  # refuses what is no address: what follows '#' is a name
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


def _asker(*, yes: bool) -> Ask:
    """Return a function that asks a person at a terminal, or nobody."""

    def usual(question: str, default: str) -> str:
        if not yes:
            raise WrongKind(
                what="an answer is missing, and there is no terminal to ask at.",
                why=f"the question is: {question.strip()}.",
                do="give it as an option, or --yes to use the defaults.",
            )
        return default

    def prompt(question: str, default: str) -> str:
        return str(typer.prompt(question, default=default, show_default=bool(default), err=True))

    return prompt if _at_a_terminal() and not yes else usual


def _at_a_terminal() -> bool:
    return sys.stdin.isatty()


def _say(
    policy: Policy, path: Path, look: sessions.FirstLook, seen: tuple[str, ...], *, as_json: bool
) -> None:
    table, types = look.table, {facts.name: facts.type for facts in policy.tables[0].columns}
    owner, lost = look.shares is not None, look.unreadable(types)
    if as_json:
        found = {name: float(share) for name, share in lost.items()}
        shown: dict[str, object] = {"written": str(path), "table": table, "looked": owner}
        write_json("policy", {**shown, "unreadable": found} if owner else shown)
        return
    sys.stdout.write(f"wrote {path}; the budget is {policy.budget}.\n")
    read = ", ".join(f"{name} {kind.value.lower()}" for name, kind in types.items())
    if any(map(look.is_cell, types)):
        sys.stdout.write(
            f"types: {read}. Cells that are something else are NULL; `discreet check` counts them "
            "for you.\n"
        )
    sys.stdout.writelines(f"{line}\n" for line in look.lines(types))
    if seen:
        sys.stdout.write(
            f"NOT PRIVATE, from the rows: {', '.join(seen)}; 99 % of people have no more. Whoever "
            "sees the policy or a plan learns that; round it, or choose limits without looking.\n"
        )
    place = policy.session or SessionSettings()
    if any(text is not None and text.startswith(SERVERS) for text in (place.data, place.ledger)):
        sys.stdout.write("no password is in it: set PGPASSWORD, or use a password file.\n")
    question = f"SELECT COUNT(*) AS n FROM {table}"  # noqa: S608 (a checked name, and only shown)
    sys.stdout.write(f'next: discreet plan "{question}" --epsilon 0.1\n')
