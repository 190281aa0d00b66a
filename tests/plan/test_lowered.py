"""What a lowered question refuses, and when groups have to be chosen."""

# ruff: noqa: DTZ001 (timestamps have no time zone)

from datetime import UTC, date, datetime

import pytest

from discreet.errors import OutOfRange, TooLarge, WrongKind
from discreet.query.expressions import Column, Literal
from discreet.query.relations import Scan
from discreet.query.types import Type
from discreet.requests.engine_request import DistinctCount, EngineRequest, KeyColumn, Leaves, Total

ONES = Total(name="ones", row=Literal(1), low=0, high=5)
VISITS = Scan("visits", (("patient", Type.INTEGER), ("ward", Type.TEXT)))
WARD = KeyColumn("ward", Column("ward"), Type.TEXT)
OPEN = KeyColumn("open", Column("open"), Type.BOOLEAN)


def lowered(**changes):
    fields = {
        "relation": VISITS,
        "unit": (Column("patient"),),
        "keys": (WARD,),
        "groups": 2,
        "measures": (ONES,),
        **changes,
    }
    return EngineRequest(**fields)


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"unit": ()}, OutOfRange),
        ({"groups": None}, OutOfRange),
        ({"groups": 0}, OutOfRange),
        ({"groups": 1.5}, WrongKind),
        ({"keys": (WARD, WARD)}, OutOfRange),
        ({"measures": (ONES, ONES)}, OutOfRange),
        ({"public": (("a",), ("a",))}, OutOfRange),
        ({"public": ((1,),)}, WrongKind),
        ({"public": (("a", "b"),)}, WrongKind),
        ({"public": (("\ud800",),)}, WrongKind),
        ({"keys": (OPEN,), "public": ((1,),)}, WrongKind),
    ],
)
def test_contradictions_are_refused(changes, error):
    with pytest.raises(error):
        lowered(**changes)


@pytest.mark.parametrize(
    ("measure", "fields", "error"),
    [
        (Total, {"low": 1, "high": 0}, OutOfRange),
        (Total, {"low": 0, "high": 2**63}, TooLarge),
        (Total, {"low": -(2**63) - 1, "high": 0}, TooLarge),
        (Total, {"low": 0.5, "high": 1}, WrongKind),
        (Total, {"low": 0, "high": 1, "rows": 0}, OutOfRange),
        (Leaves, {"leaves": 0, "rows": 1}, OutOfRange),
        (Leaves, {"leaves": 1, "rows": 0}, OutOfRange),
    ],
)
def test_measures_without_a_bound_are_refused(measure, fields, error):
    with pytest.raises(error):
        measure(name="x", row=Column("x"), **fields)


def test_distinct_values_are_bounded_too():
    with pytest.raises(OutOfRange):
        DistinctCount(name="x", expression=Column("x"), most=0)


@pytest.mark.parametrize(
    ("kind", "value", "fits"),
    [
        (Type.INTEGER, 2**63 - 1, True),
        (Type.INTEGER, 2**63, False),
        (Type.INTEGER, True, False),
        (Type.BOOLEAN, False, True),
        (Type.DATE, date(2024, 1, 1), True),
        (Type.DATE, datetime(2024, 1, 1), False),
        (Type.TIMESTAMP, datetime(2024, 1, 1), True),
        (Type.TIMESTAMP, datetime(2024, 1, 1, tzinfo=UTC), False),
        (Type.TEXT, None, True),
    ],
)
def test_public_values_have_the_type_of_their_key(kind, value, fits):
    assert KeyColumn("k", Column("k"), kind).holds(value) is fits


def test_groups_are_chosen_only_where_a_unit_may_touch_more():
    public = (("a",), ("b",))
    assert lowered().chooses
    assert not lowered(keys=()).chooses
    assert not lowered(unit=(), groups=None).chooses
    assert not lowered(public=public).chooses
    assert lowered(public=public, groups=1).chooses


def test_the_most_that_a_unit_adds():
    assert Total(name="x", row=Column("x"), low=-7, high=3).most == 7
