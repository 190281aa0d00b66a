"""Boxes of records, against a model: plain sets of a few records."""

import itertools
import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.accounting.box import Box
from discreet.accounting.values import (
    Values,
    anything,
    at_least,
    below,
    between,
    equals,
    is_not_null,
    is_null,
    nothing,
    one_of,
)
from discreet.errors import InputError, WrongKind
from discreet.units import custom, person, row

# All sides of all conditions below: the model sees every difference that a box can make.
DOMAIN = {
    "age": [10, 18, 30, 65, 70, math.nan, None],
    "state": ["CA", "NY", "other", None],
    "alive": [True, False, None],
}
RECORDS = [dict(zip(DOMAIN, values, strict=True)) for values in itertools.product(*DOMAIN.values())]
CONDITIONS = {
    "age": [
        at_least(18),
        below(65),
        equals(65),
        (~equals(18) & is_not_null()),
        is_not_null(),
        nothing(),
    ],
    "state": [equals("CA"), one_of("CA", "NY"), ~equals("NY"), is_null(), anything()],
    "alive": [equals(True), (~equals(True) & is_not_null()), is_null(), is_not_null()],
}


def boxes():
    chosen = {column: st.sampled_from(sets) for column, sets in CONDITIONS.items()}
    return st.fixed_dictionaries({}, optional=chosen).map(Box)


def held(box):
    return {at for at, record in enumerate(RECORDS) if record in box}


@given(boxes(), boxes())
def test_boxes_agree_with_plain_sets(here, there):
    first, second = held(here), held(there)
    assert held(here & there) == first & second
    assert here.empty == (not first)
    assert here.disjoint(there) == (not first & second)
    assert here.covers(there) == (second <= first)
    assert (here == there) == (first == second)
    assert here.exact
    assert here.region is here
    if here == there:
        assert hash(here) == hash(there)


@pytest.mark.theorem("box-difference")
@given(boxes(), boxes())
def test_what_is_left_of_a_box_is_divided_without_overlap(here, there):
    pieces = here.minus(there)
    assert not any(piece.empty for piece in pieces)
    for one, two in itertools.combinations(pieces, 2):
        assert one.disjoint(two)
        assert not held(one) & held(two)
    assert set().union(*map(held, pieces)) == held(here) - held(there)


@given(boxes())
def test_boxes_survive_json(box):
    assert Box.read(json.loads(json.dumps(box.written()))) == box
    assert eval(repr(box), {"Box": Box, "Values": Values}) == box  # noqa: S307


def test_columns_that_are_not_named_hold_anything():
    assert Box({"age": anything()}) == Box({}) == Box.everything()
    assert Box.everything().on("age") == anything()
    assert {"x": 1} in Box.everything()
    assert str(Box.everything()) == "everything"


def test_a_box_that_encloses_more_than_is_meant_takes_nothing_away():
    box = Box({"state": between("CA", "NY"), "age": at_least(18)})
    assert not box.exact
    assert {"state": "ZZ", "age": 20} in box
    assert box.region == Box({"state": is_not_null(), "age": at_least(18)})
    assert box != box.region
    with pytest.raises(WrongKind, match="encloses more"):
        Box.everything().minus(box)
    assert len(Box.everything().minus(box.region)) == 2
    assert not box.covers(Box({"state": equals("CA"), "age": equals(20)}))
    assert Box.everything().covers(box)
    assert Box({"state": between("A", "B") | is_null()}) != Box.everything()


PEOPLE = [
    [{"who": who, "born": born, "ward": ward} for ward in wards]
    for who, born in ((1, 1980), (2, 1990), (None, 1980))
    for size in (1, 2)
    for wards in itertools.combinations(["A", "B", None], size)
]
CUTS = {
    "who": [equals(1), at_least(2), is_null()],
    "born": [equals(1980), below(1985)],
    "ward": [equals("A"), is_null(), one_of("A", "B")],
}


@given(st.fixed_dictionaries({}, optional={c: st.sampled_from(s) for c, s in CUTS.items()}))
def test_everyone_with_a_row_in_a_box_is_in_the_box_of_people(chosen):
    box = Box(chosen)
    widened = box.for_unit(person("who"), constant=["born"])
    assert widened.exact == ("ward" not in chosen)
    for rows in PEOPLE:
        touched = any(record in box for record in rows)
        inside = [record in widened for record in rows]
        assert len(set(inside)) == 1  # a matter of the person, not of the row
        assert inside[0] or not touched
        if widened.exact:
            assert inside[0] == touched


def test_only_what_all_rows_of_a_unit_share_says_where_it_is_not():
    box = Box({"who": equals(1), "day": equals(3), "ward": equals("A")})
    assert box.for_unit(row()) == box
    assert box.for_unit(person("who")).region == Box({"who": equals(1)})
    days = custom("person-day", columns=["who", "day"])
    assert box.for_unit(days).region == Box({"who": equals(1), "day": equals(3)})
    widened = Box({"ward": equals("A")}).for_unit(person("who"))
    assert widened.region == Box.everything()
    assert widened != Box.everything()  # some people have no row there
    assert Box.read(widened.written()) == widened
    assert Box({"ward": nothing()}).for_unit(person("who")).empty


@pytest.mark.parametrize(
    "call",
    [
        lambda: Box([("age", equals(1))]),
        lambda: Box({"age": 1}),
        lambda: Box({1: equals(1)}),
        lambda: Box({"age": equals(1)}) & equals(1),
        lambda: Box({"age": equals(1)}) & Box({"age": equals("1")}),
        lambda: Box({"age": equals(1)}).minus(Box({"age": equals(True)})),
        lambda: {"state": "CA"} in Box({"age": equals(1)}),
        lambda: 3 in Box({"age": equals(1)}),
        lambda: {"age": "1"} in Box({"age": equals(1)}),
        lambda: Box({}).for_unit("person"),
        lambda: Box({}).for_unit(person("who"), constant="born"),
        lambda: Box.read(None),
        lambda: Box.read({}),
        lambda: Box.read({"empty": False, "columns": []}),
        lambda: Box.read({"empty": 0, "columns": {}}),
        lambda: Box.read({"empty": True, "columns": {"age": equals(1).written()}}),
        lambda: Box.read({"empty": False, "columns": {"age": anything().written()}}),
        lambda: Box.read({"empty": False, "columns": {"age": nothing().written()}}),
        lambda: Box.read({"empty": False, "columns": {"age": equals(1)}}),
        lambda: Box.read({"empty": False, "columns": {}, "more": 1}),
        lambda: Box.read({"empty": False, "columns": {1: equals(1).written()}}),
    ],
)
def test_bad_input_is_refused(call):
    with pytest.raises(InputError):
        call()


def test_errors_keep_values_to_themselves():
    with pytest.raises(WrongKind) as caught:
        _ = {"name": "Ada Lovelace"} in Box({"name": equals("Ada"), "age": equals(1)})
    assert "Ada" not in str(caught.value)
