"""``discreet local`` about a number: a form, a plan, reports and a mean."""

import json

import pytest

from discreet.local import Form, NumberRange
from tests.cli.test_commands import answered, run


@pytest.fixture
def ages(tmp_path):
    """A folder with a form about ages, and thirty reports."""
    made = answered(tmp_path, "local", "form", "--number=0:120", "--epsilon=4")
    (tmp_path / "form.json").write_bytes(made.stdout_bytes)
    (tmp_path / "reports").write_bytes(
        Form.deserialize(made.stdout).client().report_each([42] * 30)
    )
    return tmp_path


def test_a_number_is_asked_for_and_its_mean_told(ages):
    form = Form.deserialize((ages / "form.json").read_text())
    assert form.domain == NumberRange(low=0, high=120)
    reported = answered(ages, "local", "report", "form.json", "41.5")
    assert len(reported.stdout_bytes) == form.layout.report_bytes
    told = answered(ages, "local", "collect", "form.json", "reports", "--json").stdout
    mean = json.loads(told)
    assert (mean["kind"], mean["reports"]) == ("mean", 30)
    assert mean["low"] <= mean["mean"] <= mean["high"]
    assert "30 reports" in answered(ages, "local", "collect", "form.json", "reports").stdout
    planned = answered(ages, "local", "plan", "form.json", "--people=50").stdout
    assert "mean, at worst          ±" in planned


@pytest.mark.parametrize(
    "wrong",
    [
        ("form", "--number=5", "--epsilon=1"),
        ("form", "--number=5:1", "--epsilon=1"),
        ("form", "--number=0:1", "--other=x", "--epsilon=1"),
        ("form", "--number=0:1", "--bins=0:1:2", "--epsilon=1"),
        ("form", "--categories=a,b", "--categories-from=form.json", "--epsilon=1"),
        ("report", "form.json", "121"),
        ("report", "form.json", "old"),
        ("collect", "form.json", "reports", "--bars=all"),
        ("collect", "form.json", "reports", "--consistent=simplex"),
    ],
)
def test_what_makes_no_sense_is_refused(ages, wrong):
    done = run(ages, "local", *wrong)
    assert done.exit_code != 0
    assert "121" not in done.stderr
    assert not done.stdout
