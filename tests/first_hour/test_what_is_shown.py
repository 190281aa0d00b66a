"""The ledger shows questions, the check what differs, an answer why a number is missing."""

import json
import random

import pytest

from tests.cli.test_commands import answered, run
from tests.first_hour.made_up import TABLES, write

ACCEPTED = ("--owner", "--yes", "--accept-proposals")


def test_a_check_counts_what_holds_and_shows_the_rest(tmp_path):
    write(tmp_path / "wide.csv", list(TABLES["wide"]()))
    answered(tmp_path, "init", "wide.csv", *ACCEPTED)
    told = answered(tmp_path, "check").stdout
    assert len(told.splitlines()) <= 12
    assert "other declarations hold" in told
    assert "0 % of cells" not in told


def test_the_ledger_shows_what_was_asked_in_one_line_each(tmp_path):
    write(tmp_path / "slid.csv", list(TABLES["slid"]()))
    answered(tmp_path, "init", "slid.csv", *ACCEPTED, "--epsilon=5")
    asked = ["SELECT COUNT(*) AS n FROM slid", "SELECT sex, COUNT(*) AS n FROM slid GROUP BY sex"]
    for question in asked:
        answered(tmp_path, "ask", question, "--epsilon=0.5")
    shown = answered(tmp_path, "ledger", "show").stdout
    account, _, *lines = shown.splitlines()
    assert account.startswith("data: ")
    assert account.endswith("80 % left of epsilon 5 at delta 1e-07")
    assert len(lines) <= 2 * len(asked)
    joined = " ".join(" ".join(lines).split())
    assert all(words in joined for words in ("SELECT COUNT(*) AS n FROM slid", "epsilon 0.5"))
    everything = answered(tmp_path, "ledger", "show", "--verbose").stdout
    assert all(kind in everything for kind in ("open", "describe", "charge", "start", "release"))


def test_a_group_that_is_chosen_privately_can_be_named_instead(tmp_path):
    write(tmp_path / "votes.csv", list(TABLES["votes"]()))
    answered(tmp_path, "init", "votes.csv", *ACCEPTED, "--unit=id", "--epsilon=5")
    by_day = "SELECT day, COUNT(*) AS n FROM votes GROUP BY day"
    refused = run(tmp_path, "ask", by_day, "--epsilon=0.01").stderr
    assert "may have about" in refused
    assert "name the groups: WHERE day IN ('A', 'B'), or have the policy declare them" in refused


@pytest.mark.parametrize(
    ("question", "why"),
    [
        (
            "SELECT c, SUM(a) / COUNT(*) AS s FROM few GROUP BY c",
            "[?] marks numbers whose error has no bound: their divisor may be 0.",
        ),
        ("SELECT CORR(a, b) AS r FROM few", "NULL: the rows are too few for this noise"),
    ],
)
def test_a_number_without_a_bar_and_a_null_say_why(tmp_path, question, why):
    rows = [{"a": at % 2, "b": 0, "c": "x"} for at in range(9)]
    write(tmp_path / "few.csv", rows)
    answered(
        tmp_path,
        *("init", "few.csv", "--unit=row", "--yes", "--epsilon=9", "--categories=c=x,y,z"),
        *("--bounds=a=0:1", "--bounds=b=0:1", "--type=a=integer", "--type=b=integer"),
    )
    told = answered(tmp_path, "ask", question, "--epsilon=0.001", "--confirm").stdout
    assert why in told


def test_bounds_that_were_bought_say_what_they_may_clip(tmp_path):
    draw = random.Random(5)  # noqa: S311  (made-up rows)
    values = [
        0 if draw.random() < 0.7 else round(draw.lognormvariate(1, 1.5), 3) for _ in range(6000)
    ]
    write(tmp_path / "skewed.csv", [{"hours": value} for value in values])
    answered(tmp_path, "init", "skewed.csv", "--unit=row", "--yes", "--type=hours=float")
    told = answered(
        tmp_path,
        *("ask", "SELECT AVG(hours) AS m FROM skewed", "--epsilon=0.1", "--bounds-epsilon=0.05"),
        *("--json",),
    ).stdout
    (found,) = json.loads(told)["bounds"]
    clipped = sum(value > float(found["high"]) for value in values) / len(values)
    assert 0 < clipped <= found["outside"] < 0.3
    asked = ("ask", "SELECT AVG(hours) AS m FROM skewed", "--epsilon=0.1", "--bounds-epsilon=0.05")
    assert f"may clip up to {100 * found['outside']:.2g} %" in answered(tmp_path, *asked).stdout


def test_a_synthetic_table_may_cost_exactly_the_budget(tmp_path):
    write(tmp_path / "votes.csv", list(TABLES["votes"]()))
    answered(tmp_path, "init", "votes.csv", *ACCEPTED, "--unit=id", "--delta=1e-9")
    made = ("synthesize", "votes", "--columns=vote,age,female", "--epsilon=1")  # as its help says
    plan = answered(tmp_path, *made, "--dry-run").stdout
    assert "costs epsilon 1" in plan or "costs epsilon 0.99" in plan
    assert "does not fit" not in plan
    assert "age: 32 bins of several values, which are spread evenly" in plan
    done = answered(tmp_path, *made, "--out=made.csv")
    assert "0 % of the budget left" in done.stderr


def test_no_number_with_noise_is_shown_as_certain(tmp_path):
    write(tmp_path / "few.csv", [{"a": at % 3 + 60, "b": at % 3 + 60, "c": 5} for at in range(900)])
    bounds = [f"--bounds={each}" for each in ("a=10:61", "b=0:100", "c=0:5")]
    bounds += [f"--type={name}=integer" for name in "abc"]
    answered(tmp_path, "init", "few.csv", "--unit=row", "--yes", "--epsilon=99", *bounds)
    asked = "SELECT MAX(a) AS top, MIN(b) AS low, MAX(b) AS high, MEDIAN(b) AS m, AVG(c) AS c"
    for _ in range(2):  # the second time from the ledger
        told = answered(
            tmp_path, "ask", f"{asked}, COUNT(*) AS n FROM few", "--epsilon=80", "--confirm"
        )
        row = told.stdout.splitlines()[2]
        assert "± 0 " not in row
        assert row.lstrip().startswith("at least 61 ")
        assert " 61 ± <1 " in row
        assert row.endswith("900 ± <1")
