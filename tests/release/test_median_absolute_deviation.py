"""MEDIAN_ABSOLUTE_DEVIATION: its value, its price, and the coverage of its interval."""

import numpy as np
import pytest
from scipy import stats

from discreet.plan.pricing.group_sensitivity import trees_of
from discreet.release.answer import answer
from tests.noise.laws import ALPHA, stream
from tests.plan.clinic import planned
from tests.plan.test_sum_workload import EXACT, raw

SQL = "SELECT MEDIAN_ABSOLUTE_DEVIATION(age) AS d FROM visits"
AGES = [at % 101 for at in range(404)]


def rows(ages):
    return [{"patient": who, "ward": "A", "age": age} for who, age in enumerate(ages)]


def deviation(ages):
    return float(np.median(np.abs(np.array(ages) - np.median(ages))))


@pytest.mark.parametrize("ages", [AGES, [40] * 50 + [41] * 10, list(range(64))])
def test_without_noise_to_speak_of_it_is_the_median_distance_from_the_median(ages):
    plan = planned(SQL, **EXACT)
    (row,) = answer(plan, raw(plan, rows(ages))).rows()
    assert row["d"] == pytest.approx(deviation(ages), abs=4)
    assert row["d_low"] <= deviation(ages) <= row["d_high"]


def test_it_is_bought_as_one_tree_of_counts():
    plan = planned(SQL, epsilon=1)
    (tree,) = trees_of(plan.choices)
    assert tree.measure == "leaves"
    assert "read from 17 quantiles, each ± " in plan.details
    both = planned(SQL.replace(" FROM", ", APPROX_QUANTILES(age, 16) AS q FROM"), epsilon=1)
    assert len(trees_of(both.choices)) == 1


@pytest.mark.theorem("mad-interval")
@pytest.mark.parametrize("price", [{"epsilon": 2}, {"rho": 1}], ids=str)
def test_intervals_hold_it(price):
    plan = planned(SQL, **price)
    totals, source = raw(plan, rows(AGES)), stream("deviation")
    found = [answer(plan, totals, entropy=source).rows()[0] for _ in range(120)]
    held = sum(row["d_low"] <= deviation(AGES) <= row["d_high"] for row in found)
    assert stats.binomtest(held, len(found), 0.95, "less").pvalue > ALPHA
    narrow = sum(row["d_high"] - row["d_low"] < 110 for row in found)
    assert narrow > len(found) / 2  # and they say something
