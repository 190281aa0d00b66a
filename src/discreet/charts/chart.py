"""Charts: axes, lines, dots, bands, bars, error bars and shaded cells, made into pictures.

Trust: public.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from discreet.charts.picture import Picture
from discreet.charts.shapes import (
    GRID,
    HALO,
    INK,
    Area,
    Marker,
    Points,
    Shape,
    Strokes,
    Words,
    dashes,
)

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 640, 380, 80, 620, 70, 320
NARROW: Final = 480
"""The width of pictures whose letters must be read on a telephone."""
_MARGIN: Final = WIDTH - RIGHT
SUPERSCRIPTS: Final = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_LETTER: Final = 7.3
_BOLD_LETTER: Final = 8.2


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """What an axis says, which values it covers, and where its marks are."""

    label: str
    low: float
    high: float
    ticks: Sequence[float]
    names: Sequence[str] = ()
    log: bool = False
    ends: tuple[float, float] = (LEFT, RIGHT)

    def place(self, value: float) -> float:
        """Return where a value is on the page."""
        here, low, high = (math.log(v) if self.log else v for v in (value, self.low, self.high))
        start, end = self.ends
        return start + (end - start) * (here - low) / (high - low)

    def named(self) -> Iterable[tuple[float, str]]:
        """Return each mark with the text beside it."""
        return zip(self.ticks, self.names or [_number(tick) for tick in self.ticks], strict=True)


@dataclass(slots=True, kw_only=True)
class Chart:
    """A picture in the making; ``picture`` returns it, ``svg`` its text.

    ``left`` is where the plot begins, for long names on the upright axis; ``description`` says in
    words and numbers what is seen.

    >>> chart = Chart(title="A line", x=Axis(label="x", low=0, high=1, ticks=(0, 1)),
    ...               y=Axis(label="y", low=0, high=1, ticks=(0, 1)))
    >>> chart.line([(0, 0), (0.5, 0.2), (1, 1)], color=0)
    >>> chart.svg().count("<polyline")
    1
    """

    title: str
    x: Axis
    y: Axis
    left: int = LEFT
    width: int = WIDTH
    height: int = HEIGHT
    description: str = ""
    _marks: list[Shape] = field(default_factory=list)
    _legend_end: float = LEFT

    def __post_init__(self) -> None:
        """Put the axes where they belong."""
        self.x = replace(self.x, ends=(self.left, self._right))
        self.y = replace(self.y, ends=(self._bottom, TOP))  # upright

    def line(self, points: Points, *, color: int, label: str = "", dashed: bool = False) -> None:
        """Join points by straight lines."""
        dash = dashes(color, dashed=dashed)
        placed = tuple(self._at(x, y) for x, y in points)
        self._marks.append(Strokes(lines=(placed,), color=color, dash=dash, curve=True))
        start = (self._legend_end, TOP - 22.0)
        sample = (start, (start[0] + 24, start[1]))
        self._explain(label, Strokes(lines=(sample,), color=color, dash=dash))

    def dots(self, points: Points, *, color: int, label: str = "") -> None:
        """Draw a dot at each point."""
        self._marks += [Marker(at=self._at(x, y), color=color) for x, y in points]
        self._explain(label, Marker(at=(self._legend_end + 12, TOP - 22), color=color))

    def bar(self, y: float, low: float, high: float, *, color: int) -> None:
        """Draw a thin bar along a line of the page, from one value to another."""
        line = (self._at(low, y), self._at(high, y))
        self._marks.append(Strokes(lines=(line,), color=color))

    def band(self, low: Points, high: Points, *, color: int, label: str = "") -> None:
        """Shade what is between two curves."""
        corners = tuple(self._at(x, y) for x, y in [*low, *reversed(high)])
        self._marks.append(Area(corners=corners, color=color, opacity=0.2))
        self._swatch(label, color, 0.2)

    def bars(self, points: Points, *, width: float, color: int, label: str = "") -> None:
        """Draw bars of a width, centered on their points, from zero."""
        for x, y in points:
            self._rectangle((x - width / 2, x + width / 2), (0, y), color, 0.75)
        self._swatch(label, color, 0.75)

    def whisker(self, x: float, low: float, high: float, *, color: int) -> None:
        """Draw an error bar with caps, which shows on bars as well."""
        (at, bottom), (_, top) = self._at(x, low), self._at(x, high)
        lines = (
            ((at - 5, bottom), (at + 5, bottom)),
            ((at, bottom), (at, top)),
            ((at - 5, top), (at + 5, top)),
        )
        self._marks += [Strokes(lines=lines, color=HALO), Strokes(lines=lines, color=color)]

    def cell(self, x: float, y: float, share: float, text: str) -> None:
        """Draw a square around a point, darker for a larger share, with text inside."""
        self._rectangle((x - 0.48, x + 0.48), (y - 0.48, y + 0.48), 0, round(share, 3))
        across, down = self._at(x, y)
        self._marks.append(Words(at=(across, down + 4), text=text))

    def picture(self) -> Picture:
        """Return what is drawn so far."""
        fits = LEFT + _BOLD_LETTER * len(self.title) < self.width
        start = LEFT if fits else _MARGIN
        title = Words(at=(start, 28), text=self.title, anchor="start", bold=True)
        return Picture(
            title=self.title,
            description=self.description,
            width=self.width,
            height=self.height,
            shapes=(title, *self._axes(), *self._marks),
        )

    def svg(self) -> str:
        """Return the whole picture as SVG."""
        return self.picture().svg()

    @property
    def _right(self) -> int:
        return self.width - _MARGIN

    @property
    def _bottom(self) -> int:
        return self.height - (HEIGHT - BOTTOM)

    def _axes(self) -> Iterable[Shape]:
        for at, name in ((self.x.place(tick), name) for tick, name in self.x.named()):
            yield Strokes(lines=(((at, TOP), (at, self._bottom)),), color=GRID, bold=False)
            yield Words(at=(at, self._bottom + 20), text=name)
        for at, name in ((self.y.place(tick), name) for tick, name in self.y.named()):
            yield Strokes(lines=(((self.left, at), (self._right, at)),), color=GRID, bold=False)
            yield Words(at=(self.left - 8, at + 4), text=name, anchor="end")
        corner = ((self.left, TOP), (self.left, self._bottom))
        yield Strokes(lines=(corner, (corner[1], (self._right, self._bottom))), color=INK)
        yield Words(at=((self.left + self._right) / 2, self._bottom + 46), text=self.x.label)
        middle = (TOP + self._bottom) / 2
        yield Words(at=(16, middle), text=self.y.label, upright=True)

    def _at(self, x: float, y: float) -> tuple[float, float]:
        return self.x.place(x), self.y.place(y)

    def _rectangle(
        self, across: Sequence[float], up: Sequence[float], color: int, opacity: float
    ) -> None:
        (left, right), (top, bottom) = map(self.x.place, across), sorted(map(self.y.place, up))
        self._marks.append(
            Area(corners=((left, top), (right, bottom)), color=color, opacity=opacity)
        )

    def _swatch(self, label: str, color: int, opacity: float) -> None:
        left, top = self._legend_end, TOP - 29
        corners = ((left, top), (left + 24, top + 14))
        self._explain(label, Area(corners=corners, color=color, opacity=opacity))

    def _explain(self, label: str, drawn: Shape) -> None:
        if label:
            place = (self._legend_end + 32, TOP - 18)
            self._marks += [drawn, Words(at=place, text=label, anchor="start")]
            self._legend_end += 48 + _LETTER * len(label)


def _number(value: float) -> str:
    if value and not 0.001 <= abs(value) < 10_000:
        return "10" + str(round(math.log10(value))).translate(SUPERSCRIPTS)
    return f"{value:g}"
