"""Rows of a table as short integer vectors: the only form in which models see people.

Trust: kernel.  What one row can add to any sum is bounded here, whatever the row holds.

Definition.  A row has *features*: a number with declared bounds is clamped to them and becomes a
whole number of steps from -2**14 to 2**14; a column with declared categories becomes one entry of
2**14 in the place of its category and zeros elsewhere.  A *constant* of 2**14 comes last where a
model has an intercept.  Rows with a missing number, with a value outside its categories or with a
label that is not among the declared classes are left out.

Theorem (key ``integer-rows``).  Each row is an integer vector z with |z|**2 <= 4**14 m, where m
counts numbers, categorical columns and the constant.  For fixed integer vectors r(z) that depend on
the row and on public or released values alone, the sum of all r(z) is computed without rounding,
and adding or removing k rows moves it by at most k times the largest |r(z)|.
Proof.  Clamping bounds each entry, and a categorical column has at most one entry that is not zero.
Partial sums stay below 2**53 in each block of rows, where float64 products and sums of integers are
exact in any order; blocks are added up as 64-bit integers.  The triangle inequality does the rest.
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
_SMALL: Final = 127  # what every integer type of NumPy holds
_NARROWEST: Final = 2.0**-1000  # bounds closer together than that are nearly none


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

    def write(self, values: NDArray[Any], lines: Floats) -> None:
        """Write clamped numbers into one line, as steps."""
        steps, half = lines[0], self.half
        np.subtract(_floats(values), self.middle, out=steps)
        steps *= LEVELS / half if half > _NARROWEST else 1 / _NARROWEST
        np.rint(steps, out=steps)
        np.clip(steps, -float(LEVELS), float(LEVELS), out=steps)

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

    def write(self, values: NDArray[Any], lines: Floats) -> None:
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


def codes_of(values: NDArray[Any], declared: Sequence[object]) -> Integers:
    """Return the place of each value among the declared ones, or -1.

    >>> codes_of(np.array([2, 1, 7]), (1, 2)).tolist()
    [1, 0, -1]
    """
    if values.dtype.kind in "iubf" and len(declared) <= _FEW and all(map(_is_small, declared)):
        codes = np.full(values.shape, -1, np.int64)
        for place, value in reversed(list(enumerate(declared))):
            codes[values == value] = place
        return codes
    places: dict[object, int] = {}
    for place, value in enumerate(declared):
        places.setdefault(value, place)
    listed = values.tolist()
    found = [places.get(value, -1) if _is_key(value) else -1 for value in listed]
    return np.array(found, np.int64)


def _is_small(value: object) -> bool:
    """Whether NumPy compares a value with numbers of any type as Python does."""
    return isinstance(value, int) and 0 <= value <= _SMALL


def _is_key(value: object) -> bool:
    return value is None or isinstance(value, bool | int | float | str) or hasattr(value, "year")


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Encoding:
    """How rows become integer vectors, from declared facts alone.

    ``target`` are the bounds of a number that is learned, and ``classes`` the labels of those that
    are told apart; at most one of them is given.

    >>> two = Encoding(features=(NumberColumn(Fraction(-1), Fraction(1)),) * 2, constant=True)
    >>> rows = two.rows(np.array([[0.5, 9.0], [0.0, float("nan")]]))
    >>> rows.cells.tolist(), rows.squared == 3 * LEVELS**2
    ([[8192.0, 16384.0, 16384.0]], True)
    """

    features: tuple[Column, ...]
    target: NumberColumn | None = None
    classes: tuple[KeyValue, ...] | None = None
    constant: bool = False

    @property
    def width(self) -> int:
        """How many entries a row has: features, the target and the constant."""
        extra = int(self.target is not None) + int(self.constant)
        return sum(column.width for column in self.features) + extra

    @property
    def squared(self) -> int:
        """A bound on the squared norm of a row."""
        extra = int(self.target is not None) + int(self.constant)
        return (len(self.features) + extra) * LEVELS**2

    def rows(
        self,
        columns: NDArray[Any] | Sequence[NDArray[Any]],
        labels: NDArray[Any] | None = None,
        *,
        counts: Integers | None = None,
    ) -> BoundedRows:
        """Turn values into bounded rows: a matrix or one array a column, and a label or target.

        ``counts`` says how often each row is there; once by default.
        """
        each = list(columns.T) if isinstance(columns, np.ndarray) else list(columns)
        count = len(each[0])
        lines, start = np.empty((self.width, count)), 0  # a line a column, which is faster
        written = [*zip(self.features, each, strict=True)]
        if self.target is not None and labels is not None:
            written.append((self.target, labels))
        for column, values in written:
            column.write(values, lines[start : start + column.width])
            start += column.width
        lines[start:] = float(LEVELS)
        codes = np.zeros(count, np.int64)
        if self.classes is not None and labels is not None:
            codes = codes_of(labels, self.classes)
        kept = ~np.isnan(lines.sum(axis=0)) & (codes >= 0)
        if counts is not None or not kept.all():
            often = kept if counts is None else np.where(kept, counts, 0)
            lines, codes = np.repeat(lines, often, axis=1), np.repeat(codes, often)
        return BoundedRows(lines.T, codes, self.squared)

    def document(self) -> dict[str, object]:
        """Return all of it in plain JSON."""
        return {
            "features": [column.document() for column in self.features],
            "target": None if self.target is None else self.target.document(),
            "classes": None if self.classes is None else list(map(repr, self.classes)),
            "constant": self.constant,
        }


@final
class BoundedRows:
    """Integer rows, in float64, with norms of at most the root of ``squared``; shows nothing.

    A row that is longer, or holds no integers, becomes zero: it adds nothing to any sum.

    >>> BoundedRows(np.array([[3.0, 4.0], [4.0, 4.0]]), np.zeros(2, np.int64), 25).cells.tolist()
    [[3.0, 4.0], [0.0, 0.0]]
    """

    __slots__ = ("cells", "codes", "squared")

    def __init__(self, cells: Floats, codes: Integers, squared: int) -> None:
        """Take rows and the codes of their labels."""
        odd = ~(np.einsum("ij,ij->i", cells, cells) <= squared)
        nearest = np.empty(len(cells))
        for line in cells.T:
            odd |= line != np.rint(line, out=nearest)
        self.cells = np.where(odd[:, None], 0.0, cells) if odd.any() else cells
        self.codes = codes
        self.squared = squared

    def __repr__(self) -> str:
        """Show nothing: these rows are not protected by anything yet."""
        return "BoundedRows(hidden)"
