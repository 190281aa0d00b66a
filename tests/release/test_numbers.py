"""Exact arrays, and intervals that are rounded outward."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.aggregates import intervals as outward
from discreet.aggregates.intervals import weighted

WEIGHTS = st.fractions(-50, 50, max_denominator=300) | st.sampled_from(
    [Fraction(1, 2**24), Fraction(1, 2**60), Fraction(10**12)]
)
INTEGERS = st.integers(-9, 9) | st.integers(-(2**62), 2**62)


@settings(max_examples=80, deadline=None)
@given(st.lists(st.tuples(WEIGHTS, INTEGERS), min_size=1, max_size=4))
def test_weighted_sums_are_exact_and_rounded_the_way_they_say(terms):
    exact = sum((weight * value for weight, value in terms), Fraction(0))
    found = weighted([(weight, np.array([value])) for weight, value in terms])
    assert Fraction(int(found.tops[0]), found.bottom) == exact
    low, near, high = (float(part()[0]) for part in (found.down, found.nearest, found.up))
    assert Fraction(low) <= exact <= Fraction(high)
    assert low <= near <= high
    assert high - low <= 4 * math.ulp(near)
    inside = -(2**63) <= exact <= 2**63 - 1
    if inside:
        assert found.floor()[0] == math.floor(exact)
        assert found.rounded()[0] == round(exact)
        assert found.ceil()[0] == min(math.ceil(exact), 2**63 - 1)
    else:
        assert found.floor()[0] in {-(2**63), 2**63 - 1}


@settings(max_examples=80, deadline=None)
@given(
    st.lists(st.tuples(WEIGHTS, INTEGERS, st.integers(-40, 40)), min_size=1, max_size=3),
    st.fractions(0, 400, max_denominator=97),
)
def test_what_is_no_farther_away_and_in_the_same_steps_lies_within(terms, far):
    """An error is the same sum of other whole numbers, and so it is in the same steps."""
    exact = sum((weight * value for weight, value, _ in terms), Fraction(0))
    error = sum((weight * move for weight, _, move in terms), Fraction(0))
    found = weighted([(weight, np.array([value])) for weight, value, _ in terms])
    low, high = (float(end[0]) for end in found.within(far))
    assert low <= high
    if abs(error) <= far:
        assert Fraction(low) <= exact - error <= Fraction(high)
    assert Fraction(low) >= exact - far - 4 * Fraction(math.ulp(low))
    assert Fraction(high) <= exact + far + 4 * Fraction(math.ulp(high))


def test_whole_numbers_and_halves_stay_as_they_are():
    exact = weighted([(Fraction(1, 2), np.array([3, -8]))])
    assert exact.down().tolist() == exact.up().tolist() == [1.5, -4.0]


NUMBERS = st.floats(-1e6, 1e6) | st.sampled_from([0.0, 1.0, -1.0, math.inf, -math.inf, 1e299])


def ends_of(pair):
    return np.array([min(pair)]), np.array([max(pair)])


@settings(max_examples=150, deadline=None)
@given(st.tuples(NUMBERS, NUMBERS), st.tuples(NUMBERS, NUMBERS), st.floats(0, 1), st.floats(0, 1))
def test_interval_arithmetic_holds_every_result(first, second, here, there):
    def inside(pair, share):
        low, high = max(min(pair), -1e300), min(max(pair), 1e300)
        return min(max(low + (high - low) * share if low < high else low, low), high)

    x, y = inside(first, here), inside(second, there)
    one, other = ends_of(first), ends_of(second)
    if not (math.isfinite(x) and math.isfinite(y)):  # infinity alone is no interval
        return
    if math.inf in {min(first), min(second)} or -math.inf in {max(first), max(second)}:
        return
    exact = Fraction(x), Fraction(y)
    for compute, value in (
        (outward.added, exact[0] + exact[1]),
        (outward.multiplied, exact[0] * exact[1]),
        (outward.divided, exact[0] / exact[1] if y else None),
    ):
        if value is None:
            continue
        low, high = (float(end[0]) for end in compute(one, other))
        assert low == -math.inf or Fraction(low) <= value
        assert high == math.inf or value <= Fraction(high)


def test_quotients_know_the_sign_of_their_divisor():
    one = ends_of((1.0, 2.0))
    low, high = outward.divided(one, ends_of((0.0, 4.0)))
    assert low[0] == pytest.approx(0.25)
    assert high[0] == math.inf
    low, high = outward.divided(one, ends_of((-4.0, 0.0)))
    assert low[0] == -math.inf
    assert high[0] == pytest.approx(-0.25)
    assert np.isinf(outward.divided(one, ends_of((-1.0, 1.0)))[0][0])
