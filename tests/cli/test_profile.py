"""``discreet profile``: the plan, the question, the page, and the second time for free."""

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from discreet.cli.app import app
from tests.synthetic.tables import POLICY, visits

PRICE = ("visits", "--epsilon", "1", "--delta", "1e-9")


@pytest.fixture
def clinic(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    session = '[session]\ndata = "visits.parquet"\nledger = "visits.ledger"\n'
    Path("policy.toml").write_text(POLICY + session, encoding="utf-8")
    pq.write_table(visits(500), "visits.parquet")


def run(*arguments):
    return CliRunner().invoke(app, ["profile", *arguments])


@pytest.mark.usefixtures("clinic")
def test_nothing_is_spent_unless_somebody_says_so():
    plan = run(*PRICE, "--dry-run", "--size", "500", "--json")
    assert plan.exit_code == 0, plan.output
    content = json.loads(plan.output)
    assert content["kind"] == "profile_plan"
    assert len(content["columns"]) == 5
    refused = run(*PRICE)
    assert refused.exit_code == 2
    assert "--yes" in refused.output
    assert not Path("visits.ledger").exists() or "0" in run(*PRICE, "--dry-run").output


@pytest.mark.usefixtures("clinic")
def test_a_profile_is_bought_once_and_written_as_a_page():
    done = run(*PRICE, "--yes", "--html", "visits.html", "--json")
    assert done.exit_code == 0, done.output
    first = json.loads(done.stdout)
    assert first["kind"] == "profile"
    assert not first["replayed"]
    assert Path("visits.html").read_text(encoding="utf-8").count("<svg") == 5
    again = run(*PRICE)  # on record: nobody is asked
    assert again.exit_code == 0, again.output
    assert "already paid" in again.output


@pytest.mark.usefixtures("clinic")
def test_a_profile_that_could_not_be_read_is_not_bought():
    price = ("visits", "--epsilon", "0.01", "--delta", "1e-9", "--size", "500", "--yes")
    refused = run(*price)
    assert refused.exit_code != 0
    assert "half of the columns would be off by" in refused.output
    assert run(*price, "--confirm").exit_code == 0
