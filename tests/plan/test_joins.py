"""Joins: which rows they find, whose they are, and what is known of their columns."""

import math

import pytest
from hypothesis import given, settings

from discreet.errors import NotPerUnit
from discreet.plan.binding.binder import Binder
from discreet.query.expressions import Literal
from discreet.query.sql.parse import read_relation
from discreet.query.types import Type
from tests.plan.clinic import SCHEMA, databases, planned
from tests.reference.casts import read
from tests.reference.relations import rows_of


def bound(text):
    return Binder(SCHEMA).bind(read_relation(text))


def field(found, name):
    return next(each for each in found.fields if each.name == name)


def test_an_outer_join_forgets_what_it_may_fill_with_null():
    found = bound("SELECT v.sex, d.dose FROM visits v RIGHT JOIN drugs d ON v.patient = d.person")
    assert field(found, "sex").facts.nullable
    assert not field(found, "sex").facts.constant
    assert field(found, "dose").facts.bounds == (-1, 4)


def test_a_linked_table_belongs_to_the_unit_of_its_parent():
    found = bound("SELECT sum FROM bills")
    assert len(found.unit) == 1
    assert found.facts[found.unit[0]].source.column == "patient"


@pytest.mark.theorem("unit-local")
@settings(max_examples=20)
@given(tables=databases())
def test_rows_of_a_linked_table_have_the_unit_of_their_row(tables):
    found = bound("SELECT visit, sum FROM bills")
    owner = {row["visit"]: row["patient"] for row in tables["visits"]}
    expected = sorted(
        (bill["visit"], str(owner[bill["visit"]]))
        for bill in tables["bills"]
        if bill["visit"] in owner
    )
    column = next(each.column for each in found.fields if each.name == "visit")
    rows = rows_of(found.relation, tables)
    assert sorted((row[column], str(row[found.unit[0]])) for row in rows) == expected


def test_using_shows_a_column_once():
    found = bound("SELECT * FROM visits a JOIN visits b USING (patient, ward)")
    names = [each.name for each in found.visible]
    assert names.count("patient") == names.count("ward") == 1
    assert names.count("cost") == 2


LINKED = "SELECT b.sum, v.ward FROM bills b {} JOIN visits v ON b.visit = v.visit AND b.sum > 1"


@pytest.mark.theorem("linked-joins")
@pytest.mark.parametrize("kind", ["INNER", "LEFT", "RIGHT", "FULL"])
@settings(max_examples=25)
@given(tables=databases())
def test_where_keys_have_one_owner_a_linked_join_is_the_join_that_is_written(kind, tables):
    found = bound(LINKED.format(kind))
    visits = {row["visit"]: row for row in tables["visits"] if row["patient"] is not None}
    bills = [row for row in tables["bills"] if row["visit"] in visits]
    bills = [row | {"sum": read(row["sum"], Type.FLOAT)} for row in bills]
    billed = [row for row in bills if row["sum"] is not None and above(row["sum"], 1)]
    expected = [(row["sum"], visits[row["visit"]]["ward"]) for row in billed]
    if kind in {"LEFT", "FULL"}:
        small = [row for row in bills if row["sum"] is None or not above(row["sum"], 1)]
        expected += [(row["sum"], None) for row in small]
    if kind in {"RIGHT", "FULL"}:
        met = {row["visit"] for row in billed}
        expected += [(None, row["ward"]) for number, row in visits.items() if number not in met]
    columns = [field(found, name).column for name in ("sum", "ward")]
    rows = [row for row in rows_of(found.relation, tables) if row[found.unit[0]] is not None]
    shown = sorted(repr(tuple(row[name] for name in columns)) for row in rows)
    assert shown == sorted(map(repr, expected))


def above(one, other):
    return one > other or math.isnan(one)  # NaN is above all numbers


@pytest.mark.theorem("linked-joins")
def test_pairs_of_different_units_are_left_out(monkeypatch):
    """Without comparing the units, a key with two owners would put them together."""
    text = "SELECT b.sum, v.ward FROM bills b JOIN visits v ON b.visit = v.visit"
    visit = {"visit": 7, "ward": "A", "city": None, "sex": "f", "height": None, "born": None}
    visit |= {"day": None, "cost": 1.0, "age": 1, "stay": 1, "note": None, "paid": None}
    tables = {
        "visits": [visit | {"patient": 1}, visit | {"patient": 2, "ward": "B"}],
        "bills": [{"visit": 7, "sum": 2.0}],
    }

    def pairs():
        found = bound(text)
        ward = field(found, "ward").column
        return sorted((row[found.unit[0]], row[ward]) for row in rows_of(found.relation, tables))

    assert pairs() == [(1, "A"), (2, "B")]
    monkeypatch.setattr("discreet.plan.binding.joins.equal_units", lambda *_: (Literal(True),))
    assert pairs() == [(1, "A"), (1, "B"), (2, "A"), (2, "B")]


@pytest.mark.parametrize(
    ("text", "do"),
    [
        ("bills b JOIN visits v ON b.sum = v.cost", "join them with ON b.visit = v.visit, and"),
        ("bills b JOIN bills c ON b.sum = c.sum", "join them with ON b.visit = c.visit, and"),
        ("visits v, drugs d", "join them with ON v.patient = d.person, and more after AND."),
        ("bills b, drugs d", "join visits first, with ON b.visit = visits.visit, and then"),
        (
            "(SELECT sum FROM bills) AS b, drugs d",
            "select the columns that name the unit on both sides, and join them with ON these.",
        ),
    ],
)
def test_a_join_that_mixes_units_says_what_to_write(text, do):
    with pytest.raises(NotPerUnit) as error:
        bound(f"SELECT 1 AS one FROM {text}")  # noqa: S608
    assert error.value.do.startswith(do)
    assert "^" in error.value.what


@pytest.mark.parametrize(
    ("text", "do"),
    [
        ("SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward", "add patient to its GROUP BY"),
        ("SELECT DISTINCT ward FROM visits", "select patient of visits too."),
        (
            "SELECT sex, COUNT(*) AS n FROM visits JOIN drugs ON patient = person GROUP BY sex",
            "add patient to its GROUP BY",
        ),
        (
            "SELECT sum > 1 AS high, COUNT(*) AS n FROM bills GROUP BY high",
            "add patient of visits to its GROUP BY",
        ),
    ],
)
def test_what_mixes_units_below_says_what_names_them(text, do):
    with pytest.raises(NotPerUnit) as error:
        bound(text)
    assert error.value.do.startswith(do)


def test_a_unit_is_counted_by_any_column_that_holds_it():
    text = "SELECT COUNT(DISTINCT {}) AS n FROM visits v JOIN drugs d ON v.patient = d.person"
    assert planned(text.format("d.person")).request == planned(text.format("v.patient")).request
    linked = "SELECT COUNT(DISTINCT v.patient) AS n FROM bills b JOIN visits v ON b.visit = v.visit"
    assert planned(linked).request.measures == ()
