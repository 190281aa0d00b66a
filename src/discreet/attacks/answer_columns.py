"""Many answers of any kind, as named columns of numbers.

Trust: public.  A bound holds only if an event is the same function of an answer on both sides.

Definition.  An answer is taken apart: its *shape* (types, lengths, names, texts, the class of an
error) is one part, and the numbers in it are others, each named by its place.  Numbers in a text
count too: the rest of the text is its shape.  ``label`` is a hash of both.
Everything here is a function of one answer alone, independent of the answers drawn with it.  So
integers and floats have columns of their own, and columns are joined by name.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final, NamedTuple, final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.attacks.event_words import form_words, listed, place_words, shortened
from discreet.attacks.subjects import Answers
from discreet.errors import WrongKind

_NUMBER: Final = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
_LARGEST_INTEGER: Final = 1 << 63
_LONGEST: Final = 4096
_PACKED: Final = ("tolist", "to_list", "to_pylist", "to_arrow", "__arrow_c_stream__")
_MIX: Final = np.uint64(0x9E3779B97F4A7C15)


class Numbers(NamedTuple):
    """The numbers at one place, all int64 or all float64, and which answers have one there."""

    values: NDArray[Any]
    present: NDArray[np.bool_]


@final
@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """Answers taken apart.

    Attributes:
        n: how many answers.
        numbers: columns by the names of their places; a name that ends in # is of integers.
        shape: a hash of the shape of each answer.
        label: a hash of each whole answer.
        answers: the answers as they came, unless they came as arrays.
    """

    n: int
    numbers: Mapping[str, Numbers]
    shape: NDArray[np.int64]
    label: NDArray[np.int64]
    answers: Sequence[Any] = ()

    def part(self, start: int, stop: int) -> Columns:
        """Return the answers from one place on to another."""
        chosen = slice(start, stop)
        numbers = {
            name: Numbers(values[chosen], present[chosen])
            for name, (values, present) in self.numbers.items()
        }
        shape, label = self.shape[chosen], self.label[chosen]
        return Columns(len(shape), numbers, shape, label, self.answers[chosen])

    def form_words(self, row: int) -> str:
        """Say what one answer is without its numbers."""
        if self.answers:
            parts = _parts(self.answers[row], "")
            return form_words([(at, part) for at, part in parts if isinstance(part, str)])
        places = [place for place, column in self.numbers.items() if column.present[row]]
        return f"{listed([place_words(place) for place in places], 'and')} alone"

    def answer_words(self, row: int) -> str:
        """Say what one answer is."""
        if self.answers:
            return shortened(repr(self.answers[row]))
        there = [
            (place_words(place), column.values[row])
            for place, column in self.numbers.items()
            if column.present[row]
        ]
        told = [f"{value:g}" if len(there) == 1 else f"{at} {value:g}" for at, value in there]
        return listed(told, "and")


def columns_of(answers: Answers) -> Columns:
    """Take answers apart."""
    if isinstance(answers, Mapping):
        return _from_arrays(answers)
    if isinstance(answers, np.ndarray) and answers.dtype.kind in "biuf":
        return _from_arrays({"": answers})
    if isinstance(answers, str | bytes) or not isinstance(answers, Sequence | np.ndarray):
        raise WrongKind(
            what=f"a {type(answers).__name__} is not many answers.",
            why="an audit compares many answers about each of two data sets.",
            do="return an array with one row for each answer, or a list of answers.",
        )
    return _from_values(list(answers))


# --- arrays -------------------------------------------------------------------------------------


def _from_arrays(arrays: Mapping[str, NDArray[Any]]) -> Columns:
    numbers: dict[str, Numbers] = {}
    n = 0
    for name, array in arrays.items():
        n = len(array)
        flat = np.ma.asarray(array).reshape(n, -1) if n else np.ma.zeros((0, 1))
        whole = flat.dtype.kind in "biu" and flat.dtype != np.uint64
        for number in range(flat.shape[1]):
            place = (f"{name}[{number}]" if array.ndim > 1 else name) + "#" * whole
            values = np.ma.getdata(flat[:, number]).astype(np.int64 if whole else np.float64)
            numbers[place] = Numbers(values, ~np.ma.getmaskarray(flat[:, number]))
    return _labelled(numbers, np.zeros(n, np.uint64))


def _labelled(numbers: Mapping[str, Numbers], words: NDArray[np.uint64]) -> Columns:
    """Add hashes of the contents of each place, in an order that does not matter."""
    shape, label = words.copy(), words.copy()
    for place, (values, present) in numbers.items():
        name = np.uint64(zlib.crc32(place.encode()) + 1)
        shape += np.where(present, _mixed(np.full(len(words), name)), np.uint64(0))
        label += np.where(present, _mixed(_mixed(values.view(np.uint64)) + name), np.uint64(0))
    return Columns(len(words), numbers, shape.view(np.int64), label.view(np.int64))


def _mixed(bits: NDArray[np.uint64]) -> NDArray[np.uint64]:
    for _ in range(2):
        bits = (bits ^ (bits >> np.uint64(31))) * _MIX
    return bits ^ (bits >> np.uint64(29))


# --- values of any kind -------------------------------------------------------------------------


def _from_values(values: list[Any]) -> Columns:
    n = len(values)
    cells: dict[str, tuple[list[int], list[int | float]]] = {}
    shape = np.zeros(n, np.int64)
    for row, value in enumerate(values):
        words: list[tuple[str, str]] = []
        for place, part in _parts(value, ""):
            if isinstance(part, str):
                words.append((place, part))
                continue
            where, what = cells.setdefault(_column(place, part), ([], []))
            where.append(row)
            what.append(part)
        shape[row] = hash(tuple(words))
    numbers = {place: _filled(place, where, what, n) for place, (where, what) in cells.items()}
    return replace(_labelled(numbers, shape.view(np.uint64)), answers=values)


def _column(place: str, part: float) -> str:
    """Name the column of a number; integers of more than 64 bits go with the floats."""
    narrow = isinstance(part, int) and -_LARGEST_INTEGER <= part < _LARGEST_INTEGER
    return f"{place}#" if narrow else place


def _filled(place: str, where: list[int], what: list[int | float], n: int) -> Numbers:
    """Return a column with numbers in some places."""
    values = np.zeros(n, np.int64 if place.endswith("#") else np.float64)
    present = np.zeros(n, np.bool_)
    present[where] = True
    values[where] = what if place.endswith("#") else [_float(number) for number in what]
    return Numbers(values, present)


def _float(number: float) -> float:
    try:
        return float(number)
    except OverflowError:
        return float("inf") if number > 0 else float("-inf")


Parts = Iterator[tuple[str, int | float | str]]


def _parts(value: Any, place: str) -> Parts:
    """Go through the parts of an answer: numbers, and everything else."""
    match value:
        case bool() | np.bool_():
            yield place, "bool"
            yield place, int(value)
        case int() | np.integer():
            yield place, int(value)
        case float() | np.floating():
            yield place, float(value)
        case Fraction() | Decimal():
            yield place, type(value).__name__
            yield place, float(value)
        case str():
            yield from _text_parts(value, place)
        case bytes():
            yield from _text_parts(value.decode("utf-8", "replace"), place)
        case _:
            yield from _inner_parts(value, place)


def _inner_parts(value: Any, place: str) -> Parts:
    """Go through what holds other values."""
    match value:
        case Mapping():
            yield place, f"mapping of {len(value)}"
            for key, part in value.items():
                yield from _parts(part, f"{place}[{key!r}]")
        case np.ndarray():
            yield place, f"array {value.dtype} {value.shape}"
            yield from _parts(value.ravel().tolist(), place)
        case list() | tuple():
            yield place, f"{type(value).__name__} of {len(value)}"
            for number, part in enumerate(value):
                yield from _parts(part, f"{place}[{number}]")
        case set() | frozenset():
            yield from _parts(sorted(value, key=repr), place)
        case _ if any(hasattr(value, name) for name in _PACKED):
            yield from _parts(_unpacked(value), place)
        case _ if is_dataclass(value) and not isinstance(value, type):
            yield place, type(value).__name__
            for field in fields(value):
                yield from _parts(getattr(value, field.name), f"{place}.{field.name}")
        case _:
            yield from _text_parts(repr(value), place)


def _unpacked(value: Any) -> Any:
    """Return the values of a column, or the columns of a table: a repr would round them."""
    for name in ("tolist", "to_list", "to_pylist"):
        if hasattr(value, name):
            return getattr(value, name)()
    return pa.table(value.to_arrow() if hasattr(value, "to_arrow") else value).to_pydict()


def _text_parts(text: str, place: str) -> Parts:
    """Tell the numbers of a text from the rest."""
    rest = _NUMBER.sub("#", text[:_LONGEST]) + text[_LONGEST:]
    yield place, rest
    for nth, token in enumerate(_NUMBER.findall(text[:_LONGEST])):
        number = float(token) if set(token) & set(".eE") else int(token)
        yield f"{place}#{nth}", number
        yield f"{place}#{nth} (length)", len(token)
