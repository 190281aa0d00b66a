"""Sums and counts as points of simplexes: sensitivity, what enforces it, answers and intervals."""

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from discreet.engines.engine import HashOrder
from discreet.errors import OutOfRange
from discreet.mechanisms import Gaussian, Laplace
from discreet.noise import KeyedEntropy
from discreet.plan.policy.policy import read_policy
from discreet.plan.pricing.group_sensitivity import Releases
from discreet.plan.pricing.linear_strategy import Chain, SimplexTotals, are_nested
from discreet.plan.pricing.release_composition import check_claims
from discreet.plan.workload.simplex import SimplexWorkload
from discreet.query.expressions import Call, Case, Column, Literal
from discreet.release.answer import answer
from discreet.release.combination import combine
from discreet.release.release import Release
from discreet.requests.engine_request import Total
from discreet.requests.raw_totals import RawTotals
from discreet.requests.table_schema import Schema
from discreet.units import person
from tests.plan.clinic import TEXT, TYPES, answers, planned
from tests.plan.test_neighbors import check
from tests.plan.test_workload import visits_of
from tests.reference.engine import Reference

MEAN = "SELECT COUNT(*) AS n, AVG(age) AS m FROM visits"
BY_WARD = "SELECT ward, COUNT(*) AS n, AVG(age) AS m, SUM(cost) AS s FROM visits GROUP BY ward"
CHAIN = (
    "SELECT COUNT(*) AS n, AVG(cost) AS c, AVG(age) FILTER (WHERE paid) AS m, "
    "COUNTIF(paid) AS p, VAR_POP(age) FILTER (WHERE paid) AS v FROM visits"
)
SMALL = [
    {"patient": 1, "ward": ward, "city": ward, "age": age, "paid": paid, "cost": 1.0}
    for ward, age, paid in [
        ("A", None, True),
        ("A", 2, True),
        ("A", 2, None),
        ("B", None, None),
        ("B", 2, True),
    ]
]
SINGLE = read_policy(
    TEXT.replace('unit = "patient"', 'unit = "row"').partition("[tables.drugs]")[0]
)
ROW = {"unit": SINGLE.unit, "policy": SINGLE, "schema": Schema(SINGLE.tables)}


def nested(plan):
    strategies = [noise.distances.strategy for noise in plan.noises]
    return next(
        each.source.chains
        for each in strategies
        if each is not None and isinstance(each.source, SimplexTotals)
    )


def test_a_mean_of_a_nullable_column_costs_what_one_of_another_does():
    unit = person("patient")
    sizes = {"size": 1000}
    null, none = (
        planned(MEAN.replace("age", each), unit=unit, epsilon=1, **sizes)
        for each in ("age", "cost")
    )
    assert [each.counts for each in nested(null)] == [("count", "count_2")]
    assert len(null.noises) == len(none.noises) == 1
    mean, other = (plan.predicted[1].half_width for plan in (null, none))
    assert mean / 110 <= Fraction(101, 100) * other / 100  # by the widths of the bounds
    count, alone = (plan.predicted[0].half_width for plan in (null, none))
    assert count < 2 * alone


def test_counts_that_are_parts_of_each_other_are_one_chain():
    cost, age = nested(planned(CHAIN, epsilon=1))
    assert (cost.counts, cost.total) == (("count",), "sum")
    assert (age.counts, age.total) == (("count", "count_3", "count_2"), "sum_2")


def test_single_rows_are_nested_in_their_number():
    (chain,) = nested(planned(MEAN, **ROW, epsilon=1))
    assert chain.counts == ("units", "count")


APART = [
    ("SELECT COUNT(*, epsilon => 0.5) AS n, AVG(age) AS m FROM visits", {"epsilon": 1}),
    (MEAN, {"error": {"n": 20}, "size": 1000}),
    ("SELECT SUM(cost) AS s FROM visits", {"epsilon": 1}),
    ("SELECT COUNT(*) AS n FROM visits", {"epsilon": 1}),
]
PRIVATE = [
    "SELECT city, COUNT(*) AS n FROM visits GROUP BY city",
    "SELECT city, SUM(cost) AS s FROM visits GROUP BY city",
    "SELECT city, SUM(stay) AS s FROM visits GROUP BY city",
    "SELECT city, COUNT(*) AS n, AVG(age) AS m, SUM(cost) AS s FROM visits GROUP BY city",
    "SELECT city, COUNTIF(paid) AS p, COUNT(DISTINCT patient) AS u FROM visits GROUP BY city",
    "SELECT city, AVG(cost) AS m FROM visits GROUP BY city HAVING COUNT(DISTINCT patient) > 3",
]


@pytest.mark.parametrize(("text", "price"), APART)
def test_what_is_not_nested_is_priced_as_before(text, price):
    assert all(noise.distances.strategy is None for noise in planned(text, **price).noises)


@pytest.mark.theorem("simplex-release")
@pytest.mark.parametrize(
    ("text", "relation"),
    [
        (MEAN, "add_remove"),
        (BY_WARD, "add_remove"),
        (CHAIN, "add_remove"),
        (BY_WARD, "replace"),
        *((text, "add_remove") for text in PRIVATE),
        (PRIVATE[0], "replace"),
        (PRIVATE[3], "replace"),
    ],
)
@pytest.mark.parametrize(
    "price", [{"epsilon": 1, "delta": 1e-9}, {"rho": 1, "delta": 1e-9}], ids=str
)
def test_all_small_neighbors_stay_within_the_claim(text, relation, price):
    """Every table of up to four rows of a person, alone or in the place of any other."""
    plan = planned(text, unit=person("patient", relation=relation), **price)
    assert nested(plan)
    found = [
        answers(plan.request, visits_of(rows))
        for count in range(5)
        for rows in itertools.combinations_with_replacement(SMALL, count)
    ]
    replaced = relation == "replace"
    pairs = (
        itertools.combinations(found[::9], 2) if replaced else ((each, found[0]) for each in found)
    )
    for here, there in pairs:
        check(plan, here, there, replaced=replaced)


def test_the_claim_is_reached_and_no_less_would_do():
    plan = planned(MEAN, epsilon=1)
    full = answers(plan.request, visits_of([SMALL[1]] * 5))
    nobody = answers(plan.request, visits_of([]))
    check(plan, full, nobody, replaced=False)
    (noise,) = plan.noises
    assert noise.distances.added == 3 * nested(plan)[0].width
    assert isinstance(noise.mechanism, Laplace)


PAID, OLD = (Call("IS TRUE", (Column(name),)) for name in ("paid", "old"))


def count(*conditions, high=3, low=0, rows=None):
    one = Literal(1)
    if conditions:
        both = conditions[0] if len(conditions) == 1 else Call("AND", conditions)
        one = Case(((both, one),))
    return Total(name="", row=one, low=low, high=high, rows=rows)


WRONG = {
    "the other way round": ([count(), count(PAID)], 3),
    "not a part": ([count(PAID), count(OLD)], 3),
    "more rows inside": ([count(PAID, high=4), count()], 4),
    "more rows than are priced": ([count(PAID), count()], 2),
    "the number of people": ([count(PAID), None], 3),
    "scaled down": ([count(PAID, rows=1), count()], 3),
    "not from zero": ([count(PAID, low=-1), count()], 3),
    "no count": ([replace(count(PAID), row=Column("age")), count()], 3),
    "either": (
        [replace(count(), row=Case(((Call("OR", (PAID, OLD)), Literal(1)),))), count(PAID)],
        3,
    ),
    "another number": ([replace(count(), row=Case(((PAID, Literal(2)),))), count()], 3),
    "counted elsewhere": (
        [replace(count(), row=Case(((PAID, Literal(1)),), Literal(1))), count(PAID)],
        3,
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_not_nested_is_not_held_for_it(name):
    measures, most = WRONG[name]
    assert not are_nested(measures, most)


def test_nesting_is_read_off_conditions():
    assert are_nested([count(PAID, OLD), count(PAID), count()], 3)
    assert are_nested([count(Call("AND", (OLD, PAID)), PAID), count(OLD, PAID)], 3)
    assert are_nested([count(PAID, high=1), None], 1)


def claimed(plan, **wrong):
    """The same releases with another belief about the chain."""
    (noise,) = plan.noises
    source = noise.distances.cells.source
    chain = replace(source.chains[0], **wrong)
    cells = replace(noise.distances.cells, source=replace(source, chains=(chain,)))
    return (replace(noise, distances=replace(noise.distances, cells=cells)),)


BELIEFS = {
    "the other way round": {"counts": ("count_2", "count")},
    "a smaller range": {"low": -(2**20)},
    "another total": {"total": "count"},
    "no total": {"total": None},
    "no count": {"counts": ("sum",)},
}


@pytest.mark.parametrize("name", BELIEFS)
def test_what_no_engine_enforces_is_refused_where_it_is_priced(name):
    plan = planned(MEAN, epsilon=1)
    check_claims(plan.request, Releases(noises=plan.noises))
    with pytest.raises(OutOfRange):
        check_claims(plan.request, Releases(noises=claimed(plan, **BELIEFS[name])))


@pytest.mark.theorem("sum-keys")
@pytest.mark.parametrize(
    "wrong",
    [
        {"most": 50, "squared": 2500},
        {"groups": 1},
        {"coordinates": 2},
        {"squared": 1},
        {"noise": Laplace(scale=1)},
    ],
    ids=str,
)
def test_a_choice_that_believes_less_than_its_coordinates_move_is_refused(wrong):
    plan = planned(PRIVATE[3], epsilon=1, delta=1e-9)
    releases = Releases(selection=plan.selection, noises=plan.noises)
    check_claims(plan.request, releases)
    with pytest.raises(OutOfRange):
        check_claims(plan.request, replace(releases, selection=replace(plan.selection, **wrong)))


@pytest.mark.theorem("sum-keys")
def test_coordinates_of_which_some_units_add_less_than_others_choose_nothing():
    plan = planned(PRIVATE[0], epsilon=1, delta=1e-9)
    releases = Releases(selection=plan.selection, noises=plan.noises)
    with pytest.raises(OutOfRange):
        check_claims(plan.request, replace(releases, noises=claimed(plan, counts=("count",))))


@pytest.mark.parametrize("name", ["count_2", "sum"])
def test_totals_that_are_not_kept_within_their_counts_are_refused(name):
    plan = planned(MEAN, epsilon=1)
    known = plan.request.measures
    loose = tuple(replace(each, per=None) if each.name == name else each for each in known)
    with pytest.raises(OutOfRange):
        check_claims(replace(plan.request, measures=loose), Releases(noises=plan.noises))


@pytest.mark.theorem("within-count")
def test_a_twin_that_does_not_keep_sums_within_their_counts_is_caught():
    """Planning believes that age is between 50 and 60, and that it is never NULL."""
    plan = planned(MEAN, epsilon=1)
    wide = {each.name: each for each in plan.request.measures}
    row = Case(((Call("IS NULL", (Column("age"),)), Literal(0)),), Literal(10**9))
    some = Case(((Call("IS NULL", (Column("age"),)), Literal(1)),))
    planted = (
        wide["count"],
        replace(wide["count_2"], row=some),
        replace(wide["sum"], row=row),
    )
    rows = [SMALL[0], SMALL[1], SMALL[1]]
    here, there = (visits_of(each) for each in (rows, []))
    kept = replace(plan.request, measures=planted)
    check(plan, answers(kept, here), answers(kept, there), replaced=False)
    twin = replace(kept, measures=tuple(replace(each, per=None) for each in planted))
    with pytest.raises(AssertionError):
        check(plan, answers(twin, here), answers(twin, there), replaced=False)


def points(rows, low, high, most):
    """Return the point of a unit with these rows, None where there is no value."""
    values = [min(max(each, low), high) for each in rows if each is not None]
    count, inner = min(len(rows), most), min(len(values), most)
    total = sum(values) if len(values) <= most else sum(values) * most // len(values)
    return (
        total - low * inner,
        high * inner - total,
        (high - low) * (count - inner),
        (high - low) * (most - count),
    )


@pytest.mark.theorem("simplex-release")
@pytest.mark.parametrize(("low", "high", "most"), [(-2, 2, 3), (-1, 2, 2), (0, 3, 1)])
def test_every_unit_is_a_point_of_the_simplex_and_no_two_are_further_apart(low, high, most):
    values = [None, low - 1, low, 0, high, high + 5]
    found = {
        points(rows, low, high, most)
        for count in range(1, most + 3)
        for rows in itertools.combinations_with_replacement(values, count)
    }
    assert all(min(point) >= 0 and sum(point) == most * (high - low) for point in found)
    apart = [
        sum(abs(x - y) for x, y in zip(*pair, strict=True))
        for pair in itertools.combinations(found, 2)
    ]
    assert max(apart) == 2 * most * (high - low)
    squares = [
        sum((x - y) ** 2 for x, y in zip(*pair, strict=True))
        for pair in itertools.combinations(found, 2)
    ]
    assert max(squares) <= 2 * (most * (high - low)) ** 2


@pytest.mark.theorem("simplex-release")
def test_answers_are_linear_in_the_sums():
    chains = (
        Chain(counts=("n", "k"), total="s", low=-3, high=2),
        Chain(counts=("n",), total="t", low=-20, high=20),
    )
    strategy = SimplexWorkload(measure="parts", chains=chains, rows=3).strategy
    totals = {"n": 7, "k": 5, "s": -4, "t": 90}
    raw = RawTotals(
        keys=(),
        units=np.array([4]),
        totals={name: np.array([each]) for name, each in totals.items()},
        leaves={},
    )
    sums = strategy.read(raw, np.array([0])).tolist()
    for name, weights in strategy.answers:
        assert sum(Fraction(weight) * sums[place] for place, weight in weights) == totals[name]


ORDER = HashOrder(salt=1, portable=True)
ROWS = [
    {
        "patient": who % 40,
        "ward": "ABC"[who % 3],
        "age": None if who % 4 == 0 else who % 90,
        "cost": float(who % 7),
        "paid": who % 3 == 0,
    }
    for who in range(100)
]


def raw(plan, rows=ROWS):
    return Reference(visits_of(rows), TYPES).run(plan.request, order=ORDER)


@pytest.mark.parametrize("unit", [{}, ROW], ids=["people", "rows"])
def test_without_noise_to_speak_of_all_numbers_are_right(unit):
    plan = planned(MEAN, **unit, epsilon=10**6, ceiling=False)
    assert nested(plan)
    (found,) = answer(plan, raw(plan)).rows()
    ages = [each["age"] for each in ROWS if each["age"] is not None]
    assert found["n"] == len(ROWS)
    assert abs(found["m"] - sum(ages) / len(ages)) < 1e-3


@pytest.mark.parametrize("text", PRIVATE)
def test_private_groups_have_the_numbers_that_public_ones_have(text):
    rows = [{**each, "city": each["ward"], "stay": 3} for each in ROWS]
    private = planned(text, epsilon=10**6, delta=1e-9, ceiling=False)
    public = planned(text.replace("city", "ward"), epsilon=10**6, ceiling=False)
    found, known = (answer(each, raw(each, rows)).rows() for each in (private, public))
    assert len(found) == 3
    for one, other in zip(found, known[-3:], strict=True):  # there is one of nobody as well
        for name in one.keys() & other.keys():
            assert abs(one[name] - other[name]) < 1e-2


def test_people_with_many_rows_count_as_they_would_by_themselves():
    """Three rows of a person count, whatever they hold; so the mean is one of three values."""
    crowd = [{**ROWS[1], "patient": 7, "age": age} for age in (None, None, 10, 20, 30, 40)]
    plan = planned(MEAN, epsilon=10**6, ceiling=False)
    (found,) = answer(plan, raw(plan, crowd)).rows()
    assert found["n"] == 3
    assert abs(found["m"] - 25) < 1e-3


@pytest.mark.parametrize("price", [{"epsilon": 1}, {"rho": Fraction(1, 10)}], ids=str)
def test_intervals_hold_the_truth_as_often_as_they_say(price):
    """More than 5.5 deviations too many misses of 150 are rarer than 1e-6."""
    plan, times = planned(MEAN, **price), 150
    totals = raw(plan)
    exact = planned(MEAN, epsilon=10**6, ceiling=False)
    (truth,) = answer(exact, raw(exact)).rows()
    missed = {"n": 0, "m": 0}
    for at in range(times):
        stream = KeyedEntropy(key=at.to_bytes(32, "little"), label="nested")
        (found,) = answer(plan, totals, entropy=stream).rows()
        for name in missed:
            missed[name] += not found[f"{name}_low"] <= truth[name] <= found[f"{name}_high"]
    assert max(missed.values()) <= times * 0.05 + 5.5 * math.sqrt(times * 0.05 * 0.95)
    laws = {Laplace} if "epsilon" in price else {Gaussian}
    assert {type(each.mechanism) for each in plan.noises} == laws


def test_bytes_give_back_the_same_answer_and_two_are_better_than_one():
    plans = [planned(BY_WARD, epsilon=epsilon, ceiling=False) for epsilon in (8, 9)]
    streams = (KeyedEntropy(key=bytes([at]) * 32, label="nested") for at in (1, 2))
    first, second = (
        answer(plan, raw(plan), entropy=stream) for plan, stream in zip(plans, streams, strict=True)
    )
    again = Release.read(first.written(), plans[0])
    assert again.rows() == first.rows()
    both = combine(again, second).rows()
    widths = [
        sum(each["n_high"] - each["n_low"] for each in rows) for rows in (both, second.rows())
    ]
    assert widths[0] < widths[1]
