"""Tables that this process alone holds: copies, which nobody else can change.

Trust: kernel.

A frame shares its memory with whoever made it, who may go on to change it while a session is open.
So what is read is a copy, made once; what is checked is the copy.
"""

from __future__ import annotations

import hashlib
import json
from typing import Final, final

import numpy as np
import pyarrow as pa
import pyarrow.types as kinds
from numpy.typing import NDArray

__all__ = ["Held", "copied"]

_BYTE: Final = 8
_TEXTS: Final = (kinds.is_string, kinds.is_large_string, kinds.is_string_view)


@final
class Held:
    """The stamp of a table in memory, which holds for as long as the table is there."""

    __slots__ = ("_table", "kind", "state")

    def __init__(self, table: pa.Table, *, kind: str = "frame") -> None:
        """Take a table that nobody else holds."""
        self._table = table
        self.kind = kind
        self.state = None

    def holds(self) -> bool:
        """Say yes."""
        return True

    def content(self) -> str:
        """Return a digest of names, types and values, however they are divided into chunks."""
        parts = [
            [field.name, str(field.type), *_digests(column)]
            for field, column in zip(self._table.schema, self._table.columns, strict=True)
        ]
        text = json.dumps([self._table.num_rows, parts])
        return hashlib.sha256(text.encode("ascii")).hexdigest()


def copied(table: pa.Table) -> pa.Table:
    """Return a table of the same values in memory of its own.

    >>> import numpy as np
    >>> shared = np.array([1, 2])
    >>> copy = copied(pa.table({"a": shared}))
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
    """Return digests of which values are NULL, of the others, and of the lengths of texts."""
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
    return [each.hexdigest() for each in (missing, values, lengths)]


def _bytes(array: pa.Array) -> memoryview:
    """Return the bytes of values of one width, of which none is NULL."""
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
