"""An open ledger stays the ledger that it is, whatever its address leads to afterwards."""

import os
from collections.abc import Callable

import pytest

from discreet.accounting import Budget
from discreet.errors import DamagedLedger, LedgerError, LedgerUnavailable
from discreet.ledger import Ledger
from discreet.ledger.batch import LastSeenEntry
from discreet.ledger.connection import LedgerConnection
from discreet.ledger.opening_terms import OpeningTerms
from discreet.ledger.stores.sqlite import SQLiteStore
from discreet.loss import Pure
from discreet.units import row
from tests.ledger.disk import Disk, DiskStore
from tests.ledger.processes import forked

TERMS = {"unit": row(), "budget": Budget(epsilon=1)}
LITTLE = Pure(epsilon="0.1")
NAME = "study.ledger"
VERBS: dict[str, Callable[[Ledger], object]] = {
    "charge": lambda ledger: ledger.charge(LITTLE, key="more"),
    "start": lambda ledger: ledger.start("b0"),
    "find": lambda ledger: ledger.find("asked"),
    "left": lambda ledger: ledger.left(),
    "entries": lambda ledger: list(ledger.entries()),
    "verify": lambda ledger: ledger.verify(),
    "receipt": lambda ledger: ledger.receipt,
}


@pytest.fixture(params=[1, 3, 8])
def folders(tmp_path, request):
    """Two folders with a ledger each, the second with as many entries, fewer, or more."""
    for name in ("A", "B"):
        (tmp_path / name).mkdir()
    with Ledger.open(tmp_path / "B" / NAME, **TERMS) as other:
        for number in range(request.param):
            other.charge(LITTLE, key=f"b{number}", question="asked" if not number else "")
        other.start("b0")
        other.release("b0", b"of B")
    return tmp_path


def used(address):
    """Open a ledger, and use it."""
    ledger = Ledger.open(address, **TERMS)
    for number in range(3):
        ledger.charge(LITTLE, key=f"a{number}")
    return ledger


def exchange(folders):
    (folders / "A").rename(folders / "old")
    (folders / "B").rename(folders / "A")


def stands(address):
    with Ledger.open(address) as ledger:
        return ledger.receipt


def refuses(ledger):
    """Every verb is refused, however often it is tried."""
    for _ in range(3):
        for verb in VERBS.values():
            with pytest.raises(DamagedLedger):
                verb(ledger)


def in_child(work, *arguments):
    """Run something in a fork, and say whether it went well there."""
    return os.waitpid(forked(work, *arguments), 0)[1] == 0


def test_a_path_means_the_same_wherever_the_process_goes(folders, monkeypatch):
    before = stands(folders / "B" / NAME)
    monkeypatch.chdir(folders / "A")
    ledger = used(NAME)
    name = ledger.id
    for place in ("B", "."):
        monkeypatch.chdir(folders / place)
        assert ledger.find("asked") is None
        assert ledger.verify().ledger == name
        assert next(iter(ledger.entries()))["ledger"] == name
        assert in_child(lambda: ledger.charge(LITTLE, key=f"child {os.getpid()}"))
        assert ledger.left().amounts[0] == (6 if place == "B" else 5) * 10**23
    ledger.close()
    assert stands(folders / "B" / NAME) == before


def test_a_link_is_followed_once(folders):
    before = stands(folders / "B" / NAME)
    link = folders / "current"
    link.symlink_to(folders / "A")
    ledger = used(link / NAME)
    link.unlink()
    link.symlink_to(folders / "B")
    assert ledger.find("asked") is None
    assert in_child(lambda: ledger.charge(LITTLE, key="child"))
    assert ledger.charge(LITTLE, key="parent").seq == 6
    ledger.close()
    assert stands(folders / "B" / NAME) == before


@pytest.mark.theorem("one-ledger")
def test_another_ledger_in_its_place_is_refused_after_a_fork(folders):
    ledger = used(folders / "A" / NAME)
    before = stands(folders / "B" / NAME)
    exchange(folders)
    assert in_child(refuses, ledger)
    refuses(ledger)
    assert stands(folders / "A" / NAME) == before
    (folders / "A").rename(folders / "B")
    (folders / "old").rename(folders / "A")
    assert ledger.charge(LITTLE, key="back again").seq == 5
    assert ledger.find("asked") is None
    ledger.close()


@pytest.mark.theorem("one-ledger")
def test_another_ledger_in_its_place_is_refused_after_a_write_that_failed(folders, monkeypatch):
    ledger = used(folders / "A" / NAME)
    before = stands(folders / "B" / NAME)

    def full(*_):
        raise LedgerUnavailable(what="the disk is full.", why="", do="")

    with monkeypatch.context() as patched:
        patched.setattr(SQLiteStore, "append", full)
        with pytest.raises(LedgerUnavailable):
            ledger.charge(LITTLE, key="failed")
    exchange(folders)
    refuses(ledger)
    ledger.close()
    assert stands(folders / "A" / NAME) == before


@pytest.mark.parametrize("verb", ["find", "entries", "verify"])
def test_what_is_read_later_is_of_the_same_ledger(folders, verb):
    """The second store is opened when something is read for the first time."""
    with used(folders / "A" / NAME) as ledger:
        exchange(folders)
        for _ in range(2):
            with pytest.raises(LedgerError):
                VERBS[verb](ledger)


def test_a_session_that_was_begun_again_reads_the_same_ledger():
    """A store on a server connects again by itself when it has lost its session."""
    disks = [Disk(), Disk()]
    terms = OpeningTerms(unit=row(), budget=Budget(epsilon=1))
    ours, theirs = (
        LedgerConnection(lambda disk=disk: DiskStore(disk), terms, timeout=20, seen=LastSeenEntry())
        for disk in disks
    )
    assert [row.kind for row in ours.rows(0, answers=False)] == ["open"]
    ours._reader.disk = disks[1]
    with pytest.raises(DamagedLedger):
        ours.read(lambda store: store.first_answer("asked"))
    assert ours.read(lambda store: store.first_answer("asked")) is None
    ours.close()
    theirs.close()
