"""Fixed point: whole numbers between their bounds, whatever the data; and close to the truth."""

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import OutOfRange
from discreet.plan.statistics.fixed_point import fixed, fixed_open, fixed_square, grid_of
from discreet.query.expressions import Column
from discreet.query.types import Type
from tests.reference.casts import read as read_value
from tests.reference.expressions import compiled

X = Column("x")
WHOLE = st.sampled_from([None, 0, 1, -1, 2**53 + 1, 2**63 - 1, -(2**63)]) | st.integers(
    -(2**63), 2**63 - 1
)
BROKEN = st.none() | st.floats()
ENDS = st.fractions(-(10**12), 10**12, max_denominator=10**9) | st.sampled_from(
    [Fraction(0), Fraction(1, 10**200), Fraction(10**200), Fraction(-(10**30)), Fraction(10**120)]
)
BOUNDS = st.tuples(ENDS, ENDS).map(sorted).map(tuple).filter(lambda pair: pair[0] < pair[1])


def value_of(row, kind, value):
    return compiled(row, {"x": kind})({"x": read_value(value, kind)})


def made(kind, bounds, rows, which):
    match which:
        case "square":
            return fixed_square(X, kind, bounds, center=sum(bounds) / 2, rows=rows)
        case "open":
            return fixed_open(X, kind, bounds, whole=True)
        case _:
            return fixed(X, kind, bounds, rows=rows, centered=which == "centered")


@pytest.mark.theorem("fixed-point")
@settings(max_examples=200)
@given(
    kind=st.sampled_from([Type.INTEGER, Type.FLOAT]),
    bounds=BOUNDS,
    rows=st.integers(1, 1000),
    which=st.sampled_from(["plain", "centered", "square", "open"]),
    data=st.data(),
)
def test_every_value_is_between_its_bounds(kind, bounds, rows, which, data):
    try:
        steps = made(kind, bounds, rows, which)
    except OutOfRange:
        return  # refused beforehand
    if which != "open":
        assert max(abs(steps.low), abs(steps.high)) * rows <= 2**31
    ends = [float(end) for end in bounds]
    values = WHOLE if kind is Type.INTEGER else BROKEN | st.sampled_from(ends)
    for value in data.draw(st.lists(values, max_size=6)):
        found = value_of(steps.row, kind, value)
        if read_value(value, kind) is None:
            assert found is None
        else:
            assert type(found) is int
            assert steps.low <= found <= steps.high


@given(x=st.floats(-50, 150), rows=st.integers(1, 50))
def test_values_are_kept_to_half_a_step(x, rows):
    bounds = Fraction(0), Fraction(100)
    for centered in (False, True):
        steps = fixed(X, Type.FLOAT, bounds, rows=rows, centered=centered)
        found = value_of(steps.row, Type.FLOAT, x) * steps.step + steps.center
        assert abs(found - Fraction(min(max(x, 0.0), 100.0))) <= steps.step
    square = fixed_square(X, Type.FLOAT, bounds, center=Fraction(50), rows=rows)
    found = value_of(square.row, Type.FLOAT, x) * square.step + square.center
    assert abs(found - (Fraction(min(max(x, 0.0), 100.0)) - 50) ** 2) <= square.step


@given(x=st.integers(-5, 200))
def test_small_whole_numbers_are_exact(x):
    for low, high in ((0, 110), (0, 111), (-7, 2)):
        for centered in (False, True):
            bounds = Fraction(low), Fraction(high)
            steps = fixed(X, Type.INTEGER, bounds, rows=10, centered=centered)
            found = value_of(steps.row, Type.INTEGER, x) * steps.step + steps.center
            assert found == min(max(x, low), high)


def test_bounds_that_hold_nothing_are_refused():
    with pytest.raises(OutOfRange):
        fixed(X, Type.INTEGER, (Fraction(1, 4), Fraction(1, 2)), rows=1)
    with pytest.raises(OutOfRange):
        fixed(X, Type.FLOAT, (Fraction(0), Fraction(1, 10**300)), rows=1)


@settings(max_examples=100)
@given(
    kind=st.sampled_from([Type.INTEGER, Type.FLOAT]),
    bounds=st.tuples(st.integers(-(2**40), 2**40), st.integers(1, 2**41)),
    data=st.data(),
)
def test_every_value_has_a_leaf_near_to_it(kind, bounds, data):
    low, high = Fraction(bounds[0]), Fraction(bounds[0] + bounds[1])
    row, grid = grid_of(X, kind, (low, high))
    assert grid.leaves <= (2**16 if kind is Type.INTEGER else 4096)
    values = WHOLE if kind is Type.INTEGER else BROKEN
    for value in data.draw(st.lists(values, max_size=4)):
        leaf = value_of(row, kind, value)
        if read_value(value, kind) is None:
            assert leaf is None
            continue
        assert 0 <= leaf < grid.leaves
        inside = min(max(Fraction(value), low), high)
        assert abs(grid.value(leaf) - inside) <= grid.width
        if kind is Type.INTEGER and grid.leaves == high - low + 1:
            assert grid.value(leaf) == inside
