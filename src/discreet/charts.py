"""Small charts as SVG text: axes, lines, dots, bands, bars, error bars and shaded cells.

Trust: public.

A picture has its own background, and a second set of colors for those who read in the dark.  It
needs no script, no font and no other file.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from html import escape

__all__ = [
    "BOTTOM",
    "DARK",
    "HEIGHT",
    "LEFT",
    "LIGHT",
    "RIGHT",
    "STYLE",
    "SUPERSCRIPTS",
    "TOP",
    "WIDTH",
    "Axis",
    "Chart",
    "Points",
]

Points = Sequence[tuple[float, float]]

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 640, 380, 80, 620, 70, 320
LIGHT = ("#0060a8", "#c24e00", "#00805a", "#8a3b8f")
DARK = ("#62b5f0", "#f5a04c", "#4fd0a5", "#d99be0")
SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def _colors(page: str, ink: str, grid: str, colors: Sequence[str]) -> str:
    own = "".join(f".f{i}{{fill:{c}}}.s{i}{{stroke:{c}}}" for i, c in enumerate(colors))
    return f"text{{fill:{ink}}}.page{{fill:{page}}}.a{{stroke:{ink}}}.g{{stroke:{grid}}}{own}"


STYLE = (
    "text{font:13px sans-serif}.b{font-weight:bold;font-size:15px}.l{fill:none;stroke-width:2.2}"
    + _colors("#ffffff", "#1c1c1c", "#dedede", LIGHT)
    + f"@media(prefers-color-scheme:dark){{{_colors('#1b1d20', '#ededed', '#3a3d42', DARK)}}}"
)


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
        """Return where a value lies on the page."""
        here, low, high = (math.log(v) if self.log else v for v in (value, self.low, self.high))
        start, end = self.ends
        return start + (end - start) * (here - low) / (high - low)

    def named(self) -> Iterable[tuple[float, str]]:
        """Return each mark with the text beside it."""
        return zip(self.ticks, self.names or [_number(tick) for tick in self.ticks], strict=True)


@dataclass(slots=True, kw_only=True)
class Chart:
    """A picture in the making; ``svg`` returns its text.

    ``left`` is where the plot begins, for long names on the upright axis.

    >>> chart = Chart(title="A line", x=Axis(label="x", low=0, high=1, ticks=(0, 1)),
    ...               y=Axis(label="y", low=0, high=1, ticks=(0, 1)))
    >>> chart.line([(0, 0), (1, 1)], color=0)
    >>> chart.svg().count("<polyline")
    1
    """

    title: str
    x: Axis
    y: Axis
    left: int = LEFT
    height: int = HEIGHT
    _marks: list[str] = field(default_factory=list)
    _legend_end: float = LEFT

    def __post_init__(self) -> None:
        """Put the axes where they belong."""
        self.x = replace(self.x, ends=(self.left, RIGHT))
        self.y = replace(self.y, ends=(self._bottom, TOP))  # upright

    def line(self, points: Points, *, color: int, label: str = "", dashed: bool = False) -> None:
        """Join points by straight lines."""
        style = f'class="l s{color}"' + (' stroke-dasharray="7 5"' if dashed else "")
        self._marks.append(f'<polyline {style} points="{self._path(points)}"/>')
        self._explain(label, f'<path {style} d="M{self._legend_end:.0f} {TOP - 22}h24"/>')

    def dots(self, points: Points, *, color: int, label: str = "") -> None:
        """Draw a dot at each point."""
        for x, y in points:
            place = f'cx="{self.x.place(x):.1f}" cy="{self.y.place(y):.1f}"'
            self._marks.append(f'<circle class="f{color}" {place} r="4"/>')
        sample = f'cx="{self._legend_end + 12:.0f}" cy="{TOP - 22}" r="4"'
        self._explain(label, f'<circle class="f{color}" {sample}/>')

    def bar(self, y: float, low: float, high: float, *, color: int) -> None:
        """Draw a thin bar along a line of the page, from one value to another."""
        at, start, end = self.y.place(y), self.x.place(low), self.x.place(high)
        self._marks.append(f'<path class="l s{color}" d="M{start:.1f} {at:.1f}H{end:.1f}"/>')

    def band(self, low: Points, high: Points, *, color: int, label: str = "") -> None:
        """Shade what lies between two curves."""
        path, style = self._path([*low, *reversed(high)]), _shade(color, 0.2)
        self._marks.append(f'<polygon {style} points="{path}"/>')
        self._swatch(label, style)

    def bars(self, points: Points, *, width: float, color: int, label: str = "") -> None:
        """Draw bars of a width, centered on their points, from zero."""
        for x, y in points:
            self._rectangle((x - width / 2, x + width / 2), (0, y), _shade(color, 0.75))
        self._swatch(label, _shade(color, 0.75))

    def whisker(self, x: float, low: float, high: float, *, color: int) -> None:
        """Draw an error bar with caps."""
        at, bottom, top = self.x.place(x), self.y.place(low), self.y.place(high)
        shape = f"M{at - 5:.1f} {bottom:.1f}h10m-5 0V{top:.1f}m-5 0h10"
        self._marks.append(f'<path class="l s{color}" d="{shape}"/>')

    def cell(self, x: float, y: float, share: float, text: str) -> None:
        """Draw a square around a point, darker for a larger share, with text inside."""
        style = _shade(0, round(share, 3))
        self._rectangle((x - 0.48, x + 0.48), (y - 0.48, y + 0.48), style)
        self._marks.append(_text(self.x.place(x), self.y.place(y) + 4, text))

    def svg(self) -> str:
        """Return the whole picture."""
        size = f'width="{WIDTH}" height="{self.height}"'
        view = f'xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {self.height}"'
        head = f'<svg {view} {size} role="img"><rect class="page" {size} rx="8"/>'
        title = _text(LEFT, 28, self.title, "start", ' class="b"')
        name = f"<title>{escape(self.title)}</title><style>{STYLE}</style>"
        return "\n".join([head, name, title, *self._axes(), *self._marks, "</svg>\n"])

    @property
    def _bottom(self) -> int:
        return self.height - (HEIGHT - BOTTOM)

    def _axes(self) -> Iterable[str]:
        for at, name in ((self.x.place(tick), name) for tick, name in self.x.named()):
            label = _text(at, self._bottom + 20, name)
            yield f'<path class="g" d="M{at:.1f} {TOP}V{self._bottom}"/>' + label
        for at, name in ((self.y.place(tick), name) for tick, name in self.y.named()):
            label = _text(self.left - 8, at + 4, name, "end")
            yield f'<path class="g" d="M{self.left} {at:.1f}H{RIGHT}"/>' + label
        yield f'<path class="a l" d="M{self.left} {TOP}V{self._bottom}H{RIGHT}"/>'
        yield _text((self.left + RIGHT) / 2, self._bottom + 46, self.x.label)
        turn = f' transform="rotate(-90 16 {(TOP + self._bottom) // 2})"'
        yield _text(16, (TOP + self._bottom) / 2, self.y.label, "middle", turn)

    def _rectangle(self, across: Sequence[float], up: Sequence[float], style: str) -> None:
        (left, right), (top, bottom) = map(self.x.place, across), sorted(map(self.y.place, up))
        size = f'width="{right - left:.1f}" height="{bottom - top:.1f}"'
        self._marks.append(f'<rect {style} x="{left:.1f}" y="{top:.1f}" {size}/>')

    def _swatch(self, label: str, style: str) -> None:
        place = f'x="{self._legend_end:.0f}" y="{TOP - 29}" width="24" height="14"'
        self._explain(label, f"<rect {style} {place}/>")

    def _explain(self, label: str, drawn: str) -> None:
        if label:
            self._marks += [drawn, _text(self._legend_end + 30, TOP - 18, label, "start")]
            self._legend_end += 46 + 7.3 * len(label)

    def _path(self, points: Points) -> str:
        return " ".join(f"{self.x.place(x):.1f},{self.y.place(y):.1f}" for x, y in points)


def _shade(color: int, opacity: float) -> str:
    return f'class="f{color}" fill-opacity="{opacity}"'


def _text(x: float, y: float, text: str, anchor: str = "middle", more: str = "") -> str:
    return f'<text{more} x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def _number(value: float) -> str:
    if value and not 0.001 <= abs(value) < 10_000:
        return "10" + str(round(math.log10(value))).translate(SUPERSCRIPTS)
    return f"{value:g}"
