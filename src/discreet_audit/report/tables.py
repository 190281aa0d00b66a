"""The tables of a terminal.

Trust: public.
"""

from __future__ import annotations

from collections.abc import Iterator

from rich.table import Table

from discreet_audit.report.numbers import claimed, interval, judged, parameter
from discreet_audit.report.verdicts import shown
from discreet_audit.suite.report import Report


def tables(report: Report) -> Iterator[Table]:
    """Return claimed and measured, attacks on the implementation, and figures."""
    if report.lines:
        yield _lines(report)
    if report.findings:
        yield _findings(report)
    if report.figures:
        yield _figures(report)


def _lines(report: Report) -> Table:
    heads = ("", "what", "parameter", "claimed", "measured", "answers", "shows", "")
    table = Table(*heads, title="Claimed and measured", title_justify="left")
    part = ""
    for line in report.lines:
        measured = line.measured
        table.add_row(
            "" if line.part == part else line.part,
            line.name,
            parameter(measured),
            claimed(measured),
            interval(measured),
            judged(measured),
            shown(line),
            line.verdict,
            style=None if line.passed else "bold red",
        )
        part = line.part
    return table


def _findings(report: Report) -> Table:
    table = Table("", "attack", "found", "", title="On the implementation", title_justify="left")
    for finding in report.findings:
        verdict, style = ("withstood", None) if finding.passed else ("VIOLATED", "bold red")
        table.add_row(finding.code, finding.title, finding.measured, verdict, style=style)
    return table


def _figures(report: Report) -> Table:
    heads = ("attack", "share of people named", "expected", "")
    table = Table(*heads, title="Reconstruction and tracing", title_justify="left")
    for figure in report.figures:
        verdict, style = ("as expected", None) if figure.passed else ("VIOLATED", "bold red")
        table.add_row(figure.name, f"{figure.share:.3f}", figure.expected, verdict, style=style)
    return table
