"""``discreet check``: for owners, without a ledger, and with an end that scripts can read."""

import json
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from discreet.cli import app
from discreet.session.owner_check.check_report import WARNING

POLICY = """
format = 1
unit = "patient"
[session]
data = "visits.csv"
ledger = "clinic.ledger"
[budget]
epsilon = "2"
[limits]
max_rows = 5
[tables.visits.columns]
patient = { type = "integer" }
born = { type = "integer", constant = true }
cost = { type = "float", low = 0, high = 10 }
"""
KEPT = "patient,born,cost\n1,1970,5\n1,1970,50\n2,1980,7\n"
BROKEN = KEPT + "2,1981,1\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "clinic.toml").write_text(POLICY)
    (tmp_path / "visits.csv").write_text(KEPT)
    return tmp_path


def run(*arguments):
    return CliRunner().invoke(app, ["check", *arguments])


def test_promises_that_hold(folder):
    done = run("clinic.toml")
    assert done.exit_code == 0, done.output
    assert done.stdout.splitlines()[0] == WARNING
    assert "differs" in done.stdout  # a cost is outside of its bounds, and clamped
    assert "BROKEN" not in done.stdout


def test_a_broken_promise_ends_with_six(folder):
    (folder / "visits.csv").write_text(BROKEN)
    done = run("clinic.toml")
    assert done.exit_code == 6
    assert "BROKEN" in done.stdout


def test_json_begins_with_the_warning(folder):
    (folder / "visits.csv").write_text(BROKEN)
    done = run("clinic.toml", "--json")
    assert done.exit_code == 6
    parsed = json.loads(done.stdout)
    assert list(parsed)[:3] == ["format", "kind", "warning"]
    assert parsed["kind"] == "check"
    assert parsed["warning"] == WARNING
    assert not parsed["holds"]
    assert {"born"} == {
        each["column"] for each in parsed["findings"] if each["trusted"] and each["holds"] is False
    }


def test_the_policy_of_the_folder_and_data_elsewhere(folder):
    (folder / "clinic.toml").rename(folder / "policy.toml")
    (folder / "visits.csv").rename(folder / "others.csv")
    assert run().exit_code == 2
    assert run("--data", "visits=others.csv").exit_code == 0


def test_no_ledger_is_made_or_needed(folder):
    run("clinic.toml")
    assert sorted(file.name for file in folder.iterdir()) == ["clinic.toml", "visits.csv"]


def test_help_says_that_it_is_not_private():
    done = run("--help")
    assert "NOT private" in done.stdout
    assert "discreet check clinic.toml" in done.stdout


def test_asking_does_not_load_the_check(folder):
    program = """
import sys
from discreet.cli import app
app(["ask", "SELECT COUNT(*) AS n FROM visits", "--policy", "clinic.toml", "--epsilon", "0.1"],
    standalone_mode=False)
print(*(name for name in sys.modules if "owner_check" in name), file=sys.stderr)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, check=False, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "owner_check" not in done.stderr
    assert "of the budget left" in done.stderr


def test_a_plan_names_promises_in_its_json(folder):
    question = "SELECT COUNT(*) AS n FROM visits WHERE born < 1975"
    arguments = ["plan", question, "--policy", "clinic.toml", "--epsilon", "0.1", "--json"]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0, done.output
    promises = json.loads(done.stdout)["promises"]
    assert [promise["kind"] for promise in promises] == ["names", "constant"]
    assert promises[1]["column"] == "born"
