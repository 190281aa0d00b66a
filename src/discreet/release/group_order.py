"""The order of groups, and windows over them: running sums, totals, shares and ranks.

Trust: public.  All of it is computed from what is released already (key ``post-processing``).

Definition.  A window looks at the released numbers of all groups.  Its *partition* are the groups
with the same values of PARTITION BY, in its order, ties in the order of their keys.  Its *frame*,
for SUM, COUNT, MIN, MAX and FIRST_VALUE, is the whole partition without an order, and with one all
groups up to the last that is equal to the own one in it.

The interval of a running sum is about the same sum of the totals without noise.  Where the frame
depends on keys alone, it holds m groups, each with noise of its own, and the error of a sum of
multiples of totals is that of m independent copies of its noises
(:func:`discreet.plan.forecast.noise_quantiles.repeated_half_width`).  Frames of many groups are
taken to have a few more, an eighth at most: more independent, symmetric and unimodal noise reaches
no less far (Birnbaum 1948), and so few different sums are worked out.  LAG, LEAD and FIRST_VALUE
have the interval of the group that they look at.  Others have none.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, final

import numpy as np
import pyarrow as pa

from discreet.arrays import INT64_MAX, INT64_MIN
from discreet.plan.forecast.noise_quantiles import repeated_half_width
from discreet.query.expressions import Column, Literal, Window, walk
from discreet.query.types import Type
from discreet.release.formulas import Formulas
from discreet.release.half_width import half_width
from discreet.release.interval_arithmetic import Ends, everything
from discreet.release.noisy_totals import Intervals
from discreet.release.value_arrays import Rationals, Vector, constant, weighted
from discreet.requests.raw_totals import Integers, arrow_numbers, numbers

Sorted = tuple[pa.Array, bool, bool]
"""What to sort by, whether in descending order, and whether NULL comes first."""

_FEW: Final = 256


def order_of(items: Sequence[Sorted], size: int) -> Integers:
    """Return the places of groups in their order; ties keep the order that they have.

    >>> wards = pa.array(["b", None, "a"])
    >>> order_of([(wards, False, True)], 3).tolist()
    [1, 2, 0]
    """
    return _few(items, size) if size <= _FEW else _many(items, size)


def _few(items: Sequence[Sorted], size: int) -> Integers:
    """Sort Python's values, by the last item first; every sort keeps the order of equals."""
    places = list(range(size))
    for values, descending, nulls_first in reversed(items):
        listed = values.to_pylist()
        missing = [place for place in places if listed[place] is None]
        there = [place for place in places if listed[place] is not None]
        there.sort(key=listed.__getitem__, reverse=descending)
        places = missing + there if nulls_first else there + missing
    return np.array(places, np.int64)


def _many(items: Sequence[Sorted], size: int) -> Integers:
    """Sort columns, with what is NULL as a column of its own before each."""
    import pyarrow.compute as pc  # noqa: PLC0415  takes its time, and few answers need it

    columns: dict[str, pa.Array] = {}
    keys: list[tuple[str, str]] = []
    for index, (values, descending, nulls_first) in enumerate(items):
        missing = values.is_null()
        if pa.types.is_boolean(values.type):
            values = values.cast(pa.int8())  # noqa: PLW2901 (truth is sorted as 0 and 1)
        columns[f"null {index}"] = missing.cast(pa.int8())
        keys.append((f"null {index}", "descending" if nulls_first else "ascending"))
        if not pa.types.is_null(values.type):
            columns[f"value {index}"] = values
            keys.append((f"value {index}", "descending" if descending else "ascending"))
    columns["place"] = arrow_numbers(np.arange(size), pa.int64())
    keys.append(("place", "ascending"))
    return numbers(pc.sort_indices(pa.table(columns), sort_keys=keys)).astype(np.int64)


_RANKS: Final = frozenset({"ROW_NUMBER", "RANK", "DENSE_RANK"})
_SHIFTS: Final = {"LAG": -1, "LEAD": 1}


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Frames:
    """The groups of every partition in their order, and where the peers of each begin and end."""

    window: Window
    partitions: tuple[tuple[int, ...], ...]
    peers: tuple[tuple[tuple[int, int], ...], ...]
    size: int

    @classmethod
    def of(cls, window: Window, formulas: Formulas) -> Frames:
        """Divide and sort all groups."""
        ordered = [formulas.value(item.expression) for item in window.order]
        items: list[Sorted] = [
            (value.arrow(), item.descending, item.nulls_first)
            for item, value in zip(window.order, ordered, strict=True)
        ]
        items += [(key.arrow(), False, True) for key in formulas.keys]
        apart = _rows([formulas.value(part) for part in window.partition], formulas.size)
        values = _rows(ordered, formulas.size)
        found: dict[Any, list[int]] = {}
        for place in order_of(items, formulas.size).tolist():
            found.setdefault(apart[place], []).append(place)
        return cls(
            window=window,
            partitions=tuple(map(tuple, found.values())),
            peers=tuple(tuple(_peers([values[at] for at in part])) for part in found.values()),
            size=formulas.size,
        )

    @property
    def by_keys(self) -> bool:
        """Whether no released number decides which groups are in a frame."""
        rest = self.window.children()[len(self.window.arguments) :]
        return not any(isinstance(node, Column) for part in rest for node in walk(part))

    def values(self, formulas: Formulas) -> Vector:
        """Compute the window in all groups."""
        name, arguments = self.window.function, self.window.arguments
        looked = formulas.value(arguments[0]) if arguments else None
        column = [None] * self.size if looked is None else looked.to_list()
        found: list[Any] = [None] * self.size
        for places, peers in zip(self.partitions, self.peers, strict=True):
            inside = [column[place] for place in places]
            for place, value in zip(places, self._column(inside, peers), strict=True):
                found[place] = value
        kind = formulas.kind(self.window)
        counts = name in _RANKS or name == "COUNT"
        vector = constant(None, Type.INTEGER if counts else kind, self.size)
        for place, value in enumerate(found):
            if value is not None:
                vector.values[place], vector.null[place] = value, False
        return vector

    def _column(self, values: list[Any], peers: Sequence[tuple[int, int]]) -> Iterator[Any]:
        """Yield the value of the window in each group of a partition."""
        match self.window.function:
            case "ROW_NUMBER":
                yield from range(1, len(values) + 1)
            case "RANK":
                yield from (start + 1 for start, _ in peers)
            case "DENSE_RANK":
                yield from itertools.accumulate(int(at == peers[at][0]) for at in range(len(peers)))
            case "LAG" | "LEAD":
                for at in self.shifted(len(values)):
                    yield None if at is None else values[at]
            case "FIRST_VALUE":
                yield from (values[0] for _ in values)
            case name:
                upto = [_START[name]]
                for value in values:
                    upto.append(_STEPS[name](upto[-1], value))
                starred = not self.window.arguments
                yield from (end if starred else _end(upto[end]) for _, end in peers)

    def shifted(self, size: int) -> Iterator[int | None]:
        """Yield which group of a partition of some size each of its groups looks at."""
        name, arguments = self.window.function, self.window.arguments
        if name == "FIRST_VALUE":
            yield from itertools.repeat(0, size)
            return
        last = arguments[1]
        far = last.value if isinstance(last, Literal) and isinstance(last.value, int) else 0
        for at in range(size):
            there = at + _SHIFTS[name] * far
            yield there if 0 <= there < size else None

    def looked_at(self, ends: Ends | None) -> Ends:
        """Return the intervals of the groups that LAG, LEAD and FIRST_VALUE look at."""
        low, high = np.full(self.size, np.inf), np.full(self.size, -np.inf)
        if ends is None:
            return everything(self.size)
        for places in self.partitions:
            for place, there in zip(places, self.shifted(len(places)), strict=True):
                if there is not None:
                    low[place], high[place] = (end[places[there]] for end in ends)
        return low, high

    def sizes(self) -> Integers:
        """Return how many groups the frame of each group holds."""
        found = np.zeros(self.size, np.int64)
        for places, peers in zip(self.partitions, self.peers, strict=True):
            found[list(places)] = [end for _, end in peers]
        return found

    def added_up(self, tops: Integers) -> Integers:
        """Add up whole numbers over the frame of each group, exactly."""
        found = np.zeros(self.size, object)
        for places, peers in zip(self.partitions, self.peers, strict=True):
            upto = [0, *itertools.accumulate(int(tops[place]) for place in places)]
            found[list(places)] = [upto[end] for _, end in peers]
        return found


def _rows(vectors: Sequence[Vector], size: int) -> list[tuple[Any, ...]]:
    if not vectors:
        return [()] * size
    return list(zip(*(vector.to_list() for vector in vectors), strict=True))


def _peers(values: Sequence[Any]) -> Iterator[tuple[int, int]]:
    """Yield for each of some sorted values where those equal to it begin and end."""
    start = 0
    for _, equal in itertools.groupby(values):
        end = start + len(list(equal))
        yield from itertools.repeat((start, end), end - start)
        start = end


def _sum(known: Any, value: Any) -> Any:
    """Add a number that is not NULL; floats are added exactly, and rounded once."""
    if value is None:
        return known
    exact = Fraction(value) if isinstance(value, float) else value
    return exact if known is None else known + exact


def _least(known: Any, value: Any) -> Any:
    return value if known is None or (value is not None and value < known) else known


def _largest(known: Any, value: Any) -> Any:
    return value if known is None or (value is not None and value > known) else known


def _counted(known: Any, value: Any) -> Any:
    return known + (value is not None)


_STEPS: Final = {"SUM": _sum, "MIN": _least, "MAX": _largest, "COUNT": _counted}
_START: Final = {"SUM": None, "MIN": None, "MAX": None, "COUNT": 0}


def _end(value: Any) -> Any:
    """Return a sum as a value: NULL outside of 64 bits, or of all floats."""
    if isinstance(value, Fraction):
        try:
            return float(value)
        except OverflowError:
            return None
    inside = not isinstance(value, int) or INT64_MIN <= value <= INT64_MAX
    return value if inside else None


def summed_ends(frames: Frames, terms: Mapping[str, Fraction], known: Intervals) -> Ends:
    """Return the intervals of sums over frames, in each group of which the noises are others."""
    totals = [(known.noisy.totals[name], factor) for name, factor in terms.items()]
    exact = weighted(
        [(factor * run.weight, run.values) for total, factor in totals for run in total.runs]
    )
    noises = tuple(term for total, factor in totals for term in total.terms(factor))
    added, sizes = frames.added_up(exact.tops), frames.sizes()
    ends = np.empty(frames.size), np.empty(frames.size)
    for size in np.unique(sizes).tolist():
        here, missed = sizes == size, 1 - known.confidence
        one = half_width(noises, known.confidence) if size == 1 else None
        far = repeated_half_width(noises, _few_bits(size), missed) if one is None else one
        ends[0][here], ends[1][here] = Rationals(added[here], exact.bottom).within(far)
    (name, *others) = terms
    return ends if others or terms[name] < 0 else known.signed(name, ends)


def _few_bits(size: int) -> int:
    """Round a number up to its first four bits: so many different sums are enough."""
    rest = max(size.bit_length() - 4, 0)
    return -(-size >> rest) << rest
