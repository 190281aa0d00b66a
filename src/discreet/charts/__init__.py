"""Charts: small pictures as values, shown as SVG, as text of blocks, or handed to other painters.

Trust: public.
"""

from __future__ import annotations

from discreet.charts.chart import (
    BOTTOM,
    HEIGHT,
    LEFT,
    NARROW,
    RIGHT,
    SUPERSCRIPTS,
    TOP,
    WIDTH,
    Axis,
    Chart,
)
from discreet.charts.picture import DARK, LIGHT, STYLE, Picture
from discreet.charts.shapes import Area, Marker, Points, Shape, Strokes, Words

__all__ = [
    "BOTTOM",
    "DARK",
    "HEIGHT",
    "LEFT",
    "LIGHT",
    "NARROW",
    "RIGHT",
    "STYLE",
    "SUPERSCRIPTS",
    "TOP",
    "WIDTH",
    "Area",
    "Axis",
    "Chart",
    "Marker",
    "Picture",
    "Points",
    "Shape",
    "Strokes",
    "Words",
]
