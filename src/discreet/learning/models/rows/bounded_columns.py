"""Columns of a table as bounded integers: numbers within bounds, and declared categories.

Trust: kernel.  What one cell can hold is bounded here, whatever the table holds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, final

import numpy as np
from numpy.typing import NDArray

from discreet.requests.table_schema import KeyValue

LEVELS: Final = 1 << 14
"""Steps between the middle of a number's bounds and either end."""

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_FEW: Final = 32  # values that are compared with a whole column, one by one
_PLAIN: Final = frozenset({bool, int, float, str, type(None)})
_SMALL: Final = 127  # what every integer type of NumPy holds
_NARROWEST: Final = 2.0**-1000  # bounds closer together than that are nearly none


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ListedValues:
    """A column as different values and the place of each row's among them; shows nothing.

    >>> codes_of(ListedValues(np.array(["A", "B"], object), np.array([1, 1, 0])), ("B",)).tolist()
    [0, 0, -1]
    """

    values: NDArray[Any]
    places: NDArray[Any]

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.places)

    def __repr__(self) -> str:
        """Show nothing: these values are not protected by anything yet."""
        return "ListedValues(hidden)"


Values = NDArray[Any] | ListedValues


@final
@dataclass(frozen=True, slots=True)
class NumberColumn:
    """A number that is clamped to declared bounds.

    >>> NumberColumn(Fraction(0), Fraction(10)).cells(np.array([5.0, 7.5, 99.0])).ravel().tolist()
    [0.0, 8192.0, 16384.0]
    """

    low: Fraction
    high: Fraction

    width = 1

    @property
    def middle(self) -> float:
        """What is zero steps."""
        return float((self.low + self.high) / 2)

    @property
    def half(self) -> float:
        """How far the ends are from the middle."""
        return float((self.high - self.low) / 2)

    def cells(self, values: NDArray[Any]) -> Floats:
        """Return numbers as steps; NaN stays NaN."""
        return _cells(self, values)

    def write(self, values: Any, lines: Floats) -> None:
        """Write clamped numbers into one line, as steps; a warning would tell of single ones.

        Several columns with these bounds take several lines.
        """
        half = self.half
        with np.errstate(all="ignore"):
            np.subtract(_floats(values), self.middle, out=lines)
            lines *= LEVELS / half if half > _NARROWEST else 1 / _NARROWEST
            np.rint(lines, out=lines)
            np.maximum(lines, -float(LEVELS), out=lines)
            np.minimum(lines, float(LEVELS), out=lines)

    def document(self) -> list[object]:
        """Return it in plain JSON."""
        return ["number", str(self.low), str(self.high)]


@final
@dataclass(frozen=True, slots=True)
class CategoryColumn:
    """A value that is one of declared categories.

    >>> CategoryColumn(("A", "B")).cells(np.array(["B", "C"], object)).tolist()
    [[0.0, 16384.0], [nan, nan]]
    """

    values: tuple[KeyValue, ...]

    @property
    def width(self) -> int:
        """How many features it has."""
        return len(self.values)

    def cells(self, values: NDArray[Any]) -> Floats:
        """Return one entry a row; NaN where a value is none of the categories."""
        return _cells(self, values)

    def write(self, values: Values, lines: Floats) -> None:
        """Write one line a category."""
        codes = codes_of(values, self.values)
        lines[:] = np.where(codes < 0, np.nan, 0.0)
        known = np.flatnonzero(codes >= 0)
        lines[codes[known], known] = LEVELS

    def document(self) -> list[object]:
        """Return it in plain JSON."""
        return ["categories", *map(repr, self.values)]


Column = NumberColumn | CategoryColumn


def _cells(column: Column, values: NDArray[Any]) -> Floats:
    lines = np.empty((column.width, len(values)))
    column.write(values, lines)
    return lines.T


def _floats(values: NDArray[Any]) -> Floats:
    """Return numbers; whatever is none is NaN, and its row is left out."""
    if values.dtype.kind in "iufb":
        return values.astype(np.float64, copy=False)
    return np.array([_float(value) for value in values.tolist()], np.float64)


def _float(value: object) -> float:
    try:
        return np.nan if value is None else float(value)  # type: ignore[arg-type]  # tried
    except (TypeError, ValueError, OverflowError):
        return np.nan


def codes_of(values: Values, declared: Sequence[object]) -> Integers:
    """Return the place of each value among the declared ones, or -1.

    >>> codes_of(np.array([2, 1, 7]), (1, 2)).tolist()
    [1, 0, -1]
    """
    if isinstance(values, ListedValues):
        return np.asarray(codes_of(values.values, declared)[values.places], np.int64)
    if values.dtype.kind in "iubf" and len(declared) <= _FEW and all(map(_is_small, declared)):
        codes = np.full(values.shape, -1, np.int64)
        for place, value in reversed(list(enumerate(declared))):
            codes[values == value] = place
        return codes
    places: dict[object, int] = {}
    for place, value in enumerate(declared):
        places.setdefault(value, place)
    listed = values.tolist()
    found = [
        places.get(value, -1) if type(value) in _PLAIN or _is_key(value) else -1 for value in listed
    ]
    return np.array(found, np.int64)


def _is_small(value: object) -> bool:
    """Whether NumPy compares a value with numbers of any type as Python does."""
    return isinstance(value, int) and 0 <= value <= _SMALL


def _is_key(value: object) -> bool:
    return value is None or isinstance(value, bool | int | float | str) or hasattr(value, "year")
