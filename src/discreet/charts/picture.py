"""A picture: shapes on a page, with words that say the same to those who cannot see it.

Trust: public.

A picture has its own background, a second set of colors for those who read in the dark, and the
first one on paper.  It needs no script, no font and no other file.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Final, final

from discreet.charts.blocks import as_blocks
from discreet.charts.shapes import Shape

LIGHT: Final = ("#0060a8", "#c24e00", "#00805a", "#8a3b8f")
DARK: Final = ("#62b5f0", "#f5a04c", "#4fd0a5", "#d99be0")
PAGE: Final = "#ffffff"
INK_COLOR: Final = "#1c1c1c"
GRID_COLOR: Final = "#dedede"


def _colors(page: str, ink: str, grid: str, colors: Sequence[str]) -> str:
    own = "".join(f".f{i}{{fill:{c}}}.s{i}{{stroke:{c}}}" for i, c in enumerate(colors))
    return (
        f"text{{fill:{ink}}}.page{{fill:{page}}}.a{{stroke:{ink}}}.g{{stroke:{grid}}}"
        f".h{{stroke:{page};stroke-width:5}}{own}"
    )


STYLE: Final = (
    "text{font:13px sans-serif}.b{font-weight:bold;font-size:15px}.m{font:13px monospace;"
    "white-space:pre}.m.b{font-weight:bold}.l{fill:none;stroke-width:2.2}"
    + _colors(PAGE, INK_COLOR, GRID_COLOR, LIGHT)
    + "@media screen and (prefers-color-scheme:dark){"
    + _colors("#1b1d20", "#ededed", "#3a3d42", DARK)
    + "}"
)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """Shapes on a page of pixels, y running down.

    >>> from discreet.charts import Words
    >>> hello = Picture(title="A word", width=80, height=32,
    ...     shapes=(Words(at=(40, 20), text="hello"),))
    >>> print(hello)
       hello
    >>> hello.svg().count("<text")
    1
    """

    title: str
    description: str = ""
    """What it shows, in words and numbers."""
    width: int
    height: int
    shapes: tuple[Shape, ...]
    cell: tuple[int, int] = (8, 16)
    """How many pixels one letter of a terminal stands for."""

    def svg(self, *, styled: bool = True) -> str:
        """Return it as SVG text; unstyled, for a page whose own style sheet has ``STYLE``."""
        size = f'width="{self.width}" height="{self.height}"'
        view = f'xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {self.height}"'
        said = f"<desc>{escape(self.description)}</desc>" if self.description else ""
        fits = 'style="max-width:100%;height:auto"' if styled else 'class="picture"'
        style = f"<style>{STYLE}</style>" if styled else ""
        return "\n".join(
            [
                f'<svg {view} {size} role="img" {fits}>',
                f'<rect class="page" {size} rx="8"/>',
                f"<title>{escape(self.title)}</title>{said}{style}",
                *(shape.svg() for shape in self.shapes),
                "</svg>\n",
            ]
        )

    def __str__(self) -> str:
        """Show it as lines of letters and blocks."""
        return as_blocks(self.shapes, self.cell)

    def _repr_html_(self) -> str:
        return self.svg()

    def _repr_mimebundle_(self, **_wanted: object) -> dict[str, str]:
        """Answer IPython, which would ask a dataclass for its ``repr`` first."""
        return {"text/plain": str(self), "text/html": self.svg()}
