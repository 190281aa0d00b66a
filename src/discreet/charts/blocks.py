"""Pictures on a terminal: a letter for each cell of the page.

Trust: public.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import pairwise
from typing import Final

from discreet.charts.shapes import GRID, HALO, INK, Area, Marker, Points, Shape, Strokes, Words

_LINES: Final = "•o×+"
_MARKERS: Final = "●■▲◆"
_FAINT: Final = 0.4
_BASELINE: Final = 4

Cells = dict[tuple[int, int], str]


def as_blocks(shapes: Iterable[Shape], cell: tuple[int, int]) -> str:
    """Draw shapes as lines of text; words are written last, so that nothing covers them.

    >>> from discreet.charts.shapes import Marker
    >>> as_blocks([Marker(at=(4, 8), color=0), Marker(at=(12, 8), color=0, ring=True)], (8, 16))
    '●○'
    """
    drawn: Cells = {}
    ordered = sorted(shapes, key=lambda shape: isinstance(shape, Words))
    for shape in ordered:
        match shape:
            case Strokes():
                _stroke(drawn, shape, cell)
            case Area():
                _fill(drawn, shape, cell)
            case Marker():
                mark = "○" if shape.ring else _MARKERS[max(shape.color, 0) % 4]
                drawn[_cell(shape.at, cell)] = mark
            case Words():
                _write(drawn, shape, cell)
    return _lines(drawn)


def _cell(point: tuple[float, float], cell: tuple[int, int]) -> tuple[int, int]:
    return int(point[1] // cell[1]), int(point[0] // cell[0])


def _stroke(drawn: Cells, shape: Strokes, cell: tuple[int, int]) -> None:
    if shape.color in {GRID, HALO}:
        return
    for line in shape.lines:
        for start, end in pairwise(line):
            mark = _LINES[shape.color % 4] if shape.color != INK else _axis(start, end)
            for point in _between(start, end, cell):
                drawn[_cell(point, cell)] = mark


def _axis(start: tuple[float, float], end: tuple[float, float]) -> str:
    return "│" if start[0] == end[0] else "─"


def _between(start: tuple[float, float], end: tuple[float, float], cell: tuple[int, int]) -> Points:
    across, up = abs(end[0] - start[0]) / cell[0], abs(end[1] - start[1]) / cell[1]
    steps = max(1, math.ceil(2 * max(across, up)))
    return [
        (
            start[0] + (end[0] - start[0]) * step / steps,
            start[1] + (end[1] - start[1]) * step / steps,
        )
        for step in range(steps + 1)
    ]


def _fill(drawn: Cells, shape: Area, cell: tuple[int, int]) -> None:
    outline = shape.outline
    xs, ys = [x for x, _ in outline], [y for _, y in outline]
    mark = "█" if shape.opacity > _FAINT else "░"
    for row in range(int(min(ys) // cell[1]), int(max(ys) // cell[1]) + 1):
        for column in range(int(min(xs) // cell[0]), int(max(xs) // cell[0]) + 1):
            center = ((column + 0.5) * cell[0], (row + 0.5) * cell[1])
            if _inside(center, outline):
                drawn[row, column] = mark


def _inside(point: tuple[float, float], outline: Points) -> bool:
    """Whether a ray to the right of a point crosses the outline an odd number of times."""
    x, y = point
    odd = False
    for (x1, y1), (x2, y2) in pairwise([*outline, outline[0]]):
        if (y1 > y) != (y2 > y) and x < x1 + (y - y1) * (x2 - x1) / (y2 - y1):
            odd = not odd
    return odd


def _write(drawn: Cells, shape: Words, cell: tuple[int, int]) -> None:
    row, column = _cell((shape.at[0], shape.at[1] - _BASELINE), cell)
    length = len(shape.text)
    back = {"start": 0, "middle": length // 2, "end": length}[shape.anchor]
    for place, letter in enumerate(shape.text):
        if shape.upright:  # downward, which is how terminals are read
            drawn[max(0, row - length // 2) + place, 0] = letter
        elif letter != " " or not shape.mono:
            drawn[row, max(0, column - back) + place] = letter


def _lines(drawn: Cells) -> str:
    if not drawn:
        return ""
    rows = range(max(row for row, _ in drawn) + 1)
    wide = max(column for _, column in drawn) + 1
    lines = ["".join(drawn.get((row, column), " ") for column in range(wide)) for row in rows]
    return "\n".join(line.rstrip() for line in lines).strip("\n")
