"""Below windows, large units are left out as a whole, and nobody else notices."""

import itertools
import random
from collections import Counter

import pytest

from discreet.errors import UnsupportedSQL
from discreet.plan.binding import fan_out as bounded_units
from discreet.plan.binding.binder import Binder
from discreet.plan.policy.policy import read_policy
from discreet.query.expressions import Column
from discreet.query.relations import BoundedUnits, Table, descend
from discreet.query.sql.parse import read_relation
from discreet.requests.table_schema import Schema
from tests.engines.edges import both, opened
from tests.plan.clinic import planned
from tests.reference.relations import rows_of

TEXT = """
format = 1
unit = "p"
[tables.visits.columns]
p = {type = "integer"}
x = {type = "integer"}
t = {type = "text"}
[tables.notes.columns]
p = {type = "integer"}
n = {type = "integer"}
[tables.wards]
public = true
key = ["x"]
[tables.wards.columns]
x = {type = "integer"}
w = {type = "text"}
"""
POLICY = read_policy(TEXT)
SCHEMA = Schema(POLICY.tables)
TYPES = {table.name: {c.name: c.type for c in table.columns} for table in POLICY.tables}
ROWS, BYTES = 3, 6
PLAIN = [
    "SELECT p, x, t, ROW_NUMBER() OVER (PARTITION BY p ORDER BY x) AS r FROM visits",
    "SELECT p, t, SUM(x) OVER (PARTITION BY p, t) AS s FROM visits",
    "SELECT p, LAG(t) OVER (PARTITION BY p ORDER BY x, t) AS b FROM visits",
]
"""Windows over the rows of a table."""
RELATIONS = [
    *PLAIN,
    "SELECT p, FIRST_VALUE(t || t) OVER (PARTITION BY p ORDER BY x) AS f FROM visits WHERE x > 0",
    "SELECT p, MAX(r) OVER (PARTITION BY p) AS m FROM "  # noqa: ISC004
    "(SELECT p, RANK() OVER (PARTITION BY p ORDER BY x) AS r FROM visits)",
    "SELECT v.p, n.n FROM visits v JOIN notes n ON v.p = n.p",
    "SELECT v.p, n.n FROM visits v LEFT JOIN notes n ON v.p = n.p AND v.x = n.n",
    "SELECT p, v.x, n.n FROM visits v FULL JOIN notes n USING (p)",
    "SELECT v.p, COUNT(*) OVER (PARTITION BY v.p ORDER BY w.w) AS c "  # noqa: ISC004
    "FROM visits v JOIN wards w ON v.x = w.x",
    "SELECT p, r FROM (SELECT p, RANK() OVER (PARTITION BY p ORDER BY x) AS r FROM visits "  # noqa: ISC004
    "UNION ALL SELECT p, RANK() OVER (PARTITION BY p ORDER BY n) AS r FROM notes)",
    "SELECT p, LEAD(x, 2) OVER (PARTITION BY p ORDER BY x DESC) AS b FROM visits",
]
WITHOUT = [
    "SELECT p, x FROM visits WHERE x > 0",
    "SELECT p, COUNT(*) AS c FROM visits GROUP BY p",
    "SELECT DISTINCT p, t FROM visits",
    "SELECT v.p, w.w FROM visits v JOIN wards w ON v.x = w.x",
    "SELECT p, x FROM visits UNION ALL SELECT p, n FROM notes",
]
"""Nothing below a window holds the rows of a person here."""


@pytest.fixture
def tiny(monkeypatch):
    monkeypatch.setattr(bounded_units, "MOST_ROWS", ROWS)
    monkeypatch.setattr(bounded_units, "MOST_TEXT", BYTES)


def bound(text):
    return Binder(SCHEMA, ("p",)).bind(read_relation(text))


def tables(rng):
    people, few = (None, 1, 2, 3), range(3)
    return {
        "visits": [
            {"p": rng.choice(people), "x": rng.choice(few), "t": rng.choice([None, "", "a", "éé"])}
            for _ in range(rng.randrange(14))
        ],
        "notes": [
            {"p": rng.choice(people), "n": rng.choice(few)} for _ in range(rng.randrange(12))
        ],
        "wards": [{"x": 1, "w": "A"}, {"x": 2, "w": "éé"}],
    }


def only(data, person):
    """Return the tables with the rows of one person alone."""
    return {
        name: rows if name == "wards" else [row for row in rows if row["p"] == person]
        for name, rows in data.items()
    }


def counted(rows, unit=None):
    kept = (row for row in rows if unit is None or row[unit] is not None)
    return Counter(tuple(map(repr, row.values())) for row in kept)


@pytest.mark.theorem("bounded-units")
@pytest.mark.theorem("unit-local")
@pytest.mark.parametrize("text", RELATIONS)
def test_what_one_person_has_changes_the_rows_of_nobody_else(tiny, text):
    found = bound(text)
    assert any(isinstance(node, BoundedUnits) for node in descend(found.relation))
    rng = random.Random(17)  # noqa: S311
    for _ in range(40):
        data = tables(rng)
        whole = counted(rows_of(found.relation, data), found.unit[0])
        own = [
            counted(rows_of(found.relation, only(data, who)), found.unit[0]) for who in (1, 2, 3)
        ]
        assert whole == sum(own, Counter())


@pytest.mark.theorem("bounded-units")
@pytest.mark.parametrize("text", PLAIN)
def test_large_units_vanish_and_all_others_stay(monkeypatch, text):
    free = bound(text)
    monkeypatch.setattr(bounded_units, "MOST_ROWS", ROWS)
    monkeypatch.setattr(bounded_units, "MOST_TEXT", BYTES)
    bounded = bound(text)
    seen = set()
    for count, words in itertools.product(range(6), ("", "a", "éé")):
        own = [{"p": 1, "x": at, "t": words} for at in range(count)]
        others = [
            {"p": 2, "x": 0, "t": "a"},
            {"p": 3, "x": 1, "t": None},
            {"p": 3, "x": 1, "t": ""},
        ]
        fits = count <= ROWS and count * len(words.encode()) <= BYTES
        expected = rows_of(free.relation, {"visits": [*own, *others] if fits else others})
        found = rows_of(bounded.relation, {"visits": [*own, *others]})
        assert counted(found) == counted(expected)
        seen.add(fits)
    assert seen == {False, True}


@pytest.mark.parametrize("text", RELATIONS)
def test_duckdb_leaves_out_the_same_units(tiny, text):
    found = bound(text).relation
    rng = random.Random(18)  # noqa: S311
    with opened(TYPES) as engine:
        for _ in range(8):
            here, there = both(found, tables(rng), TYPES, engine)
            assert here == there


@pytest.mark.parametrize("text", WITHOUT)
def test_nothing_is_bounded_where_nothing_is_held(text):
    assert not any(isinstance(node, BoundedUnits) for node in descend(bound(text).relation))


def test_public_tables_and_single_rows_have_nothing_to_bound():
    ranked = "SELECT w, RANK() OVER (PARTITION BY w ORDER BY x) AS r FROM wards"
    rows = Schema(read_policy(TEXT.replace('"p"', '"row"')).tables)
    joined = "SELECT v.x, w.w FROM visits v JOIN wards w ON v.x = w.x"
    for schema, text in ((SCHEMA, ranked), (rows, joined)):
        found = Binder(schema).bind(read_relation(text)).relation
        assert not any(isinstance(node, BoundedUnits) for node in descend(found))


def test_texts_that_windows_make_are_counted():
    text = "SELECT p, MIN(t || 'x') OVER (PARTITION BY p ORDER BY x) AS m FROM visits"
    (node,) = (each for each in descend(bound(text).relation) if isinstance(each, BoundedUnits))
    assert len(node.texts) == 2
    assert node.texts[0] == Column("t")


def test_another_bound_is_another_question(monkeypatch):
    text = "SELECT COUNT(*) AS n FROM visits v JOIN drugs d ON v.patient = d.person"
    before = planned(text).digest
    monkeypatch.setattr(bounded_units, "MOST_ROWS", 5)
    assert planned(text).digest != before


def test_a_question_cannot_bound_units_itself():
    node = BoundedUnits(Table("visits"), ("x",), (), rows=1, text_bytes=1)
    with pytest.raises(UnsupportedSQL):
        Binder(SCHEMA, ("p",)).bind(node)
