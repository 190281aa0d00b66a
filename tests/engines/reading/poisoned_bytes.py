"""A program: open files of one format with one poisoned byte each, and ask about those that open.

A file is refused when it is opened, or no question about it fails.  The files of a database have
checksums, so there every answer must be the one without poison.
Run as ``python -m tests.engines.reading.poisoned_bytes FORMAT SEED FILES``, in a process of its
own, because a reader of damaged files may end its process.
"""

import itertools
import random
import sys
import tempfile
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.ipc
import pyarrow.parquet as pq

from discreet.engines.duckdb import DuckDB
from discreet.engines.engine import HashOrder, Performance
from discreet.engines.sources.files import Database
from discreet.errors import UnreadableSource
from discreet.query.expressions import Call, Column, Literal
from discreet.query.relations import Filter
from discreet.requests.engine_request import EngineRequest, Total
from tests.engines.answers import flat
from tests.engines.visits import TYPES, VISITS, by_ward, visits

ONE = Performance(threads=1)
ORDER = HashOrder(salt=3)
TABLE = visits(60).append_column("hidden", pa.array([[1]] * 60))


def questions():
    """Yield questions about all rows, some columns, and few rows."""
    count = (Total(name="n", row=Literal(1), low=0, high=1),)
    for where in (
        None,
        Call("=", (Column("ward"), Literal("ward 3"))),
        Call("=", (Column("patient"), Literal(5))),
        Call(">", (Column("cost"), Literal(50))),
        Call("<", (Column("patient"), Literal(20))),
    ):
        relation = VISITS if where is None else Filter(VISITS, where)
        yield EngineRequest(relation=relation, unit=(), keys=(), groups=None, measures=count)
    yield by_ward()


def parquet(folder):
    """Return a file for each of several ways to write one, and how to open it."""
    ways = itertools.product(["none", "snappy", "zstd"], [True, False], ["1.0", "2.0"])
    for compression, dictionary, version in ways:
        path = folder / f"{compression} {dictionary} {version}.parquet"
        pq.write_table(
            TABLE,
            path,
            compression=compression,
            use_dictionary=dictionary,
            data_page_version=version,
            row_group_size=25,
            write_page_index=dictionary,
        )
        yield path, str
    path = folder / "filtered.parquet"
    with duckdb.connect() as made:
        made.register("visits", TABLE)
        made.execute(
            f"COPY visits TO '{path}' (FORMAT parquet, ROW_GROUP_SIZE 25, PARQUET_VERSION v2)"
        )
    yield path, str


def arrow(folder):
    """Return a file of batches."""
    table = TABLE.drop_columns(["hidden"])
    with pa.ipc.new_file(folder / "visits.arrow", table.schema) as writer:
        writer.write_table(table, max_chunksize=25)
    yield folder / "visits.arrow", lambda path: ds.dataset(path, format="ipc")


def database(folder):
    """Return a database."""
    path = folder / "visits.duckdb"
    with duckdb.connect(path, config={"default_block_size": 16384}) as made:
        made.register("rows", TABLE)
        made.execute("CREATE TABLE visits AS FROM rows")
    yield path, lambda path: Database(path=str(path), table="visits")


FORMATS = {"parquet": parquet, "arrow": arrow, "duckdb": database}


def answers(source):
    """Return all answers, or None if the source is refused; anything else is an error."""
    try:
        engine = DuckDB({"visits": source}, ONE)
    except UnreadableSource:
        return None
    with engine:
        if any(engine.tables()["visits"].get(name) is not kind for name, kind in TYPES.items()):
            return None  # not the table that the policy is about: the session refuses it
        return [flat(engine.run(question, order=ORDER)) for question in questions()]


def tried(kind, seed, files, folder):
    """Poison one byte after another; return how many files were opened."""
    rng, opened = random.Random(seed), 0  # noqa: S311
    made = [(path, source, path.read_bytes()) for path, source in FORMATS[kind](folder)]
    expected = answers(made[0][1](made[0][0]))
    assert expected is not None
    for _ in range(files):
        path, source, whole = rng.choice(made)
        place = rng.randrange(len(whole))
        poison = rng.choice([rng.randrange(256), whole[place] ^ (1 << rng.randrange(8))])
        path.write_bytes(whole[:place] + bytes([poison]) + whole[place + 1 :])
        print(path.name, place, poison, flush=True, file=sys.stderr)  # noqa: T201
        try:
            found = answers(source(path))
        except (OSError, ValueError, pa.ArrowException):  # before the file reaches us
            if kind != "arrow":
                raise
            found = None
        if found is not None:
            opened += 1
            same = found == expected
            assert same or kind != "duckdb", "another answer than without poison"
    return opened


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        print(tried(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), Path(name)))  # noqa: T201
