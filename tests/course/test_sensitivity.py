"""Sensitivities: what is claimed is what enumeration of all small tables finds."""

import itertools
from collections import Counter
from fractions import Fraction

import pytest

from discreet.errors import OutOfRange, WrongKind
from discreet.units import Relation, table_distance
from discreet_course.sensitivity import (
    average_sensitivity,
    count_sensitivity,
    sum_sensitivity,
)
from tests.twins import units as twins

BOTH = [Relation.ADD_REMOVE, Relation.REPLACE]


def bags(units, most):
    """Return all tables of at most ``most`` units."""
    sizes = range(most + 1)
    return [bag for n in sizes for bag in itertools.combinations_with_replacement(units, n)]


def neighbors(tables, relation):
    return [
        (left, right)
        for left, right in itertools.combinations(tables, 2)
        if table_distance(left, right, relation=relation) == 1
    ]


def gaps(left, right):
    return [abs(a - b) for a, b in zip(left, right, strict=True)]


def l0(left, right):
    return sum(map(bool, gaps(left, right)))


def l1(left, right):
    return sum(gaps(left, right))


def l2_squared(left, right):
    return sum(gap * gap for gap in gaps(left, right))


def linf(left, right):
    return max(gaps(left, right), default=0)


def worst(query, pairs, distance):
    return max(distance(query(left), query(right)) for left, right in pairs)


def norms(query, pairs):
    return tuple(worst(query, pairs, norm) for norm in (l0, l1, l2_squared, linf))


def check_counts(claim, relation, conditions, overlap, rows):
    patterns = [
        bits for bits in itertools.product((0, 1), repeat=conditions) if sum(bits) <= overlap
    ]
    units = sorted(
        {  # what one unit adds to the counts
            tuple(map(sum, zip(*bag, strict=True))) for bag in bags(patterns, rows) if bag
        }
    )
    pairs = neighbors(bags(units, 2 if len(units) < 20 else 1), relation)

    def query(table):
        return [sum(unit[number] for unit in table) for number in range(conditions)]

    said = claim(relation, conditions=conditions, overlap=overlap, rows=rows)
    assert (said.l0, said.l1, said.l2_squared, said.linf) == norms(query, pairs)


CASES = [(1, 1, 1), (2, 1, 1), (2, 2, 1), (3, 1, 1), (3, 2, 1), (2, 1, 2), (3, 1, 2), (3, 2, 2)]


@pytest.mark.theorem("sensitivity")
@pytest.mark.parametrize(("conditions", "overlap", "rows"), CASES)
@pytest.mark.parametrize("relation", [*BOTH, Relation.EITHER, Relation.LOCAL])
def test_counts(relation, conditions, overlap, rows):
    check_counts(count_sensitivity, relation, conditions, overlap, rows)


def check_sums(claim, relation, low, high, rows):
    values = [Fraction(low), Fraction(low + high, 2), Fraction(high)]
    units = sorted({sum(bag) for bag in bags(values, rows) if bag})
    pairs = neighbors(bags([(unit,) for unit in units], 3), relation)

    def query(table):
        return [sum(value for (value,) in table)]

    assert claim(relation, low=low, high=high, rows=rows) == worst(query, pairs, l1)


RANGES = [(0, 5), (2, 7), (-3, 3), (-1, 4), (-5, -2)]


@pytest.mark.theorem("sensitivity")
@pytest.mark.parametrize(("low", "high"), RANGES)
@pytest.mark.parametrize("rows", [1, 2])
@pytest.mark.parametrize("relation", [*BOTH, Relation.EITHER, Relation.LOCAL])
def test_sums(relation, low, high, rows):
    check_sums(sum_sensitivity, relation, low, high, rows)


def caught(check, claim, cases):
    for case in cases:
        try:
            check(claim, *case)
        except AssertionError:
            return True
    return False


@pytest.mark.parametrize("twin", twins.COUNTS, ids=lambda twin: twin.__name__)
def test_a_wrong_count_sensitivity_is_caught(twin):
    assert caught(check_counts, twin, [(relation, *case) for relation in BOTH for case in CASES])


@pytest.mark.parametrize("twin", twins.SUMS, ids=lambda twin: twin.__name__)
def test_a_wrong_sum_sensitivity_is_caught(twin):
    assert caught(check_sums, twin, [(relation, *ends, 1) for relation in BOTH for ends in RANGES])


# --- the numbers of the course ----------------------------------------------------------------


def test_colors_and_weights_of_cats():
    orange = heavy = count_sensitivity("add_remove")
    assert orange.l1 == heavy.l1 == 1
    assert count_sensitivity("add_remove", conditions=2).l1 == 1  # orange and blue: disjoint
    assert count_sensitivity("replace", conditions=2).l1 == 2
    assert count_sensitivity("add_remove", conditions=2, overlap=2).l1 == 2  # orange and heavier


def test_sum_of_weights_and_its_scales():
    weights = sum_sensitivity("add_remove", low=0, high=5)
    assert weights == 5
    assert weights / Fraction("0.1") == 50
    assert weights / 4 == Fraction("1.25")


def test_positive_tests_cost_one_under_both_relations():
    assert {count_sensitivity(relation).l1 for relation in BOTH} == {1}


def test_salaries():
    bounds = {"low": 20_000, "high": 200_000}
    assert sum_sensitivity("add_remove", **bounds) == 200_000
    assert sum_sensitivity("replace", **bounds) == 180_000
    assert average_sensitivity("replace", **bounds, size=1000) == 180


def test_a_histogram_of_ages():
    cells = len(range(0, 110, 10))
    assert count_sensitivity("add_remove", conditions=cells).l1 == 1
    assert count_sensitivity("replace", conditions=cells).l1 == 2


def test_one_person_reports_an_age():
    assert sum_sensitivity("local", low=18, high=100) / 3 == Fraction(82, 3)


def test_neighbors_as_histograms_are_one_or_two_apart():
    tables = bags("abc", 3)

    def histogram(table):
        counted = Counter(table)
        return [counted[cell] for cell in "abc"]

    for relation, far in zip(BOTH, (1, 2), strict=True):
        pairs = neighbors(tables, relation)
        assert {l1(histogram(left), histogram(right)) for left, right in pairs} == {far}


# --- bad input --------------------------------------------------------------------------------


def test_an_average_needs_a_public_size():
    with pytest.raises(OutOfRange, match="public"):
        average_sensitivity("add_remove", low=0, high=1, size=10)


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: sum_sensitivity("replace", low=2, high=1), OutOfRange),
        (lambda: sum_sensitivity("replace", low=0, high=float("inf")), OutOfRange),
        (lambda: sum_sensitivity("replace", low=float("nan"), high=1), OutOfRange),
        (lambda: sum_sensitivity("sideways", low=0, high=1), WrongKind),
        (lambda: count_sensitivity("replace", conditions=0), OutOfRange),
        (lambda: count_sensitivity("replace", conditions=2, overlap=3), OutOfRange),
        (lambda: count_sensitivity("replace", rows=0), OutOfRange),
        (lambda: count_sensitivity("replace", rows=1.5), WrongKind),
        (lambda: average_sensitivity("replace", low=0, high=1, size=0), OutOfRange),
    ],
)
def test_bad_input_is_refused(call, error):
    with pytest.raises(error):
        call()
