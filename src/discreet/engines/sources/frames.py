"""Tables in memory: Arrow tables and batches, pandas and Polars data frames.

Trust: kernel.

The type of a column is that of its array or its dtype.  A pandas column of Python objects is TEXT,
and what is no text in it is NULL.  Columns of other types are there, but cannot be named.
What is read is a copy (:mod:`discreet.engines.sources.held`): whoever made the frame may change it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, final

import pyarrow as pa
import pyarrow.types as kinds
from duckdb import DuckDBPyConnection

from discreet.engines.sources.held import Held, copied
from discreet.engines.sources.source import Stamp, check_names, type_name, unreadable
from discreet.engines.sql.words import name

if TYPE_CHECKING:  # loaded by whoever makes a dataset, because it takes pandas along
    import pyarrow.dataset as ds

__all__ = ["Frame", "from_arrow", "from_pandas", "is_readable"]

_PLAIN: Final = (
    kinds.is_boolean,
    kinds.is_integer,
    kinds.is_floating,
    kinds.is_string,
    kinds.is_large_string,
    kinds.is_string_view,
    kinds.is_date32,
)


@final
class Frame:
    """A table in memory, or a dataset; nothing of it is ever shown."""

    __slots__ = ("_data", "_hidden", "kind", "stamp", "types")

    def __init__(
        self,
        data: pa.Table | ds.Dataset,
        hidden: tuple[str, ...],
        stamp: Stamp,
        *,
        kind: str,
        types: Mapping[str, str],
    ) -> None:
        """Take columns that can be read, the names of those that cannot, and what they were."""
        self._data = data
        self._hidden = hidden
        self.stamp = stamp
        self.kind = kind
        self.types = types

    @property
    def paths(self) -> tuple[str, ...]:
        """The files that may be read from now on."""
        return ()

    def attached(self, connection: DuckDBPyConnection, alias: str) -> str:
        """Register the data, and print what to select from."""
        connection.register(alias, self._data)
        hidden = "".join(f", CAST(NULL AS BLOB) AS {name(column)}" for column in self._hidden)
        return f"(SELECT *{hidden} FROM {name(alias)})"  # noqa: S608 (quoted names)


def from_arrow(
    table: pa.Table, *, kind: str = "arrow", types: Mapping[str, str] | None = None
) -> Frame:
    """Copy the columns of an Arrow table that can be read, and check the copy once.

    What was another kind of frame before says so, with its own names of types.
    """
    check_names(table.schema.names, what="columns")
    arrays, hidden = {}, []
    for field in table.schema:
        column = table.column(field.name)
        if kinds.is_dictionary(field.type):
            column.validate(full=True)  # an index may point nowhere
            column = column.cast(field.type.value_type)
        if is_readable(column.type):
            arrays[field.name] = column
        else:
            hidden.append(field.name)
    if not arrays:
        raise _nothing()
    shared = pa.table(arrays)
    shared.validate()
    read = copied(shared)
    read.validate(full=True)
    own = {field.name: type_name(field.type) for field in table.schema}
    known = own if types is None else types
    return Frame(read, tuple(hidden), Held(read), kind=kind, types=known)


def from_pandas(frame: Any) -> Frame:
    """Take a pandas data frame, column by column."""
    if not all(isinstance(column, str) for column in frame.columns):
        raise unreadable(
            "a column of the data frame has a name that is no text.",
            do="rename the columns, such as df.rename(columns=str).",
        )
    check_names(list(frame.columns), what="columns")
    arrays = pa.table({name: _from_series(frame[name]) for name in frame.columns})
    types = {name: _dtype(frame[name]) for name in frame.columns}
    return from_arrow(arrays, kind="pandas", types=types)


def _dtype(series: Any) -> str:
    """Return the dtype of a column, with that of its categories if it has any."""
    categories = getattr(series.dtype, "categories", None)
    return str(series.dtype) if categories is None else f"category of {categories.dtype}"


def _from_series(series: Any) -> pa.Array | pa.ChunkedArray:
    if series.dtype == object:
        texts = [value if _is_text(value) else None for value in series]
        return pa.array(texts, type=pa.large_string())
    return pa.Array.from_pandas(series)


def _is_text(value: object) -> bool:
    return isinstance(value, str) and not any("\ud800" <= letter <= "\udfff" for letter in value)


def is_readable(kind: pa.DataType) -> bool:
    """Say whether values of a type can be read as values of ours."""
    if kinds.is_timestamp(kind):
        return kind.tz is None
    if kinds.is_decimal128(kind):
        return bool(kind.scale >= 0)
    return any(test(kind) for test in _PLAIN)


def _nothing() -> Exception:
    return unreadable("there is no column that can be read.", do="give a table with plain columns.")
