"""A table that changes while it is read: it is locked, or the question fails."""

import pytest

from discreet.engines.order import HashOrder
from discreet.engines.postgres import reading
from discreet.engines.postgres.engine import Postgres
from discreet.errors import EngineFailed
from discreet.plan.lowered import Lowered, Total
from discreet.query.expressions import Call, Column
from discreet.query.relations import Scan
from discreet.query.types import Type
from tests.engines.answers import flat

ORDER = HashOrder(salt=5)
AGES = Total(name="n", row=Call("ABS", (Column("age"),)), low=0, high=99)
QUESTION = Lowered(
    relation=Scan("people", (("patient", Type.INTEGER), ("age", Type.INTEGER))),
    unit=(),
    keys=(),
    groups=None,
    measures=(AGES,),
)
ROLE = {"role": "narrow", "password": "pa55word"}
SWAPPED = (
    "ALTER TABLE hall.people RENAME TO moved",
    "CREATE VIEW hall.people AS SELECT patient, 50 AS age FROM hall.moved",
    "GRANT SELECT ON hall.people TO narrow",
)
BACK = ("DROP VIEW hall.people", "ALTER TABLE hall.moved RENAME TO people")
EXCHANGED = (
    "ALTER TABLE hall.people RENAME age TO other",
    "ALTER TABLE hall.people RENAME patient TO age",
    "ALTER TABLE hall.people RENAME other TO patient",
)
REPLACED = (
    "DROP TABLE hall.people CASCADE",
    "CREATE TABLE hall.people (patient int, age int)",
    "GRANT SELECT (patient, age) ON hall.people TO narrow",
)


@pytest.fixture
def people(owner, place):
    """A table of which a role may read two columns, and so may not lock it."""
    owner(
        "DROP SCHEMA IF EXISTS hall CASCADE",
        "DROP ROLE IF EXISTS narrow",
        "CREATE ROLE narrow LOGIN PASSWORD 'pa55word'",
        "CREATE SCHEMA hall",
        "CREATE TABLE hall.people (patient int, age int, face text)",
        "CREATE TABLE hall.old () INHERITS (hall.people)",
        "INSERT INTO hall.people VALUES (1, 30, 'x'), (2, 40, 'y')",
        "INSERT INTO hall.old VALUES (3, 90, 'z')",
        "GRANT USAGE ON SCHEMA hall TO narrow",
        "GRANT SELECT (patient, age) ON hall.people TO narrow",
    )
    yield {"people": place("hall.people", **ROLE)}
    owner("DROP SCHEMA hall CASCADE", "DROP OWNED BY narrow", "DROP ROLE narrow")


def answered(engine):
    return flat(engine.run(QUESTION, order=ORDER))["totals"]["n"]


def between(monkeypatch, owner, before=(), after=()):
    """Change something right after the table is first looked at, and right before it is again."""
    described = reading.described
    looks = []

    def watched(connection, address):
        looks.append(address)
        if len(looks) == 2:
            owner("SELECT 1", *after)
        found = described(connection, address)
        if len(looks) == 1:
            owner("SELECT 1", *before)
        return found

    monkeypatch.setattr(reading, "described", watched)


def test_a_table_that_stays_is_read(people, monkeypatch, owner):
    with Postgres(people) as engine:
        between(monkeypatch, owner, ["ANALYZE hall.people", "VACUUM hall.people", "ANALYZE"])
        assert answered(engine) == [160]


@pytest.mark.parametrize(
    "change",
    [
        ["TRUNCATE hall.people"],
        ["TRUNCATE hall.old"],
        ["ALTER TABLE hall.old NO INHERIT hall.people"],
        ["ALTER TABLE hall.people ALTER age TYPE bigint USING -age"],
        SWAPPED,
        EXCHANGED,
        REPLACED,
    ],
)
def test_a_table_that_changes_before_it_is_read_is_none(people, monkeypatch, owner, change):
    with Postgres(people) as engine:
        between(monkeypatch, owner, change)
        with pytest.raises(EngineFailed):
            engine.run(QUESTION, order=ORDER)


@pytest.mark.parametrize(("change", "back"), [(SWAPPED, BACK), (EXCHANGED, EXCHANGED)])
def test_a_change_that_is_undone_is_a_change(people, monkeypatch, owner, change, back):
    with Postgres(people) as engine:
        between(monkeypatch, owner, change, back)
        with pytest.raises(EngineFailed):
            engine.run(QUESTION, order=ORDER)
        monkeypatch.undo()
        assert answered(engine) == [160]


def test_a_part_that_is_added_meanwhile(people, place, monkeypatch, owner):
    """No lock that a reader may take keeps the owner from adding one to a table."""
    owner("CREATE TABLE hall.new (LIKE hall.people)", "INSERT INTO hall.new VALUES (9, 9)")
    whole = {"people": place("hall.people")}
    for source, found in ((people, None), (whole, [169])):
        with Postgres(source) as engine:
            between(monkeypatch, owner, ["ALTER TABLE hall.new INHERIT hall.people"])
            if found is None:
                with pytest.raises(EngineFailed):
                    engine.run(QUESTION, order=ORDER)
            else:
                assert answered(engine) == found
        monkeypatch.undo()
        owner("ALTER TABLE hall.new NO INHERIT hall.people")


def test_a_table_that_is_locked_is_looked_at_once(people, place, monkeypatch):
    """Whoever waits for the lock may change it as soon as it is read."""
    looks = []
    described = reading.described
    monkeypatch.setattr(reading, "described", lambda *at: looks.append(at) or described(*at))
    for source, times in (({"people": place("hall.people")}, 1), (people, 2)):
        with Postgres(source) as engine:
            assert answered(engine) == [160]
        assert len(looks) == times
        looks.clear()
