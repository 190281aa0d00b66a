"""Values at the edges of their types, and how two engines are compared."""

# ruff: noqa: DTZ001 (timestamps have no time zone)

import itertools
import math
from datetime import date, datetime
from fractions import Fraction

import pyarrow as pa

from discreet.engines.duckdb import DuckDB
from discreet.engines.relations import Relations
from discreet.query.expression_types import columns
from discreet.query.types import Type
from tests.reference.relations import rows_of

ARROW = {
    Type.INTEGER: pa.int64(),
    Type.FLOAT: pa.float64(),
    Type.TEXT: pa.string(),
    Type.BOOLEAN: pa.bool_(),
    Type.DATE: pa.date32(),
    Type.TIMESTAMP: pa.timestamp("us"),
}

EDGES = {
    Type.INTEGER: [None, 0, 1, -1, 7, -7, 2, 2**53 + 1, 2**62, 2**63 - 1, -(2**63), -(2**63) + 1],
    Type.FLOAT: [
        *(None, 0.0, -0.0, 0.5, -0.5, 1.5, 2.5, -2.5, 0.49999999999999994, 1e16, 0.1, -3.0),
        *(1.7976931348623157e308, -1.7976931348623157e308, 5e-324, 9.3e18, -(2.0**63), 2.0**63),
        *(math.nan, math.inf, -math.inf, 4503599627370497.5),
    ],
    Type.TEXT: [
        *(
            None,
            "",
            " ",
            "a",
            "A",
            "ab",
            "  a b ",
            "%",
            "_",
            "a%",
            "Zß",
            "é",
            "e\u0301",
            "\U0001f44d",
        ),
        *(
            "\0",
            "a\0b",
            "\uffff",
            "it's",
            '"',
            "\\",
            "aaa",
            "12",
            "+7",
            "-0",
            "1e5",
            "1.5",
            ".5",
            ".",
        ),
        *(
            "1e400",
            "-1e-400",
            "999999999999999999",
            "1234567890123456789",
            "nan",
            "inf",
            " 1",
            "0x1",
        ),
        *("2024-02-29", "2023-02-29", "0000-01-01", "0001-01-01", "9999-12-31", "2024-2-9"),
        *("2024-02-29 23:59:59", "2024-02-29T23:59:59.000001", "2024-02-29 24:00:00", "true", "\n"),
        *(
            "2024-02-29 23:59:60",
            "2023-02-29 00:00:00",
            "1\n",
            "x" * 300,
            "ab" * 20000,
            "é" * 20000,
        ),
    ],
    Type.BOOLEAN: [None, True, False],
    Type.DATE: [
        *(None, date(1, 1, 1), date(9999, 12, 31), date(2024, 2, 29), date(1970, 1, 1)),
        *(date(1969, 12, 31), date(2000, 12, 31), date(1900, 3, 1)),
    ],
    Type.TIMESTAMP: [
        *(None, datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59, 999999)),
        *(datetime(1969, 12, 31, 23, 59, 59, 999999), datetime(2024, 2, 29, 12, 30, 15, 250000)),
        datetime(1970, 1, 1),
    ],
}

WRITTEN = {
    Type.INTEGER: [0, 1, -1, 2, 3, 2**63 - 1, -(2**63), 5000000],
    Type.FLOAT: [Fraction(1, 2), Fraction(-1, 10), Fraction(10) ** 400],
    Type.TEXT: ["", "a", "%", "_", "a%", "%a_", "%b%", "\\", "it's"],
}


def arrow_table(rows, types):
    """Put rows of Python values into an Arrow table."""
    return pa.table(
        {
            name: pa.array([row[name] for row in rows], type=ARROW[kind], from_pandas=False)
            for name, kind in types.items()
        }
    )


def products(kinds, values=EDGES):
    """Return rows with all combinations of edge values in columns c0, c1, ..."""
    return [
        {"id": number, **{f"c{index}": value for index, value in enumerate(combination)}}
        for number, combination in enumerate(itertools.product(*(values[kind] for kind in kinds)))
    ]


def shown(row):
    """Return the values of a row so that equal means equal bit for bit; zero has one sign."""
    return tuple(
        (type(value).__name__, repr(value + 0.0) if isinstance(value, float) else repr(value))
        for value in row.values()
    )


def both(node, tables, types, engine=None):
    """Compute a relation with both engines, and return the sorted rows."""
    if engine is None:
        with opened(types) as fresh:
            return both(node, tables, types, fresh)
    filled(engine, tables, types)
    rows = fetched(engine, node)
    assert rows.schema.types == [ARROW[kind] for _, kind in columns(node)]
    return sorted(map(shown, rows.to_pylist())), sorted(map(shown, rows_of(node, tables)))


def fetched(engine, node):
    """Return the rows of a relation, as an engine computes them."""
    build = Relations(engine.dialect, engine.scan)
    found = build(node)
    for name, each in build.tables.items():
        found = found.with_(f'"{name}"', as_=each)
    return engine.fetch(engine.dialect.printed(found), {})


def opened(types, **options):
    """Open an engine with empty tables of these types."""
    return DuckDB({name: arrow_table([], value) for name, value in types.items()}, **options)


def filled(engine, tables, types):
    """Put other rows into the tables of an engine: much faster than to open a new one."""
    for number, name in enumerate(types):
        table = arrow_table(tables[name], types[name])
        engine._connection._connection.register(f"source {number}", table)
        engine._connection._sources[name.lower()]._data = table  # what is read without a statement
