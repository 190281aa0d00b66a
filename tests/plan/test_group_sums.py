"""Running counts of public groups: sums of groups with noise, their sensitivity, and the choice."""

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from discreet.errors import OutOfRange
from discreet.mechanisms import Gaussian, Laplace
from discreet.plan.pricing.group_sensitivity import GroupSensitivity, Releases
from discreet.plan.pricing.linear_strategy import (
    CellSensitivity,
    CellStrategy,
    CellValue,
    GroupTotals,
)
from discreet.plan.pricing.release_composition import check_claims
from discreet.requests.raw_totals import RawTotals
from discreet.units import Relation, person
from tests.plan.clinic import planned
from tests.plan.test_workload import check_small_tables

STRATEGIES = [
    (((0,), (1,), (2,)), ()),
    (((0,), (0, 1), (0, 1, 2)), ()),
    (((0,), (1,), (0, 1), (2,)), ()),
    (((0, 1), (0, 1, 2)), ((2, 1), (1, 3, 2))),
]


def _added(low, high, groups):
    """Yield all that a unit can add to three groups."""
    for values in itertools.product({0, low, high, min(1, high)}, repeat=3):
        if sum(map(bool, values)) <= groups:
            yield np.array(values, np.int64)


@pytest.mark.theorem("linear-strategy")
@pytest.mark.parametrize(("sums", "factors"), STRATEGIES, ids=str)
@pytest.mark.parametrize("groups", [1, 2, 3])
@pytest.mark.parametrize(("low", "high"), [(0, 1), (0, 2), (1, 1), (-1, 2)])
def test_no_unit_moves_sums_of_groups_further(sums, factors, groups, low, high):
    far = _distances(sums, factors, groups, low, high)
    keys = [("b",), (None,), ("a",)]
    found = [measured(far, each, keys) for each in _added(low, high, groups)]
    pairs = [one - other for one in found for other in found]
    assert max(abs(each).sum() for each in found) <= far.added
    assert max((each**2).sum() for each in found) <= far.added_squared
    assert max(abs(each).sum() for each in pairs) <= far.replaced
    assert max((each**2).sum() for each in pairs) <= far.replaced_squared
    if groups == 1 and low == 0:  # and claims are no larger than they need to be
        assert max(abs(each).sum() for each in found) == far.added
        assert max((each**2).sum() for each in pairs) == far.replaced_squared


def _distances(sums, factors, groups, low, high):
    cells = CellStrategy(
        words="",
        cells=3,
        sums=sums,
        factors=factors,
        answers=(),
        values=(CellValue(measure="n", low=min(low, 0), high=high),),
        source=GroupTotals(order=(2, 0, 1), named=(("r", (0, 1, 2)),)),
    )
    return CellSensitivity(low=0, high=groups, groups=1, available=1, cells=cells)


def measured(far, totals, keys):
    """Return all sums of totals of groups with these keys."""
    keys = tuple(pa.array(each) for each in zip(*keys, strict=True))
    none = np.zeros_like(totals)
    raw = RawTotals(keys=keys, units=none, totals={"n": totals}, leaves={})
    return far.strategy.read(raw, np.arange(totals.size))


def test_a_claim_for_totals_is_too_small_for_their_sums():
    """A mutant: the distances of the totals themselves."""
    far = _distances(*STRATEGIES[1], 1, 0, 1)
    alone = GroupSensitivity(low=0, high=1, groups=1, available=3)
    moved = measured(far, np.array([0, 1, 0]), [(1,), (0,), (2,)])
    assert alone.added < abs(moved).sum() <= far.added


AGES = ", ".join(map(str, range(1, 41)))
RUNNING = (
    "SELECT age, SUM(COUNT(*)) OVER (ORDER BY age DESC) AS r FROM visits "  # noqa: S608
    f"WHERE age IN ({AGES}) GROUP BY age"
)
BOTH = RUNNING.replace("SELECT age,", "SELECT age, COUNT(*) AS n,")
SMALL = [{"patient": 1, "ward": "A", "age": age} for age in (None, 1, 2, 40)]


@pytest.mark.theorem("linear-strategy")
@pytest.mark.parametrize("text", [RUNNING, BOTH])
@pytest.mark.parametrize("relation", ["add_remove", "replace"])
@pytest.mark.parametrize("price", [{"epsilon": 1}, {"rho": 1}], ids=str)
def test_all_small_neighbors_stay_within_the_claim(text, relation, price):
    """Every table of up to four rows of a person, alone or in the place of any other."""
    plan = planned(text, unit=person("patient", relation=relation), **price)
    if text == RUNNING:
        assert plan.noises[0].distances.strategy.source.frames
    check_small_tables(plan, SMALL, most=3)


def test_a_claim_that_the_request_does_not_keep_is_refused():
    plan = planned(RUNNING, epsilon=1)
    (noise,) = plan.noises
    check_claims(plan.request, Releases(noises=plan.noises))
    far, cells = noise.distances, noise.distances.strategy
    (value,) = cells.values
    listed = plan.request.listed
    for request, claim in [
        (plan.request, replace(far, high=1)),
        (plan.request, replace(far, cells=replace(cells, values=(replace(value, high=2),)))),
        (plan.request, replace(far, cells=replace(cells, cells=39))),
        (replace(plan.request, public=None), far),
        (replace(plan.request, public=listed[:-1]), far),
    ]:
        with pytest.raises(OutOfRange, match="priced for less"):
            check_claims(request, Releases(noises=(replace(noise, distances=claim),)))


@pytest.mark.parametrize("squared", [False, True])
def test_a_strategy_that_errs_less_is_chosen_and_answers_all_sums(squared):
    plan = planned(RUNNING, **({"rho": 1} if squared else {"epsilon": 1}))
    (noise,) = plan.noises
    far = noise.distances
    assert isinstance(noise.mechanism, Gaussian if squared else Laplace)
    assert "times the error of adding up groups" in plan.details
    for place, (_, weights) in enumerate(far.strategy.answers):
        held = [0] * 40
        for at, weight in weights:
            for cell, factor in zip(*list(far.strategy.terms())[at], strict=True):
                held[cell] += weight * factor
        assert held == [1] * (40 - place) + [0] * place
    direct = math.sqrt(20.5 * (2 * 9 if squared else 36))  # two groups of three rows
    moved = far.moved_squared(Relation.ADD_REMOVE)
    if not squared:
        moved = far.moved(Relation.ADD_REMOVE) ** 2
    assert math.sqrt(moved * 9 * far.strategy.spread) < 0.99 * direct


def test_a_thousand_prefix_sums_are_ten_times_more_exact():
    ages = ", ".join(map(str, range(1024)))
    clause = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(max_groups_contributed = 1, "
    text = RUNNING.replace(AGES, ages).replace("SELECT ", clause + "max_rows_per_group = 1) ")
    (error,) = planned(text, epsilon=1).predicted
    alone = Laplace(scale=1024).error(confidence=Fraction(19, 20))
    assert 80 * error.half_width <= alone  # a count for each threshold, priced by itself
    assert 2 * error.half_width <= 85  # the noisy counts of all groups, added up


KEPT = [
    RUNNING.replace("ORDER BY age DESC", "ORDER BY MOD(age, 3)"),
    RUNNING.replace("ORDER BY age DESC", "ORDER BY COUNT(*)"),
    RUNNING.replace("COUNT(*)", "COUNT(DISTINCT city)"),
    RUNNING.replace("age, ", "age, AVG(cost) AS c, ", 1),
    RUNNING.replace("COUNT(*)", "COUNT(*, epsilon => 0.5)"),
    RUNNING.replace(AGES, "1, 2, 3"),
]


@pytest.mark.parametrize("text", KEPT)
def test_other_running_sums_are_added_up_from_groups(text):
    plan = planned(text, epsilon=1)
    strategies = [noise.distances.strategy for noise in plan.noises]
    assert not any(each is not None and each.source.frames for each in strategies)


def test_totals_and_single_groups_are_part_of_the_workload():
    text = RUNNING.replace("AS r", "AS r, SUM(COUNT(*)) OVER () AS total, COUNT(*) AS n")
    clause = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(max_groups_contributed = 1) "
    plan = planned(text.replace("SELECT ", clause, 1), rho=1)
    frames = dict(plan.noises[0].distances.strategy.source.frames)
    assert [len(set(frames[name])) for name in ("w0", "w1", "count")] == [40, 1, 40]
    assert [error.output for error in plan.predicted] == ["r", "total", "n"]
