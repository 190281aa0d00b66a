"""No cell makes reading fail, or moves another: it is read as it is, is NULL, or refused at once."""

import time

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.ipc
import pyarrow.parquet as pq
import pytest

from discreet.engines.connection import Performance
from discreet.engines.duckdb import DuckDB
from discreet.errors import UnreadableSource
from discreet.query.relations import Scan
from tests.engines.reading.cells import EXTREMES, NOT_UTF8, poisoned, with_bytes, with_one_cell

ONE = Performance(threads=1)


def in_arrow(table, _folder):
    return table


def in_batches(table, folder):
    with pa.ipc.new_file(folder / "t.arrow", table.schema) as writer:
        writer.write_table(table, max_chunksize=97)
    return ds.dataset(folder / "t.arrow", format="ipc")


def in_polars(table, _folder):
    return pl.from_arrow(table)


def in_parquet(table, folder):
    pq.write_table(table, folder / "t.parquet", row_group_size=1 + len(table) // 3)
    return folder / "t.parquet"


def in_plain_parquet(table, folder):
    options = {"use_dictionary": False, "compression": None, "data_page_version": "2.0"}
    pq.write_table(table, folder / "t.parquet", **options)
    return folder / "t.parquet"


def in_a_database(table, folder):
    path = folder / "t.duckdb"
    path.unlink(missing_ok=True)
    with duckdb.connect(path) as made:
        made.register("rows", table)
        made.execute("CREATE TABLE t AS FROM rows")
    return path


FORMATS = {
    each.__name__: each
    for each in (in_arrow, in_batches, in_polars, in_parquet, in_plain_parquet, in_a_database)
}
NARROW = {"in_parquet", "in_plain_parquet", "in_polars"}
"""Formats that do not have moments in seconds, or refuse those that milliseconds cannot hold."""


def checked(poison, kind, folder):
    """Read a table from a format, compare all cells with what they are, and return their number."""
    table, types, expected = poison
    with DuckDB({"t": FORMATS[kind](table, folder)}, ONE) as engine:
        inner = engine._connection
        found = inner.fetched(inner.scan(Scan("t", tuple(types.items()))) + ' ORDER BY "row"')
    for name in types:
        assert found.column(name).combine_chunks().equals(expected[name]), name
    return table.num_rows * table.num_columns


@pytest.mark.parametrize("kind", FORMATS)
def test_every_cell_is_what_it_is_or_missing(kind, tmp_path):
    poison = poisoned(np.random.default_rng(1), 2000, fits=kind in NARROW)
    checked(poison, kind, tmp_path)


@pytest.mark.parametrize("kind", ["in_parquet", "in_a_database"])
def test_one_cell_among_others(kind, tmp_path):
    """What the engine knows of a column without reading it does not hide its one odd cell."""
    rng, fits = np.random.default_rng(2), kind in NARROW
    columns = poisoned(rng, 1, fits=fits)[0].num_columns
    for _ in range(4):
        for column in range(1, columns):
            checked(with_one_cell(rng, 10, column, fits=fits), kind, tmp_path)


@pytest.mark.slow
def test_a_million_poisoned_cells(tmp_path):
    cells, began = 0, time.monotonic()
    for seed in range(9):
        for kind in FORMATS:
            rng, fits = np.random.default_rng(seed), kind in NARROW
            cells += checked(poisoned(rng, 2000, fits=fits), kind, tmp_path)
    single = 0
    for seed in range(2000):
        kind = ("in_parquet", "in_a_database")[seed % 2]
        rng, fits = np.random.default_rng(seed), kind in NARROW
        column = 1 + seed // 2 % 16
        checked(with_one_cell(rng, 10, column, fits=fits), kind, tmp_path)
        single += 1
    print(f"{cells:,} cells, and {single:,} alone, in {time.monotonic() - began:.0f} s")
    assert cells > 10**6


@pytest.mark.parametrize("place", [0, 61, 199])
@pytest.mark.parametrize("kind", ["in_arrow", "in_batches", "in_parquet", "in_plain_parquet"])
def test_texts_that_are_not_unicode_are_refused_at_once(kind, place, tmp_path):
    for bad in NOT_UTF8:
        texts = [b"text"] * place + [bad] + [b"text"] * (199 - place)
        table = pa.table({"a": range(200), "s": with_bytes(texts)})
        with pytest.raises(UnreadableSource) as caught:
            DuckDB({"t": FORMATS[kind](table, tmp_path)}, ONE)
        assert caught.value.__context__ is None


@pytest.mark.parametrize("dictionary", [True, False])
def test_moments_beyond_the_reader_of_parquet_are_refused_at_once(tmp_path, dictionary):
    """The file is readable or refused; there is no moment that fails later."""
    refused = 0
    for value in (*EXTREMES, 2**53, 9223372036854775, 9223372036854776, -9223372036854776):
        moments = pa.array([0] * 99 + [value], pa.int64()).view(pa.timestamp("ms"))
        path = tmp_path / "t.parquet"
        pq.write_table(pa.table({"m": moments}), path, use_dictionary=dictionary)
        try:
            engine = DuckDB({"t": path}, ONE)
        except UnreadableSource:
            refused += 1
            continue
        with engine:
            inner = engine._connection
            found = inner.fetched(inner.scan(Scan("t", (("m", engine.tables()["t"]["m"]),))))
            assert found.num_rows == 100
            assert found.column("m").to_pylist()[:99] == [moments[0].as_py()] * 99
    assert refused >= 5


def test_an_index_that_points_nowhere_is_refused():
    for index in (2, -1, 127):
        texts = pa.DictionaryArray.from_arrays(
            pa.array([0, index, 1], pa.int8()), pa.array(["a", "b"]), safe=False
        )
        with pytest.raises(UnreadableSource):
            DuckDB({"t": pa.table({"a": texts})}, ONE)
