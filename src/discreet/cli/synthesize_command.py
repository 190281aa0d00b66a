"""``discreet synthesize``: a table of people who do not exist, into a new file.

Trust: public.  The file is claimed before anything is charged, and nothing that exists is
overwritten: a slip must cost neither a ledger nor a price.  The table is written as a whole or not
at all, even if the run is killed.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import ExitStack, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from rich.console import Console

from discreet import synthetic
from discreet.cli import options
from discreet.cli.exit_codes import errors_reported, tell, write_result
from discreet.cli.opened import Waiting, open_inputs
from discreet.cli.saved_files import new_file, unwritable_error
from discreet.documents import PriceDocument, StandingDocument
from discreet.errors import WrongKind
from discreet.session.display import text_bar

if TYPE_CHECKING:  # handed in
    from discreet.accounting import Left
    from discreet.session import Session
    from discreet.synthetic.methods.method import Method
    from discreet.synthetic.release import SyntheticRelease
    from discreet.synthetic.report.error_report import ErrorReport
    from discreet.synthetic.synthesis_plan import SynthesisPlan
    from discreet.synthetic.workload import Workload

_METHODS: Final[dict[str, Callable[[], Method]]] = {
    "aim": synthetic.AIM,
    "mst": synthetic.MST,
    "mwem": synthetic.MWEM,
    "dualquery": synthetic.DualQuery,
    "product": synthetic.Independent,
}
_MARGINALS: Final = re.compile(r"marginals:([1-9])")
_CONDITION: Final = re.compile(r"\s*([^=!,;]+?)\s*(!?=)\s*(.+?)\s*")
_WORKLOADS: Final = (
    "marginals:2 for all pairs of columns; ranges:age,cost for all ranges of these; or "
    "'counts:ward=A,age=18..64;ward!=B' for single counts."
)
_ENDINGS: Final = (".parquet", ".csv")


def synthesize(  # noqa: PLR0913  the options of a synthetic table
    table: Annotated[str, typer.Argument(help="The table that it stands for.")],
    *,
    columns: Annotated[
        str | None, typer.Option("--columns", help="A,B,C: its columns; all, if none is named.")
    ] = None,
    workload: Annotated[str, typer.Option("--workload", help=_WORKLOADS)] = "marginals:2",
    method: Annotated[
        str, typer.Option("--method", help="aim, mst, mwem, dualquery or product.")
    ] = "aim",
    data: options.DataOption = None,
    policy: options.PolicyOption = None,
    ledger: options.LedgerOption = None,
    account: options.AccountOption = None,
    analyst: options.AnalystOption = None,
    epsilon: options.EpsilonOption = None,
    rho: options.RhoOption = None,
    delta: options.DeltaOption = None,
    bins: Annotated[int, typer.Option("--bins", help="Bins of each column of numbers.")] = 32,
    size: Annotated[
        int | None, typer.Option("--size", help="About how many rows there are, for forecasts.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="A new file: FILE.parquet or FILE.csv.")
    ] = None,
    rows: Annotated[
        int | None,
        typer.Option("--rows", min=0, help="How many rows; a noisy total, if not given."),
    ] = None,
    anyway: Annotated[
        bool, typer.Option("--anyway", help="Make it even if the forecast says it is of no use.")
    ] = False,
    confirm: Annotated[
        bool, typer.Option("--confirm", help="An epsilon above 10 is meant.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only plan; spend nothing.")] = False,
    as_json: options.JsonOption = False,
) -> None:
    """Make a table of people who do not exist: charge, read, measure, record, write."""
    with errors_reported(as_json=as_json):
        inputs = options.command_inputs(data=options.data_of(data), policy=policy, ledger=ledger)
        wanted: dict[str, Any] = {
            "columns": None if columns is None else _names(columns),
            "workload": _workload(workload),
            "method": _method(method),
            "epsilon": epsilon,
            "rho": rho,
            "delta": delta,
            "bins": bins,
            "size": size,
            "anyway": anyway,
        }
        if dry_run:
            with open_inputs(inputs.before_asking(), account, analyst) as session:
                plan = synthetic.plan_synthesis(session, table, **wanted)
                write_result("synthesis_plan", plan_json(plan), plan, as_json=as_json)
            return
        inputs.named_ledger()
        console = Console(stderr=True)
        waiting = console.status(Waiting("synthesizing")) if console.is_terminal else nullcontext()
        with ExitStack() as opened:
            target = _new_table(out)
            with new_file(target) as beside, waiting:
                session = opened.enter_context(open_inputs(inputs, account, analyst))
                plan = synthetic.plan_synthesis(session, table, **wanted)
                release = synthetic.synthesize(session, plan, confirm=confirm)
                made = release.table(rows)
                _write(made, beside)
            _say(release, session, target, made.num_rows, as_json=as_json)


def plan_json(plan: SynthesisPlan) -> dict[str, object]:
    """Return what a plan says.  Exact numbers are texts, such as 1/10."""
    preview = plan.budget_preview
    return {
        "digest": plan.digest,
        "table": plan.table,
        "columns": [{"name": column.name, "codes": column.size} for column in plan.domain.columns],
        "rounds": plan.rounds,
        "noise": plan.noise,
        "price": PriceDocument.of(plan.price).model_dump(),
        "standing": None if preview is None else StandingDocument.of(preview).model_dump(),
        "text": str(plan),
    }


def release_json(
    release: SyntheticRelease, report: ErrorReport, left: Left | None, *, out: Path, rows: int
) -> dict[str, object]:
    """Return the table's description: size, cost, error bounds and the remaining budget."""
    bounds = [
        {
            "columns": list(release.evidence.domain.names(bound.marginal)),
            "rows_off": bound.rows,
            "share_off": report.share(bound),
            "from": bound.source or None,
        }
        for bound in report.sorted
    ]
    return {
        "out": str(out),
        "rows": rows,
        "total": release.total,
        "method": release.evidence.method["name"],
        "price": PriceDocument.of(release.plan.price).model_dump(),
        "confidence": str(report.confidence),
        "errors": bounds,
        "replayed": release.replayed,
        "private": release.private,
        "receipt": None if release.receipt is None else str(release.receipt),
        "plan": release.plan.digest,
        "left": None if left is None else {"part": float(left.share), "text": str(left)},
    }


def _say(
    release: SyntheticRelease, session: Session, out: Path, rows: int, *, as_json: bool
) -> None:
    left, report = session.remaining, release.report()
    content = release_json(release, report, left, out=out, rows=rows)
    text = f"{release}\n\n{report}\n\n{rows:,} rows are in {out}."
    write_result("synthesis", content, text, as_json=as_json)
    if left is not None and not as_json:
        tell(f"{text_bar(left)} of the budget left.\n")


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _workload(text: str) -> Workload:
    """Read a workload, as the option's help describes it."""
    found, (kind, _, rest) = _MARGINALS.fullmatch(text), text.partition(":")
    if found is not None:
        return synthetic.marginals(int(found[1]))
    if kind == "ranges" and _names(rest):
        return synthetic.all_ranges(*_names(rest))
    if kind == "counts" and rest.strip():
        return synthetic.counts_of([_conditions(query, text) for query in rest.split(";")])
    raise _not_a_workload(text)


def _conditions(query: str, text: str) -> dict[str, object]:
    """Read NAME=VALUE, NAME!=VALUE and NAME=LOW..HIGH, with commas between them."""
    found: dict[str, object] = {}
    for part in query.split(","):
        said = _CONDITION.fullmatch(part)
        if said is None or said[1] in found:
            raise _not_a_workload(text)
        name, sign, value = said.groups()
        low, dots, high = value.partition("..")
        if sign == "!=":
            found[name] = synthetic.other_than(value)
        else:
            found[name] = synthetic.between(low, high) if dots else value
    return found


def _not_a_workload(text: str) -> WrongKind:
    return WrongKind(
        what=f"the workload '{text}' is not understood.",
        why="it says which counts the table has to get right.",
        do=f"give {_WORKLOADS}",
    )


def _method(text: str) -> Method:
    made = _METHODS.get(text.casefold())
    if made is None:
        raise WrongKind(
            what=f"there is no method '{text}'.",
            why="a method says what is measured, and how rows follow from it.",
            do=f"give one of: {', '.join(_METHODS)}.",
        )
    return made()


def _new_table(path: Path | None) -> Path:
    """Return the destination of the table; its name gives the format."""
    if path is None or path.suffix.casefold() not in _ENDINGS:
        raise unwritable_error("--out does not name a file that ends in .parquet or .csv.")
    return path


def _write(table: Any, path: Path) -> None:
    if path.suffix.casefold() == ".csv":
        from pyarrow import csv  # noqa: PLC0415  takes its time

        csv.write_csv(table, path)
        return
    from pyarrow import parquet  # noqa: PLC0415  takes its time

    parquet.write_table(table, path)
