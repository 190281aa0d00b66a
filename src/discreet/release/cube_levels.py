"""The levels of a cube: one group for each combination of public values of each grouping set.

Trust: public.  All of it is computed from noisy sums (key ``post-processing``).

Definition.  The numbers of a level are the best linear estimates from all noisy sums (key
``residual-basis``), in steps of a fine grid that is the same on all levels of one answer but for
rounding; so those of one level add up to those of another.  A key that is totaled is NULL.
Where no key is named above the aggregates, none is made, since there may be a hundred.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, final

import numpy as np
import pyarrow as pa

from discreet.aggregates.noisy_totals import Noisy, NoisyTotal, Run
from discreet.errors import WrongKind
from discreet.plan.plan import Plan
from discreet.plan.pricing.cube_strategy import CubeKeys, CubeStrategy, Keys, entry_terms, grid_of
from discreet.plan.pricing.group_sensitivity import Noise
from discreet.plan.pricing.linear_strategy import CellSensitivity, Floats
from discreet.query.expressions import Grouped, walk
from discreet.query.types import Type
from discreet.release.formulas import Vector, vector
from discreet.release.frames import ReleasedColumn, table_of
from discreet.requests.raw_totals import (
    ARROW_TYPES,
    Integers,
    arrow_numbers,
    arrow_values,
    numbers,
)

_BIASED: Final = "numbers below zero were raised to zero, and others lowered"


def cube_of(noise: Noise) -> CubeStrategy:
    """Return the tables that get a noise."""
    far = noise.distances
    assert isinstance(far, CellSensitivity)  # noqa: S101 (checked with the plan)
    assert isinstance(far.cells, CubeStrategy)  # noqa: S101
    return far.cells


def level_parts(plan: Plan, parts: Sequence[Noisy]) -> tuple[Noisy, ...]:
    """Return the groups of each grouping set, in the order of the sets."""
    cube, (drawn,) = plan.cube, parts
    assert cube is not None  # noqa: S101 (asked of cubes alone)
    layout = plan.layout
    above = [each.expression for each in layout.outputs]
    above += [each.expression for each in layout.order]
    above += [] if layout.having is None else [layout.having]
    named = any(isinstance(node, Grouped) for value in above for node in walk(value))
    tables = {
        noise.measure: cube_of(noise).tabled(drawn.totals[noise.measure].runs[0].values)
        for noise in plan.noises
    }
    return tuple(
        Noisy(
            size=cube.cells(some),
            keys=_keys(cube, some) if named else (),
            totals={
                noise.measure: _total(noise, some, tables[noise.measure][some].ravel())
                for noise in plan.noises
            },
            chosen=(),
        )
        for some in cube.sets
    )


def _total(noise: Noise, some: Keys, entries: np.ndarray) -> NoisyTotal:
    """Return the numbers of a level as one run, and the noises that they hold."""
    terms = entry_terms(cube_of(noise), noise.mechanism, some)
    variance = cube_of(noise).variance(some) * float(noise.mechanism.law.moments().variance.high)
    grid = grid_of(cube_of(noise), variance**0.5)
    steps = np.rint(entries / float(grid)).astype(np.int64)
    run = Run(values=steps, mechanism=noise.mechanism, weight=grid, noises=terms)
    return NoisyTotal((run,))


def _keys(cube: CubeKeys, some: Keys) -> tuple[pa.Array, ...]:
    """Return the columns of keys of a level, in the order of the product of their values."""
    size, found, width = cube.cells(some), [], cube.cells(some)
    for at, (values, kind) in enumerate(zip(cube.lists, cube.types, strict=True)):
        arrow = ARROW_TYPES[kind]
        if at not in some:
            found.append(pa.nulls(size, arrow))
            continue
        width //= len(values)
        places = (np.arange(size) // width) % len(values)
        found.append(arrow_values(values, arrow).take(arrow_numbers(places, pa.int64())))
    return tuple(found)


def totaled(cube: CubeKeys) -> tuple[Vector, ...]:
    """Return for each key where it is totaled, level after level."""
    sizes = [cube.cells(some) for some in cube.sets]
    return tuple(
        vector(Type.INTEGER, np.repeat([int(at not in some) for some in cube.sets], sizes))
        for at in range(len(cube.lists))
    )


@final
class CubeTables(Mapping[tuple[str, ...], pa.Table]):
    """The tables of an answer about grouping sets, by the names of their keys.

    Definition.  With ``whole``, the numbers of a table become those without a negative one that are
    nearest to them, in L2, of all with the same total, and are then rounded to whole numbers by
    largest remainders, so that they add up to the total, rounded.  That is post-processing, and
    biased: small numbers rise, large ones fall, and intervals would not hold.
    """

    def __init__(self, plan: Plan, columns: Sequence[ReleasedColumn], *, whole: bool) -> None:
        """Find where each table begins."""
        layout, cube = plan.layout, plan.cube
        if cube is None or layout.having is not None or layout.order or layout.limited:
            raise WrongKind(
                what="this answer does not hold all rows of its tables, in their order.",
                why="ORDER BY, HAVING and LIMIT mix the rows of tables, or leave some out.",
                do="ask with GROUP BY CUBE, ROLLUP or GROUPING SETS, without them.",
            )
        self._cube, self._whole = cube, whole
        keys = {
            each.name
            for each in layout.outputs
            if any(isinstance(node, Grouped) for node in walk(each.expression))
        }
        self._columns = [each for each in columns if each.name not in keys]
        self._names = [key.name for key in plan.request.keys]
        self._places = {tuple(self._names[at] for at in some): some for some in cube.sets}
        sizes = [cube.cells(some) for some in cube.sets]
        starts = np.cumsum([0, *sizes]).tolist()
        self._starts = dict(zip(cube.sets, starts, strict=False))

    def __getitem__(self, names: tuple[str, ...]) -> pa.Table:
        """Return a table: its keys, and the columns that were asked for."""
        some = self._places[names]
        size, start = self._cube.cells(some), self._starts[some]
        keys = _keys(self._cube, some)
        found = {self._names[at]: keys[at] for at in some}
        if not self._whole:
            parts = [replace(each, **_sliced(each, start, size)) for each in self._columns]
            table = table_of(parts)
            found |= {name: table.column(name) for name in table.column_names}
            return pa.table(found)
        fields = [pa.field(name, each.type) for name, each in found.items()]
        for each in self._columns:
            values = each.values.slice(start, size)
            if pa.types.is_floating(values.type) and not values.null_count:
                found[each.name] = pa.array(whole_numbers(numbers(values)))
                fields.append(pa.field(each.name, pa.int64(), metadata={"biased": _BIASED}))
        return pa.table(list(found.values()), schema=pa.schema(fields))

    def __iter__(self) -> Iterator[tuple[str, ...]]:
        """Iterate over the names of keys, set after set."""
        return iter(self._places)

    def __len__(self) -> int:
        """Return the number of tables."""
        return len(self._places)


def _sliced(column: ReleasedColumn, start: int, size: int) -> dict[str, Any]:
    names = ("values", "low", "high", "unclipped")
    arrays = {name: getattr(column, name) for name in names}
    return {
        name: None if each is None else each.slice(start, size) for name, each in arrays.items()
    }


def whole_numbers(values: Floats) -> Integers:
    """Return whole numbers, none below zero, that add up to the total.

    >>> whole_numbers(np.array([2.6, -1.0, 3.6])).tolist()
    [2, 0, 3]
    """
    total = max(0, round(float(values.sum())))
    falling = np.sort(values)[::-1]
    excess = (np.cumsum(falling) - total) / np.arange(1, values.size + 1)
    kept = np.flatnonzero(falling > excess)
    shifted = np.maximum(values - (excess[kept[-1]] if kept.size else 0.0), 0.0)
    if not total or not kept.size:
        return np.zeros(values.size, np.int64)
    floors = np.floor(shifted).astype(np.int64)
    rest = total - int(floors.sum())
    order = np.argsort(floors - shifted, kind="stable")
    floors[order[:rest]] += 1
    return floors
