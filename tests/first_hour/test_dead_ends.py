"""What a newcomer is pointed to works, and a refusal names the way on."""

import json
import shlex

import pytest

from tests.cli.test_commands import answered

COUNT = "SELECT COUNT(*) AS n FROM towns"


@pytest.fixture
def folder(tmp_path):
    """A folder with a table of 40 towns, its policy and its ledger."""
    lines = [f"p{at},t{at % 40},{at % 90}" for at in range(400)]
    (tmp_path / "towns.csv").write_text("\n".join(["person,town,age", *lines]) + "\n")
    towns = ",".join(f"t{at}" for at in range(40))
    answered(
        tmp_path,
        *("init", "towns.csv", "--unit=person", "--type=age=integer", "--bounds=age=0:90"),
        *(f"--categories=town={towns}", "--max-rows=1", "--max-groups=1", "--yes"),
    )
    return tmp_path


@pytest.mark.parametrize("named", [(), ("--policy=towns.toml", "--ledger=towns.ledger")])
def test_the_pointer_below_an_answer_works(folder, named):
    if named:
        (folder / "policy.toml").rename(folder / "towns.toml")
    told = answered(folder, "ask", COUNT, "--epsilon=0.5", *named).stderr
    (pointer,) = told.strip().split("Details: --verbose, or ")[1:]
    name, *command = shlex.split(pointer)
    assert name == "discreet"
    assert "0.5" in answered(folder, *command).stdout


def test_rows_that_are_not_shown_can_be_had(folder):
    question = ("ask", "SELECT town, COUNT(*) AS n FROM towns GROUP BY town", "--epsilon=0.5")
    told = answered(folder, *question, "--confirm").stdout
    assert "... and 20 more rows: --json, or .to_pandas() in Python, has them all." in told
    assert len(json.loads(answered(folder, *question, "--json", "--confirm").stdout)["rows"]) == 40
