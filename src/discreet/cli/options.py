r"""Shared parts of commands: options, locations of data, policy and ledger, and help examples.

Trust: public.

A policy may name data and ledger in its table ``[session]``; the paths are relative to it.  A file
``policy.toml`` in the current folder is the policy unless another is named.  So in a folder that
``discreet init`` has set up, a question is all that a command needs.

In an example, a line that begins with ``\b`` keeps the lines below it as they are.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Final, final

import typer

from discreet.errors import NotALedger, WrongKind
from discreet.ledger.ledger import Ledger
from discreet.ledger.store import is_server
from discreet.plan.policy.policy import Policy, read_policy

POLICY: Final = "policy.toml"
SERVERS: Final = ("postgresql://", "postgres://")

Data = str | Mapping[str, str]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class CommandInputs:
    """The rules, the data and the ledger that a command works with.

    Their addresses are not shown, because an address may contain a password.
    """

    policy: Policy
    data: Data | None = field(repr=False)
    ledger: str | None = field(repr=False)

    def named_ledger(self) -> str:
        """Return the address of the ledger, or say how to name it."""
        return self.ledger if self.ledger is not None else _missing("ledger")

    def named_data(self) -> Data:
        """Return where the data is, or say how to name it."""
        return self.data if self.data is not None else _missing("data")

    def before_asking(self) -> CommandInputs:
        """Return the same without a ledger that does not exist: planning does not make one.

        A ledger whose id is in the policy has to exist; it is never left out.
        """
        said = self.policy.session
        if self.ledger is None or (said is not None and said.ledger_id is not None):
            return self
        if not is_server(self.ledger) and os.path.lexists(self.ledger):
            return self
        try:
            Ledger.open(self.ledger).close()
        except NotALedger:
            return replace(self, ledger=None)
        return self


def command_inputs(
    *, data: Data | None = None, policy: str | None = None, ledger: str | None = None
) -> CommandInputs:
    """Combine options with the policy; options come first.

    >>> command_inputs(data="visits.csv", ledger="visits.ledger").named_data()
    'visits.csv'
    """
    path = Path(POLICY if policy is None else policy)
    if policy is None and not path.is_file():
        return CommandInputs(policy=Policy(), data=data, ledger=ledger)
    if not path.is_file():
        raise WrongKind(
            what=f"there is no policy {path}.",
            why="without the owner's rules nothing is answered.",
            do="check --policy, or make a policy with `discreet init`.",
        )
    rules, folder = read_policy(path), path.parent
    said = rules.session
    return CommandInputs(
        policy=rules,
        data=data if data is not None or said is None else said.data_from(folder),
        ledger=ledger if ledger is not None or said is None else _beside(said.ledger, folder),
    )


def _beside(path: str | None, folder: Path) -> str | None:
    return path if path is None or is_server(path) else str(folder / path)


def _missing(name: str) -> str:
    raise WrongKind(
        what=f"no {name} is named.",
        why=f"neither an option nor the policy says where the {name} is.",
        do=f"give --{name}, or write it into the policy: [session], {name} = ...",
    )


QuestionArgument = Annotated[str, typer.Argument(help="SQL, or - to read it from stdin.")]
QuestionsArgument = Annotated[
    list[str], typer.Argument(help="SQL, or - to read it from stdin; several share one price.")
]
DataOption = Annotated[
    list[str] | None,
    typer.Option("--data", help="A file or address, or NAME=FILE; repeat it for more tables."),
]
PolicyOption = Annotated[str | None, typer.Option("--policy", help="The policy of the owner.")]
LedgerOption = Annotated[
    str | None, typer.Option("--ledger", help="The ledger; created if absent.")
]
PortOption = Annotated[
    int | None,
    typer.Option("--port", min=0, max=65535, help="Listen on this port; 0 takes a free one."),
]
AccountOption = Annotated[str | None, typer.Option("--account", help="The account that pays.")]
AnalystOption = Annotated[str | None, typer.Option("--analyst", help="Who asks.")]
EpsilonOption = Annotated[str | None, typer.Option("--epsilon", help="What it may cost.")]
RhoOption = Annotated[str | None, typer.Option("--rho", help="What it may cost, as rho.")]
DeltaOption = Annotated[str | None, typer.Option("--delta", help="The chance of failure.")]
ErrorOption = Annotated[
    list[str] | None,
    typer.Option("--error", help="NAME=5: how far an output may be off; 5 alone for a single one."),
]
ShareOption = Annotated[
    str | None,
    typer.Option("--share", help="1% or 1/100: a part of the budget, in the way that errs least."),
]
SizeOption = Annotated[int | None, typer.Option("--size", help="About how many rows a group has.")]
ConfidenceOption = Annotated[str | None, typer.Option("--confidence", help="0.95, say.")]
BoundsOption = Annotated[
    str | None,
    typer.Option("--bounds-epsilon", help="What finding missing bounds may cost, in addition."),
]
DialectOption = Annotated[
    str | None, typer.Option("--dialect", help="The dialect of the SQL, such as bigquery.")
]
ParamOption = Annotated[
    list[str] | None,
    typer.Option(
        "--param",
        help="NAME=VALUE: the value of :name, @name or $1; 1=, 2= and so on are those of ?.",
    ),
]
IntervalsOption = Annotated[
    str | None,
    typer.Option(
        "--intervals",
        help="noise; population: with sampling, at no extra price; none: all for the quantiles.",
    ),
]
OtherOption = Annotated[
    bool, typer.Option("--other", help="One more row for all groups that are not shown; free.")
]
RowsOption = Annotated[
    int | None, typer.Option("--max-rows", help="Rows of a unit in a group, for this question.")
]
GroupsOption = Annotated[
    int | None, typer.Option("--max-groups", help="Groups of a unit, for this question.")
]
LimitsOption = Annotated[
    str | None,
    typer.Option("--limits-epsilon", help="Buy limits for this price, in addition: it is spent."),
]
ServerOption = Annotated[
    str | None, typer.Option("--server", help="Ask a server instead: https://clinic.example.")
]
DatasetOption = Annotated[
    str | None, typer.Option("--dataset", help="Which dataset of the server; the only one else.")
]
TokenOption = Annotated[
    str | None,
    typer.Option("--token", envvar="DISCREET_TOKEN", help="Shows a server who asks."),
]
VerboseOption = Annotated[bool, typer.Option("--verbose", help="Say everything about it.")]
SqlOption = Annotated[bool, typer.Option("--sql", help="Print the SQL that the engine will run.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Write JSON to stdout.")]


def name_value_pairs(given: list[str] | None, *, option: str, of: str) -> dict[str, str]:
    """Read options of the form NAME=VALUE.

    >>> name_value_pairs(["visits=5"], option="--error", of="number")
    {'visits': '5'}
    """
    pairs: dict[str, str] = {}
    for text in given or ():
        name, equals, value = text.partition("=")
        if not name or not equals or not value or name in pairs:
            raise WrongKind(
                what=f"{option} is not NAME={of.upper()}, or a name comes twice.",
                why="each value belongs to one name.",
                do=f"write {option} NAME={of.upper()}.",
            )
        pairs[name] = value
    return pairs


def params_of(given: list[str] | None) -> dict[str, Any] | None:
    """Read values of parameters: numbers, "strings", true, false and null of JSON; others are text.

    >>> params_of(["ward=A", "cost=2.5", 'code="7"', "day=2024-02-01"])
    {'ward': 'A', 'cost': Decimal('2.5'), 'code': '7', 'day': '2024-02-01'}
    """
    pairs = name_value_pairs(given, option="--param", of="value")
    return {name: _scalar(text) for name, text in pairs.items()} or None


def _scalar(text: str) -> object:
    try:
        value = json.loads(text, parse_float=Decimal, parse_constant=str)
    except (ValueError, RecursionError):
        return text
    return text if isinstance(value, list | dict) else value


def data_of(given: list[str] | None) -> str | dict[str, str] | None:
    """Read where the data is: one file or address, or several by the names of their tables.

    >>> data_of(["visits.csv"]), data_of(["visits=a.csv", "wards=b.csv"])
    ('visits.csv', {'visits': 'a.csv', 'wards': 'b.csv'})
    """
    if not given:
        return None
    if len(given) == 1 and ("=" not in given[0] or given[0].startswith(SERVERS)):
        return given[0]
    return name_value_pairs(given, option="--data", of="file")


_LINES: Final = {
    "discreet": (
        "discreet demo",
        "discreet init visits.csv",
        "discreet check policy.toml",
        'discreet plan "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward" --error n=20',
        'discreet ask "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward" --epsilon 0.1',
        "discreet profile visits --epsilon 1",
        "discreet synthesize visits --epsilon 1 --out made-up.parquet",
        "discreet ledger show",
        "discreet explain",
        "discreet local form --categories flu,cold,none --epsilon 1 > form.json",
        "discreet audit count.py --data with.csv --data without.csv --epsilon 1",
    ),
    "demo": ("discreet demo", "discreet demo --page tour.html"),
    "init": (
        "discreet init visits.csv",
        "discreet init visits.csv --unit patient --bounds cost=0:900 --categories ward=A,B,C --yes",
    ),
    "check": ("discreet check", "discreet check clinic.toml --data visits.csv --json"),
    "plan": (
        'discreet plan "SELECT COUNT(*) AS n FROM visits" --epsilon 0.1',
        'discreet plan "SELECT AVG(cost) AS c FROM visits" --error c=9 --size 500',
        "discreet plan - --epsilon 0.1 --json < question.sql",
    ),
    "ask": (
        'discreet ask "SELECT COUNT(*) AS n FROM visits" --epsilon 0.1',
        'discreet ask "SELECT COUNT(*) AS n FROM visits" --epsilon 0.1 --dry-run',
        'discreet ask "SELECT COUNT(*) AS n FROM visits" --error n=20 --json',
        'discreet ask "SELECT COUNT(*) AS n FROM visits WHERE ward = :w" --param w=A --epsilon 0.1',
        (
            'discreet ask "SELECT COUNT(*) AS n FROM visits" --epsilon 0.1 '
            "--server https://clinic.example"
        ),
    ),
    "serve": (
        "discreet serve clinic.toml",
        "discreet serve site.toml --check",
        "discreet serve site.toml --port 8750",
    ),
    "password": ("discreet password site.toml ana",),
    "profile": (
        "discreet profile visits --epsilon 1",
        "discreet profile visits --epsilon 1 --yes --html visits.html",
        "discreet profile visits --columns age,ward --epsilon 0.5 --dry-run",
    ),
    "synthesize": (
        "discreet synthesize visits --columns ward,age,cost --epsilon 1 --out made-up.parquet",
        "discreet synthesize visits --method mst --epsilon 1 --delta 1e-9 --out made-up.csv",
        "discreet synthesize visits --workload marginals:3 --epsilon 1 --dry-run",
    ),
    "explain": (
        "discreet explain",
        "discreet explain R-0041 --audience subject",
        'discreet explain --budget "epsilon=2, delta=1e-9" --audience steward',
        "discreet explain --ledger clinic.ledger --html explained.html",
    ),
    "learn": (
        "discreet learn definitions",
        "discreet learn --notebooks course",
        "discreet learn --puzzle no-data",
    ),
    "label": (
        "discreet label",
        "discreet label --format html > label.html",
        "discreet label --verify label.json --ledger clinic.ledger",
    ),
    "mcp": (
        "discreet mcp clinic.toml --account claude --limit 0.5",
        "discreet mcp --server https://clinic.example --token dsc_...",
    ),
    "workbench": ("discreet workbench", "discreet workbench clinic.toml --port 8750"),
    "audit": (
        ("discreet audit count.py --data with.csv --data without.csv --epsilon 1 --runs 2000"),
        'discreet audit "./count {data}" --policy clinic.toml --epsilon 1',
    ),
    "ledger": ("discreet ledger show", "discreet ledger verify", "discreet ledger backup FILE"),
    "account": (
        "discreet ledger account ana --limit 0.3 --by olga",
        "discreet ledger account data/flu clinic.ledger --limit 1 --by olga --json",
    ),
    "show": ("discreet ledger show", "discreet ledger show clinic.ledger --json"),
    "verify": ("discreet ledger verify", "discreet ledger verify clinic.ledger --receipt RECEIPT"),
    "backup": ("discreet ledger backup backup.jsonl",),
    "anchor": (
        "discreet ledger anchor",
        "discreet ledger anchor clinic.ledger --witness /srv/other/clinic.witness",
    ),
    "restore": (
        "discreet ledger restore backup.jsonl --reason moved --by ana --approved-by ben",
        "discreet ledger restore backup.jsonl new.ledger --reason moved --by ana --approved-by ben",
    ),
    "reopen": (
        'discreet ledger reopen KEY --reason "a broken disk was replaced" --by ana',
        "discreet ledger reopen KEY clinic.ledger --reason ... --by ana --json",
    ),
    "local": (
        "discreet local form --categories flu,cold,none --epsilon 1 > form.json",
        "discreet local plan form.json --people 100000",
        "discreet local report form.json flu > reports/1",
        "discreet local collect form.json reports/*",
    ),
    "local form": (
        "discreet local form --categories flu,cold,none --epsilon 1 > form.json",
        "discreet local form --categories-from towns.txt --other elsewhere --epsilon 0.5",
        "discreet local form --bins 0:100:20 --epsilon 2 --wire 2",
        "discreet local form --number 0:120 --epsilon 1",
    ),
    "local plan": (
        "discreet local plan form.json --people 100000",
        "discreet local plan form.json --people 5000 --confidence 0.99 --json",
    ),
    "local report": (
        "discreet local report form.json flu > report",
        "discreet local report form.json - < answers.txt > reports",
    ),
    "local collect": (
        "discreet local collect form.json reports/* --json",
        "discreet local collect form.json reports --hostile 100 --consistent simplex",
        "discreet local collect form.json monday tuesday --save week",
    ),
}
EXAMPLES: Final = {
    name: "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)
    for name, lines in _LINES.items()
}
"""The examples of each command, by its name."""
