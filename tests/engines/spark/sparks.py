"""Engines on the session of this process, and what they are compared with."""

from contextlib import contextmanager

import pyarrow as pa

from discreet.engines.duckdb import DuckDB
from discreet.engines.engine import HashOrder
from discreet.engines.spark import Spark
from discreet.requests.table_schema import ColumnFacts, Schema, TableFacts
from tests.engines.answers import flat

ORDER = HashOrder(salt=5, portable=True)


def facts(name, types, **more):
    """Return a table with columns of these types, and no facts."""
    columns = tuple(ColumnFacts(name=column, type=kind) for column, kind in types.items())
    return TableFacts(name=name, columns=columns, **more)


@contextmanager
def engine(tables, *known, performance=None):
    """Open an engine that knows whose rows there are."""
    with Spark(tables, performance) as opened:
        opened.learn_schema(Schema(known))
        yield opened


def spark_answer(tables, lowered, *known, order=ORDER, performance=None):
    """Answer with Spark."""
    with engine(tables, *known, performance=performance) as opened:
        opened.check(lowered)
        return flat(opened.run(lowered, order=order))


def duckdb_answer(tables, lowered, order=ORDER):
    """Answer with DuckDB."""
    with DuckDB(tables) as opened:
        return flat(opened.run(lowered, order=order))


def collected(frame):
    """Return a data frame of plain columns as an Arrow table."""
    table = frame.toArrow()
    return pa.table({name: table.column(name) for name in table.column_names})
