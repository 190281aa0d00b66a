"""``discreet plan`` and ``discreet ask``, in words and as JSON.

Trust: public.  Scripts read the JSON: fields are added, and never change their meaning.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping
from contextlib import ExitStack, nullcontext
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer
from rich.console import Console

from discreet import service
from discreet.accounting import Left
from discreet.cli import options
from discreet.cli.exit_codes import errors_reported, tell, write_document, write_result
from discreet.cli.opened import Waiting, open_inputs
from discreet.errors import DiscreetError, WrongKind
from discreet.exact import decimal
from discreet.ledger.store import is_server
from discreet.plan import estimate, estimate_limits, limits, share_cut
from discreet.query.expressions import Grouped
from discreet.session import Session
from discreet.session.display import text_bar
from discreet.session.inquiry import question_of

if TYPE_CHECKING:  # all are handed in
    from discreet.documents import PlanDocument, ReleaseDocument
    from discreet.plan.plan import Plan
    from discreet.plan.statistics.limit_choice import LimitsPrice, QuestionLimits
    from discreet.release.release import Release
    from discreet.service import ServerConnection

__all__ = ["ask", "plan"]


class SqlForm(NamedTuple):
    """The text of a question, its dialect, and the values of its parameters."""

    text: str
    dialect: str | None = None
    params: Mapping[str, Any] | None = None


def plan(  # noqa: PLR0913  the options of a question
    questions: options.QuestionsArgument,
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
    share: options.ShareOption = None,
    size: options.SizeOption = None,
    confidence: options.ConfidenceOption = None,
    bounds_epsilon: options.BoundsOption = None,
    max_rows: options.RowsOption = None,
    max_groups: options.GroupsOption = None,
    limits_epsilon: options.LimitsOption = None,
    dialect: options.DialectOption = None,
    param: options.ParamOption = None,
    intervals: options.IntervalsOption = None,
    other: options.OtherOption = False,
    sql: options.SqlOption = False,
    verbose: options.VerboseOption = False,
    as_json: options.JsonOption = False,
) -> None:
    """Say what an answer would cost and how exact it would be; spend nothing but on limits."""
    with errors_reported(as_json=as_json, verbose=verbose):
        project = options.command_inputs(data=options.data_of(data), policy=policy, ledger=ledger)
        form = SqlForm(_text(questions[0]), dialect, options.params_of(param))
        price = _price(epsilon, rho, delta, error, share, size, confidence, bounds_epsilon, form)
        price["limits"] = _limits(max_rows, max_groups, limits_epsilon)
        price |= {"dialect": form.dialect, "params": form.params, "intervals": intervals}
        price["other"] = other or None
        if limits_epsilon is None:
            project = project.before_asking()
        else:
            project.named_ledger()
        with open_inputs(project, account, analyst) as session:
            if len(questions) > 1:
                batch = session.plan([form.text, *questions[1:]], **price)
                plans = [plan_document(each).written() for each in batch.plans]
                found: dict[str, object] = {batch.currency: float(batch.total), "plans": plans}
                found |= {"balanced": batch.balanced, "fits": batch.fits}
                write_result("batch", found, batch, as_json=as_json)
                return
            if sql:
                statements = session.plan(form.text, **price).sql()
                write_result("sql", {"sql": statements}, statements, as_json=as_json)
                return
            _show_plan(session, form.text, price, as_json=as_json, verbose=verbose)


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
    share: options.ShareOption = None,
    size: options.SizeOption = None,
    confidence: options.ConfidenceOption = None,
    bounds_epsilon: options.BoundsOption = None,
    max_rows: options.RowsOption = None,
    max_groups: options.GroupsOption = None,
    limits_epsilon: options.LimitsOption = None,
    dialect: options.DialectOption = None,
    param: options.ParamOption = None,
    intervals: options.IntervalsOption = None,
    other: options.OtherOption = False,
    share_cut_epsilon: Annotated[
        str | None,
        typer.Option(help="Buy the share of rows that limits cut for this price, in addition."),
    ] = None,
    confirm: Annotated[
        bool,
        typer.Option(
            "--confirm",
            help="Ask though nothing readable is expected; and an epsilon above 10 is meant.",
        ),
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only plan; spend nothing.")] = False,
    server: options.ServerOption = None,
    dataset: options.DatasetOption = None,
    token: options.TokenOption = None,
    verbose: options.VerboseOption = False,
    as_json: options.JsonOption = False,
) -> None:
    """Answer a question: charge, read, add noise, record."""
    with errors_reported(as_json=as_json, verbose=verbose):
        if server is not None:
            _refuse_local(data, policy, ledger, account, analyst)
            form = SqlForm(_text(question), dialect, options.params_of(param))
            price = _price(
                epsilon, rho, delta, error, share, size, confidence, bounds_epsilon, form
            )
            price["limits"] = _limits(max_rows, max_groups, limits_epsilon)
            price |= {"dialect": form.dialect, "params": form.params, "intervals": intervals}
            price["other"] = other or None
            with service.connect(server, token=token, dataset=dataset) as connection:
                if dry_run:
                    _refuse_buying(limits_epsilon)
                    _show_plan(connection, form.text, price, as_json=as_json, verbose=verbose)
                    return
                if share_cut_epsilon is not None:
                    price["share_cut"] = share_cut(epsilon=share_cut_epsilon)
                answer = connection.ask(form.text, confirm=confirm, **price)
                write_document(answer if as_json else None, answer.details if verbose else answer)
                if not (as_json or answer.left is None):
                    tell(f"{answer.left}\n")
            return
        project = options.command_inputs(data=options.data_of(data), policy=policy, ledger=ledger)
        form = SqlForm(_text(question), dialect, options.params_of(param))
        price = _price(epsilon, rho, delta, error, share, size, confidence, bounds_epsilon, form)
        price["limits"] = _limits(max_rows, max_groups, limits_epsilon)
        price |= {"dialect": form.dialect, "params": form.params, "intervals": intervals}
        price["other"] = other or None
        if dry_run:
            _refuse_buying(limits_epsilon)
            with open_inputs(project.before_asking(), account, analyst) as session:
                _show_plan(session, form.text, price, as_json=as_json, verbose=verbose)
            return
        project.named_ledger()
        cut = None if share_cut_epsilon is None else share_cut(epsilon=share_cut_epsilon)
        console = Console(stderr=True)
        with ExitStack() as opened:
            with console.status(Waiting()) if console.is_terminal else nullcontext():
                session = opened.enter_context(open_inputs(project, account, analyst))
                release = session.ask(form.text, confirm=confirm, **price, share_cut=cut)
            pointer = _pointer(release, policy, ledger)
            _show_answer(release, session.remaining, pointer, as_json=as_json, verbose=verbose)


def _pointer(release: Release, policy: str | None, ledger: str | None) -> str:
    """Return the command that explains the answer, as far as it holds no address of a server."""
    if release.receipt is None or (ledger is not None and is_server(ledger)):
        return ""
    named = (("--policy", policy), ("--ledger", ledger))
    options = [part for each in named if each[1] is not None for part in each]
    return shlex.join(["discreet", "explain", str(release.receipt.seq), *map(str, options)])


def _show_answer(
    release: Release, left: Left | None, pointer: str, *, as_json: bool, verbose: bool
) -> None:
    text = release.details if verbose else release
    write_document(release_document(release, left) if as_json else None, text)
    if left is None or as_json:
        return
    if verbose:
        tell(f"{text_bar(left)} of the budget is left: {left.details}\n")
        return
    tell(f"{left}.   Details: --verbose{pointer and f', or {pointer}'}\n")


def _refuse_local(*given: object) -> None:
    if any(each is not None for each in given):
        raise WrongKind(
            what="a server is named, and data, policy, ledger, account or analyst beside it.",
            why="the server has its own, and knows by the token who asks.",
            do="leave them out, or leave out --server.",
        )


def _show_plan(
    session: Session | ServerConnection,
    text: str,
    price: Mapping[str, Any],
    *,
    as_json: bool,
    verbose: bool,
) -> None:
    plan = session.plan(text, **price)
    write_document(plan_document(plan) if as_json else None, plan.details if verbose else plan)


def plan_document(plan: Plan | PlanDocument) -> PlanDocument:
    """Return what programs read of a plan; a server has written it already."""
    from discreet.documents import PlanDocument  # noqa: PLC0415  for --json alone

    return plan if isinstance(plan, PlanDocument) else PlanDocument.of(plan)


def release_document(release: Release, left: Left | None) -> ReleaseDocument:
    """Return what programs read of an answer."""
    from discreet.documents import ReleaseDocument  # noqa: PLC0415  for --json alone

    return ReleaseDocument.of(release, left)


def _text(question: str) -> str:
    return sys.stdin.read() if question == "-" else question


def _price(  # noqa: PLR0913, PLR0917  the options of a price
    epsilon: str | None,
    rho: str | None,
    delta: str | None,
    error: list[str] | None,
    share: str | None,
    size: int | None,
    confidence: str | None,
    bounds_epsilon: str | None,
    form: SqlForm,
) -> dict[str, Any]:
    errors = errors_by_name(error, form)
    return {
        "epsilon": epsilon,
        "rho": rho,
        "delta": delta,
        "error": errors or None,
        "share": share,
        "size": size,
        "confidence": confidence,
        "bounds": None if bounds_epsilon is None else estimate(epsilon=bounds_epsilon),
    }


def errors_by_name(given: list[str] | None, form: SqlForm) -> dict[str, str]:
    """Return how far outputs may be off, by their names; a number alone is for the only one.

    >>> text = "SELECT ward, COUNT(*) AS visits FROM visits GROUP BY ward"
    >>> errors_by_name(["5"], SqlForm(text))
    {'visits': '5'}
    """
    alone = [value for value in given or () if "=" not in value and _is_number(value)]
    if not alone:
        return options.name_value_pairs(given, option="--error", of="number")
    outputs = question_of(form.text, form.dialect, form.params).outputs
    names = [name for name, value in outputs if not isinstance(value, Grouped)]
    if len(names) == len(given or ()) == 1:
        return {names[0]: alone[0]}
    listed = " ".join(f"--error {shlex.quote(name)}={alone[0]}" for name in names)
    raise WrongKind(
        what=f"--error {alone[0]} does not say which output it is about.",
        why="each column of an answer has an error of its own, by its name.",
        do=f"write {listed or f'--error visits={alone[0]}'}; of these, those that matter.",
    )


def _is_number(text: str) -> bool:
    try:
        decimal(text, name="--error")
    except DiscreetError:
        return False
    return True


def _limits(
    rows: int | None, groups: int | None, epsilon: str | None
) -> QuestionLimits | LimitsPrice | None:
    if epsilon is None:
        given = rows is not None or groups is not None
        return limits(max_rows=rows, max_groups=groups) if given else None
    if rows is not None or groups is not None:
        raise WrongKind(
            what="limits are given, and others are to be bought.",
            why="one of the two would not be used.",
            do="give --max-rows and --max-groups, or --limits-epsilon.",
        )
    return estimate_limits(epsilon=epsilon)


def _refuse_buying(epsilon: str | None) -> None:
    if epsilon is not None:
        raise WrongKind(
            what="limits are to be bought in a dry run.",
            why="a dry run spends nothing.",
            do="leave out --dry-run, or buy them with `discreet plan --limits-epsilon`.",
        )
