"""Pictures as PNG, for slides and documents that take no SVG.

Trust: public.  Painted by matplotlib, which is an extra, from the same shapes as all else.
"""

from __future__ import annotations

import io
from typing import Any, Final

from discreet.charts import LIGHT, Area, Marker, Picture, Strokes, Words
from discreet.charts.picture import GRID_COLOR, INK_COLOR, PAGE
from discreet.charts.shapes import GRID, HALO, INK
from discreet.release.frames import missing_extra

_INCH: Final = 100
"""Pixels of the picture to an inch of the figure."""
_SHARP: Final = 2
_POINT: Final = 72 / _INCH
_NAMED: Final = {INK: INK_COLOR, GRID: GRID_COLOR, HALO: PAGE}


def png(picture: Picture) -> bytes:
    """Return a picture as the bytes of a PNG file, twice as sharp as its size in pixels.

    >>> from discreet.noise import DiscreteLaplace
    >>> from discreet.explain.pictures.quantile_dots import quantile_dots
    >>> png(quantile_dots(DiscreteLaplace(scale=2)))[1:4]
    b'PNG'
    """
    try:
        from matplotlib.figure import Figure  # noqa: PLC0415  an optional library
    except ImportError:
        missing_extra("matplotlib", "plots")
    size = (picture.width / _INCH, picture.height / _INCH)
    figure = Figure(figsize=size, dpi=_INCH * _SHARP, facecolor=PAGE)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, picture.width), ylim=(picture.height, 0))
    axes.set_axis_off()
    for order, shape in enumerate(picture.shapes):
        match shape:
            case Strokes():
                _stroke(axes, shape, order)
            case Area():
                _fill(axes, shape, order)
            case Marker():
                _mark(axes, shape, order)
            case Words():
                _write(axes, shape, order)
    written = io.BytesIO()
    said = {"Title": picture.title, "Description": picture.description, "Software": None}
    figure.savefig(written, format="png", dpi="figure", metadata=said)
    return written.getvalue()


def _color(color: int) -> str:
    return _NAMED[color] if color in _NAMED else LIGHT[color % len(LIGHT)]


def _stroke(axes: Any, shape: Strokes, order: int) -> None:
    width = (5 if shape.color == HALO else 2.2 if shape.bold else 1) * _POINT
    pattern: Any = "-"
    if shape.dash:
        pattern = (0, tuple(float(part) * _POINT / width for part in shape.dash.split()))
    for line in shape.lines:
        xs, ys = zip(*line, strict=True)
        axes.plot(
            xs, ys, color=_color(shape.color), linewidth=width, linestyle=pattern, zorder=order
        )


def _fill(axes: Any, shape: Area, order: int) -> None:
    xs, ys = zip(*shape.outline, strict=True)
    axes.fill(xs, ys, color=_color(shape.color), alpha=shape.opacity, linewidth=0, zorder=order)


def _mark(axes: Any, shape: Marker, order: int) -> None:
    if shape.outline is not None:
        xs, ys = zip(*shape.outline, strict=True)
        axes.fill(xs, ys, color=_color(shape.color), linewidth=0, zorder=order)
        return
    axes.plot(
        [shape.at[0]],
        [shape.at[1]],
        marker="o",
        markersize=2 * shape.radius * _POINT,
        markerfacecolor="none" if shape.ring else _color(shape.color),
        markeredgecolor=INK_COLOR if shape.ring else "none",
        markeredgewidth=_POINT,
        zorder=order,
    )


def _write(axes: Any, shape: Words, order: int) -> None:
    axes.text(
        *shape.at,
        shape.text,
        ha={"start": "left", "middle": "center", "end": "right"}[shape.anchor],
        va="center" if shape.upright else "baseline",
        rotation=90 if shape.upright else 0,
        fontsize=(13.5 if shape.bold and not shape.mono else 12) * _POINT,  # letters are wide
        fontweight="bold" if shape.bold else "normal",
        family="monospace" if shape.mono else "sans-serif",
        color=INK_COLOR,
        parse_math=False,
        zorder=order,
    )
