"""Quantiles in the columns of an answer: alone, in lists, formulas, conditions and orders."""

from fractions import Fraction

import numpy as np
import pytest

from discreet.release.combination import combinable, combine
from discreet.release.release import Release
from tests.release.clinic import asked, plan_of, tables

FINE = {"epsilon": 4000}
ROUGH = {"epsilon": "0.01"}


def ages(sex):
    found = tables()["visits"]
    return np.array([row["age"] for row in found if row["sex"] == sex])


def between(row, name, truth):
    return row[f"{name}_low"] <= truth <= row[f"{name}_high"]


def holds_a_median(row, name, values, scale=1, more=0):
    """Whether an interval has a number between the two middle values: it is a median, too."""
    low, high = (np.quantile(values, 0.5, method=way) for way in ("lower", "higher"))
    return row[f"{name}_low"] <= scale * high + more and scale * low + more <= row[f"{name}_high"]


def test_every_quantile_has_an_interval():
    sql = (
        "SELECT sex, MEDIAN(age) AS m, PERCENTILE_CONT(cost, 0.9) AS p, MIN(age) AS l, "
        "MAX(age) AS h FROM visits GROUP BY sex"
    )
    for row in asked(sql, **FINE):
        values = ages(row["sex"])
        if not values.size:  # which nobody visits
            continue
        assert holds_a_median(row, "m", values)
        assert between(row, "l", values.min())
        assert between(row, "h", values.max())
        assert row["m_high"] - row["m_low"] < 20
        assert row["p_high"] - row["p_low"] < 20
        assert row["l_low"] == 0
        assert row["h_high"] == 110
        assert row["m_low"] <= row["m"] <= row["m_high"]


def test_lists_have_lists_of_ends():
    sql = "SELECT sex, APPROX_QUANTILES(age, 4) AS q FROM visits GROUP BY sex"
    released = asked(sql, **FINE)
    table = released.to_arrow()
    assert table.column("q_low").type == table.column("q").type == table.column("q_high").type
    row = released.rows()[0]
    truth = np.quantile(ages("f"), [0, 0.25, 0.5, 0.75, 1])
    assert len(row["q"]) == len(row["q_low"]) == 5
    for low, exact, high in zip(row["q_low"], truth, row["q_high"], strict=True):
        assert low <= exact <= high
    again = Release.read(released.written(), released.plan)
    assert again.to_arrow().equals(table)


def test_few_rows_leave_the_bounds():
    row = asked("SELECT MEDIAN(age) AS m FROM visits", label="rough", **ROUGH).rows()[0]
    assert (row["m_low"], row["m_high"]) == (0, 110)


def test_formulas_conditions_and_orders_use_quantiles():
    sql = (
        "SELECT sex, 2 * MEDIAN(age) + 1 AS f, MEDIAN(age) - MIN(age) AS d FROM visits "
        "GROUP BY sex HAVING MEDIAN(age) >= 0 ORDER BY MEDIAN(age) DESC"
    )
    rows = asked(sql, **FINE).rows()
    assert [row["f"] for row in rows] == sorted((row["f"] for row in rows), reverse=True)
    for row in rows:
        if ages(row["sex"]).size:
            assert holds_a_median(row, "f", ages(row["sex"]), scale=2, more=1)
            assert row["f_high"] - row["f_low"] < 40
            assert holds_a_median(row, "d", ages(row["sex"]), more=-ages(row["sex"]).min())
    for row in asked(sql, epsilon=1):  # too few rows: from bound to bound
        assert row["d_low"] == pytest.approx(-110)
        assert row["d_high"] == pytest.approx(110)


def test_answers_at_other_prices_are_combined_end_by_end():
    sql = "SELECT sex, MEDIAN(age) AS m, MIN(age) AS l FROM visits GROUP BY sex"
    first, second = asked(sql, label="first", **ROUGH), asked(sql, label="second", **FINE)
    assert first.plan.choices[1].offset != second.plan.choices[1].offset
    assert combinable(first.plan, second.plan)
    for both in (combine(first, second), combine(second, first)):
        assert both["m"].equals(second["m"])
        assert both["m_low"].equals(second["m_low"])
        assert both["l_high"].equals(second["l_high"])


def test_a_higher_confidence_is_bought_for_extreme_values_alone():
    for sql, bought in (
        ("SELECT MAX(age) AS m FROM visits", True),
        ("SELECT MEDIAN(age) AS m FROM visits", False),
    ):
        plans = [plan_of(sql, epsilon=10, confidence=each) for each in ("0.5", "0.95", "0.99")]
        assert plans[0].digest == plans[1].digest
        assert (plans[1].digest != plans[2].digest) == bought
        assert (plans[2].choices[-1].offset != plans[1].choices[-1].offset) == bought
    wide = [asked(sql, epsilon=10, confidence=each).rows()[0] for each in ("0.5", "0.95", "0.9999")]
    widths = [row["m_high"] - row["m_low"] for row in wide]
    assert widths == sorted(set(widths))


def test_nothing_is_spent_on_intervals_that_are_not_wanted():
    sql = "SELECT MEDIAN(age) AS m, MIN(age) AS l, COUNT(*) AS n FROM visits"
    whole, bare = plan_of(sql, epsilon=1), plan_of(sql, epsilon=1, intervals=False)
    assert whole.price.epsilon == bare.price.epsilon
    value = next(choice for choice in whole.choices if choice.level == Fraction(1, 2))
    (alone,) = (choice for choice in bare.choices if choice.level == Fraction(1, 2))
    assert alone.mechanism.scale == value.mechanism.scale * Fraction(9, 10)
    row = asked(sql, epsilon=100, intervals=False).rows()[0]
    assert row["m_low"] is None
    assert row["m_high"] is None
    assert row["l_high"] < 110
    assert row["n_low"] <= row["n"] <= row["n_high"]


def test_the_plan_says_how_many_ranks():
    plan = plan_of("SELECT MEDIAN(age) AS m, MIN(age) AS l FROM visits", epsilon=1)
    words = {each.output: each.words for each in plan.predicted}
    value, span = (choice for choice in plan.choices if choice.level == Fraction(1, 2))
    assert value.offset == 0
    assert words["m"].endswith("ranks")
    assert words["l"].endswith("ranks")
    assert f"and {span.offset} ranks to both sides" in plan.details
    assert plan.details.count("for the interval") == 1
    spent = [2 * each.added / each.mechanism.scale for each in (value, span)]
    assert spent[1] == spent[0] / 9
