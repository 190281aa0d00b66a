"""Both solvers against a convex solver, against each other, and on graphs of every shape."""

import itertools
import tracemalloc
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import OutOfRange, TooLarge, WrongKind
from discreet.synthetic.inference.dense import Dense
from discreet.synthetic.inference.descent import Effort
from discreet.synthetic.inference.inference import ImpossibleCells, Measurement, pooled
from discreet.synthetic.inference.junction_tree import JunctionTree, declared_bytes
from tests.synthetic.inference.tables import (
    domain_of,
    latent_counts,
    least_objective,
    marginal_of,
    measured,
    objective,
)

LONG = Effort(steps=4000, tolerance=1e-9)
GRAPHS = {
    "one column": [(0,)],
    "chain": [(0, 1), (1, 2), (2, 3)],
    "cycle": [(0, 1), (1, 2), (2, 3), (0, 3)],
    "star": [(0, 1), (0, 2), (0, 3)],
    "clique": list(itertools.combinations(range(4), 2)),
    "triples": [(0, 1, 2), (1, 2, 3), (0,), (3,)],
    "everything": [(0, 1, 2, 3)],
    "two parts": [(0, 1), (2, 3)],
}


@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize("sizes", [(2, 2, 2, 2), (3, 2, 2, 4)])
def test_both_solvers_reach_the_optimum_of_a_convex_solver(graph, sizes):
    domain = domain_of(*sizes)
    measurements = measured(domain, GRAPHS[graph], seed=len(graph))
    dense = Dense(effort=LONG).fit(domain, measurements)
    tree = JunctionTree(effort=LONG).fit(domain, measurements)
    best = least_objective(domain, measurements, dense.total)
    assert objective(dense, measurements) == pytest.approx(best, rel=2e-3, abs=1e-3)
    for size in (1, 2, 3, 4):
        for marginal in itertools.combinations(range(4), size):
            one, other = dense.marginal(marginal), tree.marginal(marginal)
            assert one.shape == domain.shape(marginal)
            np.testing.assert_allclose(one, other, atol=1e-6 * dense.total)


MARGINALS = st.lists(
    st.sets(st.integers(0, 4), min_size=1, max_size=3).map(lambda columns: tuple(sorted(columns))),
    min_size=1,
    max_size=7,
)


@settings(max_examples=40, deadline=None)
@given(MARGINALS, st.tuples(*[st.integers(1, 3)] * 5), st.integers(0, 10**6))
def test_a_junction_tree_equals_the_dense_vector_on_random_marginals(marginals, sizes, seed):
    domain = domain_of(*sizes)
    measurements = measured(domain, marginals, seed=seed)
    effort = Effort(steps=60, tolerance=0.0)
    dense = Dense(effort=effort).fit(domain, measurements)
    tree = JunctionTree(effort=effort).fit(domain, measurements)
    assert tree.total == pytest.approx(dense.total)
    for marginal in [*marginals, (0, 2, 4), (1, 3), (0, 1, 2, 3, 4)]:
        wanted = dense.marginal(marginal)
        assert wanted.min() >= 0
        assert wanted.sum() == pytest.approx(dense.total)
        np.testing.assert_allclose(tree.marginal(marginal), wanted, atol=1e-4 * dense.total)


@pytest.mark.parametrize("fit", [Dense(effort=LONG), JunctionTree(effort=LONG)])
def test_impossible_cells_get_no_mass_and_the_rest_is_optimal(fit):
    domain = domain_of(3, 2, 4)
    measurements = measured(domain, [(0, 1), (1, 2), (0, 2)], seed=5)
    zeros = [ImpossibleCells((0, 2), np.array([0, 7])), ImpossibleCells((1,), np.array([], int))]
    model = fit.fit(domain, measurements, zeros=zeros)
    assert model.marginal((0, 2)).ravel()[[0, 7]].tolist() == [0.0, 0.0]
    allowed = np.ones((3, 2, 4), bool)
    allowed[0, :, 0] = allowed[1, :, 3] = False
    best = least_objective(domain, measurements, model.total, allowed.ravel())
    assert objective(model, measurements) == pytest.approx(best, rel=2e-3, abs=1e-3)


@pytest.mark.parametrize("fit", [Dense(), JunctionTree()])
def test_no_possible_row_is_refused(fit):
    zeros = [ImpossibleCells((0,), np.array([0, 1]))]
    with pytest.raises(OutOfRange, match="no row possible"):
        fit.fit(domain_of(2, 2), [], zeros=zeros)


@pytest.mark.parametrize("fit", [Dense(), JunctionTree()])
def test_without_measurements_all_rows_are_alike(fit):
    model = fit.fit(domain_of(2, 3), [])
    np.testing.assert_allclose(model.marginal((0, 1)), np.full((2, 3), 1 / 6))


@pytest.mark.parametrize("fit", [Dense, JunctionTree])
def test_a_warm_start_continues_where_the_earlier_fit_ended(fit):
    domain = domain_of(2, 3, 2, 3)
    before = measured(domain, [(0, 1), (1, 2)], seed=9)
    after = [*before, *measured(domain, [(2, 3)], seed=9)]
    warm = fit(effort=LONG).fit(domain, before)
    best = objective(warm, before)
    one = Effort(steps=1, tolerance=0.0)
    again = fit(effort=one).fit(domain, before, start=warm)
    assert objective(again, before) == pytest.approx(best, rel=1e-9)
    assert objective(fit(effort=one).fit(domain, before), before) > 2 * best
    started = objective(fit(effort=one).fit(domain, after, start=warm), after)
    assert started < objective(fit(effort=one).fit(domain, after), after)
    with pytest.raises(OutOfRange, match="another domain"):
        fit().fit(domain_of(2, 2), [], start=warm)


def test_repeated_marginals_count_as_their_weighted_average():
    domain = domain_of(2, 2)
    twice = [
        Measurement((0,), np.array([10, 40]), Fraction(1)),
        Measurement((0,), np.array([20, 30]), Fraction(1, 3)),
    ]
    targets = pooled(domain, twice)
    assert targets.marginals == ((0,),)
    assert targets.values.tolist() == pytest.approx([17.5, 32.5])
    assert targets.precisions.tolist() == pytest.approx([4.0, 4.0])


def test_the_total_is_the_minimum_variance_combination():
    domain = domain_of(2, 4)
    said = [
        Measurement((0,), np.array([50, 50]), Fraction(1)),  # 100, with variance 2
        Measurement((1,), np.array([40, 40, 40, 80]), Fraction(1)),  # 200, with variance 4
        Measurement((), np.array([160]), Fraction(4)),  # 160, with variance 4
    ]
    weights = [1 / 2, 1 / 4, 1 / 4]
    expected = (100 * weights[0] + 200 * weights[1] + 160 * weights[2]) / sum(weights)
    assert Dense().fit(domain, said).total == pytest.approx(expected)
    assert JunctionTree().fit(domain, said).total == pytest.approx(expected)
    none = [Measurement((0,), np.array([-50, -50]), Fraction(1))]
    assert Dense().fit(domain, none).total == 1.0


def test_an_exact_table_is_found_again():
    domain = domain_of(3, 3, 3)
    cells = latent_counts(domain, seed=2)
    pairs = [
        Measurement(pair, marginal_of(cells, pair).ravel().astype(np.int64), Fraction(1, 100))
        for pair in itertools.combinations(range(3), 2)
    ]
    model = Dense(effort=LONG).fit(domain, pairs)
    for pair in itertools.combinations(range(3), 2):
        np.testing.assert_allclose(model.marginal(pair), marginal_of(cells, pair), atol=2)


def test_the_same_measurements_give_the_same_model_bit_by_bit():
    domain = domain_of(2, 3, 2)
    measurements = measured(domain, [(0, 1), (1, 2), (0, 2)], seed=4)
    for fit in (Dense(), JunctionTree()):
        one, other = (fit.fit(domain, list(order)) for order in (measurements, measurements[::-1]))
        assert one.marginal((0, 1, 2)).tobytes() == other.marginal((0, 1, 2)).tobytes()


def test_sizes_are_refused_before_memory_is_taken():
    with pytest.raises(TooLarge, match="cells"):
        Dense().fit(domain_of(*[2] * 23), [])
    wide = domain_of(*[4] * 12)
    whole = [Measurement((0, 1), np.zeros(16, np.int64), Fraction(1))]
    with pytest.raises(TooLarge, match="bytes"):
        JunctionTree(most_bytes=100).fit(wide, whole)
    assert declared_bytes(wide, [tuple(range(12))]) == (48 + 96) * 4**12


@pytest.mark.parametrize(
    ("marginal", "values", "error"),
    [
        ((1, 0), [1, 2, 3, 4], WrongKind),
        ((0,), [1, 2, 3], OutOfRange),
        ((7,), [1, 2], OutOfRange),
    ],
)
def test_measurements_that_fit_no_cells_are_refused(marginal, values, error):
    with pytest.raises(error):
        Dense().fit(domain_of(2, 2), [Measurement(marginal, np.array(values), Fraction(1))])


def test_a_dense_fit_takes_less_than_eight_numbers_for_each_cell():
    domain = domain_of(*[4] * 9)
    triples = [(0, 1, 2), (0, 4, 8), (2, 3, 7), (6, 7, 8)]
    measurements = [Measurement(m, np.full(64, 100), Fraction(9)) for m in triples]
    zeros = [ImpossibleCells((1, 5), np.array([3]))]
    tracemalloc.start()
    try:
        Dense(effort=Effort(steps=3)).fit(domain, measurements, zeros=zeros)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak <= 8 * 8 * domain.cells


@pytest.mark.parametrize("graph", ["cycle", "triples", "clique"])
def test_a_junction_tree_takes_no_more_than_it_declares(graph):
    domain = domain_of(30, 30, 30, 30)
    marginals = GRAPHS[graph]
    measurements = [Measurement(m, np.full(domain.size(m), 100), Fraction(9)) for m in marginals]
    tracemalloc.start()
    try:
        JunctionTree(effort=Effort(steps=2)).fit(domain, measurements)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak <= declared_bytes(domain, marginals) + (1 << 20)
