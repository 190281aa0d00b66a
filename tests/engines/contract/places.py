"""Where questions are answered: each engine with its tables filled anew for every case."""

import atexit
import itertools
from collections import OrderedDict
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import ClassVar
from unittest import mock

import duckdb
import pyarrow as pa

from discreet.engines.dispatch import engine_for
from discreet.engines.duckdb import Connection
from discreet.engines.postgres.engine import Postgres
from discreet.engines.sources.files import Database
from discreet.query.types import Type
from tests.engines.answers import flat
from tests.engines.contract.cases import SECRET
from tests.engines.edges import arrow_table
from tests.engines.postgres.rows import connect, fill, make, storable
from tests.reference.engine import Reference

NUMBERS = itertools.count()
NOON = datetime(2024, 2, 29, 12, tzinfo=UTC)
ZONED = pa.table({"u": pa.array([1]), "m": pa.array([NOON], type=pa.timestamp("us", "UTC"))})


class Place:
    """An engine that is opened for every case; ``opened`` says how."""

    def sources(self, asked):
        """Return what is opened for a case, by the names of its tables."""
        raise NotImplementedError

    def opened(self, asked):
        """Open an engine with the tables of a case."""
        return engine_for(self.sources(asked))

    @contextmanager
    def broken(self, asked):
        """Open an engine with the tables of a case, all of which fail once they are read."""
        raise NotImplementedError

    def taken(self, asked):
        """Return a case with rows that can be stored here."""
        return asked

    def answer(self, asked, order):
        """Return all numbers and keys of an answer, as plain values."""
        engine = self.opened(asked)
        try:
            engine.learn_schema(asked.schema)
            engine.check(asked.request)
            return flat(engine.run(asked.request, order=order))
        finally:
            engine.close()


class ReferencePlace(Place):
    """The plain reference."""

    engine = "reference"

    def sources(self, asked):
        """Take the rows as they are, which is nothing that a session opens."""
        return asked.rows

    def opened(self, asked):
        """Take the rows as they are."""
        return Reference(asked.rows, asked.types)

    def view(self, asked, folder):
        """There is nothing but rows."""
        return asked.rows

    def stream(self, asked):
        """There is nothing but rows."""
        return {name: iter(rows) for name, rows in asked.rows.items()}

    def zoned(self):
        """There is nothing but rows."""
        return {"moments": ZONED.to_pylist()}


class DuckDBPlace(Place):
    """DuckDB in this process."""

    engine = "DuckDB"

    def sources(self, asked):
        """Take the rows as Arrow tables."""
        return arrow_tables(asked)

    @contextmanager
    def broken(self, asked):
        """Let all statements fail with a value, after the tables were opened."""
        with self.opened(asked) as engine:
            engine.learn_schema(asked.schema)
            with failing_statements():
                yield engine

    def view(self, asked, folder):
        """Take views of a database."""
        path = str(folder / "views.duckdb")
        with duckdb.connect(path) as connection:
            for name, table in arrow_tables(asked).items():
                connection.register("arrow", table)
                connection.execute(f"CREATE TABLE held_{name} AS FROM arrow")
                connection.execute(f"CREATE VIEW {name} AS FROM held_{name}")
        return {name: Database(path=path, table=name) for name in asked.types}

    def stream(self, asked):
        """Take readers of Arrow tables, which can be read once."""
        return {name: table.to_reader() for name, table in arrow_tables(asked).items()}

    def zoned(self):
        """Take an Arrow table."""
        return {"moments": ZONED}


class KeptDuckDBPlace(DuckDBPlace):
    """DuckDB in this process, opened once for all questions about the same tables, as sessions do.

    To open one takes longer than most questions; the last few of them stay open.
    """

    MOST = 16
    _kept: ClassVar[OrderedDict[str, object]] = OrderedDict()

    def answer(self, asked, order):
        """Return all numbers and keys of an answer, as plain values."""
        key = repr((asked.rows, asked.types, asked.schema))
        engine = self._kept.pop(key, None)
        if engine is None:
            engine = self.opened(asked)
            engine.learn_schema(asked.schema)
        self._kept[key] = engine
        if len(self._kept) > self.MOST:
            self._kept.popitem(last=False)[1].close()
        engine.check(asked.request)
        return flat(engine.run(asked.request, order=order))

    @classmethod
    def close(cls):
        """Close them all."""
        while cls._kept:
            cls._kept.popitem()[1].close()


atexit.register(KeptDuckDBPlace.close)


class SparkPlace(Place):
    """A Spark session, of any kind."""

    engine = "Spark"

    def __init__(self, session):
        self.session = session

    def sources(self, asked):
        """Take the rows as data frames; some tables are Arrow tables now and then."""
        return {
            name: table if name in asked.local else self.frame(table, asked.types[name])
            for name, table in arrow_tables(asked).items()
        }

    def frame(self, table, types):
        """Return a data frame."""
        return self.session.createDataFrame(table, schema=spark_types(types))

    @contextmanager
    def broken(self, asked):
        """Take data frames that quote a value when they are computed."""
        tables = {}
        for name, table in arrow_tables(asked).items():
            frame = self.frame(table, asked.types[name])
            bad = self.session.range(1).selectExpr(f"raise_error('{SECRET}') AS bad")
            tables[name] = frame.crossJoin(bad.filter("bad IS NULL")).drop("bad")
        with engine_for(tables) as engine:
            engine.learn_schema(asked.schema)
            yield engine

    def view(self, asked, folder):
        """Take temporary views of the session."""
        for name, frame in self.sources(asked).items():
            frame.createOrReplaceTempView(name)
        return {name: self.session.table(name) for name in asked.types}

    def stream(self, asked):
        """Take rows that never end."""
        return {"events": self.session.readStream.format("rate").load()}

    def zoned(self):
        """Take moments as Spark has them unless it is told otherwise."""
        frame = self.session.createDataFrame([(1, NOON)], "u BIGINT, m TIMESTAMP")
        return {"moments": frame}


class PostgresPlace(Place):
    """Tables on a server, made anew for every case."""

    engine = "PostgreSQL"

    def __init__(self, server):
        self.server = server
        self._made = {}

    def taken(self, asked):
        """Leave out of texts what the server cannot hold."""
        return replace(asked, rows=storable(asked.rows))

    def sources(self, asked):
        """Fill the tables; the types of a case decide which."""
        key = repr(asked.types)
        if key not in self._made:
            self._made[key] = schema = f"contract{next(NUMBERS)}"
            with connect(self.server) as connection:
                connection.execute(f"CREATE SCHEMA {schema}")
            for table, types in asked.types.items():
                make(self.server, f"{schema}.{table}", types)
        schema = self._made[key]
        names = {table: f"{schema}.{table}" for table in asked.types}
        fill(
            self.server,
            {names[table]: asked.rows[table] for table in names},
            {names[table]: types for table, types in asked.types.items()},
        )
        local = {name: table for name, table in arrow_tables(asked).items() if name in asked.local}
        places = {name: f"{self.server.address()}/{place}" for name, place in names.items()}
        return {**places, **local}

    @contextmanager
    def broken(self, asked):
        """Let all statements about the rows on the server fail with a value."""
        with self.opened(asked) as engine:
            engine.learn_schema(asked.schema)
            with mock.patch.object(Postgres, "fetch", side_effect=RuntimeError(SECRET)):
                yield engine

    def view(self, asked, folder):
        """Take views of tables."""
        found = {}
        for name, address in self.sources(asked).items():
            place = address.rpartition("/")[2]
            with connect(self.server) as connection:
                connection.execute(f"CREATE VIEW {place}_seen AS TABLE {place}")
            found[name] = f"{address}_seen"
        return found

    def stream(self, asked):
        """Take rows that can be read once, beside the tables."""
        return {**self.sources(asked), "wards": arrow_tables(asked)["wards"].to_reader()}

    def zoned(self):
        """Take a table of the server."""
        make(self.server, "moments", {"u": Type.INTEGER, "m": "timestamptz"})
        with connect(self.server) as connection:
            connection.execute("INSERT INTO moments VALUES (1, %s)", [NOON])
        return {"moments": f"{self.server.address()}/moments"}


@contextmanager
def failing_statements():
    """Let DuckDB fail with a value in its message, whatever it is asked to compute."""
    with mock.patch.object(Connection, "fetch", side_effect=duckdb.Error(SECRET)):
        yield


def arrow_tables(asked):
    """Return the rows of a case as Arrow tables."""
    return {name: arrow_table(asked.rows[name], types) for name, types in asked.types.items()}


def spark_types(types):
    """Return columns as Spark has them."""
    from pyspark.sql import types as kinds  # noqa: PLC0415  few tests need it

    spark = {
        Type.INTEGER: kinds.LongType(),
        Type.FLOAT: kinds.DoubleType(),
        Type.TEXT: kinds.StringType(),
        Type.BOOLEAN: kinds.BooleanType(),
        Type.DATE: kinds.DateType(),
        Type.TIMESTAMP: kinds.TimestampNTZType(),
    }
    return kinds.StructType([kinds.StructField(name, spark[kind]) for name, kind in types.items()])
