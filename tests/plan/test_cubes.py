"""Cubes: the norms of their strategies, the best estimates from them, and what they cost."""

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from discreet.errors import OutOfRange
from discreet.mechanisms import Gaussian, Laplace
from discreet.plan.noise_errors import half_width
from discreet.plan.pricing.cube_strategy import (
    CubeKeys,
    CubeStrategy,
    balanced,
    coarse_value,
    entry_terms,
    least_error,
    subsets,
)
from discreet.plan.pricing.group_sensitivity import Releases
from discreet.plan.pricing.linear_strategy import CellSensitivity, CellValue
from discreet.plan.pricing.release_composition import check_claims
from discreet.query.types import Type
from discreet.requests.raw_totals import RawTotals
from discreet.units import person
from tests.plan.clinic import planned
from tests.plan.test_workload import check_small_tables

ADULT = (100, 100, 100, 99, 85, 42, 16, 15, 9, 7, 6, 5, 2, 2)


def keys_of(sizes, sets):
    return CubeKeys(
        lists=tuple(tuple(range(size)) for size in sizes),
        types=(Type.INTEGER,) * len(sizes),
        sets=tuple(sets),
    )


def up_to(count, most, least=0):
    return [some for some in subsets(range(count)) if least <= len(some) <= most]


# RMSE of an entry at rho = 1/2 (Xiao, He, Zhang and Kifer 2023), and of separate tables
GOLDEN = [
    (ADULT, up_to(14, 1, 1), 3.047, 3.162),
    (ADULT, up_to(14, 2, 2), 6.359, 6.875),
    (ADULT, up_to(14, 3, 3), 10.515, 11.891),
    (ADULT, up_to(14, 3), 10.665, 12.443),
    ((10, 8, 2), up_to(3, 3), 1.544, None),
    ((50, 12, 4), up_to(3, 3), 1.522, None),
    ((100, 20, 5, 2), up_to(4, 4), 1.640, None),
]


@pytest.mark.theorem("residual-basis")
@pytest.mark.parametrize(("sizes", "sets", "error", "apart"), GOLDEN)
def test_the_least_errors_are_those_of_the_paper(sizes, sets, error, apart):
    keys = keys_of(sizes, sets)
    assert round(least_error(keys), 3) == error
    if apart is not None:
        cells = [keys.cells(some) for some in sets]
        split = sum(map(math.sqrt, cells)) / math.sqrt(sum(cells))
        assert abs(split - apart) < 0.0006
    tables, factors = balanced(keys)
    strategy = strategy_of(keys, tables, factors, centered=True)
    reached = math.sqrt(strategy.spread * strategy.lengths[1])
    assert 1 - 1e-9 < reached / least_error(keys) < 1.0005  # whole factors cost next to nothing


def strategy_of(keys, tables, factors, *, centered, low=0, high=1, step=1):
    value = CellValue(measure="n", low=low, high=high)
    return CubeStrategy(
        words="",
        keys=keys,
        value=value,
        tables=tuple(tables),
        factors=tuple(factors),
        centered=centered,
        step=step,
    )


def strategies(keys):
    """Return one of each kind."""
    every = tuple(range(len(keys.lists)))
    yield strategy_of(keys, [every], [1], centered=False)
    yield strategy_of(keys, keys.sets, range(1, len(keys.sets) + 1), centered=False)
    yield strategy_of(keys, *balanced(keys), centered=True)


def read(strategy, totals):
    """Return all sums of the totals of all cells, in the order of their keys."""
    cells = list(itertools.product(*strategy.keys.lists))
    columns = tuple(pa.array(each, pa.int64()) for each in zip(*cells, strict=True))
    totals = np.asarray(totals, np.int64)
    raw = RawTotals(keys=columns, units=totals, totals={"n": totals}, leaves={})
    return strategy.read(raw)


def matrix_of(strategy):
    """Return B, column by column."""
    cells = math.prod(strategy.keys.sizes)
    return np.stack([read(strategy, row) for row in np.eye(cells, dtype=np.int64)], axis=1)


def tables_of(keys, some):
    """Return the matrix that adds up cells to the entries of a table."""
    parts = [
        np.eye(size) if at in some else np.ones((1, size)) for at, size in enumerate(keys.sizes)
    ]
    found = np.eye(1)
    for part in parts:
        found = np.kron(found, part)
    return found


CUBES = [
    keys_of((2, 3), up_to(2, 2)),
    keys_of((3, 1, 2), [(0,), (0, 1), (1, 2)]),
    keys_of((2, 2, 3), [(0, 1), (0, 2), (1, 2)]),
    keys_of((4,), [(), (0,)]),
    keys_of((2, 2, 2), [(0,), (1,), (2,)]),
]


@pytest.mark.theorem("cube-norms")
@pytest.mark.parametrize("keys", CUBES, ids=lambda keys: str(keys.sizes))
@pytest.mark.parametrize(("low", "high"), [(0, 1), (-1, 2), (0, 3)])
@pytest.mark.parametrize("kind", range(3))
def test_no_unit_moves_the_tables_further_than_is_priced(keys, low, high, kind):
    strategy = replace(
        list(strategies(keys))[kind], value=CellValue(measure="n", low=low, high=high)
    )
    columns = matrix_of(strategy).T
    most = max(-low, high)
    assert {most * int(abs(each).sum()) for each in columns} == {strategy.lengths[0]}
    assert {most**2 * int((each**2).sum()) for each in columns} == {strategy.lengths[1]}
    far = CellSensitivity(low=0, high=2, groups=1, available=1, cells=strategy)
    assert far.most_squared == 4 * strategy.lengths[1]  # what is charged for two groups
    moved = [
        value * one - other_value * other
        for one, other in itertools.product(columns, repeat=2)
        for value, other_value in itertools.product((low, high), repeat=2)
    ]
    assert max(int(abs(each).sum()) for each in moved) <= strategy.norms[1]
    assert max(int((each**2).sum()) for each in moved) == strategy.norms[3]


@pytest.mark.theorem("residual-basis")
@pytest.mark.theorem("cube-entry")
@pytest.mark.parametrize("keys", CUBES, ids=lambda keys: str(keys.sizes))
@pytest.mark.parametrize("kind", range(3))
def test_entries_are_the_best_linear_unbiased_estimates(keys, kind):
    strategy = list(strategies(keys))[kind]
    whole = matrix_of(strategy).astype(float)
    inverse = np.linalg.pinv(whole.T @ whole)
    units = np.eye(strategy.size) * 2.0**20  # exact sums of floats, and no rounding of sums
    drawn = [strategy.tabled(row.astype(np.int64)) for row in units]
    for some in keys.sets:
        weights = np.stack([each[some].ravel() for each in drawn], axis=1) / 2.0**20
        wanted = tables_of(keys, some)
        assert np.allclose(weights @ whole, wanted)  # without a bias
        best = np.diag(wanted @ inverse @ wanted.T)
        assert np.allclose((weights**2).sum(axis=1), best)
        assert np.allclose(best, strategy.variance(some))
        listed = [weight for weight, count in strategy.weights(some) for _ in range(count)]
        entry = np.sort(abs(weights[0]))
        padded = np.zeros(entry.size)
        padded[entry.size - len(listed) :] = np.sort(listed)
        assert np.allclose(entry, padded, atol=1e-12)
        far = half_width(entry_terms(strategy, Laplace(scale=50), some), Fraction(19, 20))
        assert float(far) > 50 * math.sqrt(2 * best[0])  # more than one deviation


@pytest.mark.theorem("cube-entry")
def test_one_gaussian_on_a_grid_reaches_a_little_further_than_all():
    keys = keys_of((5, 4), up_to(2, 2))
    strategy = strategy_of(keys, *balanced(keys), centered=True)
    law = Gaussian(sigma=4000)
    for some in keys.sets:
        exact = tuple(
            (Fraction(weight), law)
            for weight, count in strategy.weights(some)
            for _ in range(count)
        )
        one, all_ = (
            float(half_width(terms, Fraction(19, 20)))
            for terms in (entry_terms(strategy, law, some), exact)
        )
        assert all_ * 0.985 < one < all_ * 1.015
        normal = 1.959964 * math.sqrt(strategy.variance(some)) * 4000
        assert normal < one < 1.015 * normal


def test_totals_are_rounded_to_steps_that_one_unit_moves_by_few():
    keys = keys_of((2, 2), up_to(2, 2))
    value, step = coarse_value("n", -(2**20) - 1, 2**30)
    assert (value.high, value.low, step) == (2**12, -5, 2**18)
    strategy = replace(strategy_of(keys, *balanced(keys), centered=True, step=step), value=value)
    exact = np.array([2**40 + 7, -(2**33), 5 * 2**18 + 2**17, 0])
    tables = strategy.tabled(read(strategy, exact))
    assert np.allclose(tables[0, 1].ravel(), [2**40, -(2**33), 6 * 2**18, 0], atol=1)
    moved = read(strategy, exact + np.array([2**30, 0, 0, 0])) - read(strategy, exact)
    assert (moved.astype(object) ** 2).sum() <= strategy.lengths[1]


# --- through the planner ------------------------------------------------------------------------

QUESTION = (
    "SELECT ward, sex, COUNT(*) AS n, SUM(cost) AS s, AVG(stay) AS m, "
    "SUM(stay, contribution_bounds_per_group => (-1, 100001)) AS wide FROM visits GROUP BY {}"
)
SETS = [
    "CUBE(ward, sex)",
    "ROLLUP(ward, sex)",
    "GROUPING SETS ((ward), (sex))",
]
SMALL = [
    {"patient": 1, "ward": ward, "sex": sex, "cost": cost, "stay": stay, "age": 1}
    for ward, sex, cost, stay in [
        ("A", "f", 100.0, 10),
        ("B", "m", 0.0, -3),
        ("A", "m", 100.0, 2),
        ("D", "f", 7.0, 10),
        (None, "f", 50.0, None),
    ]
]


@pytest.mark.theorem("cube-norms")
@pytest.mark.parametrize("sets", SETS)
@pytest.mark.parametrize("relation", ["add_remove", "replace"])
@pytest.mark.parametrize("price", [{"epsilon": 1}, {"rho": 1}], ids=str)
def test_all_small_neighbors_stay_within_the_claim(sets, relation, price):
    """Every table of up to three rows of a person, alone or in the place of any other."""
    unit = person("patient", relation=relation)
    plan = planned(QUESTION.format(sets), unit=unit, **price)
    assert plan.request.listed is None
    check_small_tables(plan, SMALL, most=3)


def test_a_claim_that_the_request_does_not_keep_is_refused():
    plan = planned(QUESTION.format("CUBE(ward, sex)"), rho=1)
    check_claims(plan.request, Releases(noises=plan.noises))
    for noise in plan.noises:
        far = noise.distances
        value = far.cells.value
        less = replace(value, high=value.high - 1)
        units = replace(value, measure="nothing")
        for claim in [
            replace(far, high=1),
            replace(far, cells=replace(far.cells, value=less)),
            replace(far, cells=replace(far.cells, value=units)),
        ]:
            with pytest.raises(OutOfRange, match="priced for less"):
                check_claims(plan.request, Releases(noises=(replace(noise, distances=claim),)))


@pytest.mark.parametrize(
    ("sets", "price", "words"),
    [
        ("CUBE(ward, sex)", {"rho": 1}, "residuals"),
        ("ROLLUP(ward, sex)", {"epsilon": 1}, "the finest table"),
        ("GROUPING SETS ((ward), (stay))", {"epsilon": 1}, "each table by itself"),
    ],
)
def test_the_strategy_that_errs_least_is_taken(sets, price, words):
    text = f"SELECT COUNT(*) AS n, AVG(cost) AS m FROM visits GROUP BY {sets}"  # noqa: S608
    plan = planned(text, unit=person("patient"), **price)
    assert [words in noise.distances.cells.words for noise in plan.noises] == [True, True]
