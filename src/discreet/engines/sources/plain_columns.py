"""Plain columns: cells that Arrow holds as values of our types already, without a statement.

Trust: kernel.  To parse, bind and start a statement takes DuckDB longer than to read a few thousand
rows, and Arrow reads those in half of the time.

Definition.  A column is *plain* if DuckDB's type for it, our type and Arrow's type are in one line
of the table below.
Proposition.  A plain column has the same values, whether a scan of DuckDB reads it
(:mod:`discreet.engines.sql.casts`) or Arrow does.  Proof.  The scan prints such a column as it is,
or as a cast to a wider type of the same kind, which changes no value.  Floats are open: as they
are, finite or not.

Rows of one unit must not decide which of the two reads the rows of all others: then privacy would
rest on the proposition.  So where columns were read by Arrow, their rows are bounded as Arrow has
read them (:mod:`discreet.engines.single_rows`).
Assumes: the proposition, at the two edges where rows decide after all.  DuckDB reads a table of
more than ``MOST`` rows, and a file in which Arrow cannot read some cell, though DuckDB read all of
them when the source was opened.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from discreet.query.types import Type
from discreet.requests.raw_totals import ARROW_TYPES

if TYPE_CHECKING:  # handed in
    from discreet.engines.sources.source import TableSource

MOST: Final = 2**18
"""Rows at most: an interrupt waits until Arrow has read all of them."""

_PLAIN: Final[dict[tuple[str, Type], tuple[pa.DataType, ...]]] = {
    ("BIGINT", Type.INTEGER): (pa.int64(),),
    ("INTEGER", Type.INTEGER): (pa.int32(),),
    ("SMALLINT", Type.INTEGER): (pa.int16(),),
    ("TINYINT", Type.INTEGER): (pa.int8(),),
    ("DOUBLE", Type.FLOAT): (pa.float64(),),
    ("FLOAT", Type.FLOAT): (pa.float32(),),
    ("BOOLEAN", Type.BOOLEAN): (pa.bool_(),),
    ("VARCHAR", Type.TEXT): (pa.string(), pa.large_string()),
}

NATIVE: Final[dict[Type, str]] = {
    Type.INTEGER: "BIGINT",
    Type.FLOAT: "DOUBLE",
    Type.BOOLEAN: "BOOLEAN",
    Type.TEXT: "VARCHAR",
}
"""DuckDB's types for plain columns, once they are values of our types."""


def plain_columns(
    source: TableSource, wanted: Sequence[tuple[str, str, Type]]
) -> list[pa.ChunkedArray] | None:
    """Return columns of a small source, or None where one of them is not plain.

    Args:
        source: what is read.
        wanted: for each column its name there, DuckDB's type of it, and ours.

    >>> from discreet.engines.sources.frames import from_arrow
    >>> frame = from_arrow(pa.table({"age": pa.array([30, 7], pa.int8())}))
    >>> plain_columns(frame, [("age", "TINYINT", Type.INTEGER)])[0].to_pylist()
    [30, 7]
    >>> plain_columns(frame, [("age", "TINYINT", Type.FLOAT)]) is None
    True
    """
    known = [_PLAIN.get((native, kind), ()) for _, native, kind in wanted]
    if not all(known):
        return None
    table = source.columns(tuple(dict.fromkeys(name for name, *_ in wanted)), MOST)
    if table is None:
        return None
    found = [table.column(name) for name, *_ in wanted]
    if not all(each.type in types for each, types in zip(found, known, strict=True)):
        return None
    try:
        return [_read(each, kind) for each, (*_, kind) in zip(found, wanted, strict=True)]
    except pa.ArrowException:
        return None


def _read(column: pa.ChunkedArray, kind: Type) -> pa.ChunkedArray:
    """Return values of our type; texts are checked, as DuckDB checks them."""
    if kind is Type.TEXT:
        column.validate(full=True)
    return column if column.type == ARROW_TYPES[kind] else column.cast(ARROW_TYPES[kind])
