"""Sums on the grid against exact rationals, and what one unit can move at most."""

import dataclasses
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import OutOfRange, WrongKind
from discreet.noise import DyadicGrid
from discreet.torch import Clipping, PrivateSum
from discreet.torch.clipping import SINGLE, raised, rounding, squared_norms
from discreet.units import row


def private_sum(coordinates, *, units=64, spread=64, bound=1):
    return PrivateSum(
        clipping=Clipping(bound=bound, spread=spread),
        sigma=Fraction(1),
        coordinates=coordinates,
        units=units,
        operations=units + 4,
    )


def exact_scaled(lines, scales):
    return [
        sum(
            (Fraction(float(c)) * Fraction(float(v)) for c, v in zip(scales, column, strict=True)),
            Fraction(0),
        )
        for column in zip(*lines, strict=True)
    ]


def steps(grid, values):
    return np.array([value / grid.step // 1 for value in values], dtype=object)


@pytest.mark.theorem("gradient-sum")
def test_sums_of_short_floats_are_exact_to_the_last_bit():
    rng = np.random.default_rng(1)
    one = private_sum(5)
    lines = rng.integers(-8, 9, (40, 5)) / 64.0  # norms below 1: no scaling, every sum exact
    truth = exact_scaled(lines, np.ones(40))
    assert one.grid.to_grid(one.sum_vectors(lines)).tolist() == list(steps(one.grid, truth))


@pytest.mark.theorem("gradient-sum")
@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12, 1e150])
def test_sums_lie_within_the_error_that_is_priced(scale):
    rng = np.random.default_rng(2)
    one = private_sum(6, spread=1)
    lines = rng.standard_normal((60, 6)) * scale
    squares = squared_norms(lines)
    scales = one.clipping.scales(squares, np.sqrt(squares) * raised(2))
    truth = exact_scaled(lines, scales)
    found = one.sum_vectors(lines)
    error = sum((Fraction(float(a)) - b) ** 2 for a, b in zip(found, truth, strict=True))
    assert error <= one.clipping.error(units=60, operations=one.operations) ** 2


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


@pytest.mark.theorem("gradient-sum")
@settings(max_examples=150, deadline=None)
@given(st.lists(st.lists(HARD, min_size=3, max_size=3), min_size=1, max_size=8), st.integers(0, 7))
def test_neighbors_differ_by_at_most_the_squared_distance(lines, place):
    one = private_sum(3, units=8)
    place %= len(lines)
    whole = np.array(lines)
    without = np.delete(whole, place, axis=0)
    here, there = (one.grid.to_grid(one.sum_vectors(part)) for part in (whole, without))
    assert sum(int(a - b) ** 2 for a, b in zip(here, there, strict=True)) <= one.squared


@pytest.mark.theorem("gradient-sum")
@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.lists(HARD, min_size=2, max_size=2), min_size=4, max_size=4),
    st.lists(st.lists(HARD, min_size=3, max_size=3), min_size=4, max_size=4),
)
def test_neighbors_of_outer_products_differ_by_at_most_the_squared_distance(left, right):
    one = private_sum(6, units=8)
    a, b = np.array(left), np.array(right)
    here = one.grid.to_grid(one.sum_products(a, b))
    there = one.grid.to_grid(one.sum_products(a[1:], b[1:]))
    assert sum(int(x - y) ** 2 for x, y in zip(here, there, strict=True)) <= one.squared


def test_sums_without_clipping_break_the_distance():
    one = private_sum(2)
    far = one.grid.to_grid(np.array([3.0, 0.0])) - one.grid.to_grid(np.zeros(2))
    assert int((far.astype(object) ** 2).sum()) > one.squared


def test_a_contribution_that_is_not_finite_counts_as_zero():
    one = private_sum(2)
    lines = np.array([[np.nan, 1.0], [np.inf, 0.0], [0.25, 0.5]])
    assert one.sum_vectors(lines).tolist() == [0.25, 0.5]
    assert one.sum_products(np.array([[np.inf]]), np.array([[0.0, 1.0]])).tolist() == [0.0, 0.0]


def test_an_empty_batch_is_released_as_noise():
    one = private_sum(3)
    total = one.sum_vectors(np.zeros((0, 3)))
    noise = np.array([5, 0, -7])
    assert total.tolist() == [0.0] * 3
    assert one.release(total, noise=noise).tolist() == one.grid.from_grid(noise).tolist()


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


@pytest.mark.parametrize(
    ("values", "error"),
    [
        (np.zeros(3), WrongKind),
        (np.zeros((2, 2), dtype=np.int64), WrongKind),
        (np.zeros((65, 2)), OutOfRange),
    ],
)
def test_bad_contributions_are_refused(values, error):
    with pytest.raises(error):
        private_sum(2).sum_vectors(values)


@pytest.mark.theorem("gradient-sum")
@pytest.mark.parametrize("lines", [8, 9])
def test_no_more_lines_are_added_up_than_roundings_were_priced(lines):
    """The claim is the caller's; the sum keeps it."""
    few = dataclasses.replace(private_sum(2), operations=9)
    sums = [
        lambda: few.sum_vectors(np.ones((lines, 2))),
        lambda: few.sum_products(np.ones((lines, 1)), np.ones((lines, 2))),
    ]
    for each in sums:
        if lines + 1 <= few.operations:
            assert each().shape == (2,)
        else:
            with pytest.raises(OutOfRange, match="roundings"):
                each()


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
