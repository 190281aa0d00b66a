"""Counts of a workload: what is released of them, their intervals, and their bytes."""

import itertools
import math
from fractions import Fraction

import pytest

from discreet.engines.engine import HashOrder
from discreet.errors import WrongKind
from discreet.noise import KeyedEntropy
from discreet.plan.plan import Plan
from discreet.release.answer import answer
from discreet.release.combination import combine
from discreet.release.release import Release
from tests.plan.clinic import TYPES, planned
from tests.plan.test_workload import thresholds, visits_of
from tests.reference.engine import Reference

ORDER = HashOrder(salt=1, portable=True)
EXACT = {"epsilon": 10**6, "ceiling": False}
ROWS = [
    {"patient": who, "ward": "ABC"[who % 3], "age": who % 9, "city": "xyz"[who % 2]}
    for who in range(60)
]
BY_WARD = (
    "SELECT ward, COUNTIF(age <= 2) AS low, COUNTIF(age <= 5) AS middle, COUNT(*) AS n, "
    "COUNT(*) - COUNTIF(age <= 5) AS rest FROM visits GROUP BY ward"
)
KEYS = itertools.count(1)


def raw(plan):
    return Reference(visits_of(ROWS), TYPES).run(plan.request, order=ORDER)


def stream():
    return KeyedEntropy(key=next(KEYS).to_bytes(32, "little"), label="joined")


def test_without_noise_to_speak_of_counts_are_right():
    plan = planned(BY_WARD, **EXACT)
    assert any(noise.distances.strategy is not None for noise in plan.noises)
    found = {row["ward"]: row for row in answer(plan, raw(plan)).rows()}
    for ward in "ABC":
        ages = [row["age"] for row in ROWS if row["ward"] == ward]
        assert found[ward]["low"] == sum(age <= 2 for age in ages)
        assert found[ward]["middle"] == sum(age <= 5 for age in ages)
        assert found[ward]["n"] == len(ages)
        assert found[ward]["rest"] == sum(age > 5 for age in ages)


@pytest.mark.parametrize("price", [{"epsilon": 1}, {"rho": Fraction(1, 10)}], ids=str)
def test_intervals_hold_the_truth_as_often_as_they_say(price):
    """More than 5.5 deviations too many misses of 120 are rarer than 1e-6."""
    plan, times = thresholds(12, **price), 120
    totals = raw(plan)
    missed = dict.fromkeys(range(0, 12, 3), 0)
    for _ in range(times):
        (row,) = answer(plan, totals, entropy=stream()).rows()
        for at in missed:
            truth = sum(each["age"] <= at for each in ROWS)
            missed[at] += not row[f"n{at}_low"] <= truth <= row[f"n{at}_high"]
    most = times * 0.05 + 5.5 * math.sqrt(times * 0.05 * 0.95)
    assert all(each <= most for each in missed.values())
    assert any(missed.values())  # they are not as wide as that


@pytest.mark.parametrize("text", [BY_WARD, BY_WARD.replace("ward", "city")])
def test_bytes_give_back_the_same_answer_and_the_same_parts(text):
    plan = planned(text)
    first = answer(plan, raw(plan), entropy=stream())
    again = Release.read(first.written(), plan)
    assert again.rows() == first.rows()
    assert again.written() == first.written()
    assert Release.of(plan, again.parts).rows() == first.rows()


def test_two_answers_are_better_than_one():
    plans = [planned(BY_WARD, epsilon=epsilon) for epsilon in (1, 2)]
    found = [answer(plan, raw(plan), entropy=stream()) for plan in plans]
    both = combine(*found)

    def width(release):
        return sum(row["middle_high"] - row["middle_low"] for row in release.rows())

    assert width(both) <= min(map(width, found))


def test_a_count_that_no_strategy_answers_is_refused():
    plan = planned(BY_WARD)
    without = {each.name: getattr(plan, each.name) for each in plan.__dataclass_fields__.values()}
    broken = Plan(**{**without, "noises": ()})
    with pytest.raises(WrongKind):
        answer(broken, raw(plan))


FORMULAS = (
    "SELECT LN(COUNT(*)) AS a, POWER(AVG(age), 2) AS b, ROUND(SUM(age) / COUNT(age), 1) AS c, "
    "EXP(AVG(age) / 10) AS d, POWER(COUNT(*) - COUNT(age), 3) AS e, "
    "GREATEST(LOG10(COUNT(age)), 1) AS f, COALESCE(NULLIF(TRUNC(AVG(age)), 0), -1) AS g FROM visits"
)


@pytest.mark.theorem("formula-range")
def test_formulas_of_noisy_numbers_are_held_as_often_as_they_say():
    """More than 5.5 deviations too many misses of 60 are rarer than 1e-6, for each of seven."""
    plan, exact = planned(FORMULAS, epsilon=4), planned(FORMULAS, **EXACT)
    rows = [{**row, "age": None if row["patient"] % 5 == 0 else row["age"] * 9} for row in ROWS]
    totals, known = (
        Reference(visits_of(rows), TYPES).run(each.request, order=ORDER) for each in (plan, exact)
    )
    (truth,) = answer(exact, known, entropy=stream()).rows()
    missed, times = dict.fromkeys("abcdefg", 0), 60
    for _ in range(times):
        (row,) = answer(plan, totals, entropy=stream()).rows()
        for name in missed:
            slack = 1e-3 * abs(truth[name])  # of the noise in what is taken for the truth
            missed[name] += (
                not row[f"{name}_low"] - slack <= truth[name] <= row[f"{name}_high"] + slack
            )
    assert max(missed.values()) <= times * 0.05 + 5.5 * math.sqrt(times * 0.05 * 0.95)
