"""``discreet plan`` and ``discreet ask``, in words and as JSON.

Trust: public.  Scripts read the JSON: fields are added, and never change their meaning.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextlib import nullcontext
from datetime import date
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from discreet.accounting import Left
from discreet.cli import options
from discreet.cli.exit_codes import errors_reported, tell, write_result
from discreet.plan import estimate
from discreet.session import Session
from discreet.session import open as open_session
from discreet.session.display import part_left, text_bar
from discreet.units.unit import describe_unit

if TYPE_CHECKING:  # all are handed in
    from discreet.plan.plan import BudgetPreview, Plan
    from discreet.plan.pricing.calibration import Price
    from discreet.release.release import Release

__all__ = ["ask", "plan", "plan_json", "release_json"]


def plan_json(plan: Plan) -> dict[str, object]:
    """Return what a plan says.  Exact numbers are texts, such as 1/10."""
    return {
        "digest": plan.digest,
        "unit": describe_unit(plan.unit),
        "scope": str(plan.scope),
        "promises": [
            {
                "kind": item.kind,
                "table": item.table or None,
                "column": item.column or None,
                "words": str(item),
            }
            for item in plan.promises
        ],
        "warnings": list(plan.warnings),
        "price": _price_json(plan.price),
        "confidence": str(plan.confidence),
        "errors": [
            {
                "output": item.output,
                "half_width": None if item.half_width is None else float(item.half_width),
                "words": item.words,
            }
            for item in plan.predicted
        ],
        "bounds": None if plan.search is None else _price_json(plan.search.price),
        "standing": _standing(plan.budget_preview),
        "text": str(plan),
    }


def release_json(release: Release, left: Left | None) -> dict[str, object]:
    """Return an answer, what it cost and what is left."""
    return {
        "columns": [
            {"name": column.name, "type": column.type.value.lower()} for column in release.columns
        ],
        "rows": [{name: _value(item) for name, item in row.items()} for row in release.rows()],
        "price": _price_json(release.plan.price),
        "bounds": [
            {"of": item.about, "low": str(item.low), "high": str(item.high), "seen": item.seen}
            for item in release.plan.found
        ],
        "confidence": str(release.confidence),
        "replayed": release.replayed,
        "private": release.private,
        "receipt": None if release.receipt is None else str(release.receipt),
        "plan": release.plan.digest,
        "left": None if left is None else {"part": float(part_left(left)), "text": str(left)},
    }


def _standing(preview: BudgetPreview | None) -> dict[str, object] | None:
    """Return what the ledger says of a plan: its entry if it was answered, and what it leaves."""
    if preview is None:
        return None
    return {
        "answered": preview.entry,
        "fits": preview.fits,
        "left": preview.left or None,
        "notes": list(preview.notes),
    }


def _price_json(price: Price) -> dict[str, str | None]:
    parts = {"epsilon": price.epsilon, "delta": price.delta, "rho": price.rho}
    return {name: None if value is None else str(value) for name, value in parts.items()}


def _value(value: Any) -> Any:
    if isinstance(value, list):
        return [_value(item) for item in value]
    return value.isoformat() if isinstance(value, date) else value


def plan(  # noqa: PLR0913  the options of a question
    question: options.QuestionArgument,
    *,
    data: options.DataOption = None,
    policy: options.PolicyOption = None,
    ledger: options.LedgerOption = None,
    account: options.AccountOption = None,
    analyst: options.AnalystOption = None,
    epsilon: options.EpsilonOption = None,
    rho: options.RhoOption = None,
    delta: options.DeltaOption = None,
    error: options.ErrorOption = None,
    size: options.SizeOption = None,
    confidence: options.ConfidenceOption = None,
    bounds_epsilon: options.BoundsOption = None,
    as_json: options.JsonOption = False,
) -> None:
    """Say what an answer would cost and how exact it would be; spend nothing."""
    with errors_reported(as_json=as_json):
        project = options.command_inputs(
            data=options.data_of(data), policy=policy, ledger=ledger
        ).before_asking()
        price = _price(epsilon, rho, delta, error, size, confidence, bounds_epsilon)
        with _session(project, account, analyst) as session:
            _show_plan(session, _text(question), price, as_json=as_json)


def ask(  # noqa: PLR0913  the options of a question
    question: options.QuestionArgument,
    *,
    data: options.DataOption = None,
    policy: options.PolicyOption = None,
    ledger: options.LedgerOption = None,
    account: options.AccountOption = None,
    analyst: options.AnalystOption = None,
    epsilon: options.EpsilonOption = None,
    rho: options.RhoOption = None,
    delta: options.DeltaOption = None,
    error: options.ErrorOption = None,
    size: options.SizeOption = None,
    confidence: options.ConfidenceOption = None,
    bounds_epsilon: options.BoundsOption = None,
    confirm: Annotated[
        bool, typer.Option("--confirm", help="An epsilon above 10 is meant.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only plan; spend nothing.")] = False,
    as_json: options.JsonOption = False,
) -> None:
    """Answer a question: charge, read, add noise, record."""
    with errors_reported(as_json=as_json):
        project = options.command_inputs(data=options.data_of(data), policy=policy, ledger=ledger)
        price = _price(epsilon, rho, delta, error, size, confidence, bounds_epsilon)
        if dry_run:
            project = project.before_asking()
        else:
            project.named_ledger()
        with _session(project, account, analyst) as session:
            if dry_run:
                _show_plan(session, _text(question), price, as_json=as_json)
                return
            console = Console(stderr=True)
            with console.status("answering ...") if console.is_terminal else nullcontext():
                release = session.ask(_text(question), confirm=confirm, **price)
            left = session.remaining
            write_result("release", release_json(release, left), release, as_json=as_json)
            if left is not None and not as_json:
                tell(f"{text_bar(left)} of the budget is left: {left}\n")


def _show_plan(session: Session, text: str, price: Mapping[str, Any], *, as_json: bool) -> None:
    plan = session.plan(text, **price)
    write_result("plan", plan_json(plan), plan, as_json=as_json)


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
    errors = options.name_value_pairs(error, option="--error", of="number")
    return {
        "epsilon": epsilon,
        "rho": rho,
        "delta": delta,
        "error": errors or None,
        "size": size,
        "confidence": confidence,
        "bounds": None if bounds_epsilon is None else estimate(epsilon=bounds_epsilon),
    }


def _session(project: options.CommandInputs, account: str | None, analyst: str | None) -> Session:
    return open_session(
        project.named_data(),
        policy=project.policy,
        ledger=project.ledger,
        account=None if project.ledger is None else account,
        analyst=analyst,
    )
