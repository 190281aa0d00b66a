"""Plain columns: what Arrow reads without a statement is what a scan of DuckDB reads."""

import math
from dataclasses import replace
from datetime import date, datetime
from decimal import Decimal
from unittest.mock import patch

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.engines.connection import Connection
from discreet.engines.duckdb import DuckDB
from discreet.engines.hash_order import HashOrder
from discreet.engines.sources import plain_columns
from discreet.errors import SourceChanged
from discreet.query.expressions import Call, Column, Literal
from discreet.query.relations import Filter, Scan
from discreet.query.types import Type
from discreet.requests.engine_request import EngineRequest, KeyColumn, Total
from discreet.requests.raw_totals import ARROW_TYPES
from discreet.requests.table_schema import ColumnFacts, Schema, TableFacts
from tests.engines.edges import EDGES

FLOATS = EDGES[Type.FLOAT]
TEXTS = EDGES[Type.TEXT]
PLAIN = {
    "int8": (pa.array([None, 0, -128, 127], pa.int8()), Type.INTEGER),
    "int16": (pa.array([None, 0, -(2**15), 2**15 - 1], pa.int16()), Type.INTEGER),
    "int32": (pa.array([None, 0, -(2**31), 2**31 - 1], pa.int32()), Type.INTEGER),
    "int64": (pa.array(EDGES[Type.INTEGER], pa.int64()), Type.INTEGER),
    "float": (
        pa.array([None, -0.0, 0.0, 0.1, math.nan, math.inf, -math.inf, 3e38, 1e-45], pa.float32()),
        Type.FLOAT,
    ),
    "double": (pa.array(FLOATS, pa.float64()), Type.FLOAT),
    "bool": (pa.array([None, True, False]), Type.BOOLEAN),
    "text": (pa.array(TEXTS, pa.string()), Type.TEXT),
    "large text": (pa.array(TEXTS, pa.large_string()), Type.TEXT),
    "nothing": (pa.array([], pa.int64()), Type.INTEGER),
    "NULL": (pa.array([None, None], pa.float64()), Type.FLOAT),
}
NOT_PLAIN = {
    "uint64": (pa.array([2**64 - 1], pa.uint64()), Type.INTEGER),
    "uint8": (pa.array([255], pa.uint8()), Type.INTEGER),
    "decimal": (pa.array([Decimal("1.50")], pa.decimal128(9, 2)), Type.FLOAT),
    "date": (pa.array([date(2024, 2, 29)]), Type.DATE),
    "moment": (pa.array([datetime(2024, 2, 29)], pa.timestamp("us")), Type.TIMESTAMP),  # noqa: DTZ001
    "wider": (pa.array([7], pa.int64()), Type.FLOAT),
}
FILES = {
    "dictionary": {},
    "bare": {"use_dictionary": False, "compression": "none", "store_schema": False},
    "groups": {"row_group_size": 2, "data_page_version": "2.0", "compression": "zstd"},
    "old": {"version": "1.0", "write_statistics": False},
}


def columns_of(data, kind, name="x"):
    """Read a column without a statement, and by one."""
    scan = Scan("t", ((name, kind),))
    with DuckDB({"t": data}) as engine:
        connection = engine._connection
        plain = connection.plain(scan, [name])
        return plain, connection.fetch(connection.open_scan(scan)).column(name)


def exact(column):
    """Return values that differ where anything does: zeros have signs."""
    return [repr(value) for value in column.to_pylist()]


@pytest.mark.parametrize("case", PLAIN)
@pytest.mark.parametrize("form", ["frame", *FILES])
def test_both_read_the_same_values(tmp_path, case, form):
    values, kind = PLAIN[case]
    data = table = pa.table({"x": values})
    if form != "frame":
        data = tmp_path / "t.parquet"
        pq.write_table(table, data, **FILES[form])
    (plain,), stated = columns_of(data, kind)
    assert plain.type == stated.type == ARROW_TYPES[kind]
    assert exact(plain) == exact(stated)


@pytest.mark.parametrize("case", NOT_PLAIN)
@pytest.mark.parametrize("form", ["frame", "dictionary"])
def test_other_types_are_left_to_statements(tmp_path, case, form):
    values, kind = NOT_PLAIN[case]
    data = pa.table({"x": values})
    if form != "frame":
        pq.write_table(data, tmp_path / "t.parquet")
        data = tmp_path / "t.parquet"
    plain, stated = columns_of(data, kind)
    assert plain is None
    assert len(stated) == len(values)


def test_categories_in_a_file_are_left_to_statements(tmp_path):
    """Arrow reads them as numbers of values."""
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"x": pa.array(["a", None, "a"]).dictionary_encode()}), path)
    plain, stated = columns_of(path, Type.TEXT)
    assert plain is None
    assert stated.to_pylist() == ["a", None, "a"]


def test_texts_that_are_declared_to_be_uuids_are_left_to_statements():
    written = "F81D4FAE-7DEC-11D0-A765-00A0C91E6BF6"
    scan = Scan("t", (("x", Type.TEXT),))
    facts = TableFacts(name="t", columns=(ColumnFacts(name="x", type=Type.TEXT, form="uuid"),))
    with DuckDB({"t": pa.table({"x": [written]})}) as engine:
        assert engine._connection.plain(scan, ["x"])[0].to_pylist() == [written]
        engine.learn_schema(Schema((facts,)))
        assert engine._connection.plain(scan, ["x"]) is None


def test_names_are_those_of_whole_columns(tmp_path):
    """Arrow takes a.b for a part of a, too."""
    path = tmp_path / "t.parquet"
    part = pa.array([{"b": 1}], pa.struct([("b", pa.int64())]))
    pq.write_table(pa.table({"a": part, "a.b": pa.array([7], pa.int64())}), path)
    plain, stated = columns_of(path, Type.INTEGER, "a.b")
    assert plain is None
    assert stated.to_pylist() == [7]
    pq.write_table(pa.table({"A.b": pa.array([7], pa.int64())}), path)
    plain, _ = columns_of(path, Type.INTEGER, "a.B")
    assert plain[0].to_pylist() == [7]


PEOPLE = Scan("t", (("who", Type.INTEGER), ("x", Type.FLOAT)))
COUNTS = EngineRequest(
    relation=PEOPLE,
    unit=(Column("who"),),
    keys=(KeyColumn("x", Column("x"), Type.FLOAT),),
    groups=1,
    measures=(Total(name="rows", row=Literal(1), low=0, high=1),),
    in_parts=True,
)


def people(path, who, **options):
    """Write a table of people, each with a number of their own."""
    numbers = [float(place) for place in range(len(who))]
    pq.write_table(pa.table({"who": pa.array(who, pa.int64()), "x": numbers}), path, **options)
    return path


@pytest.mark.parametrize("case", PLAIN)
@pytest.mark.parametrize("form", ["frame", "dictionary"])
def test_a_second_row_changes_no_value_of_others(tmp_path, case, form):
    """Rows that are bounded by a statement have the values of rows that are read as they are."""
    values, kind = PLAIN[case]
    scan = Scan("t", (("who", Type.INTEGER), ("x", kind)))
    request = replace(COUNTS, relation=scan, keys=(KeyColumn("x", Column("x"), kind),))
    found = []
    for twice in (False, True):
        who = [*range(len(values)), 10**6, 10**6 + 1 - twice]
        cells = pa.concat_arrays([values, pa.nulls(2, values.type)])
        data = table = pa.table({"who": pa.array(who, pa.int64()), "x": cells})
        if form != "frame":
            data = tmp_path / f"{twice}.parquet"
            pq.write_table(table, data)
        with DuckDB({"t": data}) as engine:
            raw = engine.run(request, order=HashOrder(salt=5))
        found.append(sorted(exact(raw.keys[0])))
    single, bounded = found
    assert single == sorted([*bounded, "None"])


def counted(data, request=COUNTS):
    """Return the numbers of all rows that count, and how many statements were run."""
    with (
        DuckDB({"t": data}) as engine,
        patch.object(Connection, "fetch", autospec=True, side_effect=Connection.fetch) as fetched,
    ):
        raw = engine.run(request, order=HashOrder(salt=5))
    assert raw.totals["rows"].tolist() == [1] * len(raw.units)
    return sorted(raw.keys[0].to_pylist()), fetched.call_count


def test_small_files_need_no_statement(tmp_path):
    path = people(tmp_path / "t.parquet", [5, 7, None, 9])
    assert counted(path) == ([0.0, 1.0, 3.0], 0)
    nobody = replace(COUNTS, unit=(), groups=None)
    assert counted(path, nobody) == ([0.0, 1.0, 2.0, 3.0], 0)


def test_one_person_with_a_second_row_counts_once(tmp_path):
    """Planted in a file that Arrow reads: the rows themselves say whose they are."""
    found, statements = counted(people(tmp_path / "t.parquet", [5, 7, 9, 7], row_group_size=2))
    assert len(found) == 3
    assert statements


@pytest.mark.theorem("single-rows")
@pytest.mark.parametrize("many", [0, 2**16], ids=["by a threshold", "by a statement"])
@pytest.mark.parametrize("form", ["file", "frame"])
def test_a_second_row_does_not_decide_who_reads_the_others(tmp_path, many, form):
    """Even if Arrow and DuckDB read all values otherwise, one unit more moves only itself."""
    paths = [
        people(tmp_path / f"{place}.parquet", who)
        for place, who in enumerate(([5, 7], [5, 7, 9], [5, 7, 9, 9]))
    ]
    tables = paths if form == "file" else [pq.read_table(path) for path in paths]
    own = Connection.plain

    def misread(connection, scan, columns):
        who, x = own(connection, scan, columns)
        return [who, pa.chunked_array([[1000.0 + each for each in x.to_pylist()]])]

    there = Filter(PEOPLE, Call("NOT", (Call("IS NULL", (Column("x"),)),)))
    for request in (COUNTS, replace(COUNTS, relation=there)):
        for table in tables:
            with (
                patch("discreet.engines.duckdb.MANY", many),
                patch.object(Connection, "plain", misread),
                DuckDB({"t": table}) as engine,
            ):
                for _ in range(2):  # what is remembered of the first run makes no difference
                    raw = engine.run(request, order=HashOrder(salt=5))
                    assert {1000.0, 1001.0} <= set(raw.keys[0].to_pylist())
                    assert min(raw.keys[0].to_pylist()) == 1000.0


@pytest.mark.parametrize("reason", ["two files", "large", "fails", "other names"])
def test_what_arrow_does_not_read_is_read_by_a_statement(tmp_path, reason):
    path = people(tmp_path / "t.parquet", [5, 7, 9])
    if reason == "two files":
        people(tmp_path / "u.parquet", [None])
        path = tmp_path / "*.parquet"
    broken = {
        "two files": patch.object(plain_columns, "MOST", 2**18),
        "large": patch.object(plain_columns, "MOST", 2),
        "fails": patch.object(pq.ParquetFile, "read", side_effect=pa.ArrowInvalid("of a page")),
        "other names": patch.object(pq.ParquetFile, "read", return_value=pa.table({"x": [1.0]})),
    }
    with broken[reason]:
        assert counted(path) == ([0.0, 1.0, 2.0], 1)


def test_a_file_that_changed_is_refused(tmp_path):
    path = people(tmp_path / "t.parquet", [5, 7, 9])
    with DuckDB({"t": path}) as engine:
        people(path, [5, 5, 5])
        with pytest.raises(SourceChanged):
            engine.run(COUNTS, order=HashOrder(salt=5))
