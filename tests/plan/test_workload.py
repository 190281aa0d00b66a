"""Several counts of one question are one workload: its cells, its sensitivity, its strategies."""

import itertools
import math
import sys
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import UnsupportedSQL
from discreet.mechanisms import Gaussian, Laplace
from discreet.plan.binding.bound_question import MOST_AGGREGATES
from discreet.plan.binding.value_facts import Facts
from discreet.plan.noise_errors import half_width
from discreet.plan.pricing.linear_strategy import CellSensitivity, CellStrategy
from discreet.plan.workload.cells import cells_of
from discreet.plan.workload.strategies import Workload, predicted_error
from discreet.query.expressions import Call, Case, Column, Literal
from discreet.query.types import Type
from discreet.units import Relation, person
from tests.plan.clinic import answers, planned, without
from tests.plan.test_neighbors import check
from tests.reference.expressions import compiled

TYPES = {"x": Type.INTEGER, "y": Type.FLOAT, "t": Type.TEXT, "p": Type.BOOLEAN}
FACTS = {name: Facts(type=kind) for name, kind in TYPES.items()}
VALUES = {
    "x": [None, -1, 0, 1, 2, 3],
    "y": [None, 0.0, 0.1, 0.25, 1e300],
    "t": [None, "", "a", "b", "c"],
    "p": [None, True, False],
}
ROWS = [dict(zip(VALUES, row, strict=True)) for row in itertools.product(*VALUES.values())]
X, Y, T, P = map(Column, TYPES)
SIGNS = st.sampled_from(["=", "<>", "<", "<=", ">", ">="])
NUMBERS = st.sampled_from([Literal(each) for each in (0, 1, 2, Fraction(1, 10), None)])
TEXTS = st.sampled_from([Literal("a"), Literal("b")])
ATOMS = (
    st.builds(lambda s, v: Call(s, (X, v)), SIGNS, NUMBERS)
    | st.builds(lambda s, v: Call(s, (v, Y)), SIGNS, NUMBERS)
    | st.builds(lambda s, v: Call(s, (T, v)), SIGNS, TEXTS)
    | st.builds(lambda v: Call("IN", (T, *v)), st.lists(TEXTS, min_size=1, max_size=2))
    | st.sampled_from([P, Call("=", (P, Literal(True))), Call("IS NULL", (X,)), Call("<", (X, Y))])
    | st.sampled_from([Literal(True), Literal(False), Literal(None)])
)


def _inner(below):
    several = st.lists(below, min_size=2, max_size=3).map(tuple)
    case = st.builds(
        lambda one, other: Call("IS NULL", (Case(((one, Literal(1)), (other, X))),)), below, below
    )
    word = st.sampled_from(["NOT", "IS TRUE", "IS FALSE", "IS NULL"])
    return (
        st.builds(Call, st.sampled_from(["AND", "OR"]), several)
        | st.builds(lambda name, one: Call(name, (one,)), word, below)
        | case
    )


CONDITIONS = st.recursive(ATOMS, _inner, max_leaves=4)


def true_sets(conditions):
    """Return which conditions each row makes true."""
    rules = [None if each is None else compiled(each, TYPES) for each in conditions]
    return [
        tuple(at for at, rule in enumerate(rules) if rule is None or rule(row) is True)
        for row in ROWS
    ]


DECLARED = {
    "x": Facts(type=Type.INTEGER, categories=(0, 1), nullable=False),
    "y": Facts(type=Type.FLOAT, nullable=False),
    "t": Facts(type=Type.TEXT, categories=("a", "b")),
    "p": Facts(type=Type.BOOLEAN, nullable=False),
}


def as_declared(row, facts):
    return all(
        facts[name].nullable if value is None else value in (facts[name].categories or [value])
        for name, value in row.items()
    )


@pytest.mark.theorem("count-cells")
@settings(max_examples=60)
@given(
    conditions=st.lists(CONDITIONS | st.none(), min_size=2, max_size=4),
    facts=st.sampled_from([FACTS, DECLARED]),
)
def test_the_cell_of_a_row_holds_the_conditions_that_it_makes_true(conditions, facts):
    cells, wanted = cells_of(conditions, facts), true_sets(conditions)
    if cells is None:
        return
    number = compiled(cells.number, TYPES)
    for row, true in zip(ROWS, wanted, strict=True):
        cell = number(row)
        if as_declared(row, facts):
            assert (() if cell is None else cells.conditions[cell]) == true
        else:  # counted once or nowhere
            assert cell is None or 0 <= cell < len(cells)


def test_declared_values_leave_out_cells():
    bits = [Column(name) for name in "abcde"]
    pairs = [
        Call("AND", (Call("=", (one, Literal(i))), Call("=", (other, Literal(j)))))
        for one, other in itertools.combinations(bits, 2)
        for i, j in itertools.product((0, 1), repeat=2)
    ]
    bit = Facts(type=Type.INTEGER, categories=(0, 1), nullable=False)
    known, unknown = (dict.fromkeys("abcde", each) for each in (bit, Facts(type=Type.INTEGER)))
    assert (len(pairs), len(cells_of(pairs, known)), len(cells_of(pairs, unknown))) == (40, 32, 232)
    either = [P, Call("NOT", (P,))]
    assert len(cells_of(either, DECLARED)) == 2


def test_few_cells_for_what_never_holds_together():
    colors = [Call("=", (T, Literal(name))) for name in "abcdef"]
    assert {len(cell) for cell in cells_of(colors, FACTS).conditions} == {1}
    steps = [Call("<=", (X, Literal(at))) for at in range(100)]
    assert len(cells_of(steps, FACTS)) == 100
    odd = [Call("LIKE", (T, Literal(f"%{at}"))) for at in range(13)]
    assert cells_of(odd, FACTS) is None  # 2**13 cells


STRATEGIES = [
    ([(0,), (1,)], ()),
    ([(0,), (0, 1)], ()),
    ([(0, 1), (1, 2), (2,)], ()),
    ([(0,), (1,), (2,), (0, 1, 2)], ()),
    ([(0, 1, 2), (1, 2), (2,)], ()),
    ([(0,), (0, 1), (0, 1, 2)], ((4,), (2, 4), (1, 2, 4))),
    ([(0, 1), (1, 2)], ((1, -3), (2, 2))),
]


@pytest.mark.theorem("linear-strategy")
@pytest.mark.parametrize("rows", [1, 2])
@pytest.mark.parametrize(("groups", "available"), [(1, 1), (1, 2), (2, 2), (1, 3)])
@pytest.mark.parametrize(("sums", "factors"), STRATEGIES, ids=str)
def test_no_unit_moves_sums_of_cells_further(sums, factors, groups, available, rows):
    size = 1 + max(cell for cells in sums for cell in cells)
    strategy = CellStrategy(words="", cells=size, sums=tuple(sums), factors=factors, answers=())
    matrix = [dict(zip(*both, strict=True)) for both in strategy.terms()]
    far = CellSensitivity(low=0, high=rows, groups=groups, available=available, cells=strategy)
    inside = [
        tuple(sum(row.get(cell, 0) for cell in held) for row in matrix)
        for count in range(rows + 1)
        for held in itertools.combinations_with_replacement(range(size), count)
    ]
    nothing = (0,) * len(sums)
    units = {
        sum(places, ())
        for places in itertools.product(set(inside), repeat=available)
        if sum(place != nothing for place in places) <= groups
    }
    assert max(sum(map(abs, unit)) for unit in units) == far.added
    assert max(sum(x * x for x in unit) for unit in units) == far.added_squared
    vectors = np.array(sorted(units))
    moves = np.abs(vectors[:, np.newaxis] - vectors[np.newaxis])
    assert moves.sum(axis=2).max() == far.replaced
    assert (moves**2).sum(axis=2).max() == far.replaced_squared
    assert (moves > 0).sum(axis=2).max() <= far.places(Relation.REPLACE)
    assert (vectors != 0).sum(axis=1).max() <= far.places(Relation.ADD_REMOVE)


@st.composite
def workloads(draw):
    counts = draw(st.integers(1, 6))
    some = st.sets(st.integers(0, counts - 1), min_size=1).map(lambda s: tuple(sorted(s)))
    cells = draw(st.lists(some, min_size=1, max_size=20))
    used = sorted({count for cell in cells for count in cell})
    at = {count: place for place, count in enumerate(used)}
    cells = tuple(tuple(at[count] for count in cell) for cell in cells)
    names = tuple(f"n{i}" for i in range(len(used)))
    return Workload(measure="cells", names=names, cells=cells, rows=1)


@settings(max_examples=40)
@given(workload=workloads())
def test_every_strategy_answers_the_workload(workload):
    for strategy in workload.strategies():
        used = set()
        for place, (_, weights) in enumerate(strategy.answers):
            found = [Fraction(0)] * strategy.cells
            for at, weight in weights:
                for cell, factor in zip(*list(strategy.terms())[at], strict=True):
                    found[cell] += weight * factor
                used.add(at)
            assert found == [int(place in cell) for cell in workload.cells]
        assert used == set(range(len(strategy.sums)))


def thresholds(number, **price):
    listed = ", ".join(f"COUNTIF(age <= {at}) AS n{at}" for at in range(number))
    clause = "WITH DIFFERENTIAL_PRIVACY OPTIONS(max_rows_per_group = 1) "
    text = "SELECT " + clause + listed + " FROM visits"  # noqa: S608 (numbers alone)
    return planned(text, **(price or {"epsilon": 1}))


def test_disjoint_counts_have_the_noise_of_groups():
    plan = planned(
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(max_rows_per_group = 1) "
        "COUNT(CASE WHEN city = 'x' THEN 1 END) AS x, COUNT(*) FILTER (WHERE city = 'y') AS y, "
        "COUNTIF(city = 'z') AS z FROM visits",
        epsilon=1,
    )
    (noise,) = plan.noises
    assert noise.mechanism == Laplace(scale=1)
    assert [error.half_width for error in plan.predicted] == [3, 3, 3]
    assert (
        "3 counts in 3 cells, each by itself (which errs least), moved by 1 in L1" in plan.details
    )


@pytest.mark.parametrize("relation", [Relation.ADD_REMOVE, Relation.REPLACE])
@pytest.mark.parametrize("squared", [False, True])
def test_thresholds_are_within_a_tenth_of_the_best_strategy(relation, squared):
    price = {"rho": 1} if squared else {"epsilon": 1}
    plan = thresholds(8, **price)
    (noise,) = plan.noises
    far = noise.distances
    workload = Workload(
        measure="cells",
        names=far.strategy.names,
        cells=tuple(tuple(range(at, 8)) for at in range(8)),
        rows=far.high,
    )
    errors = [
        predicted_error(each, relation, squared=squared)
        for each in workload.candidates(far.groups, far.available)
    ]
    mine = predicted_error((far, far.strategy.spread), relation, squared=squared)
    assert mine <= 1.1 * min(errors)
    assert max(error.half_width for error in plan.predicted) <= (8 if not squared else 6)
    assert ("factorization" if squared else "histogram") in plan.details


def test_many_thresholds_are_ten_times_more_exact():
    plan = thresholds(100)
    assert isinstance(plan.noises[0].mechanism, Laplace)
    assert "hierarchy" in plan.details
    alone = Laplace(scale=100).error(confidence=plan.confidence)
    assert max(error.half_width for error in plan.predicted) * 10 <= alone


APART = [
    "COUNT(*) AS n, AVG(cost, contribution_bounds_per_group => (0, 9)) AS s",  # other counts
    "COUNT(*, epsilon => 0.5) AS n, COUNTIF(paid) AS p",
    "COUNTIF(paid) AS p, COUNTIF(FALSE) AS nobody",
    "COUNTIF(paid, contribution_bounds_per_group => (0, 2)) AS p, COUNTIF(NOT paid) AS q",
]


@pytest.mark.parametrize("text", APART)
def test_what_cannot_be_joined_is_priced_as_before(text):
    plan = planned("SELECT " + text + " FROM visits")  # noqa: S608 (written above)
    assert "cells" not in {each.measure for each in plan.noises}


def test_errors_that_are_asked_for_are_joined_where_no_row_is_in_two_counts():
    both = "SELECT COUNTIF(paid) AS p, COUNTIF(NOT paid) AS q, COUNT(*) AS n FROM visits"
    assert len(planned(both, error={"p": 9, "n": 20}).noises) == 3
    plan = planned(both.replace(", COUNT(*) AS n", ""), error={"p": 9, "q": 20})
    assert (
        plan.price.epsilon
        == planned("SELECT COUNTIF(paid) AS p FROM visits", error={"p": 9}).price.epsilon
    )


def test_people_in_several_cells_are_not_joined():
    people = planned(
        "SELECT COUNT(DISTINCT patient) FILTER (WHERE ward = 'A') AS a, "
        "COUNT(DISTINCT patient) FILTER (WHERE ward = 'B') AS b FROM visits"
    )
    assert len(people.noises) == 2  # somebody may be in both


QUESTIONS = [
    "SELECT COUNTIF(age <= 1) AS a, COUNTIF(age <= 2) AS b, COUNTIF(age <= 3) AS c FROM visits",
    "SELECT ward, COUNTIF(age = 1) AS a, COUNTIF(age = 2) AS b FROM visits GROUP BY ward",
]
SMALL = [
    {"patient": 1, "ward": ward, "age": age}
    for ward, age in itertools.product(["A", "B"], [None, 1, 2])
]


def visits_of(rows):
    blank = dict.fromkeys(
        ["visit", "city", "day", "cost", "stay", "note", "paid", "sex", "height", "born"]
    )
    visits = [{**blank, "visit": at, **row} for at, row in enumerate(rows)]
    return {"visits": visits, "drugs": [], "bills": [], "wards": []}


def check_small_tables(plan, possible, *, most):
    """Compare all tables of up to so many rows of a person, with none or in the place of others."""
    found = [
        answers(plan.request, visits_of(rows))
        for count in range(most + 1)
        for rows in itertools.combinations_with_replacement(possible, count)
    ]
    replaced = plan.unit.relation.replaces
    pairs = (
        itertools.combinations(found[::3], 2) if replaced else ((each, found[0]) for each in found)
    )
    for here, there in pairs:
        check(plan, here, there, replaced=replaced)


@pytest.mark.theorem("linear-strategy")
@pytest.mark.parametrize("text", QUESTIONS)
@pytest.mark.parametrize("relation", ["add_remove", "replace"])
@pytest.mark.parametrize("price", [{"epsilon": 1}, {"rho": 1}], ids=str)
def test_all_small_neighbors_stay_within_the_claim(text, relation, price):
    """Every table of up to four rows of a person, alone or in the place of any other."""
    plan = planned(text, unit=person("patient", relation=relation), **price)
    assert plan.noises[0].distances.strategy is not None
    check_small_tables(plan, SMALL, most=4)


def test_a_unit_counts_with_its_limit_of_rows_in_all_cells_together():
    plan = planned(QUESTIONS[1], epsilon=1)  # three rows of a person
    rows = [{"patient": 1, "ward": "A", "age": 1 + at % 2} for at in range(8)]
    _, leaves = answers(plan.request, visits_of(rows))
    assert sum(leaves["cells"][("A",)].values()) == 3
    assert answers(plan.request, without(visits_of(rows), 1))[1] == {"cells": {}}


@pytest.mark.parametrize("noise", [Laplace(scale=3), Gaussian(sigma=3)], ids=str)
@pytest.mark.parametrize("weights", [(1, 1, 1), (1, 1, -1, 1, 1), (1, 2, 2), (3, 1, 1, 1)])
def test_sums_of_equal_noises_are_covered_and_not_much_more(noise, weights):
    missed = Fraction(1, 20)
    found = half_width(tuple((Fraction(weight), noise) for weight in weights), 1 - missed)
    most = 400
    law = np.array([float(noise.law.pmf(at)) for at in range(-most, most + 1)])
    total = np.ones(1)
    for weight in weights:
        spread = np.zeros(2 * most * abs(weight) + 1)
        spread[:: abs(weight)] = law
        total = np.convolve(total, spread)
    center = total.size // 2
    reach = math.floor(found)
    assert total[center - reach : center + reach + 1].sum() >= 1 - missed
    less = math.floor(found * Fraction(9, 10)) - 1
    assert total[center - less : center + less + 1].sum() < 1 - missed


def _calls(question):
    """Count the calls that planning makes: the work of it, whatever the machine."""
    made = itertools.count()
    sys.setprofile(lambda *event: next(made) if event[1] == "call" else None)
    try:
        planned(question, epsilon=1)
    finally:
        sys.setprofile(None)
    return next(made)


@pytest.mark.parametrize("form", ["SUM(age + {0}) AS n{0}", "COUNTIF(age <= {0}) AS n{0}"])
def test_planning_is_linear_in_the_number_of_aggregates(form):
    first, *others = (
        _calls("SELECT " + ", ".join(map(form.format, range(number))) + " FROM visits")  # noqa: S608
        for number in (27, 107, 207)  # what no other test has planned
    )
    assert (others[1] - others[0]) < 2 * (others[0] - first)  # 1.25 if linear, 2.9 if quadratic


def test_more_aggregates_than_can_be_planned_are_refused():
    listed = ", ".join(f"SUM(age + {at}) AS n{at}" for at in range(MOST_AGGREGATES + 1))
    with pytest.raises(UnsupportedSQL, match="2049 different aggregates, and 2048 are the most"):
        planned("SELECT " + listed + " FROM visits")  # noqa: S608 (numbers alone)
