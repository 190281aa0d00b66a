"""What newcomers ran into, each as they did it: on the command line, and by open, plan and ask."""

import json
import re

import pytest

import discreet as dp
from discreet.plan.policy.policy import read_policy
from discreet.query.types import Type
from tests.cli.test_commands import answered, run
from tests.first_hour.made_up import TABLES, write

MOST_PLAN, MOST_NOTES = 12, 6


@pytest.fixture
def survey(tmp_path):
    """A table of people, with what its owner accepted."""
    write(tmp_path / "slid.csv", list(TABLES["slid"]()))
    accepted = ("--owner", "--yes", "--accept-proposals", "--epsilon=5")
    answered(tmp_path, "init", "slid.csv", *accepted)
    return tmp_path


def test_a_bounded_whole_number_is_a_public_key(survey):
    having = "SELECT age, COUNT(*) AS n FROM slid GROUP BY age HAVING COUNT(*) > 30"
    rows = json.loads(answered(survey, "ask", having, "--epsilon=0.5", "--json").stdout)["rows"]
    assert len(rows) > 50
    plan = answered(survey, "plan", having, "--epsilon=0.5").stdout
    assert "public groups of age" in plan


def test_truth_values_are_added_up_and_compared_as_the_file_writes_them(tmp_path):
    write(tmp_path / "males.csv", list(TABLES["males"]()))
    answered(
        tmp_path, "init", "males.csv", "--owner", "--yes", "--accept-proposals", "--epsilon=99"
    )
    share = "SELECT AVG(married) AS m, AVG(wage > 0) AS w FROM males WHERE health = 'no'"
    (row,) = json.loads(answered(tmp_path, "ask", share, "--epsilon=9", "--json").stdout)["rows"]
    assert 0.3 < row["m"] < 0.6
    assert row["w"] > 0.9


def test_a_condition_completes_a_key(tmp_path):
    write(tmp_path / "males.csv", list(TABLES["males"]()))
    answered(tmp_path, "init", "males.csv", "--owner", "--yes", "--accept-proposals")
    for condition, width in (
        ("year = 1985", "n ± 30"),  # a man has one row in a year
        ("1985 = year AND wage > 0", "n ± 30"),
        ("year IN (1985, 1986)", "n ± 240"),
        ("year >= 1985", "n ± 240"),
        ("school = 12", "n ± 240"),
    ):
        question = f"SELECT COUNT(*) AS n FROM males WHERE {condition}"  # noqa: S608
        plan = answered(tmp_path, "plan", question, "--epsilon=0.1").stdout
        assert re.search(rf"{width}\b", plan), plan


def test_categories_keep_the_type_of_the_column(tmp_path):
    rows = [{"differ": f"{1 + at % 3}.0" if at % 7 else ""} for at in range(900)]
    write(tmp_path / "marks.csv", rows)
    answered(tmp_path, "init", "marks.csv", "--unit=row", "--yes", "--categories=differ=1,2,3")
    column = read_policy(tmp_path / "policy.toml").tables[0].column("differ")
    assert column.type is Type.INTEGER
    by = "SELECT differ, COUNT(*) AS n FROM marks GROUP BY differ"
    rows = json.loads(answered(tmp_path, "ask", by, "--epsilon=0.9", "--json").stdout)["rows"]
    assert [row["differ"] for row in rows] == [1, 2, 3]
    assert all(abs(row["n"] - 257) < 60 for row in rows)


def test_days_before_1900_are_bounds(tmp_path):
    write(tmp_path / "old.csv", [{"person": at, "start_date": "1867-07-01"} for at in range(50)])
    bounds = "--bounds=start_date=1867-01-01:2020-01-01"
    answered(tmp_path, "init", "old.csv", "--unit=person", "--yes", bounds)
    column = read_policy(tmp_path / "policy.toml").tables[0].column("start_date")
    assert column.type is Type.DATE
    assert column.days[0].year == 1867


@pytest.mark.parametrize(
    "question",
    [
        "SELECT wages, COUNT(*) AS n FROM slid GROUP BY wages",
        "SELECT CORR(education, wages) AS r FROM slid",
        "SELECT age, MEDIAN(wages) AS m FROM slid GROUP BY age",
    ],
)
def test_what_would_be_empty_or_blind_costs_nothing(survey, question):
    refused = run(survey, "ask", question, "--epsilon=0.01", "--json")
    assert refused.exit_code == 4
    assert json.loads(refused.stdout)["code"] == "E507"
    assert refused.stderr.startswith("Not asked, nothing spent: ")
    entries = json.loads(answered(survey, "ledger", "show", "--json").stdout)
    assert "release" not in json.dumps(entries.get("entries", []))
    asked = run(survey, "ask", question, "--epsilon=0.01", "--confirm", "--json")
    assert asked.exit_code == 0


def test_python_refuses_alike_and_confirm_asks(survey):
    policy = survey / "policy.toml"
    question = "SELECT CORR(education, wages) AS r FROM slid"
    with dp.open(survey / "slid.csv", policy=policy, ledger=survey / "slid.ledger") as session:
        before = session.remaining.amounts
        with pytest.raises(dp.errors.TooNoisy, match="confirm=True asks anyway"):
            session.ask(question, epsilon="0.01")
        assert session.remaining.amounts == before
        assert len(session.ask(question, epsilon="0.01", confirm=True)) == 1
        assert session.ask(question, epsilon="0.01").replayed  # what was paid for is told again


def test_ends_of_bounds_may_be_called_low_and_high(survey):
    with dp.open(survey / "slid.csv", policy=survey / "policy.toml") as session:
        table = session.table("slid")
        plans = [
            table.mean("education", name="m", **given).plan(epsilon=1)
            for given in ({"low": 0, "high": 30}, {"bounds": (0, 30)})
        ]
        assert plans[0].digest == plans[1].digest


def test_a_plan_and_an_answer_fit_on_a_screen(survey):
    question = (
        "SELECT sex, language, COUNT(*) AS n, AVG(wages) AS w, AVG(education) AS e FROM slid "
        "GROUP BY sex, language"
    )
    plan = answered(survey, "plan", question, "--epsilon=2").stdout
    assert len(plan.splitlines()) <= MOST_PLAN
    assert "rho" not in plan
    assert "rho" in answered(survey, "plan", question, "--epsilon=2", "--verbose").stdout
    done = answered(survey, "ask", question, "--epsilon=2")
    below = done.stdout.partition("\n\n")[2]
    assert len(below.splitlines()) + len(done.stderr.splitlines()) <= MOST_NOTES
    assert "of the budget left" in done.stderr


def test_a_check_says_which_limit_hurts(tmp_path):
    write(tmp_path / "males.csv", list(TABLES["males"]()))
    policy = 'format = 1\nunit = "nr"\n[limits]\nmax_groups = 2\nmax_rows = 8\n'
    years = '[tables.males.columns]\nyear = {type = "integer", low = 1980, high = 1987}\n'
    (tmp_path / "policy.toml").write_text(policy + years)
    told = answered(tmp_path, "check", "--data=males.csv").stdout
    assert "the limit cuts 75 % of groups, from 100 % of units" in told
    assert (
        "What costs most: males.year, groups of a unit, by year (at most 2): 75 % is lost." in told
    )


def test_counts_that_were_paid_for_are_sorted_and_cut_for_nothing(tmp_path):
    write(tmp_path / "males.csv", list(TABLES["males"]()))
    answered(tmp_path, "init", "males.csv", "--owner", "--yes", "--accept-proposals")
    question = "SELECT year, COUNT(*) AS n FROM males GROUP BY year"

    def rows(more=""):
        asked = ("ask", question + more, "--epsilon=0.5", "--json")
        return json.loads(answered(tmp_path, *asked).stdout)["rows"]

    first = rows()
    largest = sorted(first, key=lambda row: -row["n"])
    assert rows(" ORDER BY n DESC LIMIT 3") == largest[:3]
    assert rows(" ORDER BY n DESC LIMIT 2 OFFSET 1") == largest[1:3]
    assert rows() == first
    assert "50 %" in answered(tmp_path, "ledger", "show").stdout
