"""Ranges of formulas hold the value at every point of the box."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.query.expressions import Call, Case, Cast, Column, Literal
from discreet.query.functions import RELEASED
from discreet.query.types import Type
from discreet.release import formula_ranges as range_functions
from discreet.release.formula_ranges import Ranges
from discreet.release.formulas import Formulas, Vector, constant, vector
from tests.engines.questions import expressions

SLOTS = {"a0": Type.INTEGER, "a1": Type.FLOAT}
TYPES = {**SLOTS, "k": Type.TEXT, "d": Type.DATE, "m": Type.TIMESTAMP, "b": Type.BOOLEAN}
ENDS = st.integers(-9, 9) | st.sampled_from([0, 0, -(2**62), 2**62, 2**53 + 2])


def formulas_of(whole, real):
    size = len(whole)
    others = {
        name: constant(None if name == "b" else "a" if kind is Type.TEXT else None, kind, size)
        for name, kind in TYPES.items()
        if name not in SLOTS
    }
    columns = {
        "a0": vector(Type.INTEGER, np.array(whole, np.int64)),
        "a1": vector(Type.FLOAT, np.array(real, np.float64)),
        **others,
    }
    return Formulas(columns=columns, keys=(), size=size)


def between(ends, share):
    return min(max(ends[0] + (ends[1] - ends[0]) * share, ends[0]), ends[1])


def box_of(low, high, size=1):
    return np.full(size, float(low)), np.full(size, float(high))


@pytest.mark.theorem("formula-range")
@settings(max_examples=150, deadline=None)
@given(
    expressions(Type.INTEGER, TYPES, 3) | expressions(Type.FLOAT, TYPES, 3),
    st.tuples(ENDS, ENDS).map(sorted),
    st.tuples(ENDS, ENDS).map(sorted),
    st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=6),
)
def test_the_value_of_every_point_lies_in_the_range(expression, first, second, shares):
    shares += list(itertools.product((0.0, 1.0), repeat=2))
    whole = [
        min(max(first[0] + round((first[1] - first[0]) * s), first[0]), first[1]) for s, _ in shares
    ]
    real = [
        min(max(second[0] + (second[1] - second[0]) * s, second[0]), second[1]) for _, s in shares
    ]
    values = formulas_of(whole, real).value(expression)
    middle = formulas_of([whole[0]], [real[0]])
    ranges = Ranges(middle, {"a0": box_of(*first), "a1": box_of(*second)})
    ends = ranges.range_of(expression)
    for value in values.to_list():
        if value is None:
            assert ends.null[0], (expression, ends)
        else:
            assert ends.low[0] <= value <= ends.high[0], (expression, value, ends)


def one(expression, first=(34, 46), second=(1, 2)):
    ranges = Ranges(formulas_of([40], [1.5]), {"a0": box_of(*first), "a1": box_of(*second)})
    ends = ranges.range_of(expression)
    return ends.low[0], ends.high[0], bool(ends.null[0])


@pytest.mark.parametrize(
    ("expression", "low", "high", "null"),
    [
        (Call("*", (Literal(100), Column("a0"))), 3400, 4600, False),
        (Call("/", (Column("a0"), Column("a1"))), 17, 46, False),
        (Call("-", (Column("a0"), Column("a0"))), -12, 12, False),  # slots are taken apart
        (Call("ABS", (Call("-", (Column("a0"), Literal(40))),)), 0, 6, False),
        (Call("SQRT", (Column("a0"),)), 34**0.5, 46**0.5, False),
        (Call("LEAST", (Column("a0"), Literal(40))), 34, 40, False),
        (Call("GREATEST", (Column("a0"), Literal(50))), 50, 50, False),
        (Call("COALESCE", (Column("a0"), Literal(-5))), 34, 46, False),
        (Call("COALESCE", (Literal(None), Column("a0"))), 34, 46, False),
        (Cast(Column("a1"), Type.INTEGER), 1, 2, False),
        (Case(((Call(">", (Column("a0"), Literal(40))), Literal(1)),)), 1, 1, True),
        (Case(((Call("IS NULL", (Column("k"),)), Literal(1)),), Column("a1")), 1, 2, False),
        (Call("/", (Literal(1), Call("-", (Column("a0"), Literal(40))))), -np.inf, np.inf, True),
        (Call("LENGTH", (Cast(Column("a0"), Type.TEXT),)), -np.inf, np.inf, True),
    ],
)
def test_ranges_are_as_narrow_as_they_can_be(expression, low, high, null):
    found = one(expression)
    assert found[:2] == pytest.approx((low, high), rel=1e-12)
    assert found[2] is null


@pytest.mark.parametrize("function", ["+", "*", "FLOOR", "SQRT"])
def test_a_range_from_one_end_alone_is_noticed(function, monkeypatch):
    """A mutant that forgets the upper end does not hold all values."""
    real = range_functions.RANGES[function]

    def mutant(*parts):
        found = real(*parts)
        return range_functions.Range(found.low, found.low, found.null)

    monkeypatch.setitem(range_functions.RANGES, function, mutant)
    arguments = {"FLOOR": 1, "SQRT": 1}.get(function, 2)
    call = Call(function, (Column("a0"), Literal(40))[:arguments])
    values = formulas_of([34, 46], [1.5, 1.5]).value(call)
    low, high, _ = one(call)
    assert not all(low <= value <= high for value in values.to_list())


def test_columns_that_are_null_are_no_numbers():
    column = Vector(Type.INTEGER, np.zeros(1, np.int64), np.ones(1, np.bool_))
    formulas = Formulas(columns={"a0": column, "k": column}, keys=(), size=1)
    ends = Ranges(formulas, {"a0": box_of(1, 2)}).range_of(Call("+", (Column("a0"), Column("k"))))
    assert ends.null[0]


BASES = st.floats(-6, 6) | st.integers(-4, 4).map(float) | st.sampled_from([1e-300, 1e300, -1e9])
EXPONENTS = st.sampled_from([-3, -2, -1, 0, 1, 2, 3, 10]) | st.floats(-3, 3) | st.just(0.5)


def released(function, first, second):
    """Return a function of released numbers, and the boxes of its arguments."""
    arguments = (Column("a1"), Column("a2"))[: len(RELEASED[function].takes)]
    return Call(function, arguments), {"a1": first, "a2": second}


@pytest.mark.theorem("formula-range")
@pytest.mark.parametrize("function", RELEASED)
@settings(max_examples=150, deadline=None)
@given(
    first=st.tuples(BASES, BASES).map(sorted),
    second=st.tuples(EXPONENTS, EXPONENTS).map(sorted) | EXPONENTS.map(lambda each: [each, each]),
    shares=st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), max_size=6),
)
def test_functions_of_released_numbers_stay_in_their_ranges(function, first, second, shares):
    call, boxes = released(function, first, second)
    shares = [*shares, *itertools.product((0.0, 0.5, 1.0), repeat=2)]
    points = [(between(first, one), between(second, other)) for one, other in shares]
    points += [
        (x, float(y)) for x, _ in points for y in range(-3, 4) if second[0] <= y <= second[1]
    ]
    columns = {
        name: vector(Type.FLOAT, np.array([point[at] for point in points], np.float64))
        for at, name in enumerate(boxes)
    }
    values = Formulas(columns=columns, keys=(), size=len(points)).value(call)
    middle = Formulas(
        columns={n: each.taken(np.array([0])) for n, each in columns.items()}, keys=(), size=1
    )
    ends = Ranges(middle, {name: box_of(*box) for name, box in boxes.items()}).range_of(call)
    for value in values.to_list():
        if value is None:
            assert ends.null[0], (call, boxes)
        else:
            assert ends.low[0] <= value <= ends.high[0], (call, boxes, value)


@pytest.mark.parametrize(
    ("expression", "low", "high", "null"),
    [
        (Call("POWER", (Column("a0"), Literal(2))), 34**2, 46**2, False),
        (Call("POWER", (Call("-", (Column("a0"), Literal(40))), Literal(2))), 0, 36, False),
        (Call("POWER", (Call("-", (Column("a0"), Literal(40))), Literal(3))), -216, 216, False),
        (Call("POWER", (Column("a1"), Literal(-1))), 0.5, 1, False),
        (Call("LN", (Column("a0"),)), np.log(34), np.log(46), False),
        (Call("LN", (Call("-", (Column("a0"), Literal(40))),)), -np.inf, np.log(6), True),
        (Call("LOG10", (Column("a0"),)), np.log10(34), np.log10(46), False),
        (Call("LOG2", (Column("a1"),)), 0, 1, False),
        (Call("EXP", (Column("a1"),)), np.exp(1), np.exp(2), False),
        (Call("EXP", (Call("*", (Column("a0"), Literal(100))),)), 0, np.inf, True),
    ],
)
def test_ranges_of_functions_of_released_numbers_are_narrow(expression, low, high, null):
    found = one(expression)
    assert found[:2] == pytest.approx((low, high), rel=1e-9, abs=1e-9)
    assert found[2] is null
