"""Everything that can be opened as a table, and what is refused."""

# ruff: noqa: DTZ001, S608 (timestamps have no time zone; the tables are ours)

import gzip
import uuid
from datetime import date, datetime
from decimal import Decimal

import duckdb
import ibis
import narwhals as nw
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from discreet.engines.duckdb import DuckDB
from discreet.engines.engine import HashOrder, Performance
from discreet.engines.sources.files import Database
from discreet.errors import UnreadableSource
from discreet.query.relations import Scan
from discreet.query.types import Type
from tests.engines.answers import flat
from tests.engines.visits import TYPES, by_ward, visits

ROWS = visits(400)
ORDER = HashOrder(salt=3)
ONE = Performance(threads=1)


def contents(data, **types):
    """Return the rows of a table as our values."""
    with DuckDB({"t": data}, ONE) as engine:
        scan = engine.scan(Scan("t", tuple(types.items())))
        return engine.fetch(engine.dialect.printed(scan), {}).to_pylist()


def columns(data):
    with DuckDB({"t": data}, ONE) as engine:
        return engine.tables()["t"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("sources")
    pq.write_table(ROWS, path / "visits.parquet")
    for number in range(2):
        pq.write_table(ROWS.slice(200 * number, 200), path / f"part-{number}.parquet")
        ROWS.slice(200 * number, 200).to_pandas().to_csv(path / f"part-{number}.csv", index=False)
    ROWS.to_pandas().to_csv(path / "visits.csv", index=False)
    ROWS.to_pandas().to_csv(path / "visits.tsv", index=False, sep="\t")
    with gzip.open(path / "packed.csv.gz", "wt") as file:
        ROWS.to_pandas().to_csv(file, index=False)
    with duckdb.connect(path / "clinic.duckdb") as made:
        made.register("rows", ROWS)
        made.execute("CREATE TABLE visits AS FROM rows")
        made.execute("CREATE VIEW seen AS FROM visits")
    return path


class Stream:
    """A frame of a library that nobody here knows, such as cuDF."""

    def __init__(self, table):
        self.table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


def sources(folder):
    frame = ROWS.to_pandas()
    return {
        "arrow": ROWS,
        "batch": ROWS.combine_chunks().to_batches()[0],
        "dataset": ds.dataset(folder / "visits.parquet"),
        "pandas": frame,
        "pandas objects": frame.astype({"ward": object}),
        "pandas categories": frame.astype({"ward": "category"}),
        "polars": pl.from_arrow(ROWS),
        "polars lazy": pl.from_arrow(ROWS).lazy(),
        "relation": duckdb.connect().from_arrow(ROWS),
        "ibis": ibis.memtable(ROWS),
        "narwhals": nw.from_native(frame),
        "narwhals lazy": nw.from_native(pl.from_arrow(ROWS).lazy()),
        "stream": Stream(ROWS),
        "polars categories": pl.from_arrow(ROWS).with_columns(pl.col("ward").cast(pl.Categorical)),
        "parquet": folder / "visits.parquet",
        "parquet pattern": str(folder / "part-*.parquet"),
        "csv": folder / "visits.csv",
        "csv pattern": str(folder / "part-*.csv"),
        "tsv": folder / "visits.tsv",
        "gzip": folder / "packed.csv.gz",
        "database": str(folder / "clinic.duckdb"),
        "database table": Database(path=str(folder / "clinic.duckdb"), table="visits"),
    }


KINDS = [
    *("arrow", "batch", "dataset", "pandas", "pandas objects", "pandas categories", "polars"),
    *("polars lazy", "relation", "ibis", "narwhals", "narwhals lazy", "stream"),
    *("polars categories", "parquet", "parquet pattern", "csv", "csv pattern", "tsv", "gzip"),
    *("database", "database table"),
]


def test_every_source_is_tried(folder):
    assert sorted(sources(folder)) == sorted(KINDS)


@pytest.mark.parametrize("kind", KINDS)
def test_every_source_gives_the_same_answer(folder, kind):
    with DuckDB({"visits": ROWS}, ONE) as engine:
        expected = flat(engine.run(by_ward(), order=ORDER))
    with DuckDB({"visits": sources(folder)[kind]}, ONE) as engine:
        assert flat(engine.run(by_ward(), order=ORDER)) == expected


def test_types_come_from_the_schema_and_csv_is_text(folder):
    assert columns(folder / "visits.parquet") == TYPES
    assert columns(ds.dataset(folder / "visits.parquet")) == TYPES
    assert columns(folder / "visits.csv") == dict.fromkeys(TYPES, Type.TEXT)


def test_the_types_of_a_database_are_read_as_ours(tmp_path):
    path = str(tmp_path / "types.duckdb")
    cases = {
        "TINYINT": ("-1", Type.INTEGER, -1),
        "UBIGINT": ("18446744073709551615", Type.INTEGER, None),
        "HUGEINT": ("-170141183460469231731687303715884105728", Type.INTEGER, None),
        "UHUGEINT": ("7", Type.INTEGER, 7),
        "FLOAT": ("'nan'", Type.FLOAT, None),
        "DOUBLE": ("'-inf'", Type.FLOAT, None),
        "DECIMAL(10,2)": ("12.25", Type.FLOAT, 12.25),
        "ENUM('a', 'b')": ("'b'", Type.TEXT, "b"),
        "UUID": (f"'{uuid.UUID(int=7)}'", Type.TEXT, str(uuid.UUID(int=7))),
        "VARCHAR": ("'x'", Type.TEXT, "x"),
        "BOOLEAN": ("true", Type.BOOLEAN, True),
        "DATE": ("'infinity'", Type.DATE, None),
        "TIMESTAMP": ("'-infinity'", Type.TIMESTAMP, None),
        "TIMESTAMP_S": ("'2024-02-29 12:00:00'", Type.TIMESTAMP, datetime(2024, 2, 29, 12)),
        "TIMESTAMP_MS": ("'290000-01-01 00:00:00'", Type.TIMESTAMP, None),
        "TIMESTAMP_NS": (
            "'2024-02-29 12:00:00.000000001'",
            Type.TIMESTAMP,
            datetime(2024, 2, 29, 12),
        ),
        "TIMESTAMP WITH TIME ZONE": (
            "'2024-03-31 02:30:00+05:30'",
            Type.TIMESTAMP,
            datetime(2024, 3, 30, 21),
        ),
        "INTEGER[]": ("[1]", None, None),
        "STRUCT(a INTEGER)": ("{'a': 1}", None, None),
        "BLOB": ("'x'", None, None),
        "INTERVAL": ("INTERVAL 1 DAY", None, None),
        "TIME": ("'12:00:00'", None, None),
    }
    with duckdb.connect(path) as made:
        wanted = ", ".join(f'"c{index}" {native}' for index, native in enumerate(cases))
        made.execute(f"CREATE TABLE t ({wanted})")
        made.execute(f"INSERT INTO t VALUES ({', '.join(value for value, _, _ in cases.values())})")
    expected = {f"c{index}": kind for index, (_, kind, _) in enumerate(cases.values())}
    assert columns(path) == expected
    named = {name: kind for name, kind in expected.items() if kind is not None}
    values = [value for _, kind, value in cases.values() if kind is not None]
    assert [list(row.values()) for row in contents(path, **named)] == [values]


def test_columns_of_frames_that_cannot_be_named_are_there_without_a_type():
    table = pa.table({"a": [1], "b": [[1]], "c": [b"x"], "d": pa.array([None])})
    assert columns(table) == {"a": Type.INTEGER, "b": None, "c": None, "d": None}


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_moments_with_a_time_zone_are_read_in_utc(tmp_path, unit):
    """Wherever they are held, and whatever the zone of this machine or of the column is."""
    count = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
    noon, kind = 1_709_208_000 * count, pa.timestamp(unit, tz="America/New_York")
    plain = pa.table({"m": pa.array([noon, -1 * count, None], type=pa.int64()).cast(kind)})
    expected = [datetime(2024, 2, 29, 12), datetime(1969, 12, 31, 23, 59, 59), None]
    pq.write_table(plain, tmp_path / "t.parquet")
    sources = [plain, plain.to_pandas(), pl.from_arrow(plain), tmp_path / "t.parquet"]
    for data in (*sources, ds.dataset(tmp_path / "t.parquet"), ds.dataset(plain)):
        assert columns(data) == {"m": Type.TIMESTAMP}
        assert [row["m"] for row in contents(data, m=Type.TIMESTAMP)] == expected
    edges = [2**63 - 1, -(2**63), -(2**63) + 1, 2**62, 0]
    far = pa.table({"m": pa.array(edges, type=pa.int64()).cast(kind)})
    found = [row["m"] for row in contents(far, m=Type.TIMESTAMP)]
    assert found[-1] == datetime(1970, 1, 1)
    assert found[:2] == [None, None] or unit == "ns"


def test_moments_with_a_time_zone_that_no_calendar_has_are_null(tmp_path):
    path = str(tmp_path / "t.duckdb")
    with duckdb.connect(path) as made:
        made.execute("SET TimeZone = 'Asia/Kolkata'")
        made.execute("CREATE TABLE t (n INTEGER, m TIMESTAMPTZ)")
        made.execute(
            "INSERT INTO t VALUES (1, 'infinity'), (2, '-infinity'), (3, NULL),"
            " (4, '290000-01-01 00:00:00+00'), (5, '9999-12-31 23:59:59.999999+00'),"
            " (6, '10000-01-01 00:00:00+00'), (7, '0001-01-01 00:00:00+00'),"
            " (8, '0001-01-01 00:00:00+01'), (9, '290000-01-01 (BC) 00:00:00+00')"
        )
    rows = contents(path, n=Type.INTEGER, m=Type.TIMESTAMP)
    assert {row["n"]: row["m"] for row in rows if row["m"] is not None} == {
        5: datetime(9999, 12, 31, 23, 59, 59, 999999),
        7: datetime(1, 1, 1),
    }


def test_narrow_and_extreme_arrow_values_are_read():
    table = pa.table(
        {
            "a": pa.array([255], type=pa.uint8()),
            "b": pa.array([2**64 - 1], type=pa.uint64()),
            "c": pa.array([Decimal("1.5")], type=pa.decimal128(10, 2)),
            "d": pa.array([-(2**31)], type=pa.int32()).cast(pa.date32()),
            "e": pa.array([2**63 - 1], type=pa.int64()).cast(pa.timestamp("s")),
            "f": pa.array([-(2**63)], type=pa.int64()).cast(pa.timestamp("us")),
            "g": pa.array(["x"]).dictionary_encode(),
            "h": pa.array([1.5], type=pa.float32()),
        }
    )
    named = {name: kind for name, kind in columns(table).items() if kind is not None}
    assert len(named) == 8
    expected = {"a": 255, "b": None, "c": 1.5, "d": None, "e": None, "f": None, "g": "x", "h": 1.5}
    assert contents(table, **named) == [expected]


def test_python_objects_are_text_or_null():
    frame = pd.DataFrame(
        {"t": pd.Series(["a", 1, None, b"x", "\ud800", date(2024, 1, 1)], dtype=object)}
    )
    assert columns(frame) == {"t": Type.TEXT}
    assert [row["t"] for row in contents(frame, t=Type.TEXT)] == ["a", *[None] * 5]


def test_no_line_of_a_csv_file_can_disturb(tmp_path):
    path = tmp_path / "odd.csv"
    path.write_bytes(
        b'\xef\xbb\xbfa,b\r\n1,x\r\n2\r\n3,y,z\r\n5,"two\nlines"\r\n6,"say ""hi"""\r\n'
        b"twelve,\r\n8,a\0b\r\n\r\n9,last"
    )
    rows = contents(path, a=Type.INTEGER, b=Type.TEXT)
    assert [tuple(row.values()) for row in rows] == [
        *((1, "x"), (2, None), (3, "y"), (5, "two\nlines"), (6, 'say "hi"'), (None, None)),
        *((8, "a\0b"), (9, "last")),
    ]


def test_declared_types_are_read_from_text(tmp_path):
    path = tmp_path / "typed.csv"
    path.write_text("i,f,d,m\n12,1e3,2024-02-29,2024-02-29 12:00:00\n1.5,inf,2023-02-29,noon\n")
    rows = contents(path, i=Type.INTEGER, f=Type.FLOAT, d=Type.DATE, m=Type.TIMESTAMP)
    assert [tuple(row.values()) for row in rows] == [
        (12, 1000.0, date(2024, 2, 29), datetime(2024, 2, 29, 12)),
        (None, None, None, None),
    ]


def test_text_is_compared_by_code_points_whatever_a_table_declares(tmp_path):
    path = str(tmp_path / "collated.duckdb")
    with duckdb.connect(path) as made:
        made.execute(
            "CREATE TABLE visits (patient BIGINT, ward VARCHAR COLLATE NOCASE, cost DOUBLE)"
        )
        made.execute("INSERT INTO visits VALUES (1, 'a', 0), (2, 'A', 0), (3, 'a', 0)")
    with DuckDB({"visits": path}, ONE) as engine:
        actual = flat(engine.run(by_ward(), order=ORDER))
    assert (actual["keys"], actual["units"]) == ([["A", "a"]], [1, 2])


@pytest.mark.parametrize(
    "data",
    [
        {"a": [1]},
        [{"a": 1}],
        7,
        "nowhere.parquet",
        "nowhere-*.csv",
        "nowhere.duckdb",
        "notes.txt",
        pa.table({"a": [[1]]}),
        pa.table([[1], [2]], names=["a", "a"]),
        pa.table([[1], [2]], names=["a", "A"]),
        pa.table({"a": [1]}).to_reader(),
        pl.Series("a", [1]),
        pl.LazyFrame({"a": ["x"]}).select(pl.col("a").cast(pl.Int64)),
        pd.DataFrame({1: [1]}),
        pd.DataFrame([[1, 2]], columns=["a", "a"]),
    ],
    ids=range(15),
)
def test_what_is_no_table_is_refused(data):
    with pytest.raises(UnreadableSource) as caught:
        DuckDB({"t": data})
    assert caught.value.__context__ is None


def test_a_reader_is_refused_because_a_second_look_would_find_it_empty():
    reader = ROWS.to_reader()
    with pytest.raises(UnreadableSource, match=r"read only once(.|\n)*read_all"):
        DuckDB({"t": reader})
    assert reader.read_all().num_rows == 400


def test_damaged_files_views_and_differing_files_are_refused(folder, tmp_path):
    (tmp_path / "torn.parquet").write_bytes((folder / "visits.parquet").read_bytes()[:-100])
    (tmp_path / "torn.duckdb").write_bytes(b"not a database at all")
    (tmp_path / "empty.csv").write_bytes(b"")
    (tmp_path / "twice.csv").write_text("a,A\n1,2\n")
    (tmp_path / "a1.csv").write_text("a,b\n1,2\n")
    (tmp_path / "a2.csv").write_text("b,c\n1,2\n")
    pq.write_table(pa.table({"a": [1]}), tmp_path / "p1.parquet")
    pq.write_table(pa.table({"a": ["x"]}), tmp_path / "p2.parquet")
    seen = Database(path=str(folder / "clinic.duckdb"), table="seen")
    names = ["torn.parquet", "torn.duckdb", "empty.csv", "twice.csv", "a*.csv", "p*.parquet"]
    for data in [*(str(tmp_path / name) for name in names), seen]:
        with pytest.raises(UnreadableSource) as caught:
            DuckDB({"visits": data})
        assert caught.value.__context__ is None


def test_tables_that_differ_in_the_case_of_letters_alone_are_refused():
    with pytest.raises(UnreadableSource):
        DuckDB({"visits": ROWS, "Visits": ROWS})


def test_text_that_is_not_unicode_is_refused_at_the_door():
    broken = pa.Array.from_buffers(
        pa.string(), 1, [None, pa.py_buffer(b"\0\0\0\0\2\0\0\0"), pa.py_buffer(b"\xff\xfe")]
    )
    with pytest.raises(UnreadableSource):
        DuckDB({"t": pa.table({"a": broken})})


@pytest.mark.parametrize(
    "statement",
    [
        "FROM read_csv('/etc/passwd')",
        "FROM '/etc/passwd'",
        "COPY (SELECT 1) TO '/tmp/out.csv'",
        "ATTACH '/tmp/other.duckdb' AS other",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SET enable_external_access = true",
        "SET threads = 1",
        "FROM frame_in_python",
    ],
)
def test_the_connection_can_read_its_sources_and_nothing_else(folder, statement):
    frame_in_python = ROWS  # noqa: F841 (what a replacement scan would find)
    with DuckDB({"visits": folder / "visits.parquet"}, ONE) as engine:
        engine.run(by_ward(), order=ORDER)
        with pytest.raises(duckdb.Error):
            engine._connection._connection.execute(statement).fetchall()


def test_a_database_is_opened_for_reading_only(folder):
    with DuckDB({"visits": folder / "clinic.duckdb"}, ONE) as engine, pytest.raises(duckdb.Error):
        engine._connection._connection.execute(
            'INSERT INTO "source 0".main.visits VALUES (1, 1, 1)'
        )
