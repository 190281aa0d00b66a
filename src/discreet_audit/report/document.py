"""The audit as a document: what was claimed, what was measured, and what was not looked at.

Trust: public.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from math import ceil
from typing import Final

from discreet.exact import float_up
from discreet_audit.report.numbers import audited_share, claimed, interval, judged, parameter
from discreet_audit.report.provenance import Provenance
from discreet_audit.report.verdicts import headline, shown_from, verdict
from discreet_audit.suite.report import Report

_UNSEEN: Final = """
A bound below a claim does not prove the claim. Other neighbors, other parameters or another
event may lose more. What mechanisms lose is computed from their laws to the last digit; for
questions there are no such laws.

Questions are audited on the numbers that their mechanisms drew, from which everything in a
release is computed, with one order of rows, the same on both sides. A promise holds for every
order; that the order itself tells nothing is tested elsewhere.

Of the bits of a number the lowest that is set and the last four are looked at, in the first 32
numbers of an answer; another pattern of bits stays unseen.

Answers are taken to be independent. What one answer tells about the noise of the next is the
matter of the attacks on randomness and replay, not of the bounds.

Time is looked at by the attacks on time alone, on one machine, for a few questions. What is
written to stderr, memory, caches and power are not looked at.

Questions that find their bounds privately, and programs that use the libraries directly, are
not audited here.

Broken twins are ours, on neighbors that were picked to show their mistakes, so that catching
all of them says little about mistakes that nobody thought of. The budget that refunds was
missed in its first form and made to give more away; the analyst of A8, who asks at random, did
not find a filter that one who plans ahead would break.

Nobody outside the project has repeated any of this.
"""
WEAKNESSES: Final = tuple(" ".join(paragraph.split()) for paragraph in _UNSEEN.split("\n\n"))
"""What the suite does not cover."""

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

A *measured* value is a certified lower bound of what is lost: two neighboring tables are asked
about many times, an event that tells them apart is learned from some answers and judged by others.
*Near* is the same without a margin for chance, and proves nothing. Where a mechanism says with
which chance each outcome comes, no answers are drawn, and the bound is exact. A promise is *kept*
if the bound is not above it; a *broken twin*, a mechanism with a known mistake, must be *caught*.
A row *shows* losses from some multiple of its claim on: had that much more been lost, the bound
would have been above the claim. One that would not have shown a mistake of a factor two is *no
evidence*, and not called kept. For twins the number of answers is what it took, in steps of ten.
The chance that any bound on a promise is too high is at most 1 in {odds:,}; for each broken twin it
is the same, and attacks on the implementation state their own.
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
        odds=int(1 / report.level),
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
                shown_from(line),
                verdict(line),
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
    yield f"- {audited_share(report)}"
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
