"""What is measured adds up to what was asked, where nothing had to be bounded."""

import statistics
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.aggregates.count import Count
from discreet.aggregates.mean import Mean
from discreet.aggregates.quantile import QuantileEstimator, QuantilesEstimator
from discreet.aggregates.sum import Sum
from discreet.aggregates.variance import Variance
from discreet.errors import MissingBounds, UnsupportedSQL, WrongType
from discreet.requests.engine_request import DistinctCount, Leaves, Total
from tests.plan.clinic import answers, planned

ROW = {"sex": "f", "height": 1.5, "born": 1980, "city": "x", "day": None, "ward": "A", "paid": True}
ROW |= {"cost": 0.0, "age": None, "stay": None, "note": None}


def visits(*rows):
    found = [ROW | row | {"visit": at} for at, row in enumerate(rows)]
    return {"visits": found, "drugs": [], "bills": [], "wards": []}


def plan_of(select, **price):
    return planned(f"SELECT {select} FROM visits", **(price or {"epsilon": 1}))  # noqa: S608


def value(estimator, totals):
    """Return what an estimator gives without noise."""
    total = {name: groups.get((), 0) for name, groups in totals.items()}
    match estimator:
        case Count(measure=name):
            return total[name]
        case Sum(measure=name, step=step, center=center, count=count):
            return step * total[name] + (center * total[count] if count else 0)
        case Mean(measure=name, count=count, step=step, center=center):
            return center + step * total[name] / total[count]
        case Variance(mean=mean, squares=squares, square_step=step, offset=offset):
            center = value(mean, totals) - mean.center
            return offset + step * total[squares] / total[mean.count] - center * center


def answered(select, tables):
    plan = plan_of(select)
    totals, _ = answers(plan.request, tables)
    return [value(each.estimator, totals) for each in plan.estimates]


@settings(max_examples=40)
@given(
    costs=st.lists(st.floats(0, 100), min_size=1, max_size=6),
    ages=st.lists(st.none() | st.integers(0, 110), min_size=6, max_size=6),
)
def test_without_anything_to_bound_the_truth_is_measured(costs, ages):
    rows = [
        {"patient": at // 2, "cost": cost, "age": age}
        for at, (cost, age) in enumerate(zip(costs, ages, strict=False))
    ]
    known = [age for age in ages[: len(costs)] if age is not None]
    found = answered(
        "COUNT(*) AS n, COUNT(age) AS k, COUNTIF(age > 50) AS o, SUM(cost) AS s, SUM(age) AS t, "
        "COUNT(DISTINCT patient) AS p, COUNT(DISTINCT age) AS d",
        visits(*rows),
    )
    assert found[:3] == [len(rows), len(known), sum(age > 50 for age in known)]
    assert float(found[3]) == pytest.approx(sum(costs), abs=1e-5)
    assert found[4:] == [sum(known), len({row["patient"] for row in rows}), len(set(known))]
    mean, variance = answered("AVG(cost) AS m, VAR_POP(cost) AS v", visits(*rows))
    assert float(mean) == pytest.approx(statistics.fmean(costs), abs=1e-5)
    assert float(variance) == pytest.approx(statistics.pvariance(costs), abs=1e-3)


def test_one_person_counts_with_three_rows_of_their_mean():
    rows = [{"patient": 1, "cost": 10.0 * at, "age": at} for at in range(5)]
    count, mean = answered("COUNT(*) AS n, AVG(cost) AS m", visits(*rows))
    assert (count, mean) == (3, 20)
    count, total = answered("COUNT(age) AS n, SUM(age) AS s", visits(*rows))
    assert count == 3
    assert total == pytest.approx(6, abs=1e-6)
    for more in ("", "COUNT(*) AS n, ", "AVG(cost) AS m, "):  # one meaning, whatever is beside it
        *_, total = answered(f"{more}SUM(cost) AS s", visits(*rows))
        assert total == pytest.approx(60, abs=1e-5)
    flags = [{"patient": 1, "age": int(at % 10 == 0)} for at in range(50)]
    (total,) = answered("SUM(CASE WHEN age = 1 THEN 1 ELSE 0 END) AS s", visits(*flags))
    assert total == pytest.approx(0.3, abs=1e-5)  # before it is rounded
    assert answered("SUM(stay) AS s", visits(*[{"patient": 1, "stay": 9}] * 9)) == [27]
    above = "SUM(age, contribution_bounds_per_row => (5, 9)) AS s"  # few rows are no lack of them
    assert answered(above, visits({"patient": 1, "age": 7})) == [7]


def test_bounds_of_a_group_clamp_what_a_unit_adds():
    rows = [
        {"patient": 1, "note": 30.0},
        {"patient": 1, "note": -24.5},
        {"patient": 2, "note": 99.0},
    ]
    found = answered(
        "SUM(note, contribution_bounds_per_group => (0, 20)) AS s, "
        "AVG(note, contribution_bounds_per_group => (0, 20)) AS m, "
        "COUNT(*, contribution_bounds_per_group => (2, 9)) AS n",
        visits(*rows),
    )
    assert float(found[0]) == pytest.approx(5.5 + 20, abs=1e-6)
    assert float(found[1]) == pytest.approx((2.75 + 20) / 2, abs=1e-6)
    assert found[2] == 2 + 2
    whole = answered(
        "SUM(age, contribution_bounds_per_group => (0, 20)) AS s", visits({"patient": 1, "age": 7})
    )
    assert whole == [7]


def test_conditions_on_aggregates():
    rows = [{"patient": at, "cost": 10.0, "age": at, "paid": at % 2 == 0} for at in range(4)]
    select = "{}(cost) FILTER (WHERE paid) AS x"
    assert answered(select.format("COUNT"), visits(*rows)) == [2]
    assert answered(select.format("SUM"), visits(*rows)) == [20]
    assert answered(select.format("AVG"), visits(*rows)) == [10]
    people = "COUNT(DISTINCT {}) FILTER (WHERE paid) AS {}"
    people = ", ".join(people.format(*names) for names in (("patient", "x"), ("age", "y")))
    assert answered(people, visits(*rows)) == [2, 2]


def measures(select, **price):
    return {each.name: each for each in plan_of(select, **price).request.measures}


def test_equal_totals_are_measured_once():
    shared = measures("COUNT(*) AS n, AVG(cost) AS m, SUM(cost) AS s, STDDEV(cost) AS d")
    assert sorted(shared) == ["count", "squares", "sum"]
    assert shared["sum"].per == "count"
    apart = measures("COUNT(*) AS n, AVG(age) AS m")  # NULL does not count in a mean
    assert [name for name in apart if name.startswith("count")] == ["count", "count_2"]


def test_sums_are_centered_only_beside_their_count():
    (estimate,) = plan_of("SUM(cost) AS s").estimates
    assert estimate.estimator.center == 0
    plan = plan_of("SUM(cost) AS s, COUNT(*) AS n")
    assert plan.estimates[0].estimator.center == 50
    assert plan.estimates[0].estimator.count == "count"
    assert plan_of("SUM(age) AS s, COUNT(*) AS n").estimates[0].estimator.center == 0


def test_what_becomes_of_each_aggregate():
    found = measures(
        "COUNT(DISTINCT city) AS c, COUNT(DISTINCT born) AS b, COUNT(DISTINCT city, "
        "contribution_bounds_per_group => (0, 2)) AS e, MIN(age) AS l, MAX(cost) AS h"
    )
    assert [each.most for each in found.values() if isinstance(each, DistinctCount)] == [3, 1, 2]
    assert [each.leaves for each in found.values() if isinstance(each, Leaves)] == [111, 4096]
    plan = plan_of("APPROX_QUANTILES(age, 2) AS q, MAX(age) AS h")
    each = plan.estimates[0].estimator.each
    assert isinstance(plan.estimates[0].estimator, QuantilesEstimator)
    assert [one.level for one in each] == [0, Fraction(1, 2), 1]
    assert [choice.side for choice in plan.choices] == [1, 0, 1, -1]  # the highest once
    assert each[0].offset > 0 > each[2].offset == plan.estimates[1].estimator.offset
    assert isinstance(plan.estimates[1].estimator, QuantileEstimator)
    assert all(isinstance(one, Total) for one in measures("VAR_POP(age) AS v").values())


@pytest.mark.parametrize(
    ("select", "words"),
    [
        (
            "SUM(note) AS s",
            ["contribution_bounds_per_row", "[tables.visits.columns.note]", "low ="],
        ),
        ("AVG(note + 1) AS s", ["AVG(note + 1, contribution_bounds_per_row"]),
        ("MEDIAN(note) AS s", ["contribution_bounds_per_row"]),
    ],
)
def test_missing_bounds_are_asked_for(select, words):
    with pytest.raises(MissingBounds) as error:
        plan_of(select)
    assert all(word in str(error.value) for word in words)
    assert "^" in str(error.value)


@pytest.mark.parametrize(
    "select",
    [
        "SUM(cost, contribution_bounds_per_row => (5, 5)) AS s",
        (
            "SUM(cost, contribution_bounds_per_row => (0, 5), "
            "contribution_bounds_per_group => (0, 1)) AS s"
        ),
        "COUNT(*, contribution_bounds_per_group => (0.2, 0.8)) AS s",
    ],
)
def test_bounds_without_meaning_are_refused(select):
    with pytest.raises(UnsupportedSQL):
        plan_of(select)


@pytest.mark.parametrize("select", ["MIN(day) AS m", "MAX(ward) AS m"])
def test_extremes_of_what_is_no_number_are_refused(select):
    with pytest.raises(WrongType):
        plan_of(select)
