"""What may distinguish two neighbors: values, bits of numbers, shapes, and whole answers.

Trust: public.  A better feature makes a bound higher, never wrong.

Definition.  From a number x that an answer holds,
    value    x itself;
    grain    the exponent of its lowest set bit: x is an odd multiple of 2**grain.  Noise that is
             drawn in floating point has a grain that depends on where it is added;
    ending   the last four bits of its mantissa, or of the integer;
    class    whether it is missing, not a number, infinite, a zero of either sign, or plain.
From all numbers together come the sum, the smallest, the largest, and the position of the largest.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.attacks.answer_columns import Columns
from discreet.attacks.event_words import feature_words, place_words

Floats = NDArray[np.float64]

_MANTISSA: Final = np.int64((1 << 52) - 1)
_HIDDEN: Final = np.int64(1 << 52)
_ZERO_GRAIN: Final = 2000.0
_MOST_BITS: Final = 32
_MOST_NAMED: Final = 256
_SUMMARIES: Final = ("sum", "smallest", "largest", "place of the largest")
_UNORDERED: Final = frozenset({"shape", "ending", "class", "place of the largest"})


class Feature(NamedTuple):
    """A kind of feature, and the place of the number that it is about."""

    kind: str
    place: str = ""

    def __str__(self) -> str:
        """Name it in words."""
        return feature_words(self.kind, self.place)

    @property
    def ordered(self) -> bool:
        """Whether it is a size, so that thresholds make sense."""
        return self.kind not in _UNORDERED


def features_of(columns: Columns, other: Columns) -> list[Feature]:
    """List all features of two sets of answers; bits for the first few places only."""
    places = list(dict.fromkeys([*columns.numbers, *other.numbers]))
    features = [Feature("shape"), *(Feature("value", place) for place in places)]
    for kind in ("grain", "ending", "class"):
        features += [Feature(kind, place) for place in places[:_MOST_BITS]]
    if len(places) > 1:
        features += [Feature(kind) for kind in _SUMMARIES]
    return features


def feature_values(columns: Columns, feature: Feature) -> Floats:
    """Return one feature of every answer."""
    if feature.kind in _WHOLE:
        return _WHOLE[feature.kind](columns)
    column = columns.numbers.get(feature.place)
    if column is None:
        return np.full(columns.n, np.nan)
    return np.where(column.present, _PARTS[feature.kind](column.values), np.nan)


def value_names(columns: Columns, feature: Feature) -> dict[float, str]:
    """Return words for the values of a feature that are hashes."""
    if feature.kind == "shape":
        shapes, rows = np.unique(columns.shape, return_index=True)
        few = zip(shapes[:_MOST_NAMED].tolist(), rows[:_MOST_NAMED].tolist(), strict=True)
        return {float(shape): columns.form_words(row) for shape, row in few}
    if feature.kind == "place of the largest":
        return {_place_hash(place): place_words(place) for place in columns.numbers}
    return {}


def _place_hash(place: str) -> float:
    return float(zlib.crc32(place.encode()))


def _value(number: NDArray[Any]) -> Floats:
    return number.astype(np.float64)


def _mantissa(number: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Write numbers as integers times powers of two."""
    if number.dtype.kind == "i":
        whole: NDArray[np.int64] = number
        return whole, np.zeros(number.shape, np.int64)
    bits = number.view(np.int64)
    exponent = (bits >> 52) & 0x7FF
    hidden = np.where(exponent > 0, _HIDDEN, np.int64(0))
    return (bits & _MANTISSA) | hidden, np.maximum(exponent, 1) - 1075


def _grain(number: NDArray[Any]) -> Floats:
    mantissa, exponent = _mantissa(number)
    lowest = (mantissa & -mantissa).view(np.uint64).astype(np.float64)
    with np.errstate(divide="ignore"):
        grain: Floats = np.log2(lowest) + exponent
    grain[mantissa == 0] = _ZERO_GRAIN
    return _where_finite(number, grain)


def _ending(number: NDArray[Any]) -> Floats:
    mantissa, _ = _mantissa(number)
    return _where_finite(number, (mantissa & 15).astype(np.float64))


def _where_finite(number: NDArray[Any], values: Floats) -> Floats:
    if number.dtype.kind == "f":
        values[~np.isfinite(number)] = np.nan
    return values


def _class(number: NDArray[Any]) -> Floats:
    value = number.astype(np.float64)
    classes = np.full(value.shape, 5.0)
    classes[np.isnan(value)] = 0.0
    classes[np.isinf(value)] = np.where(value[np.isinf(value)] > 0, 2.0, 1.0)
    classes[value == 0] = np.where(np.signbit(value[value == 0]), 4.0, 3.0)
    return classes


def _table(columns: Columns, empty: float) -> list[tuple[str, Floats]]:
    """Return the values of all places in the order of their names."""
    return [
        (place, np.where(present & ~np.isnan(_value(values)), _value(values), empty))
        for place, (values, present) in sorted(columns.numbers.items())
    ]


def _sum(columns: Columns) -> Floats:
    total = np.zeros(columns.n)
    with np.errstate(invalid="ignore", over="ignore"):
        for _, values in _table(columns, 0.0):  # missing values add 0, so the order is fixed
            total = total + values
    return total


def _smallest(columns: Columns) -> Floats:
    smallest = np.full(columns.n, math.inf)
    for _, values in _table(columns, math.inf):
        smallest = np.minimum(smallest, values)
    return smallest


def _largest(columns: Columns) -> Floats:
    largest = np.full(columns.n, -math.inf)
    for _, values in _table(columns, -math.inf):
        largest = np.maximum(largest, values)
    return largest


def _place(columns: Columns) -> Floats:
    """Return the hash of the first place, in the order of names, with the largest number."""
    best, places = np.full(columns.n, -math.inf), np.full(columns.n, np.nan)
    for place, values in _table(columns, -math.inf):
        places = np.where(values > best, _place_hash(place), places)
        best = np.maximum(best, values)
    return places


_PARTS: Final[dict[str, Callable[[NDArray[Any]], Floats]]] = {
    "value": _value,
    "grain": _grain,
    "ending": _ending,
    "class": _class,
}
_WHOLE: Final[dict[str, Callable[[Columns], Floats]]] = {
    "shape": lambda columns: columns.shape.astype(np.float64),
    "sum": _sum,
    "smallest": _smallest,
    "largest": _largest,
    "place of the largest": _place,
}
