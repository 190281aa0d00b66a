"""No cell makes reading fail, or moves another: it is read as it is, NULL, or refused at once."""

import struct
import time

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.ipc
import pyarrow.parquet as pq
import pytest

from discreet.engines.duckdb import DuckDB
from discreet.engines.duckdb_dialect import DUCKDB
from discreet.engines.engine import Performance
from discreet.engines.sources.files import Database
from discreet.errors import UnreadableSource
from discreet.query.relations import Scan
from tests.engines.reading.cells import EXTREMES, NOT_UTF8, poisoned, with_bytes, with_one_cell

printed = DUCKDB.printed

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
    return Database(path=str(path), table="t")


FORMATS = {
    each.__name__: each
    for each in (in_arrow, in_batches, in_polars, in_parquet, in_plain_parquet, in_a_database)
}
NARROW = {"in_parquet", "in_plain_parquet", "in_polars"}
"""Formats that do not have moments in seconds, or refuse those that milliseconds cannot hold."""


def checked(kind, folder, *poisons):
    """Read tables from a format, compare all cells with what they are, and return their number."""
    sources = {}
    for index, (table, _, _) in enumerate(poisons):
        (folder / str(index)).mkdir(exist_ok=True)
        sources[f"t{index}"] = FORMATS[kind](table, folder / str(index))
    with DuckDB(sources, ONE) as engine:
        inner = engine._connection
        for index, (_, types, expected) in enumerate(poisons):
            scan = printed(inner.scan(Scan(f"t{index}", tuple(types.items()))))
            rows = inner.fetch(f'{scan} ORDER BY "row"')
            for name in types:
                assert rows.column(name).combine_chunks().equals(expected[name]), name
    return sum(table.num_rows * table.num_columns for table, _, _ in poisons)


def alone(rng, *, fits):
    """Return tables with one poisoned cell each, one for every column."""
    columns = poisoned(rng, 1, fits=fits)[0].num_columns
    return [with_one_cell(rng, 10, column, fits=fits) for column in range(1, columns)]


@pytest.mark.parametrize("kind", FORMATS)
def test_every_cell_is_what_it_is_or_missing(kind, tmp_path):
    checked(kind, tmp_path, poisoned(np.random.default_rng(1), 2000, fits=kind in NARROW))


@pytest.mark.parametrize("kind", ["in_parquet", "in_a_database"])
def test_one_cell_among_others(kind, tmp_path):
    """What the engine knows of a column without reading it does not hide its one odd cell."""
    for seed in range(3):
        checked(kind, tmp_path, *alone(np.random.default_rng(seed), fits=kind in NARROW))


@pytest.mark.slow
def test_a_million_poisoned_cells(tmp_path):
    cells = single = 0
    began = time.monotonic()
    for seed in range(9):
        for kind in FORMATS:
            rng = np.random.default_rng(seed)
            cells += checked(kind, tmp_path, poisoned(rng, 2000, fits=kind in NARROW))
    for seed in range(120):
        for kind in ("in_parquet", "in_a_database"):
            tables = alone(np.random.default_rng(seed), fits=kind in NARROW)
            checked(kind, tmp_path, *tables)
            single += len(tables)
    print(f"{cells:,} cells, and {single:,} alone, in {time.monotonic() - began:.0f} s")  # noqa: T201
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


def with_checksum(block):
    """Return a block of a database with the checksum that belongs to it."""
    words = np.frombuffer(block[8:], np.uint64) * np.uint64(0xBF58476D1CE4E5B9)
    return struct.pack("<Q", int(np.bitwise_xor.reduce(words)) ^ 5381) + block[8:]


def test_a_text_of_a_database_that_is_not_unicode_is_refused_at_once(tmp_path):
    """Somebody else wrote the file: its checksums are right, and its text is none."""
    path, size = tmp_path / "t.duckdb", 16384
    with duckdb.connect(path, config={"default_block_size": size}) as made:
        made.execute("PRAGMA force_compression = 'uncompressed'")
        made.execute(
            "CREATE TABLE t AS SELECT 'a text of some length ' || range AS s FROM range(9)"
        )
    whole = path.read_bytes()
    place = whole.index(b"length 7")
    start = place - (place - 3 * 4096) % size
    block = whole[start : start + size]
    assert with_checksum(block) == block
    poison = with_checksum(block.replace(b"length 7", b"length \xff"))
    source = Database(path=str(path), table="t")
    DuckDB({"t": source}, ONE).close()
    path.write_bytes(whole[:start] + poison + whole[start + size :])
    with pytest.raises(UnreadableSource, match="cells in s that") as caught:
        DuckDB({"t": source}, ONE)
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
            rows = inner.fetch(printed(inner.scan(Scan("t", (("m", engine.tables()["t"]["m"]),)))))
            assert rows.num_rows == 100
            assert rows.column("m").to_pylist()[:99] == [moments[0].as_py()] * 99
    assert refused >= 5


def test_an_index_that_points_nowhere_is_refused():
    for index in (2, -1, 127):
        texts = pa.DictionaryArray.from_arrays(
            pa.array([0, index, 1], pa.int8()), pa.array(["a", "b"]), safe=False
        )
        with pytest.raises(UnreadableSource):
            DuckDB({"t": pa.table({"a": texts})}, ONE)
