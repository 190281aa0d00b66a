"""An audit under way: what was found stays found, whatever becomes of its file and its process."""

import json
import os
import subprocess
import sys
from functools import cache

import pytest

from discreet.cli.exit_codes import USAGE
from discreet.errors import WrongKind
from discreet_audit.findings import Finding
from discreet_audit.suite import UnfinishedAudit, unfinished
from tests.cli.test_commands import run


@pytest.fixture(scope="module", autouse=True)
def _code_is_read_once():
    """No test changes the code, and to read all of it takes longer than what is tested."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(unfinished, "code_digest", cache(unfinished.code_digest))
        yield


def finding(code, *, passed=True):
    """Return what an attack found, in letters of two bytes."""
    return Finding(code=code, claimed="refused", measured="ε", passed=passed, not_covered="")


@pytest.fixture
def path(tmp_path):
    """The file of an audit that has refuted one promise, and kept another."""
    file = tmp_path / "unfinished.jsonl"
    with UnfinishedAudit(file, long=False) as audit:
        audit.add("A6", finding("A6", passed=False), 1.0)
        audit.add("A7", finding("A7"), 2.0)
    return file


def kept(path):
    """Return which promises were kept, as the next audit reads it."""
    with UnfinishedAudit(path, long=False) as audit:
        return {name: result.passed for name, (result, _) in audit.found.items()}


def test_a_refuted_promise_stays_refuted_after_a_torn_line_and_two_kills(path):
    """Wherever the last line is torn, within a letter too."""
    whole = path.read_bytes()
    last = whole[:-1].rindex(b"\n") + 1
    for end in range(last, len(whole)):
        path.write_bytes(whole[:end])
        assert kept(path) == {"A6": False}
        assert path.read_bytes() == whole[:last]
        with UnfinishedAudit(path, long=False) as audit:
            audit.add("A7", finding("A7"), 2.0)
        assert path.read_bytes() == whole
        assert kept(path) == {"A6": False, "A7": True}


def test_an_audit_whose_name_is_torn_has_found_nothing(path):
    path.write_bytes(path.read_bytes()[:20])
    assert kept(path) == {}
    assert kept(path) == {}


@pytest.mark.parametrize("at", [0, 1])
@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"{",
        b"\xce",
        b"[]",
        b"7",
        b"null",
        b'{"x": 1}',
        b'{"name": "a", "seconds": 1, "result": {}}',
        b'{"name": "a", "seconds": 1, "result": 3}',
        b'{"name": "a", "seconds": "x", "result": {"code": "A1"}}',
        b'{"name": ["a"], "seconds": 1, "result": {}}',
    ],
)
def test_a_file_that_is_damaged_within_is_refused(path, line, at):
    """Nothing is lost, nor begun anew, before somebody deletes the file."""
    lines = path.read_bytes().split(b"\n")
    lines[at] = line
    path.write_bytes(b"\n".join(lines))
    before = path.read_bytes()
    with pytest.raises(WrongKind, match=f"line {at + 1} (?s:.*)delete the file"):
        UnfinishedAudit(path, long=False)
    assert path.read_bytes() == before
    path.unlink()
    assert kept(path) == {}


def test_a_row_that_was_found_twice_is_refused(path):
    """Else the later one would count, and the first may have been refuted."""
    with UnfinishedAudit(path, long=False) as audit:
        audit.add("A6", finding("A6"), 1.0)
    with pytest.raises(WrongKind, match="line 4"):
        UnfinishedAudit(path, long=False)


def test_one_audit_at_a_time(path, tmp_path):
    """Another process is refused in words, and a later one is not."""
    with UnfinishedAudit(path, long=False):
        with pytest.raises(WrongKind, match="another audit is running"):
            UnfinishedAudit(path, long=False)
        options = ["audit", "--quick", "--out", str(tmp_path)]
        done = subprocess.run(
            [sys.executable, "-m", "discreet.cli", *options],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == USAGE
        assert "another audit is running" in done.stderr
    assert kept(path) == {"A6": False, "A7": True}


def test_a_file_that_is_removed_is_not_held_by_the_next_audit(path):
    with UnfinishedAudit(path, long=False) as audit:
        audit.remove()
        with UnfinishedAudit(path, long=False) as other:
            assert other.found == {}
    assert kept(path) == {}


def test_every_line_is_on_disk_before_the_next_audit(path, monkeypatch):
    synced = []
    monkeypatch.setattr(os, "fsync", lambda _: synced.append(path.read_bytes()))
    with UnfinishedAudit(path, long=False) as audit:
        audit.add("A8", finding("A8"), 1.0)
    assert synced == [path.read_bytes()]


def test_an_unfinished_audit_of_another_length_is_not_thrown_away(path):
    before = path.read_bytes()
    with pytest.raises(WrongKind, match=r"--quick(?s:.*)2 results"):
        UnfinishedAudit(path, long=True)
    assert path.read_bytes() == before


def test_an_audit_of_other_code_says_that_it_begins_anew(path):
    """What it found was about other code; where nothing was found there is nothing to say."""
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    other = json.dumps({"audit": "long", "code": "0"}) + "\n"
    for rows, anew in ((lines[1:], True), ([], False)):
        path.write_text("".join([other, *rows]), encoding="utf-8")
        with UnfinishedAudit(path, long=False) as audit:
            assert (audit.begun_anew, audit.found) == (anew, {})


def test_a_folder_that_cannot_be_one_is_refused_in_words(tmp_path):
    (tmp_path / "file").touch()
    (tmp_path / "out" / "unfinished.jsonl").mkdir(parents=True)
    for out, word in (
        ("file", "its folder is a file"),
        ("/proc/nope", "no such file"),
        ("out", "it is a folder"),
    ):
        done = run(tmp_path, "audit", "--quick", f"--out={out}")
        assert done.exit_code == USAGE
        assert word in done.stderr
        assert "Do:" in done.stderr
