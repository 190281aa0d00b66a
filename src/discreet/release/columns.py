"""The columns of an answer: values, intervals, windows over groups, and their order.

Trust: public.  All of it is computed from what is released already (key ``post-processing``).

Definition.  A window looks at the released numbers of all groups.  Its *partition* are the groups
with the same values of PARTITION BY, in its order, ties in the order of their keys.  Its *frame*,
for SUM, COUNT, MIN, MAX and FIRST_VALUE, is the whole partition without an order, and with one all
groups up to the last that is equal to the own one in it.

The interval of a running sum is about the same sum of the totals without noise.  If the frame
depends on keys alone, it holds m groups, each with noise of its own, and the error of a sum of
multiples of totals is that of m independent copies of its noises
(:func:`discreet.plan.noise_errors.half_width`).  Frames of many groups are
taken to have a few more, an eighth at most: more independent, symmetric and unimodal noise reaches
no less far (Birnbaum 1948), and so few different sums are worked out.  LAG, LEAD and FIRST_VALUE
have the interval of the group that they look at.  Others have none.

Definition.  Estimates of all groups are computed first, then the condition on groups (HAVING), the
order and the limit, on the numbers that are released.  Without an order, groups are sorted by their
keys, NULL first; with one, ties are.  Those of a cube stand level after level, and the row of the
other groups is the last.
A column that is a number computed from estimates has two
more columns, the ends of its intervals; both are NULL if nothing is known.  Of a whole number
the ends are the whole numbers nearest to those of the interval, between which the nearest one to
the truth lies.
Intervals end at what is possible: no count is negative.  A number of a cube is shown as it is, so
that levels add up.  Any other number that noise has moved beyond is
shown at the end of its interval, which is never farther from the truth if that lies inside.  The
number itself is kept beside it, since only that has a mean error of zero; conditions, orders and
formulas are computed from it.

Windows are computed after all estimates, from all groups (:mod:`discreet.release.columns`).
A value computed from several of them, or from a window and other numbers, has the range of a box of
which each side misses with a part of the chance: these errors depend on each other.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, Final, final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.aggregates.intervals import Ends, Rationals, everything, weighted
from discreet.aggregates.noisy_totals import (
    FramedCounts,
    Intervals,
    noise_terms,
    shown_confidences,
)
from discreet.arrays import INT64_MAX, INT64_MIN
from discreet.plan.noise_errors import half_width
from discreet.plan.statistics.truncation import limits_bind
from discreet.query.expressions import Column, Expression, Grouped, Literal, Window, walk
from discreet.query.types import Type
from discreet.release.cube_levels import level_parts, totaled
from discreet.release.formula_ranges import Ranges
from discreet.release.formulas import Formulas, Vector, constant, vector
from discreet.release.frames import ReleasedColumn
from discreet.requests.raw_totals import ARROW_TYPES, Integers, arrow_numbers, numbers, taken

if TYPE_CHECKING:  # for annotations alone
    from discreet.aggregates.noisy_totals import Noisy
    from discreet.plan.estimator import Estimator
    from discreet.plan.plan import Plan
    from discreet.plan.statistics.answer_layout import AnswerColumn


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
    noises = noise_terms([(factor, total) for total, factor in totals])
    added, sizes = frames.added_up(exact.tops), frames.sizes()
    ends = np.empty(frames.size), np.empty(frames.size)
    for size in np.unique(sizes).tolist():
        here = sizes == size
        far = half_width(noises, known.confidence, times=_few_bits(size))
        ends[0][here], ends[1][here] = Rationals(added[here], exact.bottom).within(far)
    (name, *others) = terms
    return ends if others or terms[name] < 0 else known.signed(name, ends)


def _few_bits(size: int) -> int:
    """Round a number up to its first four bits: so many different sums are enough."""
    rest = max(size.bit_length() - 4, 0)
    return -(-size >> rest) << rest


_NUMBERS: Final = frozenset({Type.INTEGER, Type.FLOAT})
_EDGE: Final = 2.0**63


def columns_of(
    plan: Plan, parts: Sequence[Noisy], ends: Mapping[str, Ends] | None = None
) -> tuple[ReleasedColumn, ...]:
    """Compute the columns of an answer, for groups in one or more parts.

    ``ends`` are intervals of all groups by the names of outputs, in place of those for the noise.
    """
    if plan.cube is not None:
        parts = level_parts(plan, parts)
    elif plan.question.other:
        parts = (*parts, *(_other_row(plan, part) for part in parts))
    table = _Table.of(plan, parts)
    table = replace(table, given=ends)
    places = table.places()
    return tuple(map(partial(table.column, places=places), plan.layout.outputs))


def _other_row(plan: Plan, part: Noisy) -> Noisy:
    """Return the groups that are not shown as one, without keys."""
    keys = tuple(pa.nulls(1, ARROW_TYPES[key.type]) for key in plan.request.keys)
    return replace(part, size=1, keys=keys, totals=part.other)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class _Table:
    """Estimates of all groups, part after part."""

    plan: Plan
    parts: tuple[Noisy, ...]
    keys: tuple[pa.Array, ...]
    formulas: Formulas
    lists: Mapping[str, tuple[Vector, ...]]
    windows: Mapping[str, Frames] = field(default_factory=dict)
    frames: Mapping[str, FramedCounts] = field(default_factory=dict)
    given: Mapping[str, Ends] | None = None

    @classmethod
    def of(cls, plan: Plan, parts: Sequence[Noisy]) -> _Table:
        """Estimate all slots."""
        slots: dict[str, Vector] = {}
        lists: dict[str, tuple[Vector, ...]] = {}
        frames: dict[str, FramedCounts] = {}
        for sums in parts[0].sums.values():
            frames |= sums.frames(parts[0].groups())
        for estimate in plan.estimates:
            (name, *_) = (*estimate.estimator.totals(), "")
            if name in parts[0].sums:  # of which single groups may not be asked
                if name in frames:
                    frames[estimate.slot] = frames[name]
                    slots[estimate.slot] = vector(estimate.type, frames[name].values())
                continue
            value = estimate.estimator.value
            by_part: list[Any] = [value(estimate.type, part) for part in parts]
            if estimate.estimator.listed:
                levels = zip(*by_part, strict=True)
                lists[estimate.slot] = tuple(_joined(estimate.type, level) for level in levels)
            else:
                slots[estimate.slot] = _joined(estimate.type, by_part)
        kinds = [key.type for key in plan.request.keys if parts[0].keys]
        keys = tuple(
            pa.concat_arrays([part.keys[index] for part in parts]) for index in range(len(kinds))
        )
        totals: tuple[Vector, ...] = ()
        if plan.question.other:
            last = [int(part.totals is part.other) for part in parts for _ in range(part.size)]
            totals = (vector(Type.INTEGER, np.array(last, np.int64)),) * len(keys)
        elif plan.cube is not None and keys:
            totals = totaled(plan.cube)
        formulas = Formulas(
            columns=slots,
            keys=tuple(Vector.read(key, kind) for key, kind in zip(keys, kinds, strict=True)),
            size=sum(part.size for part in parts),
            totaled=totals,
        )
        windows = {slot: Frames.of(each, formulas) for slot, each in plan.layout.windows}
        if windows:
            computed = {
                slot: vector(Type.INTEGER, frames[slot].values())
                if slot in frames
                else each.values(formulas)
                for slot, each in windows.items()
            }
            formulas = replace(formulas, columns={**slots, **computed})
        return cls(
            plan=plan,
            parts=tuple(parts),
            keys=keys,
            formulas=formulas,
            lists=lists,
            windows=windows,
            frames=frames,
        )

    def places(self) -> Integers:
        """Return which groups are shown, in their order."""
        asked, size = self.plan.layout, self.formulas.size
        wanted: list[Sorted] = [
            (self.formulas.value(item.expression).arrow(), item.descending, item.nulls_first)
            for item in asked.order
        ]
        if self.plan.question.other:  # the last row, whatever the order
            wanted = [(self.formulas.totaled[0].arrow(), False, True), *wanted]
        by_keys = () if self.plan.cube is not None else self.keys  # level after level as they are
        places = order_of([*wanted, *((key, False, True) for key in by_keys)], size)
        if asked.having is not None:
            places = places[self.formulas.where_true(asked.having)[places]]
        end = None if asked.limit is None else asked.offset + asked.limit
        return places[asked.offset : end]

    def column(self, output: AnswerColumn, places: Integers) -> ReleasedColumn:
        """Return one column of the answer."""
        expression, kind = output.expression, output.type
        if isinstance(expression, Grouped):
            values = taken(self.keys[expression.at], places)
            return ReleasedColumn(name=output.name, type=kind, values=values)
        if isinstance(expression, Column) and expression.name in self.lists:
            return self._list(output, places)
        values = self.formulas.value(expression, kind).taken(places)
        used = self._used(self.plan.layout.unfolded(expression))
        if not used or kind not in _NUMBERS:
            return ReleasedColumn(name=output.name, type=kind, values=values.arrow())
        if self.given is not None:
            if output.name not in self.given:
                return ReleasedColumn(name=output.name, type=kind, values=values.arrow())
            ends = tuple(end[places] for end in self.given[output.name])
        elif self.windows or self.frames:
            ends = self._ends_of(expression, places)
        else:
            ends = self._ends(expression, used, places)
        empty = ~(ends[0] <= ends[1])
        low, high = (_vector(np.where(empty, np.nan, end), kind) for end in ends)
        inside = values if self.plan.cube is not None else _inside(values, low, high)
        return ReleasedColumn(
            name=output.name,
            type=kind,
            values=inside.arrow(),
            low=low.arrow(),
            high=high.arrow(),
            unclipped=None if inside is values else values.arrow(),
            clamped=self._clamped(expression),
        )

    def _clamped(self, expression: Expression) -> tuple[Fraction, Fraction] | None:
        """Return the bounds of a value that is one of the rows, if rows beyond them count there."""
        if not (isinstance(expression, Column) and limits_bind(self.plan.truncations)):
            return None
        estimator = self._used(expression).get(expression.name)
        return None if estimator is None else estimator.value_bounds()

    def _list(self, output: AnswerColumn, places: Integers) -> ReleasedColumn:
        """Return a column of lists; the ends of its intervals are lists too."""
        ((slot, several),) = self._used(output.expression).items()
        levels = [level.taken(places) for level in self.lists[slot]]
        if self.given is not None:
            values = _listed(levels, output.type)
            return ReleasedColumn(name=output.name, type=output.type, values=values)
        alone = Column(slot)
        groups = self._groups(several.totals(), places)  # once for all quantiles
        ends = [self._ends(alone, {slot: one}, places, groups) for one in several.single()]
        low, high = ([_vector(end[side], output.type) for end in ends] for side in (0, 1))
        return ReleasedColumn(
            name=output.name,
            type=output.type,
            values=_listed(levels, output.type),
            low=_listed(low, output.type),
            high=_listed(high, output.type),
        )

    def _used(self, expression: Expression) -> dict[str, Estimator]:
        """Return the slots from which an expression is computed."""
        names = {node.name for node in walk(expression) if isinstance(node, Column)}
        return {
            estimate.slot: estimate.estimator
            for estimate in self.plan.estimates
            if estimate.slot in names
        }

    def _ends_of(self, expression: Expression, places: Integers) -> Ends:
        """Return the intervals of an expression, which may hold windows."""
        names = {node.name for node in walk(expression) if isinstance(node, Column)}
        framed = [slot for slot in {**self.windows, **self.frames} if slot in names]
        whole = self._used(expression)
        used = {slot: whole[slot] for slot in whole if slot not in framed}
        if not framed:
            return self._ends(expression, used, places)
        inputs = sum(len(each.totals()) + len(each.choices()) for each in used.values())
        count = len(framed) + inputs
        sure = 1 - (1 - self.plan.confidence) / count
        ends = {slot: self._window(slot, sure) for slot in framed}
        if not isinstance(expression, Column):
            known = Intervals(self.plan.request, self.parts[0], sure)
            for slot, each in used.items():
                box = {name: known.box((name,))[name] for name in each.totals()}
                ends[slot] = each.range(known, box, count)
            low, high = Ranges(self.formulas, ends).range_of(expression).ends
        else:
            low, high = ends[expression.name]
        return low[places], high[places]

    def _window(self, slot: str, confidence: Fraction) -> Ends:
        """Return the intervals of a window in all groups, or everything."""
        if slot in self.frames:
            return self.frames[slot].ends(confidence)
        frames, size = self.windows[slot], self.formulas.size
        looked = frames.window.arguments[:1]
        if not frames.by_keys or not looked or not isinstance(looked[0], Column):
            return everything(size)
        ((inner, estimator),) = self._used(looked[0]).items()
        known = Intervals(self.plan.request, self.parts[0], confidence)
        if frames.window.function == "SUM" and inner not in self.frames and known.linear(estimator):
            kind = next(each.type for each in self.plan.estimates if each.slot == inner)
            linear = estimator.linear(kind)
            return everything(size) if linear is None else summed_ends(frames, linear[0], known)
        if frames.window.function in {"LAG", "LEAD", "FIRST_VALUE"}:
            if inner in self.frames:
                return frames.looked_at(self.frames[inner].ends(confidence))
            return frames.looked_at(estimator.interval(known))
        return everything(size)

    def _ends(
        self,
        expression: Expression,
        used: Mapping[str, Estimator],
        places: Integers,
        groups: Sequence[tuple[Integers, Intervals]] | None = None,
    ) -> Ends:
        """Return the intervals of an expression at some places, whichever part they are in."""
        low, high = np.empty(places.size), np.empty(places.size)
        needed = {name for estimator in used.values() for name in estimator.totals()}
        for inside, known in groups or self._groups(needed, places):
            low[inside], high[inside] = self._range(expression, used, known, places[inside])
        return low, high

    def _groups(
        self, needed: Collection[str], places: Integers
    ) -> list[tuple[Integers, Intervals]]:
        """Return which places are in each part, and these totals of their groups."""
        groups, start = [], 0
        for whole in self.parts:
            inside = np.flatnonzero((places >= start) & (places < start + whole.size))
            shown = whole.taken(places[inside] - start)
            for kind, sure in shown_confidences(shown, self.plan.confidence):
                some = np.flatnonzero(kind)
                part = shown.only(frozenset(needed)).taken(some)
                groups.append((inside[some], Intervals(self.plan.request, part, sure)))
            start += whole.size
        return groups

    def _range(
        self,
        expression: Expression,
        used: Mapping[str, Estimator],
        known: Intervals,
        places: Integers,
    ) -> Ends:
        """Return the intervals of groups of one part; those of a single slot are the narrowest."""
        if len(used) == 1:
            ((slot, estimator),) = used.items()
            alone = estimator.interval(known) or everything(places.size)
            if isinstance(expression, Column):
                return alone
            boxes = {slot: alone}
        else:
            names = tuple(
                dict.fromkeys(name for estimator in used.values() for name in estimator.totals())
            )
            others = sum(len(estimator.choices()) for estimator in used.values())
            box, count = known.box(names, others), len(names) + others
            boxes = {slot: estimator.range(known, box, count) for slot, estimator in used.items()}
        return Ranges(self.formulas.taken(places), boxes).range_of(expression).ends


def _joined(kind: Type, arrays: Sequence[NDArray[Any]]) -> Vector:
    return vector(kind, np.concatenate(arrays))


def _listed(levels: Sequence[Vector], kind: Type) -> pa.Array:
    """Return one list of all levels for each group."""
    size, count = len(levels[0].null), len(levels)
    flat = Vector(
        kind,
        np.stack([level.values for level in levels], axis=1).ravel(),
        np.stack([level.null for level in levels], axis=1).ravel(),
    )
    offsets = arrow_numbers(np.arange(0, size * count + 1, count, dtype=np.int32), pa.int32())
    return pa.ListArray.from_arrays(offsets, flat.arrow())


def _inside(values: Vector, low: Vector, high: Vector) -> Vector:
    """Move numbers into their intervals, or return them as they are if all are inside."""
    known = ~values.null
    below = known & ~low.null & (values.values < low.values)
    above = known & ~high.null & (values.values > high.values)
    if not (below | above).any():
        return values
    moved = np.where(below, low.values, np.where(above, high.values, values.values))
    return Vector(values.type, moved, values.null)


def _vector(values: NDArray[np.float64], kind: Type) -> Vector:
    if kind is Type.FLOAT:
        return vector(kind, values)
    nearest = np.rint(values)
    outside = ~(np.abs(nearest) < _EDGE)
    return vector(kind, np.where(outside, 0.0, nearest).astype(np.int64), outside)
