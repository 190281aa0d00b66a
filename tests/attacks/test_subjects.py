"""Adapters: any function, a mechanism, a program, a session's question; each drawn and judged."""

import os
import sys

import numpy as np
import pyarrow as pa
import pytest

from discreet.attacks import (
    AskedQuestion,
    AuditedQuestion,
    Batches,
    Calls,
    Command,
    Raised,
    Runs,
    estimate_epsilon,
    removals,
    without_units,
)
from discreet.attacks.subjects import subject_of
from discreet.errors import InputError, WrongKind
from discreet.loss import PrivacyLoss
from discreet.mechanisms import Gaussian, Laplace, RandomizedResponse
from discreet.units import person, row

# --- functions and mechanisms -------------------------------------------------------------------


def test_whatever_draws_is_a_subject():
    assert isinstance(subject_of(len), Calls)
    assert isinstance(subject_of(Laplace(scale=1)), Runs)
    assert subject_of(Batches(len)) == Batches(len)

    def single(data):
        return data

    single.batch = lambda data, n: np.full(n, data)
    assert subject_of(single).draw(3, 2).tolist() == [3, 3]


def test_errors_are_answers():
    assert Calls(lambda data: 1 / data).draw(0, 2) == [Raised("ZeroDivisionError")] * 2


@pytest.mark.parametrize("mechanism", [Laplace(scale=1), Gaussian(sigma=1)])
def test_noise_is_drawn_anew_for_every_answer(mechanism):
    assert Runs(mechanism).draw(5, 1000).shape == (1000,)
    drawn = Runs(mechanism).draw([0, 100], 1000)
    assert drawn.shape == (1000, 2)
    assert len(set(drawn[:, 0].tolist())) > 3
    assert 50 < drawn[:, 1].mean() < 150


def test_categories_are_drawn_together():
    assert set(Runs(RandomizedResponse(epsilon=1)).draw(1, 200)) == {0, 1}


def test_pairs_without_one_member():
    assert list(removals([1, 2])) == [([1, 2], [2]), ([1, 2], [1])]


# --- programs -----------------------------------------------------------------------------------

PROGRAM = """
import os, random, sys
path = sys.argv[1] if len(sys.argv) > 1 else os.environ["TABLE"]
rows = len(open(path).read().split())
for _ in range(int({lines})):
    noise = sum(random.choice((1, -1)) * random.expovariate({epsilon}) for _ in range(1))
    print(f"rows: {{round(64 * (rows + noise)) / 64}}")
"""


@pytest.fixture
def tables(tmp_path):
    paths = tmp_path / "large.csv", tmp_path / "small.csv"
    for rows, path in zip((5, 4), paths, strict=True):
        path.write_text("\n".join("abcde"[:rows]), encoding="utf-8")
    return paths


def program(tmp_path, **numbers):
    path = tmp_path / "count.py"
    path.write_text(PROGRAM.format(**numbers), encoding="utf-8")
    return [sys.executable, "-S", str(path)]


@pytest.mark.parametrize("place", ["argument", "environment"])
def test_a_program_is_audited_by_what_it_prints(place, tables, tmp_path):
    words = program(tmp_path, lines=2000, epsilon=3)
    command = (
        Command([*words, "{data}"], lines=2000)
        if place == "argument"
        else Command(words, variable="TABLE", lines=2000)
    )
    measured = estimate_epsilon(command, tables, 6000, claim=1)
    assert measured.violates
    assert measured.lower < 3.2
    assert not estimate_epsilon(command, tables, 6000, claim="3.2").violates


def test_one_run_one_answer(tables, tmp_path):
    command = Command([*program(tmp_path, lines=1, epsilon=1), "{data}"])
    answers = command.draw(tables[0], 4)
    assert all(text.startswith("rows: ") for text in answers)


def test_exit_codes_and_timeouts_are_answers(tmp_path):
    assert Command("false").draw(tmp_path, 2) == [Raised("exit code 1")] * 2
    told = Command(["sh", "-c", "echo 7; exit 3"]).draw(tmp_path, 1)
    assert told == [Raised("exit code 3", told="7")]
    slow = Command("sleep 5", timeout=0.05)
    assert slow.draw(tmp_path, 2) == [Raised("timeout")] * 2
    assert slow.timeouts == 2
    measured = estimate_epsilon(
        Command("test -e {data}"), (os.fspath(tmp_path), "no such file"), 40, claim=0, level=0.01
    )
    assert measured.violates


@pytest.mark.parametrize("command", ["", "no-such-program-anywhere {data}"])
def test_a_program_that_is_not_there_is_refused(command):
    with pytest.raises(WrongKind):
        Command(command)


def test_a_program_that_prints_too_little_is_refused(tmp_path):
    with pytest.raises(WrongKind):
        Command("echo one", lines=2).draw(tmp_path, 2)


def test_lines_that_come_too_late_are_no_answers(tmp_path):
    with pytest.raises(WrongKind) as caught:
        Command("sleep 5", lines=3, timeout=0.05).draw(tmp_path, 3)
    assert "0.05 seconds" in caught.value.what
    with pytest.raises(WrongKind) as caught:
        estimate_epsilon(Command("sleep 5", timeout=0.02), (tmp_path, tmp_path), 2, claim=1)
    assert caught.value.do == "give it more time."
    for timeout in (0, -1, float("nan")):
        with pytest.raises(InputError):
            Command("echo", timeout=timeout)


# --- questions ----------------------------------------------------------------------------------

POLICY = """
format = 1
[limits]
max_rows = 2
max_groups = 1
[tables.visits.columns]
patient = {type = "integer"}
ward = {type = "text"}
cost = {type = "float", low = 0, high = 10}
"""
OPTIONS = {"unit": person("patient"), "policy": POLICY}


def visits(patients):
    """Return a table in which each patient has three rows, one more than counts."""
    ids = [patient for patient in range(patients) for _ in range(3)]
    return {
        "visits": pa.table(
            {
                "patient": ids,
                "ward": ["AB"[patient % 2] for patient in ids],
                "cost": [2.5 * patient for patient in ids],
            }
        )
    }


def test_more_groups_than_could_be_listed():
    """Each draw has the groups that reach the threshold; one that nobody is in is among them."""
    places = ", ".join(map(str, range(1100)))
    column = f"{{type = 'integer', categories = [{places}]}}"
    policy = (
        "format = 1\nunit = 'patient'\n[limits]\nmax_groups = 1\nmax_rows = 1\n"
        f"[tables.visits.columns]\npatient = {{type = 'integer'}}\na = {column}\nb = {column}\n"
    )
    ids = list(range(26))
    table = {"visits": pa.table({"patient": ids, "a": [5] * 26, "b": [7] * 26})}
    sql = "SELECT a, b, COUNT(*) AS n FROM visits GROUP BY a, b HAVING COUNT(*) >= 14"
    question = AuditedQuestion(sql=sql, price={"epsilon": 1}, options={"policy": policy})
    drawn = question.draw(table, 20)
    assert sum("units(5, 7)" in answer for answer in drawn) > 15
    assert any(answer.keys() - {"units(5, 7)"} for answer in drawn)
    assert all(value >= 14 for answer in drawn for value in answer.values())


QUESTIONS = [
    ("SELECT COUNT(*) AS n FROM visits", {"epsilon": 1}),
    ("SELECT COUNT(DISTINCT patient) AS n FROM visits", {"epsilon": 1}),
    ("SELECT SUM(cost) AS s, COUNT(*) AS n FROM visits", {"rho": "0.5"}),
    ("SELECT AVG(cost) AS a FROM visits", {"epsilon": 1}),
    ("SELECT MEDIAN(cost) AS m FROM visits", {"epsilon": 1}),
    (
        "SELECT ward, COUNT(DISTINCT patient) AS n FROM visits GROUP BY ward",
        {"epsilon": 1, "delta": "0.01"},
    ),
]


@pytest.mark.parametrize(("sql", "price"), QUESTIONS)
def test_a_question_keeps_its_promise_and_a_dearer_one_does_not(sql, price):
    question = AuditedQuestion(sql=sql, price=price, options=OPTIONS)
    pair = visits(5), visits(4)
    loss = question.loss(pair[0])
    assert isinstance(loss, PrivacyLoss)
    measured = estimate_epsilon(question, pair, 50_000, claim=loss)
    assert not measured.violates
    assert measured.lower > 0.1
    dearer = {name: 12 if name != "delta" else value for name, value in price.items()}
    cheat = AuditedQuestion(sql=sql, price=dearer, options=OPTIONS)
    assert estimate_epsilon(cheat, pair, 50_000, claim=loss).violates


def test_the_unit_that_is_told_most_easily_is_found():
    """Of five patients the first has nothing to add, and the last ones as much as counts."""
    question = AuditedQuestion(
        sql="SELECT SUM(cost) AS s FROM visits", price={"epsilon": 2}, options=OPTIONS
    )
    pairs = [
        ({"visits": here}, {"visits": there})
        for here, there in without_units(visits(5)["visits"], "patient")
    ]
    measured = estimate_epsilon(question, pairs, 20_000, claim=question.loss(pairs[0][0]))
    assert measured.pair in {f"pair {number} of 5" for number in (3, 4, 5)}
    assert 1 < measured.lower <= 2


def test_short_and_long_draws_have_one_law():
    """One release at a time, or thousands of them in one pass over the noise."""
    sql, price = QUESTIONS[0]
    options = {"sql": sql, "price": price, "options": OPTIONS}

    either = Batches(lambda copies, n: AuditedQuestion(**options, copies=copies).draw(visits(4), n))
    measured = estimate_epsilon(either, (1, None), 1500, claim=0)
    assert not measured.violates


def test_answers_are_aligned_by_their_groups():
    sql, price = QUESTIONS[5]
    question = AuditedQuestion(sql=sql, price={**price, "epsilon": 20}, options=OPTIONS)
    drawn = question.draw(visits(40), 50)
    assert {name.partition("(")[2] for name in drawn} == {"'A')", "'B')"}
    counts = next(values for name, values in drawn.items() if name.startswith("units"))
    assert 15 < counts.mean() < 25
    alone = question.draw(visits(1), 50)
    assert {name.partition("(")[2] for name in alone} == {"'A')"}


@pytest.mark.parametrize(("epsilon", "caught", "n"), [(1, False, 6), (40, True, 20)])
def test_the_whole_way_from_a_ledger_to_an_answer(epsilon, caught, n):
    question = AskedQuestion(
        sql="SELECT COUNT(*) AS n FROM people",
        price={"epsilon": epsilon},
        options={"unit": row(), "tables": "people"},
    )
    pair = pa.table({"age": [34, 71]}), pa.table({"age": [34]})
    measured = estimate_epsilon(
        question, pair, n, claim=1, learned=6, level=1e-2 if caught else 1e-6
    )
    assert measured.violates == caught


def test_a_refusal_is_an_answer():
    question = AskedQuestion(
        sql="SELECT COUNT(*) AS n FROM people",
        price={"epsilon": 10**5},
        options={"unit": row(), "tables": "people"},
    )
    (drawn,) = question.draw(pa.table({"age": [34]}), 1)
    assert isinstance(drawn, Raised)
