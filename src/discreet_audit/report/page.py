"""The page of the suite: tables and pictures in one file.

Trust: public.

The pictures are claimed against measured, and the curve of reconstruction.  The page needs no
script, no font and no other file.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from html import escape
from math import erfc, sqrt
from typing import Final

from discreet.charts import HEIGHT, Axis, Chart
from discreet_audit.report.document import WEAKNESSES
from discreet_audit.report.numbers import audited_share, claimed, interval, judged, parameter
from discreet_audit.suite.figures import Point
from discreet_audit.suite.report import Report
from discreet_audit.suite.rows import Line

_STEP: Final = 17
_FRAME: Final = 130
_WIDEST: Final = 3.0
_LONGEST: Final = 44
_SHARES: Final = (0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)


def claimed_and_measured(lines: Sequence[Line]) -> Chart:
    """Draw every bound as a multiple of what was claimed: kept promises stay left of 1."""
    shown = [line for line in lines if line.measured.claimed]
    names = [_short(line.name) for line in shown]
    chart = Chart(
        title="What is measured, as a multiple of what is claimed",
        x=Axis(
            label="bar: certified bound; dot: estimate",
            low=0,
            high=_WIDEST,
            ticks=(0, 0.5, 1, 1.5, 2, 2.5, 3),
            names=("0", "0.5", "1", "1.5", "2", "2.5", "≥ 3"),
        ),
        y=Axis(label="", low=len(shown) - 0.5, high=-0.5, ticks=range(len(shown)), names=names),
        left=330,
        height=_FRAME + _STEP * max(len(shown), 1),
    )
    for broken, label in ((False, "promises"), (True, "broken twins")):
        points = []
        for place, line in enumerate(shown):
            if line.broken == broken:
                low, near = _multiples(line)
                chart.bar(place, 0, low, color=int(broken))
                points.append((near, float(place)))
        chart.dots(points, color=int(broken), label=label if points else "")
    chart.line([(1, -0.5), (1, len(shown) - 0.5)], color=2, label="claimed")
    return chart


def _multiples(line: Line) -> tuple[float, float]:
    measured = line.measured
    near = max(measured.estimate, measured.lower)
    low, high = (value / (measured.claimed or 1.0) for value in (measured.lower, near))
    return tuple(min(value, _WIDEST) if math.isfinite(value) else _WIDEST for value in (low, high))  # type: ignore[return-value]


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…"


def reconstruction_curve(points: Sequence[Point]) -> Chart:
    """Draw the share of bits that attacks guess, by how much noise there is."""
    chart = Chart(
        title="How many bits are guessed, by the noise of the counts",
        x=Axis(
            label="noise (standard deviation) / √n",
            low=0.03,
            high=100,
            ticks=(0.1, 1, 10, 100),
            names=("0.1", "1", "10", "100"),
            log=True,
        ),
        y=Axis(label="share of bits", low=0.4, high=1.02, ticks=_SHARES),
        height=HEIGHT,
    )
    noises = [10 ** (k / 20) for k in range(-30, 41)]
    theory = [(noise, 0.5 * erfc(-1 / (4 * noise) / sqrt(2))) for noise in noises]
    chart.line(theory, color=0, label="Φ(√n / 4σ)")
    for color, attack in enumerate(("Fourier", "linear program")):
        shares = [(point.noise, point.share) for point in points if point.attack == attack]
        chart.dots(shares, color=3 * color, label=attack if shares else "")
    released = [point for point in points if point.attack.startswith("release")]
    chart.dots([(point.noise, point.share) for point in released], color=1, label="releases")
    for point in released:
        chart.whisker(point.noise, point.share, point.ceiling, color=1)
    return chart


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
        (item.passed, (item.code, item.title, item.claimed, item.measured, item.not_covered))
        for item in report.findings
    ]
    figures = [
        (item.passed, (item.name, f"{item.share:.3f}", item.expected)) for item in report.figures
    ]
    gaps = (audited_share(report), *WEAKNESSES)
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
    head = "".join(f"<th>{escape(heading)}</th>" for heading in heads)
    body = "".join(_row(cells, passed=passed) for passed, cells in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>\n"


def _row(cells: Sequence[str], *, passed: bool) -> str:
    style = "" if passed else ' class="wrong"'
    return f"<tr{style}>{''.join(f'<td>{escape(cell)}</td>' for cell in cells)}</tr>"
