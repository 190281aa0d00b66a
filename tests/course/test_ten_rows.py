"""The ten-row table over {0,1}^3: thresholds, attribute means and points, and what they cost."""

import itertools
from fractions import Fraction

import pytest

from discreet.units import Relation
from discreet_course.counting import attributes, points, thresholds
from discreet_course.sensitivity import count_sensitivity

UNIVERSE = list(itertools.product((0, 1), repeat=3))
COUNTED = {"000": 3, "101": 3, "010": 2, "001": 1, "110": 1}
TABLE = [tuple(map(int, text)) for text, count in COUNTED.items() for _ in range(count)]
TENTHS = {
    thresholds: (3, 4, 6, 6, 6, 9, 10, 10),
    attributes: (4, 3, 4),
    points: (3, 1, 2, 0, 0, 3, 1, 0),
}


@pytest.mark.parametrize("family", TENTHS, ids=lambda family: family.__name__)
def test_the_answers(family):
    assert family(UNIVERSE).averages(TABLE) == tuple(Fraction(n, 10) for n in TENTHS[family])


def test_points_cost_one_or_two_however_many_there_are():
    queries = points(UNIVERSE)
    naive = len(UNIVERSE)  # one epsilon for each query
    assert (naive, queries.l1("replace"), queries.l1("add_remove")) == (8, 2, 1)
    for relation in Relation:
        assert queries.l1(relation) == count_sensitivity(relation, conditions=8).l1


def test_attribute_means_cost_three():
    queries = attributes(UNIVERSE)
    assert queries.l1("add_remove") == queries.l1("replace") == 3
    for relation in Relation:
        assert queries.l1(relation) == count_sensitivity(relation, conditions=3, overlap=3).l1


def test_thresholds_are_prefix_sums_of_points():
    counted = points(UNIVERSE).answers(TABLE)
    assert thresholds(UNIVERSE).answers(TABLE).tolist() == list(itertools.accumulate(counted))
    assert thresholds(UNIVERSE).l1("add_remove") == 8  # asked one by one: the first row is in all
    assert thresholds(UNIVERSE).l1("replace") == 7  # the last query is constant
