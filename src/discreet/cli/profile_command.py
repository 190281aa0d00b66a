"""``discreet profile``: the plan of a profile, a question, and then all columns for one price.

Trust: public.  A plan costs nothing; nothing is charged before somebody says yes.
"""

from __future__ import annotations

import sys
from contextlib import ExitStack, nullcontext
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from discreet.cli import options
from discreet.cli.exit_codes import errors_reported, tell, write_result
from discreet.cli.opened import Waiting, open_inputs
from discreet.cli.saved_files import new_file
from discreet.errors import WrongKind
from discreet.session.display import text_bar


def profile(  # noqa: PLR0913  the options of a profile
    table: Annotated[
        str | None, typer.Argument(help="The table; the only one, if left out.")
    ] = None,
    *,
    columns: Annotated[
        str | None, typer.Option("--columns", help="A,B,C: its columns; all, if none is named.")
    ] = None,
    data: options.DataOption = None,
    policy: options.PolicyOption = None,
    ledger: options.LedgerOption = None,
    account: options.AccountOption = None,
    analyst: options.AnalystOption = None,
    epsilon: options.EpsilonOption = None,
    rho: options.RhoOption = None,
    delta: options.DeltaOption = None,
    size: options.SizeOption = None,
    confidence: options.ConfidenceOption = None,
    page: Annotated[
        Path | None, typer.Option("--html", help="Write a page with pictures to a new file.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Pay without being asked.")] = False,
    confirm: Annotated[
        bool, typer.Option("--confirm", help="An epsilon above 10 or much noise is meant.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only plan; spend nothing.")] = False,
    as_json: options.JsonOption = False,
) -> None:
    """Profile a table: show the plan, ask, and measure all columns for one price."""
    with errors_reported(as_json=as_json):
        inputs = options.command_inputs(data=options.data_of(data), policy=policy, ledger=ledger)
        named = None if columns is None else [name.strip() for name in columns.split(",")]
        wanted: dict[str, Any] = {
            "columns": named,
            "epsilon": epsilon,
            "rho": rho,
            "delta": delta,
            "size": size,
            "confidence": confidence,
        }
        if dry_run:
            with open_inputs(inputs.before_asking(), account, analyst) as session:
                plan = session.plan_profile(table, **wanted)
                write_result("profile_plan", plan.to_dict(), plan, as_json=as_json)
            return
        inputs.named_ledger()
        with ExitStack() as opened:
            target = None if page is None else opened.enter_context(new_file(page))
            session = opened.enter_context(open_inputs(inputs, account, analyst))
            plan = session.plan_profile(table, **wanted)
            if not yes and (plan.budget_preview is None or plan.budget_preview.entry is None):
                _ask(plan)
            console = Console(stderr=True)
            waiting = console.status(Waiting("profiling"))
            with waiting if console.is_terminal else nullcontext():
                found = session.profile(plan, confirm=confirm)
            if target is not None:
                target.write_text(found.html(), encoding="utf-8")
            write_result("profile", found.to_dict(), found, as_json=as_json)
            left = session.remaining
            if left is not None and not as_json:
                tell(f"{text_bar(left)} of the budget left.\n")


def _ask(plan: object) -> None:
    """Show what it costs, and end without a charge unless somebody says yes."""
    if not sys.stdin.isatty():
        raise WrongKind("nobody can be asked here: give --yes to pay, or --dry-run to plan.")
    tell(f"{plan}\n")
    if not typer.confirm("Pay for it?", err=True):
        raise typer.Abort
