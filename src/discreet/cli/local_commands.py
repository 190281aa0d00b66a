"""``discreet local``: forms, reports of single people, and estimates from many reports.

Trust: kernel.  ``report`` runs on a person's device: the value is neither stored nor shown again.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Literal, cast

import typer

from discreet import local
from discreet.cli.exit_codes import errors_reported, tell, write_json, write_result
from discreet.cli.local_inputs import add_input, domain_of, read_file, read_form, values_of
from discreet.cli.options import EXAMPLES, JsonOption
from discreet.cli.saved_files import refuse_overwriting, refuse_repeats, save_file
from discreet.errors import OutOfRange, WrongKind

if TYPE_CHECKING:  # which the door loads when a command first needs them
    from discreet.local import Collector, MeanEstimate, ShareTable
    from discreet.local.consistency import Consistent

app = typer.Typer(
    help="Collect without holding: answers that are private before they leave a device.",
    epilog=EXAMPLES["local"],
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

_AGAIN: Final = "reports that did arrive stay known: reporting again costs the epsilon again"
_MIXED: Final = (
    "Saved collectors and reports are counted together; a report that a collector holds already "
    "counts twice.\n"
)

FormArgument = Annotated[Path, typer.Argument(help="The form, a file of JSON.")]


@app.command(epilog=EXAMPLES["local form"])
def form(  # noqa: PLR0913  the options of a form
    *,
    epsilon: Annotated[str, typer.Option(help="What one report may lose.")],
    categories: Annotated[
        list[str] | None, typer.Option(help="A,B,C: all values, in order; may be repeated.")
    ] = None,
    categories_from: Annotated[
        Path | None, typer.Option(help="A file with one value in each line.")
    ] = None,
    other: Annotated[
        str | None, typer.Option(help="What values outside the list are counted as.")
    ] = None,
    bins: Annotated[
        str | None, typer.Option(help="LOW:HIGH:COUNT: bins of a number, in place of categories.")
    ] = None,
    number: Annotated[
        str | None, typer.Option(help="LOW:HIGH: a number, whose mean is asked for.")
    ] = None,
    wire: Annotated[
        int | None, typer.Option(help="How many bytes a report may have, its header aside.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Write the form that devices and analyst share; what it says and why goes to stderr."""
    with errors_reported(as_json=as_json):
        domain = domain_of(categories, categories_from, other, bins, number)
        limits = {} if wire is None else {"wire": wire}
        made = local.Form.of(domain, epsilon=epsilon, **limits)
        if as_json:
            write_json("form", {"digest": made.digest, "form": made.document(), "text": str(made)})
        else:
            sys.stdout.write(made.serialize())
            tell(f"{made}\n")


@app.command(epilog=EXAMPLES["local plan"])
def plan(
    form: FormArgument,
    *,
    people: Annotated[int, typer.Option(help="How many people will report.")],
    confidence: Annotated[str, typer.Option(help="0.95, say.")] = "0.95",
    delta: Annotated[
        str, typer.Option(help="At which delta shuffled reports are priced.")
    ] = "1e-6",
    as_json: JsonOption = False,
) -> None:
    """Say how exact the answers will be, how much travels, and what it costs."""
    with errors_reported(as_json=as_json):
        planned = local.plan(read_form(form), people=people, confidence=confidence, delta=delta)
        write_result("local plan", planned.to_json(), planned, as_json=as_json)


@app.command(epilog=EXAMPLES["local report"])
def report(
    form: FormArgument,
    value: Annotated[
        str, typer.Argument(help="The true value, or - to read one from each line of stdin.")
    ],
    *,
    as_json: JsonOption = False,
) -> None:
    """Write one private report, as bytes.

    Other users of the machine can see the arguments of a command: - keeps the value from them.
    Each report of a person costs the epsilon of the form again.
    No report is written before every value was read and found in the domain.
    """
    with errors_reported(as_json=as_json, again=_AGAIN):
        asked = read_form(form)
        client = asked.client()
        for reports in [client.report_each(values) for values in values_of(value, asked)]:
            if as_json:
                size = asked.layout.report_bytes
                for start in range(0, len(reports), size):
                    text = reports[start : start + size].hex()
                    write_json("report", {"form": asked.digest, "report": text})
            else:
                sys.stdout.buffer.write(reports)


@app.command(epilog=EXAMPLES["local collect"])
def collect(  # noqa: PLR0913  the options of a table
    form: FormArgument,
    files: Annotated[
        list[Path],
        typer.Argument(help="Files of reports, batches or saved collectors; - is stdin."),
    ],
    *,
    confidence: Annotated[str, typer.Option(help="0.95, say.")] = "0.95",
    consistent: Annotated[
        str, typer.Option(help="raw, or post-processed: simplex, likelihood or posterior.")
    ] = "raw",
    hostile: Annotated[int, typer.Option(help="How many reports may be an attacker's.")] = 0,
    target: Annotated[
        str, typer.Option(help="population, or reported: those who sent reports.")
    ] = "population",
    bars: Annotated[
        str, typer.Option(help="Intervals for each value, or for all at once.")
    ] = "each",
    save: Annotated[
        Path | None, typer.Option(help="Also save the collector, to merge it later.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Estimate shares, or a mean, from reports, and count what was refused."""
    with errors_reported(as_json=as_json):
        refuse_repeats(files)
        if save is not None:
            refuse_overwriting(save, [form, *files])
        collector = read_form(form).collector()
        kinds = {add_input(collector, read_file(file)) for file in files}
        if len(kinds) > 1:
            tell(_MIXED)
        if collector.reports == 0:
            raise OutOfRange(
                what=f"there is nothing to estimate from: {collector}.",
                why="an estimate needs at least one report of this form.",
                do="name files with reports that were made with this form.",
            )
        if save is not None:
            save_file(save, collector.serialize())
        if not hasattr(collector.form.domain, "categories"):
            if (consistent, bars) != ("raw", "each"):
                raise WrongKind(
                    what="--consistent and --bars are about shares, and the form asks for a mean.",
                    why="an option without effect would be believed.",
                    do="leave them out.",
                )
            mean = collector.mean(confidence=confidence, target=_target(target), hostile=hostile)
            content = {**_collected_json(collector), **_mean_json(mean)}
            write_result("mean", content, f"{mean}\n{collector}", as_json=as_json)
            return
        table = collector.estimates().table(
            confidence=confidence,
            consistent=cast("Consistent", consistent),
            hostile=hostile,
            target=_target(target),
            bars=cast("Literal['each', 'all']", bars),
        )
        content = {**_collected_json(collector), **_table_json(table)}
        write_result("shares", content, f"{table}\n{collector}", as_json=as_json)


def _target(name: str) -> Literal["population", "reported"]:
    return cast("Literal['population', 'reported']", name)  # its reader refuses others


def _collected_json(collector: Collector) -> dict[str, object]:
    return {
        "form": collector.form.digest,
        "reports": collector.reports,
        "refused": collector.refused.to_json(),
    }


def _mean_json(mean: MeanEstimate) -> dict[str, object]:
    return {
        "confidence": str(mean.confidence),
        "target": mean.target,
        "hostile": mean.hostile,
        "mean": mean.mean,
        "low": mean.low,
        "high": mean.high,
        "text": str(mean),
    }


def _table_json(table: ShareTable) -> dict[str, object]:
    return {
        "confidence": str(table.confidence),
        "consistent": table.consistent,
        "target": table.target,
        "bars": table.bars,
        "hostile": table.hostile,
        "rows": [row._asdict() for row in table],
        "text": str(table),
    }
