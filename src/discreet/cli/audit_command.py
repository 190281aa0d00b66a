"""``discreet audit``: attacks on ourselves, or on any program.

Trust: public.

The suite exits with 6 if a promise is refuted, an attack succeeds or a broken twin escapes; the
audit of a program, if it loses more than it claims.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from rich.console import Console
from rich.progress import Progress

from discreet.attacks.claims import ApproximateClaim
from discreet.attacks.estimate import estimate_epsilon
from discreet.attacks.subjects import Command
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

    from discreet_audit import ProgressCallback, Report


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
    epsilon: Annotated[str | None, typer.Option(help="What the program claims to lose.")] = None,
    delta: Annotated[str, typer.Option(help="The delta that goes with it.")] = "0",
    runs: Annotated[int, typer.Option(help="How many answers about each file are judged.")] = 1000,
    lines: Annotated[int, typer.Option(help="How many answers a run prints, a line each.")] = 1,
    jobs: Annotated[
        int | None, typer.Option(help="How many processes attack; one for each core unless given.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="A folder for audit.json, audit.html and audit.md.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Attack our own releases, or measure what a program loses."""
    with errors_reported(as_json=as_json) as ending:
        _check_options(context, of_program=command is not None)
        if command is None:
            _suite(ending, long=long, jobs=jobs, out=out, as_json=as_json)
        else:
            program = Command(command, lines=lines)
            claim = ApproximateClaim(delta=delta, epsilon=epsilon)
            measured = estimate_epsilon(program, _pair(data), runs, claim=claim)
            ending.code = VIOLATION if measured.violates else DONE
            write_result("measured", measured.to_json(), measured, as_json=as_json)


_OF_PROGRAMS: Final = ("data", "epsilon", "delta", "runs", "lines")
_OF_THE_SUITE: Final = ("long", "jobs", "out")


def _check_options(context: typer.Context, *, of_program: bool) -> None:
    """Refuse options of the other audit: they would change nothing."""
    for name in _OF_THE_SUITE if of_program else _OF_PROGRAMS:
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            raise WrongKind(
                what=f"--{name} {'does not go' if of_program else 'goes'} with --command.",
                why="one audit is about a program and two files, the other about discreet itself.",
                do="leave it out."
                if of_program
                else "name the program with --command, or leave it out.",
            )


def _pair(data: list[str] | None) -> tuple[str, str]:
    if data is None or len(data) != 2:
        raise WrongKind(
            what="--data does not name two files.",
            why="what a program loses is measured between two neighboring tables.",
            do="give --data twice: a table with a person, and the same table without.",
        )
    missing = [path for path in data if not Path(path).exists()]
    if missing:
        raise WrongKind(
            what=f"there is no file {missing[0]}.",
            why="the program is run on both files.",
            do="check the path.",
        )
    return data[0], data[1]


def _suite(
    ending: Ending, *, long: bool, jobs: int | None, out: Path | None, as_json: bool
) -> None:
    """Run the suite, and write what came of it."""
    package = _audit_package()
    workers = (os.cpu_count() or 1) if jobs is None else jobs
    with _shown() as progress:
        report: Report = package.run_suite(long=long, jobs=workers, told=progress)
    ending.code = VIOLATION if report.violations else DONE
    if out is not None:
        _write(report, out, package)
    if as_json:
        write_json("audit", report.to_json())
    else:
        _say(report, out, package)


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


def _say(report: Report, out: Path | None, package: ModuleType) -> None:
    console = Console(file=sys.stdout)
    for table in package.tables(report):
        console.print(table)
    for name in report.violations:
        console.print(f"VIOLATED: {name}", style="bold red", markup=False)
    console.print(f"{report.summary}.", markup=False)
    if out is not None:
        console.print(f"wrote {out / 'audit.html'}, audit.json and audit.md", markup=False)


def _write(report: Report, folder: Path, package: ModuleType) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    form: dict[str, Any] = {"format": 1, "kind": "audit", **report.to_json()}
    text = json.dumps(form, ensure_ascii=False, allow_nan=False, indent=1)
    (folder / "audit.json").write_text(f"{text}\n", encoding="utf-8")
    (folder / "audit.html").write_text(package.page(report), encoding="utf-8")
    (folder / "audit.md").write_text(package.document(report), encoding="utf-8")
