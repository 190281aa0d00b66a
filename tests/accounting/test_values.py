"""Sets of values of one column, against a model: plain sets of a few points."""

import json
import math
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.accounting.values import (
    Values,
    above,
    anything,
    at_least,
    at_most,
    below,
    between,
    equals,
    is_not_null,
    is_null,
    nothing,
    one_of,
)
from discreet.errors import InputError, OutOfRange, WrongKind

NAN = math.nan
EAST = timezone(timedelta(hours=9))

# For each kind: the values that conditions name, and points that lie on every side of them, from
# the lowest to the highest. NaN comes last: it lies above every number.
NAMED = {
    "number": [-math.inf, -1, 0, 0.1, Fraction(1, 3), 2, math.inf],
    "bool": [False, True],
    "date": [date(2024, 1, 1), date(2024, 1, 3)],
    "datetime": [datetime(2024, 1, 1), datetime(2024, 1, 1, 12)],  # noqa: DTZ001
    "instant": [datetime(2024, 1, 1, tzinfo=UTC), datetime(2024, 1, 2, tzinfo=EAST)],
}
POINTS = {
    "number": [-math.inf, -7, -1, -0.5, 0, 0.05, 0.1, 0.2, Fraction(1, 3), 1, 2, 3, math.inf, NAN],
    "bool": [False, True],
    "date": [date(2023, 1, 1), *(date(2024, 1, day) for day in (1, 2, 3, 4))],
    "datetime": [datetime(2024, 1, 1) + timedelta(hours=h) for h in (-1, 0, 1, 12, 13)],  # noqa: DTZ001
    "instant": [datetime(2024, 1, 1, tzinfo=UTC) + timedelta(hours=h) for h in (-1, 0, 1, 15, 16)],
}
KINDS = list(NAMED)


def rank(kind, value):
    """Return the place of a value among the points of its kind."""
    if isinstance(value, float) and math.isnan(value):
        return len(POINTS[kind]) - 1
    return next(at for at, point in enumerate(POINTS[kind]) if point == value)


def members(kind, values):
    """Return the places of the points that belong, -1 for NULL."""
    held = {at for at, point in enumerate(POINTS[kind]) if point in values}
    return held | ({-1} if None in values else set())


SHAPES = {  # conditions on one value, and which places satisfy them
    "equals": lambda value, low, places: (equals(value), {low}),
    "at least": lambda value, low, places: (at_least(value), {at for at in places if at >= low}),
    "above": lambda value, low, places: (above(value), {at for at in places if at > low}),
    "at most": lambda value, low, places: (at_most(value), {at for at in places if at <= low}),
    "below": lambda value, low, places: (below(value), {at for at in places if at < low}),
    "null": lambda value, low, places: (is_null(), {-1}),
    "not null": lambda value, low, places: (is_not_null(), set(places)),
    "anything": lambda value, low, places: (anything(), {-1, *places}),
    "nothing": lambda value, low, places: (nothing(), set()),
}


@st.composite
def conditions(draw, kind):
    """Draw a condition, as a set and as the places of the points that satisfy it."""
    named = st.sampled_from(NAMED[kind])
    shape = draw(st.sampled_from(["several", "between", *SHAPES]))
    if shape == "several":
        several = draw(st.lists(named))
        return one_of(*several), {rank(kind, value) for value in several}
    value = draw(named)
    low, places = rank(kind, value), range(len(POINTS[kind]))
    if shape == "between":
        other = draw(named)
        high = rank(kind, other)
        return between(value, other), {at for at in places if low <= at <= high}
    return SHAPES[shape](value, low, places)


@cache
def sets(kind):
    """Draw sets made with every operation."""
    everywhere = set(range(len(POINTS[kind])))
    return st.recursive(
        conditions(kind),
        lambda inner: st.one_of(
            st.tuples(inner, inner).map(lambda p: (p[0][0] & p[1][0], p[0][1] & p[1][1])),
            st.tuples(inner, inner).map(lambda p: (p[0][0] | p[1][0], p[0][1] | p[1][1])),
            inner.map(lambda p: (~p[0], (everywhere | {-1}) - p[1])),
        ),
        max_leaves=6,
    )


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
def test_every_operation_agrees_with_plain_sets(kind, data):
    """All about the same sets, since drawing them takes longest."""
    values, model = data.draw(sets(kind))
    other, other_model = data.draw(sets(kind))
    assert members(kind, values) == model
    assert values.empty == (not model)
    assert (values == other) == (model == other_model)  # one form for each set
    if model == other_model:
        assert hash(values) == hash(other)
    assert values.disjoint(other) == (not model & other_model)
    assert values.covers(other) == (other_model <= model)
    assert values.exact
    assert values.region is values
    assert values.is_anything == (len(model) == len(POINTS[kind]) + 1)
    for one in (values, other):
        assert Values.read(json.loads(json.dumps(one.written()))) == one  # survives JSON


@given(st.lists(st.text(max_size=2)), st.lists(st.text(max_size=2)), st.text(max_size=2))
def test_text_is_known_by_its_code_points(first, second, value):
    here, there = one_of(*first), one_of(*second)
    assert (value in here) == (value in set(first))
    assert (value in here & there) == (value in set(first) & set(second))
    assert (value in ~here | there) == (value not in set(first) or value in set(second))
    assert (here == there) == (set(first) == set(second))
    assert Values.read(json.loads(json.dumps(here.written()))) == here


def test_a_float_means_its_decimal_text():
    assert Fraction(0.1) not in equals(0.1)
    assert 0.1 + 0.2 not in equals(0.3)
    assert 10**30 + 1 not in equals(1e30)


def test_numbers_beyond_floats_are_not_infinite():
    assert equals(Decimal("1e400")) != equals(math.inf)
    assert Decimal("1e400") in below(math.inf)


def test_nan_lies_above_every_number():
    assert NAN in at_least(3)
    assert NAN in above(math.inf)
    assert NAN in ~equals(3)
    assert NAN in is_not_null()
    assert NAN not in at_most(math.inf)
    assert Decimal("nan") in above(0)
    assert np.float32("nan") in above(0)
    assert above(math.inf) != nothing()


def test_nothing_lies_below_the_lowest_number():
    assert below(-math.inf) == nothing()
    assert at_least(-math.inf) == is_not_null()


def test_a_bool_is_true_or_false():
    assert one_of(True, False) == is_not_null()
    assert ~equals(True) & is_not_null() == equals(False)
    assert above(False) == equals(True)


def test_an_empty_range_holds_nothing():
    assert between(2, 1) == nothing()
    assert one_of() == nothing()


@pytest.mark.parametrize(
    "condition", [between("a", "b"), at_least("a"), above("a"), at_most("b"), below("b")]
)
def test_ranges_of_text_enclose_whatever_a_collation_makes_of_them(condition):
    assert not condition.exact
    for part in (condition, ~condition, ~condition & is_not_null(), ~~condition):
        assert all(text in part for text in ("", "a", "B", "ä", "zz"))
    assert None not in condition
    assert None in ~condition
    assert condition.region == is_not_null()
    assert not condition.covers(equals("a"))  # perhaps not
    assert condition.covers(nothing())
    assert (condition & equals("a")).region == equals("a")
    assert (condition & equals("a")) != equals("a")
    assert (condition | is_null()) != anything()
    assert (condition & nothing()) == nothing()
    assert str(condition) == "perhaps not NULL"
    assert Values.read(condition.written()) == condition


def test_widening_remembers_that_less_was_meant():
    assert equals(3).widened != anything()
    assert equals(3).widened.region == anything()
    assert anything().widened == anything()


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (equals(1), equals(True)),
        (equals(1), equals("1")),
        (equals(date(2024, 1, 1)), equals(datetime(2024, 1, 1))),  # noqa: DTZ001
        (equals(datetime(2024, 1, 1)), equals(datetime(2024, 1, 1, tzinfo=UTC))),  # noqa: DTZ001
        (equals("2024-01-01"), equals(date(2024, 1, 1))),
    ],
)
def test_kinds_do_not_mix(left, right):
    for operation in (
        lambda: left & right,
        lambda: left | right,
        lambda: left.disjoint(right),
        lambda: left.covers(right),
    ):
        with pytest.raises(WrongKind, match="two kinds"):
            operation()
    assert left & is_not_null() == left
    assert left | nothing() == left


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: equals(NAN), OutOfRange),
        (lambda: at_least(Decimal("nan")), OutOfRange),
        (lambda: between(0, np.float64("nan")), OutOfRange),
        (lambda: equals(None), WrongKind),
        (lambda: one_of(1, None), WrongKind),
        (lambda: one_of(1, "a"), WrongKind),
        (lambda: between(1, True), WrongKind),
        (lambda: one_of([1, 2]), WrongKind),
        (lambda: equals(1j), WrongKind),
        (lambda: equals(b"a"), WrongKind),
        (lambda: True in equals(1), WrongKind),
        (lambda: 1 in equals("1"), WrongKind),
        (lambda: NAN in equals("1"), WrongKind),
        (lambda: equals(1) & 1, WrongKind),
        (lambda: equals(1) | None, WrongKind),
        (lambda: equals(Decimal("1e9999")), OutOfRange),
        (lambda: equals(datetime(1, 1, 1, tzinfo=EAST)), OutOfRange),
        (lambda: Values(kind="number"), WrongKind),
        (lambda: Values(cuts=((1, 0),)), WrongKind),
        (lambda: Values(kind="number", cuts=[(1, 0)]), WrongKind),
        (lambda: Values(kind="number", cuts=((1, 0), (1, 0))), WrongKind),
        (lambda: Values(kind="number", cuts=((2, 0), (1, 0))), WrongKind),
        (lambda: Values(kind="number", cuts=((0.5, 0),)), WrongKind),
        (lambda: Values(kind="number", cuts=(("1", 0),)), WrongKind),
        (lambda: Values(kind="number", cuts=((Fraction(2), 0),)), WrongKind),
        (lambda: Values(kind="number", cuts=((-math.inf, 0),)), WrongKind),
        (lambda: Values(kind="number", cuts=((1, 2),)), WrongKind),
        (lambda: Values(kind="number", cuts=((1, False),)), WrongKind),
        (lambda: Values(kind="number", cuts=(1,)), WrongKind),
        (lambda: Values(kind="bool", cuts=((False, 1),)), WrongKind),
        (lambda: Values(kind="text", cuts=(("a", 0),)), WrongKind),
        (lambda: Values(kind="text", cuts=(("a", 0), ("b", 1))), WrongKind),
        (lambda: Values(kind="blob", cuts=(("a", 0), ("a", 1))), WrongKind),
        (lambda: Values(exact=False), WrongKind),
        (lambda: Values(null=1), WrongKind),
    ],
)
def test_bad_input_is_refused(call, error):
    with pytest.raises(error):
        call()


class Nanoseconds(datetime):
    nanosecond = 7


def test_datetimes_are_not_cut_off():
    with pytest.raises(OutOfRange, match="nanoseconds"):
        equals(Nanoseconds(2024, 1, 1))


GOOD = equals(1).written()


@pytest.mark.parametrize(
    "data",
    [
        None,
        [],
        {},
        {**GOOD, "more": 1},
        {key: value for key, value in GOOD.items() if key != "null"},
        {**GOOD, "kind": "blob"},
        {**GOOD, "kind": None},
        {**GOOD, "kind": ["number"]},
        {**GOOD, "cuts": None},
        {**GOOD, "cuts": [["1", 0, 0]]},
        {**GOOD, "cuts": [["1", 0], ["1", True]]},
        {**GOOD, "cuts": [["1", 0], ["01", 1]]},
        {**GOOD, "cuts": [["1", 0], ["1.0", 1]]},
        {**GOOD, "cuts": [["1", 0], ["nan", 1]]},
        {**GOOD, "cuts": [[1, 0], [1, 1]]},
        {**GOOD, "cuts": [["1", 1], ["1", 0]]},
        {**GOOD, "below": 0},
        {**equals(date(2024, 1, 1)).written(), "cuts": [["2024-13-01", 0], ["2024-01-01", 1]]},
        {**equals(date(2024, 1, 1)).written(), "kind": "datetime"},
        {**equals(datetime(2024, 1, 1)).written(), "kind": "instant"},  # noqa: DTZ001
    ],
    ids=str,
)
def test_only_what_was_written_is_read(data):
    with pytest.raises(InputError):
        Values.read(data)


@pytest.mark.parametrize(
    ("values", "text"),
    [
        (equals("CA"), "'CA'"),
        (one_of(1, 2), "1, 2"),
        (~one_of("CA", "NY") & is_not_null(), "other than 'CA', 'NY'"),
        (~equals(3), "other than 3, or NULL"),
        (at_most(3) | above(5), "up to 3, above 5"),
        (above(3) & below(5), "above 3 to below 5"),
        (between(date(2024, 1, 1), date(2024, 2, 1)), "from 2024-01-01 to 2024-02-01"),
        (equals(True), "True"),
        (~equals(True), "False, or NULL"),
        (anything(), "anything"),
        (nothing(), "nothing"),
        (is_null(), "NULL"),
        (is_not_null(), "not NULL"),
    ],
)
def test_sets_can_be_said(values, text):
    assert str(values) == text
