"""The worked examples on the ten-row table, and sensitivities by brute force."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

from discreet.mechanisms import Laplace
from discreet_course.counting import Histogram, attributes, counts, points, thresholds

UNIVERSE = list(itertools.product((0, 1), repeat=3))
TABLE = [
    tuple(map(int, row))
    for row in ["000", "101", "010", "101", "000", "001", "110", "000", "010", "101"]
]


def tenths(*numbers):
    return tuple(Fraction(number, 10) for number in numbers)


def test_threshold_queries():
    """Row X1: eight prefix counts; the last is constant, so replacing a row moves seven."""
    queries = thresholds(UNIVERSE)
    assert queries.averages(TABLE) == tenths(3, 4, 6, 6, 6, 9, 10, 10)
    assert queries.l1("add_remove") == 8
    assert queries.l1("replace") == 7


def test_thresholds_are_prefix_sums_of_one_histogram():
    """Row X1: at the price of a histogram, epsilon or 2 epsilon, instead of 8 epsilon."""
    histogram = points(UNIVERSE).answers(TABLE)
    assert np.cumsum(histogram).tolist() == thresholds(UNIVERSE).answers(TABLE).tolist()
    release = Histogram(cells=8, noise=Laplace(scale=10), relation="add_remove")
    assert release.loss().epsilon(delta=0) == 0.1
    assert np.cumsum(release.run(histogram)).shape == (8,)
    naive = Laplace(scale=10).loss(distance=thresholds(UNIVERSE).l1("add_remove"))
    assert naive.epsilon(delta=0) == 0.8


def test_attribute_means():
    """Row X2: three means, 3 epsilon; squared L2 is 3 as well."""
    queries = attributes(UNIVERSE)
    assert queries.averages(TABLE) == tenths(4, 3, 4)
    assert queries.l1("add_remove") == queries.l1("replace") == 3
    assert queries.l2_squared("add_remove") == 3


def test_point_queries():
    """Row X3: naively 8 epsilon; by sensitivity epsilon (add/remove) or 2 epsilon (replace)."""
    queries = points(UNIVERSE)
    assert queries.averages(TABLE) == tenths(3, 1, 2, 0, 0, 3, 1, 0)
    assert (queries.l1("add_remove"), queries.l1("replace")) == (1, 2)
    for relation, price in [("add_remove", 0.1), ("replace", 0.2)]:
        release = Histogram(cells=8, noise=Laplace(scale=10), relation=relation)
        assert release.loss().epsilon(delta=0) == price
    each = Laplace(scale=10).loss(distance=1)
    assert each.power(8).epsilon(delta=0) == 0.8


FAMILIES = {
    "points": points(range(3)),
    "thresholds": thresholds(range(3)),
    "overlapping": counts(range(3), lambda x: x < 2, lambda x: x > 0, lambda x: x == 1),
}


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("relation", ["add_remove", "replace", "either"])
def test_sensitivities_by_brute_force(name, relation):
    queries = FAMILIES[name]
    tables = [
        rows
        for size in range(4)
        for rows in itertools.combinations_with_replacement(range(3), size)
    ]

    def neighbors(x, y):
        shared = sum(min(x.count(row), y.count(row)) for row in range(3))
        lost, gained = len(x) - shared, len(y) - shared
        added, replaced = lost + gained == 1, lost == gained == 1
        return {"add_remove": added, "replace": replaced, "either": added or replaced}[relation]

    moves = [
        queries.answers(x) - queries.answers(y)
        for x, y in itertools.permutations(tables, 2)
        if neighbors(x, y)
    ]
    assert max(np.abs(move).sum() for move in moves) == queries.l1(relation)
    assert max((move**2).sum() for move in moves) == queries.l2_squared(relation)
