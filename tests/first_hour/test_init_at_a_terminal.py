"""The owner looks once, line by line: ``discreet init --owner`` at a real pseudo-terminal."""

import pytest

from benchmarks.rows.first_hour_tables import write_tables
from discreet.plan.policy.policy import read_policy
from discreet.query.types import Type
from tests.cli.test_commands import answered, run
from tests.first_hour.made_up import TABLES, Terminal, write

FEW = 8


@pytest.fixture(scope="module", params=TABLES)
def asked(request, tmp_path_factory):
    """A table, what the owner's terminal showed where only Enter was pressed, and the policy."""
    folder, name = tmp_path_factory.mktemp(request.param), request.param
    write(folder / f"{name}.csv", list(TABLES[name]()))
    terminal = Terminal(folder, "init", f"{name}.csv", "--owner")
    assert terminal.answer() == 0, terminal.shown
    return name, folder, terminal


def test_enter_is_enough_and_prompts_are_few(asked):
    name, folder, terminal = asked
    assert terminal.prompts <= FEW
    assert (folder / "policy.toml").exists()
    assert (folder / f"{name}.ledger").exists()
    lines = terminal.shown.splitlines()
    assert len(lines) <= (80 if name == "wide" else 30)


def test_the_same_is_written_by_a_script(asked):
    name, folder, _ = asked
    place = folder / "script"
    place.mkdir()
    command = ("init", f"../{name}.csv", "--owner", "--yes", "--accept-proposals")
    answered(place, *command)
    written, looked = (
        [
            line
            for line in (where / "policy.toml").read_text().splitlines()
            if "_id" not in line and not line.startswith(("data", "#", "tuning"))
        ]
        for where in (place, folder)
    )
    assert written == looked


def test_the_policy_answers_and_says_who_confirmed_it(asked):
    name, folder, _ = asked
    policy = read_policy(folder / "policy.toml")
    assert "confirmed by the owner after looking" in policy.about.tuning
    assert policy.tables[0].size.people >= 500
    question = f"SELECT COUNT(*) AS n FROM {name}"  # noqa: S608
    done = answered(folder, "ask", question, "--epsilon=0.3", "--json")
    assert '"receipt"' in done.stdout
    assert run(folder, "check").exit_code == 0


@pytest.mark.parametrize("itself", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_the_transcript_of_men_and_their_years(tmp_path, itself):
    """It is the same for made-up men and for the table of the package, which is downloaded."""
    if itself:
        write_tables(tmp_path)
    else:
        write(tmp_path / "males.csv", list(TABLES["males"]()))
    terminal = Terminal(tmp_path, "init", "males.csv", "--owner")
    assert terminal.answer() == 0
    for words in (
        "Looking at males.csv (you are the owner; nothing leaves this screen).   12 columns",
        "nr repeats 8 times and looks like a name of people",
        "about 4,000 rows",
        "(nr, year) is unique: one row for each person and year. Declare this key? [Y/n]",
        "a  year        integer   1980..1987",
        "people are in up to 8",
        "e  ethn        text      black, hisp, other",
        "the same in all rows of a person",
        "29 % NULL",
        "1 rarer value not shown",
        "May the size be public, rounded: 500 people, 4,000 rows?",
        "a guesser is right at most 74 of 100 times",
        "Ten questions at 0.1 each: a count of all people ± 6 %, a count by year ± 48 %",
        "a mean wage by year no use",
        "Four at 0.25 each: a count by year ± 19 %",
        "Wrote policy.toml",
    ):
        assert words in terminal.shown, terminal.shown
    assert "abroad" not in terminal.shown  # few men live there
    assert "abroad" not in (tmp_path / "policy.toml").read_text()
    policy = read_policy(tmp_path / "policy.toml")
    (table,) = policy.tables
    assert table.key == ("nr", "year")
    assert (policy.limits.max_rows, policy.limits.max_groups) == (8, 8)
    assert table.column("ethn").constant
    assert not table.column("wage").nullable
    assert table.column("residence").nullable

    by_year = ("ask", "SELECT year, COUNT(*) AS n FROM males GROUP BY year")
    refused = run(tmp_path, *by_year, "--epsilon=0.1")
    assert refused.exit_code == 4
    assert refused.stderr.splitlines() == [
        "Not asked, nothing spent: n would be ± 240, and one year has about 500 rows.",
        "  --epsilon 0.5 gives ± 48 (9.6 %), half of your budget;  --confirm asks anyway.",
    ]
    told = answered(tmp_path, *by_year, "--epsilon=0.5")
    lines = told.stdout.splitlines()
    assert lines[0] == "year    n   (± 48, 95 % for the noise)"
    assert [line[:4] for line in lines[2:10]] == [str(year) for year in range(1980, 1988)]
    assert all(abs(int(line.split()[1]) - 545) < 200 for line in lines[2:10])
    assert told.stderr.startswith("50 % of the budget left, one more like this.   Details: --verb")
    assert len(lines) - 10 + len(told.stderr.splitlines()) <= 6


def test_letters_change_lines_and_mistakes_are_told(tmp_path):
    write(tmp_path / "males.csv", list(TABLES["males"]()))
    terminal = Terminal(tmp_path, "init", "males.csv", "--owner")
    changes = ("a integer 1980..1990", "wage", "-5..5", "zz", "h no..idea", "e text black, other")
    assert terminal.answer("nr", "n", *changes, "", "n") == 0
    assert "there is no column zz" in terminal.shown
    (table,) = read_policy(tmp_path / "policy.toml").tables
    assert table.key == ()
    assert table.size is None
    assert float(table.column("wage").low) == -5
    assert float(table.column("year").high) == 1990
    assert table.column("ethn").categories == ("black", "other")


def test_forms_of_numbers_and_days_are_found(tmp_path):
    write(tmp_path / "kunden.csv", list(TABLES["kunden"]()))
    terminal = Terminal(tmp_path, "init", "kunden.csv", "--owner")
    assert terminal.answer() == 0
    assert "written with decimal ,, dates DD.MM.YYYY" in terminal.shown
    (table,) = read_policy(tmp_path / "policy.toml").tables
    assert table.csv.decimal == ","
    assert table.column("betrag").type is Type.FLOAT
    assert table.column("geboren").days[0].year < 1900
    assert table.column("note").type is Type.INTEGER  # 2,0 is one


def test_whole_numbers_with_gaps_are_listed(tmp_path):
    write(tmp_path / "votes.csv", list(TABLES["votes"]()))
    terminal = Terminal(tmp_path, "init", "votes.csv", "--owner")
    assert terminal.answer("id") == 0
    assert "integer   9, 12, 14, 18" in terminal.shown
    (table,) = read_policy(tmp_path / "policy.toml").tables
    assert table.column("school").categories == (9, 12, 14, 18)
    by_school = "SELECT school, COUNT(*) AS n, AVG(school) AS m FROM votes GROUP BY school"
    told = answered(tmp_path, "ask", by_school, "--epsilon=0.9").stdout.splitlines()
    assert [line.split()[0] for line in told[2:6]] == ["9", "12", "14", "18"]


def test_a_size_that_stays_private_warns_of_nothing(tmp_path):
    write(tmp_path / "males.csv", list(TABLES["males"]()))
    terminal = Terminal(tmp_path, "init", "males.csv", "--owner")
    assert terminal.answer("nr", "y", "", "n") == 0
    by_year = ("ask", "SELECT year, COUNT(*) AS n FROM males GROUP BY year", "--epsilon=0.1")
    assert answered(tmp_path, *by_year).exit_code == 0
