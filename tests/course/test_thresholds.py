"""Counts up to every threshold: least squares, its variance, and the nearest rising sequence."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize

from discreet.errors import OutOfRange, WrongKind
from discreet.local.tree_estimates import Consistency, monotone, sizes_of
from discreet.mechanisms import Gaussian, Laplace
from discreet_course.counting import thresholds
from discreet_course.hierarchy import (
    Hierarchy,
    NoisyThresholds,
    largest_spread,
    largest_weight,
    spread_of,
)
from tests.mechanisms.contract import Script, scripted_noise
from tests.noise.laws import stream

SHAPES = [(1, 2), (2, 2), (3, 2), (5, 2), (8, 2), (10, 4), (13, 3), (16, 4), (27, 5), (9, 10)]
ROOTS = [False, True]
by_shape = pytest.mark.parametrize(("cells", "branching"), SHAPES)
by_root = pytest.mark.parametrize("exact_root", ROOTS, ids=["noisy", "exact"])


def incidence(cells, branching):
    """Return which cells each node holds."""
    rows = []
    for level, size in enumerate(sizes_of(cells, branching)):
        width = branching**level
        rows += [[cell // width == at for cell in range(cells)] for at in range(size)]
    return np.array(rows, dtype=float)


def least_squares(cells, branching, exact_root):
    """Return the matrix of the estimates, by brute force."""
    nodes, cumulate = incidence(cells, branching), np.tril(np.ones((cells, cells)))
    if not exact_root:
        return cumulate @ np.linalg.pinv(nodes)
    free = np.vstack([np.eye(cells - 1), -np.ones(cells - 1)]) if cells > 1 else np.zeros((1, 0))
    last = np.zeros(cells)
    last[-1] = 1.0  # cells = free @ u + last * total
    solve = np.linalg.pinv(nodes[:-1] @ free) if cells > 1 else np.zeros((0, 0))
    within = free @ solve  # from noisy counts, less what the total explains
    total = last - within @ (nodes[:-1] @ last)
    return cumulate @ np.column_stack([within, total])


@pytest.mark.theorem("tree-least-squares")
@by_shape
@by_root
def test_two_passes_are_least_squares(cells, branching, exact_root):
    tree = Consistency(cells, branching, exact_root)
    expected = least_squares(cells, branching, exact_root)
    units = np.eye(expected.shape[1], dtype=np.int64)
    found = np.column_stack([tree.thresholds(unit) for unit in units])
    assert found == pytest.approx(expected, abs=1e-9)
    for at in range(cells):
        assert tree.weights(at) == pytest.approx(expected[at], abs=1e-9)


@by_shape
@by_root
def test_the_spread_is_the_sum_of_squared_weights(cells, branching, exact_root):
    tree = Consistency(cells, branching, exact_root)
    noisy = sum(sizes_of(cells, branching)) - exact_root
    for at in range(cells):
        weights = tree.weights(at)[:noisy]
        assert float(spread_of(tree, at)) == pytest.approx((weights**2).sum(), abs=1e-12)
        assert np.abs(weights).max(initial=0.0) <= largest_weight(tree) <= 1.001
    exact = max(spread_of(tree, at) for at in range(cells))
    assert exact <= largest_spread(tree) == pytest.approx(float(exact), rel=2e-9)


def test_published_errors_of_a_binary_hierarchy():
    """Root of levels times spread, largest and typical over all prefixes."""
    for cells, largest, typical in [(8, 2.01, 1.66), (64, 3.07, 2.52), (256, 3.76, 3.10)]:
        tree = Consistency(cells, 2, exact_root=False)
        spreads = [len(sizes_of(cells, 2)) * float(spread_of(tree, at)) for at in range(cells)]
        assert np.sqrt(max(spreads)) == pytest.approx(largest, abs=0.006)
        assert np.sqrt(np.mean(spreads)) == pytest.approx(typical, abs=0.006)


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_without_noise_the_thresholds_are_exact(relation):
    rows = [0, 5, 5, 3, 0, 5, 6, 0, 2, 5]
    counts = np.bincount(rows, minlength=8)
    plan = NoisyThresholds(cells=8, noise=Laplace(scale=3), relation=relation)
    with scripted_noise():
        found = plan.run(counts, entropy=Script([0] * plan.hierarchy.noisy))
    assert found == pytest.approx(thresholds(range(8)).answers(rows))


def test_the_number_of_rows_is_exact_where_it_is_public():
    plan = NoisyThresholds(cells=5, noise=Gaussian(sigma=9), relation="replace")
    assert plan.run([1, 2, 3, 4, 5])[-1] == pytest.approx(15)
    assert plan.spread(threshold=4) == 0
    assert plan.error(confidence=0.99, threshold=4) == 0
    hidden = NoisyThresholds(cells=5, noise=Gaussian(sigma=9), relation="add_remove")
    assert hidden.spread(threshold=4) > Fraction(1, 3)


@pytest.mark.parametrize("noise", [Laplace(scale=4), Gaussian(sigma=6)], ids=["laplace", "gauss"])
@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_errors_hold_and_are_not_much_too_large(noise, relation):
    plan = NoisyThresholds(cells=10, noise=noise, relation=relation, branching=3)
    source, runs, confidence = stream(f"{noise}{relation}"), 3000, 0.9
    off = np.array([plan.run([0] * 10, entropy=source) for _ in range(runs)])
    for at in (0, 4, 7):
        reach = float(plan.error(confidence=confidence, threshold=at))
        beyond = int((np.abs(off[:, at]) > reach).sum())
        expected = (1 - confidence) * runs
        assert beyond <= expected + 5 * np.sqrt(expected)  # a chance of less than 1e-6
        assert int((np.abs(off[:, at]) > 0.8 * reach).sum()) > expected
    every = float(plan.error(confidence=confidence))
    assert (np.abs(off).max(axis=1) > every).mean() <= (1 - confidence) + 5 * np.sqrt(0.09 / runs)


def test_a_hierarchy_refuses_what_it_cannot_price_or_read():
    with pytest.raises(OutOfRange):
        Hierarchy(cells=3, noise=Laplace(scale=1), relation="local")
    with pytest.raises(OutOfRange):
        Hierarchy(cells=3, noise=Laplace(scale=1), relation="replace", branching=1)
    plan = NoisyThresholds(cells=3, noise=Laplace(scale=1), relation="replace")
    with pytest.raises(OutOfRange):
        plan.run([1, 2])
    with pytest.raises(OutOfRange):
        plan.spread(threshold=3)
    with pytest.raises(WrongKind):
        plan.reference_pmf([1, 2, 3])


NUMBERS = st.lists(st.integers(-50, 50), min_size=1, max_size=8)


@pytest.mark.theorem("isotonic-contraction")
@given(NUMBERS)
def test_the_nearest_rising_sequence(values):
    found = monotone(values)
    assert all(b >= a - 1e-9 for a, b in pairwise(found))
    best = optimize.isotonic_regression(values).x
    assert found == pytest.approx(best, abs=1e-6)


@pytest.mark.theorem("isotonic-contraction")
@given(NUMBERS, st.data())
def test_pooling_takes_nothing_further_from_a_rising_truth(values, data):
    same = st.lists(st.integers(-50, 50), min_size=len(values), max_size=len(values))
    truth = sorted(data.draw(same))
    before = np.abs(np.array(values) - truth).max()
    assert np.abs(monotone(values) - truth).max() <= before + 1e-9


def test_pooled_thresholds_do_not_fall():
    plan = NoisyThresholds(cells=4, noise=Laplace(scale=1), relation="replace")
    assert all(b >= a for a, b in pairwise(monotone(plan.run([1, 0, 2, 0]))))
    assert monotone([]).shape == (0,)
    with pytest.raises(WrongKind):
        monotone([[1, 2]])
