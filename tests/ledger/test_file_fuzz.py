"""Ledger files that are damaged at random: no budget comes back, and no charge is forgotten.

A case takes the files of a ledger that was closed or killed, damages one of them (bytes are
flipped, cut off, dropped, or exchanged for an older state of the same file), and opens the ledger.
It is refused, or it is as it was: the same receipt at its end, and not more left than before.
One file at a time: whoever exchanges all of them for an older state has an older ledger, which only
a receipt can tell from the present one.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys

import pytest

from chaos.cards import carried
from discreet.accounting import Budget
from discreet.errors import LedgerError
from discreet.ledger import Ledger
from discreet.loss import Pure
from discreet.units import row

NAMES = ("", "-wal", "-shm", "-turn", "-next")
SHORT, LONG = 250, 10_000
PARTS = 100
KEPT = ("", "-wal")
"""The files that hold entries, in which most damage is done: others are written anew."""
CHARGES = 12
PROGRAM = """
import os, signal, sys
from discreet.accounting import Budget
from discreet.ledger import Ledger
from discreet.loss import Pure
from discreet.units import row
ledger = Ledger.open(sys.argv[1], unit=row(), budget=Budget(epsilon=1))
for number in range(int(sys.argv[2]), int(sys.argv[3])):
    ledger.charge(Pure(epsilon="0.01"), key=f"k{number}")
    ledger.start(f"k{number}")
    ledger.release(f"k{number}", b"x" * 700)
print(ledger.receipt, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def killed(path, first, last):
    """Let a process answer questions, be killed, and return the last receipt."""
    command = [sys.executable, "-c", PROGRAM, str(path), str(first), str(last)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr
    return done.stdout.strip()


def files(path):
    """What the files of a ledger hold."""
    found = {name: path.with_name(path.name + name) for name in NAMES}
    return {name: place.read_bytes() for name, place in found.items() if place.exists()}


@pytest.fixture(scope="module")
def states(tmp_path_factory):
    """Ledgers that were killed and closed, each with an older state of itself."""
    path = tmp_path_factory.mktemp("fuzz") / "ledger"
    killed(path, 0, CHARGES // 2)
    before = files(path)
    receipt = killed(path, CHARGES // 2, CHARGES)
    after = files(path)
    found = [(before, after, receipt)]
    with Ledger.open(path) as ledger:
        assert str(ledger.receipt) == receipt
    closed = files(path)
    found.append((after, closed, receipt))
    with Ledger.open(path) as ledger:
        ledger.charge(Pure(epsilon="0.01"), key="one more")
        receipt = str(ledger.receipt)
    found.append((closed, files(path), receipt))
    return found


def damaged(chosen, older, now):
    """Return files of which one is damaged."""
    held = dict(now)
    names = [each for each in held if held[each]]
    some = [each for each in names if each in KEPT] if chosen.random() < 0.8 else names
    name = chosen.choice(some)
    data = bytearray(held[name])
    match chosen.choice(("flip", "flip", "flip", "cut", "drop", "swap", "zeros", "block")):
        case "flip":
            for _ in range(chosen.choice((1, 1, 2, 8))):
                data[chosen.randrange(len(data))] ^= 1 << chosen.randrange(8)
        case "cut":
            del data[chosen.randrange(len(data)) :]
        case "zeros":
            at = chosen.randrange(len(data))
            end = min(len(data), at + chosen.choice((4, 64, 512, 4096)))
            data[at:end] = bytes(end - at)
        case "block":
            size = chosen.choice((24, 512, 4096))
            one, two = (chosen.randrange(0, len(data), size) for _ in range(2))
            data[one : one + size] = data[two : two + size]
        case "swap" if name in older:
            data = bytearray(older[name])
        case _:
            del held[name]
            return held
    held[name] = bytes(data)
    return held


def in_place(path, held):
    for name in NAMES:
        place = path.with_name(path.name + name)
        place.unlink(missing_ok=True)
        if name in held:
            place.write_bytes(held[name])
    carried(path)


def look(path, receipt, left):
    """Open a damaged ledger, and say whether it was accepted; it has to be whole then."""
    try:
        with Ledger.open(path, unit=row(), budget=Budget(epsilon=1), timeout=5) as ledger:
            assert str(ledger.receipt) == receipt
            assert ledger.left().amounts <= left
            ledger.charge(Pure(epsilon="0.01"), key="another")
            assert ledger.left().amounts[0] <= left[0] - 10**22
    except LedgerError:
        return False
    return True


def fuzz(states, folder, cases, seed):
    path = folder / "ledger"
    chosen = random.Random(seed)  # noqa: S311  (a choice of tests)
    accepted = 0
    for _ in range(cases):
        older, now, receipt = chosen.choice(states)
        spent = CHARGES + (receipt == states[-1][2])
        in_place(path, damaged(chosen, older, now))
        accepted += look(path, receipt, ((100 - spent) * 10**22, 0))
    return accepted


@pytest.fixture
def folder(tmp_path):
    place = tmp_path
    if os.access("/dev/shm", os.W_OK):  # noqa: S108
        place = type(tmp_path)(f"/dev/shm/discreet-fuzz-{os.getpid()}")  # noqa: S108
        place.mkdir()
    yield place
    if place is not tmp_path:
        shutil.rmtree(place)


def test_a_damaged_ledger_is_refused_or_whole(states, folder):
    accepted = fuzz(states, folder, SHORT, seed=0)
    assert 0 < accepted < SHORT


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_a_million_damaged_ledgers_are_refused_or_whole(states, folder, capsys, part):
    accepted = fuzz(states, folder, LONG, seed=1 + part)
    with capsys.disabled():
        count = f"{(part + 1) * LONG:,} of {PARTS * LONG:,}"
        print(f"\n{count} damaged ledgers; {accepted:,} of {LONG:,} whole")  # noqa: T201
    assert 0 < accepted < LONG
