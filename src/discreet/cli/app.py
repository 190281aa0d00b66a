"""The command ``discreet``.

Trust: public.
"""

from __future__ import annotations

from typing import Annotated

import typer

from discreet import __version__
from discreet.cli.auditing import audit
from discreet.cli.checking import check
from discreet.cli.codes import DONE
from discreet.cli.examples import EXAMPLES
from discreet.cli.initial import init
from discreet.cli.questions import ask, plan
from discreet.cli.records import app as ledger
from discreet.cli.touring import demo

__all__ = ["app", "main"]

app = typer.Typer(
    name="discreet",
    help="Answers about people that give none of them away.",
    epilog=EXAMPLES["discreet"],
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,  # a traceback could quote the data
)
app.command(epilog=EXAMPLES["demo"])(demo)
app.command(epilog=EXAMPLES["init"])(init)
app.command(epilog=EXAMPLES["check"])(check)
app.command(epilog=EXAMPLES["plan"])(plan)
app.command(epilog=EXAMPLES["ask"])(ask)
app.command(epilog=EXAMPLES["audit"])(audit)
app.add_typer(ledger, name="ledger")


def _version(wanted: bool) -> None:  # noqa: FBT001  called by typer
    if wanted:
        typer.echo(f"discreet {__version__}")
        raise typer.Exit(DONE)


@app.callback()
def _common(
    *,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Answers about people that give none of them away."""


def main() -> None:
    """Run the command."""
    app()
