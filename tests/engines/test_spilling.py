"""What does not fit in memory is seen by its owner alone, and goes with the process."""

import os
import stat
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import pyarrow as pa
import pytest

from discreet.engines.duckdb import Connection, SpillFolder
from discreet.engines.engine import Performance

ROOT = Path(__file__).parents[2]
ROWS = 400_000
SORTED = 'SELECT max(n) AS n FROM (SELECT row_number() OVER (ORDER BY x, y) AS n FROM "table 0")'


def mode(path):
    return stat.S_IMODE(path.lstat().st_mode)


def folders(parent):
    return sorted(path.name for path in parent.iterdir())


def process(parent, then):
    """Start a process that makes a folder, puts a file there, and says where."""
    program = textwrap.dedent(
        f"""
        import os, sys
        sys.path.insert(0, {str(ROOT / "src")!r})
        from discreet.engines.duckdb import SpillFolder
        folder = SpillFolder({str(parent)!r})
        open(os.path.join(folder.path, "rows.tmp"), "w").write("rows of people")
        print(os.path.basename(folder.path), flush=True)
        {then}
        """
    )
    return subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


def test_the_folder_of_a_process_that_was_killed_is_removed_at_the_next_opening(tmp_path):
    with process(tmp_path, "os._exit(9)") as killed:
        name = killed.stdout.readline().strip()
    assert (tmp_path / name / "rows.tmp").exists()
    mine = SpillFolder(str(tmp_path))
    assert folders(tmp_path) == [Path(mine.path).name]
    mine.remove()
    assert folders(tmp_path) == []


def test_the_folder_of_a_process_that_runs_stays(tmp_path):
    with process(tmp_path, "sys.stdin.read()") as running:
        name = running.stdout.readline().strip()
        SpillFolder(str(tmp_path)).remove()
        assert (tmp_path / name / "rows.tmp").exists()
        running.stdin.close()
        running.wait()
    SpillFolder(str(tmp_path)).remove()
    assert folders(tmp_path) == []


def test_a_forked_process_neither_removes_the_folder_nor_lets_go_of_it(tmp_path):
    folder = SpillFolder(str(tmp_path))
    child = os.fork()
    if child == 0:
        folder.remove()
        os._exit(0)
    os.waitpid(child, 0)
    assert Path(folder.path).exists()
    SpillFolder(str(tmp_path)).remove()
    assert Path(folder.path).exists()
    folder.remove()


def test_no_link_is_followed_and_nothing_else_is_touched(tmp_path):
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "in-use").touch()
    (kept / "file").touch()
    (tmp_path / "discreet-spill-link").symlink_to(kept)
    linked = tmp_path / "discreet-spill-lock"
    linked.mkdir()
    (linked / "in-use").symlink_to(kept / "file")
    unlocked = tmp_path / "discreet-spill-bare"
    unlocked.mkdir()
    deep = tmp_path / "discreet-spill-deep"
    (deep / "below").mkdir(parents=True)
    (deep / "below" / "file").touch()
    (deep / "in-use").touch()
    before = folders(tmp_path)
    SpillFolder(str(tmp_path)).remove()
    assert folders(tmp_path) == before
    assert folders(kept) == ["file", "in-use"]
    assert (deep / "below" / "file").exists()


@pytest.mark.parametrize("mask", [0o000, 0o022])
def test_spilled_files_are_open_to_their_owner_alone(tmp_path, monkeypatch, mask):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    table = pa.table({"x": [str(n * 7919 % ROWS) * 20 for n in range(ROWS)], "y": range(ROWS)})
    before = os.umask(mask)
    try:
        connection = Connection({"t": table}, Performance(threads=1, memory="30MB"))
        folder = next(tmp_path.iterdir())
        seen, done = set(), threading.Event()

        def look():
            while not done.wait(0.005):
                seen.update(mode(path) for path in folder.glob("*.tmp"))

        looking = threading.Thread(target=look)
        looking.start()
        assert connection._connection.sql(SORTED).fetchall() == [(ROWS,)]
        done.set()
        looking.join()
        assert seen == {0o600}
        assert mode(folder) == 0o700
        connection.close()
    finally:
        os.umask(before)
    assert folders(tmp_path) == []


def test_nothing_is_drawn_on_stdout_while_a_question_runs():
    connection = Connection({"t": pa.table({"x": [1]})}, Performance())
    (drawn,) = connection._connection.execute(
        "SELECT current_setting('enable_progress_bar')"
    ).fetchone()
    connection.close()
    assert drawn is False
