"""Units and contributions in JSON: what was written is what is read, and nothing else is."""

import json

import pytest

from discreet.accounting.box import Contribution
from discreet.accounting.codec import decode_unit, encode_unit
from discreet.errors import DiscreetError
from discreet.units import Relation, custom, person, row

UNITS = [
    *(row(relation=relation) for relation in Relation),
    person("patient"),
    person('a "column", \u00e9'),
    custom("person-day", columns=["day", "person"], relation="replace"),
]
LIMITS = [
    Contribution(),
    Contribution(rows=3, per_part={"ward": 2}, parts={"ward": 2, "year": 1}, units={"day": 7}),
    Contribution(rows=100, per_part={"ward": 2}, parts={"ward": 3}),  # at most six rows
    Contribution(rows=10**6, parts={"ward": 2**60}),
]


@pytest.mark.parametrize("unit", UNITS, ids=str)
def test_units(unit):
    found = decode_unit(json.loads(json.dumps(encode_unit(unit))))
    assert found == unit
    assert (found.name, found.columns, found.relation) == (unit.name, unit.columns, unit.relation)


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "Unit"},
        {"kind": None},
        {"name": ""},
        {"name": 1},
        {"columns": "patient"},
        {"columns": ["patient", "patient"]},
        {"columns": [1]},
        {"columns": None},
        {"relation": "REPLACE"},
        {"relation": None},
        {"more": 1},
    ],
)
def test_nothing_else_is_a_unit(change):
    data = {**encode_unit(person("patient")), **change}
    for each in (data, None, [], "row", {}, {"kind": "PrivacyUnit"}):
        with pytest.raises(DiscreetError):
            decode_unit(each)


@pytest.mark.parametrize("limits", LIMITS, ids=str)
def test_contributions(limits):
    found = Contribution.read(json.loads(json.dumps(limits.written())))
    assert found == limits
    assert found.written() == limits.written()


@pytest.mark.parametrize(
    "change",
    [
        {"rows": 0},
        {"rows": "3"},
        {"rows": True},
        {"rows": 3.0},
        {"rows": 5},  # four at most: two values, two rows each
        {"rows": 10**7},
        {"per_part": {"ward": 0}},
        {"per_part": {"ward": 1.5}},
        {"per_part": {"ward": "2"}},
        {"per_part": {"ward": True}},
        {"per_part": [["ward", 2]]},
        {"parts": None},
        {"units": {"": None}},
        {"more": 1},
    ],
)
def test_nothing_else_is_a_contribution(change):
    data = Contribution(rows=3, per_part={"ward": 2}, parts={"ward": 2}).written()
    for each in ({**data, **change}, None, [], {}, {"rows": 3}):
        with pytest.raises(DiscreetError):
            Contribution.read(each)
