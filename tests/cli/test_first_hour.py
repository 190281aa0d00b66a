"""From a CSV file as it is to thirty answers, on the command line alone."""

import json

import pytest

from discreet.plan.policy.policy import read_policy
from discreet.query.types import Type
from tests.cli.test_commands import answered, run

CITIES = ("Rome", "Oslo", "Bern", "Lyon")


@pytest.fixture
def folder(tmp_path):
    """A folder with a file as pandas writes it where some cells are empty."""
    lines = ["patient;ward;city;birth_year;cost;is_new;seen_at"]
    for visit in range(1000):
        patient = visit * 7919 % 1500
        born = "" if patient % 10 == 0 else f"{1930 + patient % 70},0"
        cost = "n/a" if visit % 50 == 0 else f" {visit * 31 % 900},5"
        seen = f"2024-0{1 + visit % 9}-1{visit % 9}T10:00:00Z"
        new = ("yes", "no")[visit % 2]
        lines.append(
            f"p{patient};{'AABC'[visit % 4]};{CITIES[patient % 4]};{born};{cost};{new};{seen}"
        )
    (tmp_path / "visits.csv").write_text("\n".join(lines) + "\n")
    return tmp_path


SET_UP = (
    *("init", "visits.csv", "--unit=patient", "--max-rows=2", "--max-groups=2", "--yes"),
    *("--bounds=birth_year=1900:2024", "--bounds=cost=0:900", "--categories=ward=A,B,C"),
    "--csv=decimal=,",
)


def types(folder):
    return {
        facts.name: facts.type for facts in read_policy(folder / "policy.toml").tables[0].columns
    }


def test_names_propose_types_and_rows_do_not(folder):
    done = answered(folder, *SET_UP)
    assert "types: ward text, birth_year integer, cost float, is_new boolean" in done.stdout
    assert "NOT PRIVATE" not in done.stdout
    expected = {
        "ward": Type.TEXT,
        "birth_year": Type.INTEGER,
        "cost": Type.FLOAT,
        "is_new": Type.BOOLEAN,
        "seen_at": Type.TIMESTAMP,
    }
    assert types(folder) == expected
    (folder / "other").mkdir()
    lines = (folder / "visits.csv").read_text().splitlines()
    (folder / "other/visits.csv").write_text("\n".join([lines[0], "x;y;z;?;?;?;?"]) + "\n")
    answered(folder / "other", *SET_UP)
    first, second = (
        [line for line in (place / "policy.toml").read_text().splitlines() if "_id" not in line]
        for place in (folder, folder / "other")
    )
    assert first == second


PROPOSED = ("--owner", "--accept-proposals")


def test_an_owner_has_types_from_the_values_and_sees_what_cannot_be_read(folder):
    text = (folder / "visits.csv").read_text()
    (folder / "visits.csv").write_text(text.replace("birth_year", "b", 1).replace("cost", "c", 1))
    options = [each for each in SET_UP if "--bounds" not in each]
    done = answered(folder, *options, *PROPOSED)
    assert types(folder)["b"] is Type.INTEGER
    assert types(folder)["c"] is Type.FLOAT
    assert "NOT PRIVATE" in done.stdout
    assert "c: 2 % of cells cannot be read as float" in done.stdout
    assert "b: " not in done.stdout  # nothing is said of columns that can be read
    policy = (folder / "policy.toml").read_text().replace("\n# ", " ")
    assert "NOT PRIVATE: Types, bounds, categories, limits, key and size were proposed" in policy
    assert "with --accept-proposals" in policy
    assert "after looking" not in policy
    assert "never come from the rows" not in policy
    report = run(folder, "check", "--json")
    found = {
        (each["column"], each["promise"]): each["share"]
        for each in json.loads(report.stdout)["findings"]
    }
    assert found["c", "can be read as float"] == pytest.approx(0.02)


def test_nothing_from_rows_is_written_unless_it_is_accepted(folder):
    plain, looked = (
        [
            line
            for line in _set_up(folder, place, *options).read_text().splitlines()
            if "_id" not in line
        ]
        for place, options in (("plain", ()), ("looked", ("--owner",)))
    )
    assert plain == looked
    accepted = _set_up(folder, "accepted", *PROPOSED).read_text()
    assert "size = {people = 1000, rows = 1000}" in accepted
    assert read_policy(folder / "accepted/policy.toml").tables[0].column("city").categories


def _set_up(folder, place, *options):
    (folder / place).mkdir()
    begin = ("init", "../visits.csv", "--unit=patient", "--yes", "--csv=decimal=,", *options)
    answered(folder / place, *begin)
    return folder / place / "policy.toml"


def test_limits_that_are_given_come_before_those_of_the_rows(folder):
    def limits(*options):
        place = f"p{len(list(folder.iterdir()))}"
        found = read_policy(_set_up(folder, place, *options)).limits
        return found.max_rows, found.max_groups

    assert limits(*PROPOSED) == (1, 1)
    assert limits(*PROPOSED, "--max-rows=3") == (3, 1)
    assert limits("--max-rows=3") == (3, 4)


def test_an_unknown_part_of_a_format_is_refused(folder):
    done = run(folder, *SET_UP, "--csv=seperator=;")
    assert done.exit_code == 2
    assert "separator" in done.stderr
    assert not (folder / "policy.toml").exists()


def test_ten_of_each_natural_question_fit_in_the_proposed_budget(folder):
    answered(folder, *SET_UP)
    seen = set()
    for number in range(10):
        where = f"WHERE birth_year > {1930 + number} AND is_new"
        for question in (
            f"SELECT city, COUNT(*) AS n FROM visits {where} GROUP BY city",  # noqa: S608
            f"SELECT AVG(cost) AS n FROM visits {where}",  # noqa: S608
            f"SELECT MEDIAN(birth_year) AS n FROM visits {where}",  # noqa: S608
        ):
            release = json.loads(
                answered(folder, "ask", question, "--epsilon=0.03", "--json").stdout
            )
            seen.add(release["receipt"])
            assert "n" in {column["name"] for column in release["columns"]}
    assert len(seen) == 30


def test_an_owner_looks_at_a_file_as_it_is_declared(folder):
    """Latin-1, semicolons, decimal commas, points between thousands, days first, pandas' gaps."""
    rows = [
        f"{at % 60};{'Köln' if at % 2 else 'Rom'};{1 + at % 9}.{at % 1000:03};{at % 7},5"
        f";{1 + at % 28:02}.{1 + at % 12:02}.2024;{'' if at % 10 == 0 else f'{1990 + at % 9},0'}"
        for at in range(600)
    ]
    lines = ["person;stadt;kosten;dauer;tag;jahr", *rows]
    (folder / "besuche.csv").write_text("\n".join(lines) + "\n", encoding="latin-1")
    declared = ("separator=;", "encoding=latin-1", "decimal=,", "thousands=.", "dates=DD.MM.YYYY")
    done = answered(
        folder,
        "init",
        "besuche.csv",
        *(f"--csv={each}" for each in declared),
        *("--unit=person", "--categories=stadt=Köln,Rom", "--bounds=kosten=0:10000"),
        *("--bounds=dauer=0:10", "--bounds=jahr=1990:1999", "--max-rows=20", "--yes", *PROPOSED),
        *("--epsilon=10", "--policy=besuche.toml"),
    )
    assert "cannot be read" not in done.stdout
    found = read_policy(folder / "besuche.toml").tables[0]
    assert {each.name: each.type for each in found.columns} == {
        "person": Type.TEXT,
        "stadt": Type.TEXT,
        "kosten": Type.INTEGER,
        "dauer": Type.FLOAT,
        "tag": Type.DATE,
        "jahr": Type.INTEGER,
    }
    sql = "SELECT COUNT(*) AS n, COUNT(jahr) AS years, SUM(kosten) AS cost, AVG(dauer) AS d "
    asked = run(
        folder, "ask", sql + "FROM besuche", "--epsilon=8", "--json", "--policy=besuche.toml"
    )
    (row,) = json.loads(asked.stdout)["rows"]
    costs = [1000 * (1 + at % 9) + at % 1000 for at in range(600)]
    assert row["n"] == pytest.approx(600, abs=200)
    assert row["years"] == pytest.approx(540, abs=200)
    assert row["cost"] == pytest.approx(sum(costs), rel=0.3)
    assert row["d"] == pytest.approx(3.5, abs=1)
