"""Rows of a table as short integer vectors: the only view of people that models have.

Trust: kernel (T2, T7).  The contribution of one row to any sum is bounded here, for any content of
the row.

Definition.  A row has *features*: a number with declared bounds is clamped to them and becomes a
integer of steps from -2**14 to 2**14; a column with declared categories becomes one entry of 2**14
in the place of its category and zeros elsewhere.  A *constant* of 2**14 comes last if a model
has an intercept.  Rows with a missing number, with a value outside its categories or with a label
that is not among the declared classes are left out.

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
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Final, final

import numpy as np
from numpy.typing import NDArray

from discreet.extend import KeyValue

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
        """The value of zero steps."""
        return float((self.low + self.high) / 2)

    @property
    def half(self) -> float:
        """How far the ends are from the middle."""
        return float((self.high - self.low) / 2)

    def cells(self, values: NDArray[Any]) -> Floats:
        """Return numbers as steps; NaN stays NaN."""
        return _cells(self, values)

    def write(self, values: Any, lines: Floats) -> None:
        """Write clamped numbers into one line, as steps; a warning would reveal single ones.

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
        """Return one entry a row; NaN for a value outside the categories."""
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
    """Return numbers; any other value becomes NaN, and its row is left out."""
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


_RUN: Final = 1 << 15  # numbers that are worked on at once: more leave the caches


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Encoding:
    """How rows become integer vectors, from declared facts alone.

    ``target`` are the bounds of a number that is learned, and ``classes`` the labels of a
    classifier; at most one of them is given.

    >>> from fractions import Fraction
    >>> two = Encoding(features=(NumberColumn(Fraction(-1), Fraction(1)),) * 2, constant=True)
    >>> rows = two.rows(np.array([[0.5, 9.0], [0.0, float("nan")]]))
    >>> rows.cells.tolist(), rows.squared == 3 * LEVELS**2
    ([[8192.0, 16384.0, 16384.0]], True)
    """

    features: tuple[Column, ...]
    target: NumberColumn | None = None
    classes: tuple[KeyValue, ...] | None = None
    constant: bool = False
    width: int = field(init=False, compare=False, repr=False)
    """How many entries a row has: features, the target and the constant."""
    squared: int = field(init=False, compare=False, repr=False)
    """A bound on the squared norm of a row."""

    def __post_init__(self) -> None:
        """Count entries, once."""
        extra = int(self.target is not None) + int(self.constant)
        width = sum(column.width for column in self.features) + extra
        object.__setattr__(self, "width", width)
        object.__setattr__(self, "squared", (len(self.features) + extra) * LEVELS**2)

    @property
    def scales(self) -> tuple[Floats, Floats]:
        """Half-widths and middles of all entries but the constant; 1 and 0 of a category."""
        half: list[float] = []
        middle: list[float] = []
        for column in (*self.features, *(() if self.target is None else (self.target,))):
            number = isinstance(column, NumberColumn)
            half += [column.half] if number else [1.0] * column.width
            middle += [column.middle] if number else [0.0] * column.width
        return np.array(half), np.array(middle)

    def rows(
        self,
        columns: NDArray[Any] | Sequence[Any],
        labels: Values | None = None,
        *,
        counts: Integers | None = None,
    ) -> BoundedRows:
        """Turn values into bounded rows: a matrix or one array a column, and a label or target.

        Columns of categories, and labels, may be listed values.
        ``counts`` says how often each row is there; once by default.
        """
        count = len(columns) if isinstance(columns, np.ndarray) else len(columns[0])
        lines, start = np.empty((self.width, count)), 0  # a line a column, which is faster
        written = self._runs(columns, count)
        if self.target is not None and labels is not None:
            written.append((self.target, labels, 1))
        for column, values, height in written:
            column.write(values, lines[start : start + height])
            start += height
        lines[start:] = float(LEVELS)
        codes = np.zeros(count, np.int64)
        if self.classes is not None and labels is not None:
            codes = codes_of(labels, self.classes)
        kept = ~np.isnan(lines.sum(axis=0)) & (codes >= 0)
        if counts is not None or not kept.all():
            often = kept if counts is None else np.where(kept, counts, 0)
            lines, codes = np.repeat(lines, often, axis=1), np.repeat(codes, often)
        return BoundedRows(lines.T, codes, self.squared)

    def _documents(self) -> list[list[object]]:
        """Return all columns in plain JSON, one after another; most are like the one before."""
        found: list[list[object]] = []
        before: Column | None = None
        for column in self.features:
            found.append(found[-1] if column is before else column.document())
            before = column
        return found

    def _runs(
        self, columns: NDArray[Any] | Sequence[Any], count: int
    ) -> list[tuple[Column, Values, int]]:
        """Return features with their values and lines: numbers with the same bounds in one call."""
        matrix = columns.T if isinstance(columns, np.ndarray) else None
        most = _RUN // max(1, count) if matrix is not None and matrix.dtype.kind in "iufb" else 0
        found: list[tuple[Column, Values, int]] = []
        each = columns if matrix is None else matrix
        for place, (column, values) in enumerate(zip(self.features, each, strict=True)):
            last, _, height = found[-1] if found else (None, None, 0)
            same = last is column and isinstance(column, NumberColumn)
            if matrix is not None and same and height < most:
                found[-1] = column, matrix[place - height : place + 1], height + 1
            else:
                found.append((column, values, column.width))
        return found

    def document(self) -> dict[str, object]:
        """Return all of it in plain JSON."""
        return {
            "features": self._documents(),
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
        lines, most = cells.T, max(1, _RUN // max(1, len(cells)))
        for start in range(0, len(lines), most):
            part = lines[start : start + most]
            odd |= (part != np.rint(part)).any(axis=0)
        self.cells = np.where(odd[:, None], 0.0, cells) if odd.any() else cells
        self.codes = codes
        self.squared = squared

    def __repr__(self) -> str:
        """Show nothing: these rows are not protected by anything yet."""
        return "BoundedRows(hidden)"
