"""The page of the suite: tables and pictures in one file.

Trust: public.  It needs no script, no font and no other file.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Final

from discreet.attacks.report.document import WEAKNESSES
from discreet.attacks.report.numbers import claimed, interval, judged, parameter
from discreet.attacks.report.pictures import claimed_and_measured, reconstruction_curve
from discreet.attacks.report.reached import reached
from discreet.attacks.suite.report import Report

__all__ = ["page"]

_STYLE: Final = """
body { font: 16px/1.5 sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; font-size: 14px; }
td, th { padding: 0.2rem 0.6rem; text-align: left; border-bottom: 1px solid rgba(128,128,128,.4); }
.wrong { color: #c24e00; font-weight: bold; }
@media (prefers-color-scheme: dark) { body { background: #1b1d20; color: #ededed; } }
"""


def page(report: Report) -> str:
    """Return the page."""
    lines = [
        (
            line.passed,
            (
                line.part,
                line.name,
                parameter(line.measured),
                claimed(line.measured),
                interval(line.measured),
                judged(line.measured),
                line.measured.event,
                line.verdict,
            ),
        )
        for line in report.lines
    ]
    findings = [
        (each.passed, (each.code, each.title, each.claimed, each.measured, each.not_covered))
        for each in report.findings
    ]
    figures = [
        (each.passed, (each.name, f"{each.share:.3f}", each.expected)) for each in report.figures
    ]
    gaps = (reached(report), *WEAKNESSES)
    heads = ("part", "what", "parameter", "claimed", "measured", "answers", "event", "verdict")
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"/>'
        f"<title>discreet: the audit</title><style>{_STYLE}</style></head>\n"
        f"<body><h1>discreet: the audit of ourselves</h1>\n<p>{escape(report.summary)}.</p>\n"
        f"<p>{claimed_and_measured(report.lines).svg()}</p>\n"
        f"<p>{reconstruction_curve(report.points).svg()}</p>\n"
        f"<h2>Claimed and measured</h2>{_table(heads, lines)}"
        "<h2>Attacks on the implementation</h2>"
        f"{_table(('', 'attack', 'must hold', 'found', 'not covered'), findings)}"
        "<h2>Reconstruction and tracing</h2>"
        f"{_table(('attack', 'share of people named', 'expected'), figures)}"
        f"<h2>What is not covered</h2><ul>{''.join(f'<li>{escape(w)}</li>' for w in gaps)}"
        "</ul></body></html>\n"
    )


def _table(heads: Sequence[str], rows: Iterable[tuple[bool, Sequence[str]]]) -> str:
    head = "".join(f"<th>{escape(each)}</th>" for each in heads)
    body = "".join(_row(cells, passed=passed) for passed, cells in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>\n"


def _row(cells: Sequence[str], *, passed: bool) -> str:
    style = "" if passed else ' class="wrong"'
    return f"<tr{style}>{''.join(f'<td>{escape(cell)}</td>' for cell in cells)}</tr>"
