"""What a newcomer is pointed to works, and a refusal names the way on."""

import json
import re
import shlex

import pytest

import discreet as dp
from discreet.errors import OutOfRange, WrongKind
from discreet.plan.policy.policy import read_policy
from tests.cli.test_commands import answered, run
from tests.first_hour.made_up import Terminal, write

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


def test_a_slip_costs_no_other_answer(folder):
    (folder / "policy.toml").unlink()
    terminal = Terminal(folder, "init", "towns.csv", "--owner", "--ledger=second.ledger")
    unit, bounds = ("preson", "person"), ("age", "9..1", "age 0:120", "town 1..2", "")
    assert terminal.answer(*unit, *bounds, "n", "abc", "2", "-1", "1e-7") == 0, terminal.shown
    shown = terminal.shown
    assert "there is no column preson. use one of: person, town, age." in shown
    assert "epsilon is text that is not a number" in shown
    assert "age, as LOW..HIGH, LOW:HIGH or A, B, C" in shown
    assert "low is not below high" in shown
    assert "delta is not between 0 and 1" in shown
    rules = read_policy(folder / "policy.toml")
    assert rules.tables[0].column("age").high == 120
    assert str(rules.budget).startswith("epsilon 2 at delta 1e-07")


def test_what_was_said_of_other_bounds_is_gone(folder):
    text = (folder / "towns.csv").read_text().replace("p7,t7,7\n", "p7,t7,5000\n")
    (folder / "old.csv").write_text(text)
    terminal = Terminal(folder, "init", "old.csv", "--owner", "--policy=old.toml")
    assert terminal.answer("person", "age 0:50") == 0, terminal.shown
    lines = [line for line in terminal.shown.splitlines() if line.startswith("  b  age")]
    assert ["of cells inside" in line for line in lines] == [True, False]
    assert "no NULL" in lines[1]


def test_comments_say_what_came_from_the_rows(folder):
    (folder / "policy.toml").unlink()
    terminal = Terminal(folder, "init", "towns.csv", "--owner", "--ledger=second.ledger")
    assert terminal.answer("person", "", "n") == 0, terminal.shown
    text = " ".join((folder / "policy.toml").read_text().replace("\n# ", " ").split())
    assert "NOT PRIVATE: Types, bounds, categories, limits and key were proposed" in text
    assert "confirmed by the owner after looking" in text
    assert "never come from the rows" not in text


def test_over_budget_is_one_number(folder):
    answered(folder, "ask", COUNT, "--epsilon=1")
    more = ("ask", f"{COUNT} WHERE age < 50", "--epsilon=0.1")
    refused, told, read = (
        run(folder, *more, *option) for option in ((), ("--verbose",), ("--json",))
    )
    first = "OverBudget[E301]: account data: this costs 10 % of the budget; nothing is left."
    assert refused.stderr.splitlines()[0] == first
    assert "rho" not in refused.stderr
    assert refused.stderr in told.stderr
    details = json.loads(read.stdout)["details"]
    assert "what is left there is epsilon 0" in details
    assert details in told.stderr
    assert {refused.exit_code, told.exit_code, read.exit_code} == {3}


def test_text_in_double_quotes_is_told_apart(folder):
    refused = run(folder, "plan", f'{COUNT} WHERE town = "t1"', "--epsilon=0.1")
    assert "Do:  text goes in single quotes: 't1'; use one of: age, person, town." in refused.stderr
    plain = run(folder, "plan", f"{COUNT} WHERE town = t1", "--epsilon=0.1")
    assert "single quotes" not in plain.stderr


def test_a_file_as_r_writes_it_is_read_as_it_is(tmp_path):
    lines = [f'"{at + 1}",{at % 2},{20 + at % 50}' for at in range(600)]
    (tmp_path / "people-2024.csv").write_text("\n".join(['"",sex,age', *lines]) + "\n")
    answered(tmp_path, "init", "people-2024.csv", "--owner", "--yes", "--accept-proposals")
    asked = ("ask", "SELECT sex, AVG(age) AS m FROM people_2024 GROUP BY sex", "--epsilon=0.9")
    rows = json.loads(answered(tmp_path, *asked, "--json").stdout)["rows"]
    assert all(abs(row["m"] - 44.5) < 4 for row in rows)


def test_the_leftovers_of_a_ledger_are_noticed_before_the_first_question(folder):
    (folder / "policy.toml").unlink()
    (folder / "towns.ledger").rename(folder / "towns.ledger-journal")  # as after a kill
    terminal = Terminal(folder, "init", "towns.csv", "--owner")
    assert terminal.answer() != 0
    assert terminal.prompts == 0
    assert "or name another ledger" in terminal.shown


def test_one_end_of_bounds_is_not_enough(folder):
    with dp.open(folder / "towns.csv", policy=folder / "policy.toml") as session:
        table = session.table("towns")
        with pytest.raises(WrongKind, match="low=0, high=100"):
            table.mean("age", low=0)
        with pytest.raises(OutOfRange, match="low end of bounds is above"):
            table.mean("age", low=9, high=0)


def test_several_files_in_a_list_are_named_one_by_one():
    with pytest.raises(WrongKind, match=r'give {"towns": "towns.csv", "people": "b/people.csv"}'):
        dp.open(["towns.csv", "b/people.csv"], unit=dp.row(), budget=dp.Budget(epsilon=1))


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("SELECT union, COUNT(*) AS n FROM towns GROUP BY union", "is quoted: `union`"),
        (f"{COUNT} WHERE union = 'yes'", "is quoted: `union`"),
        (f"{COUNT} WHERE age = '40'", "write 40 without quotes"),
        (f"{COUNT} WHERE age", "a condition is needed here, not an INTEGER"),
    ],
)
def test_a_slip_in_the_question_is_told_with_what_to_write(folder, question, words):
    assert words in " ".join(run(folder, "plan", question, "--epsilon=0.1").stderr.split())


def test_days_and_timestamps_are_told_apart(folder):
    rows = [{"seen": "2020-01-01 10:00:00", "born": "1990-01-01"} for _ in range(30)]
    write(folder / "seen.csv", rows)
    made = ("init", "seen.csv", "--unit=row", "--policy=seen.toml", "--yes")
    answered(folder, *made, "--type=seen=timestamp", "--type=born=date")
    age = "SELECT AVG(DATE_DIFF(seen, born, DAY)) AS d FROM seen"
    refused = run(folder, "plan", age, "--epsilon=0.1", "--policy=seen.toml").stderr
    assert "give it DATE: CAST(seen AS DATE)." in refused


def test_the_number_of_an_entry_leads_to_its_answer(folder):
    answered(folder, "ask", COUNT, "--epsilon=0.5")
    (number,) = re.findall(r"^(\d+) ", answered(folder, "ledger", "show").stdout, re.MULTILINE)
    refused = run(folder, "ledger", "show", number)
    assert f"`discreet explain {number}` shows this entry" in refused.stderr
    answered(folder, "explain", number)
