"""The command ``discreet``, and its guided tour.

Trust: public.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from discreet import __version__
from discreet.cli.ask_commands import ask, plan
from discreet.cli.audit_command import audit
from discreet.cli.exit_codes import (
    DONE,
    FAILED,
    errors_reported,
    flush_output,
    prepare_streams,
    stopped_text,
    tell,
    write_json,
)
from discreet.cli.explain_commands import explain, label
from discreet.cli.learn_command import learn
from discreet.cli.ledger_commands import app as ledger
from discreet.cli.local_commands import app as local
from discreet.cli.mcp_command import mcp
from discreet.cli.options import EXAMPLES, JsonOption
from discreet.cli.policy_commands import check, init
from discreet.cli.profile_command import profile
from discreet.cli.serve_command import password, serve
from discreet.cli.synthesize_command import synthesize
from discreet.cli.workbench_command import workbench
from discreet.demo.tour import PAGE, tour


def demo(
    *,
    page: Annotated[Path, typer.Option(help="Where to write the page of pictures.")] = Path(PAGE),
    as_json: JsonOption = False,
) -> None:
    """Take a guided tour on generated data; needs no network, and takes a few seconds."""
    with errors_reported(as_json=as_json):
        if not as_json:
            tour(page)
            return
        stops = [
            {"title": stop.title, "words": stop.words, "code": stop.code, "result": stop.result}
            for stop in tour(page, silent=True)
        ]
        write_json("demo", {"page": str(page), "stops": stops})


app = typer.Typer(
    name="discreet",
    help="Answers about people that give none of them away.",
    epilog=EXAMPLES["discreet"],
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,  # a traceback could quote the data
)
app.command(epilog=EXAMPLES["demo"])(demo)
app.command(epilog=EXAMPLES["init"], context_settings={"allow_extra_args": True})(init)
app.command(epilog=EXAMPLES["check"])(check)
app.command(epilog=EXAMPLES["plan"])(plan)
app.command(epilog=EXAMPLES["ask"])(ask)
app.command(epilog=EXAMPLES["profile"])(profile)
app.command(epilog=EXAMPLES["synthesize"])(synthesize)
app.command(epilog=EXAMPLES["serve"])(serve)
app.command(epilog=EXAMPLES["password"])(password)
app.command(epilog=EXAMPLES["explain"])(explain)
app.command(epilog=EXAMPLES["label"])(label)
app.command(epilog=EXAMPLES["workbench"])(workbench)
app.command(epilog=EXAMPLES["mcp"])(mcp)
app.command(epilog=EXAMPLES["audit"])(audit)
app.command(epilog=EXAMPLES["learn"])(learn)
app.add_typer(ledger, name="ledger")
app.add_typer(local, name="local")


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
    """Run the command, and end with its code; 1 if its output is lost."""
    prepare_streams()
    code: str | int | None = DONE
    try:
        app()
    except SystemExit as ended:
        code = ended.code
    except OSError as error:  # help that cannot be written
        tell(stopped_text(error))
        code = FAILED
    written = flush_output()
    sys.exit(code or (DONE if written else FAILED))
