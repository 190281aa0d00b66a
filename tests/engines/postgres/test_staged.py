"""Tables that are filled for one question."""

import signal
import threading

import duckdb
import pyarrow as pa
import pytest

from discreet.engines.sources.database import StagingTable
from discreet.errors import UnreadableSource
from discreet.query.types import Type

BATCH = pa.record_batch({"c0": [1, 2], "c1": ["a", None]})


class Waiting:
    """A connection that waits until it is stopped when rows are added, and then fails."""

    def __init__(self):
        self.registered = []
        self.stopped = threading.Event()

    def register(self, name, _):
        self.registered.append(name)

    def unregister(self, name):
        self.registered.remove(name)

    def interrupt(self):
        self.stopped.set()

    def execute(self, statement):
        if statement.startswith("INSERT"):
            self.stopped.wait(60)
            message = "something else"
            raise RuntimeError(message)


def test_rows_come_and_go():
    staged = StagingTable({"n": Type.INTEGER, "face": None, 'a "b"': Type.TEXT, "f": Type.FLOAT})
    with duckdb.connect() as connection:
        sql = staged.attach(connection, "source 0")
        for _ in range(2):
            staged.add(BATCH, ["n", 'a "b"'])
        rows = connection.execute(f"SELECT * FROM {sql}").fetchall()  # noqa: S608
        assert rows == [(1, None, "a", None), (2, None, None, None)] * 2
        staged.empty()
        assert connection.execute(f"SELECT count(*) FROM {sql}").fetchall() == [(0,)]  # noqa: S608


def test_an_interrupt_is_heard_while_rows_are_added():
    """DuckDB waits in another thread, and is told to stop."""
    staged, connection = StagingTable({"n": Type.INTEGER}), Waiting()
    staged.attach(connection, "source 0")
    threading.Timer(0.3, signal.raise_signal, [signal.SIGINT]).start()
    with pytest.raises(KeyboardInterrupt) as caught:
        staged.add(BATCH, ["n"])
    assert caught.value.__context__ is None
    assert connection.stopped.is_set()
    assert connection.registered == []


def test_a_failure_is_no_interrupt():
    staged, connection = StagingTable({"n": Type.INTEGER}), Waiting()
    staged.attach(connection, "source 0")
    connection.stopped.set()
    with pytest.raises(RuntimeError, match="something else"):
        staged.add(BATCH, ["n"])
    assert connection.registered == []


def test_names_and_order_of_steps():
    with pytest.raises(UnreadableSource):
        StagingTable({"a": Type.TEXT, "A": Type.TEXT})
    with pytest.raises(RuntimeError):
        StagingTable({"a": Type.TEXT}).empty()
