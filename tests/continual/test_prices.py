"""Prices of counters: what one position can move, tried on all small streams."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.accounting import Leaf, Parallel, Where, account
from discreet.continual import BinaryTreeCounter, FactorizedCounter
from discreet.continual.sum_tails import depth
from discreet.errors import OutOfRange
from discreet.loss import GaussianDP
from discreet.mechanisms import Gaussian, Laplace
from discreet_course.counters import NoisyBits, NoisyPrefixes
from discreet_course.hierarchy import Hierarchy
from discreet_course.refined_tree import RefinedTreeCounter

COUNTERS = [NoisyPrefixes, NoisyBits, BinaryTreeCounter, RefinedTreeCounter]
by_kind = pytest.mark.parametrize("kind", COUNTERS, ids=lambda kind: kind.__name__)


def neighbors(length, bound, changes=1):
    """Yield all pairs of streams that differ at so many positions."""
    streams = list(itertools.product(range(bound + 1), repeat=length))
    for x, y in itertools.combinations(streams, 2):
        if sum(a != b for a, b in zip(x, y, strict=True)) == changes:
            yield x, y


def measured(counter, x):
    """Return the exact sums that noise is added to."""
    if not isinstance(counter, RefinedTreeCounter):
        return counter._measured(x)
    sizes = [1 << h for h in range(counter.depth)]
    return [sum(x[t - s : t]) for s in sizes for t in range(s, counter.length + 1, s)]


def moves(counter, bound, changes=1):
    for x, y in neighbors(counter.length, bound, changes):
        pairs = zip(measured(counter, x), measured(counter, y), strict=True)
        yield [a - b for a, b in pairs]


@by_kind
@pytest.mark.parametrize(("length", "bound"), [(1, 1), (2, 3), (3, 2), (4, 1), (5, 1), (6, 1)])
def test_the_pure_price_is_the_largest_move_of_all_neighbors(kind, length, bound):
    counter = kind(length=length, noise=Laplace(scale=3), bound=bound)
    largest = max(sum(map(abs, move)) for move in moves(counter, bound))
    assert counter.loss().epsilon(delta=0) == pytest.approx(largest / 3, rel=1e-12)


@by_kind
def test_the_price_of_two_changes_covers_all_of_them(kind):
    counter = kind(length=5, noise=Laplace(scale=3))
    largest = max(sum(map(abs, move)) for move in moves(counter, 1, changes=2))
    assert counter.loss(distance=2).epsilon(delta=0) >= largest / 3


def test_the_course_prices():
    noise, epsilon = Laplace(scale=10), Fraction(1, 10)
    for n in (8, 100):
        first, second = (kind(length=n, noise=noise) for kind in (NoisyPrefixes, NoisyBits))
        assert first.loss().epsilon(delta=0) == pytest.approx(float(n * epsilon))
        assert second.loss().epsilon(delta=0) == pytest.approx(float(epsilon))
    as_written = NoisyBits(length=8, noise=Laplace(scale=epsilon))  # Lap(eps), not Lap(1/eps)
    assert as_written.loss().epsilon(delta=0) == pytest.approx(10)


@pytest.mark.parametrize("length", [1, 2, 3, 4, 5, 7, 8, 9, 31, 32, 33])
def test_the_tree_of_a_binary_tree_counts_blocks(length):
    for kind in (BinaryTreeCounter, RefinedTreeCounter):
        counter = kind(length=length, noise=Laplace(scale=1))
        assert counter.loss().epsilon(delta=0) == pytest.approx(depth(length))
        assert depth(length) == math.floor(math.log2(length)) + 1


@by_kind
@pytest.mark.parametrize("noise", [Laplace(scale=5), Gaussian(sigma=4)], ids=["laplace", "gauss"])
def test_the_whole_curve_is_that_of_so_many_answers(kind, noise):
    counter = kind(length=6, noise=noise, bound=2)
    answers = {NoisyPrefixes: 6, NoisyBits: 1}.get(kind, 3)
    expected = noise.loss(distance=2).power(answers)
    for epsilon in (0, 0.3, 1, 2):
        found = counter.loss().delta_interval(epsilon=epsilon)
        assert found.low <= expected.delta(epsilon=epsilon) + 1e-9
        assert found.high >= expected.delta_interval(epsilon=epsilon).low
        assert found.high <= expected.delta(epsilon=epsilon) + 1e-6


@by_kind
def test_a_value_of_a_stream_may_also_be_replaced(kind):
    counter = kind(length=4, noise=Laplace(scale=3), bound=2)
    leaves = [node for node in counter.tree().walk() if isinstance(node, Leaf)]
    for leaf in leaves:  # a change from 1 to 2, or from 0 to 2, costs no more than 2 and nothing
        assert leaf.price(1, 1).epsilon(delta=0) == leaf.price(1, 0).epsilon(delta=0)


def test_rows_that_change_their_place_cost_both_places():
    tree = NoisyBits(length=4, noise=Laplace(scale=3)).tree()
    assert account(tree, relation="add_remove").epsilon(delta=0) == pytest.approx(1 / 3)
    assert account(tree, relation="replace").epsilon(delta=0) == pytest.approx(2 / 3)


@pytest.mark.theorem("matrix-mechanism")
@pytest.mark.parametrize("band", [None, 1, 2, 3])
@pytest.mark.parametrize("bits", [1, 3, 16])
def test_the_price_of_a_factorization_is_its_longest_column(band, bits):
    counter = FactorizedCounter(length=4, noise=Gaussian(sigma=50), bound=2, band=band, bits=bits)
    unit = Fraction(1, 4**bits)
    longest = max(sum(entry**2 for entry in move) for move in moves(counter, 2)) * unit
    rho = counter.concentrated().rho
    assert rho == longest / (2 * 50**2)
    exact = GaussianDP(mu_squared=2 * rho).epsilon(delta=1e-6)
    found = counter.loss().epsilon(delta=1e-6)
    if bits == 16:  # noise is wide in steps of 2**-16, so it is as good as continuous
        assert exact <= found * (1 + 1e-9)
        assert found == pytest.approx(exact, rel=1e-6)
    assert found >= exact * (1 - 1e-3)


def test_a_row_of_a_hierarchy_is_in_one_node_of_each_level():
    for cells, branching in [(1, 2), (2, 2), (5, 2), (8, 2), (10, 4), (9, 3)]:
        plan = {"cells": cells, "branching": branching, "noise": Laplace(scale=1)}
        added = Hierarchy(relation="add_remove", **plan)
        swapped = Hierarchy(relation="replace", **plan)
        one = [np.eye(cells, dtype=int)[at] for at in range(cells)]
        up = max(np.abs(added._nodes(row)).sum() for row in one)
        assert added.loss().epsilon(delta=0) == pytest.approx(up)
        pairs = itertools.product(one, repeat=2)
        across = max(np.abs(swapped._nodes(a) - swapped._nodes(b)).sum() for a, b in pairs)
        assert swapped.loss().epsilon(delta=0) == pytest.approx(across)


def test_a_forgotten_block_is_caught():
    counter = BinaryTreeCounter(length=6, noise=Laplace(scale=3))
    levels = counter.tree().children
    forgotten = account(type(counter.tree())(*levels[:-1]), relation="add_remove")
    largest = max(sum(map(abs, move)) for move in moves(counter, 1))
    assert forgotten.epsilon(delta=0) < largest / 3 - 1e-9


def test_a_wrong_bound_is_caught():
    counter = NoisyPrefixes(length=3, noise=Laplace(scale=3), bound=2)
    cheap = NoisyPrefixes(length=3, noise=Laplace(scale=3), bound=1)
    largest = max(sum(map(abs, move)) for move in moves(counter, 2))
    assert cheap.loss().epsilon(delta=0) < largest / 3 - 1e-9


def met(node, column, place):
    """Count the leaves that a row at a place is read by."""
    match node:
        case Leaf():
            return 1
        case Where(box=box, child=child):
            return met(child, column, place) if {column: place} in box else 0
        case Parallel(parts=parts):
            return sum(met(child, column, place) for values, child in parts if place in values)
        case _:
            return sum(met(child, column, place) for _, child in node.branches())


@by_kind
@pytest.mark.parametrize("length", [1, 2, 5, 6, 8])
def test_every_position_meets_the_leaves_of_its_sums(kind, length):
    counter = kind(length=length, noise=Laplace(scale=1))
    for at, unit in enumerate(np.eye(length, dtype=int).tolist(), start=1):
        assert met(counter.tree(), "position", at) == sum(measured(counter, unit))
    assert met(counter.tree(), "position", 1) == counter._multiplicity
    assert met(counter.tree(), "position", length + 1) == 0


@pytest.mark.parametrize(("cells", "branching"), [(1, 2), (5, 2), (9, 3), (10, 4)])
def test_every_cell_meets_the_leaves_of_its_nodes(cells, branching):
    plan = Hierarchy(
        cells=cells, branching=branching, noise=Laplace(scale=1), relation="add_remove"
    )
    for at, unit in enumerate(np.eye(cells, dtype=int)):
        assert met(plan.tree(), "cell", at) == plan._nodes(unit).sum() == len(plan.sizes)


@pytest.mark.theorem("linear-measurements")
@pytest.mark.parametrize("kind", [*COUNTERS, FactorizedCounter], ids=lambda kind: kind.__name__)
def test_the_loss_is_that_of_the_whole_tree(kind):
    for length in (1, 2, 3, 5, 8, 12, 31, 32):
        for distance in (1, 3):
            counter = kind(length=length, noise=Gaussian(sigma=4), bound=2)
            tree = account(counter.tree(distance=distance), relation="add_remove")
            assert tree.loss == counter.loss(distance=distance)


@pytest.mark.theorem("hierarchy-levels")
@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_the_loss_of_a_hierarchy_is_that_of_the_whole_tree(relation):
    for cells, branching in [(1, 2), (2, 2), (7, 2), (8, 2), (9, 3), (10, 4)]:
        plan = Hierarchy(
            cells=cells, branching=branching, noise=Laplace(scale=4), relation=relation
        )
        for distance in (1, 2):
            tree = account(plan.tree(distance=distance), relation=relation)
            whole, part = tree.loss, plan.loss(distance=distance)
            assert whole.dominates(part)
            assert part.dominates(whole)
            assert whole.epsilon(delta=0) == part.epsilon(delta=0)


def test_a_long_tree_is_not_listed_but_priced():
    for kind in COUNTERS:
        counter = kind(length=2**20, noise=Laplace(scale=21))
        with pytest.raises(OutOfRange):
            counter.tree()
    assert counter.loss().epsilon(delta=0) == 1
    plan = Hierarchy(cells=2**16, noise=Laplace(scale=17), relation="add_remove")
    with pytest.raises(OutOfRange):
        plan.tree()
    assert plan.loss().epsilon(delta=0) == 1
