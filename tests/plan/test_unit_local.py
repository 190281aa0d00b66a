"""Bound relations treat each unit by itself: R(D) is the union of R(D_u) over units u."""

from collections import Counter
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import NotPerUnit, QuestionError
from discreet.plan.binding.binder import Binder
from discreet.query.sql.parse import read_relation
from discreet.query.types import Type
from discreet.requests.table_schema import ColumnFacts, Link, Schema, TableFacts
from tests.reference.relations import rows_of

VISITS = TableFacts(
    name="visits",
    unit=("patient",),
    columns=(
        ColumnFacts(name="patient", type=Type.INTEGER),
        ColumnFacts(name="ward", type=Type.TEXT),
        ColumnFacts(name="cost", type=Type.INTEGER),
        ColumnFacts(name="born", type=Type.INTEGER, constant=True),
    ),
)
DRUGS = TableFacts(
    name="drugs",
    unit=("person",),
    columns=(
        ColumnFacts(name="person", type=Type.INTEGER),
        ColumnFacts(name="drug", type=Type.TEXT),
    ),
)
CALLS = TableFacts(
    name="calls",
    unit=("caller",),
    key=("id",),
    columns=(
        ColumnFacts(name="id", type=Type.INTEGER),
        ColumnFacts(name="caller", type=Type.INTEGER),
    ),
)
NOTES = TableFacts(
    name="notes",
    link=Link(column="call", parent="calls", key="id"),
    columns=(
        ColumnFacts(name="note", type=Type.INTEGER),
        ColumnFacts(name="call", type=Type.INTEGER),
        ColumnFacts(name="length", type=Type.INTEGER),
    ),
)
WORDS = TableFacts(
    name="words",
    link=Link(column="note", parent="notes", key="note"),
    columns=(
        ColumnFacts(name="note", type=Type.INTEGER),
        ColumnFacts(name="word", type=Type.TEXT),
    ),
)
BADGES = TableFacts(
    name="badges",
    link=Link(column="call", parent="calls", key="id"),
    columns=(
        ColumnFacts(name="call", type=Type.INTEGER),
        ColumnFacts(name="color", type=Type.TEXT),
    ),
)
TRIPS = TableFacts(
    name="trips",
    link=Link(column="person", parent="people", key="id"),
    columns=(
        ColumnFacts(name="person", type=Type.INTEGER),
        ColumnFacts(name="miles", type=Type.INTEGER),
    ),
)
FOLK = TableFacts(
    name="people",
    unit=("id",),
    key=("id",),
    columns=(
        ColumnFacts(name="id", type=Type.INTEGER),
        ColumnFacts(name="city", type=Type.TEXT),
    ),
)
WARDS = TableFacts(
    name="wards",
    public=True,
    key=("ward",),
    columns=(
        ColumnFacts(name="ward", type=Type.TEXT),
        ColumnFacts(name="beds", type=Type.INTEGER),
    ),
)
SCHEMA = Schema([VISITS, DRUGS, CALLS, NOTES, WORDS, BADGES, TRIPS, FOLK, WARDS])

ACCEPTED = [
    "SELECT * FROM visits",
    "SELECT ward, cost + 1 AS more FROM visits WHERE cost > 1",
    "SELECT v.ward, w.beds FROM visits v JOIN wards w ON v.ward = w.ward",
    "SELECT v.ward, w.beds FROM visits v LEFT JOIN wards w ON v.ward = w.ward",
    "SELECT v.ward, w.beds FROM wards w RIGHT JOIN visits v ON v.cost < w.beds",
    "SELECT * FROM visits CROSS JOIN wards",
    "SELECT * FROM visits v JOIN drugs d ON v.patient = d.person AND v.cost > 1",
    "SELECT v.ward, d.drug FROM visits v LEFT JOIN drugs d ON d.person = v.patient",
    "SELECT v.ward, d.drug FROM visits v RIGHT JOIN drugs d ON d.person = v.patient",
    "SELECT v.ward, d.drug FROM visits v FULL JOIN drugs d ON d.person = v.patient",
    "SELECT a.ward, b.cost FROM visits a JOIN visits b ON a.patient = b.patient",
    "SELECT * FROM visits a JOIN visits b USING (patient)",
    "SELECT ward FROM visits a FULL JOIN visits b USING (patient, ward)",
    "SELECT patient, ward, COUNT(*) AS n, SUM(cost) AS s FROM visits GROUP BY patient, ward",
    "SELECT n FROM (SELECT patient, MAX(cost) AS n FROM visits GROUP BY patient) AS t WHERE n > 1",
    "SELECT DISTINCT patient, ward FROM visits",
    "SELECT ward, ROW_NUMBER() OVER (PARTITION BY patient ORDER BY cost) AS k FROM visits",
    "SELECT ward, SUM(cost) OVER (PARTITION BY patient, ward) AS k FROM visits",
    "SELECT ward FROM visits UNION ALL SELECT drug FROM drugs",
    "SELECT ward, patient FROM visits UNION ALL SELECT drug, person FROM drugs WHERE person > 1",
    "SELECT * FROM notes",
    "SELECT length FROM notes WHERE length > 1",
    (
        "SELECT * FROM visits a JOIN drugs b ON a.patient = b.person "
        "JOIN drugs c ON b.person = c.person"
    ),
    "SELECT patient, COUNT(*) AS n FROM visits a JOIN visits b USING (patient) GROUP BY patient",
    (
        "SELECT patient, SUM(a.cost) AS n FROM visits a FULL JOIN visits b USING (patient) "
        "GROUP BY patient"
    ),
    "SELECT DISTINCT d.person, v.ward FROM visits v JOIN drugs d ON v.patient = d.person",
    "SELECT d.person AS p, v.patient AS q FROM visits v LEFT JOIN drugs d ON v.patient = d.person",
]
LINKED = [
    "SELECT p.city, t.miles FROM trips t JOIN people p ON t.person = p.id",
    "SELECT p.city, t.miles FROM people p LEFT JOIN trips t ON t.person = p.id AND t.miles > 1",
    "SELECT person, SUM(miles) AS s FROM trips GROUP BY person",
    "SELECT SUM(miles) OVER (PARTITION BY person) AS s FROM trips",
    "SELECT v.ward, t.miles FROM trips t JOIN visits v ON t.person = v.patient",
    "SELECT a.miles, b.miles AS other FROM trips a JOIN trips b USING (person)",
    "SELECT n.length, c.caller FROM notes n JOIN calls c ON n.call = c.id",
    "SELECT n.length, c.caller FROM notes n LEFT JOIN calls c ON n.call = c.id AND n.length > 1",
    "SELECT n.length, c.caller FROM notes n RIGHT JOIN calls c ON n.call = c.id",
    "SELECT n.length, c.caller FROM notes n FULL JOIN calls c ON n.call = c.id AND n.length > 1",
    "SELECT n.length, m.length AS other FROM notes n JOIN notes m ON n.call = m.call",
    "SELECT n.length, b.color FROM notes n JOIN badges b ON n.call = b.call",
    "SELECT n.length, b.color FROM notes n FULL JOIN badges b USING (call)",
    "SELECT w.word, n.length FROM words w JOIN notes n ON w.note = n.note",
    "SELECT w.word, n.length FROM words w JOIN notes n USING (note)",
    (
        "SELECT w.word, n.length, c.caller, d.drug FROM words w JOIN notes n ON w.note = n.note "
        "JOIN calls c ON n.call = c.id LEFT JOIN drugs d ON c.caller = d.person"
    ),
    ("SELECT c.caller, COUNT(*) AS n FROM notes n JOIN calls c ON n.call = c.id GROUP BY c.caller"),
    (
        "SELECT t.m, c.id FROM (SELECT call AS k, length AS m FROM notes WHERE length > 0) AS t "
        "JOIN calls c ON c.id = t.k"
    ),
    "SELECT a.id FROM calls a JOIN calls b ON a.id = b.id",
]
"""Questions whose joins rest on keys and links."""
CHOSEN = [
    "SELECT * FROM visits WHERE ward IN (SELECT ward FROM wards WHERE beds > 1)",
    "SELECT * FROM visits WHERE ward NOT IN (SELECT ward FROM wards WHERE beds > 1)",
    "SELECT * FROM visits WHERE cost NOT IN (SELECT beds FROM wards WHERE beds > 1)",
    "SELECT * FROM visits WHERE EXISTS (SELECT 1 FROM wards)",
    "SELECT * FROM visits WHERE patient IN (SELECT person FROM drugs)",
    "SELECT * FROM visits WHERE patient NOT IN (SELECT person FROM drugs WHERE drug = ward)",
    (
        "SELECT * FROM visits v WHERE EXISTS "
        "(SELECT 1 FROM drugs d WHERE d.person = v.patient AND d.drug < v.ward)"
    ),
    (
        "SELECT ward FROM visits v WHERE NOT EXISTS "
        "(SELECT 1 FROM drugs d WHERE d.person = v.patient AND d.drug = v.ward)"
    ),
    (
        "SELECT * FROM calls c WHERE NOT EXISTS "
        "(SELECT 1 FROM notes n WHERE n.call = c.id AND n.length > 1)"
    ),
    (
        "SELECT length FROM notes n WHERE EXISTS "
        "(SELECT 1 FROM notes m WHERE m.call = n.call AND m.length <> n.length)"
    ),
    "SELECT * FROM calls WHERE id IN (SELECT call FROM notes GROUP BY call HAVING COUNT(*) > 1)",
    (
        "SELECT * FROM calls WHERE id IS NOT NULL AND id NOT IN "
        "(SELECT call FROM notes WHERE length > 0)"
    ),
    "SELECT call, COUNT(*) AS n, SUM(length) AS s FROM notes GROUP BY call",
    "SELECT DISTINCT call, length FROM notes",
    (
        "SELECT v.ward, d.drug FROM visits v, drugs d, wards w "
        "WHERE v.patient = d.person AND d.drug = w.ward AND v.cost < w.beds"
    ),
    (
        "SELECT n.length FROM wards w, notes n, calls c WHERE n.call = c.id AND NOT EXISTS "
        "(SELECT 1 FROM badges b, wards w WHERE b.call = c.id AND b.color = w.ward)"
    ),
    (
        "SELECT c.id, n.length FROM calls c, notes n WHERE (n.call = c.id AND n.length > 1) "
        "OR (n.call = c.id AND c.caller > 1)"
    ),
]
"""Questions with subqueries in WHERE, with tables behind commas, and with keys of one person."""
ACCEPTED += LINKED + CHOSEN

REFUSED = [
    "SELECT ward FROM visits WHERE EXISTS (SELECT 1 FROM drugs)",
    "SELECT ward FROM visits WHERE NOT EXISTS (SELECT 1 FROM drugs WHERE drug = ward)",
    "SELECT ward FROM visits WHERE ward IN (SELECT drug FROM drugs)",
    "SELECT ward FROM visits WHERE patient + 0 IN (SELECT person FROM drugs)",
    "SELECT ward FROM visits WHERE EXISTS (SELECT 1 FROM drugs WHERE person = patient OR cost > 1)",
    "SELECT ward FROM visits v WHERE EXISTS (SELECT 1 FROM visits v WHERE v.patient = v.patient)",
    "SELECT ward FROM visits WHERE EXISTS (SELECT 1 FROM visits WHERE patient = patient)",
    "SELECT ward FROM visits WHERE cost IN (SELECT length FROM notes)",
    "SELECT id FROM calls WHERE id NOT IN (SELECT call FROM notes)",
    "SELECT beds FROM wards w WHERE EXISTS (SELECT 1 FROM visits v WHERE v.ward = w.ward)",
    "SELECT beds FROM wards WHERE ward NOT IN (SELECT ward FROM visits)",
    "SELECT a.ward FROM visits a, visits b WHERE a.ward = b.ward",
    "SELECT a.ward FROM visits a, visits b WHERE a.patient = b.patient OR a.ward = b.ward",
    "SELECT length + 0 AS k, COUNT(*) AS n FROM notes GROUP BY k",
    "SELECT call + 0 AS k, COUNT(*) AS n FROM notes GROUP BY k",
    "SELECT n.length FROM notes n JOIN calls c ON n.length = c.id",
    "SELECT n.length FROM notes n JOIN calls c ON n.call + 0 = c.id",
    "SELECT n.length FROM notes n JOIN calls c ON n.call < c.id",
    "SELECT n.length FROM notes n JOIN calls c ON n.call = c.id OR n.length = 1",
    "SELECT n.length FROM notes n JOIN calls c ON n.call = c.caller",
    "SELECT n.length FROM notes n JOIN drugs d ON n.call = d.person",
    "SELECT n.length FROM notes n JOIN words w ON n.call = w.note",
    "SELECT n.length FROM notes n JOIN visits v ON n.call = v.cost",
    "SELECT a.length FROM notes a JOIN notes b ON a.length = b.length",
    "SELECT n.length FROM notes n JOIN (SELECT id + 0 AS id FROM calls) AS c ON n.call = c.id",
    (
        "SELECT a.ward FROM visits a LEFT JOIN drugs b ON a.patient = b.person "
        "JOIN drugs c ON b.person = c.person"
    ),
    (
        "SELECT d.person, COUNT(*) AS n FROM visits v LEFT JOIN drugs d ON v.patient = d.person "
        "GROUP BY d.person"
    ),
    "SELECT length, COUNT(*) AS n FROM notes GROUP BY length",
    "SELECT COUNT(*) AS n FROM visits",
    "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward",
    "SELECT DISTINCT ward FROM visits",
    "SELECT ROW_NUMBER() OVER (ORDER BY cost) AS k FROM visits",
    "SELECT ROW_NUMBER() OVER (PARTITION BY ward ORDER BY cost) AS k FROM visits",
    "SELECT w.beds FROM wards w LEFT JOIN visits v ON v.ward = w.ward",
    "SELECT w.beds FROM visits v FULL JOIN wards w ON v.ward = w.ward",
    "SELECT a.ward FROM visits a JOIN visits b ON a.ward = b.ward",
    "SELECT a.ward FROM visits a JOIN visits b ON a.patient = b.patient OR a.ward = b.ward",
    "SELECT a.ward FROM visits a JOIN visits b ON a.patient = a.patient",
    "SELECT a.ward FROM visits a, visits b",
    "SELECT a.ward FROM visits a JOIN drugs d ON a.cost = d.person",
    "SELECT ward FROM visits UNION ALL SELECT ward FROM wards",
]

PEOPLE = st.sampled_from([None, 1, 2, 3])
NUMBERS = st.sampled_from([None, 0, 1, 2, 3])
NAMES = st.sampled_from([None, "A", "B"])
BORN = {None: None, 1: 1980, 2: 1990, 3: None}


def table(**columns):
    return st.lists(st.fixed_dictionaries(columns), max_size=6)


DRAWN = {
    "visits": table(patient=PEOPLE, ward=NAMES, cost=NUMBERS),
    "drugs": table(person=PEOPLE, drug=NAMES),
    "calls": table(id=NUMBERS, caller=PEOPLE),
    "notes": table(note=NUMBERS, call=NUMBERS, length=NUMBERS),
    "words": table(note=NUMBERS, word=NAMES),
    "badges": table(call=NUMBERS, color=NAMES),
    "people": table(id=PEOPLE, city=NAMES),
    "trips": table(person=PEOPLE, miles=NUMBERS),
}


@st.composite
def databases(draw):
    """Draw tables; a key may have two owners, although the schema says that it has one."""
    rows = {name: draw(of_table) for name, of_table in DRAWN.items()}
    return {
        **rows,
        "visits": [{**row, "born": BORN[row["patient"]]} for row in rows["visits"]],
        "wards": [{"ward": "A", "beds": 1}, {"ward": "B", "beds": 2}, {"ward": "C", "beds": 2}],
    }


def part(tables, person):
    """Keep the rows of one person, and what is public."""
    calls = [row for row in tables["calls"] if row["caller"] == person]
    mine = {row["id"] for row in calls} - {None}
    notes = [row for row in tables["notes"] if row["call"] in mine]
    own = {row["note"] for row in notes} - {None}
    return {
        "visits": [row for row in tables["visits"] if row["patient"] == person],
        "drugs": [row for row in tables["drugs"] if row["person"] == person],
        "calls": calls,
        "notes": notes,
        "words": [row for row in tables["words"] if row["note"] in own],
        "badges": [row for row in tables["badges"] if row["call"] in mine],
        "people": [row for row in tables["people"] if row["id"] == person],
        "trips": [row for row in tables["trips"] if row["person"] == person],
        "wards": tables["wards"],
    }


def output(bound, tables):
    """Rows of people, as a bag; those that belong to nobody are dropped."""
    rows = rows_of(bound.relation, tables)
    kept = (row for row in rows if all(row[name] is not None for name in bound.unit))
    return Counter(tuple(sorted((k, repr(v)) for k, v in row.items())) for row in kept)


@cache
def accepted():
    """Bind all questions that must be accepted."""
    return {text: Binder(SCHEMA).bind(read_relation(text)) for text in ACCEPTED}


@pytest.mark.theorem("unit-local")
@settings(max_examples=40, deadline=None)
@given(tables=databases())
def test_what_is_accepted_is_a_union_over_units(tables):
    """All questions are asked about the same tables, since drawing tables takes longest."""
    parts = [part(tables, person) for person in (1, 2, 3)]
    for text, bound in accepted().items():
        apart = sum((output(bound, each) for each in parts), Counter())
        assert output(bound, tables) == apart, text


@pytest.mark.theorem("unit-local")
@settings(max_examples=20, deadline=None)
@given(tables=databases())
def test_facts_that_say_constant_are(tables):
    for text, bound in accepted().items():
        rows = rows_of(bound.relation, tables)
        for field in bound.fields:
            if field.facts.constant:
                seen = {}
                for row in rows:
                    unit = tuple(row[name] for name in bound.unit)
                    if None not in unit:
                        value = row[field.column]
                        assert seen.setdefault(unit, value) == value, text


@pytest.mark.parametrize("text", REFUSED)
def test_what_mixes_units_is_refused(text):
    with pytest.raises(NotPerUnit) as error:
        Binder(SCHEMA).bind(read_relation(text))
    assert "^" in str(error.value)


ROWS = Schema(
    [
        TableFacts(name="visits", columns=VISITS.columns),
        TableFacts(name="wards", public=True, key=("ward",), columns=WARDS.columns),
    ]
)
ROWS_ACCEPTED = [
    "SELECT ward FROM visits WHERE cost > 1",
    "SELECT v.ward, w.beds FROM visits v JOIN wards w ON v.ward = w.ward",
    "SELECT v.ward, w.beds FROM visits v LEFT JOIN wards w ON w.ward = v.ward AND w.beds > 1",
    "SELECT ward FROM visits WHERE cost IN (SELECT beds FROM wards)",
    "SELECT ward FROM visits WHERE cost NOT IN (SELECT beds FROM wards WHERE ward <> visits.ward)",
    "SELECT v.ward, w.beds FROM wards w, visits v WHERE v.ward = w.ward AND v.cost > 1",
]
ROWS_REFUSED = [
    "SELECT ward FROM visits v WHERE EXISTS (SELECT 1 FROM visits w WHERE w.patient = v.patient)",
    "SELECT v.ward FROM visits v, wards w WHERE v.cost = w.beds",
    "SELECT v.ward FROM visits v JOIN wards w ON v.cost = w.beds",
    "SELECT v.ward FROM visits v JOIN wards w ON w.ward = w.ward",
    "SELECT v.ward FROM visits v CROSS JOIN wards w",
    "SELECT a.ward FROM visits a JOIN visits b ON a.patient = b.patient",
    "SELECT ward FROM visits UNION ALL SELECT ward FROM visits",
    "SELECT DISTINCT ward FROM visits",
    "SELECT patient, COUNT(*) AS n FROM visits GROUP BY patient",
    "SELECT ROW_NUMBER() OVER (PARTITION BY patient ORDER BY cost) AS k FROM visits",
]


@pytest.mark.theorem("unit-local")
@pytest.mark.parametrize("text", ROWS_ACCEPTED)
@settings(max_examples=30, deadline=None)
@given(tables=databases())
def test_rows_that_are_units_come_out_at_most_once(text, tables):
    bound = Binder(ROWS).bind(read_relation(text))
    whole = output(bound, tables)
    apart = Counter()
    for row in tables["visits"]:
        one = output(bound, {**tables, "visits": [row]})
        assert sum(one.values()) <= 1
        apart += one
    assert whole == apart


@pytest.mark.parametrize("text", ROWS_REFUSED)
def test_rows_that_are_units_are_not_put_together(text):
    with pytest.raises(QuestionError):
        Binder(ROWS).bind(read_relation(text))
