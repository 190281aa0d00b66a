"""The page of the demo: everything that the tour says, with pictures as SVG, in one file.

Trust: public.  It needs no script, no font and no other file.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Final, final

_WIDTH: Final = 640
_LEFT: Final = 130
_RIGHT: Final = 600
_TOP: Final = 44
_STEP: Final = 30
_INK: Final = "#0060a8"
_TRUTH: Final = "#c24e00"


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class IntervalMark:
    """One answer: its name, its value, the ends of its interval, and the truth."""

    name: str
    value: float
    low: float
    high: float
    truth: float


@final
@dataclass(frozen=True, slots=True)
class _Axis:
    """The positions of values on the page, and the round numbers among them."""

    low: float
    high: float

    @classmethod
    def over(cls, marks: Sequence[IntervalMark]) -> _Axis:
        values = [end for mark in marks for end in (mark.low, mark.high, mark.truth, mark.value)]
        return cls(min(0.0, *values), max(0.0, *values) or 1.0)

    def place(self, value: float) -> float:
        return _LEFT + (_RIGHT - _LEFT) * (value - self.low) / (self.high - self.low)

    def ticks(self) -> list[float]:
        rough = (self.high - self.low) / 5
        power = 10.0 ** math.floor(math.log10(rough))
        step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough)
        first, last = math.ceil(self.low / step), math.floor(self.high / step)
        return [step * number for number in range(first, last + 1)]


def error_bars(marks: Sequence[IntervalMark], *, label: str) -> str:
    """Draw one line for each answer, with its interval, and a tick where the truth is.

    >>> picture = error_bars([IntervalMark(name="A", value=5, low=3, high=7, truth=4)],
    ...     label="visits")
    >>> picture.startswith("<svg "), picture.count("<circle")
    (True, 1)
    """
    axis = _Axis.over(marks)
    bottom = _TOP + _STEP * len(marks)
    lines = [_line(mark, _TOP + _STEP * place, axis) for place, mark in enumerate(marks)]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {bottom + 28}" '
        f'width="{_WIDTH}" height="{bottom + 28}" role="img" aria-label="{escape(label)}" '
        'font-family="sans-serif" font-size="13" fill="currentColor">'
        f'<text x="{_LEFT}" y="16" font-weight="bold">{escape(label)}</text>'
        f"{''.join(lines)}{_scale(axis, bottom)}</svg>"
    )


def _line(mark: IntervalMark, y: int, axis: _Axis) -> str:
    low, value, high, truth = map(axis.place, (mark.low, mark.value, mark.high, mark.truth))
    return (
        f'<text x="{_LEFT - 12}" y="{y + 4}" text-anchor="end">{escape(mark.name)}</text>'
        f'<line x1="{low:.1f}" y1="{y}" x2="{high:.1f}" y2="{y}" stroke="{_INK}" '
        'stroke-width="3" stroke-opacity="0.45"/>'
        f'<circle cx="{value:.1f}" cy="{y}" r="5" fill="{_INK}"/>'
        f'<line x1="{truth:.1f}" y1="{y - 9}" x2="{truth:.1f}" y2="{y + 9}" stroke="{_TRUTH}" '
        'stroke-width="2"/>'
    )


def _scale(axis: _Axis, y: int) -> str:
    marks = "".join(
        f'<text x="{axis.place(tick):.1f}" y="{y + 18}" text-anchor="middle">{tick:g}</text>'
        for tick in axis.ticks()
    )
    return f'<line x1="{_LEFT}" y1="{y}" x2="{_RIGHT}" y2="{y}" stroke="currentColor"/>{marks}'


_STYLE: Final = """
body { font: 16px/1.5 sans-serif; max-width: 46rem; margin: 2rem auto; padding: 0 1rem; }
pre { background: rgba(128, 128, 128, 0.12); padding: 0.8rem; font-size: 13px; }
pre { white-space: pre-wrap; }
svg { max-width: 100%; height: auto; }
.figures { display: flex; flex-wrap: wrap; gap: 1rem; padding: 0; margin: 1.5rem 0; }
.figures li { flex: 1 1 9rem; list-style: none; }
.figures li { border-left: 4px solid #0060a8; padding-left: 0.8rem; }
.figures b { display: block; font-size: 1.7rem; line-height: 1.3; }
.promise { font-size: 1.15rem; }
@media (max-width: 44rem) { pre { font-size: 11px; } }
@media screen and (prefers-color-scheme: dark) { body { background: #1b1d20; color: #ededed; } }
"""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Stop:
    """One stop of the tour: a heading, a few words, the code, its output, pictures."""

    title: str
    words: str
    code: str = ""
    result: str = ""
    pictures: tuple[str, ...] = ()


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """What a board wants to know: the promise, a few figures with their words, pictures."""

    promise: str
    figures: tuple[tuple[str, str], ...]
    pictures: tuple[str, ...]


def write_page(path: Path, summary: Summary, stops: Sequence[Stop]) -> None:
    """Write the page; folders that are missing are made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(_page(summary, stops), encoding="utf-8")


def _page(summary: Summary, stops: Sequence[Stop]) -> str:
    figures = (
        f"<li><b>{escape(figure)}</b>{escape(words)}</li>" for figure, words in summary.figures
    )
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"/>'
        '<meta name="viewport" content="width=device-width, initial-scale=1"/>'
        f"<title>discreet: the demo</title><style>{_STYLE}</style></head>\n"
        "<body><h1>What the hospital published, and what it kept</h1>\n"
        f'<p class="promise">{escape(summary.promise)}</p>\n'
        f'<ul class="figures">{"".join(figures)}</ul>\n'
        f"{''.join(f'<p>{picture}</p>' for picture in summary.pictures)}\n"
        "<p>Dots are answers, lines are their 95 % intervals, and the ticks across them are true "
        "numbers, which only made-up data lets us see.</p>\n"
        "<h1>How it was done, step by step</h1>\n"
        f"{''.join(map(_section, stops))}</body></html>\n"
    )


def _section(stop: Stop) -> str:
    parts = [f"<h2>{escape(stop.title)}</h2><p>{escape(stop.words)}</p>"]
    parts += [f"<pre>{escape(text)}</pre>" for text in (stop.code, stop.result) if text]
    parts += [f"<p>{picture}</p>" for picture in stop.pictures]
    return f"<section>{''.join(parts)}</section>\n"
