"""How the numbers of an answer are shown: as many digits as their error leaves, and marks.

Trust: public.

Definition.  A number is shown as ``v ± h`` if its interval reaches about as far to both sides, else
as ``v [low, high]``.  Digits go down to the second digit of h.  It is *weak* if h, the distance to
the farther end, is more than a quarter of it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, final

from discreet.query.types import Type
from discreet.release.columns import ReleasedColumn

__all__ = ["WEAK", "Cell", "cells", "plain"]

WEAK: Final = 0.25
_LOPSIDED: Final = 0.1
_LONGEST: Final = 60


@final
@dataclass(frozen=True, slots=True)
class Cell:
    """A text, whether it tells between what the number lies, and whether its error is large."""

    text: str
    ends: bool = False
    weak: bool = False


def cells(column: ReleasedColumn, rows: int) -> list[Cell]:
    """Return the first cells of a column.

    >>> import pyarrow as pa
    >>> visits = ReleasedColumn(name="n", type=Type.INTEGER, values=pa.array([120, 7]),
    ...                         low=pa.array([114, 1]), high=pa.array([126, 13]))
    >>> [(cell.text, cell.weak) for cell in cells(visits, 10)]
    [('120 ± 6', False), ('7 ± 6', True)]
    """
    values = column.values.slice(0, rows).to_pylist()
    if column.low is None or column.high is None or column.listed:
        return [Cell(plain(value)) for value in values]
    lows, highs = (end.slice(0, rows).to_pylist() for end in (column.low, column.high))
    return [_cell(*each, column.type) for each in zip(values, lows, highs, strict=True)]


def plain(value: Any) -> str:
    r"""Show a value without an interval; what would move the cursor of a terminal is escaped.

    >>> plain(None), plain(2.0), plain([1.5, None]), plain(chr(27) + "[2J")
    ('NULL', '2', '[1.5, NULL]', '\\x1b[2J')
    """
    match value:
        case None:
            return "NULL"
        case bool():
            return str(value).lower()
        case float():
            return f"{value:.6g}"
        case str():
            shown = value if value.isprintable() else repr(value)[1:-1]
            return shown if len(shown) <= _LONGEST else shown[: _LONGEST - 1] + "…"
        case list():
            return f"[{', '.join(map(plain, value))}]"
        case _:
            return str(value)


def _cell(value: Any, low: Any, high: Any, kind: Type) -> Cell:
    if value is None or low is None or high is None:
        return Cell(plain(value))
    half = max(high - value, value - low)
    weak = half > WEAK * abs(value)
    places = 0 if kind is Type.INTEGER else _places(half)
    if abs((high - value) - (value - low)) <= _LOPSIDED * (high - low):
        return Cell(f"{_number(value, places)} ± {_number(half, places)}", ends=True, weak=weak)
    ends: Sequence[str] = [_number(end, places) for end in (low, high)]
    return Cell(f"{_number(value, places)} [{ends[0]}, {ends[1]}]", ends=True, weak=weak)


def _places(half: float) -> int | None:
    """Return how many decimals are worth showing, None for powers of ten."""
    if not 1e-12 < half < 1e15:
        return None
    return max(0, 1 - math.floor(math.log10(half)))


def _number(value: float, places: int | None) -> str:
    if places is None or abs(value) >= 1e15:
        return f"{value:.6g}"
    return f"{value:.{places}f}"
