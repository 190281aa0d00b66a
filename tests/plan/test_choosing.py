"""Counts that choose the groups they are shown with: which, at what price, and how exact."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.mechanisms import NoisyKeys, OptimalKeys, SumKeys
from discreet.plan.binding.value_facts import ONE
from discreet.plan.bounds_search import FoundBounds
from discreet.plan.pricing.requested_price import estimate
from discreet.plan.statistics.partition_selection import UNIT_COUNTS, SelectionRule
from discreet.planner import plan_second_stage
from discreet.query.expressions import Column
from discreet.requests.engine_request import DistinctCount, Total
from discreet.units import person
from tests.plan.clinic import POLICY, SCHEMA, answers, databases, planned, public_rows

DELTA = Fraction(1, 10**9)


def plan_of(aggregates, options="", key="city", **price):
    clause = f"WITH DIFFERENTIAL_PRIVACY OPTIONS({options})" if options else ""
    text = f"SELECT {clause} {key}, {aggregates} FROM visits GROUP BY {key}"  # noqa: S608
    return planned(text, **(price or {"epsilon": 1, "delta": DELTA}))


ONE_ROW = "max_rows_per_group = 1"
TWO_ROWS = "max_rows_per_group = 2"
AROUND_ZERO = "SUM(cost, contribution_bounds_per_row => (-3, 3)) AS s"
SHARED = [
    ("COUNT(*) AS n", ONE_ROW, "units", []),
    ("COUNT(cost) AS n", ONE_ROW, "units", []),
    ("COUNT(*) AS n, COUNT(DISTINCT patient) AS p", ONE_ROW, "units", []),
    ("COUNT(*) AS n", f"{ONE_ROW}, min_privacy_units_per_group = 7", "units", []),
    (
        "SUM(cost) AS s",
        f"{ONE_ROW}, group_selection_strategy = LAPLACE_THRESHOLD",
        "units",
        ["sum"],
    ),
    ("COUNT(*, contribution_bounds_per_group => (0, 1)) AS n", "", "units", []),
    ("COUNT(*, contribution_bounds_per_group => (1, 1)) AS n", "", "units", []),
    ("COUNT(DISTINCT patient) AS p", "", "units", []),
    ("COUNT(*, contribution_bounds_per_group => (2, 2)) AS n", "", "count", []),
]
SUMMED = [
    ("COUNT(*) AS n, SUM(cost) AS s, AVG(cost) AS m", ONE_ROW, []),
    ("SUM(cost) AS s", ONE_ROW, []),
    ("AVG(cost) AS m", ONE_ROW, []),
    ("VAR_POP(cost) AS v", ONE_ROW, ["squares"]),
    ("COUNT(*) AS n", TWO_ROWS, []),
    ("COUNT(cost) AS n, AVG(cost) AS m", TWO_ROWS, []),
    ("SUM(cost) AS s", TWO_ROWS, []),
    (f"{AROUND_ZERO}, COUNT(*) AS n", TWO_ROWS, []),
    (f"{AROUND_ZERO}, COUNT(*) AS n", ONE_ROW, []),
    ("COUNT(*, contribution_bounds_per_group => (0, 2)) AS n, COUNT(*) AS m", "", ["count"]),
    ("COUNT(*) AS n, COUNT(DISTINCT patient) AS p", "", []),
    ("SUM(cost) AS s, COUNT(DISTINCT patient) AS p", "", []),
    ("COUNT(age) AS n", ONE_ROW, []),  # of people whose age is known
    ("COUNT(age) AS n", "", []),
    ("COUNTIF(age > 5) AS n", ONE_ROW, []),
    ("SUM(age) AS s", ONE_ROW, []),
    (AROUND_ZERO, "", []),
    (AROUND_ZERO, ONE_ROW, []),
    ("COUNT(*) AS n", "min_privacy_units_per_group = 7", []),
    ("COUNT(*) AS n", "max_rows_per_group = 3", []),
    ("COUNT(*) AS n, MEDIAN(age) AS m", "", []),
]


@pytest.mark.parametrize(("aggregates", "options", "others"), SUMMED)
def test_what_is_released_in_any_case_chooses_at_no_epsilon(aggregates, options, others):
    plan = plan_of(aggregates, options)
    assert isinstance(plan.selection, SumKeys)
    assert [noise.measure for noise in plan.noises if noise.measure != "parts"] == others
    assert (plan.price.epsilon, plan.price.delta) <= (1, DELTA)
    assert plan.loss.delta(epsilon=Fraction("1.001")) <= DELTA


@pytest.mark.parametrize("noise", ["LAPLACE", "GAUSSIAN"])
def test_the_choice_leaves_all_of_rho_to_the_coordinates(noise):
    plan = plan_of("COUNT(*) AS n", f"noise = {noise}", rho="0.05", delta=DELTA)
    public = plan_of("COUNT(*) AS n", f"noise = {noise}", key="ward", rho="0.05")
    assert isinstance(plan.selection, SumKeys)
    assert plan.noises[0].mechanism == public.noises[0].mechanism
    assert (plan.price.rho, plan.price.beside) <= (Fraction("0.05"), DELTA)


@pytest.mark.parametrize(("aggregates", "options", "chosen_by", "others"), SHARED)
def test_a_count_that_is_needed_anyway_chooses(aggregates, options, chosen_by, others):
    plan = plan_of(aggregates, options)
    assert isinstance(plan.selection, NoisyKeys)
    assert plan.chosen_by == chosen_by
    assert sorted(noise.measure for noise in plan.noises) == sorted(others)
    measure = next((m for m in plan.request.measures if m.name == chosen_by), None)
    assert plan.selection.most == (1 if measure is None else measure.high)
    assert plan.price.epsilon <= 1
    assert plan.price.delta <= DELTA


APART = [
    ("SUM(note, contribution_bounds_per_group => (0, 7)) AS s", "", ["sum"]),
    ("COUNT(DISTINCT drug) AS d", "", ["distinct"]),
    ("COUNT(*) AS n", "group_selection_strategy = OPTIMAL", ["count"]),
    ("COUNT(*) AS n", f"{ONE_ROW}, group_selection_strategy = OPTIMAL", ["units"]),
    ("SUM(cost) AS s", f"{ONE_ROW}, group_selection_strategy = OPTIMAL", ["sum"]),
    ("COUNT(*) AS n", "epsilon = 1, group_selection_epsilon = 0.1", ["count"]),
    ("COUNT(DISTINCT patient) AS n", "epsilon = 1, group_selection_epsilon = 0.1", ["units"]),
]


@pytest.mark.parametrize(("aggregates", "options", "noises"), APART)
def test_others_choose_by_themselves(aggregates, options, noises):
    price = {"delta": DELTA} if "epsilon = 1" in options else {"epsilon": 1, "delta": DELTA}
    if "drug" in aggregates:
        text = f"SELECT drug, {aggregates.replace('drug', 'dose')} FROM drugs GROUP BY drug"  # noqa: S608
        plan = planned(text, **price)
    else:
        plan = plan_of(aggregates, options, **price)
    assert isinstance(plan.selection, OptimalKeys)
    assert [noise.measure for noise in plan.noises] == noises


def test_an_epsilon_for_the_choice_leaves_the_rest_to_the_count():
    plan = plan_of(
        "COUNT(DISTINCT patient) AS n",
        "epsilon = 1, group_selection_epsilon = 0.1",
        delta=DELTA,
    )
    assert plan.noises[0].mechanism.scale == 2 / Fraction(9, 10)
    assert plan.selection.epsilon == Fraction(1, 20)
    assert plan.price.epsilon == 1


def test_a_threshold_on_rows_is_for_units_where_the_question_says_so():
    plan = plan_of("COUNT(*) AS n", "group_selection_strategy = LAPLACE_THRESHOLD")
    assert isinstance(plan.selection, NoisyKeys)
    assert (plan.chosen_by, plan.selection.most) == ("units", 1)
    assert [noise.measure for noise in plan.noises] == ["count"]


def test_the_same_count_is_measured_once_where_groups_are_public():
    plan = plan_of("COUNT(*) AS n, COUNT(DISTINCT patient) AS p", ONE_ROW, key="ward", epsilon=1)
    assert [noise.measure for noise in plan.noises] == ["units"]
    assert plan.request.measures == ()


@pytest.mark.parametrize("options", [ONE_ROW, TWO_ROWS, ""])
def test_errors_are_those_of_public_groups(options):
    """Choosing costs no more than a part of delta: Laplace noise is the same to the last digit."""
    price = {"epsilon": 1, "delta": DELTA, "size": 1000}
    for aggregates in ("COUNT(*) AS n", "SUM(cost) AS s", "AVG(cost) AS a, COUNT(*) AS n"):
        private = plan_of(aggregates, options, **price)
        public = plan_of(aggregates, options, key="ward", **price)
        assert [each.half_width for each in private.predicted] == [
            each.half_width for each in public.predicted
        ]


@pytest.mark.parametrize("ends", [(0, 10), (-8, 8), (3, 4)])
@pytest.mark.parametrize("options", [TWO_ROWS, ONE_ROW])
def test_bounds_that_are_found_do_not_decide_which_count_chooses(ends, options):
    """What is charged before they are known has to be what is released."""
    price = {"epsilon": 1, "delta": DELTA, "bounds": estimate(epsilon=1)}
    first = plan_of("SUM(COALESCE(note, 0)) AS s", options, **price)
    low, high = map(Fraction, ends)
    bounds = FoundBounds(about=first.search.targets[0].about, low=low, high=high, seen=True)
    known = {"policy": POLICY, "schema": SCHEMA, "public_rows": public_rows}
    second, _ = plan_second_stage(first, (bounds,), **known)
    assert isinstance(second.selection, NoisyKeys)
    assert second.chosen_by == ("units" if options == ONE_ROW else "count")


# --- the number of units -------------------------------------------------------------------------


@pytest.mark.theorem("rows-are-units")
@settings(max_examples=60)
@given(tables=databases(), salt=st.integers(0, 9), one=st.sampled_from(UNIT_COUNTS))
def test_rows_of_which_one_counts_are_units(tables, salt, one):
    plan = plan_of("COUNT(*) AS n", ONE_ROW)
    assert plan.request.measures == ()
    lowered = replace(plan.request, measures=(replace(one, name="rows"),))
    totals, _ = answers(lowered, tables, salt)
    assert totals["rows"] == totals["units"]


def test_what_may_choose():
    both = SelectionRule(units=True, rows=True)
    for total in (
        Total(name="", row=Column("age"), low=0, high=5),
        Total(name="", row=ONE, low=-1, high=5),
        Total(name="", row=ONE, low=0, high=0),
        Total(name="", row=ONE, low=0, high=5, rows=2),
        Total(name="", row=ONE, low=0, high=3),
    ):
        assert not both.by(total, units=False)
        assert both.among({"count": total}) is None
    rows = Total(name="", row=ONE, low=0, high=2)
    assert both.by(rows, units=False)
    assert not both.by(rows, units=True)
    assert not SelectionRule(units=True).by(rows, units=False)
    assert not SelectionRule().by(UNIT_COUNTS[0], units=False)
    assert both.among({"d": DistinctCount(name="d", expression=Column("age"), most=3)}) is None
    few = replace(rows, high=1, low=1)
    assert both.among({"many": rows, "few": few}) == ("few", 1)


# --- what the joint release loses ----------------------------------------------------------------


def law_of(keys, counts, radius):
    """Return the law of noisy counts and hidden groups, all that is far away in one outcome."""
    found = np.ones(1)
    for n in counts:
        law = keys.reference_pmf([n])
        seen = [law((y,)).nearest() for y in range(keys.threshold, keys.threshold + radius)]
        hidden = law((None,)).nearest()
        rest = 1 - hidden - math.fsum(seen)
        found = np.multiply.outer(found, np.array([hidden, *seen, max(rest, 0.0)])).ravel()
    return found


@pytest.mark.theorem("threshold-keys")
@pytest.mark.theorem("part-prices")
@pytest.mark.parametrize("options", [ONE_ROW, f"{ONE_ROW}, noise = GAUSSIAN"])
@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_neighbors_are_told_apart_no_more_than_was_paid_for(options, groups, relation):
    """Every table of few rows, with one person more, or another one: enumerated exactly."""
    epsilon, delta = Fraction(3), Fraction(1, 50)
    options = ", ".join(filter(None, [options, f"max_groups_contributed = {groups}"]))
    text = f"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS({options}) city, COUNT(*) AS n FROM visits GROUP BY city"  # noqa: E501, S608
    plan = planned(text, unit=person("patient", relation=relation), epsilon=epsilon, delta=delta)
    keys, radius = plan.selection, 120 if groups == 1 else 40
    assert isinstance(keys, NoisyKeys)
    assert plan.noises == ()
    most, worst = keys.most, 0.0
    base = [0, 1, keys.threshold]
    for n in base:
        before = (n,) * groups
        for more in {1, most}:
            after = tuple(each + more for each in before)
            pairs = [(before, after)]
            if relation == "replace":  # one person leaves a city, and another comes to the next
                pairs = [((*after, *before)[: 2 * groups], (*before, *after)[: 2 * groups])]
                if groups == 2:
                    continue  # four groups are too many to enumerate; see the mechanism's own tests
            for one, other in pairs:
                p, q = law_of(keys, one, radius), law_of(keys, other, radius)
                for a, b in ((p, q), (q, p)):
                    tilt = np.maximum(a - math.exp(float(epsilon)) * b, 0)
                    worst = max(worst, math.fsum(tilt))
    assert worst <= float(delta) * (1 + 1e-9)
    if groups == 1:
        assert worst >= float(keys.leak()) * (1 - 1e-9)  # a person alone is seen so often


def test_every_count_keeps_its_price():
    for aggregates, options, _, _ in SHARED:
        for price in ({"epsilon": "0.7", "delta": DELTA}, {"rho": "0.05", "delta": DELTA}):
            plan = plan_of(aggregates, options, **price)
            assert plan.price.beside <= DELTA
            if "rho" in price:
                assert plan.price.rho <= Fraction("0.05")
            else:
                assert (plan.price.epsilon, plan.price.delta) <= (Fraction("0.7"), DELTA)
                assert plan.loss.delta(epsilon=Fraction("0.71")) <= DELTA
