"""Sums on the grid against exact rationals, and what one unit can move at most."""

import dataclasses
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import OutOfRange
from discreet.noise import DyadicGrid
from discreet.torch import Clipping, PrivateSum
from discreet.torch.clipping import SINGLE, rounding
from discreet.units import row
from tests.torch.reference import squared_norms


def private_sum(coordinates, *, units=64, spread=64, bound=1):
    return PrivateSum(
        clipping=Clipping(bound=bound, spread=spread),
        sigma=Fraction(1),
        coordinates=coordinates,
        units=units,
        operations=units + 4,
    )


def exact_norm_squared(line, scale):
    return sum(((Fraction(float(scale)) * Fraction(float(v))) ** 2 for v in line), Fraction(0))


HARD = st.sampled_from(
    [0.0, -0.0, 5e-324, 1e-310, 1e-160, 1e-3, 0.1, 1.0, -1.0, 3.0, 1e3, 1e100, -1e154, 1e300]
)


@pytest.mark.theorem("gradient-sum")
@settings(max_examples=200, deadline=None)
@given(st.lists(HARD, min_size=1, max_size=6), st.sampled_from([1, Fraction(1, 3), 7]))
def test_no_contribution_is_longer_than_the_bound(line, bound):
    lines = np.array([line])
    clipping = Clipping(bound=bound)
    squares = squared_norms(lines)
    scale = clipping.scales(squares, np.sqrt(squares))[0]
    assert exact_norm_squared(line, scale) <= Fraction(bound) ** 2


@pytest.mark.parametrize("most", [0.25, 1.0, 8.0, np.inf])
def test_no_public_threshold_raises_the_bound(most):
    lines = np.random.default_rng(3).standard_normal((50, 4)) * 10.0 ** np.arange(-2, 3)[
        :, None
    ].repeat(10, 0).reshape(-1, 1)
    squares = squared_norms(lines)
    for added in (0.0, 0.01):
        scales = Clipping(bound=1).scales(squares, np.sqrt(squares), most=most, added=added)
        for line, scale in zip(lines, scales, strict=True):
            assert exact_norm_squared(line, scale) <= 1


def test_sums_without_clipping_break_the_distance():
    one = private_sum(2)
    far = one.grid.to_grid(np.array([3.0, 0.0])) - one.grid.to_grid(np.zeros(2))
    assert int((far.astype(object) ** 2).sum()) > one.squared


def test_the_release_has_the_law_of_its_price():
    one = private_sum(2)
    assert one.law.variance == (one.sigma / one.grid.step) ** 2
    assert one.leaf(row()).added == one.distance
    assert one.leaf(row()).coordinates == 2


def test_every_part_of_the_slack_counts():
    plain = private_sum(100)
    assert private_sum(100, units=128).slack > plain.slack
    error = plain.clipping.error(units=64, operations=plain.operations)
    assert plain.slack >= 2 * error
    assert dataclasses.replace(plain, beside=Fraction(1)).slack > plain.slack
    short = dataclasses.replace(plain, short=40)
    assert short.slack - plain.slack >= 2 * 64 * (rounding(40, SINGLE) + 10 * Fraction(1, 2**50))


def test_more_floors_and_nearest_rounding_move_further_than_one_floor():
    grid = DyadicGrid(exponent=0)
    parts = np.array([0.5, 0.5]), np.array([0.5, 1.5])
    assert np.abs(np.rint(parts[0]) - np.rint(parts[1])).max() == 2  # ties to even: twice too far
    assert np.abs(grid.to_grid(parts[0]) - grid.to_grid(parts[1])).max() == 1


@pytest.mark.theorem("gradient-sum")
@pytest.mark.parametrize("most", [1.0, np.inf])
def test_products_that_cancel_stay_within_the_spread(most):
    clipping = Clipping(bound=Fraction(1, 3), spread=8)
    squares, spans = np.array([1e-30, 1e-8, 1.0]), np.array([1e9, 1e3, 1.0])
    scales = clipping.scales(squares, spans, most=most)
    for scale, span in zip(scales, spans, strict=True):
        assert Fraction(float(scale)) * Fraction(float(span)) <= 8 * clipping.bound


@pytest.mark.parametrize("wrong", [-1.0, -1e30, -np.inf, np.nan])
@pytest.mark.parametrize("name", ["most", "added"])
def test_scales_are_never_negative(wrong, name):
    """A negative scale has no bound: it is the smaller one however long the contribution is."""
    with pytest.raises(OutOfRange, match="below 0"):
        Clipping(bound=1).scales(np.array([4.0]), np.array([2.0]), **{name: wrong})
