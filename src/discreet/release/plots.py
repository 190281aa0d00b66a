"""Answers as bars with error bars.

Trust: public.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from discreet.errors import UnknownName
from discreet.release.cells import plain
from discreet.release.columns import ReleasedColumn
from discreet.release.frames import missing_extra

__all__ = ["bars"]


def bars(columns: Sequence[ReleasedColumn], name: str | None) -> Any:
    """Draw the column of this name, or the first one with intervals; return the axes."""
    try:
        from matplotlib import pyplot as plt  # noqa: PLC0415  an optional library
    except ImportError:
        missing_extra("matplotlib", "plots")
    column = _drawn(columns, name)
    keys = [each for each in columns if each.low is None]
    rows = zip(*(key.values.to_pylist() for key in keys), strict=True)
    labels = [", ".join(map(plain, row)) for row in rows] if keys else [plain(column.name)]
    values, errors = _heights(column)
    _, axes = plt.subplots()
    axes.bar(range(len(values)), values, yerr=errors, capsize=3)
    axes.set_xticks(range(len(values)), labels, rotation=45 if len(values) > 6 else 0, ha="right")
    axes.set_ylabel(plain(column.name))
    axes.set_xlabel(plain(", ".join(key.name for key in keys)))
    return axes


def _drawn(columns: Sequence[ReleasedColumn], name: str | None) -> ReleasedColumn:
    drawable = [each for each in columns if each.low is not None and not each.listed]
    found = [each for each in drawable if name in {None, each.name}]
    if found:
        return found[0]
    raise UnknownName(
        what="there is no such column of numbers to draw.",
        why="bars are drawn for numbers with noise.",
        do=f"use one of: {', '.join(each.name for each in drawable) or '(there are none)'}.",
    )


def _heights(column: ReleasedColumn) -> tuple[list[float], list[list[float]]]:
    """Return values, and how far intervals reach down and up; NULL is nothing."""
    assert column.low is not None  # noqa: S101 (only such columns are drawn)
    assert column.high is not None  # noqa: S101
    values, lows, highs = (array.to_pylist() for array in (column.values, column.low, column.high))
    heights = [0.0 if value is None else float(value) for value in values]
    down = [0.0 if low is None else max(0.0, v - low) for v, low in zip(heights, lows, strict=True)]
    up = [0.0 if top is None else max(0.0, top - v) for v, top in zip(heights, highs, strict=True)]
    return heights, [down, up]
