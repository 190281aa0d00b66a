"""What a newcomer is told before paying, on a table whose size is public."""

import json
import re

import pytest

from tests.cli.test_commands import answered, run
from tests.first_hour.made_up import TABLES, write

POLICY = """
format = 1
unit = "id"
[session]
data = "votes.csv"
ledger = "votes.ledger"
[budget]
epsilon = 5
delta = "1e-7"
[limits]
max_groups = 1
max_rows = 1
[tables.votes]
size = {people = 750, rows = 750}
[tables.votes.columns]
vote = {type = "text", categories = ["A", "N", "Y"]}
age = {type = "integer", low = 18, high = 70}
town = {type = "integer", low = 1, high = 5}
female = {type = "integer", low = 0, high = 1}
day = {type = "date", low = 2010-01-01, high = 2020-12-31}
member = {type = "integer", low = 1, high = 9000}
"""


@pytest.fixture
def votes(tmp_path):
    """A table of people who voted, and its policy."""
    write(tmp_path / "votes.csv", list(TABLES["votes"]()))
    (tmp_path / "policy.toml").write_text(POLICY)
    return tmp_path


def refused(folder, question, epsilon):
    """Ask what is not worth its price; return what is said about that."""
    asked = run(folder, "ask", question, f"--epsilon={epsilon}", "--json")
    assert asked.exit_code == 4, asked.stdout
    assert json.loads(asked.stdout)["code"] == "E507"
    assert asked.stderr.startswith("Not asked, nothing spent: ")
    return asked.stderr


@pytest.mark.parametrize(
    ("condition", "declared"),
    [
        ("vote = 'yes'", "its categories are 'A', 'N', 'Y'"),
        ("age = 200", "its bounds are 18 and 70"),
        ("town = 7", "its bounds are 1 and 5"),
        ("female = 1 AND age > 70", "its bounds are 18 and 70"),
    ],
)
def test_what_no_declared_value_meets_costs_nothing(votes, condition, declared):
    question = f"SELECT COUNT(*) AS n FROM votes WHERE {condition}"  # noqa: S608
    said = refused(votes, question, 0.5)
    assert declared in said
    assert "epsilon" not in said
    plan = answered(votes, "plan", question, "--epsilon=0.5").stdout
    assert "hardly any row would count: not asked without confirm" in plan
    assert "fine" not in plan
    assert run(votes, "ask", question, "--epsilon=0.5", "--confirm").exit_code == 0


@pytest.mark.parametrize("key", ["id", "day", "member", "vote, id"])
def test_groups_that_are_too_small_cost_nothing(votes, key):
    question = f"SELECT {key}, COUNT(*) AS n FROM votes GROUP BY {key}"  # noqa: S608
    assert "hardly any group would be shown" in refused(votes, question, 0.5)
    plan = answered(votes, "plan", question, "--epsilon=0.5").stdout
    assert "not asked without confirm" in plan
    assert "fine" not in plan


def test_values_that_are_declared_are_not_counted_for_a_price(votes):
    told = refused(votes, "SELECT COUNT(DISTINCT vote) AS n FROM votes", 0.5)
    assert "at most 3 values are declared" in told
    people = "SELECT COUNT(DISTINCT id) AS n FROM votes"
    assert "750 people" in answered(votes, "plan", people, "--epsilon=0.5").stdout


def test_what_needs_more_people_is_not_sent_to_larger_groups(votes):
    told = refused(votes, "SELECT CORR(age, town) AS r FROM votes", 0.01)
    assert "larger groups" not in told


def test_one_value_of_a_key_is_not_the_whole_table(votes):
    question = "SELECT age, COUNT(*) AS n FROM votes WHERE age IN (30, 31) GROUP BY age"
    assert "one age has about 14 rows" in answered(votes, "plan", question, "--epsilon=5").stdout
    younger = "SELECT age, COUNT(*) AS n FROM votes WHERE age < 30 GROUP BY age"
    assert "one age has about 14 rows" in answered(votes, "plan", younger, "--epsilon=5").stdout
    person = "SELECT COUNT(*) AS n FROM votes WHERE id = '7'"
    assert "the table has about 1 row." in refused(votes, person, 0.5)


@pytest.mark.parametrize(
    "share",
    [
        "SUM(female) / COUNT(*)",
        "100.0 * SUM(female) / COUNT(*)",
        "SUM(female) / COUNT(*) * 100",
        "CAST(SUM(female) AS FLOAT64) / COUNT(*)",
    ],
)
def test_a_share_is_forecast_as_the_ratio_that_it_is(votes, share):
    question = f"SELECT {share} AS share FROM votes"  # noqa: S608
    assert "share ± " in answered(votes, "plan", question, "--epsilon=1").stdout
    (row,) = json.loads(answered(votes, "ask", question, "--epsilon=1", "--json").stdout)["rows"]
    hundred = 100 if "100" in share else 1
    assert abs(row["share"] / hundred - 0.5) < 0.1
    assert "share" in refused(votes, question, 0.01)


@pytest.mark.parametrize(
    "formula",
    [
        "STDDEV(age) / AVG(age)",
        "SUM(female) / NULLIF(COUNT(*), 0)",
        "COUNT(*) - COUNTIF(female = 1)",
        "ROUND(AVG(age) + AVG(town), 1)",
    ],
)
def test_other_formulas_are_answered_without_a_wrong_forecast(votes, formula):
    question = f"SELECT {formula} AS f FROM votes"  # noqa: S608
    plan = answered(votes, "plan", question, "--epsilon=1").stdout
    assert "unreadable" not in plan
    assert "fine" not in plan
    assert run(votes, "ask", question, "--epsilon=1").exit_code == 0


def test_numbers_and_words_are_written_as_people_do(votes):
    said = refused(votes, "SELECT AVG(age) AS m FROM votes", 0.001)
    assert "e+" not in said
    assert " % of your budget" in said
    wrong = run(votes, "ask", "SELECT COUNT(*) AS n FROM votes WHERE age", "--epsilon=1")
    assert "a condition is needed here, not an INTEGER" in wrong.stderr
    answered(votes, "ask", "SELECT COUNT(*) AS n FROM votes", "--epsilon=1")
    told = answered(votes, "explain").stdout
    assert "a id" not in told
    assert "an id" in told


@pytest.mark.parametrize(
    "counted",
    [
        "COUNT(DISTINCT school) AS n FROM votes",
        "COUNTIF(age IS NULL) AS n FROM votes",
        "COUNT(*) - COUNT(age) AS n FROM votes",
        "SUM(CASE WHEN age IS NULL THEN 1 ELSE 0 END) AS n FROM votes",
        "COUNT(*) AS n FROM votes WHERE age IS NULL",
        "COUNT(*) AS n FROM votes WHERE school = '12'",
    ],
)
def test_what_nothing_says_the_size_of_is_compared_with_the_whole_table(votes, counted):
    told = refused(votes, f"SELECT {counted}", 0.005)
    assert "it is at most about 750, the rows of the table" in told
    assert " % of the most)" in told
    plan = answered(votes, "plan", f"SELECT {counted}", "--epsilon=0.1").stdout
    half, at_least = re.search(r"n ± (\d+), readable from about (\d+) on", plan).groups()
    assert abs(int(at_least) - 2 * int(half)) <= 1
    assert run(votes, "ask", f"SELECT {counted}", "--epsilon=0.1").exit_code == 0


@pytest.mark.parametrize("beside", ["COUNT(*) AS n", "MODE(vote) AS often"])
def test_one_column_that_nobody_can_read_is_not_paid_for(votes, beside):
    question = f"SELECT {beside}, STDDEV(age) AS m FROM votes"  # noqa: S608
    told = refused(votes, question, 0.2)
    assert "m would be ±" in told
    plan = answered(votes, "plan", question, "--epsilon=0.2").stdout
    assert "unreadable: " in plan
    name = beside.rpartition(" ")[2]
    assert not re.search(rf"\b{name} ± .* unreadable", plan)
    enough = re.search(r"--epsilon (\S+) gives", told).group(1)
    assert run(votes, "ask", question, f"--epsilon={enough}").exit_code == 0


def test_a_mode_is_off_by_rows(votes):
    mode = "SELECT MODE(vote) AS often FROM votes"
    told = refused(votes, mode, 0.01)
    assert " rows behind the most frequent value, and the table has about 750 rows" in told
    assert " %), fine: " in answered(votes, "plan", mode, "--epsilon=1").stdout


def test_groups_of_unknown_size_are_counted_only_if_small_ones_can_be_read(votes):
    question = "SELECT vote, COUNT(*) AS n FROM votes GROUP BY vote"
    told = refused(votes, question, 0.1)  # 12 % of the average
    assert "one vote has about 250 rows, and many may have far less" in told
    having = f"{question} HAVING COUNT(*) > 200"
    plan = answered(votes, "plan", having, "--epsilon=0.1").stdout
    assert "(12 %), rough: only groups of 200 rows or more" in plan
    assert run(votes, "ask", having, "--epsilon=0.1").exit_code == 0
