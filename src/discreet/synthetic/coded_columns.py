"""How the values of one column become codes, and codes become values again.

Trust: kernel.  Which codes there are is decided by public facts alone: a code that the data had
added would show who is in it.  Turning codes into values is post-processing.

Definition.  A column has the codes 0, 1, ..., in the order of its categories, bins or periods; the
last code is NULL if the column may be NULL.  Bin i holds the numbers from its edge up to, and
without, the next edge; of numbers that are not whole, the last bin holds its upper edge as well.
Numbers outside the bounds count in the first or the last bin, as clamping would have it.  Days
outside the periods, and values that are no category, have no code: their rows are left out.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from fractions import Fraction
from itertools import pairwise
from typing import Any, Final, assert_never, final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.errors import OutOfRange
from discreet.noise import Entropy
from discreet.query.types import Type
from discreet.requests.raw_totals import ARROW_TYPES, arrow_numbers, arrow_values
from discreet.requests.table_schema import KeyValue

_NULL: Final = "NULL"
_FRACTION_BITS: Final = 53
_DAY: Final = timedelta(days=1)
_SECONDS: Final = 86_400
_TICKS: Final = 10**6
_WORD: Final = (1 << 64) - 1
_BELOW_WORD: Final = float((1 << 64) - (1 << 11))  # the largest float below 2**64

Integers = NDArray[np.integer[Any]]


def _fractions(count: int, stream: Entropy) -> NDArray[np.float64]:
    """Return numbers from 0 up to, and without, 1."""
    words = stream.words(count, _FRACTION_BITS)
    return np.ldexp(words.astype(np.float64), -_FRACTION_BITS)


@final
@dataclass(frozen=True, slots=True)
class Categories:
    """Listed values, one code each.

    >>> Categories(("A", "B")).size
    2
    """

    values: tuple[KeyValue, ...]

    @property
    def size(self) -> int:
        """How many codes there are."""
        return len(self.values)

    @property
    def one_to_one(self) -> bool:
        """Whether each code stands for one value: it does."""
        return True

    def code(self, value: object) -> int | None:
        """Return the code of a value, None if it is not listed."""
        same = (place for place, listed in enumerate(self.values) if listed == value)
        return next(same, None)

    def label(self, code: int) -> str:
        """Return the value as text."""
        return str(self.values[code])

    def decoded(self, codes: Integers, kind: Type, stream: Entropy) -> pa.Array:  # noqa: ARG002
        """Return the values of codes, and NULL for the code after the last."""
        values = arrow_values([*self.values, None], ARROW_TYPES[kind])
        return values.take(arrow_numbers(codes.astype(np.int64), pa.int64()))


@final
@dataclass(frozen=True, slots=True)
class NumberBins:
    """Bins between rising edges; ``whole`` says that values are whole numbers.

    >>> ages = NumberBins(edges=tuple(map(Fraction, (0, 18, 65, 110))), whole=True)
    >>> ages.size, ages.code(18), ages.code(200), ages.label(2)
    (3, 1, 2, '[65, 109]')
    """

    edges: tuple[Fraction, ...]
    whole: bool

    def __post_init__(self) -> None:
        """Refuse edges that do not rise, and bins without a whole number."""
        _check_rising([math.ceil(edge) for edge in self.edges] if self.whole else self.edges)

    @property
    def exact(self) -> bool:
        """Whether each bin holds one value."""
        return self.whole and all(high - low == 1 for low, high in pairwise(self.edges))

    @property
    def size(self) -> int:
        """How many bins there are."""
        return len(self.edges) - 1

    @property
    def one_to_one(self) -> bool:
        """Whether each bin holds one whole number."""
        ends = [math.ceil(edge) for edge in self.edges]
        return self.whole and all(high == low + 1 for low, high in pairwise(ends))

    def code(self, value: object) -> int | None:
        """Return the bin of a number; one outside the bounds is clamped."""
        if isinstance(value, bool) or not isinstance(value, int | float | Fraction):
            return None
        if isinstance(value, float) and math.isnan(value):
            return None
        return bisect_right(self.edges[1:-1], value)

    def label(self, code: int) -> str:
        """Return the ends of a bin."""
        low, high = self.edges[code], self.edges[code + 1]
        if self.whole:
            first, stop = math.ceil(low), math.ceil(high)
            return str(first) if stop == first + 1 else f"[{first}, {stop - 1}]"
        end = "]" if code == self.size - 1 else ")"
        return f"[{float(low):.6g}, {float(high):.6g}{end}"

    def decoded(self, codes: Integers, kind: Type, stream: Entropy) -> pa.Array:
        """Return numbers that are uniform within their bins, and never outside the bounds."""
        null, codes = codes == self.size, np.minimum(codes, self.size - 1)
        part = _fractions(len(codes), stream)
        if self.whole:
            ends = [math.ceil(edge) for edge in self.edges]
            first = np.array([end & _WORD for end in ends[:-1]], dtype=np.uint64)[codes]
            wide = [min(high - low, _WORD) for low, high in pairwise(ends)]
            width = np.array(wide, dtype=np.uint64)[codes]
            steps = np.minimum(np.floor(part * width), _BELOW_WORD).astype(np.uint64)
            steps = np.minimum(steps, width - np.uint64(1))
            return arrow_numbers((first + steps).view(np.int64), ARROW_TYPES[kind], null)
        low = np.array([float(edge) for edge in self.edges[:-1]])[codes]
        high = np.array([float(edge) for edge in self.edges[1:]])[codes]
        inside = np.minimum(np.maximum(low + part * (high - low), low), high)
        return arrow_numbers(inside, ARROW_TYPES[kind], null)


@final
@dataclass(frozen=True, slots=True)
class Periods:
    """Periods between rising days: each from its first day up to, and without, the next.

    >>> half = Periods(edges=(date(2024, 1, 1), date(2024, 2, 1), date(2024, 3, 1)))
    >>> half.code(date(2024, 2, 29)), half.code(date(2024, 3, 1)), half.label(0)
    (1, None, '2024-01-01 to 2024-01-31')
    """

    edges: tuple[date, ...]
    moments: bool = False

    def __post_init__(self) -> None:
        """Refuse edges that do not rise."""
        _check_rising(self.edges)

    @property
    def size(self) -> int:
        """How many periods there are."""
        return len(self.edges) - 1

    @property
    def one_to_one(self) -> bool:
        """Whether each period is one day, and values are days."""
        days = all(high == low + _DAY for low, high in pairwise(self.edges))
        return days and not self.moments

    def code(self, value: object) -> int | None:
        """Return the period of a day or a moment, None outside all of them."""
        if not isinstance(value, date):
            return None
        day = value.date() if isinstance(value, datetime) else value
        inside = self.edges[0] <= day < self.edges[-1]
        return bisect_right(self.edges, day) - 1 if inside else None

    def label(self, code: int) -> str:
        """Return the first and the last day of a period."""
        first, last = self.edges[code], self.edges[code + 1] - _DAY
        return first.isoformat() if first == last else f"{first.isoformat()} to {last.isoformat()}"

    def decoded(self, codes: Integers, kind: Type, stream: Entropy) -> pa.Array:
        """Return days, or moments to the second, that are uniform within their periods."""
        null, codes = codes == self.size, np.minimum(codes, self.size - 1)
        days = np.array(self.edges, dtype="datetime64[D]").astype(np.int64)
        unit, tick = (_SECONDS, _TICKS) if self.moments else (1, 1)
        start, span = unit * days[codes], unit * (days[codes + 1] - days[codes])
        steps = np.floor(_fractions(len(codes), stream) * span).astype(np.int64)
        values = tick * (start + np.minimum(steps, span - 1))
        width = np.int64 if self.moments else np.int32
        return arrow_numbers(values.astype(width), ARROW_TYPES[kind], null)


def _check_rising(edges: Sequence[Any]) -> None:
    if len(edges) < 2 or any(low >= high for low, high in pairwise(edges)):
        raise OutOfRange(
            what="edges of bins do not rise.",
            why="each value has to lie in one bin.",
            do="give at least two edges, each above the one before.",
        )


Coding = Categories | NumberBins | Periods


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class CodedColumn:
    """A column, its type, how its values are coded, and whether NULL is its last code.

    >>> wards = Categories(("A", "B"))
    >>> ward = CodedColumn(name="ward", type=Type.TEXT, coding=wards, nullable=True)
    >>> ward.size, ward.code(None), ward.label(2)
    (3, 2, 'NULL')
    """

    name: str
    type: Type
    coding: Coding
    nullable: bool

    @property
    def size(self) -> int:
        """How many codes there are."""
        return self.coding.size + self.nullable

    @property
    def one_to_one(self) -> bool:
        """Whether rows with different values have different codes."""
        return self.coding.one_to_one

    def code(self, value: object) -> int | None:
        """Return the code of a value; None where its row would be left out."""
        if value is None:
            return self.coding.size if self.nullable else None
        return self.coding.code(value)

    def label(self, code: int) -> str:
        """Return a code in words."""
        return _NULL if code == self.coding.size else self.coding.label(code)

    def with_edges(self, edges: tuple[Fraction, ...]) -> CodedColumn:
        """Return the same column of numbers in other bins."""
        match self.coding:
            case NumberBins(whole=whole):
                return replace(self, coding=NumberBins(edges=edges, whole=whole))
            case Categories() | Periods():
                message = f"{self.name} is no column of numbers in bins"
                raise TypeError(message)
            case _:
                assert_never(self.coding)

    def decoded(self, codes: Integers, stream: Entropy) -> pa.Array:
        """Return codes as values of the type of the column, as an Arrow array."""
        return self.coding.decoded(codes, self.type, stream)
