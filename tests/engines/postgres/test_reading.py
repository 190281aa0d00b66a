"""Reading: one moment, whatever others do; and an end, whatever happens."""

import contextlib
import os
import signal
import threading
import time
import traceback

import pytest

from discreet.engines.engine import Performance
from discreet.engines.hash_order import HashOrder
from discreet.engines.postgres import row_reader as reading
from discreet.engines.postgres.engine import Postgres
from discreet.engines.sources.database import StagingTable
from discreet.errors import EngineFailed, EngineStopped, SourceChanged
from discreet.query.expressions import Call, Column, Literal
from discreet.query.relations import Join, Project, Scan, UnionAll
from discreet.query.types import Type
from discreet.requests.engine_request import EngineRequest, KeyColumn, Total
from discreet.requests.table_schema import ColumnFacts, Schema, TableFacts
from tests.engines.answers import flat
from tests.engines.postgres.rows import connect

ORDER = HashOrder(salt=5)
SECRET = "Ada Lovelace has gout"  # noqa: S105 (nobody's password)
ONES = Total(name="n", row=Literal(1), low=0, high=9)
MINE = "application_name = 'discreet' AND pid <> pg_backend_pid()"


def scan(table, **columns):
    return Scan(table, tuple(columns.items()) or (("patient", Type.INTEGER),))


def question(relation, *measures, keys=()):
    chosen = measures or (ONES,)
    return EngineRequest(relation=relation, unit=(), keys=keys, groups=None, measures=chosen)


def total(engine, relation):
    return flat(engine.run(question(relation), order=ORDER))["totals"]["n"][0]


@pytest.fixture
def moving(owner, place):
    """Two tables that always have equally many rows together."""
    owner(
        "DROP TABLE IF EXISTS here, there CASCADE",
        "CREATE TABLE here (patient int, note text)",
        "CREATE TABLE there (patient int, note text)",
        "INSERT INTO here SELECT i, repeat('x', 900) FROM generate_series(1, 12000) i",
    )
    return {"here": place("here"), "there": place("there")}


def test_all_tables_are_read_as_they_were_at_one_moment(moving, postgres):
    stop = threading.Event()

    def move():
        with connect(postgres) as connection:
            while not stop.is_set():
                for source, target in (("here", "there"), ("there", "here")):
                    connection.execute(
                        f"WITH gone AS (DELETE FROM {source} WHERE patient % 3 = 0 RETURNING *) "  # noqa: S608
                        f"INSERT INTO {target} SELECT * FROM gone"
                    )

    mover = threading.Thread(target=move)
    mover.start()
    try:
        notes = {"patient": Type.INTEGER, "note": Type.TEXT}
        both = UnionAll((scan("here", **notes), scan("there", **notes)))
        length = Total(
            name="n",
            row=Call("DIV", (Call("LENGTH", (Column("note"),)), Literal(900))),
            low=0,
            high=9,
        )
        with Postgres(moving) as engine:
            for _ in range(5):
                assert flat(engine.run(question(both, length), order=ORDER))["totals"]["n"] == [
                    12000
                ]
    finally:
        stop.set()
        mover.join()


def test_a_table_cannot_be_emptied_between_its_lock_and_its_rows(moving, postgres, monkeypatch):
    """TRUNCATE does not wait for a moment that others look at: a lock does."""
    described = reading.described
    begun = threading.Event()

    def slowly(connection, address):
        begun.set()
        time.sleep(0.2)
        return described(connection, address)

    def truncate():
        begun.wait(30)
        with connect(postgres) as connection:
            connection.execute("TRUNCATE here")

    monkeypatch.setattr(reading, "described", slowly)
    other = threading.Thread(target=truncate)
    other.start()
    with Postgres(moving) as engine:
        assert total(engine, scan("here")) == 12000
        other.join()
        assert total(engine, scan("here")) == 0


def test_only_what_is_needed_travels(moving, owner):
    with Postgres(moving) as engine:
        requests = engine._requests(question(scan("here", patient=Type.INTEGER, note=Type.TEXT)))
        assert [request.statement for request in requests.values()] == [
            'SELECT true AS c0 FROM "public"."here" AS "t"'
        ]
        lowered = EngineRequest(
            relation=scan("here", Patient=Type.INTEGER, note=Type.TEXT),
            unit=(Column("Patient"),),
            keys=(),
            groups=1,
            measures=(ONES,),
        )
        facts = TableFacts(name="HERE", columns=(), unit=("PATIENT",))
        engine.learn_schema(Schema([facts]))
        (request,) = engine._requests(question(scan("here"))).values()
        assert "WHERE" not in request.statement  # here each row is somebody
        (request,) = engine._requests(lowered).values()
        assert request.statement.startswith('SELECT CAST("t"."patient" AS int8) AS c0 FROM ')
        assert request.statement.endswith('"public"."here" AS "t" WHERE "t"."patient" IS NOT NULL')
        owner("UPDATE here SET patient = NULL WHERE patient > 10")
        assert flat(engine.run(lowered, order=ORDER))["units"] == [10]


def test_rows_are_gone_after_a_question(moving):
    with Postgres(moving) as engine:
        total(engine, scan("here"))
        inner = engine._local._connection
        assert inner.size(scan("here")) == 0


def test_rows_that_an_interrupt_has_left_do_not_count(moving, monkeypatch):
    """A second interrupt may come while the rows of the first are thrown away."""
    with Postgres(moving) as engine:
        empty = StagingTable.empty
        inner = engine._local._connection

        def interrupted(self):
            if inner.size(scan("here")):
                raise KeyboardInterrupt
            empty(self)

        monkeypatch.setattr(StagingTable, "empty", interrupted)
        with pytest.raises(KeyboardInterrupt):
            total(engine, scan("here"))
        monkeypatch.undo()
        assert inner.size(scan("here")) == 12000
        assert total(engine, scan("here")) == 12000


def test_tables_larger_than_memory(owner, place):
    owner(
        "DROP TABLE IF EXISTS large",
        "CREATE TABLE large AS SELECT md5(CAST(i AS text)) || md5(CAST(-i AS text)) AS note"
        " FROM generate_series(1, 120000) i",
    )
    length = Total(name="n", row=Call("LENGTH", (Column("note"),)), low=0, high=100)
    lowered = question(scan("large", note=Type.TEXT), length)
    with Postgres({"large": place("large")}, Performance(threads=1, memory="24MB")) as engine:
        answer = flat(engine.run(lowered, order=ORDER))
    assert answer["totals"] == {"n": [64 * 120000]}
    owner("DROP TABLE large")


# --- what changes after opening ---------------------------------------------------------------


def failed(engine, lowered, kind=EngineFailed):
    """Return all that can be known of a failure."""
    with pytest.raises(kind) as caught:
        engine.run(lowered, order=ORDER)
    error = caught.value
    assert error.__cause__ is None
    assert error.__context__ is None
    if kind is EngineFailed:
        assert str(error).startswith("EngineFailed[E701]: the engine could not compute the answer.")
    return "".join(traceback.format_exception(error))


def test_a_view_in_the_place_of_a_table(moving, owner):
    with Postgres(moving) as engine:
        owner("ALTER TABLE here RENAME TO moved", "CREATE VIEW here AS SELECT * FROM moved")
        try:
            failed(engine, question(scan("here")), SourceChanged)
        finally:
            owner("DROP VIEW here", "ALTER TABLE moved RENAME TO here")
        assert total(engine, scan("here")) == 12000  # as before


@pytest.mark.parametrize(
    ("change", "fails"),
    [
        ("ALTER TABLE here ALTER patient TYPE text", True),
        ("ALTER TABLE here DROP patient", True),
        ("ALTER TABLE here RENAME patient TO someone", True),
        ("DROP TABLE here", True),
        ("ALTER TABLE here DROP note", False),
        ("ALTER TABLE here ADD extra int", False),
        ("ALTER TABLE here ALTER patient TYPE bigint", True),
    ],
)
def test_a_table_that_is_changed(moving, owner, change, fails):
    number = Total(name="n", row=Call("SIGN", (Column("patient"),)), low=0, high=1)
    lowered = question(scan("here"), number)
    with Postgres(moving) as engine:
        owner(change)
        if fails:
            failed(engine, lowered, SourceChanged)
        else:
            assert flat(engine.run(lowered, order=ORDER))["totals"] == {"n": [12000]}


def test_row_level_security_that_comes_later(moving, owner, place):
    owner("DROP ROLE IF EXISTS late", "CREATE ROLE late LOGIN PASSWORD 'pa55word'")
    owner("GRANT SELECT ON here TO late")
    try:
        role = {"role": "late", "password": "pa55word"}
        with Postgres({"here": place("here", **role)}) as engine:
            assert total(engine, scan("here")) == 12000
            owner("ALTER TABLE here ENABLE ROW LEVEL SECURITY")
            failed(engine, question(scan("here")), SourceChanged)
            owner("ALTER TABLE here DISABLE ROW LEVEL SECURITY", "REVOKE SELECT ON here FROM late")
            failed(engine, question(scan("here")), SourceChanged)
    finally:
        owner("DROP OWNED BY late", "DROP ROLE late")


def test_the_key_of_a_public_table_is_a_key_at_this_moment(owner, place):
    owner(
        "DROP TABLE IF EXISTS visits, wards",
        "CREATE TABLE visits (ward text)",
        "CREATE TABLE wards (name text, beds int)",
        "INSERT INTO visits VALUES ('A'), ('B')",
        "INSERT INTO wards VALUES ('A', 1), ('B', 2), (NULL, 3), (NULL, 4)",
    )
    columns = (
        ColumnFacts(name="name", type=Type.TEXT),
        ColumnFacts(name="beds", type=Type.INTEGER),
    )
    wards = TableFacts(name="wards", columns=columns, public=True, key=("name",))
    beds = scan("wards", name=Type.TEXT, beds=Type.INTEGER)
    visits = scan("visits", ward=Type.TEXT)
    joined = Join(visits, beds, "inner", Call("=", (Column("ward"), Column("name"))))
    by_beds = Project(beds, (("b", Column("beds")),))
    beside = Join(visits, by_beds, "inner", Call("=", (Column("b"), Literal(1))))
    with Postgres({"visits": place("visits"), "wards": place("wards")}) as engine:
        engine.learn_schema(Schema([TableFacts(name="visits", columns=()), wards]))
        assert total(engine, joined) == 2
        owner("INSERT INTO wards VALUES ('A', 1)")
        failed(engine, question(joined), SourceChanged)
        assert total(engine, beside) == 4  # nobody takes it for one that does not multiply
        assert total(engine, beds) == 5


# --- connections that are lost, and interrupts ------------------------------------------------


SLOW = (
    "CREATE TABLE slow AS SELECT repeat(md5(CAST(i AS text)), 300) AS note"
    " FROM generate_series(1, 6000) i"
)


@pytest.fixture
def slow(owner, place, monkeypatch):
    """A table of 60 MB that is read in small batches, and not as fast as it could be."""
    add = StagingTable.add

    def slowly(self, batch, columns):
        time.sleep(0.01)
        add(self, batch, columns)

    owner("DROP TABLE IF EXISTS slow", SLOW)
    monkeypatch.setattr(reading, "_BATCHES", {"adbc.postgresql.batch_size_hint_bytes": "100000"})
    monkeypatch.setattr(StagingTable, "add", slowly)
    yield {"slow": place("slow")}
    owner("DROP TABLE slow")


LENGTHS = question(
    scan("slow", note=Type.TEXT),
    Total(name="n", row=Call("LENGTH", (Column("note"),)), low=0, high=10000),
)


def active(owner):
    busy = "state = 'active' AND (query LIKE 'COPY%' OR query LIKE 'LOCK%')"
    return owner(f"SELECT pid FROM pg_stat_activity WHERE {MINE} AND {busy}")  # noqa: S608


def when_active(owner, act):
    """Do something as soon as the server sends rows, in another thread."""

    def wait():
        for _ in range(2000):
            if found := active(owner):
                time.sleep(0.05)
                act(found[0][0])
                return
            time.sleep(0.005)

    thread = threading.Thread(target=wait)
    thread.start()
    return thread


def quiet(owner):
    for _ in range(400):
        if not owner(f"SELECT 1 FROM pg_stat_activity WHERE {MINE}"):  # noqa: S608
            return True
        time.sleep(0.01)
    return False


def test_a_connection_that_is_lost(slow, owner, monkeypatch):
    with Postgres(slow) as engine:
        killer = when_active(owner, lambda pid: owner(f"SELECT pg_terminate_backend({pid})"))
        failed(engine, LENGTHS)
        killer.join()
        monkeypatch.undo()
        actual = flat(engine.run(LENGTHS, order=ORDER))  # the next one has a connection of its own
        assert actual["totals"] == {"n": [6000 * 9600]}


def test_a_server_that_is_gone(postgres, owner, place):
    owner("DROP TABLE IF EXISTS plain", "CREATE TABLE plain (patient int)")
    with Postgres({"plain": place("plain")}) as engine:
        postgres.crash()
        try:
            failed(engine, question(scan("plain")), EngineStopped)
        finally:
            postgres.start()
        assert total(engine, scan("plain")) == 0


def test_an_interrupt_ends_the_statement_on_the_server(slow, owner, monkeypatch):
    with Postgres(slow) as engine:
        began = when_active(owner, lambda _: os.kill(os.getpid(), signal.SIGINT))
        with pytest.raises(KeyboardInterrupt) as caught:
            engine.run(LENGTHS, order=ORDER)
        began.join()
        assert caught.value.__context__ is None
        assert quiet(owner)
        assert engine._local._connection.size(scan("slow")) == 0
        monkeypatch.undo()
        assert flat(engine.run(LENGTHS, order=ORDER))["totals"] == {"n": [6000 * 9600]}


def test_an_interrupt_while_others_hold_a_lock(moving, owner, postgres):
    with Postgres(moving) as engine, connect(postgres) as other:
        other.autocommit = False
        other.execute("LOCK TABLE here IN ACCESS EXCLUSIVE MODE")
        began = when_active(owner, lambda _: os.kill(os.getpid(), signal.SIGINT))
        with pytest.raises(KeyboardInterrupt):
            engine.run(question(scan("here")), order=ORDER)
        began.join()
        assert quiet(owner)
        other.rollback()
        assert total(engine, scan("here")) == 12000


def test_closing_ends_what_is_under_way(slow, owner):
    engine = Postgres(slow)
    closer = when_active(owner, lambda _: engine.close())
    failed(engine, LENGTHS, EngineStopped)
    closer.join()
    assert quiet(owner)


def test_a_closed_engine_fails_with_the_same_words(moving, owner):
    engine = Postgres(moving)
    engine.close()
    engine.close()
    failed(engine, question(scan("here")))
    assert quiet(owner)


def test_a_failure_says_nothing_about_the_data(owner, place, postgres):
    """A row that the server itself cannot read: its page is torn."""
    owner(
        "DROP TABLE IF EXISTS torn",
        "CREATE TABLE torn (patient int, note text)",
        f"INSERT INTO torn SELECT i, '{SECRET}' FROM generate_series(1, 1000) i",  # noqa: S608
        "CHECKPOINT",
    )
    ((path,),) = owner("SELECT pg_relation_filepath('torn')")
    with Postgres({"torn": place("torn")}) as engine:
        postgres.stop()
        file = postgres.folder / "data" / path
        whole = file.read_bytes()
        try:
            file.write_bytes(whole[:8192] + (SECRET.encode() * 400)[:8192])
            postgres.start()
            told = failed(engine, question(scan("torn")))
        finally:
            with contextlib.suppress(Exception):
                postgres.stop()
            file.write_bytes(whole)
            postgres.start()
        assert SECRET not in told
        assert postgres.password not in told
        assert total(engine, scan("torn")) == 1000


def test_keys_of_groups_come_as_they_are(owner, place):
    owner(
        "DROP TABLE IF EXISTS keyed",
        "CREATE TABLE keyed (k text)",
        "INSERT INTO keyed VALUES ('b'), (NULL), ('é'), ('a'), ('b')",
    )
    key = KeyColumn("k", Column("k"), Type.TEXT)
    with Postgres({"keyed": place("keyed")}) as engine:
        lowered = question(scan("keyed", k=Type.TEXT), keys=(key,))
        actual = flat(engine.run(lowered, order=ORDER))
    assert actual["keys"] == [[None, "a", "b", "é"]]
    assert actual["totals"] == {"n": [1, 1, 2, 1]}
