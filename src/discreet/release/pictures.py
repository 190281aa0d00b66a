"""Answers as pictures: a bar for each number, its interval a line, a dot for each of a list.

Trust: public.  Drawn with matplotlib, which is an extra.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, Final

from discreet.errors import UnknownName
from discreet.plan.statistics.truncation import limits_bind
from discreet.query.expressions import Column, walk
from discreet.release.display import plain
from discreet.release.frames import ReleasedColumn, missing_extra

if TYPE_CHECKING:  # for annotations alone
    from discreet.release.release import Release

_LONGEST: Final = 60
_TICKS: Final = 25
_AS_IT_IS: Final = {"parse_math": False}  # a dollar is a dollar


def bars(release: Release, name: str | None) -> tuple[Any, ...]:
    """Draw the measure of this name, or all of them one above the other; return their axes."""
    try:
        from matplotlib import pyplot as plt  # noqa: PLC0415  an optional library
    except ImportError:
        missing_extra("matplotlib", "plots")
    keys, measures, others = keys_and_measures(release)
    drawn = measures if name is None else [each for each in measures if each.name == name][:1]
    if not drawn:
        raise UnknownName(
            what=f"there is no {'number' if name is None else 'such column of numbers'} to draw.",
            why="a bar shows a number; texts, days and truth values have no height.",
            do=f"use one of: {', '.join(each.name for each in measures) or '(there are none)'}.",
        )
    size = (6.4, 4.8 if len(drawn) == 1 else 1 + 2.2 * len(drawn))
    figure, grid = plt.subplots(
        len(drawn), sharex=True, squeeze=False, figsize=size, layout="constrained"
    )
    axes = tuple(grid[:, 0])
    lines = [_draw(each, column) for each, column in zip(axes, drawn, strict=True)]
    figure.align_ylabels(axes)
    labels, step = group_labels(keys, len(release)), 1 + len(release) // _TICKS
    turned = len(labels) > 6 or sum(map(len, labels)) > _LONGEST
    turn: dict[str, Any] = {"rotation": 45, "ha": "right"} if turned else {}
    axes[-1].set_xticks(range(0, len(labels), step), labels[::step], **turn, **_AS_IT_IS)
    axes[-1].set_xlabel(plain(", ".join(key.name for key in keys)), **_AS_IT_IS)
    beside = 0.6 if len(release) > 1 else 1.5  # a single bar is no wall
    axes[-1].set_xlim(-beside, max(len(release), 1) - 1 + beside)
    said = _below(release, lines=any(lines), left_out=() if name is not None else others)
    figure.supxlabel("\n".join(said), fontsize="small", **_AS_IT_IS)
    return axes


def keys_and_measures(release: Release) -> tuple[list[ReleasedColumn], ...]:
    """Return the columns that name groups, those that can be drawn, and the others.

    After ``map``, numbers that are no keys of the question are drawn, and other values name groups.
    """
    slots = {estimate.slot for estimate in release.plan.estimates}
    layout = release.plan.layout
    noisy = {
        output.name: any(
            isinstance(node, Column) and node.name in slots
            for node in walk(layout.unfolded(output.expression))
        )
        for output in layout.outputs
    }
    keys: list[ReleasedColumn] = []
    measures: list[ReleasedColumn] = []
    others: list[ReleasedColumn] = []
    for column in release.columns:
        told = column.low is not None or noisy.get(column.name, True)
        if told and column.type.is_number:
            measures.append(column)
        else:
            (others if noisy.get(column.name, False) else keys).append(column)
    return keys, measures, others


def _below(release: Release, *, lines: bool, left_out: Sequence[ReleasedColumn]) -> Iterator[str]:
    """Yield what a reader of the picture should know."""
    if not release.private:
        yield "Not private: test mode."
    if lines:
        cut = "; limits may have cut more off" if limits_bind(release.plan.truncations) else ""
        percent = f"{float(100 * release.confidence):.6g} %"
        yield f"Lines are {percent} intervals for the noise alone{cut}."
    if left_out:
        names = plain(", ".join(column.name for column in left_out))
        yield f"Not drawn, because they are no numbers: {names}."


def group_labels(keys: Sequence[ReleasedColumn], rows: int) -> list[str]:
    """Return the keys of every row, or its number where several rows have no key."""
    if keys:
        values = zip(*(key.values.to_pylist() for key in keys), strict=True)
        return [", ".join(map(plain, row)) for row in values]
    return [] if rows == 1 else [str(number) for number in range(1, rows + 1)]


def _draw(axes: Any, column: ReleasedColumn) -> bool:
    """Draw numbers as bars, and lists of them as dots side by side; say whether lines are there.

    A NULL is written as such, and has neither.  An interval has a line if both its ends are known.
    """
    rows = len(column.values)
    cells = [
        [[cell] if not isinstance(cell, list) else cell for cell in array.to_pylist()]
        if array is not None
        else [[None]] * rows
        for array in (column.values, column.low, column.high)
    ]
    marks = [
        (row + 0.8 * ((place + 0.5) / len(cell) - 0.5), *mark)
        for row, (cell, *ends) in enumerate(zip(*cells, strict=True))
        for place, mark in enumerate(zip_longest(cell, *ends))
        if place < len(cell)
    ]
    known = [(at, value) for at, value, *_ in marks if _finite(value)]
    if column.listed:
        axes.plot(*zip(*known, strict=True) if known else ((), ()), "o", zorder=3)
    else:
        axes.bar([at for at, _ in known], [value for _, value in known])
    whole = [(at, *ends) for at, *ends in marks if all(map(_finite, ends))]
    if whole:
        middle = [(low + high) / 2 for _, _, low, high in whole]
        half = [abs(high - low) / 2 for _, _, low, high in whole]
        axes.errorbar([at for at, *_ in whole], middle, half, fmt="none", ecolor="0.2", capsize=3)
    for at, value, *_ in marks:
        if not _finite(value):
            axes.text(at, 0.02, plain(value), transform=axes.get_xaxis_transform(), ha="center")
    if not rows:
        axes.text(0.5, 0.5, "no rows", transform=axes.transAxes, ha="center")
        axes.set_yticks([])
    axes.set_ylabel(plain(column.name) + (" (in order)" if column.listed else ""), **_AS_IT_IS)
    return bool(whole)


def _finite(value: Any) -> bool:
    return value is not None and math.isfinite(value)
