"""A poisoned byte of a file is refused when the file is opened, or makes no question fail."""

import subprocess
import sys
import time

import duckdb
import pytest

from discreet.engines.duckdb import DuckDB
from discreet.errors import UnreadableSource
from tests.engines.reading.poisoned_bytes import FORMATS, ONE, ORDER, parquet, questions


def opened(kind, seed, files):
    """Return how many of some poisoned files were opened, and no question about them failed."""
    command = [sys.executable, "-m", "tests.engines.reading.poisoned_bytes", kind]
    told = subprocess.run(
        [*command, str(seed), str(files)], capture_output=True, text=True, check=False
    )
    assert told.returncode == 0, told.stderr[-2000:]
    return int(told.stdout)


@pytest.mark.parametrize("kind", FORMATS)
def test_a_poisoned_byte_is_refused_or_harmless(kind):
    assert opened(kind, 1, 12) < 12


@pytest.mark.parametrize(
    ("written", "column", "near", "flip"),
    [
        ("filtered.parquet", "bloom_filter_offset", range(20), 30),
        ("snappy False 2.0.parquet", "data_page_offset", range(40, 60), 2),
    ],
)
def test_what_lies_beside_the_cells_makes_no_question_fail(tmp_path, written, column, near, flip):
    path = {path.name: path for path, _ in parquet(tmp_path)}[written]
    whole = path.read_bytes()
    place_of = f"SELECT max({column}) FROM parquet_metadata('{path}')"  # noqa: S608
    rows = duckdb.sql(f"{place_of} WHERE path_in_schema IN ('ward', 'cost')").fetchall()
    read_whole = 0
    for place in (rows[0][0] + each for each in near):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ flip]) + whole[place + 1 :])
        try:
            engine = DuckDB({"visits": str(path)}, ONE)
        except UnreadableSource:
            continue
        with engine:
            for each in questions():
                engine.run(each, order=ORDER)
            read_whole += not engine._connection._unpruned
    assert read_whole > 0


@pytest.mark.slow
def test_thousands_of_poisoned_bytes():
    began, files = time.monotonic(), 0
    for kind in FORMATS:
        for seed in range(10):
            opened(kind, 100 + seed, 200)
            files += 200
    print(f"{files:,} files in {time.monotonic() - began:.0f} s")  # noqa: T201
