"""A ledger in a file: what is synced when, what SQL may not do, and what a dead process leaves."""

import os
import re
import sqlite3
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from chaos.trace import strace
from discreet.accounting import Budget
from discreet.errors import DamagedLedger, LedgerUnavailable
from discreet.ledger import Ledger
from discreet.ledger.verify import verify_file
from discreet.loss import Pure
from discreet.units import row
from tests.ledger.programs import START, direct

TERMS = {"unit": row(), "budget": Budget(epsilon=1)}
ONE = Pure(epsilon="0.1")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "study.ledger"


@pytest.fixture
def ledger(path):
    """A ledger with one answer."""
    with Ledger.open(path, **TERMS) as ledger:
        ledger.begin(ONE, key="secret key")
        ledger.release("secret key", b"secret answer")
        yield ledger


def test_a_file_says_what_it_is_and_is_for_its_owner_alone(ledger, path):
    assert direct(path, "PRAGMA application_id") == [(int.from_bytes(b"DPL1", "big"),)]
    assert direct(path, "PRAGMA user_version") == [(1,)]
    for name in ("", "-journal"):
        assert stat.S_IMODE(path.with_name(path.name + name).stat().st_mode) == 0o600, name


@pytest.mark.theorem("sqlite-durable")
def test_file_and_journal_are_synced_between_writing_and_telling(path):
    """The calls of a process that charges: each write is synced before it is told."""
    code = f"""{START}
ledger = Ledger.open({str(path)!r}, unit=row(), budget=Budget(epsilon=1))
for number in range(5):
    ledger.charge(Pure(epsilon="0.1"), key=str(number))
    os.write(1, b"told")
"""
    calls = "trace=pwrite64,write,fdatasync,fsync"
    done = subprocess.run(
        [strace(), "-f", "-y", "-e", calls, sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    dirty, told = set(), 0
    for line in done.stderr.splitlines():
        if file := re.search(r"<([^>]*/study.ledger(-journal)?)>", line):
            (dirty.discard if "sync(" in line else dirty.add)(file[1])
        elif '"told"' in line:
            told += 1
            assert not dirty
    assert told == 5


@pytest.mark.theorem("sqlite-durable")
def test_a_new_file_and_its_folder_are_synced(path, monkeypatch):
    synced = []
    fsync = os.fsync
    monkeypatch.setattr(
        os,
        "fsync",
        lambda file: (synced.append(Path(f"/proc/self/fd/{file}").readlink()), fsync(file)),
    )
    Ledger.open(path, **TERMS).close()
    assert [name.parent for name in synced[:2]] == [path.parent, path.parent.parent]
    assert synced[1] == path.parent


@pytest.mark.theorem("sqlite-durable")
def test_what_a_dead_process_has_left_half_written_is_taken_back(ledger, path):
    before = path.read_bytes()
    code = """
import os, sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
for setting in ("journal_mode = PERSIST", "cache_size = 5"):
    connection.execute(f"PRAGMA {setting}")
connection.execute("BEGIN IMMEDIATE")
for seq in range(5, 1500):
    row = (seq, "start", str(seq), None, "x" * 999, f"{seq:064d}", None)
    connection.execute("INSERT INTO entry VALUES (?, ?, ?, ?, ?, ?, ?)", row)
os._exit(9)
"""
    assert subprocess.run([sys.executable, "-c", code, path], check=False).returncode == 9
    assert path.read_bytes() != before
    assert verify_file(path).ok
    assert path.read_bytes() == before
    assert ledger.receipt.seq == 4


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE entry SET line = 'x'",
        "UPDATE entry SET answer = x'00' WHERE kind = 'release'",
        "DELETE FROM entry",
        "INSERT OR REPLACE INTO entry SELECT * FROM entry WHERE seq = 2",
        "INSERT INTO entry VALUES (9, 'start', 'x', NULL, '{}', printf('%064d', 7), NULL)",
        "INSERT INTO entry VALUES (5, 'charge', 'secret key', '', '{}', printf('%064d', 7), NULL)",
        "INSERT INTO entry VALUES (5, 'release', 'secret key', '', '{}', printf('%064d', 7), x'')",
    ],
)
def test_entries_cannot_be_changed_through_sql(ledger, path, statement):
    with pytest.raises(sqlite3.IntegrityError):
        direct(path, statement)
    assert ledger.verify().ok


def test_another_program_that_keeps_it_busy_is_waited_for_and_then_given_up(ledger, path):
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with Ledger.open(path, timeout=0.2) as hasty, pytest.raises(LedgerUnavailable, match="BUSY"):
        hasty.charge(ONE, key="k")
    other.execute("ROLLBACK")
    other.close()
    assert ledger.charge(ONE, key="k").new


def test_errors_hold_nothing_of_what_is_stored(ledger, path):
    ledger.close()
    change = "UPDATE entry SET line = CAST(x'ff80736563726574' AS TEXT)"  # no text, and secret
    direct(path, "DROP TRIGGER never_changed", change)
    with pytest.raises(DamagedLedger) as error:
        Ledger.open(path)
    found, shown = error.value, ""
    while found is not None:
        shown += f"{found!s} {found!r}"
        found = found.__cause__ or found.__context__
    assert "secret" not in shown
