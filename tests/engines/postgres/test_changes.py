"""A table that changes while it is read: it is locked, or refused."""

import pytest

from discreet.engines.engine import HashOrder
from discreet.engines.postgres import engine as reading
from discreet.engines.postgres.engine import Postgres
from discreet.errors import (
    BadPolicy,
    EngineFailed,
    QuestionClosed,
    SourceChanged,
    UnreadableSource,
    WrongKind,
)
from discreet.query.expressions import Call, Column
from discreet.query.relations import Scan
from discreet.query.types import Type
from discreet.requests.engine_request import EngineRequest, Total
from discreet.session import open as opened
from tests.engines.answers import flat

ORDER = HashOrder(salt=5)
AGES = Total(name="n", row=Call("ABS", (Column("age"),)), low=0, high=99)
QUESTION = EngineRequest(
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
        state = described(connection, address)
        if len(looks) == 1:
            owner("SELECT 1", *before)
        return state

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
        with pytest.raises(SourceChanged):
            engine.run(QUESTION, order=ORDER)


@pytest.mark.parametrize(("change", "back"), [(SWAPPED, BACK), (EXCHANGED, EXCHANGED)])
def test_a_change_that_is_undone_is_a_change(people, monkeypatch, owner, change, back):
    with Postgres(people) as engine:
        between(monkeypatch, owner, change, back)
        with pytest.raises(SourceChanged):
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
                with pytest.raises(SourceChanged):
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
            looks.clear()
            assert answered(engine) == [160]
        assert len(looks) == times


@pytest.mark.parametrize("change", [["TRUNCATE hall.old"], SWAPPED, EXCHANGED, REPLACED])
def test_a_table_of_another_form_is_refused_before_anything_is_charged(people, owner, change):
    with Postgres(people) as engine:
        before = engine.identities(["People"])
        assert before["people"].kind == "postgresql"
        assert before["people"].content is None
        owner("INSERT INTO hall.people VALUES (4, 50, 'w')", "ANALYZE hall.people")
        assert engine.identities(["people"]) == before  # rows come and go
        owner(*change)
        with pytest.raises((SourceChanged, UnreadableSource)):
            engine.identities(["people"])


def test_a_key_that_is_none_any_more_is_told_of_its_table(place, owner):
    owner(
        "DROP TABLE IF EXISTS stays, houses",
        "CREATE TABLE stays (patient int, house int)",
        "CREATE TABLE houses (house int, beds int)",
        "INSERT INTO stays VALUES (1, 1)",
        "INSERT INTO houses VALUES (1, 10)",
    )
    policy = """
        format = 1
        unit = "patient"
        [budget]
        epsilon = 2
        [limits]
        max_groups = 1
        max_rows = 1
        [tables.houses]
        public = true
        key = ["house"]
    """
    source = {"stays": place("stays"), "houses": place("houses")}
    question = "SELECT COUNT(*) AS n FROM stays JOIN houses ON stays.house = houses.house"
    with opened(source, policy=policy, test_mode=True) as session:
        session.ask(question, epsilon=1)
        owner("INSERT INTO houses VALUES (1, 20)")
        with pytest.raises(SourceChanged, match="houses"):
            session.ask(question, epsilon=2)


def test_a_table_on_a_server_cannot_be_frozen(people):
    policy = 'format = 1\nunit = "patient"\nfrozen = true'
    with pytest.raises(BadPolicy, match="frozen"):
        opened(people, policy=policy, test_mode=True)


def test_a_change_costs_nothing_and_is_on_record(people, owner, tmp_path):
    policy = 'format = 1\nunit = "patient"\n[budget]\nepsilon = 2\n[limits]\nmax_rows = 1'
    count = "SELECT COUNT(*) AS n FROM people"
    with opened(people, policy=policy, ledger=tmp_path / "l") as session:
        first = session.ask(count, epsilon="0.5")
        owner("TRUNCATE hall.old")
        with pytest.raises(SourceChanged):
            session.ask(count, epsilon=1)
        assert session.remaining.epsilon == pytest.approx(1.5)
    with opened(people, policy=policy, ledger=tmp_path / "l") as session:
        assert len(session.ledger.descriptions("source")) == 2
        with pytest.raises(WrongKind, match="may have changed"):
            session.remeasure(first, epsilon="0.25")


def test_a_row_that_makes_the_server_fail_closes_the_question(people, owner, tmp_path, monkeypatch):
    """The server ends the connection in the middle of the rows, and lets nobody in afterwards."""
    policy = 'format = 1\nunit = "patient"\n[budget]\nepsilon = 2\n[limits]\nmax_rows = 1'
    count = "SELECT COUNT(*) AS n FROM people"

    def failing(engine, *_):
        owner("ALTER ROLE narrow NOLOGIN")
        engine._cursor.execute("SELECT pg_terminate_backend(pg_backend_pid())").fetchall()

    with opened(people, policy=policy, ledger=tmp_path / "l") as session:
        with monkeypatch.context() as patched:
            patched.setattr(Postgres, "fetch", failing)
            with pytest.raises(EngineFailed):
                session.ask(count, epsilon=1)
        owner("ALTER ROLE narrow LOGIN")
        assert len(session.ledger.closed) == 1
        with pytest.raises(QuestionClosed):
            session.ask(count, epsilon=1)
