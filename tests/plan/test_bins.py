"""Bins hold what they say, on every engine, and bounds of bins hold the numbers in them."""

import math
from fractions import Fraction

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.engines.duckdb import DuckDB
from discreet.engines.engine import HashOrder
from discreet.plan.bounds_search import FLOATS, WHOLE, bins_of
from discreet.query.expressions import Column
from discreet.query.relations import Scan
from discreet.query.types import Type
from discreet.requests.engine_request import EngineRequest, Leaves
from tests.reference.engine import Reference

WHOLES = sorted(
    {0, 2**63 - 1, -(2**63)}
    | {sign * (2**k + step) for k in range(63) for step in (-1, 0, 1) for sign in (1, -1)}
)
REALS = [
    *(sign * 2.0**k * step for k in range(-66, 67) for step in (1.0, 1.5) for sign in (1, -1)),
    *(math.nextafter(2.0**k, side) for k in range(-65, 66) for side in (0.0, math.inf)),
    *(-math.nextafter(2.0**k, side) for k in range(-65, 66) for side in (0.0, math.inf)),
    *(0.0, -0.0, 5e-324, -5e-324, 1e308, -1e308),
]


def expected(value, bins):
    """Return the bin of a number, found without expressions."""
    size = abs(Fraction(value))
    for away, (low, high) in enumerate(bins.ends, start=1):
        inside = low <= size <= high if bins.whole else low <= size < high
        if not bins.whole and value < 0:  # ends below zero belong to the bin above
            inside = low < size <= high
        if inside or (away == len(bins.ends) and size > high):
            return bins.zero + (away if value > 0 else -away)
    smallest = bins.ends[0][0]
    if value > 0 and size >= bins.ends[-1][1]:
        return bins.count - 1
    assert size <= smallest
    return bins.zero


def histograms(values, kind):
    """Return the bin of each value on both engines; every value is a group of its own."""
    bins = bins_of(kind)
    columns = (("u", Type.INTEGER), ("x", kind))
    lowered = EngineRequest(
        relation=Scan("t", columns),
        unit=(Column("u"),),
        keys=(),
        groups=1,
        measures=(Leaves(name="bounds", row=bins.place(Column("x")), leaves=bins.count, rows=1),),
    )
    order = HashOrder(salt=0, portable=True)
    rows = [{"u": at, "x": value} for at, value in enumerate(values)]
    with DuckDB({"t": pa.Table.from_pylist(rows)}) as engine:
        here = engine.run(lowered, order=order).leaves["bounds"]
    there = Reference({"t": rows}, {"t": dict(columns)}).run(lowered, order=order).leaves["bounds"]
    return [
        dict(zip(leaf.tolist(), count.tolist(), strict=True)) for _, leaf, count in (here, there)
    ]


@pytest.mark.parametrize(("kind", "values"), [(Type.INTEGER, WHOLES), (Type.FLOAT, REALS)])
def test_engines_put_numbers_where_the_definition_does(kind, values):
    found = {}
    for value in values:
        place = expected(value, bins_of(kind))
        found[place] = found.get(place, 0) + 1
    assert histograms(values, kind) == [found, found]


def test_what_is_no_number_is_in_no_bin():
    values = [math.nan, math.inf, -math.inf, None]
    assert histograms([*values, 1.0], Type.FLOAT) == [{FLOATS.zero + 65: 1}] * 2


@pytest.mark.parametrize("bins", [FLOATS, WHOLE])
def test_bounds_of_bins_rise_and_hold_what_is_in_them(bins):
    for first in range(bins.count):
        for last in range(first, bins.count):
            low, high = bins.span(first, last)
            assert low < high
            for place in {first, last}:
                ends = (
                    (Fraction(0),) * 2
                    if place == bins.zero
                    else bins.ends[abs(place - bins.zero) - 1]
                )
                sign = -1 if place < bins.zero else 1
                assert all(low <= sign * end <= high for end in ends)
            assert high - low <= (bins.widest[1] - bins.widest[0])


def test_bounds_reach_to_zero_if_that_is_near():
    one = FLOATS.zero + 65  # from 1 to 2
    assert FLOATS.span(one, one) == (1, 2)
    assert FLOATS.span(one, one + 1) == (0, 4)
    assert FLOATS.span(FLOATS.zero - 66, FLOATS.zero - 65) == (-4, 0)
    assert FLOATS.span(FLOATS.zero - 65, one) == (-2, 2)
    assert WHOLE.span(WHOLE.zero, WHOLE.zero + 7) == (0, 127)
    assert WHOLE.widest == (-(2**63 - 1), 2**63 - 1)
    assert FLOATS.widest == (-(2**64), 2**64)


@given(st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False))
def test_numbers_lie_in_the_bounds_of_their_bin(value):
    bins = WHOLE if isinstance(value, int) else FLOATS
    low, high = bins.span(*[expected(value, bins)] * 2)
    inside = min(max(Fraction(value), bins.widest[0]), bins.widest[1])
    if abs(inside) >= bins.ends[0][0]:
        assert low <= inside <= high
