"""An open ledger stays the ledger that it is, whatever its address leads to afterwards."""

from collections.abc import Callable

import pytest

from discreet.accounting import Budget
from discreet.errors import DamagedLedger, LedgerUnavailable
from discreet.ledger import Ledger
from discreet.ledger.sqlite import SQLiteStore
from discreet.loss import Pure
from discreet.units import row

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


@pytest.mark.theorem("one-ledger")
def test_another_ledger_in_its_place_takes_no_charge(folders):
    ledger = used(folders / "A" / NAME)
    before = stands(folders / "B" / NAME)
    exchange(folders)
    for _ in range(3):
        with pytest.raises(DamagedLedger):
            ledger.charge(LITTLE, key="more")
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
