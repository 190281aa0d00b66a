"""Tables that are filled for one question."""

import duckdb
import pyarrow as pa
import pytest

from discreet.engines.sources.staged import Staged
from discreet.errors import UnreadableSource
from discreet.query.types import Type

BATCH = pa.record_batch({"c0": [1, 2], "c1": ["a", None]})


class Interrupted:
    """A connection whose statements end as after an interrupt, or fail in another way."""

    def __init__(self, error):
        self.error = error
        self.registered = []

    def register(self, name, _):
        self.registered.append(name)

    def unregister(self, name):
        self.registered.remove(name)

    def execute(self, statement):
        if statement.startswith("INSERT"):
            raise self.error


def test_rows_come_and_go():
    staged = Staged({"n": Type.INTEGER, "face": None, 'a "b"': Type.TEXT, "f": Type.FLOAT})
    with duckdb.connect() as connection:
        sql = staged.attached(connection, "source 0")
        for _ in range(2):
            staged.add(BATCH, ["n", 'a "b"'])
        rows = connection.execute(f"SELECT * FROM {sql}").fetchall()  # noqa: S608
        assert rows == [(1, None, "a", None), (2, None, None, None)] * 2
        staged.empty()
        assert connection.execute(f"SELECT count(*) FROM {sql}").fetchall() == [(0,)]  # noqa: S608


def test_an_interrupt_is_no_failure():
    staged = Staged({"n": Type.INTEGER})
    connection = Interrupted(RuntimeError("Query interrupted"))
    staged.attached(connection, "source 0")
    with pytest.raises(KeyboardInterrupt) as caught:
        staged.add(BATCH, ["n"])
    assert caught.value.__context__ is None
    assert connection.registered == []


def test_a_failure_is_no_interrupt():
    staged = Staged({"n": Type.INTEGER})
    connection = Interrupted(RuntimeError("something else"))
    staged.attached(connection, "source 0")
    with pytest.raises(RuntimeError, match="something else"):
        staged.add(BATCH, ["n"])
    assert connection.registered == []


def test_names_and_order_of_steps():
    with pytest.raises(UnreadableSource):
        Staged({"a": Type.TEXT, "A": Type.TEXT})
    with pytest.raises(RuntimeError):
        Staged({"a": Type.TEXT}).empty()
