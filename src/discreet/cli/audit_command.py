"""``discreet audit``: attacks on ourselves, or on any program.

Trust: public.

The suite exits with 6 if a promise is refuted, an attack succeeds or a broken twin escapes; the
audit of a program, if it loses more than it claims.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from rich.console import Console
from rich.progress import Progress

from discreet.cli.audit_program import AuditedProgram
from discreet.cli.exit_codes import (
    DONE,
    VIOLATION,
    Ending,
    errors_reported,
    tell,
    write_json,
    write_result,
)
from discreet.cli.options import JsonOption
from discreet.errors import WrongKind

if TYPE_CHECKING:  # the suite brings every mechanism and the engine, which take their time
    from types import ModuleType

    from discreet_audit import ProgressCallback, Report, UnfinishedAudit


def audit(  # noqa: PLR0913  the options of two audits
    context: typer.Context,
    *,
    long: Annotated[
        bool, typer.Option("--long/--quick", help="Millions of answers, or a minute's worth.")
    ] = False,
    command: Annotated[
        str | None, typer.Option(help="A program that prints an answer about the file {data}.")
    ] = None,
    data: Annotated[
        list[str] | None, typer.Option(help="A file of the program; given twice, for neighbors.")
    ] = None,
    policy: Annotated[
        Path | None,
        typer.Option(help="A policy, beyond whose limits neighbors are made up for the program."),
    ] = None,
    epsilon: Annotated[
        list[str] | None,
        typer.Option(help="What the program claims to lose; again for every delta of a curve."),
    ] = None,
    delta: Annotated[
        list[str] | None, typer.Option(help="The delta that goes with it; 0 unless given.")
    ] = None,
    rho: Annotated[str | None, typer.Option(help="A claim of zero-concentrated privacy.")] = None,
    mu: Annotated[str | None, typer.Option(help="A claim of Gaussian privacy.")] = None,
    curve: Annotated[
        bool, typer.Option("--curve", help="Show what is lost at many deltas, not at one.")
    ] = False,
    runs: Annotated[
        int,
        typer.Option(help="How many answers about each side are drawn at most; fewer if refuted."),
    ] = 2000,
    lines: Annotated[int, typer.Option(help="How many answers a run prints, a line each.")] = 1,
    timeout: Annotated[float, typer.Option(help="How many seconds a run may take.")] = 60.0,
    jobs: Annotated[
        int | None, typer.Option(help="How many processes attack; one for each core unless given.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="A folder for audit.json, audit.html and audit.md.")
    ] = None,
    key: Annotated[
        Path | None, typer.Option(help="A private Ed25519 key, as PEM, that signs audit.json.")
    ] = None,
    verify: Annotated[
        Path | None, typer.Option(help="Check the receipt of an audit.json instead of an audit.")
    ] = None,
    signed_by: Annotated[
        str | None, typer.Option(help="The public key that must have signed it, in hex.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Attack our own releases, or measure what a program loses."""
    with errors_reported(as_json=as_json) as ending:
        _check_options(context, of_program=command is not None)
        if verify is not None:
            receipt = _verified(verify, signed_by)
            write_result("receipt", {"receipt": receipt}, receipt, as_json=as_json)
        elif command is None:
            _suite(ending, long=long, jobs=jobs, out=out, key=key, as_json=as_json)
        else:
            program = AuditedProgram(
                command=command,
                data=data,
                policy=policy,
                epsilon=epsilon or (),
                delta=delta or (),
                rho=rho,
                mu=mu,
                runs=runs,
                lines=lines,
                timeout=timeout,
                curve=curve,
            )
            program.audit(ending, as_json=as_json)


_UNFINISHED: Final = "unfinished.jsonl"
"""Where rows are kept until the report is written: an audit that is killed is taken up there."""

_OF_PROGRAMS: Final = (
    *("data", "policy", "epsilon", "delta", "rho", "mu", "curve"),
    *("runs", "lines", "timeout"),
)
_OF_THE_SUITE: Final = ("long", "jobs", "out", "key", "verify", "signed-by")


def _check_options(context: typer.Context, *, of_program: bool) -> None:
    """Refuse options of the other audit: they would change nothing."""
    for name in _OF_THE_SUITE if of_program else _OF_PROGRAMS:
        source = context.get_parameter_source(name.replace("-", "_"))
        if source is not None and source.name == "COMMANDLINE":
            raise WrongKind(
                what=f"--{name} {'does not go' if of_program else 'goes'} with --command.",
                why="one audit is about a program and two files, the other about discreet itself.",
                do="leave it out."
                if of_program
                else "name the program with --command, or leave it out.",
            )


def _verified(path: Path, signed_by: str | None) -> str:
    """Return the receipt of a report that nobody has changed."""
    try:
        form = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        form = None
    receipt: str = _audit_package().check_receipt(form, signed_by=signed_by)
    return receipt


def _suite(  # noqa: PLR0913  the options of one audit
    ending: Ending,
    *,
    long: bool,
    jobs: int | None,
    out: Path | None,
    key: Path | None,
    as_json: bool,
) -> None:
    """Run the suite, and write what came of it."""
    package = _audit_package()
    if key is not None:
        package.check_key(key)
    workers = (os.cpu_count() or 1) if jobs is None else jobs
    with _stopped_by_sigterm(), _kept(out, package, long=long) as unfinished:
        with _shown() as progress:
            report: Report = package.run_suite(
                long=long, jobs=workers, told=progress, unfinished=unfinished
            )
        ending.code = VIOLATION if report.violations else DONE
        made = package.provenance(report)
        form: dict[str, Any] = package.form(report, made, key)
        if out is not None and unfinished is not None:
            text = json.dumps(form, ensure_ascii=False, allow_nan=False, indent=1)
            page, document = (
                write(report, made, form["receipt"]) for write in (package.page, package.document)
            )
            (out / "audit.json").write_text(f"{text}\n", encoding="utf-8")
            (out / "audit.html").write_text(page, encoding="utf-8")
            (out / "audit.md").write_text(document, encoding="utf-8")
            unfinished.remove()
    if as_json:
        write_json("audit", form)
    else:
        _say(report, form["receipt"], out, package)


@contextmanager
def _stopped_by_sigterm() -> Iterator[None]:
    """Have SIGTERM end it as Ctrl+C does: what it has started ends first."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def _kept(out: Path | None, package: ModuleType, *, long: bool) -> Iterator[UnfinishedAudit | None]:
    """Hold what an audit into a folder has found so far; say so if that is thrown away."""
    if out is None:
        yield None
        return
    unfinished: UnfinishedAudit
    with package.UnfinishedAudit(out / _UNFINISHED, long=long) as unfinished:
        if unfinished.begun_anew:
            tell("audit: begins anew; what was found so far is about another version of discreet\n")
        yield unfinished


def _audit_package() -> ModuleType:
    """Load the audit, which is a package of its own."""
    try:
        return importlib.import_module("discreet_audit")
    except ModuleNotFoundError as error:
        if error.name != "discreet_audit":
            raise
        raise WrongKind(
            what="discreet_audit is not installed.",
            why="the attacks of the suite are a package of their own, which no answer needs.",
            do="install discreet from its wheel or its repository, which hold both packages.",
        ) from None


@contextmanager
def _shown() -> Iterator[ProgressCallback]:
    """Show progress on stderr: a bar on a terminal, and elsewhere ten lines in all."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield _tenths
        return
    with Progress(console=console, transient=True) as bar:
        task = bar.add_task("audit")

        def update(name: str, done: int, of: int) -> None:
            bar.update(task, description=name, completed=done, total=of)

        yield update


def _tenths(name: str, done: int, of: int) -> None:
    """Write a line whenever another tenth is done."""
    if done and 10 * done // of > 10 * (done - 1) // of:
        tell(f"audit: {done} of {of} done, next is {name}\n")


def _say(report: Report, receipt: str, out: Path | None, package: ModuleType) -> None:
    console = Console(file=sys.stdout)
    for table in package.tables(report):
        console.print(table)
    for name in report.violations:
        console.print(f"VIOLATED: {name}", style="bold red", markup=False)
    console.print(package.headline(report), markup=False)
    if out is not None:
        console.print(f"wrote {out / 'audit.html'}, audit.json and audit.md", markup=False)
        console.print(f"receipt {receipt}", markup=False)
