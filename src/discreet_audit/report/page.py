"""The page of the suite: tables and pictures in one file.

Trust: public.

The pictures are claimed against measured, and the curve of reconstruction.  The page needs no
script, no font and no other file.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape
from math import erfc, sqrt
from typing import Final

from discreet.charts import HEIGHT, Axis, Chart
from discreet.exact import float_up
from discreet_audit.report.document import FINDINGS, HEADS
from discreet_audit.report.numbers import claimed, interval, judged, parameter
from discreet_audit.report.provenance import Provenance
from discreet_audit.report.reading import WEAKNESSES, explanation
from discreet_audit.report.verdicts import headline, shown, unseen
from discreet_audit.suite.figures import Point
from discreet_audit.suite.report import Report
from discreet_audit.suite.rows import NO_EVIDENCE, Line

_STEP: Final = 17
_FRAME: Final = 130
_WIDEST: Final = (1.5, 3.0)
_THINNEST: Final = 0.01
_LONGEST: Final = 44
_SHARES: Final = (0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)


def claimed_and_measured(lines: Sequence[Line], *, broken: bool = False) -> Chart:
    """Draw every certified bound as a multiple of what was claimed: a bar for each row.

    Estimates are left out: half of them are above the truth, and would look like violations.
    """
    shown = [line for line in lines if line.measured.claimed and line.broken == broken]
    names = [_short(line.name) for line in shown]
    widest = _WIDEST[broken]
    ticks = [step * widest / 6 for step in range(7)]
    chart = Chart(
        title="What is certified, as a multiple of what is claimed",
        x=Axis(
            label="certified lower bound of what is lost / what is claimed",
            low=0,
            high=widest,
            ticks=ticks,
            names=[f"{tick:g}" for tick in ticks[:-1]] + [f"≥ {widest:g}"],
        ),
        y=Axis(label="", low=len(shown) - 0.5, high=-0.5, ticks=range(len(shown)), names=names),
        left=330,
        height=_FRAME + _STEP * max(len(shown), 1),
    )
    chart.line([(1, -0.5), (1, len(shown) - 0.5)], color=2, label="claimed", dashed=True)
    explained: set[str] = set()
    for place, line in enumerate(shown):
        label, color = _drawn(line)
        chart.line(
            [(0, place), (_multiple(line, widest), place)],
            color=color,
            label="" if label in explained else label,
        )
        explained.add(label)
    return chart


def _drawn(line: Line) -> tuple[str, int]:
    """Return what a bar means, and its color."""
    if line.broken:
        return "broken twins", 1
    if not line.passed:
        return "VIOLATED", 1
    return ("no evidence", 3) if line.verdict == NO_EVIDENCE else ("kept", 0)


def _multiple(line: Line, widest: float) -> float:
    """Return the bound over the claim, and at least enough to be seen."""
    multiple = line.measured.lower / (line.measured.claimed or 1.0)
    return min(max(multiple, _THINNEST), widest)


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
body { font: 16px/1.5 sans-serif; max-width: 76rem; margin: 2rem auto; padding: 0 1rem; }
p, li, figcaption { max-width: 46rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: 14px; }
td, th { padding: 0.2rem 0.6rem; text-align: left; border-bottom: 1px solid rgba(128,128,128,.4); }
td { vertical-align: top; }
td:nth-child(2) { min-width: 12rem; }
td:last-child { min-width: 14rem; }
figure { margin: 1.5rem 0; }
figcaption { margin-bottom: 0.5rem; }
figure svg { max-width: 56rem; min-width: 38rem; width: 100%; height: auto; }
code { overflow-wrap: anywhere; }
.wrong { color: #c24e00; font-weight: bold; }
.unseen { opacity: 0.65; }
@media (prefers-color-scheme: dark) {
  body { background: #1b1d20; color: #ededed; }
  .wrong { color: #ff9a52; }
}
"""
_PROMISES: Final = """Each bar is a promise: how much loss is certified, as a multiple of what is
claimed. A promise that is kept stays left of the dashed line, and the closer it comes, the smaller
the mistakes that would have shown. Rows that could not have shown a mistake of a factor two are no
evidence, and have a color of their own."""
_TWINS: Final = """Each bar is a mechanism with a known mistake. It must cross the dashed line, or
the audit would have missed the mistake."""
_CURVE: Final = """The share of secret bits that attacks guess, by the noise of the counts that they
are given. With little noise they guess nearly all; releases stay below the caps that their price
sets."""


def page(report: Report, made: Provenance, receipt: str) -> str:
    """Return the page."""
    lines = [
        (
            _class(line),
            (
                line.part,
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
        for line in report.lines
    ]
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
        f"<h2>Claimed and measured</h2>{_table(('part', *HEADS, 'event'), lines)}"
        "<h2>Attacks on the implementation</h2>"
        f"{_table((*FINDINGS, 'not covered'), findings)}"
        "<h2>Reconstruction and tracing</h2>"
        f"{_table(('attack', 'share of people named', 'expected', 'as expected'), figures)}"
        f"<h2>What is not covered</h2><ul>{''.join(f'<li>{escape(w)}</li>' for w in gaps)}"
        "</ul></body></html>\n"
    )


_WRONG: Final = "wrong"


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


def _table(heads: Sequence[str], rows: Iterable[tuple[str, Sequence[str]]]) -> str:
    head = "".join(f"<th>{escape(heading)}</th>" for heading in heads)
    body = "".join(_row(cells, style) for style, cells in rows)
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return f'<div class="wide">{table}</div>\n'


def _row(cells: Sequence[str], style: str) -> str:
    named = f' class="{style}"' if style else ""
    return f"<tr{named}>{''.join(f'<td>{escape(cell)}</td>' for cell in cells)}</tr>"
