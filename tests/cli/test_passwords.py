"""Passwords in addresses: they are neither written into a policy nor shown."""

import contextlib

import pyarrow.csv
import pytest
from typer.testing import CliRunner

from discreet.cli import app
from discreet.cli.options import command_inputs
from discreet.ledger import Ledger
from discreet.ledger.store import is_server
from discreet.plan.policy.policy import read_policy
from tests.session.clinic import visits

SECRET = "se55ret"  # noqa: S105 (nobody's)


def run(folder, *arguments):
    with contextlib.chdir(folder):
        return CliRunner().invoke(app, list(arguments), env={"COLUMNS": "200"})


def set_up(folder, ledger, *more):
    pyarrow.csv.write_csv(visits(), folder / "visits.csv")
    return run(folder, "init", "visits.csv", "--unit=patient", "--yes", f"--ledger={ledger}", *more)


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """Let servers, which are not there, be files; addresses are not looked at any more then."""
    real = Ledger.open

    def opened(address, **terms):
        return real(tmp_path / "instead.ledger" if is_server(address) else address, **terms)

    monkeypatch.setattr(Ledger, "open", opened)


@pytest.mark.parametrize(
    ("given", "written"),
    [
        (f"postgresql://ana:{SECRET}@db/clinic#flu", "postgresql://ana@db/clinic#flu"),
        (f"postgres://ana:{SECRET}@db:5/clinic", "postgresql://ana@db:5/clinic"),
        (
            f"postgresql://ana@db/clinic?sslmode=require&password={SECRET}#flu",
            "postgresql://ana@db/clinic?sslmode=require#flu",
        ),
        (f"postgresql:///clinic?sslpassword={SECRET}#flu", "postgresql:///clinic#flu"),
    ],
)
def test_a_policy_is_written_without_the_password_of_the_ledger(tmp_path, given, written):
    done = set_up(tmp_path, given)
    assert done.exit_code == 0, done.stderr
    text = (tmp_path / "policy.toml").read_text()
    assert SECRET not in text + done.output + done.stderr
    assert read_policy(text).session.ledger == written
    assert "PGPASSWORD" in done.stdout


@pytest.mark.parametrize("ledger", ["visits.ledger", "postgresql://ana@db/clinic#flu", "a#b:c@d"])
def test_other_ledgers_are_written_as_they_are(tmp_path, ledger):
    done = set_up(tmp_path, ledger)
    assert done.exit_code == 0, done.stderr
    assert read_policy(tmp_path / "policy.toml").session.ledger == ledger
    assert ("PGPASSWORD" in done.stdout) == ledger.startswith("postgresql://")


def test_nothing_more_is_said_to_programs(tmp_path):
    done = set_up(tmp_path, f"postgresql://ana:{SECRET}@db/clinic#flu", "--json")
    assert done.exit_code == 0, done.stderr
    assert "PGPASSWORD" not in done.stdout


@pytest.mark.parametrize(
    "ledger",
    [
        f"postgresql://ana:12#{SECRET}@db/clinic",
        f"postgresql://ana:{SECRET}#@db/clinic",
        f"postgresql://ana:{SECRET}@db/clinic#no name",
        f"postgresql://ana:{SECRET}@db/clinic/visits#flu",
        f"postgresql://ana:{SECRET}@db/clinic/public.visits#flu",
        f"postgresql://ana:a@{SECRET}@db/clinic#flu",
    ],
)
def test_a_ledger_whose_address_cannot_be_read_is_refused(tmp_path, ledger):
    done = set_up(tmp_path, ledger)
    assert done.exit_code == 2, done.stdout
    assert SECRET not in done.output + done.stderr
    assert not (tmp_path / "policy.toml").exists()


def test_what_a_command_works_with_shows_no_password(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    place = f"postgresql://ana:{SECRET}@db/clinic"
    (tmp_path / "policy.toml").write_text(
        f'format = 1\n[session]\ndata = "{place}/visits"\nledger = "{place}#flu"\n'
    )
    for project in (
        command_inputs(),
        command_inputs(data=f"{place}/visits", ledger=f"{place}#flu"),
    ):
        assert project.named_data() == f"{place}/visits"
        assert project.named_ledger() == f"{place}#flu"
        assert SECRET not in repr(project) + str(project)
