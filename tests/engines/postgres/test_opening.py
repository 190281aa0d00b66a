"""Opening: what the catalogue says is enough, and what cannot be read safely is refused."""

import psycopg
import pyarrow as pa
import pytest

from discreet.engines.engine import HashOrder
from discreet.engines.postgres.address import address_of, begin, open_connection, query_rows
from discreet.engines.postgres.engine import Postgres
from discreet.errors import UnreadableSource, WrongKind
from discreet.query.expressions import Call, Column, Literal
from discreet.query.relations import Join, Project, Scan
from discreet.query.types import Type
from discreet.requests.engine_request import EngineRequest, KeyColumn, Total
from tests.engines.answers import flat

ORDER = HashOrder(salt=5)
PLAIN = "CREATE TABLE plain (patient int, ward text)"


SETTINGS = {
    "search_path": "pg_catalog, pg_temp",
    "client_encoding": "UTF8",
    "row_security": "off",
    "statement_timeout": "0",
    "transaction_isolation": "repeatable read",
    "transaction_read_only": "on",
}


def _setting(name):
    return f"current_setting('{name}')"


def count(table, *, column="patient"):
    """Return the question of how many rows a table has."""
    scan = Scan(table, ((column, Type.INTEGER),))
    total = Total(name="n", row=Literal(1), low=0, high=1)
    return EngineRequest(relation=scan, unit=(), keys=(), groups=None, measures=(total,))


def counted(engine, table, **options):
    return flat(engine.run(count(table, **options), order=ORDER))["totals"]["n"][0]


@pytest.fixture
def plain(owner):
    owner(
        "DROP TABLE IF EXISTS plain CASCADE", PLAIN, "INSERT INTO plain VALUES (1, 'A'), (2, 'B')"
    )


@pytest.fixture
def refused(place):
    """Return what is said when a table is refused."""

    def found(table, **role):
        with pytest.raises(UnreadableSource) as caught:
            Postgres({"t": place(table, **role)})
        assert caught.value.__context__ is None
        return str(caught.value)

    return found


def test_no_row_is_read(plain, owner, place):
    owner("ALTER TABLE plain ADD CONSTRAINT c CHECK (patient > 0)")
    before = "SELECT seq_scan FROM pg_stat_user_tables WHERE relname = 'plain'"
    scans = owner("SELECT pg_stat_force_next_flush()", before)
    with Postgres({"plain": place("plain")}) as engine:
        assert engine.tables() == {"plain": {"patient": Type.INTEGER, "ward": Type.TEXT}}
        assert owner("SELECT pg_stat_force_next_flush()", before) == scans
        assert counted(engine, "plain") == 2
        assert repr(engine).startswith("Postgres(postgresql://owner@127.0.0.1:")


def test_no_connection_is_left(plain, owner, place):
    mine = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'discreet'"
    with Postgres({"plain": place("plain")}) as engine:
        counted(engine, "plain")
        for _ in range(100):  # the server takes a moment to notice
            if owner("SELECT pg_sleep(0.02)", mine) == [(0,)]:
                return
    pytest.fail("a connection is left")


def test_partitioned_tables_and_those_with_heirs(owner, place):
    owner(
        "DROP TABLE IF EXISTS parts, parent CASCADE",
        "CREATE TABLE parts (patient int) PARTITION BY RANGE (patient)",
        "CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (0) TO (10)",
        "CREATE TABLE parts_2 PARTITION OF parts FOR VALUES FROM (10) TO (20)",
        "INSERT INTO parts VALUES (1), (2), (11)",
        "CREATE TABLE parent (patient int)",
        "CREATE TABLE heir (more int) INHERITS (parent)",
        "INSERT INTO parent VALUES (1)",
        "INSERT INTO heir VALUES (2, 3), (4, 5)",
    )
    with Postgres({"parts": place("parts"), "parent": place("parent")}) as engine:
        assert counted(engine, "parts") == counted(engine, "parent") == 3


def test_what_is_no_table_is_refused(plain, owner, refused):
    owner(
        "DROP SCHEMA IF EXISTS odd CASCADE",
        "CREATE SCHEMA odd",
        "CREATE VIEW odd.view AS SELECT * FROM plain",
        "CREATE MATERIALIZED VIEW odd.kept AS SELECT * FROM plain",
        "CREATE SEQUENCE odd.numbers",
        "CREATE TYPE odd.pair AS (a int)",
        "CREATE INDEX places ON plain (ward)",
    )
    for name in ("odd.view", "odd.kept", "odd.numbers", "odd.pair", "places"):
        assert "is a view, or has parts that lie elsewhere" in refused(name)


def test_foreign_tables_and_partitions_are_refused(owner, refused):
    owner(
        "DROP SCHEMA IF EXISTS far CASCADE",
        "DROP FOREIGN DATA WRAPPER IF EXISTS nowhere CASCADE",
        "CREATE SCHEMA far",
        "CREATE FOREIGN DATA WRAPPER nowhere",
        "CREATE SERVER away FOREIGN DATA WRAPPER nowhere",
        "CREATE FOREIGN TABLE far.t (patient int) SERVER away",
        "CREATE TABLE far.parts (patient int) PARTITION BY RANGE (patient)",
        "CREATE TABLE far.half PARTITION OF far.parts FOR VALUES FROM (0) TO (9)"
        " PARTITION BY RANGE (patient)",
        "CREATE FOREIGN TABLE far.part PARTITION OF far.half FOR VALUES FROM (0) TO (5)"
        " SERVER away",
    )
    assert "lie elsewhere" in refused("far.t")
    assert "lie elsewhere" in refused("far.parts")


def test_tables_that_are_not_there(refused, plain):
    assert "there is no table postgresql://owner@" in refused("absent")
    assert "/PLAIN." in refused("PLAIN")
    assert "/other.plain." in refused("other.plain")


def test_a_database_that_is_not_there(postgres):
    with pytest.raises(UnreadableSource) as caught:
        Postgres({"t": postgres.address().replace("/postgres", "/absent") + "/t"})
    assert "may not know the role or the database" in str(caught.value)


def test_a_wrong_password(postgres, refused):
    said = refused("plain", password="wr0ng")  # noqa: S106 (nobody's)
    assert "does not accept the password" in said
    assert "wr0ng" not in said
    assert postgres.password not in said


def test_a_missing_password(postgres, monkeypatch):
    monkeypatch.delenv("PGPASSWORD", raising=False)
    address = postgres.address().replace(f":{postgres.password}", "") + "/plain"
    with pytest.raises(UnreadableSource) as caught:
        Postgres({"t": address})
    assert "or there is none" in str(caught.value)


def test_a_password_from_the_environment(postgres, monkeypatch, plain):
    monkeypatch.setenv("PGPASSWORD", postgres.password)
    with Postgres(
        {"plain": postgres.address().replace(f":{postgres.password}", "") + "/plain"}
    ) as engine:
        assert counted(engine, "plain") == 2


def test_a_server_that_cannot_be_reached():
    with pytest.raises(UnreadableSource) as caught:
        Postgres({"t": "postgresql://u:pa55word@127.0.0.1:1/db/t"})
    said = str(caught.value)
    assert "there is no connection to postgresql://u@127.0.0.1:1/db/t." in said
    assert "cannot be reached" in said
    assert "pa55word" not in said


@pytest.fixture
def analyst(owner, plain):
    """Make a role without any rights."""
    owner(
        "DROP ROLE IF EXISTS analyst",
        "CREATE ROLE analyst LOGIN PASSWORD 'pa55word'",
    )
    yield {"role": "analyst", "password": "pa55word"}
    owner("DROP OWNED BY analyst", "DROP ROLE analyst")


def test_a_role_without_rights(analyst, owner, refused, place):
    assert "the role may not read" in refused("plain", **analyst)
    owner(
        "DROP SCHEMA IF EXISTS closed CASCADE",
        "CREATE SCHEMA closed",
        "CREATE TABLE closed.t (a int)",
    )
    owner("GRANT SELECT ON closed.t TO analyst")
    assert "the role may not read" in refused("closed.t", **analyst)
    owner("GRANT SELECT ON plain TO analyst")
    with Postgres({"plain": place("plain", **analyst)}) as engine:
        assert counted(engine, "plain") == 2


def test_columns_without_rights_cannot_be_named(analyst, owner, place):
    owner("GRANT SELECT (patient) ON plain TO analyst")
    with Postgres({"plain": place("plain", **analyst)}) as engine:
        assert engine.tables() == {"plain": {"patient": Type.INTEGER, "ward": None}}
        assert counted(engine, "plain") == 2


def test_rights_to_a_partitioned_table_are_enough(analyst, owner, place):
    owner(
        "DROP TABLE IF EXISTS parts CASCADE",
        "CREATE TABLE parts (patient int) PARTITION BY RANGE (patient)",
        "CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (0) TO (10)",
        "INSERT INTO parts VALUES (1), (2)",
        "GRANT SELECT ON parts TO analyst",
    )
    with Postgres({"parts": place("parts", **analyst)}) as engine:
        assert counted(engine, "parts") == 2


def test_row_level_security_is_refused(analyst, owner, refused, place):
    owner(
        "GRANT SELECT ON plain TO analyst",
        "ALTER TABLE plain ENABLE ROW LEVEL SECURITY",
        "CREATE POLICY few ON plain USING (ward = 'A')",
    )
    assert "row-level security" in refused("plain", **analyst)
    with Postgres({"plain": place("plain")}) as engine:  # to the owner it does not apply
        assert counted(engine, "plain") == 2
    owner("ALTER ROLE analyst BYPASSRLS")
    with Postgres({"plain": place("plain", **analyst)}) as engine:
        assert counted(engine, "plain") == 2


def test_a_database_in_another_encoding_is_refused(postgres, owner):
    owner("DROP DATABASE IF EXISTS old")
    owner("CREATE DATABASE old TEMPLATE template0 ENCODING 'SQL_ASCII' LOCALE 'C'")
    address = postgres.address().replace("/postgres", "/old")
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("CREATE TABLE t (x text)")
    with pytest.raises(UnreadableSource) as caught:
        Postgres({"t": f"{address}/t"})
    assert "is not encoded in UTF8" in str(caught.value)


def test_names_that_differ_in_case_only(owner, refused):
    owner("DROP TABLE IF EXISTS cases", 'CREATE TABLE cases ("Ward" int, ward int)')
    assert "two of the columns have one name" in refused("cases")


def test_tables_of_several_databases_are_refused(place):
    one = place("plain")
    for other in (one.replace("/postgres/", "/other/"), one.replace("owner", "somebody")):
        with pytest.raises(WrongKind) as caught:
            Postgres({"a": one, "b": other})
        assert "on several servers, or in several databases" in str(caught.value)


def test_a_database_is_no_table(postgres):
    with pytest.raises(WrongKind) as caught:
        Postgres({"a": postgres.address()})
    assert "names a database and no table" in str(caught.value)
    assert postgres.password not in str(caught.value)


def test_public_tables_may_be_frames_and_files(plain, place, tmp_path):
    (tmp_path / "beds.csv").write_text("ward,beds\nA,3\nB,4\n")
    wards = pa.table({"ward": ["A", "A"], "floor": [1, 2]})
    places = {"plain": place("plain"), "wards": wards, "beds": tmp_path / "beds.csv"}
    with Postgres(places) as engine:
        assert engine.tables()["beds"] == {"ward": Type.TEXT, "beds": Type.TEXT}
        left = Scan("plain", (("patient", Type.INTEGER), ("ward", Type.TEXT)))
        for table, found in (("wards", [2, 0]), ("beds", [1, 1])):
            right = Scan(table, (("ward", Type.TEXT),))
            joined = Join(left, _renamed(right), "inner", Call("=", (Column("ward"), Column("w"))))
            lowered = EngineRequest(
                relation=joined,
                unit=(Column("patient"),),
                keys=(KeyColumn("ward", Column("ward"), Type.TEXT),),
                groups=2,
                public=(("A",), ("B",)),
                measures=(Total(name="n", row=Literal(1), low=0, high=9),),
            )
            assert flat(engine.run(lowered, order=ORDER))["totals"]["n"] == found


def _renamed(scan):
    return Project(scan, (("w", Column("ward")),))


def test_objects_that_shadow_the_catalogue_are_not_used(owner, place, plain):
    """A role's search path may lead to functions, operators and tables with well-known names."""
    owner(
        "DROP SCHEMA IF EXISTS evil CASCADE",
        "CREATE SCHEMA evil",
        "CREATE TABLE evil.plain (patient int, ward text)",
        "CREATE TABLE evil.pg_class (oid oid)",
        "CREATE FUNCTION evil.octet_length(text) RETURNS int LANGUAGE sql AS 'SELECT 1 / 0'",
        "CREATE FUNCTION evil.has_table_privilege(oid, text) RETURNS bool LANGUAGE sql"
        " AS 'SELECT false'",
        "ALTER ROLE owner SET search_path = evil, pg_catalog, public",
    )
    try:
        with Postgres({"plain": place("plain")}) as engine:
            assert engine.tables()["plain"]["ward"] is Type.TEXT
            assert counted(engine, "plain") == 2
    finally:
        owner("ALTER ROLE owner RESET search_path", "DROP SCHEMA evil CASCADE")


def test_settings_of_a_role_make_no_difference(owner, place):
    owner(
        "DROP TABLE IF EXISTS moments",
        "CREATE TABLE moments (patient int, m timestamp, d date)",
        "INSERT INTO moments VALUES (1, '2024-02-01 23:30', '2024-02-01')",
        "ALTER ROLE owner SET TimeZone = 'Pacific/Kiritimati'",
        "ALTER ROLE owner SET DateStyle = 'German'",
        "ALTER ROLE owner SET client_encoding = 'LATIN1'",
        "ALTER ROLE owner SET statement_timeout = '9s'",
        "ALTER ROLE owner SET row_security = on",
        "ALTER ROLE owner SET default_transaction_isolation = 'read committed'",
    )
    scan = Scan("moments", (("m", Type.TIMESTAMP), ("d", Type.DATE)))
    keys = (KeyColumn("m", Column("m"), Type.TIMESTAMP), KeyColumn("d", Column("d"), Type.DATE))
    lowered = EngineRequest(relation=scan, unit=(), keys=keys, groups=None, measures=())
    try:
        with Postgres({"moments": place("moments")}) as engine:
            found = flat(engine.run(lowered, order=ORDER))["keys"]
        with open_connection(address_of(place("moments"))) as connection:
            begin(connection)
            settings = query_rows(connection, "SELECT " + ", ".join(map(_setting, SETTINGS)))
    finally:
        owner("ALTER ROLE owner RESET ALL")
    assert settings == [tuple(SETTINGS.values())]
    assert [str(values[0]) for values in found] == ["2024-02-01 23:30:00", "2024-02-01"]
