"""What does not fit in memory is seen by its owner alone, and goes with the connection."""

import os
import stat
import threading

import pyarrow as pa
import pytest

from discreet.engines.duckdb import Connection
from discreet.engines.engine import Performance

ROWS = 400_000
SORTED = 'SELECT max(n) AS n FROM (SELECT row_number() OVER (ORDER BY x, y) AS n FROM "table 0")'


def mode(path):
    return stat.S_IMODE(path.lstat().st_mode)


@pytest.mark.parametrize("mask", [0o000, 0o022])
def test_spilled_files_are_in_a_folder_of_their_owner_alone(tmp_path, monkeypatch, mask):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    table = pa.table({"x": [str(n * 7919 % ROWS) * 20 for n in range(ROWS)], "y": range(ROWS)})
    before = os.umask(mask)
    try:
        connection = Connection({"t": table}, Performance(threads=1, memory="30MB"))
        folder = next(tmp_path.iterdir())
        seen, done = set(), threading.Event()

        def look():
            while not done.wait(0.005):
                seen.update(folder.glob("*.tmp"))

        looking = threading.Thread(target=look)
        looking.start()
        assert connection._connection.sql(SORTED).fetchall() == [(ROWS,)]
        done.set()
        looking.join()
        assert seen
        assert mode(folder) == 0o700
        connection.close()
    finally:
        os.umask(before)
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_drawn_on_stdout_while_a_question_runs():
    connection = Connection({"t": pa.table({"x": [1]})}, Performance())
    (drawn,) = connection._connection.execute(
        "SELECT current_setting('enable_progress_bar')"
    ).fetchone()
    connection.close()
    assert drawn is False
