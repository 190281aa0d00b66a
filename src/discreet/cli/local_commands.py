"""``discreet local``: forms, reports of single people, and estimates from many reports.

Trust: kernel.  ``report`` runs on a person's device: the value is neither stored nor shown again.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Literal, cast

import typer

from discreet import local
from discreet.cli.exit_codes import errors_reported, tell, write_json, write_result
from discreet.cli.options import EXAMPLES, JsonOption
from discreet.errors import OutOfRange, WrongKind

if TYPE_CHECKING:  # which the door loads when a command first needs them
    from discreet.local import Collector, Domain, Form, ShareTable

app = typer.Typer(
    help="Collect without holding: answers that are private before they leave a device.",
    epilog=EXAMPLES["local"],
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

FormArgument = Annotated[Path, typer.Argument(help="The form, a file of JSON.")]
_LINES: Final = 4096


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
    wire: Annotated[
        int | None, typer.Option(help="How many bytes a report may have, its header aside.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Write the form that devices and analyst share; what it says and why goes to stderr."""
    with errors_reported(as_json=as_json):
        domain = _domain(categories, categories_from, other, bins)
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
        planned = local.plan(_form(form), people=people, confidence=confidence, delta=delta)
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
    """
    with errors_reported(as_json=as_json):
        asked = _form(form)
        client = asked.client()
        for values in _values(value, asked.domain):
            reports = client.report_each(values)
            if as_json:
                size = asked.layout.report_bytes
                for start in range(0, len(reports), size):
                    text = reports[start : start + size].hex()
                    write_json("report", {"form": asked.digest, "report": text})
            else:
                sys.stdout.buffer.write(reports)
                sys.stdout.buffer.flush()


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
        str, typer.Option(help="raw, or post-processed: simplex or likelihood.")
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
    """Estimate the share of every value from reports, and count what was refused."""
    with errors_reported(as_json=as_json):
        collector = _form(form).collector()
        for file in files:
            _add(collector, _read(file))
        if save is not None:
            _write(save, collector.serialize())
        if collector.reports == 0:
            raise OutOfRange(
                what=f"there is nothing to estimate from: {collector}.",
                why="an estimate needs at least one report of this form.",
                do="name files with reports that were made with this form.",
            )
        table = collector.estimates().table(
            confidence=confidence,
            consistent=cast("Literal['raw', 'simplex', 'likelihood']", consistent),
            hostile=hostile,
            target=cast("Literal['population', 'reported']", target),
            bars=cast("Literal['each', 'all']", bars),
        )
        content = _table_json(collector, table)
        write_result("shares", content, f"{table}\n{collector}", as_json=as_json)


def _table_json(collector: Collector, table: ShareTable) -> dict[str, object]:
    refused = collector.refused
    return {
        "form": collector.form.digest,
        "reports": collector.reports,
        "refused": refused.to_json(),
        "confidence": str(table.confidence),
        "consistent": table.consistent,
        "target": table.target,
        "bars": table.bars,
        "hostile": table.hostile,
        "rows": [row._asdict() for row in table],
        "text": str(table),
    }


def _domain(
    categories: list[str] | None, file: Path | None, other: str | None, bins: str | None
) -> Domain:
    if (categories is not None) + (file is not None) + (bins is not None) != 1:
        raise WrongKind(
            what="not exactly one of --categories, --categories-from and --bins is given.",
            why="they all say which values there are.",
            do="give one of them, such as --categories flu,cold,none.",
        )
    if bins is not None:
        return _bins(bins, other)
    if file is not None:
        names = _text(_read(file)).splitlines()
    else:
        names = [name.strip() for part in categories or () for name in part.split(",")]
    return local.Domain(names, other=other)


def _bins(bins: str, other: str | None) -> Domain:
    parts = bins.split(":")
    if len(parts) != 3 or not parts[2].isascii() or not parts[2].isdigit() or other is not None:
        raise WrongKind(
            what="--bins is not LOW:HIGH:COUNT, or comes with --other.",
            why="bins cut an interval into parts of equal width, and nothing lies outside.",
            do="write it like --bins 0:100:10, and clamp numbers to the interval.",
        )
    return local.Domain.bins(low=parts[0], high=parts[1], count=int(parts[2]))


def _values(value: str, domain: Domain) -> Iterator[list[object]]:
    """Yield the values to report, many at a time."""
    texts = frozenset(name for name in domain.categories if isinstance(name, str))
    if value != "-":
        yield [_named(texts, value)]
        return
    lines = (line.rstrip("\r\n") for line in sys.stdin)
    while part := list(itertools.islice(lines, _LINES)):
        yield [_named(texts, line) for line in part]


def _named(texts: frozenset[str], text: str) -> object:
    """Return the value that a text stands for: an integer, unless the form spells it as text."""
    whole = text.removeprefix("-").isdecimal() and text.isascii()
    return int(text) if whole and text not in texts else text


def _form(path: Path) -> Form:
    return local.Form.deserialize(_text(_read(path)))


def _add(collector: Collector, data: bytes) -> None:
    if data.startswith(local.Collector.magic):
        collector.merge(local.Collector.deserialize(data, form=collector.form))
    else:
        collector.add_many(data)


def _read(path: Path) -> bytes:
    if str(path) == "-":
        return sys.stdin.buffer.read()
    try:
        return path.read_bytes()
    except OSError as error:
        raise WrongKind(
            what=f"{path} cannot be read: {error.strerror}.",
            why="the command needs what is in it.",
            do="check the name and the rights of the file.",
        ) from None


def _write(path: Path, data: bytes) -> None:
    try:
        path.write_bytes(data)
    except OSError as error:
        raise WrongKind(
            what=f"{path} cannot be written: {error.strerror}.",
            why="the collector would be lost.",
            do="name another file with --save.",
        ) from None


def _text(data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise WrongKind(
            what="a file is not UTF-8 text.",
            why="forms and lists of values are text, and both sides must read them alike.",
            do="write the file in UTF-8.",
        ) from None
