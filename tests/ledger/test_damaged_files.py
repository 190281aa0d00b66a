"""Damage around the entries of a ledger file: what opens, what is verified, and what is refused."""

import sqlite3

import pytest

from discreet.accounting import Budget
from discreet.errors import DamagedLedger, LedgerError
from discreet.ledger import Ledger
from discreet.ledger.verify import verify_file
from discreet.loss import Pure
from discreet.units import row

KEY = "key number 2"
HEADS = "sqlite_autoindex_entry_1"


@pytest.fixture
def path(tmp_path):
    """A ledger with five answers, which nobody uses."""
    path = tmp_path / "study.ledger"
    with Ledger.open(path, unit=row(), budget=Budget(epsilon=1)) as ledger:
        for number in range(5):
            ask(ledger, f"key number {number}", f"{number}")
    return path


def ask(ledger, key, digit="x"):
    ledger.charge(Pure(epsilon="0.1"), key=key, question=digit * 64)
    ledger.start(key)
    return ledger.release(key, f"answer {digit}".encode())


def flip(path, at, bit=1):
    with path.open("r+b") as file:
        file.seek(at)
        byte = file.read(1)[0]
        file.seek(at)
        file.write(bytes([byte ^ bit]))


def place_in(path, name, data):
    """Where the page of a table or index holds some bytes."""
    database = sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)
    ((size,),) = database.execute("PRAGMA page_size")
    ((root,),) = database.execute("SELECT rootpage FROM sqlite_schema WHERE name = ?", [name])
    database.close()
    return path.read_bytes().index(data, (root - 1) * size, root * size)


def kinds(path):
    return {problem.kind for problem in verify_file(path).problems}


# --- indexes --------------------------------------------------------------------------------------


def indexed(path, name):
    """Where an index names the third key, its question or its head."""
    database = sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)
    found = database.execute("SELECT head FROM entry WHERE kind = 'charge' AND key = ?", [KEY])
    head = found.fetchone()[0]
    database.close()
    named = {"asked": "2" * 64, HEADS: head}.get(name, KEY)
    return place_in(path, name, named.encode()) + 5


@pytest.mark.parametrize("name", ["one_charge", "of_key", "one_release", "asked", HEADS])
def test_an_index_that_does_not_agree_with_its_table_is_damage(path, name):
    at = indexed(path, name)
    flip(path, at)
    before = path.read_bytes()
    assert kinds(path) == {"index"}
    with pytest.raises(DamagedLedger):
        Ledger.open(path)
    assert path.read_bytes() == before
    flip(path, at)
    assert verify_file(path).ok
    with Ledger.open(path) as ledger:
        assert ask(ledger, KEY, "2").replayed
        assert str(ledger.left()).startswith("epsilon 0.5 of 1")


def test_a_file_whose_entries_are_whole_can_be_restored(path, tmp_path):
    with Ledger.open(path) as ledger:
        last = ledger.receipt
    flip(path, indexed(path, "one_release"))
    assert kinds(path) == {"index"}
    place = tmp_path / "again.ledger"
    people = {"reason": "a damaged disk", "by": "Ana", "approved_by": "Ben"}
    with Ledger.restore(place, path, last=last, **people) as ledger:
        assert ask(ledger, KEY, "2").answer == b"answer 2"
        assert ask(ledger, KEY, "2").replayed


# --- tables and marks -----------------------------------------------------------------


@pytest.mark.parametrize("at", [60, 71])
def test_a_file_with_another_mark_or_a_later_version_is_not_ok(path, at):
    flip(path, at, 0x40)  # user version, application id
    assert "file" in kinds(path)
    with pytest.raises(LedgerError):
        Ledger.open(path)
