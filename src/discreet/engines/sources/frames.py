"""Tables in memory: the frames of any library, read from private copies.

Trust: kernel.

A frame shares its memory with its maker, who may change it while a session is open.  So a copy is
made once, and checked and read in its place.

The type of a column is that of its array or its dtype.  A pandas column of Python objects is TEXT,
and what is not text in it is NULL.  Columns of other types are there, but cannot be named.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, final

import numpy as np
import pyarrow as pa
import pyarrow.types as kinds
from duckdb import DuckDBPyConnection
from numpy.typing import NDArray

from discreet.engines.sources.source import (
    Places,
    Stamp,
    TableSource,
    check_names,
    type_name,
    unreadable,
)
from discreet.engines.sources.source import quoted_name as name

if TYPE_CHECKING:  # loaded by anyone who makes a dataset, because it takes pandas along
    import pyarrow.dataset as ds

_BYTE: Final = 8
_TEXTS: Final = (kinds.is_string, kinds.is_large_string, kinds.is_string_view)


@final
class MemoryStamp:
    """The stamp of a table in memory, which holds for as long as the table is there."""

    __slots__ = ("_table", "kind", "places", "state")

    def __init__(self, table: pa.Table, *, kind: str = "frame") -> None:
        """Take a table that is not shared."""
        self._table = table
        self.kind = kind
        self.state = None
        self.places: Places = frozenset()

    def is_unchanged(self) -> bool:
        """Return True: it cannot change."""
        return True

    def content(self) -> str:
        """Return a digest of names, types and values, however they are divided into chunks."""
        parts = [
            [field.name, str(field.type), *_digests(column)]
            for field, column in zip(self._table.schema, self._table.columns, strict=True)
        ]
        text = json.dumps([self._table.num_rows, parts])
        return hashlib.sha256(text.encode("ascii")).hexdigest()


def copy_table(table: pa.Table) -> pa.Table:
    """Return a table of the same values in memory of its own.

    >>> import numpy as np
    >>> shared = np.array([1, 2])
    >>> copy = copy_table(pa.table({"a": shared}))
    >>> shared[0] = 9
    >>> copy.column("a").to_pylist()
    [1, 2]
    """
    size = pa.MockOutputStream()
    _write(table, size)
    memory = pa.allocate_buffer(size.size())
    _write(table, pa.FixedSizeBufferWriter(memory))
    return pa.ipc.open_stream(memory).read_all()


def _write(table: pa.Table, sink: pa.NativeFile) -> None:
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)


def _digests(column: pa.ChunkedArray) -> list[str]:
    """Return digests of the places of NULL, of the other values, and of the lengths of texts."""
    missing, values, lengths = hashlib.sha256(), hashlib.sha256(), hashlib.sha256()
    for chunk in column.chunks:
        missing.update(_bytes(chunk.is_null().cast(pa.uint8())))
        if any(test(chunk.type) for test in _TEXTS):
            texts = chunk.cast(pa.large_binary()).drop_null()
            ends = _ends(texts)
            lengths.update(np.diff(ends).tobytes())
            values.update(_view(texts.buffers()[2])[ends[0] : ends[-1]])
        else:
            flags = kinds.is_boolean(chunk.type)
            values.update(_bytes((chunk.cast(pa.uint8()) if flags else chunk).drop_null()))
    return [digest.hexdigest() for digest in (missing, values, lengths)]


def _bytes(array: pa.Array) -> memoryview:
    """Return the bytes of values of one width without NULL."""
    width = array.type.bit_width // _BYTE
    return _view(array.buffers()[1])[array.offset * width : (array.offset + len(array)) * width]


def _ends(texts: pa.Array) -> NDArray[np.int64]:
    """Return where texts begin and end among their bytes."""
    if not len(texts):
        return np.zeros(1, np.int64)
    ends = np.frombuffer(_view(texts.buffers()[1]), np.int64)
    return ends[texts.offset : texts.offset + len(texts) + 1]


def _view(buffer: pa.Buffer | None) -> memoryview:
    return memoryview(b"" if buffer is None else buffer)


_PLAIN: Final = (
    kinds.is_boolean,
    kinds.is_integer,
    kinds.is_floating,
    kinds.is_string,
    kinds.is_large_string,
    kinds.is_string_view,
    kinds.is_date32,
    kinds.is_timestamp,
)


@final
class Frame(TableSource):
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
        """Take readable columns, the names of the others, and the types of both at their source."""
        self._data = data
        self._hidden = hidden
        self.stamp = stamp
        self.kind = kind
        self.types = types

    def attach(self, connection: DuckDBPyConnection, alias: str) -> str:
        """Register the data, and print what to select from."""
        connection.register(alias, self._data)
        hidden = "".join(f", CAST(NULL AS BLOB) AS {name(column)}" for column in self._hidden)
        return f"(SELECT *{hidden} FROM {name(alias)})"  # noqa: S608 (quoted names)


def from_arrow(
    table: pa.Table, *, kind: str = "arrow", types: Mapping[str, str] | None = None
) -> Frame:
    """Copy the columns of an Arrow table that can be read, and check the copy once.

    A frame converted from another kind says so, with its own names of types.
    """
    check_names(table.schema.names, what="columns")
    arrays, hidden = {}, []
    for field in table.schema:
        column = table.column(field.name)
        if kinds.is_dictionary(field.type):
            column.validate(full=True)  # an index may point nowhere
            column = _plain(column)
        if kinds.is_timestamp(column.type):
            column = column.cast(pa.timestamp(column.type.unit))  # in UTC, as it is held
        if is_readable(column.type):
            arrays[field.name] = column
        else:
            hidden.append(field.name)
    if not arrays:
        raise _nothing()
    shared = pa.table(arrays)
    shared.validate()
    read = copy_table(shared)
    read.validate(full=True)
    own = {field.name: type_name(field.type) for field in table.schema}
    known = own if types is None else types
    return Frame(read, tuple(hidden), MemoryStamp(read), kind=kind, types=known)


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return the values of a dictionary; Arrow casts no views of strings out of one."""
    kind = column.type
    values = pa.large_string() if kinds.is_string_view(kind.value_type) else kind.value_type
    return column.cast(pa.dictionary(kind.index_type, values, kind.ordered)).cast(values)


def from_pandas(frame: Any) -> Frame:
    """Take a pandas data frame, column by column."""
    if not all(isinstance(column, str) for column in frame.columns):
        raise unreadable(
            "a column of the data frame has a name that is not text.",
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
    if kinds.is_decimal128(kind):
        return bool(kind.scale >= 0)
    return any(test(kind) for test in _PLAIN)


def _nothing() -> Exception:
    return unreadable("there is no column that can be read.", do="give a table with plain columns.")
