"""One ledger, one budget: other names, missing side files, copies and leftovers grant nothing."""

import hashlib
import os
import shlex
import shutil
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import replace

import pytest

from discreet.accounting import Box, Budget, equals
from discreet.errors import (
    DamagedLedger,
    LedgerError,
    NotALedger,
    OtherLedger,
    OverBudget,
    QuestionClosed,
)
from discreet.ledger import Ledger
from discreet.ledger.stores import sqlite_files
from discreet.ledger.stores.file_identity import WitnessCard, birth_time
from discreet.ledger.verify import verify, verify_file
from discreet.loss import Pure
from discreet.units import row
from tests.ledger.chains import Chain
from tests.ledger.processes import forked

TERMS = {"unit": row(), "budget": Budget(epsilon=1)}
MOST = Pure(epsilon="0.9")
LITTLE = Pure(epsilon="0.1")
SIDES = ("-wal", "-shm", "-turn", "-next")
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


def test_a_hard_link_is_refused_under_both_names_on_every_charge(path, tmp_path):
    other = tmp_path / "other.ledger"
    with Ledger.open(path, **TERMS) as ledger:
        ledger.charge(LITTLE, key="first")
        os.link(path, other)
        with pytest.raises(DamagedLedger, match="more than one name"):
            ledger.charge(MOST, key="k")
        for name in (path, other):
            with pytest.raises(DamagedLedger, match="more than one name"):
                Ledger.open(name)
            assert in_other_process(name) == "DamagedLedger"
        other.unlink()
        ledger.charge(MOST, key="k")
    assert not verify_file(path).problems


def test_the_auditor_sees_other_names_and_entries_that_are_missing_at_the_end(path, tmp_path):
    killed(path, keys=2)
    assert verify_file(path).ok
    other = tmp_path / "other"
    os.link(path, other)
    assert not verify_file(path).ok
    assert not verify_file(other).ok
    other.unlink()
    beside(path, "-wal").unlink()
    assert [problem.kind for problem in verify_file(path).problems] == ["file"]


def mounted(path, place):
    """Charge in a process in which a single file is mounted at another place."""
    quoted = " ".join(shlex.quote(each) for each in charging(place))
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
@pytest.mark.parametrize("with_card", [False, True])
@pytest.mark.parametrize("state", ["open", "killed"])
def test_a_single_file_that_is_mounted_elsewhere_grants_nothing(path, tmp_path, state, with_card):
    """As container volumes do: the same inode, in a folder without the files beside it."""
    if not can_mount(tmp_path):
        unavailable("files cannot be mounted here")
    place = tmp_path / "container" / path.name
    place.parent.mkdir()
    place.touch()
    killed(path, keys=3)
    ledger = Ledger.open(path) if state == "open" else None
    if with_card:
        shutil.copy(beside(path, "-turn"), beside(place, "-turn"))
    assert mounted(path, place) in {"DamagedLedger", "LedgerUnavailable"}
    if ledger is not None:
        ledger.charge(Pure(epsilon="0.7"), key="k")
        assert mounted(path, place) in {"DamagedLedger", "LedgerUnavailable"}
        ledger.close()


def test_the_same_folder_under_two_names_is_one_place(path, tmp_path):
    """A folder that is mounted, or linked, twice has the same side files under both names."""
    link = tmp_path / "link"
    link.symlink_to(path.parent)
    with Ledger.open(path, **TERMS) as ledger, Ledger.open(link / path.name) as other:
        ledger.charge(MOST, key="k")
        assert other.left().amounts[0] == 10**23
        assert in_other_process(link / path.name) == "OverBudget"


# --- side files ---------------------------------------------------------------------------------


@pytest.mark.parametrize("names", [["-wal"], ["-shm"], ["-wal", "-shm"], ["-turn"], SIDES])
def test_side_files_that_are_removed_beside_an_open_ledger(path, names):
    ledger = Ledger.open(path, **TERMS)
    ledger.charge(Pure(epsilon="0.5"), key="first")
    for name in names:
        beside(path, name).unlink()
    assert in_other_process(path) in {"DamagedLedger", "LedgerUnavailable"}
    with pytest.raises(LedgerError):
        Ledger.open(path).charge(MOST, key="third")
    with pytest.raises(LedgerError):
        ledger.charge(MOST, key="second")
    ledger.close()
    try:
        with Ledger.open(path) as again:
            assert again.left().amounts[0] == 5 * 10**23
    except DamagedLedger:
        assert "-turn" in names


@pytest.mark.theorem("witness-card")
@pytest.mark.parametrize("how", ["removed", "emptied", "torn", "older"])
def test_a_log_that_is_lost_after_a_crash_is_missed(path, tmp_path, how):
    Ledger.open(path, **TERMS).close()
    killed(path, keys=2)
    log = beside(path, "-wal")
    older = log.read_bytes()
    if how == "older":
        killed(path, keys=2)
        log.write_bytes(older)
    elif how == "removed":
        log.unlink()
    elif how == "emptied":
        log.write_bytes(b"")
    else:
        log.write_bytes(older[: len(older) // 2])
    for _ in range(2):
        with pytest.raises(DamagedLedger):
            Ledger.open(path, **TERMS)


# --- copies, and what is left -------------------------------------------------------------------


def test_a_copy_of_an_open_ledger_is_refused(path, tmp_path):
    copy = tmp_path / "copy.ledger"
    with Ledger.open(path, **TERMS) as ledger:
        ledger.charge(MOST, key="k")
        shutil.copy(path, copy)
        for terms in ({}, TERMS):
            with pytest.raises(DamagedLedger, match="copy"):
                Ledger.open(copy, **terms)
        for name in SIDES:
            shutil.copy(beside(path, name), beside(copy, name))
        with pytest.raises(DamagedLedger, match="copy"):
            Ledger.open(copy, **TERMS)
    shutil.copy(path, tmp_path / "closed.ledger")
    with pytest.raises(DamagedLedger, match="copy"):
        Ledger.open(tmp_path / "closed.ledger", **TERMS)


def with_all_files(path, copy):
    for name in ("", *SIDES):
        if beside(path, name).exists():
            shutil.copy2(beside(path, name), beside(copy, name))


def test_a_copy_that_got_the_same_inode_number_on_another_file_system(path, tmp_path):
    """Such a copy differs from the original in nothing but the time at which it was made."""
    if not birth_time(tmp_path):
        unavailable("this file system does not keep when files were made")
    with Ledger.open(path, **TERMS) as ledger:
        ledger.charge(LITTLE, key="k")
    copy = tmp_path / "copy.ledger"
    with_all_files(path, copy)
    card = WitnessCard.read(beside(copy, "-turn").read_bytes())
    for birth, refused in ((card.birth, True), (birth_time(copy), False)):
        same = replace(card, inode=copy.stat().st_ino, birth=birth)
        beside(copy, "-turn").write_bytes(same.written())
        if refused:
            with pytest.raises(DamagedLedger, match="copy"):
                Ledger.open(copy)
        else:
            Ledger.open(copy).close()


def overlaid(lower, folder, command):
    """Run a command in a process that sees a folder as a container sees that of its image."""
    for name in ("upper", "work", "merged"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    layers = f"lowerdir={lower},upperdir={folder / 'upper'},workdir={folder / 'work'}"
    quoted = " ".join(shlex.quote(each) for each in command)
    inside = f"mount -t overlay overlay -o {layers} {folder / 'merged'} && exec {quoted}"
    return told(["unshare", "-m", "/bin/sh", "-c", inside])


def test_a_ledger_in_an_image_grants_nothing_in_its_containers(path, tmp_path):
    if not can_mount(tmp_path) or overlaid(path.parent, tmp_path / "try", ["echo", "y"]) != "y":
        unavailable("layers cannot be mounted here")
    Ledger.open(path, **TERMS).close()
    for name in ("one", "two"):
        place = tmp_path / name / "merged" / path.name
        for _ in range(2):
            assert overlaid(path.parent, tmp_path / name, charging(place)) == "DamagedLedger"
    own = tmp_path / "one" / "merged" / "own.ledger"
    small = charging(own, epsilon="0.4")
    for _ in range(2):  # mounted anew each time
        assert overlaid(path.parent, tmp_path / "one", small) == "granted"
    assert in_other_process(path) == "granted"


def test_a_card_that_does_not_say_when_the_file_was_made(path):
    """Cards of the version before name the inode alone; they are written anew."""
    with Ledger.open(path, **TERMS) as ledger:
        ledger.charge(LITTLE, key="k")
    card = WitnessCard.read(beside(path, "-turn").read_bytes())
    said = f"discreet 1 {card.inode:020d} {card.seq:018d} {card.head}"
    check = hashlib.sha256(said.encode()).hexdigest()[:32]
    beside(path, "-turn").write_text(f"{said} {check}\n")
    assert verify_file(path).ok
    Ledger.open(path).close()
    assert WitnessCard.read(beside(path, "-turn").read_bytes()) == card


def test_the_first_entry_is_in_the_file_before_anything_else(path):
    with Ledger.open(path, **TERMS):
        lone = path.read_bytes()
    assert b'"kind":"open"' in lone


@pytest.mark.parametrize("how", ["removed", "emptied", "truncated"])
@pytest.mark.parametrize("state", ["killed", "closed"])
def test_what_is_left_of_a_ledger_is_no_place_for_a_new_one(path, how, state):
    killed(path, keys=2)
    if state == "closed":
        Ledger.open(path).close()
    if how == "removed":
        path.unlink()
    else:
        os.truncate(path, 0 if how == "emptied" else 4096)
    for terms in (TERMS, {}):
        with pytest.raises(DamagedLedger):
            Ledger.open(path, **terms)


@pytest.mark.parametrize("how", ["removed", "emptied", "truncated"])
def test_a_file_that_is_damaged_while_it_is_open_takes_no_charges(path, how):
    with Ledger.open(path, **TERMS) as ledger:
        ledger.charge(LITTLE, key="first")
        if how == "removed":
            path.unlink()
        else:
            os.truncate(path, 0 if how == "emptied" else 4096)
        with pytest.raises(DamagedLedger):
            ledger.charge(MOST, key="second")
        assert in_other_process(path) == "DamagedLedger"


@pytest.mark.parametrize("when", ["_fill", "sync"])
def test_where_making_a_ledger_was_cut_short_one_can_be_made(path, monkeypatch, when):
    """Nothing was charged there yet, so that nothing can be forgotten, and nothing stays."""
    with monkeypatch.context() as patch:
        patch.setattr(sqlite_files, when, lambda *_: os._exit(9))
        assert os.waitpid(forked(lambda: Ledger.open(path, **TERMS)), 0)[1] == 9 << 8
    assert [file.name for file in path.parent.iterdir() if file.name.endswith(".new")]
    with Ledger.open(path, **TERMS) as ledger:
        ledger.charge(LITTLE, key="k")
    assert sorted(file.name for file in path.parent.iterdir()) == [
        path.name + name for name in ("", "-next", "-turn")
    ]


@pytest.mark.parametrize("cut_short", [False, True])
def test_making_a_ledger_removes_no_file_of_another(path, cut_short):
    """Whatever its name is: a ledger, a copy of one, one that is being made, or none at all."""
    if cut_short:
        beside(path, "-turn").write_bytes(WitnessCard(7).written())
    others = [path.with_name(f".{path.name}.{word}") for word in ("1.new", "a.2.new", "b_3.new")]
    Ledger.open(others[0], **TERMS).close()
    shutil.copy(others[0], others[1])
    others[2].write_bytes(b"half of another")
    (path.parent / f".{path.name}.4.new-journal").write_bytes(b"")
    before = {file.name: file.read_bytes() for file in path.parent.iterdir()}
    Ledger.open(path, **TERMS).close()
    before.pop(f"{path.name}-turn", None)
    after = {file.name: file.read_bytes() for file in path.parent.iterdir()}
    assert {name: after.get(name) for name in before} == before
    with Ledger.open(others[0]) as other:
        assert other.verify().ok


@pytest.mark.parametrize("own_card", [False, True])
def test_a_file_on_the_card_is_removed_unless_it_has_a_card_of_its_own(path, own_card):
    """On a file system without birth times another file may have got the same inode."""
    other = path.with_name(f".{path.name}.x.new")
    other.write_bytes(b"half of a ledger")
    beside(path, "-turn").write_bytes(WitnessCard(other.stat().st_ino).written())
    if own_card:
        beside(other, "-turn").write_bytes(b"")
    Ledger.open(path, **TERMS).close()
    assert other.exists() == own_card


def test_ledgers_whose_names_begin_alike_are_made_at_once(tmp_path):
    names = ["x", "x.ledger", "x.ledger.more"]
    for case in range(8):
        folder = tmp_path / str(case)
        folder.mkdir()
        children = [
            forked(lambda place=folder / name: Ledger.open(place, **TERMS).close())
            for name in names
        ]
        assert [os.waitpid(child, 0)[1] for child in children] == [0, 0, 0]
        assert sorted(file.name for file in folder.iterdir() if "-" not in file.name) == names


def test_a_pipe_in_the_place_of_a_card_keeps_nobody_waiting(path):
    Ledger.open(path, **TERMS).close()
    beside(path, "-turn").unlink()
    os.mkfifo(beside(path, "-turn"))
    with pytest.raises(DamagedLedger):
        Ledger.open(path)


def test_a_ledger_moves_with_the_files_beside_it(path, tmp_path):
    with Ledger.open(path, **TERMS) as ledger:
        ledger.charge(LITTLE, key="k")
    folder = tmp_path / "elsewhere"
    path.parent.rename(folder)
    with Ledger.open(folder / path.name) as ledger:
        assert ledger.left().amounts[0] == 9 * 10**23
    with pytest.raises(NotALedger):
        Ledger.open(path)


def test_a_ledger_of_the_version_before_opens_as_it_did(path):
    """Its file has no card yet; it gets one, and everything is in the file from then on."""
    with Ledger.open(path, **TERMS) as ledger:
        ledger.charge(LITTLE, key="k")
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("PRAGMA user_version = 2")
    database.close()
    for name in ("-turn", "-next"):
        beside(path, name).unlink()
    with Ledger.open(path) as ledger:
        assert ledger.left().amounts[0] == 9 * 10**23
        assert WitnessCard.read(beside(path, "-turn").read_bytes()).seq == 2
        assert ledger.verify().ok
    shutil.copy(path, path.with_name("copy"))
    with pytest.raises(DamagedLedger, match="copy"):
        Ledger.open(path.with_name("copy"))


# --- backups ------------------------------------------------------------------------------------


def test_a_backup_is_made_while_the_ledger_is_in_use_and_is_no_ledger(path, tmp_path):
    with Ledger.open(path, **TERMS) as ledger:
        ledger.charge(LITTLE, key="k")
        receipt = ledger.backup(tmp_path / "backup")
        assert receipt == ledger.receipt
        assert verify_file(tmp_path / "backup", receipts=[receipt]).ok
        with pytest.raises(NotALedger):
            Ledger.open(tmp_path / "backup", **TERMS)


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


def test_with_the_last_receipt_nothing_is_unknown(path, tmp_path):
    with Ledger.open(path, **TERMS) as ledger:
        early = ledger.charge(LITTLE, key="k").receipt
        last = ledger.charge(LITTLE, key="l").receipt
        ledger.backup(tmp_path / "backup")
    with pytest.raises(OtherLedger):
        Ledger.restore(tmp_path / "new", tmp_path / "backup", last=early, **PEOPLE)
    assert not (tmp_path / "new").exists()
    with Ledger.restore(tmp_path / "new", tmp_path / "backup", last=str(last), **PEOPLE) as back:
        assert back.left().amounts[0] == 8 * 10**23


def test_a_file_that_cannot_be_used_any_more_is_restored_from_itself(path, tmp_path):
    with Ledger.open(path, **TERMS) as ledger:
        ledger.charge(LITTLE, key="k")
    copy = tmp_path / "copy.ledger"
    shutil.copy(path, copy)
    with Ledger.restore(tmp_path / "new", copy, **PEOPLE) as back:
        assert back.left().amounts == (0, 0)
        with pytest.raises(QuestionClosed):
            back.charge(LITTLE, key="k")


@pytest.mark.parametrize("started", [False, True])
def test_what_the_old_ledger_may_have_answered_is_not_drawn_again(path, tmp_path, started):
    with Ledger.open(path, **TERMS) as ledger:
        ledger.charge(LITTLE, key="k")
        if started:
            ledger.start("k")
        ledger.charge(LITTLE, key="answered")
        ledger.start("answered")
        ledger.release("answered", b"0")
        ledger.backup(tmp_path / "backup")
        if not started:
            ledger.start("k")
        ledger.release("k", b"1")
        last = ledger.receipt
    with Ledger.restore(tmp_path / "new", tmp_path / "backup", **PEOPLE) as back:
        assert back.closed == ("k",)
        for verb in (lambda: back.charge(LITTLE, key="k"), lambda: back.start("k")):
            with pytest.raises(QuestionClosed):
                verb()
        assert back.start("answered").answer == b"0"
        assert back.verify().ok
    with Ledger.open(path, **TERMS) as ledger:
        ledger.backup(tmp_path / "later")
    vouched = Ledger.restore(tmp_path / "whole", tmp_path / "later", last=last, **PEOPLE)
    with vouched as back:
        assert back.closed == ()


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_the_auditor_sees_charges_after_everything_was_spent(relation):
    chain = Chain(Budget(epsilon=1), unit=row(relation=relation))
    chain.charge("k", Pure(epsilon="0.1"))
    chain.restore(spent=True)
    assert verify(chain.rows()).ok
    assert verify(chain.rows()).accounts[0].spent == (10**24, 0)
    chain.charge("l", Pure(epsilon="0.1"))
    assert [(problem.seq, problem.kind) for problem in verify(chain.rows()).problems] == [
        (4, "sum")
    ]
