"""Sums and counts of one question are one workload: sensitivity, strategies, answers."""

# ruff: noqa: S608 (questions are written here)

import itertools
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.engines.engine import HashOrder
from discreet.errors import OutOfRange
from discreet.mechanisms import Gaussian
from discreet.plan.pricing.group_sensitivity import Releases
from discreet.plan.pricing.linear_strategy import CellSensitivity, CellTotals, CellValue
from discreet.plan.pricing.release_composition import check_claims
from discreet.plan.workload.strategies import Workload, predicted_error
from discreet.release.answer import answer
from discreet.release.release import Release
from discreet.requests.engine_request import CellSums
from discreet.units import Relation, person
from tests.plan.clinic import TYPES, answers, planned
from tests.plan.test_neighbors import columns_of
from tests.plan.test_workload import check_small_tables, visits_of
from tests.reference.engine import Reference

ONE_ROW = "WITH DIFFERENTIAL_PRIVACY OPTIONS(max_rows_per_group = 1) "
PAY = CellValue(measure="pay", low=-1, high=2)
AGE = CellValue(measure="age", low=0, high=3)
ROWS = CellValue(measure="rows", low=0, high=1)


def workload(cells, values, kinds, rows=1):
    return Workload(
        measure="cells",
        names=tuple(f"s{place}" for place in range(len(kinds))),
        cells=cells,
        values=values,
        kinds=kinds,
        rows=rows,
        source=CellTotals(),
    )


WORKLOADS = {
    "disjoint": workload(((0,), (1,)), (PAY,), (0, 0)),
    "nested": workload(((0, 1), (1,)), (PAY,), (0, 0)),
    "overlapping": workload(((0,), (0, 1), (1,)), (AGE,), (0, 0)),
    "two values apart": workload(((0,), (1,)), (PAY, AGE), (0, 1)),
    "two values of one row": workload(((0, 1), (1,)), (PAY, ROWS), (0, 1)),
    "three of a kind": workload(((0,), (0, 1), (0, 1, 2)), (PAY,), (0, 0, 0), rows=2),
    "everything": workload(((0, 2), (1,), (1, 2)), (PAY, AGE), (0, 0, 1)),
}


def matrix_of(strategy):
    """Return what one of each column adds to every sum."""
    matrix = np.zeros((strategy.cells * len(strategy.values), len(strategy.sums)), np.int64)
    for place, (columns, factors) in enumerate(strategy.terms()):
        matrix[list(columns), place] = factors
    return matrix


def rows_of(strategy):
    """Yield what a row can add: any whole number of each value, in one cell."""
    matrix = matrix_of(strategy)
    ranges = [range(value.low, value.high + 1) for value in strategy.values]
    for cell in range(strategy.cells):
        for numbers in itertools.product(*ranges):
            columns = [place * strategy.cells + cell for place in range(len(numbers))]
            yield tuple(np.array(numbers) @ matrix[columns])


@pytest.mark.theorem("linear-strategy")
@pytest.mark.parametrize("name", WORKLOADS)
def test_no_unit_moves_the_whole_vector_further(name):
    """Every unit of up to so many rows, alone and in the place of any other."""
    found = WORKLOADS[name]
    for strategy in found.strategies():
        far = CellSensitivity(low=0, high=found.rows, groups=1, available=1, cells=strategy)
        single = sorted(set(rows_of(strategy)))
        units = {(0,) * len(strategy.sums)}
        for count in range(1, found.rows + 1):
            some = itertools.combinations_with_replacement(single, count)
            units |= {tuple(np.sum(rows, axis=0).tolist()) for rows in some}
        vectors = np.array(sorted(units))
        assert np.abs(vectors).sum(axis=1).max() == far.added
        assert (vectors**2).sum(axis=1).max() == far.added_squared
        moves = np.abs(vectors[:, np.newaxis] - vectors)
        assert moves.sum(axis=2).max() == far.replaced
        assert (moves**2).sum(axis=2).max() == far.replaced_squared


@settings(max_examples=40)
@given(
    cells=st.lists(st.sets(st.integers(0, 4), min_size=1), min_size=1, max_size=9),
    kinds=st.lists(st.integers(0, 2), min_size=5, max_size=5),
    high=st.lists(st.integers(1, 10**6), min_size=3, max_size=3),
)
def test_every_strategy_answers_the_workload(cells, kinds, high):
    used = sorted(set().union(*cells))
    places = {at: index for index, at in enumerate(used)}
    known = sorted({kinds[at] for at in used})
    values = tuple(CellValue(measure=f"v{at}", low=-1, high=high[at]) for at in known)
    inside = tuple(tuple(sorted(places[at] for at in cell)) for cell in cells)
    found = workload(inside, values, tuple(known.index(kinds[at]) for at in used))
    for strategy in found.strategies():
        matrix = matrix_of(strategy)
        for place, (_, weights) in enumerate(strategy.answers):
            column = sum(
                (Fraction(weight) * matrix[:, at].astype(object) for at, weight in weights)
            )
            for kind, cell in itertools.product(range(len(known)), range(strategy.cells)):
                wanted = kind == found.kinds[place] and place in inside[cell]
                assert column[kind * strategy.cells + cell] == wanted


def test_sums_that_no_row_shares_cost_the_largest_and_not_the_sum():
    text = (
        "SELECT " + ONE_ROW + "SUM(CASE WHEN ward = 'A' THEN stay END) AS a, "
        "SUM(stay) FILTER (WHERE ward = 'B') AS b, SUM(CASE WHEN ward = 'C' THEN stay ELSE 0 END) "
        "AS c FROM visits"
    )
    plan = planned(text, epsilon=1)
    alone = planned("SELECT " + ONE_ROW + "SUM(stay) AS a FROM visits", epsilon=1)
    (single,) = {error.half_width for error in alone.predicted}
    assert all(error.half_width <= single * Fraction(1001, 1000) for error in plan.predicted)
    assert "3 sums in 3 cells, each by itself" in plan.details
    assert "moved by 1 times the bounds of a row in L1" in plan.details


def test_sums_of_different_columns_that_no_row_shares_cost_nothing_more_either():
    text = (
        "SELECT " + ONE_ROW + "SUM(CASE WHEN ward = 'A' THEN stay END) AS a, "
        "SUM(cost) FILTER (WHERE ward = 'B') AS b, COUNTIF(ward = 'C') AS c FROM visits"
    )
    errors = [error.half_width for error in planned(text, epsilon=1).predicted]
    alone = [30, 300, 3]  # Lap(10), Lap(100), Lap(1)
    assert all(
        error <= width * Fraction(11, 10) + 1 for error, width in zip(errors, alone, strict=True)
    )


@pytest.mark.parametrize("relation", [Relation.ADD_REMOVE, Relation.REPLACE])
@pytest.mark.parametrize("squared", [False, True])
def test_thresholds_of_sums_are_within_a_tenth_of_the_best_strategy(relation, squared):
    listed = ", ".join(f"SUM(CASE WHEN age <= {at} THEN cost END) AS s{at}" for at in range(8))
    price = {"rho": 1} if squared else {"epsilon": 1}
    plan = planned("SELECT " + ONE_ROW + listed + " FROM visits", **price)
    (noise,) = plan.noises
    far = noise.distances
    found = workload(tuple(tuple(range(at, 8)) for at in range(8)), far.strategy.values, (0,) * 8)
    found = replace(found, rows=far.high)
    errors = [
        predicted_error(each, relation, squared=squared)
        for each in found.candidates(far.groups, far.available)
    ]
    mine = predicted_error((far, far.strategy.spread), relation, squared=squared)
    assert mine <= 1.1 * min(errors)
    assert ("factorization" if squared else "histogram") in plan.details


APART = [
    "SUM(cost) AS a, SUM(stay) AS b",  # all rows are in both
    "COUNT(*) AS n, SUM(cost) AS s, AVG(age) AS m",
    (
        "SUM(cost, contribution_bounds_per_group => (0, 9)) FILTER (WHERE paid) AS a, "
        "SUM(cost) FILTER (WHERE NOT paid) AS b"
    ),
    "SUM(cost, epsilon => 0.5) FILTER (WHERE paid) AS a, SUM(cost) FILTER (WHERE NOT paid) AS b",
]


@pytest.mark.parametrize("text", APART)
def test_what_gains_nothing_or_cannot_be_joined_is_priced_as_before(text):
    plan = planned("SELECT " + text + " FROM visits")
    assert not any(isinstance(each, CellSums) for each in plan.request.measures)


QUESTIONS = [
    (
        "SELECT SUM(CASE WHEN age <= 1 THEN stay END) AS a, SUM(stay) FILTER (WHERE age <= 2) AS b,"
        " SUM(stay) FILTER (WHERE age <= 3) AS c FROM visits"
    ),
    (
        "SELECT ward, SUM(stay) FILTER (WHERE age = 1) AS a, AVG(stay) FILTER (WHERE age = 2) AS b "
        "FROM visits GROUP BY ward"
    ),
]
SMALL = [
    {"patient": 1, "ward": ward, "age": age, "stay": stay}
    for ward, age, stay in [("A", 1, 10), ("A", 2, -99), ("A", 1, -3), ("B", 2, 10), ("B", 1, None)]
]


@pytest.mark.theorem("joint-sums")
@pytest.mark.parametrize("text", QUESTIONS)
@pytest.mark.parametrize("relation", ["add_remove", "replace"])
@pytest.mark.parametrize("price", [{"epsilon": 1}, {"rho": 1}], ids=str)
def test_all_small_neighbors_stay_within_the_claim(text, relation, price):
    """Every table of up to four rows of a person, three of which count."""
    plan = planned(text, unit=person("patient", relation=relation), **price)
    assert plan.noises[0].distances.strategy.source == CellTotals()
    check_small_tables(plan, SMALL, most=4)


def test_the_claim_is_what_one_person_can_move():
    plan = planned(QUESTIONS[0], epsilon=1)
    rows = [{"patient": 1, "ward": "A", "age": 1, "stay": 10}] * 9
    (noise,) = plan.noises
    (moved,) = columns_of(noise, *answers(plan.request, visits_of(rows))).values()
    far, strategy = noise.distances, noise.distances.strategy
    held = [
        sum(factor * moved.get(cell, 0) for cell, factor in zip(*both, strict=True))
        for both in strategy.terms()
    ]
    assert sum(map(abs, held)) == far.added  # with three rows of nine


EXACT = {"epsilon": 10**9, "ceiling": False}
PEOPLE = [
    {
        "patient": who,
        "ward": "ABC"[who % 3],
        "age": who % 9,
        "stay": who % 17 - 5,
        "cost": 1.5 * (who % 80),
        "paid": [True, False, None][who % 3],
    }
    for who in range(90)
]
PLAIN = (
    "SELECT ward, SUM(CASE WHEN age <= 2 THEN stay END) AS low, SUM(stay) FILTER (WHERE age <= 5) "
    "AS middle, AVG(cost) FILTER (WHERE age > 5) AS m, COUNTIF(age > 6) AS n, "
    "SUM(CASE WHEN age <= 2 THEN stay END) - SUM(stay) FILTER (WHERE age <= 5) AS d "
    "FROM visits GROUP BY ward"
)


def raw(plan, rows):
    order = HashOrder(salt=1, portable=True)
    return Reference(visits_of(rows), TYPES).run(plan.request, order=order)


def bounded(value, low, high):
    return min(max(value, low), high)


def test_without_noise_to_speak_of_answers_are_those_of_plain_sql():
    plan = planned(PLAIN, **EXACT)
    assert any(noise.distances.strategy.source == CellTotals() for noise in plan.noises)
    release = answer(plan, raw(plan, PEOPLE))
    found = {row["ward"]: row for row in release.rows()}
    for ward in "ABC":
        rows = [row for row in PEOPLE if row["ward"] == ward]
        low = sum(bounded(row["stay"], -3, 10) for row in rows if row["age"] <= 2)
        middle = sum(bounded(row["stay"], -3, 10) for row in rows if row["age"] <= 5)
        costs = [row["cost"] for row in rows if row["age"] > 5]
        mean = sum(bounded(cost, 0, 100) for cost in costs) / len(costs)
        here = found[ward]
        assert (here["low"], here["middle"], here["d"]) == (low, middle, low - middle)
        assert here["m"] == pytest.approx(mean, abs=1e-5)
        assert here["n"] == sum(row["age"] > 6 for row in rows)
    again = Release.read(release.written(), plan)
    assert again.rows() == release.rows()
    assert again.written() == release.written()


def test_intervals_of_negative_sums_do_not_end_at_zero():
    plan = planned(QUESTIONS[0], **EXACT)
    rows = [{"patient": who, "ward": "A", "age": 1, "stay": -3} for who in range(50)]
    (row,) = answer(plan, raw(plan, rows)).rows()
    assert row["a"] == row["b"] == row["c"] == -150
    assert row["a_low"] <= -150 <= row["a_high"] < 0


WRONG = {
    "fewer rows": lambda far: replace(far, high=1),
    "narrower bounds": lambda far: replace(far, cells=_values(far, low=0)),
    "one more cell": lambda far: replace(far, cells=replace(far.cells, cells=far.cells.cells + 1)),
    "another measure": lambda far: replace(far, cells=_values(far, measure="cells")),
}


def _values(far, **change):
    return replace(far.cells, values=tuple(replace(each, **change) for each in far.cells.values))


@pytest.mark.parametrize("name", WRONG)
@pytest.mark.parametrize("price", [{"epsilon": 1}, {"rho": 1}], ids=str)
def test_a_claim_that_nothing_enforces_is_refused(name, price):
    plan = planned(QUESTIONS[0], **price)
    (noise,) = plan.noises
    assert isinstance(noise.mechanism, Gaussian) == ("rho" in price)
    check_claims(plan.request, Releases(noises=(noise,)))
    wrong = replace(noise, distances=WRONG[name](noise.distances))
    with pytest.raises(OutOfRange):
        check_claims(plan.request, Releases(noises=(wrong,)))


def test_values_by_other_cells_are_refused():
    plan = planned(QUESTIONS[1], epsilon=1)
    (noise,) = (each for each in plan.noises if each.distances.strategy is not None)
    first, *others = plan.request.measures
    assert others
    apart = replace(plan.request, measures=(replace(first, row=others[0].value), *others))
    with pytest.raises(OutOfRange):
        check_claims(apart, Releases(noises=(noise,)))
