"""The audit as a document: what was claimed, what was measured, and what was not looked at.

Trust: public.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from math import ceil
from typing import Final

from discreet.exact import float_up
from discreet_audit.report.numbers import claimed, interval, judged, parameter
from discreet_audit.report.provenance import Provenance
from discreet_audit.report.reading import WEAKNESSES, explanation
from discreet_audit.report.verdicts import headline, shown, unseen
from discreet_audit.suite.report import Report

HEADS: Final = ("what", "parameter", "claimed", "measured", "answers", "shows", "verdict")

FINDINGS: Final = ("", "attack", "must hold", "found", "verdict")
"""The heads of both kinds of tables."""


def document(report: Report, made: Provenance, receipt: str) -> str:
    """Return the document, as Markdown."""
    opening = _opening(report, made, receipt)
    return "\n".join([*opening, *_lines(report), *_rest(report), ""])


_OPENING: Final = """\
# The audit of ourselves

This page is the `audit.md` that `{command}` wrote, and not written by hand.
{headline} {answers:,} answers were judged, in {minutes} minutes of processor time.

{made} Made again by `{reproduce}`; noise has no seed, so figures differ a little. Receipt of
`audit.json`: `{receipt}`.

{explanation}
"""


def _opening(report: Report, made: Provenance, receipt: str) -> Iterator[str]:
    yield _OPENING.format(
        command="./run audit" if report.long else made.reproduce,
        headline=headline(report),
        made=made.words(float_up(report.level)),
        reproduce=made.reproduce,
        receipt=receipt,
        answers=report.answers,
        minutes=ceil(report.seconds / 60),
        explanation=explanation(report),
    )


def _lines(report: Report) -> Iterator[str]:
    for part, lines in groupby(report.lines, key=lambda line: line.part):
        yield f"## Claimed and measured: {part}"
        yield ""
        rows = [
            (
                line.name,
                parameter(line.measured),
                claimed(line.measured),
                interval(line.measured),
                judged(line.measured),
                shown(line),
                line.verdict,
            )
            for line in lines
        ]
        yield from _table(HEADS, rows)


def _rest(report: Report) -> Iterator[str]:
    yield "## Attacks on the implementation"
    yield ""
    rows = [
        (
            item.code,
            item.title,
            item.claimed,
            item.measured,
            "withstood" if item.passed else "VIOLATED",
        )
        for item in report.findings
    ]
    yield from _table(FINDINGS, rows)
    yield "## Reconstruction and tracing"
    yield ""
    yield "What the attacks do where nothing protects; what they do to releases stands above."
    yield ""
    shares = [
        (figure.name, f"{figure.share:.3f}", figure.expected, "yes" if figure.passed else "NO")
        for figure in report.figures
    ]
    yield from _table(("attack", "share of people named", "expected", "as expected"), shares)
    events = [(line.name, line.measured.event) for line in report.lines if line.measured.event]
    if events:
        yield "## Which answers told the neighbors apart"
        yield ""
        yield from _table(("what", "event"), events)
    yield "## What is not covered"
    yield ""
    yield f"- {unseen(report)}"
    yield from (f"- {weakness}" for weakness in WEAKNESSES)
    yield from (
        f"- {item.code}, {item.title}: {item.not_covered.rstrip('.')}." for item in report.findings
    )


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(heads)} |"
    yield f"|{'---|' * len(heads)}"
    for row in rows:
        cells = [cell.replace("|", "\\|") for cell in row]
        yield f"| {' | '.join(cells)} |"
    yield ""
