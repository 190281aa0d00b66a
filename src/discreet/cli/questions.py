"""``discreet plan`` and ``discreet ask``.

Trust: public.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Annotated, Any

import typer
from rich.console import Console

from discreet.cli.json_forms import plan_form, release_form
from discreet.cli.options import (
    AccountOption,
    AnalystOption,
    BoundsOption,
    ConfidenceOption,
    DataOption,
    DeltaOption,
    EpsilonOption,
    ErrorOption,
    JsonOption,
    LedgerOption,
    PolicyOption,
    QuestionArgument,
    RhoOption,
    SizeOption,
    data_of,
    pairs,
)
from discreet.cli.project import Project, project_of
from discreet.cli.reporting import reported, write_json
from discreet.plan import estimate
from discreet.session import Session
from discreet.session import open as open_session
from discreet.session.bar import text_bar

__all__ = ["ask", "plan"]


def plan(  # noqa: PLR0913  the options of a question
    question: QuestionArgument,
    *,
    data: DataOption = None,
    policy: PolicyOption = None,
    ledger: LedgerOption = None,
    account: AccountOption = None,
    analyst: AnalystOption = None,
    epsilon: EpsilonOption = None,
    rho: RhoOption = None,
    delta: DeltaOption = None,
    error: ErrorOption = None,
    size: SizeOption = None,
    confidence: ConfidenceOption = None,
    bounds_epsilon: BoundsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Say what an answer would cost and how exact it would be; spend nothing."""
    with reported(as_json=as_json):
        project = project_of(data=data_of(data), policy=policy, ledger=ledger).before_asking()
        price = _price(epsilon, rho, delta, error, size, confidence, bounds_epsilon)
        with _session(project, account, analyst) as session:
            _show_plan(session, _text(question), price, as_json=as_json)


def ask(  # noqa: PLR0913  the options of a question
    question: QuestionArgument,
    *,
    data: DataOption = None,
    policy: PolicyOption = None,
    ledger: LedgerOption = None,
    account: AccountOption = None,
    analyst: AnalystOption = None,
    epsilon: EpsilonOption = None,
    rho: RhoOption = None,
    delta: DeltaOption = None,
    error: ErrorOption = None,
    size: SizeOption = None,
    confidence: ConfidenceOption = None,
    bounds_epsilon: BoundsOption = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only plan; spend nothing.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Answer a question: charge, read, add noise, record."""
    with reported(as_json=as_json):
        project = project_of(data=data_of(data), policy=policy, ledger=ledger)
        price = _price(epsilon, rho, delta, error, size, confidence, bounds_epsilon)
        if dry_run:
            project = project.before_asking()
        else:
            project.named_ledger()
        with _session(project, account, analyst) as session:
            if dry_run:
                _show_plan(session, _text(question), price, as_json=as_json)
                return
            with Console(stderr=True).status("answering ..."):
                release = session.ask(_text(question), **price)
            left = session.remaining
            if as_json:
                write_json("release", release_form(release, left))
                return
            sys.stdout.write(f"{release}\n")
            if left is not None:
                sys.stderr.write(f"{text_bar(left)} of the budget is left: {left}\n")


def _show_plan(session: Session, text: str, price: Mapping[str, Any], *, as_json: bool) -> None:
    found = session.plan(text, **price)
    if as_json:
        write_json("plan", plan_form(found))
    else:
        sys.stdout.write(f"{found}\n")


def _text(question: str) -> str:
    return sys.stdin.read() if question == "-" else question


def _price(  # noqa: PLR0913, PLR0917  the options of a price
    epsilon: str | None,
    rho: str | None,
    delta: str | None,
    error: list[str] | None,
    size: int | None,
    confidence: str | None,
    bounds_epsilon: str | None,
) -> dict[str, Any]:
    errors = pairs(error, option="--error", of="number")
    return {
        "epsilon": epsilon,
        "rho": rho,
        "delta": delta,
        "error": errors or None,
        "size": size,
        "confidence": confidence,
        "bounds": None if bounds_epsilon is None else estimate(epsilon=bounds_epsilon),
    }


def _session(project: Project, account: str | None, analyst: str | None) -> Session:
    return open_session(
        project.named_data(),
        policy=project.policy,
        ledger=project.ledger,
        account=None if project.ledger is None else account,
        analyst=analyst,
    )
