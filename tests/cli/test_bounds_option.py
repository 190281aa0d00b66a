"""Bounds are found from the command line too."""

import json

import pyarrow.csv
import pytest

from tests.cli.test_commands import SET_UP, answered, run
from tests.session.clinic import visits

MEAN = "SELECT AVG(CAST(visit AS INTEGER)) AS v FROM visits"


@pytest.fixture
def clinic(tmp_path):
    pyarrow.csv.write_csv(visits(400), tmp_path / "visits.csv")
    answered(tmp_path, *SET_UP)
    return tmp_path


def test_missing_bounds_are_found_for_a_price(clinic):
    refused = run(clinic, "plan", MEAN, "--epsilon=0.25")
    assert refused.exit_code != 0
    assert "on the command line --bounds-epsilon=0.1." in " ".join(refused.stderr.split())
    asked = (MEAN, "--epsilon=0.25", "--bounds-epsilon=0.25")
    plan = json.loads(answered(clinic, "plan", *asked, "--json").stdout)
    assert plan["price"]["epsilon"] == "1/2"
    assert plan["bounds"]["epsilon"] == "1/4"
    assert "finds bounds first" in answered(clinic, "plan", *asked).stdout
    release = json.loads(answered(clinic, "ask", *asked, "--json").stdout)
    assert [each["of"] for each in release["bounds"]] == ["CAST(visit AS INTEGER)"]
    assert not release["replayed"]
    again = answered(clinic, "ask", *asked)
    assert "Replayed" in again.stdout
    assert "Bounds were found privately: CAST(visit AS INTEGER) from" in again.stdout
    assert "50 %" in again.stderr


def test_a_bad_price_is_refused(clinic):
    done = run(clinic, "ask", MEAN, "--epsilon=0.25", "--bounds-epsilon=-1")
    assert done.exit_code != 0
    assert "epsilon" in done.stderr
