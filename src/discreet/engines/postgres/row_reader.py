"""Reading tables of a PostgreSQL server: one transaction, and rows that come in batches.

Trust: kernel.

The server is asked for columns by name, and learns nothing else of a question.  Tables are
locked against changes of their form, looked up again, and then read as they were at one moment.
A role that may read only some columns of a table may not lock it.  Such a table is looked up again
after it was read: if its form has changed since the first look, the rows do not count.
A table that no longer has the form in which it was opened is refused by name alone.
No lock that a reader may take keeps the owner from adding a part to a table meanwhile; its rows
count if they were there at that moment.
Another thread talks to the server, so that a wait for rows can be interrupted at any time: then the
statement is cancelled on the server, and the connection ends.  What the driver says when something
fails does not leave that thread.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from queue import Empty, Full, Queue
from typing import TYPE_CHECKING, Final, Self, final

import pyarrow as pa

from discreet.engines.execution import stopped_error
from discreet.engines.postgres.address import Address, begin, open_connection
from discreet.engines.postgres.catalogue import TableDescription, described
from discreet.engines.postgres.column_types import TEXTS, column_sql, text_size_join
from discreet.engines.sources.identity import changed
from discreet.engines.sql.fragments import name
from discreet.errors import UnreadableSource
from discreet.query.relations import folded

if TYPE_CHECKING:  # an optional driver
    from adbc_driver_manager.dbapi import Connection, Cursor

_BATCHES: Final = {"adbc.postgresql.batch_size_hint_bytes": str(2**23)}
_WAITING: Final = 2  # batches
_PATIENCE: Final = 0.05  # seconds
_FAREWELLS: Final = 100  # how often the server is asked to stop


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ReadRequest:
    """Columns of a table that are to be read, of rows that have a unit."""

    address: Address
    described: TableDescription
    columns: tuple[str, ...]
    unit: tuple[str, ...]

    @property
    def statement(self) -> str:
        """The statement for the server."""
        forms = self.described.columns
        parts = [
            f"{column_sql(column, forms[column])} AS c{place}"
            for place, column in enumerate(self.columns)
        ]
        there = " AND ".join(f'"t".{name(column)} IS NOT NULL' for column in self.unit)
        where = f" WHERE {there}" if there else ""
        listed = ", ".join(parts) or "true AS c0"
        has_texts = any(forms[column] in TEXTS for column in self.columns)
        weight = text_size_join(forms) if has_texts else ""
        return f'SELECT {listed} FROM {self.address.sql} AS "t"{weight}{where}'  # noqa: S608

    @property
    def folded(self) -> frozenset[str]:
        """The columns, as names are compared."""
        return frozenset(map(folded, self.columns))

    def fits(self, now: TableDescription) -> bool:
        """Whether the table still has the columns that it was opened with."""
        then = self.described.columns
        kept = all(
            now.columns.get(column) == then[column] for column in (*self.columns, *self.unit)
        )
        return kept and now.blurred.isdisjoint(self.unit)


Rows = tuple[int, pa.RecordBatch]
"""The number of a request, and some rows of its answer."""


@final
class RowReader:
    """The rows of some requests as they were at one moment, batch by batch."""

    def __init__(self, requests: Sequence[ReadRequest]) -> None:
        """Begin to read; use as a context manager, which ends it."""
        self._requests = requests
        self._rows: Queue[Rows | None] = Queue(maxsize=_WAITING)
        self._ended = threading.Event()
        self._whole = False
        self._changed = False
        self._connected = False
        self._cursor: Cursor | None = None
        self._lock = threading.Lock()
        self._messenger: threading.Thread | None = None
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def __iter__(self) -> Iterator[Rows]:
        """Yield all rows; fail, without a reason, if there are some that could not be read."""
        while (rows := self._next()) is not None:
            yield rows
        if self._changed:
            raise changed(str(request.address.table) for request in self._requests)
        if not self._connected or self._ended.is_set():
            raise stopped_error()
        if not self._whole:
            message = "the server could not be read"
            raise RuntimeError(message)

    def _next(self) -> Rows | None:
        """Wait for rows, and look up now and then.

        A library with its own handler of interrupts may have asked the system to go on waiting.
        """
        while True:
            with contextlib.suppress(Empty):
                return self._rows.get(timeout=_PATIENCE)

    def stop(self) -> None:
        """Cancel the statement on the server; whoever waits for rows gets no more."""
        self._ended.set()
        if self._messenger is None or not self._messenger.is_alive():  # it may be long on its way
            self._messenger = threading.Thread(target=self._cancel, daemon=True)
            self._messenger.start()

    def _cancel(self) -> None:
        with self._lock, contextlib.suppress(Exception):
            if self._cursor is not None:
                self._cursor.adbc_cancel()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Wait until the connection has ended, unless it takes too long: it will, by itself."""
        for _attempt in range(_FAREWELLS):
            self._thread.join(_PATIENCE)
            if not self._thread.is_alive():
                return
            self.stop()

    def _read(self) -> None:
        """Read everything, in the thread."""
        try:
            with open_connection(self._requests[0].address) as connection:
                self._connected = True  # from here on a row may be the reason of a failure
                self._whole = self._read_all(connection)
        except BaseException:  # noqa: BLE001, S110 (its text may quote the data, and stays here)
            pass
        finally:
            self._put(None)

    def _read_all(self, connection: Connection) -> bool:
        begin(connection)
        with connection.cursor(adbc_stmt_kwargs=_BATCHES) as cursor:
            self._cursor = cursor
            try:
                lockable = [
                    request.address.sql for request in self._requests if request.described.whole
                ]
                if lockable:
                    cursor.execute(f"LOCK TABLE {', '.join(lockable)} IN ACCESS SHARE MODE")
                descriptions = self._described(connection)
                if not descriptions:
                    return False
                for number, request in enumerate(self._requests):
                    reader = cursor.execute(request.statement).fetch_record_batch()
                    if not all(self._put((number, batch)) for batch in reader):
                        return False
                cursor.execute("COMMIT")
            finally:
                with self._lock:  # nobody cancels what is closed
                    self._cursor = None
        unlocked = [
            (request.address, seen)
            for request, seen in zip(self._requests, descriptions, strict=True)
            if not request.described.whole
        ]
        if unlocked:
            begin(connection)  # at a later moment, which sees what has changed since
        self._changed = not all(
            _state(connection, address) == seen.state for address, seen in unlocked
        )
        return not self._changed

    def _described(self, connection: Connection) -> list[TableDescription]:
        """Look the tables up again; none if one of them has another form now."""
        try:
            descriptions = [described(connection, request.address) for request in self._requests]
        except UnreadableSource:  # it is gone, or a view, or hides rows
            descriptions = []
        self._changed = not (
            descriptions and all(map(ReadRequest.fits, self._requests, descriptions))
        )
        return [] if self._changed else descriptions

    def _put(self, rows: Rows | None) -> bool:
        """Hand something on; say whether anybody still wants it."""
        while not self._ended.is_set():
            with contextlib.suppress(Full):
                self._rows.put(rows, timeout=_PATIENCE)
                return True
        while rows is None and self._rows.full():  # somebody may wait, and must not wait forever
            with contextlib.suppress(Empty):
                self._rows.get_nowait()
        if rows is None:
            self._rows.put_nowait(rows)
        return False


def _state(connection: Connection, address: Address) -> str | None:
    try:
        return described(connection, address).state
    except UnreadableSource:
        return None
