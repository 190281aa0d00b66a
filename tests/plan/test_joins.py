"""Joins: which rows they find, whose they are, and what is known of their columns."""

import pytest
from hypothesis import given, settings

from discreet.engines.reference.relations import rows_of
from discreet.errors import NotPerUnit
from discreet.plan.bind import Binder
from discreet.query.sql.read import read_relation
from tests.plan.clinic import SCHEMA, databases


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
    assert (
        found.unit == tuple(each.column for each in found.fields if each.column == "patient_2")[:1]
        or found.unit
    )
    with pytest.raises(NotPerUnit):
        bound("SELECT patient FROM bills b JOIN visits v ON b.visit = v.visit")


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
