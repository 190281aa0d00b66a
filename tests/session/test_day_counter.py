"""A counter by day: one price, totals that hold, a unit that counts once, and crashes."""

import itertools
import os
import signal
import subprocess
import sys
from datetime import date, timedelta
from fractions import Fraction

import pyarrow as pa
import pytest

import discreet as dp
from discreet.errors import DiscreetError
from discreet.plan.pricing.calibration import loss_of
from discreet.session.day_counter import counter_leaf, least_noise
from discreet.units import person

FIRST = date(2026, 1, 1)
POLICY = """
format = 1
unit = "patient"
[tables.visits.columns]
patient = { type = "integer" }
day = { type = "date" }
"""


def at(day):
    return FIRST + timedelta(days=day - 1)


def visits(days):
    """Ten new patients every day, all of whom come again every day after."""
    rows = [(who, at(day)) for day in range(1, days + 1) for who in range(10 * day)]
    return pa.table({"patient": [who for who, _ in rows], "day": [day for _, day in rows]})


def opened(path, days, **budget):
    budget = dp.Budget(**(budget or {"epsilon": 2}))
    return dp.open({"visits": visits(days)}, policy=POLICY, budget=budget, ledger=path)


def counter(session, days=16, **price):
    price = price or {"epsilon": 1}
    return session.counter("visits", by="day", first=FIRST, days=days, **price)


@pytest.mark.parametrize("price", [{"epsilon": 1}, {"rho": "0.1"}], ids=str)
def test_one_price_pays_for_all_days_as_they_come(tmp_path, price):
    path, seen = tmp_path / "ledger", {}
    budget = {"epsilon": 2} if "epsilon" in price else {"rho": 1, "delta": "1e-6"}
    for day in (1, 2, 5, 16):
        with opened(path, day, **budget) as session:
            before = session.remaining
            asked = counter(session, **price).open()
            totals = asked.release(through=at(day))
            assert str(before) != str(session.remaining) or day > 1
            rows = totals.to_arrow().to_pylist()
            for row in rows:  # released numbers stay
                assert seen.setdefault(row["day"], row) == row
            left = str(session.remaining)
    assert len(rows) == 16
    misses = sum(
        not row["total_low"] <= 10 * place <= row["total_high"]
        for place, row in enumerate(rows, start=1)
    )
    assert (
        misses <= 8
    )  # each has a chance of 5 %; so many at once below 1e-6 even if alike in pairs
    assert left.startswith("epsilon 1 of 2" if "epsilon" in price else "rho 0.9 of 1")
    with dp.ledger.Ledger.open(path) as ledger:
        assert ledger.verify().ok


@pytest.mark.theorem("day-counter")
@pytest.mark.parametrize("price", [{"epsilon": Fraction(1)}, {"rho": Fraction(1)}], ids=str)
def test_no_history_of_a_unit_moves_the_days_further_than_is_priced(price):
    """Every way in which a day of arrival is first read, and falls as rows are added."""
    days = 6
    made = least_noise(days, person("p"), **{"epsilon": None, "rho": None, **price})
    columns = []
    for first_read in range(1, days + 1):
        for falls in itertools.product(range(1, first_read + 1), repeat=days - first_read + 1):
            if list(falls) == sorted(falls, reverse=True):
                moved = [0] * (first_read - 1)
                for day, arrived in enumerate(falls, start=first_read):
                    stream = [int(place == arrived) for place in range(1, day + 1)]
                    moved.append(made.measurement(stream))
                columns.append(moved)
    leaf = counter_leaf(made, person("p"))
    squares = {sum(each**2 for each in moved) for moved in columns}
    if "epsilon" in price:
        assert max(sum(map(abs, moved)) for moved in columns) == made.depth
        assert loss_of(leaf, person("p")).epsilon(delta=0) == 1
    else:
        assert max(squares) == sum(r**2 for r in made.coefficients)
        assert max(squares) / (2 * made.law.variance) <= 1


def test_a_unit_counts_once_whatever_its_rows_are(tmp_path):
    budget = {"epsilon": 10**6}
    with opened(tmp_path / "ledger", 16, **budget) as session:
        asked = counter(session, epsilon=10**5).open(confirm=True)
        totals = asked.release(through=at(16)).totals
        assert totals == tuple(10 * day for day in range(1, 17))


KILLED = """
import os, signal, sys
from tests.session.test_day_counter import at, counter, opened
from discreet.session import answer_pipeline as pipeline
from discreet.ledger.ledger import Ledger
place, path = sys.argv[1:]
session = opened(path, 8)
asked = counter(session)
if place == "charged":
    old = Ledger.begin
    def begin(self, *args, **named):
        found = old(self, *args, **named)
        os.kill(os.getpid(), signal.SIGKILL)
    Ledger.begin = begin
    asked.open()
asked.open()
asked.release(through=at(3))
print(asked.release(through=at(3)).totals, flush=True)
old = Ledger.release if place == "drawn" else Ledger.begin
def stopped(self, *args, **named):
    if place == "released":
        old(self, *args, **named)
    os.kill(os.getpid(), signal.SIGKILL)
setattr(Ledger, "release" if place == "drawn" else "begin", stopped)
asked.release(through=at(8))
"""


@pytest.mark.parametrize("place", ["charged", "drawn", "released"])
def test_a_kill_loses_no_day_and_charges_nothing_again(tmp_path, place):
    path = tmp_path / "ledger"
    run = subprocess.run(
        [sys.executable, "-c", KILLED, place, os.fspath(path)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert run.returncode == -signal.SIGKILL, run.stderr
    with opened(path, 8) as session:
        asked = counter(session).open()
        totals = asked.release(through=at(8)).totals
        known = () if place == "charged" else eval(run.stdout)  # noqa: S307 (our own print)
        assert totals[: len(known)] == known
        assert str(session.remaining).startswith("epsilon 1 of 2")
        report = session.ledger.verify()
        assert report.ok
        assert asked.release(through=at(8)).totals == totals


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"epsilon": None}, "epsilon=1 or rho"),
        ({"rho": 1}, "epsilon=1 or rho"),
        ({"first": "2026-01-01"}, "is a date"),
        ({"days": 0}, "days"),
        ({"by": "patient"}, "not a date"),
        ({"by": "nothing"}, "nothing"),
        ({"table": "nothing"}, "nothing"),
    ],
    ids=str,
)
def test_bad_arguments_are_refused_before_anything_is_paid(tmp_path, change, words):
    asked = {"table": "visits", "by": "day", "first": FIRST, "days": 9, "epsilon": 1} | change
    with opened(tmp_path / "ledger", 2) as session:
        before = str(session.remaining)
        with pytest.raises(DiscreetError, match=words):
            session.counter(asked.pop("table"), **asked)
        made = counter(session)
        for through in (at(0), at(17)):
            with pytest.raises(DiscreetError, match="the counter runs from"):
                made.release(through=through)
        with pytest.raises(DiscreetError, match="not paid for"):
            made.release(through=at(1))
        assert str(session.remaining) == before
