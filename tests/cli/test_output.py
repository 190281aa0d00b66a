"""Output that is closed, full, or cannot write a letter: words and a code, and no other charge."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pyarrow.csv
import pytest

from discreet.ledger import Ledger
from tests.cli.test_commands import COUNT, SET_UP, answered, run
from tests.session.clinic import visits

FULL = Path("/dev/full")
ONLY_LINUX = pytest.mark.skipif(not FULL.exists(), reason="only Linux has it")
ON_FULL = pytest.param("> /dev/full", marks=ONLY_LINUX)
LOST = b"discreet: the output could not be written.\n  Why: "


@pytest.fixture
def clinic(tmp_path):
    """A folder with data, a policy and a ledger."""
    pyarrow.csv.write_csv(visits(), tmp_path / "visits.csv")
    answered(tmp_path, *SET_UP)
    return tmp_path


def run_redirected(folder, redirect, *arguments, **environment):
    """Run the command in a shell that redirects its streams."""
    program = [sys.executable, "-m", "discreet.cli", *arguments]
    return subprocess.run(
        ["/bin/sh", "-c", f'exec "$@" {redirect}', "sh", *program],
        cwd=folder,
        capture_output=True,
        check=False,
        env={**os.environ, **environment},
    )


@pytest.mark.parametrize(
    ("redirect", "unbuffered"),
    [
        (">&-", ""),  # where nothing is written, nothing is buffered
        pytest.param("> /dev/full", "", marks=ONLY_LINUX),
        pytest.param("> /dev/full", "1", marks=ONLY_LINUX),
    ],
)
def test_output_that_is_lost_is_told(clinic, redirect, unbuffered):
    for arguments, code in (
        (["plan", "SELECT foo", "--json"], 4),
        (["plan", COUNT, "--epsilon=0.1", "--json"], 1),
        (["ledger", "verify", "visits.csv"], 5),
        (["--version"], 1),
    ):
        done = run_redirected(clinic, redirect, *arguments, PYTHONUNBUFFERED=unbuffered)
        assert done.returncode == code, done.stderr
        assert done.stderr.count(LOST) == 1
        assert b"Traceback" not in done.stderr
        assert b"Exception" not in done.stderr


@pytest.mark.parametrize("redirect", [">&-", "2>&-", "<&- >&- 2>&-", ON_FULL])
def test_lost_output_changes_no_charge(clinic, redirect):
    done = run_redirected(clinic, redirect, "ask", COUNT, "--epsilon=0.25")
    assert done.returncode == (0 if redirect == "2>&-" else 1)
    assert json.loads(answered(clinic, "ledger", "verify", "--json").stdout)["ok"]
    again = json.loads(answered(clinic, "ask", COUNT, "--epsilon=0.25", "--json").stdout)
    assert (again["replayed"], again["left"]["part"]) == (True, 0.75)


def test_an_error_that_nobody_hears_keeps_its_code(clinic):
    for redirect in ("2>&-", "2> /dev/full" if FULL.exists() else "2>&-"):
        assert run_redirected(clinic, redirect, "ask", COUNT, "--epsilon=5").returncode == 3


def test_a_closed_stdin_is_an_empty_one(clinic):
    done = run_redirected(clinic, "<&-", "plan", "-", "--epsilon=0.1")
    assert (done.returncode, b"UnreadableSQL" in done.stderr) == (4, True)


def test_letters_that_an_encoding_lacks_are_escaped(clinic):
    plain = {"PYTHONIOENCODING": "ascii"}
    wrong = run_redirected(clinic, "", "plan", "SELECT ü", "--json", **plain)
    assert wrong.returncode == 4
    assert json.loads(wrong.stdout)["detail"].count("ü") == 1
    assert b"Traceback" not in wrong.stderr
    done = run_redirected(clinic, "", "ask", COUNT, "--epsilon=0.25", **plain)
    assert (done.returncode, rb"\xb1" in done.stdout) == (0, True)


def test_json_is_ascii(clinic):
    done = run(clinic, "plan", "SELECT ü", "--json")
    assert done.stdout.isascii()
    assert "ü" in json.loads(done.stdout)["detail"]


def test_a_backup_has_any_name_that_a_file_can_have(clinic):
    for name, option in ((b"b\xff", ["--json"]), (b"c\xff", [])):
        done = run_redirected(clinic, "", "ledger", "backup", name, *option)
        assert done.returncode == 0, done.stderr
        with Ledger.open(clinic / "visits.ledger") as ledger:
            assert str(ledger.receipt).encode() in done.stdout
        assert name in os.listdir(os.fsencode(clinic))  # noqa: PTH208
    made = run_redirected(clinic, "", "ledger", "backup", b"d\xff", "--json")
    assert json.loads(made.stdout)["path"] == os.fsdecode(b"d\xff")


# --- whose ledger it is ---------------------------------------------------------------------------


def test_the_ledger_of_the_policy_is_verified_under_its_id(clinic):
    other = clinic / "other"
    other.mkdir()
    pyarrow.csv.write_csv(visits(), other / "visits.csv")
    answered(other, *SET_UP)
    rules = (other / "policy.toml").read_text(encoding="utf-8")
    theirs = (clinic / "policy.toml").read_text(encoding="utf-8")
    answered(other, "ledger", "verify")
    (other / "policy.toml").write_text(theirs, encoding="utf-8")
    assert run(other, "ledger", "show").exit_code == 5
    done = run(other, "ledger", "verify")
    assert done.exit_code == 5
    assert "the record, id: it is not the ledger that the policy names." in done.stdout
    assert not json.loads(run(other, "ledger", "verify", "--json").stdout)["ok"]
    answered(other, "ledger", "verify", "visits.ledger")  # named by anyone who asks
    (other / "policy.toml").write_text(rules, encoding="utf-8")
    answered(other, "ledger", "verify")
