"""What an operator does for a ledger: witnesses and backups."""

import fcntl
import json
import os
import shutil
import signal
import subprocess
import threading
import time

import httpx
import pytest
from typer.testing import CliRunner

import discreet as dp
from discreet import errors
from discreet.cli.app import app
from discreet.ledger import Ledger
from discreet.ledger import witness as anchors
from discreet.ledger.ledger_view import LedgerView
from discreet.ledger.witness import Anchor, WitnessFile
from discreet.service import ServiceCounter, check_site, read_site
from tests.ledger.test_witness import put_back, taken
from tests.service import processes, served

QUESTION = {"question": "SELECT COUNT(*) FROM visits", "epsilon": "0.1"}
SITE = served.SITE.replace(
    'ledger = "clinic.ledger"', 'ledger = "clinic.ledger"\nwitness = "other/clinic.witness"'
)
PEOPLE = ("--reason", "rolled back", "--by", "olga", "--approved-by", "sue")


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "other").mkdir()
    served.written(tmp_path, site=SITE)
    return tmp_path


def asked(client, epsilon="0.1"):
    found = client.post("/v1/datasets/clinic/queries", json={**QUESTION, "epsilon": epsilon})
    assert found.status_code == 200, found.text
    return found.json()


def run(*arguments):
    return CliRunner().invoke(app, [str(each) for each in arguments])


# --- the witness ----------------------------------------------------------------------------------


def test_a_server_anchors_what_it_records_and_refuses_a_ledger_that_was_put_back(folder):
    site, witness = (
        read_site(folder / "site.toml"),
        WitnessFile(folder / "other" / "clinic.witness"),
    )
    assert not any(finding.serious for finding in check_site(site))
    assert not (folder / "other" / "clinic.witness").exists()
    with served.serving(folder) as server:
        first = witness.last()
        assert first.receipt.seq == 1
        asked(server.client("ana"))
        upkeep = server.counter.upkeep(server.caller("aud"), "clinic")
        assert (upkeep.witness, upkeep.problem) == ("clinic.witness", "")
        assert upkeep.anchor.receipt.seq >= 1
        with pytest.raises(errors.NotAllowed):
            server.counter.upkeep(server.caller("ana"), "clinic")
        processes.until(lambda: witness.last().receipt.seq > 1, seconds=20)
    monday = taken(folder / "clinic.ledger")
    with Ledger.open(folder / "clinic.ledger") as ledger:
        assert witness.last().receipt == ledger.receipt  # stopping adds the last
        left = ledger.left().amounts
    with served.serving(folder) as server:
        asked(server.client("ana"), "0.2")
    put_back(folder / "clinic.ledger", monday)
    with Ledger.open(folder / "clinic.ledger") as ledger:  # nothing beside it tells
        assert ledger.left().amounts == left
    assert check_site(site)[0].serious
    with pytest.raises(errors.Tampered, match="witness knows entry"):
        ServiceCounter(site)
    place = ("--witness", folder / "other" / "clinic.witness")
    bad = run("ledger", "verify", folder / "clinic.ledger", *place)
    assert bad.exit_code == 5
    assert run("ledger", "verify", folder / "clinic.ledger").exit_code == 0
    assert run("ledger", "anchor", folder / "clinic.ledger", *place).exit_code == 5
    _restored_on_record(folder, place)


def _restored_on_record(folder, place):
    """The way out: two people restore it elsewhere, and what is unknown counts as spent."""
    source, new = folder / "clinic.ledger", folder / "new.ledger"
    with Ledger.open(source) as ledger:
        last = str(ledger.receipt)
    vouched = run("ledger", "restore", source, new, *PEOPLE, "--last", last, *place)
    assert vouched.exit_code == 5
    assert not new.exists()
    restored = run("ledger", "restore", source, new, *PEOPLE)
    assert restored.exit_code == 0, restored.output
    assert run("ledger", "verify", new, *place).exit_code == 5  # the old witness
    begun = ("--witness", folder / "other" / "new.witness")
    assert run("ledger", "anchor", new, *begun).exit_code == 0
    assert run("ledger", "verify", new, *begun).exit_code == 0
    path = folder / "site.toml"
    site = SITE.replace('"clinic.ledger"', '"new.ledger"')
    path.write_text(site.replace("clinic.witness", "new.witness"))
    with served.serving(folder) as server:
        client = server.client("ana")
        body = {**QUESTION, "epsilon": "0.3"}
        assert client.post("/v1/datasets/clinic/queries", json=body).status_code == 402
        asked(client)  # what is on record is told as ever


def test_a_new_ledger_does_not_take_the_place_of_one_that_the_witness_knows(folder):
    ServiceCounter(read_site(folder / "site.toml")).close()
    for each in folder.glob("clinic.ledger*"):
        each.unlink()
    site = read_site(folder / "site.toml")
    assert any("witness" in finding.words for finding in check_site(site) if finding.serious)
    with pytest.raises(errors.LedgerError):
        ServiceCounter(site)
    assert not (folder / "clinic.ledger").exists()


def test_a_witness_that_is_gone_stops_the_start_until_somebody_begins_another(folder):
    witness = folder / "other" / "clinic.witness"
    with served.serving(folder) as server:
        asked(server.client("ana"))
    witness.unlink()
    with pytest.raises(errors.Tampered, match="no anchor"):
        ServiceCounter(read_site(folder / "site.toml"))
    made = run("ledger", "anchor", folder / "clinic.ledger", "--witness", witness, "--json")
    assert json.loads(made.stdout)["receipt"] == str(WitnessFile(witness).last().receipt)
    assert not any(each.serious for each in check_site(read_site(folder / "site.toml")))
    printed = run("ledger", "anchor", folder / "clinic.ledger").stdout.split()
    assert run("ledger", "verify", folder / "clinic.ledger", "--receipt", printed[1]).exit_code == 0
    missing = run("ledger", "verify", folder / "clinic.ledger", "--witness", folder / "nothing")
    assert missing.exit_code == 2
    assert "no anchor" in missing.stderr


def test_a_witness_that_cannot_be_written_lags_and_catches_up(folder):
    witness = folder / "other" / "clinic.witness"
    with served.serving(folder) as server:
        counter, client, reader = server.counter, server.client("ana"), server.caller("aud")
        asked(client)
        processes.until(lambda: WitnessFile(witness).last().receipt.seq > 1, seconds=20)
        kept = witness.rename(folder / "kept")
        witness.mkdir()
        asked(client, "0.2")
        processes.until(lambda: counter.upkeep(reader, "clinic").problem, seconds=20)
        assert "cannot be" in counter.upkeep(reader, "clinic").problem
        assert counter.ready()
        asked(client, "0.3")
        lines = [each for each in counter.log.lines() if each["event"] == "witness"]
        assert [each["detail"] for each in lines] == ["lags"]
        witness.rmdir()
        processes.until(lambda: "gone" in counter.upkeep(reader, "clinic").problem, seconds=20)
        assert not witness.exists()  # it is not begun anew
        kept.rename(witness)
        processes.until(lambda: not counter.upkeep(reader, "clinic").problem, seconds=20)
    with Ledger.open(folder / "clinic.ledger") as ledger:
        assert WitnessFile(witness).last().receipt == ledger.receipt


def test_a_copy_that_somebody_else_uses_stops_the_server(folder):
    witness = WitnessFile(folder / "other" / "clinic.witness")
    with served.serving(folder) as server:
        client, reader = server.client("ana"), server.caller("aud")
        ledger = server.counter.ledger(reader, "clinic")
        backup = folder / "backup"
        last = server.counter._ledgers["clinic"].backup(backup)
        said = {"reason": "a copy", "by": "olga", "approved_by": "sue", "last": last}
        with Ledger.restore(folder / "copy", backup, **said) as copy:
            witness.append(Anchor.of(copy.receipt))  # as its own server would
        processes.until(lambda: server.counter.upkeep(reader, "clinic").problem, seconds=20)
        ready = server.client().get("/v1/ready")
        assert ready.status_code == 503
        assert ready.json()["problems"] == ["a ledger does not continue its witness"]
        assert server.client().get("/v1/health").status_code == 200
        refused = client.post("/v1/datasets/clinic/queries", json={**QUESTION, "epsilon": "0.5"})
        said = refused.json()
        assert (refused.status_code, said["code"]) == (503, "E408")
        assert "witness" in said["detail"]
        assert "discreet ledger restore" in said["ways_out"][0]["change"]
        assert "charge" not in {each["kind"] for each in ledger.entries()}  # nor noticed by one
        assert server.client("aud").get("/v1/datasets/clinic/budget").status_code == 200
        lines = [each for each in server.counter.log.lines() if each["event"] == "witness"]
        assert [each["detail"] for each in lines] == ["differs"]


def test_a_killed_server_is_not_refused_and_its_ledger_continues_its_witness(folder):
    server = processes.ServerProcess(folder, "ana")
    assert server.url, server.link
    ready = threading.Event()

    def more(client):
        for step in range(1000):
            try:
                asked(client, f"0.1{step:04d}")
            except httpx.HTTPError:
                return
            if step == 10:
                ready.set()

    with server.client("ana") as client:
        asking = threading.Thread(target=more, args=(client,))
        asking.start()
        assert ready.wait(60)
        witness = WitnessFile(folder / "other" / "clinic.witness")
        processes.until(lambda: witness.last().receipt.seq > 1, seconds=20)
        server.stop(signal.SIGKILL)
        asking.join(60)
    with Ledger.open(folder / "clinic.ledger") as ledger:
        last = witness.last()
        assert 1 < last.receipt.seq <= ledger.receipt.seq
        assert ledger.holds(last.receipt)
    findings = check_site(read_site(folder / "site.toml"))
    assert not [str(each) for each in findings if each.serious]
    with served.serving(folder) as server:
        asked(server.client("ana"))


def test_a_locked_witness_lags_and_stops_neither_the_server_nor_its_end(folder, monkeypatch):
    monkeypatch.setattr(anchors, "_LOCK_WAIT", 0.5)  # each who finds it locked gives up sooner
    witness = folder / "other" / "clinic.witness"
    with served.serving(folder) as server:
        counter, client, reader = server.counter, server.client("ana"), server.caller("aud")
        held = witness.open("rb")
        fcntl.flock(held, fcntl.LOCK_EX)
        asked(client)
        processes.until(lambda: counter.upkeep(reader, "clinic").problem, seconds=20)
        assert "locked" in counter.upkeep(reader, "clinic").problem
        assert counter.ready()
        lines = [each for each in counter.log.lines() if each["event"] == "witness"]
        assert [each["detail"] for each in lines] == ["lags"]
        asked(client, "0.2")
        begun = time.monotonic()
    assert time.monotonic() - begun < 60
    assert WitnessFile(witness).last().receipt.seq == 1
    held.close()
    ServiceCounter(read_site(folder / "site.toml")).close()
    with Ledger.open(folder / "clinic.ledger") as ledger:
        assert WitnessFile(witness).last().receipt == ledger.receipt


USED = ("clinic.ledger", "clinic.ledger-backups", "policy.toml", "visits.parquet", "site.toml")


@pytest.mark.parametrize("used", [*USED, "site.state/clinic.sock"])
def test_a_witness_that_is_used_for_something_else_is_refused(folder, used):
    site = folder / "site.toml"
    site.write_text(SITE.replace("other/clinic.witness", used))
    with pytest.raises(errors.BadPolicy, match="witness"):
        read_site(site)
    if (folder / used).exists():
        (folder / "other" / "clinic.witness").hardlink_to(folder / used)
        site.write_text(SITE)
        with pytest.raises(errors.BadPolicy, match="witness"):
            read_site(site)
    assert not (folder / "clinic.ledger").exists()


def test_some_other_file_as_a_witness_is_refused_by_all_and_kept(folder):
    witness = folder / "other" / "clinic.witness"
    witness.write_text("somebody's notes\n")
    site = read_site(folder / "site.toml")
    assert any("other file" in each.words for each in check_site(site) if each.serious)
    with pytest.raises(errors.NotALedger, match="other file"):
        ServiceCounter(site)
    assert not (folder / "clinic.ledger").exists()
    Ledger.open(folder / "clinic.ledger", unit=dp.row(), budget=dp.Budget(epsilon=1)).close()
    made = run("ledger", "anchor", folder / "clinic.ledger", "--witness", witness)
    assert made.exit_code != 0
    assert "other file" in made.stderr
    assert witness.read_text() == "somebody's notes\n"


def test_the_check_finds_a_witness_that_cannot_be_opened_as_the_server_does(folder):
    witness, site = folder / "other" / "clinic.witness", read_site(folder / "site.toml")

    def refused():
        found = [each.words for each in check_site(site) if each.serious]
        assert any("witness" in words and "written" in words for words in found), found
        with pytest.raises(errors.LedgerUnavailable, match="written"):
            ServiceCounter(site)

    ServiceCounter(site).close()
    assert not any(each.serious for each in check_site(site))
    kept = witness.rename(folder / "kept")
    witness.symlink_to(kept)
    refused()
    witness.unlink()
    kept.rename(witness)
    lock = [shutil.which("chattr") or "chattr", "+i", str(witness)]
    if os.geteuid():
        witness.chmod(0o400)
        refused()
    elif shutil.which("chattr") and not subprocess.run(lock, check=False).returncode:
        try:
            refused()
        finally:
            subprocess.run([lock[0], "-i", str(witness)], check=True)


def test_restoring_looks_at_the_witness_before_anything_is_made(folder):
    source, witness, other = folder / "a.ledger", folder / "a.witness", folder / "b.witness"
    terms = {"unit": dp.row(), "budget": dp.Budget(epsilon=1)}
    with Ledger.open(source, **terms) as ledger, Ledger.open(folder / "b", **terms) as second:
        WitnessFile(witness).extend(ledger, ledger.receipt)
        WitnessFile(other).extend(second, second.receipt)
        last = str(ledger.backup(folder / "a.jsonl"))
        ledger.describe("further", {})
        WitnessFile(witness).extend(ledger, ledger.receipt)
    new = folder / "new.ledger"

    def restored(*more):
        return run("ledger", "restore", folder / "a.jsonl", new, *PEOPLE, *more)

    for more, words in (
        (("--witness", witness), "give both"),
        (("--last", last, "--witness", other), "receipt"),
        (("--last", last, "--witness", folder / "a.jsonl"), "other file"),
        (("--last", last, "--witness", folder / "typo"), "not there"),
        (("--last", last, "--witness", witness), ""),
    ):
        found = restored(*more)
        assert found.exit_code != 0, more
        assert words in " ".join(found.stderr.split()), found.stderr
        assert not list(folder.glob("new.ledger*"))
    assert not (folder / "typo").exists()
    assert restored().exit_code == 0


def test_two_datasets_cannot_share_a_witness(folder):
    again = SITE.split("[datasets.clinic]")[1].split("[people")[0].replace("c.ledger", "d.ledger")
    (folder / "site.toml").write_text(SITE + "[datasets.other]" + again)
    with pytest.raises(errors.BadPolicy, match="witness"):
        read_site(folder / "site.toml")


# --- backups --------------------------------------------------------------------------------------


def test_an_auditor_only_looks_and_a_backup_is_noted(folder):
    with served.serving(folder) as server:
        asked(server.client("ana"))
        ledger = server.counter.ledger(server.caller("aud"), "clinic")
        writing = {name for name in dir(Ledger) if name[0] != "_"} - set(dir(LedgerView))
        assert writing >= {"charge", "start", "release", "fail", "reopen", "raise_limit"}
        assert not writing & set(dir(ledger))
        assert ledger.last_backup() is None
        made = run("ledger", "backup", folder / "monday.jsonl", folder / "clinic.ledger")
        assert made.exit_code == 0
        upkeep = server.counter.upkeep(server.caller("sue"), "clinic")
        assert upkeep.notes_backups
        assert str(upkeep.backup.receipt) in made.stdout


# --- what lies in the way -------------------------------------------------------------------------


def test_a_file_where_the_socket_goes_is_kept(folder):
    state = folder / "site.state"
    state.mkdir(mode=0o700)
    place = state / "clinic.sock"
    place.write_text("somebody's notes")
    site = read_site(folder / "site.toml")
    assert any("socket" in finding.words for finding in check_site(site) if finding.serious)
    with pytest.raises(errors.LedgerUnavailable, match="is not a socket"):
        ServiceCounter(site)
    assert place.read_text() == "somebody's notes"
