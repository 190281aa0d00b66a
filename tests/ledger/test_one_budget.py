"""One ledger, one budget: other names, mounts, copies and leftovers grant nothing."""

import os
import shlex
import shutil
import signal
import subprocess
import sys

import pytest

from discreet.accounting import Box, Budget, equals
from discreet.errors import (
    DamagedLedger,
    NotALedger,
    OverBudget,
    QuestionClosed,
    Tampered,
)
from discreet.ledger import Ledger
from discreet.ledger.verify import verify_file
from discreet.ledger.witness import WitnessFile
from discreet.loss import Pure
from discreet.units import row
from tests.ledger.programs import direct

TERMS = {"unit": row(), "budget": Budget(epsilon=1)}
MOST = Pure(epsilon="0.9")
LITTLE = Pure(epsilon="0.1")
PEOPLE = {"reason": "the disk is gone", "by": "ana", "approved_by": "ben"}


def unavailable(why):
    """Skip a test on a machine that cannot run it; where all tests must run, fail."""
    (pytest.fail if os.environ.get("CI") else pytest.skip)(why)


@pytest.fixture
def path(tmp_path):
    folder = tmp_path / "place"
    folder.mkdir()
    return folder / "study.ledger"


def beside(path, name):
    return path.with_name(path.name + name)


CHARGE = """
import os, signal, sys
from discreet.accounting import Budget
from discreet.errors import DiscreetError
from discreet.ledger import Ledger
from discreet.loss import Pure
from discreet.units import row

place, epsilon, keys, end = sys.argv[1:]
try:
    ledger = Ledger.open(place, unit=row(), budget=Budget(epsilon=1), timeout=5)
    for number in range(int(keys)):
        ledger.charge(Pure(epsilon=epsilon), key=f"{end} {number} {os.getpid()}")
    if end == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    ledger.close()
    print("granted")
except DiscreetError as error:
    print(type(error).__name__)
"""


def charging(path, *, epsilon="0.9", keys=1, end="closed"):
    return [sys.executable, "-c", CHARGE, str(path), epsilon, str(keys), end]


def told(command):
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    return done.stdout.strip() or done.stderr


def in_other_process(path, **more):
    """Charge in a process of its own, and return what came of it."""
    return told(charging(path, **more))


def killed(path, *, keys=1):
    """Charge in a process that is killed with the ledger open."""
    done = subprocess.run(charging(path, epsilon="0.1", keys=keys, end="killed"), check=False)
    assert done.returncode == -signal.SIGKILL


# --- other names --------------------------------------------------------------------------------


HALF = """
import os, sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
for setting in ("journal_mode = PERSIST", "synchronous = EXTRA", "cache_size = 5"):
    connection.execute(f"PRAGMA {setting}")
connection.execute("BEGIN IMMEDIATE")
first = connection.execute("SELECT max(seq) FROM entry").fetchone()[0] + 1
for seq in range(first, first + 1500):
    row = (seq, "start", str(seq), None, "x" * 999, f"{seq:064d}", None)
    connection.execute("INSERT INTO entry VALUES (?, ?, ?, ?, ?, ?, ?)", row)
os.write(1, b"half")
os._exit(9)
"""


def mounted(path, place, ledger=None, **more):
    """Charge in a process in which a file, or a folder, is mounted at another place."""
    quoted = " ".join(shlex.quote(each) for each in charging(ledger or place, **more))
    inside = f"mount --bind {path} {place} && exec {quoted}"
    return told(["unshare", "-m", "/bin/sh", "-c", inside])


def can_mount(folder):
    (folder / "a").touch()
    (folder / "b").touch()
    inside = f"mount --bind {folder / 'a'} {folder / 'b'} && echo yes"
    if shutil.which("unshare") is None:
        return False
    return told(["unshare", "-m", "/bin/sh", "-c", inside]) == "yes"


@pytest.mark.theorem("one-place")
@pytest.mark.parametrize("state", ["open", "killed", "amid a commit"])
def test_a_single_file_that_is_mounted_elsewhere_grants_nothing(path, tmp_path, state):
    """As container volumes do: the same inode, in a folder without the journal of the original."""
    if not can_mount(tmp_path):
        unavailable("files cannot be mounted here")
    place = tmp_path / "container" / path.name
    place.parent.mkdir()
    place.touch()
    killed(path, keys=3)
    ledger = Ledger.open(path) if state == "open" else None
    if state == "amid a commit":
        assert told([sys.executable, "-c", HALF, str(path)]) == "half"
    assert mounted(path, place) == "DamagedLedger"
    if ledger is not None:
        ledger.charge(Pure(epsilon="0.7"), key="k")
        assert mounted(path, place) == "DamagedLedger"
        ledger.close()
    assert in_other_process(path, epsilon="0.8") == "OverBudget"


# --- journals -----------------------------------------------------------------------------------


def test_what_was_told_is_in_the_file_alone(path, tmp_path):
    killed(path, keys=2)
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    path.rename(folder / path.name)
    with Ledger.open(folder / path.name) as ledger:
        assert ledger.left().amounts[0] == 8 * 10**23
    with pytest.raises(DamagedLedger, match="missing"):
        Ledger.open(path, **TERMS)


# --- copies, and what is left -------------------------------------------------------------------


def test_a_copy_is_refused(path, tmp_path):
    copy = tmp_path / "copy.ledger"
    with Ledger.open(path, **TERMS) as ledger:
        ledger.charge(MOST, key="k")
        shutil.copy(path, copy)
        shutil.copy(beside(path, "-journal"), beside(copy, "-journal"))
        for terms in ({}, TERMS):
            with pytest.raises(DamagedLedger, match="copy"):
                Ledger.open(copy, **terms)
    shutil.copy(path, tmp_path / "closed.ledger")
    with pytest.raises(DamagedLedger, match="copy"):
        Ledger.open(tmp_path / "closed.ledger", **TERMS)
    assert verify_file(copy).ok


@pytest.mark.theorem("anchored")
def test_an_older_state_in_the_same_file_is_known_by_its_witness(path, tmp_path):
    witness = WitnessFile(tmp_path / "witness")
    with Ledger.open(path, **TERMS) as ledger:
        ledger.charge(LITTLE, key="k")
    older = path.read_bytes()
    with Ledger.open(path) as ledger:
        ledger.charge(LITTLE, key="l")
        witness.extend(ledger, ledger.receipt)
    path.write_bytes(older)
    with Ledger.open(path) as ledger, pytest.raises(Tampered):
        witness.check(ledger)


def test_another_past_in_the_place_of_an_open_ledger_is_refused(path):
    """The same file, put back and charged again until it is as long, with one more commit."""
    with Ledger.open(path, **TERMS) as ledger:
        ledger.charge(LITTLE, key="a")
        kept = path.read_bytes()
        ledger.charge(LITTLE, key="b")
        path.write_bytes(kept)
        with Ledger.open(path) as other:
            other.charge(LITTLE, key="c")
        direct(path, "PRAGMA user_version = 2", "PRAGMA user_version = 1")
        with pytest.raises(DamagedLedger):
            ledger.charge(LITTLE, key="f")
        with pytest.raises(DamagedLedger):
            ledger.left()


@pytest.mark.parametrize("how", ["removed", "emptied", "truncated"])
def test_what_is_left_of_a_ledger_is_no_place_for_a_new_one(path, how):
    killed(path, keys=2)
    if how == "removed":
        path.unlink()
    else:
        os.truncate(path, 0 if how == "emptied" else 4096)
    for terms in (TERMS, {}):
        with pytest.raises((DamagedLedger, NotALedger)):
            Ledger.open(path, **terms)


# --- backups ------------------------------------------------------------------------------------


def test_what_may_be_unknown_counts_as_spent(path, tmp_path):
    with Ledger.open(path, **TERMS) as ledger:
        ledger.open_account("data/flu", budget=Budget(epsilon="0.5"), by="ana")
        ledger.charge(LITTLE, key="k", scope=Box({"ward": equals("A")}))
        ledger.backup(tmp_path / "backup")
        ledger.charge(LITTLE, key="after the backup")
    with Ledger.restore(tmp_path / "new", tmp_path / "backup", **PEOPLE) as back:
        assert back.left().amounts == (0, 0)
        for account in ("data", "data/flu"):
            with pytest.raises(OverBudget):
                back.charge(LITTLE, key="more", account=account)
        with pytest.raises(QuestionClosed):  # the old ledger may have answered it
            back.charge(LITTLE, key="k", scope=Box({"ward": equals("A")}))
        back.reopen("k", reason="it never did", by="ana")
        assert not back.charge(LITTLE, key="k", scope=Box({"ward": equals("A")})).new
        assert back.verify().ok
        back.raise_limit("data", budget=Budget(epsilon="1.1"), **PEOPLE)
        back.charge(LITTLE, key="more")
        with pytest.raises(OverBudget):
            back.charge(LITTLE, key="still more")
        assert back.verify().ok
        back.backup(tmp_path / "again")
    assert verify_file(tmp_path / "again").ok
    with Ledger.open(tmp_path / "new") as back:  # from its checkpoint
        assert back.left().amounts == (0, 0)
