"""Differencing and trackers in SQL: exact databases give a person away, sessions do not."""

from fractions import Fraction

import duckdb
import pyarrow as pa
import pytest

import discreet as dp
from discreet.errors import OutOfRange, OverBudget
from discreet.noise import DiscreteLaplace
from discreet_course.reconstruction import differencing, tracker
from discreet_course.reconstruction.curators import Refused, exactly, guarded, privately

POLICY = """
format = 1
unit = "id"
[limits]
max_rows = 1
"""
ADA = {"secret": "ill", "person": "id = 17"}


def clinic(ill):
    rows = {
        "id": list(range(100)),
        "age": [20 + i % 60 for i in range(100)],
        "ill": [i % 3 == 0 for i in range(100)],
    }
    rows["ill"][17] = ill
    return pa.table(rows)


@pytest.fixture(params=[True, False])
def database(request):
    connection = duckdb.connect()
    connection.register("people", clinic(request.param))
    return connection, request.param


def test_exact_answers_differ_by_one_person(database):
    connection, ill = database
    assert differencing.attack(exactly(connection), table="people", **ADA) == ill


def test_refusing_small_groups_refuses_the_plain_question(database):
    connection, _ = database
    ask = guarded(connection, table="people", smallest=10)
    with pytest.raises(Refused):
        ask("SELECT COUNT(*) AS n FROM people WHERE id = 17 AND ill")


@pytest.mark.theorem("general-tracker")
def test_a_tracker_gets_through(database):
    connection, ill = database
    ask = guarded(connection, table="people", smallest=10)
    trackers = ("age < 22", "age < 50")
    assert tracker.find(ask, table="people", trackers=trackers) == "age < 50"
    assert tracker.attack(ask, table="people", trackers=trackers, **ADA) == ill


@pytest.mark.theorem("general-tracker")
def test_a_tracker_counts_every_small_group(database):
    connection, _ = database
    ask, count = guarded(connection, table="people", smallest=10), exactly(connection)
    for condition in ("id = 3", "id < 5 AND ill", "age = 79 OR id = 0", "false"):
        found = tracker.counted(ask, condition, table="people", tracker="age < 50")
        assert found == count(f"SELECT COUNT(*) FROM people WHERE {condition}")  # noqa: S608


def test_there_may_be_no_tracker(database):
    connection, _ = database
    ask = guarded(connection, table="people", smallest=10)
    with pytest.raises(OutOfRange, match="tracker"):
        tracker.find(ask, table="people", trackers=("id < 3",))


def session(tmp_path, *, epsilon=10):
    return dp.open(
        {"people": clinic(True)},
        policy=POLICY,
        budget=dp.Budget(epsilon=epsilon),
        ledger=tmp_path / "ledger",
    )


def test_asking_again_does_not_wear_noise_off(tmp_path):
    with session(tmp_path) as people:
        ask = privately(people, epsilon="0.5")
        sql = "SELECT COUNT(*) AS n FROM people WHERE ill"
        first = ask(sql)
        assert differencing.averaged(ask, sql, times=20) == first


def test_a_session_ends_an_attack_that_costs_more_than_the_budget(tmp_path):
    with session(tmp_path, epsilon=1) as people:
        ask = privately(people, epsilon="0.4")
        with pytest.raises(OverBudget):
            tracker.counted(ask, "id = 17", table="people", tracker="age < 50")


def test_the_chance_of_a_right_guess_is_below_what_two_answers_may_tell():
    """Two answers of epsilon 1/s each: at most e^(2/s) / (1 + e^(2/s))."""
    for scale in (1, 2, 10):
        odds = 2.718281829 ** (2 / scale)
        assert (
            0.5 < differencing.success(DiscreteLaplace(scale=Fraction(scale))) < odds / (1 + odds)
        )
