"""The ranges of functions of numbers, over ranges of their arguments.

Trust: public.

Definition.  A range holds every result for arguments in their ranges, rounded outward, and says
where a result may be NULL: because an argument is, because of a division by zero or a root of
a negative number, or because it may need more than 64 bits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, final

import numpy as np

from discreet.release.outward import Ends, added, divided, multiplied, negated, widened
from discreet.release.rationals import Floats
from discreet.release.vectors import Mask

__all__ = ["RANGES", "Range", "fitting", "rounded"]

_LARGEST: Final = 2.0**63


@final
@dataclass(frozen=True, slots=True, eq=False)
class Range:
    """Between what a number lies if it is not NULL, and where it may be NULL.

    Where it must be NULL, the lower end is above the upper one.
    """

    low: Floats
    high: Floats
    null: Mask

    @property
    def ends(self) -> Ends:
        """The lower and the upper ends."""
        return self.low, self.high


def fitting(ends: Ends, *parts: Range) -> Range:
    """Return what may be NULL because a part is, or because it needs more than 64 bits."""
    large = (ends[0] <= -_LARGEST) | (ends[1] >= _LARGEST)
    return Range(*ends, np.logical_or.reduce([large, *(part.null for part in parts)]))


def _add(left: Range, right: Range) -> Range:
    return fitting(added(left.ends, right.ends), left, right)


def _subtract(left: Range, right: Range) -> Range:
    return fitting(added(left.ends, negated(right.ends)), left, right)


def _multiply(left: Range, right: Range) -> Range:
    return fitting(multiplied(left.ends, right.ends), left, right)


def _divide(left: Range, right: Range) -> Range:
    zero = (right.low <= 0.0) & (right.high >= 0.0)
    return Range(*divided(left.ends, right.ends), left.null | right.null | zero)


def _div(left: Range, right: Range) -> Range:
    found = _divide(left, right)
    return fitting((np.floor(found.low), np.ceil(found.high)), found)


def _mod(left: Range, right: Range) -> Range:
    size = np.minimum(_size(left), _size(right))
    zero = (right.low <= 0.0) & (right.high >= 0.0)
    low, high = np.where(left.low >= 0.0, 0.0, -size), np.where(left.high <= 0.0, 0.0, size)
    return Range(low, high, left.null | right.null | zero)


def _size(part: Range) -> Floats:
    return np.maximum(np.abs(part.low), np.abs(part.high))


def _absolute(part: Range) -> Range:
    near = np.minimum(np.abs(part.low), np.abs(part.high))
    near = np.where((part.low <= 0.0) & (part.high >= 0.0), 0.0, near)
    return fitting((near, _size(part)), part)


def _rising(compute: Callable[[Any], Any]) -> Callable[[Range], Range]:
    return lambda part: Range(compute(part.low), compute(part.high), part.null)


def _nearest(value: Floats) -> Floats:
    size = np.abs(value)
    below = np.floor(size)
    with np.errstate(invalid="ignore"):
        found: Floats = np.copysign(below + (size - below >= 0.5), value)
    return found


def _root(part: Range) -> Range:
    low, high = np.sqrt(np.maximum(part.low, 0.0)), np.sqrt(np.maximum(part.high, 0.0))
    low, high = widened(low, high)
    return Range(np.maximum(low, 0.0), high, part.null | (part.low < 0.0))


def _least(*parts: Range) -> Range:
    return Range(
        np.minimum.reduce([part.low for part in parts]),
        np.minimum.reduce([part.high for part in parts]),
        np.logical_or.reduce([part.null for part in parts]),
    )


def _greatest(*parts: Range) -> Range:
    return Range(
        np.maximum.reduce([part.low for part in parts]),
        np.maximum.reduce([part.high for part in parts]),
        np.logical_or.reduce([part.null for part in parts]),
    )


def _bucket(value: Range, *edges: Range) -> Range:
    low = np.sum([edge.high <= value.low for edge in edges], axis=0).astype(np.float64)
    high = np.sum([edge.low <= value.high for edge in edges], axis=0).astype(np.float64)
    return Range(low, high, value.null)


rounded: Final = _rising(_nearest)

RANGES: Final[dict[str, Callable[..., Range]]] = {
    "+": _add,
    "-": _subtract,
    "*": _multiply,
    "/": _divide,
    "DIV": _div,
    "MOD": _mod,
    "NEGATE": lambda part: fitting(negated(part.ends), part),
    "ABS": _absolute,
    "SIGN": _rising(np.sign),
    "FLOOR": _rising(np.floor),
    "CEIL": _rising(np.ceil),
    "ROUND": rounded,
    "SQRT": _root,
    "LEAST": _least,
    "GREATEST": _greatest,
    "RANGE_BUCKET": _bucket,
}
"""Functions by their names."""
