"""What pictures consist of: lines, areas, markers and words, at places on a page.

Trust: public.

Every series has a color, a pattern of dashes and a shape of markers, so that it differs from
the others in black and white too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Final, final

Points = Sequence[tuple[float, float]]

INK: Final = -1
"""The color of axes and letters."""
GRID: Final = -2
HALO: Final = -3
"""The color of the page, drawn below a line that crosses an area."""
_SOLID: Final = ("", "12 3", "3 3", "12 3 3 3")
_DASHED: Final = ("7 5", "7 5 2 5", "2 6", "7 5 2 5 2 5")
_CLASSES: Final = {INK: "a", GRID: "g", HALO: "h"}
_DIAMOND: Final = ((0.0, -5.5), (5.5, 0.0), (0.0, 5.5), (-5.5, 0.0))
_TRIANGLE: Final = ((0.0, -5.0), (5.0, 4.0), (-5.0, 4.0))


def dashes(color: int, *, dashed: bool = False) -> str:
    """Return the pattern of a series: all eight differ.

    >>> dashes(0), dashes(0, dashed=True), dashes(1)
    ('', '7 5', '12 3')
    """
    return "" if color < 0 else (_DASHED if dashed else _SOLID)[color % len(_SOLID)]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Strokes:
    """Open lines of one color; thin ones guide the eye, and a ``curve`` shows data."""

    lines: tuple[tuple[tuple[float, float], ...], ...]
    color: int
    dash: str = ""
    bold: bool = True
    curve: bool = False

    def svg(self) -> str:
        """Return it as SVG."""
        kind = _CLASSES.get(self.color, f"s{self.color}")
        dash = f' stroke-dasharray="{self.dash}"' if self.dash else ""
        style = f'class="{"l " if self.bold else ""}{kind}"{dash}'
        if self.curve and len(self.lines) == 1:
            return f'<polyline {style} points="{_listed(self.lines[0])}"/>'
        path = "".join(
            f"M{_at(line[0])}" + "".join(f"L{_at(point)}" for point in line[1:])
            for line in self.lines
        )
        return f'<path {style} d="{path}"/>'


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Area:
    """A filled polygon; a rectangle with upright sides is one with two corners."""

    corners: tuple[tuple[float, float], ...]
    color: int
    opacity: float = 1.0

    @property
    def outline(self) -> Points:
        """All corners in turn."""
        if len(self.corners) != 2:
            return self.corners
        (left, top), (right, bottom) = self.corners
        return ((left, top), (right, top), (right, bottom), (left, bottom))

    def svg(self) -> str:
        """Return it as SVG."""
        style = f'class="f{self.color}" fill-opacity="{self.opacity:g}"'
        if len(self.corners) != 2:
            return f'<polygon {style} points="{_listed(self.corners)}"/>'
        (left, top), (right, bottom) = self.corners
        size = f'width="{right - left:.1f}" height="{bottom - top:.1f}"'
        return f'<rect {style} x="{left:.1f}" y="{top:.1f}" {size}/>'


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Marker:
    """A point: a disc, a square, a triangle or a diamond, by its color; or a ring."""

    at: tuple[float, float]
    color: int
    radius: float = 4.0
    ring: bool = False

    @property
    def outline(self) -> Points | None:
        """The corners, unless it is round."""
        x, y = self.at
        side = self.radius
        square = ((-side, -side), (side, -side), (side, side), (-side, side))
        corners = (None, square, _TRIANGLE, _DIAMOND)[max(self.color, 0) % 4]
        return None if corners is None else [(x + dx, y + dy) for dx, dy in corners]

    def svg(self) -> str:
        """Return it as SVG."""
        if self.outline is not None:
            return f'<polygon class="f{self.color}" points="{_listed(self.outline)}"/>'
        style = 'fill="none" class="a"' if self.ring else f'class="f{self.color}"'
        return f'<circle {style} cx="{self.at[0]:.1f}" cy="{self.at[1]:.1f}" r="{self.radius:g}"/>'


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """A line of text; ``anchor`` is "start", "middle" or "end", ``upright`` runs up the page."""

    at: tuple[float, float]
    text: str
    anchor: str = "middle"
    bold: bool = False
    upright: bool = False
    mono: bool = False

    def svg(self) -> str:
        """Return it as SVG."""
        x, y = self.at
        names = [name for name, given in (("b", self.bold), ("m", self.mono)) if given]
        kind = f' class="{" ".join(names)}"' if names else ""
        turn = f' transform="rotate(-90 {x:.1f} {y:.1f})"' if self.upright else ""
        space = ' xml:space="preserve"' if self.mono else ""
        place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{self.anchor}"'
        return f"<text{kind}{turn}{space} {place}>{escape(self.text)}</text>"


Shape = Strokes | Area | Marker | Words


def _listed(points: Points) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in points)


def _at(point: tuple[float, float]) -> str:
    return f"{point[0]:.1f} {point[1]:.1f}"
