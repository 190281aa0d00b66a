"""Anchors and witnesses: a ledger that was put back is known, and a whole one is never refused."""

import fcntl
import time

import pytest

from discreet.accounting import Budget
from discreet.errors import LedgerUnavailable, NotALedger, OtherLedger, Tampered
from discreet.ledger import Ledger, Receipt
from discreet.ledger import witness as anchors
from discreet.ledger.witness import Anchor, WitnessFile
from discreet.loss import Pure
from discreet.units import row

TERMS = {"unit": row(), "budget": Budget(epsilon=10)}
LITTLE = Pure(epsilon="0.1")
PEOPLE = {"reason": "the disk is gone", "by": "ana", "approved_by": "ben"}
FILES = ("", "-journal")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "study.ledger"


@pytest.fixture
def witness(tmp_path):
    return WitnessFile(tmp_path / "elsewhere.witness")


def taken(path):
    """Return all bytes of a closed ledger, with what tells a copy from it."""
    files = {name: path.with_name(path.name + name) for name in FILES}
    return {name: file.read_bytes() for name, file in files.items() if file.exists()}


def put_back(path, kept):
    """Put an older state back in place, as a snapshot of a whole disk does."""
    for name, data in kept.items():
        place = path.with_name(path.name + name)
        with place.open("r+b") as file:
            file.write(data)
            file.truncate()


def history(path, witness, *, steps=5):
    """Anchor a ledger after each of some charges; return its states, the first one new."""
    states = []
    for step in range(steps):
        with Ledger.open(path, **TERMS) as ledger:
            if step:
                ledger.charge(LITTLE, key=f"k{step}")
            witness.extend(ledger, ledger.last_seen)
        states.append(taken(path))
    return states


# --- the theorem ----------------------------------------------------------------------------------


@pytest.mark.theorem("anchored")
def test_a_ledger_is_accepted_where_it_holds_the_last_whole_anchor_and_nowhere_else(
    path, witness, tmp_path
):
    """Every state of a ledger, against every number of bytes of its witness."""
    states = history(path, witness)
    data = (tmp_path / "elsewhere.witness").read_bytes()
    ends = [at + 1 for at, byte in enumerate(data) if byte == ord("\n")]
    assert len(ends) == len(states)
    cut = tmp_path / "cut.witness"
    refused = 0
    for state, kept in enumerate(states, start=1):
        put_back(path, kept)
        with Ledger.open(path) as ledger:
            assert ledger.receipt.seq == state
            for length in range(len(data) + 1):
                cut.write_bytes(data[:length])
                anchors = sum(end <= length for end in ends)
                whole = anchors <= state and (anchors > 0 or state == 1)
                try:
                    WitnessFile(cut).check(ledger)
                except Tampered:
                    assert not whole
                    refused += 1
                else:
                    assert whole
    assert refused > len(data)


@pytest.mark.theorem("anchored")
def test_an_anchor_of_another_past_is_not_continued(path, witness):
    states = history(path, witness, steps=3)
    put_back(path, states[1])
    with Ledger.open(path) as ledger:
        ledger.charge(LITTLE, key="other")
        ledger.charge(LITTLE, key="another")
        with pytest.raises(Tampered, match="witness knows entry 3"):
            witness.check(ledger)
        with pytest.raises(Tampered):
            witness.extend(ledger, ledger.receipt)
    assert witness.last().receipt.seq == 3


# --- the file -------------------------------------------------------------------------------------


def anchor(seq):
    return Anchor("2026-11-17T15:40:00.000000Z", Receipt("1" * 32, seq, "a" * 64))


@pytest.mark.parametrize("torn", [b"2026-11-17T15:4", b"\0" * 300, b"x" * 200_000, b"\n\n"])
def test_what_a_power_cut_has_torn_does_not_count_and_hides_nothing(tmp_path, torn):
    place = tmp_path / "w"
    file = WitnessFile(place)
    for seq in (3, 5):
        file.append(anchor(seq))
        with place.open("ab") as raw:
            raw.write(torn)
        assert file.last() == anchor(seq)
    file.append(anchor(9))
    assert file.last() == anchor(9)
    assert place.stat().st_mode & 0o077 == 0


def test_a_damaged_last_line_is_refused_and_the_one_before_it_does_not_count(
    path, witness, tmp_path
):
    """Any byte of the last line but its newline, exchanged for one that belongs to no anchor."""
    history(path, witness, steps=3)
    place = tmp_path / "elsewhere.witness"
    data = place.read_bytes()
    last = data.rstrip(b"\n").rfind(b"\n") + 1
    with Ledger.open(path) as ledger:
        ledger.charge(LITTLE, key="further")
        for at in range(last, len(data) - 1):
            place.write_bytes(data[:at] + b"?" + data[at + 1 :])
            with pytest.raises(Tampered, match="damaged"):
                witness.check(ledger)
        with pytest.raises(Tampered, match="damaged") as caught:
            witness.extend(ledger, ledger.receipt)
        assert "discreet ledger anchor" in caught.value.do
    assert place.read_bytes().count(b"\n") == data.count(b"\n")


@pytest.mark.parametrize(
    "content",
    [b"[budget]\nepsilon = 1\n", b"a,b\n1,2", b"PAR1\0\0\n\0", b"x", b"\0" * 50 + b"x", b"1,2\n3"],
)
def test_some_other_file_is_refused_and_stays_as_it_is(path, tmp_path, content):
    place = tmp_path / "w"
    place.write_bytes(content)
    with Ledger.open(path, **TERMS) as ledger:
        witness = WitnessFile(place)
        for verb in (witness.check, lambda each: witness.extend(each, each.receipt)):
            with pytest.raises(NotALedger, match="other file"):
                verb(ledger)
    assert place.read_bytes() == content


@pytest.mark.parametrize("ending", ["", "-backups", "-journal"])
def test_files_of_a_ledger_are_no_witness_and_no_place_for_a_copy(path, tmp_path, ending):
    own = path.with_name(path.name + ending)
    with Ledger.open(path, **TERMS) as ledger:
        ledger.charge(LITTLE, key="k")
        ledger.backup(tmp_path / "monday")  # which notes itself in a file of anchors
        (tmp_path / "link").symlink_to(own)
        if ending == "-backups":
            (tmp_path / "name").hardlink_to(own)
        before = own.read_bytes() if own.exists() else None
        for each in (own, tmp_path / "link", tmp_path / "name"):
            if each.exists() or each == own:
                witness = WitnessFile(each)
                with pytest.raises(NotALedger, match="files of the ledger"):
                    witness.check(ledger)
                with pytest.raises(NotALedger, match="files of the ledger"):
                    witness.extend(ledger, ledger.receipt)
        with pytest.raises(OtherLedger, match="belongs to the ledger"):
            ledger.backup(own)
        assert (own.read_bytes() if own.exists() else None) == before


def test_a_lock_that_somebody_holds_is_not_waited_for_without_end(
    path, witness, tmp_path, monkeypatch
):
    monkeypatch.setattr(anchors, "_LOCK_WAIT", 0.2)
    with Ledger.open(path, **TERMS) as ledger:
        witness.extend(ledger, ledger.receipt)
        ledger.charge(LITTLE, key="k")
        with (tmp_path / "elsewhere.witness").open("rb") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            begun = time.monotonic()
            with pytest.raises(LedgerUnavailable, match="keeps it locked"):
                witness.extend(ledger, ledger.receipt)
            assert time.monotonic() - begun < 10
            witness.check(ledger)  # reading needs no lock
        assert witness.extend(ledger, ledger.receipt).receipt == ledger.receipt


def test_an_older_receipt_adds_no_line(path, witness):
    with Ledger.open(path, **TERMS) as ledger:
        first = ledger.receipt
        ledger.charge(LITTLE, key="k")
        later = witness.extend(ledger, ledger.receipt)
        assert witness.extend(ledger, first) == later == witness.last()


# --- beginning, and other ledgers -----------------------------------------------------------------


def test_a_ledger_with_entries_needs_an_anchor_that_somebody_makes(path, witness):
    with Ledger.open(path, **TERMS) as ledger:
        witness.check(ledger)
        ledger.charge(LITTLE, key="k")
        with pytest.raises(Tampered, match="no anchor"):
            witness.check(ledger)
        witness.extend(ledger, ledger.receipt)
        witness.check(ledger)


def test_a_witness_tells_of_one_ledger(path, witness, tmp_path):
    history(path, witness, steps=2)
    with Ledger.open(tmp_path / "other.ledger", **TERMS) as other:
        for verb in (witness.check, lambda each: witness.extend(each, each.receipt)):
            with pytest.raises(OtherLedger, match="another ledger"):
                verb(other)


def test_a_witness_that_cannot_be_used_is_told(path, tmp_path):
    with Ledger.open(path, **TERMS) as ledger:
        with pytest.raises(LedgerUnavailable, match="read"):
            WitnessFile(tmp_path).check(ledger)
        with pytest.raises(LedgerUnavailable, match="written"):
            WitnessFile(tmp_path / "nowhere" / "w").extend(ledger, ledger.receipt)


def test_two_copies_that_are_in_use_are_found_out(path, witness, tmp_path):
    history(path, witness, steps=2)
    with Ledger.open(path) as ledger:
        last = ledger.backup(tmp_path / "backup")
        with Ledger.restore(tmp_path / "copy", tmp_path / "backup", last=last, **PEOPLE) as copy:
            ledger.charge(LITTLE, key="here")
            copy.charge(LITTLE, key="there")
            witness.extend(ledger, ledger.receipt)
            with pytest.raises(Tampered, match="two copies"):
                witness.extend(copy, copy.receipt)


def test_a_restored_ledger_has_a_witness_of_its_own(path, witness, tmp_path):
    states = history(path, witness)
    put_back(path, states[1])
    with Ledger.restore(tmp_path / "new", path, **PEOPLE) as new:
        with pytest.raises(Tampered):
            witness.check(new)
        of_its_own = WitnessFile(tmp_path / "new.witness")
        of_its_own.extend(new, new.receipt)
        of_its_own.check(new)
        assert new.left().amounts[0] == 0
    put_back(path, states[-1])
    with Ledger.open(path) as old, pytest.raises(Tampered):
        of_its_own.check(old)


# --- what is told of a ledger ---------------------------------------------------------------------


def test_backups_are_noted_and_are_none_the_worse_where_they_cannot_be(path, tmp_path):
    with Ledger.open(path, **TERMS) as ledger:
        assert ledger.notes_backups
        assert ledger.last_backup() is None
        made = ledger.backup(tmp_path / "one")
        assert ledger.last_backup().receipt == made
        ledger.charge(LITTLE, key="k")
        assert ledger.last_backup().receipt == made
        notes = path.with_name(f"{path.name}-backups")
        notes.unlink()
        notes.mkdir()
        assert ledger.backup(tmp_path / "three") == ledger.receipt
        assert ledger.last_backup() is None
