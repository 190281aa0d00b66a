"""Exports hold everything, and what is restored from them is a clone that can be told."""

import base64
import contextlib
import json
import sqlite3
import stat

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.accounting import Box, Budget, Leaf, at_least, equals
from discreet.errors import (
    LedgerUnavailable,
    NotALedger,
    OtherLedger,
    Tampered,
)
from discreet.ledger import Ledger
from discreet.ledger.verify import verify_file
from discreet.loss import Pure
from discreet.mechanisms import Gaussian, Laplace
from discreet.units import row
from tests.ledger.chains import HONEST, LAST, NAME, canonical

PEOPLE = {"reason": "a new disk", "by": "ana", "approved_by": "ben"}
SCOPES = [None, Box({"state": equals("CA")}), Box({"state": equals("CA"), "age": at_least(65)})]


@pytest.fixture
def study(tmp_path):
    """A ledger with all kinds of entries, and its path."""
    path = tmp_path / "study.ledger"
    with Ledger.open(path, unit=row(), budget=Budget(epsilon=5, delta="1e-6")) as ledger:
        ledger.open_account("data/flu", budget=Budget(rho=1), by="ana")
        ledger.open_account("data/flu/ana", by="ana")
        ask(ledger, "a", Pure(epsilon="0.5"), question="ab12", account="data/flu/ana")
        ask(ledger, 'ü \\ " ß', Leaf(Gaussian(variance=100)), scope=SCOPES[1])
        ask(ledger, "c", Leaf(Laplace(scale=9)) * 2, scope=SCOPES[2], account="data/flu")
        more = Budget(epsilon=6, delta="1e-6")
        ledger.raise_limit("data", budget=more, reason="agreed", by="ana", approved_by="ben")
        ledger.charge(Pure(epsilon="0.1"), key="d")
        ledger.start("d")
        ledger.start("d")
        yield ledger


def ask(ledger, key, what, **more):
    ledger.charge(what, key=key, **more)
    ledger.start(key)
    return ledger.release(key, bytes(range(256)) + key.encode())


def cells(path):
    """What is stored, byte for byte."""
    with contextlib.closing(sqlite3.connect(path)) as database, database:
        rows = database.execute("SELECT * FROM entry ORDER BY seq").fetchall()
    database.close()
    return rows


# --- ledgers --------------------------------------------------------------------------------------


# --- there and back -------------------------------------------------------------------------------


def test_what_is_restored_is_equal_byte_for_byte(study, tmp_path):
    export, copy = tmp_path / "study.jsonl", tmp_path / "copy.ledger"
    study.backup(export)
    assert verify_file(export, receipts=[study.receipt]) == study.verify([study.receipt])
    with Ledger.restore(copy, export, receipts=[study.receipt], **PEOPLE) as restored:
        assert restored.id == study.id
        assert restored.verify([study.receipt]).problems == ()
        before = list(study.entries())
        entries = list(restored.entries())
        assert entries[: len(before)] == before
        last, *closing = entries[len(before) :]
        assert {entry["kind"] for entry in closing} <= {"start", "fail"}
        assert {name: last[name] for name in PEOPLE} == PEOPLE
        assert (last["kind"], last["after"]) == ("restore", study.receipt.head)
        assert restored.find("ab12") is not None
        assert restored.start("c").answer == study.start("c").answer
        restored.backup(tmp_path / "again.jsonl")
    first, again = (path.read_bytes() for path in (export, tmp_path / "again.jsonl"))
    assert again.startswith(first)
    assert again.count(b"\n") == first.count(b"\n") + 1 + len(closing)
    before, after = cells(tmp_path / "study.ledger"), cells(copy)
    assert after[: len(before)] == before


def test_a_clone_can_be_told(study, tmp_path):
    """Receipts that either gave after the export do not fit the other."""
    export, shared = tmp_path / "study.jsonl", study.receipt
    study.backup(export)
    with Ledger.restore(tmp_path / "copy.ledger", export, last=shared, **PEOPLE) as restored:
        own = restored.receipt
        theirs = ask(study, "e", Pure(epsilon="0.1")).receipt
        ours = ask(restored, "e", Pure(epsilon="0.1")).receipt
        assert study.verify([shared, theirs]).ok
        assert restored.verify([shared, own, ours]).ok
        for ledger, receipts in ((study, (own, ours)), (restored, (theirs,))):
            for receipt in receipts:
                assert [p.kind for p in ledger.verify([receipt]).problems] == ["receipt"]
    with pytest.raises(Tampered):
        Ledger.restore(tmp_path / "third.ledger", export, receipts=[theirs], **PEOPLE)
    assert not (tmp_path / "third.ledger").exists()


# --- writing --------------------------------------------------------------------------------------


def written(path, chain=HONEST):
    """A backup as it is documented, written by hand."""
    lines = [{"export": 1, "ledger": NAME}]
    for *_, line, head, answer in chain.rows():
        coded = None if answer is None else base64.b64encode(answer).decode()
        lines.append({"line": line, "head": head, "answer": coded})
    path.write_text("".join(f"{canonical(each)}\n" for each in lines), encoding="ascii")
    return path


def test_a_backup_is_lines_of_json_for_its_owner(study, tmp_path):
    path = tmp_path / "study.jsonl"
    study.backup(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    first, *others = map(json.loads, path.read_text(encoding="ascii").splitlines())
    assert first == {"export": 1, "ledger": study.id}
    stored = [(row[4], row[5]) for row in cells(tmp_path / "study.ledger")]
    assert [(other["line"], other["head"]) for other in others] == stored


def test_an_export_replaces_nothing(study, tmp_path):
    for name in ("study.ledger", "link", "folder"):
        place = tmp_path / name
        if name == "link":
            place.symlink_to(tmp_path / "nowhere")
        elif name == "folder":
            place.mkdir()
        with pytest.raises(OtherLedger):
            study.backup(place)
    assert study.verify().ok
    with pytest.raises(LedgerUnavailable):
        study.backup(tmp_path / "none" / "study.jsonl")


# --- refusing -------------------------------------------------------------------------------------


def restored(tmp_path, source, **more):
    Ledger.restore(tmp_path / "copy.ledger", source, **PEOPLE, **more).close()


def test_only_into_a_new_place(study, tmp_path):
    export = tmp_path / "study.jsonl"
    study.backup(export)
    before = study.receipt
    with pytest.raises(OtherLedger):
        Ledger.restore(tmp_path / "study.ledger", export, **PEOPLE)
    assert study.receipt == before
    other = tmp_path / "other.db"
    with contextlib.closing(sqlite3.connect(other)) as database, database:
        database.execute("CREATE TABLE people (name)")
    database.close()
    with pytest.raises(OtherLedger):
        Ledger.restore(other, export, **PEOPLE)


def test_unknown_formats_are_refused(tmp_path):
    path = written(tmp_path / "study.jsonl")
    text = path.read_text(encoding="ascii")
    for number in (0, 2, 99):
        path.write_text(text.replace('"export":1', f'"export":{number}'), encoding="ascii")
        assert [problem.kind for problem in verify_file(path).problems] == ["file", "file"]
        with pytest.raises(NotALedger):
            restored(tmp_path, path)
    forged = HONEST.copy()
    for entry in forged.entries:
        entry["format"] = 2
    path.unlink()
    with pytest.raises(Tampered, match="format"):
        restored(tmp_path, written(path, forged))
    assert not (tmp_path / "copy.ledger").exists()


def test_what_is_no_export_is_refused(study, tmp_path):
    other = tmp_path / "other"
    for text in ["", "{}", "[1]\n", '{"export":true}\n', '{"export":"1"}\n', "\x00", "x" * 5000]:
        other.write_text(text, encoding="ascii")
        with pytest.raises(NotALedger):
            restored(tmp_path, other)
    for source in (tmp_path, tmp_path / "none"):
        with pytest.raises(NotALedger):
            restored(tmp_path, source)
    assert study.verify().ok


@given(data=st.data())
@settings(max_examples=60)
def test_a_changed_export_is_refused(tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("changed")
    path = written(folder / "study.jsonl")
    text = path.read_bytes()
    if data.draw(st.booleans()):
        drawn = data.draw(st.integers(0, len(text) - 1))
        text = (
            text[:drawn] + bytes([text[drawn] ^ data.draw(st.integers(1, 255))]) + text[drawn + 1 :]
        )
    else:
        lines = text.splitlines(keepends=True)
        drawn = data.draw(st.integers(0, len(lines) - 1))
        change = data.draw(st.sampled_from(["drop", "repeat", "cut"]))
        lines[drawn] = {"drop": b"", "repeat": 2 * lines[drawn], "cut": lines[drawn][:-3]}[change]
        text = b"".join(lines)
    path.write_bytes(text)
    with pytest.raises((Tampered, NotALedger)):
        restored(folder, path, receipts=[LAST])
    assert not (folder / "copy.ledger").exists()
