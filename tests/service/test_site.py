"""Site files, their check, and the commands ``serve`` and ``ask --server``."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import httpx
import pytest
from typer.testing import CliRunner

import discreet as dp
from discreet import errors
from discreet.cli.app import app
from discreet.ledger import Ledger
from discreet.service import check_site, read_site, run_server
from discreet.service.roles import Grant, Role
from discreet.service.site import SITE_KEYS
from discreet.service.state import StateStore
from tests.service import served

ROOT = Path(__file__).parents[2]


def test_a_site_is_read(tmp_path):
    site = read_site(served.written(tmp_path))
    assert site.datasets["clinic"].ledger == str(tmp_path / "clinic.ledger")
    assert site.people["ana"] == Grant(roles=frozenset({Role.ANALYST}))
    assert site.limits.tick == 0
    assert site.state == tmp_path / "site.state"
    assert "visits.parquet" not in repr(site)


@pytest.mark.parametrize(
    "change",
    [
        ("format = 1", "format = 2"),
        ("[limits]", "[limit]"),
        ("workers = 1", "workers = 0"),
        ("workers = 1", 'workers = "two"'),
        ("tick = 0", "tick = -1"),
        ("port = 0", "port = 70000"),
        ("port = 0", 'certificate = "a.pem"'),
        ('roles = ["owner"]', 'roles = ["king"]'),
        ('roles = ["owner"]', 'roles = ["owner"]\ndatasets = ["nothing"]'),
        ("[datasets.clinic]", '[datasets."../x"]'),
        ('ledger = "clinic.ledger"', "ledger = 5"),
        ('policy = "policy.toml"', 'policy = "nothing.toml"'),
        ("[datasets.clinic]", "[datasets]\n[other]"),
        ("port = 0", "port = "),
        ("port = 0", 'host = "a\\u0000b"'),
        ("format = 1", 'format = 1\nstate = "a\\u0000b"'),
    ],
)
def test_what_cannot_be_followed_is_refused(tmp_path, change):
    path = served.written(tmp_path, site=served.SITE.replace(*change, 1))
    with pytest.raises(errors.BadPolicy):
        read_site(path)


def test_two_datasets_cannot_share_a_ledger(tmp_path):
    again = served.SITE.split("[datasets.clinic]")[1].split("[people")[0]
    path = served.written(tmp_path, site=served.SITE + "[datasets.other]" + again)
    with pytest.raises(errors.BadPolicy):
        read_site(path)


def test_a_server_without_log_in_listens_here_alone(tmp_path):
    path = served.written(tmp_path, site=served.SITE.replace("port = 0", 'host = "0.0.0.0"'))
    with pytest.raises(errors.NotAllowed):
        read_site(path, loopback_person="you")


def test_the_check_finds_what_would_fail(tmp_path):
    path = served.written(tmp_path)
    good = check_site(read_site(path))
    assert not any(finding.serious for finding in good)
    assert any("ticks are off" in finding.words for finding in good)
    (tmp_path / "visits.parquet").unlink()
    assert any(finding.serious for finding in check_site(read_site(path)))
    runner = CliRunner()
    found = runner.invoke(app, ["serve", str(path), "--check", "--json"])
    assert found.exit_code == 6
    assert json.loads(found.stdout)["findings"][0]["serious"]
    assert runner.invoke(app, ["serve", str(tmp_path / "nothing.toml")]).exit_code == 4


def serves(monkeypatch, site):
    """Say whether ``serve`` would come as far as answering."""
    monkeypatch.setattr("uvicorn.Server.run", lambda *_, **__: None)
    try:
        run_server(site)
    except errors.DiscreetError:
        return False
    return True


def no_ledger(folder):
    (folder / "clinic.ledger").mkdir()


def other_ledger(folder):
    Ledger.open(folder / "clinic.ledger", unit=dp.units.row(), budget=dp.Budget(epsilon=1)).close()


def no_state(folder):
    (folder / "site.state").write_text("a file")


def kept(folder):
    (folder / "site.state").mkdir(mode=0o700)
    return folder / "site.state"


def garbage(folder):
    (kept(folder) / "state.sqlite").write_bytes(b"garbage" * 500)


def folder_at(name):
    return lambda folder: (kept(folder) / name).mkdir()


def file_at(name):
    return lambda folder: (kept(folder) / name).write_text("somebody's notes")


def other_program(*statements):
    def before(folder):
        with closing(sqlite3.connect(kept(folder) / "state.sqlite")) as other:
            for statement in statements:
                other.execute(statement)
            other.commit()

    return before


SAME = ("format = 1", "format = 1")


@pytest.mark.parametrize(
    ("change", "before"),
    [
        (('ledger = "clinic.ledger"', 'ledger = "nowhere/clinic.ledger"'), None),
        (("port = 0", 'certificate = "a.pem"\nkey = "a.key"'), None),
        (("port = 0", 'host = "192.0.2.1"'), None),
        (("format = 1", f'format = 1\nstate = "{"long" * 30}"'), None),
        (("port = 0", f'host = "{"a" * 70}.\u00e9"'), None),
        (SAME, no_ledger),
        (SAME, other_ledger),
        (SAME, no_state),
        (SAME, garbage),
        (SAME, folder_at("state.sqlite")),
        (SAME, folder_at("security.log")),
        (SAME, folder_at("server.lock")),
        (SAME, folder_at("clinic.sock")),
        (SAME, file_at("clinic.sock")),
        (SAME, other_program("CREATE TABLE people (x)")),
        (SAME, other_program("CREATE TABLE notes (x)")),
        (SAME, other_program("CREATE TABLE notes (x)", "PRAGMA user_version = 2")),
        (SAME, other_program("PRAGMA application_id = 7")),
        (SAME, other_program("CREATE TABLE people (x)", "PRAGMA user_version = 3")),
    ],
    ids=[
        "folder",
        "tls",
        "host",
        "socket",
        "no host",
        "not a ledger",
        "other ledger",
        "state",
        "garbage",
        "folder for state",
        "folder for log",
        "folder for lock",
        "folder for socket",
        "file for socket",
        "same table",
        "other table",
        "same format",
        "other program",
        "newer",
    ],
)
def test_the_check_refuses_what_the_server_refuses(tmp_path, monkeypatch, change, before):
    path = served.written(tmp_path, site=served.SITE.replace(*change, 1))
    if before is not None:
        before(tmp_path)
    made = {each for each in tmp_path.rglob("*") if "ledger-" not in each.name}
    site = read_site(path)
    assert any(finding.serious for finding in check_site(site))
    assert {each for each in tmp_path.rglob("*") if "ledger-" not in each.name} == made
    state = site.state / "state.sqlite"
    content = state.read_bytes() if state.is_file() else None
    assert not serves(monkeypatch, site)
    assert content in {None, state.read_bytes() if state.is_file() else None}


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("state.sqlite", "state.sqlite in the state folder cannot be opened: Is a directory"),
        ("security.log", "security.log in the state folder cannot be opened: Is a directory"),
        ("clinic.sock", "is not a socket"),
    ],
)
def test_a_folder_in_the_place_of_a_file_is_named(tmp_path, name, words):
    path = served.written(tmp_path)
    folder_at(name)(tmp_path)
    found = CliRunner().invoke(app, ["serve", str(path)])
    assert found.exit_code == 1
    assert words in " ".join(found.stderr.split())
    assert "unexpected" not in found.stderr
    checked = CliRunner().invoke(app, ["serve", str(path), "--check"])
    assert checked.exit_code == 6
    assert name in checked.stdout


@pytest.mark.parametrize(
    ("code", "kind", "words"),
    [
        (sqlite3.SQLITE_FULL, errors.LedgerUnavailable, "disk is full"),
        (sqlite3.SQLITE_IOERR_WRITE, errors.LedgerUnavailable, "disk is full"),
        (sqlite3.SQLITE_BUSY_SNAPSHOT, errors.LedgerUnavailable, "another program holds"),
        (sqlite3.SQLITE_READONLY_DBMOVED, errors.LedgerUnavailable, "may only be read"),
        (sqlite3.SQLITE_ERROR, errors.NotALedger, "something else is at its path"),
    ],
)
def test_what_keeps_the_server_from_its_state_is_told_apart(tmp_path, code, kind, words):
    error = sqlite3.OperationalError("words of SQLite")
    error.sqlite_errorcode = code
    store = StateStore(tmp_path / "state.sqlite")
    try:
        with pytest.raises(kind, match=words), store.transaction():
            raise error
    finally:
        store.close()


@pytest.mark.parametrize(
    "change",
    [('roles = ["owner"]', 'roles = ["steward", "analyst"]'), ("people.ana", "people.Ana")],
)
def test_people_who_cannot_be_are_refused_when_the_file_is_read(tmp_path, change):
    path = served.written(tmp_path, site=served.SITE.replace(*change, 1))
    assert CliRunner().invoke(app, ["serve", str(path), "--check"]).exit_code != 0
    with pytest.raises(errors.DiscreetError):
        read_site(path)


def test_what_the_check_lets_through_is_served(tmp_path, monkeypatch):
    site = read_site(served.written(tmp_path))
    assert not any(finding.serious for finding in check_site(site))
    assert serves(monkeypatch, site)
    made = set(site.state.iterdir())
    assert not any(finding.serious for finding in check_site(site))
    assert set(site.state.iterdir()) == made
    store = StateStore(site.state / "state.sqlite")
    try:
        assert any("a server runs" in finding.words for finding in check_site(site))
    finally:
        store.close()


def test_every_key_of_a_site_is_in_the_guide():
    text = (ROOT / "docs" / "guide" / "service.md").read_text()
    named = {"workers", "tick", "seconds", "memory_mib", "calls_per_minute", "policy", "data"}
    named |= {"ledger", "roles", "host", "port", "certificate", "key", "format"}
    known = {key for keys in SITE_KEYS.values() for key in keys}
    assert named <= known
    assert all(key in text for key in named)


def test_a_served_policy_is_asked_from_the_command_line_and_stops_gracefully(tmp_path):
    served.written(tmp_path)
    program = [sys.executable, "-m", "discreet.cli", "serve", "site.toml", "--port", "0"]
    process = subprocess.Popen(program, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    try:
        first, second = process.stderr.readline(), process.stderr.readline()
        url = first.split()[-1]
        assert first.startswith("serving clinic at http://127.0.0.1:")
        assert "discreet password site.toml olga" in second
        assert httpx.get(f"{url}/v1/health").status_code == 200  # the line comes when it answers
        runner = CliRunner()
        named = [str(tmp_path / "site.toml"), "ana"]
        assert runner.invoke(app, ["password", *named], input="short\n").exit_code == 2
        made = runner.invoke(app, ["password", *named], input=f"{served.PASSWORD}\n")
        assert (made.exit_code, served.PASSWORD in made.output) == (0, False), made.output
        assert (tmp_path / "site.passwords").stat().st_mode & 0o077 == 0
        nobody = runner.invoke(app, ["password", named[0], "eve"], input=f"{served.PASSWORD}\n")
        assert (nobody.exit_code, "eve" in (tmp_path / "site.passwords").read_text()) == (2, False)
        with httpx.Client(base_url=url) as ana:
            said = {"name": "ana", "password": served.PASSWORD}
            headers = {"X-CSRF-Token": ana.post("/v1/login", json=said).json()["csrf"]}
            scope = {"scope": ["plan", "ask", "schema", "budget"]}
            token = ana.post("/v1/tokens", json=scope, headers=headers).json()
        question = ["SELECT COUNT(*) AS n FROM visits", "--epsilon", "0.5", "--server", url]
        runner = CliRunner(env={"DISCREET_TOKEN": token["token"]})
        answer = runner.invoke(app, ["ask", *question, "--json"])
        assert answer.exit_code == 0, answer.stderr
        assert json.loads(answer.stdout)["rows"][0].keys() == {"n", "n_low", "n_high"}
        planned = runner.invoke(app, ["ask", *question, "--dry-run"])
        assert "costs epsilon 0.5" in planned.stdout
        assert runner.invoke(app, ["ask", *question, "--data", "x.csv"]).exit_code == 2
    finally:
        os.kill(process.pid, signal.SIGTERM)
        process.stderr.close()
        assert process.wait(120) == 0
