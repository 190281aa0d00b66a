"""Options that several commands share.

Trust: public.
"""

from __future__ import annotations

from typing import Annotated

import typer

from discreet.cli.project import SERVERS
from discreet.errors import WrongKind

__all__ = [
    "AccountOption",
    "AnalystOption",
    "BoundsOption",
    "ConfidenceOption",
    "DataOption",
    "DeltaOption",
    "EpsilonOption",
    "ErrorOption",
    "JsonOption",
    "LedgerOption",
    "PolicyOption",
    "QuestionArgument",
    "RhoOption",
    "SizeOption",
    "data_of",
    "pairs",
]

QuestionArgument = Annotated[str, typer.Argument(help="SQL, or - to read it from stdin.")]
DataOption = Annotated[
    list[str] | None,
    typer.Option("--data", help="A file or address, or NAME=FILE; repeat it for more tables."),
]
PolicyOption = Annotated[str | None, typer.Option("--policy", help="The policy of the owner.")]
LedgerOption = Annotated[str | None, typer.Option("--ledger", help="The ledger; made if absent.")]
AccountOption = Annotated[str | None, typer.Option("--account", help="The account that pays.")]
AnalystOption = Annotated[str | None, typer.Option("--analyst", help="Who asks.")]
EpsilonOption = Annotated[str | None, typer.Option("--epsilon", help="What it may cost.")]
RhoOption = Annotated[str | None, typer.Option("--rho", help="What it may cost, as rho.")]
DeltaOption = Annotated[str | None, typer.Option("--delta", help="The chance of failure.")]
ErrorOption = Annotated[
    list[str] | None,
    typer.Option("--error", help="NAME=5: how far an output may be off; may be repeated."),
]
SizeOption = Annotated[int | None, typer.Option("--size", help="About how many rows a group has.")]
ConfidenceOption = Annotated[str | None, typer.Option("--confidence", help="0.95, say.")]
BoundsOption = Annotated[
    str | None,
    typer.Option("--bounds-epsilon", help="What finding missing bounds may cost, beside it."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Write JSON to stdout.")]


def pairs(given: list[str] | None, *, option: str, of: str) -> dict[str, str]:
    """Read options of the form NAME=VALUE.

    >>> pairs(["visits=5"], option="--error", of="number")
    {'visits': '5'}
    """
    found: dict[str, str] = {}
    for each in given or ():
        name, equals, value = each.partition("=")
        if not name or not equals or not value or name in found:
            raise WrongKind(
                what=f"{option} is not NAME={of.upper()}, or a name comes twice.",
                why="each value belongs to one name.",
                do=f"write {option} NAME={of.upper()}.",
            )
        found[name] = value
    return found


def data_of(given: list[str] | None) -> str | dict[str, str] | None:
    """Read where the data is: one file or address, or several by the names of their tables.

    >>> data_of(["visits.csv"]), data_of(["visits=a.csv", "wards=b.csv"])
    ('visits.csv', {'visits': 'a.csv', 'wards': 'b.csv'})
    """
    if not given:
        return None
    if len(given) == 1 and ("=" not in given[0] or given[0].startswith(SERVERS)):
        return given[0]
    return pairs(given, option="--data", of="file")
