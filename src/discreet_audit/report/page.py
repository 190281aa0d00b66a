"""The page of the suite: tables and pictures in one file.

Trust: public.

It needs no script, no font and no other file; on narrow screens a row of a table is a list.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from itertools import groupby
from typing import Final

from discreet.charts import Chart
from discreet.exact import float_up
from discreet_audit.report.document import FINDINGS, HEADS
from discreet_audit.report.numbers import claimed, interval, judged, parameter
from discreet_audit.report.pictures import claimed_and_measured, reconstruction_curve
from discreet_audit.report.provenance import Provenance
from discreet_audit.report.reading import WEAKNESSES, explanation
from discreet_audit.report.verdicts import headline, shown, unseen
from discreet_audit.suite.report import Report
from discreet_audit.suite.rows import NO_EVIDENCE, Line

_STYLE: Final = """
body { font: 16px/1.5 sans-serif; max-width: 76rem; margin: 2rem auto; padding: 0 1rem; }
p, li, figcaption { max-width: 46rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: 14px; }
td, th { padding: 0.2rem 0.6rem; text-align: left; border-bottom: 1px solid rgba(128,128,128,.4); }
td { vertical-align: top; }
.rows td { white-space: nowrap; }
.rows td:first-child, .rows td:last-child { white-space: normal; min-width: 14rem; }
.attacks td:nth-child(n + 2) { min-width: 9rem; }
figure { margin: 1.5rem 0; }
figcaption { margin-bottom: 0.5rem; }
figure svg { max-width: 56rem; min-width: 38rem; width: 100%; height: auto; }
code { overflow-wrap: anywhere; }
.wrong { color: #c24e00; font-weight: bold; }
.unseen { opacity: 0.65; }
@media screen and (max-width: 44rem) {
  body { margin: 1rem auto; }
  h1 { font-size: 1.6rem; }
  h2 { font-size: 1.25rem; }
  thead { display: none; }
  table, tbody, tr, td { display: block; }
  tr { padding: 0.5rem 0; border-bottom: 1px solid rgba(128,128,128,.4); }
  td, .rows td { padding: 0 0 0 6rem; text-indent: -6rem; border: 0; white-space: normal; }
  td::before { content: attr(data-head); display: inline-block; width: 6rem; text-indent: 0; }
  td::before { opacity: 0.8; }
  td:first-child { font-weight: bold; padding: 0; text-indent: 0; }
  td:first-child::before, td:empty { display: none; }
}
@media print {
  body { margin: 0; padding: 0; max-width: none; font-size: 10pt; }
  .wide { overflow: visible; }
  table { font-size: 6.5pt; }
  td, th { padding: 0.1rem 0.25rem; min-width: 0 !important; overflow-wrap: break-word; }
  .rows td { white-space: normal; }
  tr, figcaption { break-inside: avoid; }
  figcaption { break-after: avoid; }
  figure svg { min-width: 0; max-width: 100%; max-height: 24cm; }
}
@media screen and (prefers-color-scheme: dark) {
  body { background: #1b1d20; color: #ededed; }
  .wrong { color: #ff9a52; }
}
"""
_PROMISES: Final = """Each bar is a promise: how much loss is certified, as a multiple of what is
claimed. A promise that is kept stays left of the dotted line, and the closer it comes, the smaller
the mistakes that would have shown. Rows that could not have shown a mistake of a factor two are no
evidence, and have a color of their own."""
_TWINS: Final = """Each bar is a mechanism with a known mistake. It must cross the dotted line, or
the audit would have missed the mistake."""
_CURVE: Final = """The share of secret bits that attacks guess, by the noise of the counts that they
are given. With little noise they guess nearly all; releases stay below the caps that their price
sets."""


def page(report: Report, made: Provenance, receipt: str) -> str:
    """Return the page."""
    findings = [
        (
            "" if item.passed else _WRONG,
            (
                item.code,
                item.title,
                item.claimed,
                item.measured,
                "withstood" if item.passed else "VIOLATED",
                item.not_covered,
            ),
        )
        for item in report.findings
    ]
    figures = [
        (
            "" if item.passed else _WRONG,
            (item.name, f"{item.share:.3f}", item.expected, "yes" if item.passed else "NO"),
        )
        for item in report.figures
    ]
    gaps = (unseen(report), *WEAKNESSES)
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"/>'
        '<meta name="viewport" content="width=device-width, initial-scale=1"/>'
        f"<title>discreet: the audit</title><style>{_STYLE}</style></head>\n"
        f"<body><h1>The audit of ourselves</h1>\n<p><strong>{escape(headline(report))}</strong></p>"
        f"\n<p>{escape(made.words(float_up(report.level)))} Made again by "
        f"<code>{escape(made.reproduce)}</code>; noise has no seed, so figures differ a little. "
        f"Receipt of <code>audit.json</code>: <code>{escape(receipt)}</code></p>\n"
        f"{_paragraphs(explanation(report))}"
        f"{_bars(report.lines, broken=False)}{_bars(report.lines, broken=True)}"
        f"{_figure(_CURVE, reconstruction_curve(report.points))}"
        f"{''.join(_part(part, lines) for part, lines in _parts(report))}"
        "<h2>Attacks on the implementation</h2>"
        f"{_table((*FINDINGS, 'not covered'), findings, 'attacks')}"
        "<h2>Reconstruction and tracing</h2>"
        f"{_table(('attack', 'share of people named', 'expected', 'as expected'), figures)}"
        f"<h2>What is not covered</h2><ul>{''.join(f'<li>{escape(w)}</li>' for w in gaps)}"
        "</ul></body></html>\n"
    )


_WRONG: Final = "wrong"


def _parts(report: Report) -> Iterator[tuple[str, Iterator[Line]]]:
    return groupby(report.lines, key=lambda line: line.part)


def _part(part: str, lines: Iterable[Line]) -> str:
    """Return the table of one part of the suite."""
    rows = [
        (
            _class(line),
            (
                line.name,
                parameter(line.measured),
                claimed(line.measured),
                interval(line.measured),
                judged(line.measured),
                shown(line),
                line.verdict,
                line.measured.event,
            ),
        )
        for line in lines
    ]
    return f"<h2>Claimed and measured: {escape(part)}</h2>{_table((*HEADS, 'event'), rows, 'rows')}"


def _class(line: Line) -> str:
    if not line.passed:
        return _WRONG
    return "unseen" if line.verdict == NO_EVIDENCE else ""


def _paragraphs(text: str) -> str:
    """Return paragraphs, with what stands between stars set off."""
    marked = re.sub(r"\*(.+?)\*", r"<em>\1</em>", escape(text))
    return "".join(f"<p>{paragraph}</p>\n" for paragraph in marked.split("\n\n"))


def _bars(lines: Sequence[Line], *, broken: bool) -> str:
    """Return the picture of promises, or of twins, if there are any."""
    if not any(line.measured.claimed and line.broken == broken for line in lines):
        return ""
    return _figure(_TWINS if broken else _PROMISES, claimed_and_measured(lines, broken=broken))


def _figure(caption: str, chart: Chart) -> str:
    words = " ".join(caption.split())
    return (
        f"<figure><figcaption>{escape(words)}</figcaption>"
        f'<div class="wide">{chart.svg()}</div></figure>\n'
    )


def _table(heads: Sequence[str], rows: Iterable[tuple[str, Sequence[str]]], kind: str = "") -> str:
    head = "".join(f'<th scope="col">{escape(heading)}</th>' for heading in heads)
    body = "".join(_row(heads, cells, style) for style, cells in rows)
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return f'<div class="wide {kind}">{table}</div>\n'


def _row(heads: Sequence[str], cells: Sequence[str], style: str) -> str:
    """Return a row whose cells carry their heads, which narrow screens show beside them."""
    named = f' class="{style}"' if style else ""
    shown = "".join(
        f'<td data-head="{escape(head)}">{escape(cell)}</td>'
        for head, cell in zip(heads, cells, strict=True)
    )
    return f"<tr{named}>{shown}</tr>"
