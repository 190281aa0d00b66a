import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.noise import DiscreteLaplace, DyadicGrid

finite = st.floats(min_value=-1e6, max_value=1e6, allow_nan=False)
exponents = st.integers(min_value=-30, max_value=10)


@pytest.mark.theorem("grid-distance")
@given(x=st.floats(allow_nan=False, allow_infinity=False), exponent=st.integers(-1000, 900))
def test_rounding_down_is_exact(x, exponent):
    grid = DyadicGrid(exponent=exponent)
    true = math.floor(Fraction(x) / grid.step)
    if abs(true) < 2**62:
        assert grid.to_grid(np.array([x])).tolist() == [true]


@pytest.mark.theorem("grid-distance")
@given(
    pairs=st.lists(st.tuples(finite, finite), min_size=1, max_size=5),
    exponent=exponents,
)
def test_neighbors_stay_within_the_grid_distance(pairs, exponent):
    grid = DyadicGrid(exponent=exponent)
    one, two = (np.array(side) for side in zip(*pairs, strict=True))
    exact = [abs(Fraction(a) - Fraction(b)) for a, b in pairs]
    changed = sum(1 for distance in exact if distance)
    if changed == 0:
        return
    moved = [abs(int(d)) for d in grid.to_grid(one) - grid.to_grid(two)]
    assert sum(moved) <= grid.distance_l1(sum(exact), coordinates=changed)
    squared = sum(distance**2 for distance in exact)
    # the L2 distance is irrational in general: bound it from above by a rational
    root = Fraction(math.isqrt(math.ceil(squared * 4**40)) + 1, 2**40)
    assert sum(d * d for d in moved) <= grid.distance_l2_squared(root, coordinates=changed)


def largest_move(grid, distance, coordinates, norm, points):
    """Search neighbors at a distance for the pair that moves farthest on the grid."""
    best = 0
    share = distance / coordinates if norm == 1 else distance / math.sqrt(coordinates)
    for start in points:
        one = np.array([start] * coordinates)
        two = one - share
        moved = np.abs(grid.to_grid(one) - grid.to_grid(two))
        best = max(best, int((moved**norm).sum()))
    return best


@pytest.mark.theorem("grid-distance")
def test_the_bounds_are_attained():
    grid = DyadicGrid(exponent=0)
    points = np.arange(0, 4, 1 / 64)
    assert largest_move(grid, 2.5, 1, 1, points) == grid.distance_l1("2.5") == 3
    assert largest_move(grid, 2.25, 3, 1, points) == 3
    assert grid.distance_l1("2.25", coordinates=3) == 5  # ceil(2.25) + 3 - 1
    # unequal shares attain it: 0.01 + 0.01 + 2.23 cross 1 + 1 + 3 boundaries
    one, two = np.array([1.0, 1.0, 2.0]), np.array([0.99, 0.99, -0.23])
    assert np.abs(grid.to_grid(one) - grid.to_grid(two)).sum() == 5


@pytest.mark.theorem("grid-distance")
def test_rounding_to_nearest_would_break_the_bound():
    """Mutant: ties to even move two values at distance 1 to grid points at distance 2."""
    moved = abs(np.rint(0.5) - np.rint(1.5))
    assert moved == 2 > DyadicGrid(exponent=0).distance_l1(1)


@given(distance=st.fractions(min_value=Fraction(1, 10**6), max_value=10**6))
def test_a_fine_grid_costs_almost_nothing(distance):
    grid = DyadicGrid.fine(distance=distance)
    steps = distance / grid.step
    assert 2**24 <= steps < 2**25
    assert grid.distance_l1(distance) / steps <= 1 + Fraction(1, 2**24)


@given(cells=st.lists(st.integers(-(2**50), 2**50), min_size=1), exponent=st.integers(-60, 60))
def test_cells_go_back_to_their_middle(cells, exponent):
    grid = DyadicGrid(exponent=exponent)
    back = grid.from_grid(np.array(cells))
    assert [Fraction(x) for x in back.tolist()] == [(k + Fraction(1, 2)) * grid.step for k in cells]
    assert grid.to_grid(back).tolist() == cells


def test_a_release_on_the_grid():
    """Salaries in thousands, one person moves the sum by at most 200: epsilon = 1 at scale 200."""
    grid = DyadicGrid.fine(distance=200)
    law = DiscreteLaplace(scale=grid.distance_l1(200))
    total = np.array([12345.678])
    released = grid.from_grid(grid.to_grid(total) + law.sample(1))
    margin = float(law.quantile(1 - Fraction(1, 10**9)) * grid.step)
    assert abs(float(released[0]) - 12345.678) <= margin + 1
