"""The levels of a cube: one group for each combination of public values of each grouping set.

Trust: public.  All of it is computed from noisy sums (key ``post-processing``).

Definition.  The numbers of a level are the best linear estimates from all noisy sums (key
``residual-basis``), in steps of a fine grid that is the same on all levels of one answer but for
rounding; so those of one level add up to those of another.  A key that is totaled is NULL.
Where no key is named above the aggregates, none is made, since there may be a hundred.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from discreet.aggregates.noisy_totals import Noisy, NoisyTotal, Run
from discreet.plan.plan import Plan
from discreet.plan.pricing.cube_strategy import CubeKeys, CubeStrategy, Keys, entry_terms, grid_of
from discreet.plan.pricing.group_sensitivity import Noise
from discreet.plan.pricing.linear_strategy import CellSensitivity
from discreet.query.expressions import Grouped, walk
from discreet.query.types import Type
from discreet.release.formulas import Vector, vector
from discreet.requests.raw_totals import ARROW_TYPES, arrow_numbers, arrow_values


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
    grid = grid_of(variance**0.5)
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
