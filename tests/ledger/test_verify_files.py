"""Ledgers are verified from files, by a command, and by code that is apart from theirs."""

import ast
import functools
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from discreet.errors import LedgerUnavailable, NotALedger
from discreet.ledger import Ledger
from discreet.ledger import verify as command
from discreet.ledger.verify import verify_file
from tests.house.pages import ROOT
from tests.ledger.chains import LAST, honest

# --- files ----------------------------------------------------------------------------------------


def stored(path, rows, *, wal=True):
    """A file with the rows of a ledger, without anything that would protect them."""
    with closing(sqlite3.connect(path)) as database, database:
        if wal:
            database.execute("PRAGMA journal_mode = WAL")
        database.execute(
            "CREATE TABLE entry (seq INTEGER PRIMARY KEY, kind, key, question, line, head, answer)"
        )
        database.executemany("INSERT INTO entry VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
        database.execute(f"PRAGMA application_id = {0x44504C31}")
        database.execute("PRAGMA user_version = 1")
    database.close()
    return path


def test_a_ledger_that_is_locked_is_not_called_damaged(tmp_path, monkeypatch):
    monkeypatch.setattr(sqlite3, "connect", functools.partial(sqlite3.connect, timeout=0.01))
    path = stored(tmp_path / "study.ledger", honest().rows(), wal=False)
    restored = functools.partial(Ledger.restore, tmp_path / "copy", path, reason="disk", by="a")
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        for verb in (lambda: verify_file(path), lambda: restored(approved_by="b")):
            with pytest.raises(LedgerUnavailable, match="cannot be read now"):
                verb()
        assert command.main([str(path)]) == 5
    assert verify_file(path).ok


def test_a_database_is_read(tmp_path):
    path = stored(tmp_path / "study #1?.ledger", honest().rows())
    assert verify_file(path, receipts=[LAST]).ok
    assert verify_file(str(path)).entries == 13
    assert not verify_file(path, receipts=[LAST.replace(":13:", ":14:")]).ok


def test_a_missing_file_is_an_error(tmp_path):
    for path in (tmp_path / "none", tmp_path):
        with pytest.raises(NotALedger):
            verify_file(path)


def test_the_command_prints_a_report(tmp_path, capsys):
    path = str(stored(tmp_path / "study.ledger", honest().rows()))
    assert command.main([path, "--receipt", LAST]) == 0
    assert "ok: everything follows from the entries" in capsys.readouterr().out
    assert command.main([path, "--receipt", LAST, "--receipt", "nothing"]) == 5
    assert "NOT OK: 1 problems" in capsys.readouterr().out
    assert command.main([f"{path}.none"]) == 5
    assert "NotALedger[E401]" in capsys.readouterr().err


# --- whoever checks shares nothing with whoever writes --------------------------------------------


def test_the_auditor_imports_no_other_file_of_the_ledger():
    below = (
        "accounting arrays certified doors errors exact loss mechanisms noise units ledger.verify"
    )
    allowed = tuple(f"discreet.{room}" for room in below.split())
    auditor = ROOT / "src/discreet/ledger/verify.py"
    for node in ast.walk(ast.parse(auditor.read_text(encoding="utf-8"))):
        match node:
            case ast.Import(names=names):
                found = [name.name for name in names]
            case ast.ImportFrom(module=module):
                found = [module]
            case _:
                found = []
        for name in found:
            first = name.partition(".")[0]
            assert name.startswith(allowed) or first in sys.stdlib_module_names, name


# --- reports that cannot be written ---------------------------------------------------------------

FULL = Path("/dev/full")
ON_FULL = pytest.param("> /dev/full", marks=pytest.mark.skipif(not FULL.exists(), reason="Linux"))


def run(redirect, *arguments, **environment):
    """Run the command in a shell that redirects its streams."""
    program = [sys.executable, "-m", "discreet.ledger.verify", *map(str, arguments)]
    return subprocess.run(
        ["/bin/sh", "-c", f'exec "$@" {redirect}', "sh", *program],
        capture_output=True,
        check=False,
        env={**os.environ, **environment},
    )


@pytest.fixture(scope="module")
def ledger(tmp_path_factory):
    return stored(tmp_path_factory.mktemp("ledger") / "study.ledger", honest().rows())


@pytest.mark.parametrize("buffered", ["", "1"])
@pytest.mark.parametrize("redirect", [">&-", ON_FULL])
def test_a_report_that_is_lost_is_told(ledger, redirect, buffered):
    wrong = ("--receipt", LAST.replace(":13:", ":14:"))
    for arguments, status in (((ledger,), 1), ((ledger, *wrong), 5)):
        done = run(redirect, *arguments, PYTHONUNBUFFERED=buffered)
        assert done.returncode == status
        assert b"Error" not in done.stderr


def test_whoever_has_left_hears_no_word(ledger):
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [sys.executable, "-m", "discreet.ledger.verify", ledger],
        stdout=write,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(write)
    assert (done.returncode, done.stderr) == (1, b"")
