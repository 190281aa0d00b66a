"""Every value of every type is read as ours, or as NULL, and none makes reading fail."""

import math
import struct
from datetime import date, datetime

import pyarrow as pa
import pytest

from discreet.engines.duckdb import DuckDB
from discreet.engines.engine import HashOrder
from discreet.engines.postgres.engine import Postgres
from discreet.query.expressions import Call, Column, Literal
from discreet.query.relations import Scan
from discreet.query.types import Type
from discreet.requests.engine_request import EngineRequest, KeyColumn, Total
from tests.engines.answers import flat
from tests.engines.edges import ARROW, EDGES
from tests.engines.postgres.rows import NATIVE, connect, make

ORDER = HashOrder(salt=5)
HUGE = "1" + "0" * 400
EDGE_OF_INFINITY = 2**1024 - 2**970


def read(engine, table, column):
    """Return a column as the engine holds it while a question is answered."""
    kind = engine.tables()[table][column]
    scan = Scan(table, ((column, kind),))
    with engine.snapshot(ORDER, [table]):
        found = engine.fetch(engine.dialect.printed(engine.scan(scan)), {}).column(0)
        return found.cast(ARROW[kind])


@pytest.fixture
def column(postgres, owner, place):
    """Return what is read of a column with some values, written as SQL, in their order."""

    def found(native, *values):
        owner("DROP TABLE IF EXISTS edges", f"CREATE TABLE edges (x {native})")
        rows = ", ".join(f"({value})" for value in values)
        owner(f"INSERT INTO edges VALUES {rows}")  # noqa: S608
        with Postgres({"edges": place("edges")}) as engine:
            return read(engine, "edges", "x").to_pylist()

    return found


def bits(values):
    return [None if value is None else struct.pack("<d", value) for value in values]


def test_whole_numbers(column):
    for native, most in (("smallint", 2**15), ("integer", 2**31), ("bigint", 2**63)):
        values = [-most, -1, 0, 1, most - 1]
        assert column(native, *(f"'{value}'" for value in values), "NULL") == [*values, None]


def test_floats(column):
    for native, form in (("real", "<f"), ("double precision", "<d")):
        smallest = {"<f": 2.0**-149, "<d": 2.0**-1074}[form]
        most = {"<f": (2 - 2**-23) * 2.0**127, "<d": (2 - 2**-52) * 2.0**1023}[form]
        values = [0.0, -0.0, 0.1, -smallest, smallest, most, -most]
        expected = [struct.unpack(form, struct.pack(form, value))[0] for value in values]
        found = column(native, *(f"'{value!r}'" for value in values))
        assert bits(found) == bits(expected)
        assert column(native, "'NaN'", "'Infinity'", "'-Infinity'", "NULL") == [None] * 4


def test_decimals(column):
    values = ["0", "0.1", "-3.25", "12345678901234567890.123456789", "1e-30"]
    assert column("numeric", *values, "NULL") == [*map(float, values), None]
    assert column("numeric(10, 2)", "1.005", "-99999999.99") == [1.01, -99999999.99]


def test_decimals_that_no_float_is_near_to(column):
    """The server itself fails to turn such a number into a float."""
    below = EDGE_OF_INFINITY - 1
    most = 1.7976931348623157e308
    assert column("numeric", EDGE_OF_INFINITY, -EDGE_OF_INFINITY, HUGE, f"-{HUGE}") == [None] * 4
    assert column("numeric", below, -below, f"{below}.999") == [most, -most, most]
    assert column("numeric", "'NaN'", "'Infinity'", "'-Infinity'") == [None] * 3


def test_decimals_are_read_as_the_nearest_float(column):
    digits = [pow(7, 50 + number, 10 ** (1 + number % 40)) for number in range(600)]
    values = [
        f"{(-1) ** index * value}e{index * 37 % 680 - 350}" for index, value in enumerate(digits)
    ]
    expected = [float(value) for value in values]
    found = column("numeric", *values)
    assert found == [value + 0.0 if math.isfinite(value) else None for value in expected]
    assert None in found
    assert 0.0 in found


def test_texts(column):
    texts = [text for text in EDGES[Type.TEXT] if text is not None and "\0" not in text]
    written = ["'" + text.replace("'", "''") + "'" for text in texts]
    for native in ("text", "varchar", 'text COLLATE "C"'):
        assert column(native, *written, "NULL") == [*texts, None]
    assert column("varchar(3)", "'abc'", "''") == ["abc", ""]


def test_the_blanks_that_fill_up_a_char_are_left_out(column):
    assert column("char(5)", "'a'", "'a b'", "''", "'  a'", "NULL") == ["a", "a b", "", "  a", None]


def test_a_text_that_is_too_long_is_null(column):
    megabyte = "repeat('é', 524288)"
    values = column("text", f"repeat({megabyte}, 16)", f"repeat({megabyte}, 16) || 'a'", "'b'")
    assert [None if value is None else len(value) for value in values] == [2**23, None, 1]


def test_enumerations_and_uuids(column, owner):
    owner("DROP TYPE IF EXISTS mood CASCADE", "CREATE TYPE mood AS ENUM ('sad', 'it''s ok', 'é')")
    assert column("mood", "'é'", "'sad'", "NULL", "'it''s ok'") == ["é", "sad", None, "it's ok"]
    number = "00000000-0000-4000-8000-0123456789ab"
    assert column("uuid", f"'{number.upper()}'", "NULL") == [number, None]


def test_casts_that_others_have_made_are_not_used(column, owner):
    """Whoever owns a type may say how it becomes a text, and fail for one of its values."""
    number = "00000000-0000-4000-8000-0123456789ab"
    owner("DROP TYPE IF EXISTS mood CASCADE", "CREATE TYPE mood AS ENUM ('sad', 'ok')")
    for kind in ("mood", "uuid"):
        owner(
            f"CREATE OR REPLACE FUNCTION trap({kind}) RETURNS text LANGUAGE plpgsql"
            " AS 'BEGIN RAISE EXCEPTION $$no$$; END'",
            f"CREATE CAST ({kind} AS text) WITH FUNCTION trap({kind}) AS IMPLICIT",
        )
    try:
        assert column("mood", "'ok'", "'sad'", "NULL") == ["ok", "sad", None]
        assert column("uuid", f"'{number}'", "NULL") == [number, None]
    finally:
        owner("DROP FUNCTION trap(mood) CASCADE", "DROP FUNCTION trap(uuid) CASCADE")


def test_booleans(column):
    assert column("boolean", "true", "false", "NULL") == [True, False, None]


def test_days(column):
    days = ["0001-01-01", "9999-12-31", "1969-12-31", "2024-02-29"]
    assert column("date", *(f"'{day}'" for day in days)) == [date.fromisoformat(d) for d in days]
    outside = [
        "infinity",
        "-infinity",
        "0001-12-31 BC",
        "10000-01-01",
        "4713-01-01 BC",
        "5874897-12-31",
    ]
    assert column("date", *(f"'{day}'" for day in outside), "NULL") == [None] * 7


def test_moments(column):
    for native in ("timestamp", "timestamp(0)", "timestamp without time zone"):
        moments = ["0001-01-01 00:00:00", "9999-12-31 23:59:59", "1969-12-31 23:59:59"]
        values = column(native, *(f"'{moment}'" for moment in moments))
        assert values == [datetime.fromisoformat(moment) for moment in moments]
    last = "9999-12-31 23:59:59.999999"
    assert column("timestamp", f"'{last}'") == [datetime.fromisoformat(last)]
    outside = ["infinity", "-infinity", "0001-12-31 23:59:59 BC", "10000-01-01", "294276-12-31"]
    assert column("timestamp", *(f"'{moment}'" for moment in outside), "NULL") == [None] * 6


def test_moments_with_a_time_zone_are_read_in_utc(column, owner):
    moments = ["2024-03-31 02:30:00+05:30", "1969-12-31 23:59:59-01", "2024-02-29 12:00:00.000001Z"]
    expected = [(2024, 3, 30, 21), (1970, 1, 1, 0, 59, 59), (2024, 2, 29, 12, 0, 0, 1)]
    found = column("timestamptz", *(f"'{moment}'" for moment in moments), "NULL")
    assert found == [*(datetime(*parts) for parts in expected), None]  # noqa: DTZ001  in UTC
    ends = ["0001-01-01 00:00:00+00", "9999-12-31 23:59:59.999999+00"]
    assert None not in column("timestamptz", *(f"'{moment}'" for moment in ends))
    outside = ["infinity", "-infinity", "0001-01-01 00:00:00+01", "9999-12-31 23:59:59-01"]
    outside += ["294276-12-31 00:00:00+00", "4713-01-01 00:00:00+00 BC"]
    assert column("timestamptz", *(f"'{moment}'" for moment in outside)) == [None] * 6


@pytest.mark.parametrize("kind", list(Type))
def test_edges_are_what_duckdb_makes_of_them_in_arrow(kind, postgres, place):
    """All values of a type, as groups where they can be, and as what is counted."""
    values = [value for value in EDGES[kind] if not isinstance(value, str) or "\0" not in value]
    make(postgres, "edges", {"id": "bigint", "x": NATIVE[kind]})
    with connect(postgres) as connection:
        connection.cursor().executemany("INSERT INTO edges VALUES (%s, %s)", enumerate(values))
    arrow = pa.table(
        {
            "id": range(len(values)),
            "x": pa.array(values, type=ARROW[kind], from_pandas=False),
        }
    )
    scan = Scan("edges", (("id", Type.INTEGER), ("x", kind)))
    by = Column("x") if kind is not Type.FLOAT else Call("ROUND", (Column("x"),))
    key = (
        KeyColumn("x", by, kind)
        if kind is not Type.FLOAT
        else KeyColumn("x", Call("IS NULL", (by,)), Type.BOOLEAN)
    )
    lowered = EngineRequest(
        relation=scan,
        unit=(Column("id"),),
        keys=(key,),
        groups=1,
        measures=(Total(name="n", row=Literal(1), low=0, high=1),),
    )
    with DuckDB({"edges": arrow}) as here, Postgres({"edges": place("edges")}) as there:
        expected = flat(here.run(lowered, order=ORDER))
        assert flat(there.run(lowered, order=ORDER)) == expected
        assert there.tables() == here.tables()


def test_types_that_cannot_be_named(owner, place):
    others = (
        "time, timetz, interval, bytea, json, jsonb, xml, inet, point, int4range, "
        'money, oid, name, "char", bit(3), int[], text[], numeric[], positive, pair'
    )
    owner(
        "DROP TABLE IF EXISTS odd",
        "DROP DOMAIN IF EXISTS positive",
        "DROP TYPE IF EXISTS pair",
        "CREATE DOMAIN positive AS int CHECK (value > 0)",
        "CREATE TYPE pair AS (a int, b int)",
        "CREATE TABLE odd (x int, "
        + ", ".join(f"c{index} {kind}" for index, kind in enumerate(others.split(", ")))
        + ")",
    )
    with Postgres({"odd": place("odd")}) as engine:
        found = engine.tables()["odd"]
    assert found.pop("x") is Type.INTEGER
    assert len(found) == others.count(",") + 1
    assert set(found.values()) == {None}


def test_names_are_quoted(owner, place):
    names = ['a"b', "select", "Ward", "two words", "é", "semi;colon--", "tableoids", "%", "$1", "'"]
    owner(
        'DROP TABLE IF EXISTS "odd ""names"""',
        'CREATE TABLE "odd ""names""" ('
        + ", ".join(f'"{name.replace(chr(34), chr(34) * 2)}" int' for name in names)
        + ")",
        f'INSERT INTO "odd ""names""" VALUES ({", ".join(map(str, range(len(names))))})',  # noqa: S608
    )
    with Postgres({"odd": place("odd%20%22names%22")}) as engine:
        for value, name in enumerate(names):
            assert read(engine, "odd", name).to_pylist() == [value]


@pytest.mark.parametrize(("size", "there"), [(2**24, True), (2**24 + 1, False)])
def test_a_very_long_text_is_none(owner, place, size, there):
    owner(
        "DROP TABLE IF EXISTS heavy",
        "CREATE TABLE heavy (a text, b varchar)",
        f"INSERT INTO heavy VALUES ('a', repeat('y', {size})), ('z', NULL)",  # noqa: S608
    )
    with Postgres({"heavy": place("heavy")}) as engine:
        assert read(engine, "heavy", "a").to_pylist() == ["a", "z"]
        assert (read(engine, "heavy", "b").to_pylist()[0] is not None) == there
    owner("DROP TABLE heavy")
