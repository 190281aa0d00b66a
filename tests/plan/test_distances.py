"""Distances, by trying everything that one or two units can add."""

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.mechanisms.additive import laplace_pair
from discreet.plan.pricing.group_sensitivity import GroupSensitivity, root_up, steps_up
from discreet.units import Relation

CASES = [
    (low, high, groups, available)
    for low, high in ((0, 2), (-2, 1), (1, 2), (-3, -1), (1, 1), (0, 1))
    for groups in (1, 2)
    for available in (1, 2, 3, 4)
    if groups <= available
]


def contributions(low, high, groups, available):
    """Yield all vectors that one unit can add: at most so many entries, each between bounds."""
    for places in itertools.product([None, *range(low, high + 1)], repeat=available):
        if sum(place is not None for place in places) <= groups:
            yield tuple(place or 0 for place in places)


@pytest.mark.theorem("plan-distances")
@pytest.mark.parametrize("case", CASES)
def test_no_unit_moves_totals_further(case):
    low, high, groups, available = case
    far = GroupSensitivity(low=low, high=high, groups=groups, available=available)
    units = set(contributions(*case))
    assert max(sum(map(abs, unit)) for unit in units) == far.added
    assert max(sum(x * x for x in unit) for unit in units) == far.added_squared
    moves = {
        tuple(a - b for a, b in zip(*pair, strict=True))
        for pair in itertools.product(units, repeat=2)
    }
    assert max(sum(map(abs, move)) for move in moves) == far.replaced
    assert max(sum(x * x for x in move) for move in moves) == far.replaced_squared
    assert max(sum(x != 0 for x in move) for move in moves) <= far.places(Relation.REPLACE)


@pytest.mark.theorem("plan-distances")
@pytest.mark.parametrize("case", [case for case in CASES if case[3] >= 2 * case[2]])
def test_more_groups_than_two_units_reach_are_as_good_as_any_number(case):
    low, high, groups, _ = case
    known = GroupSensitivity(low=low, high=high, groups=groups, available=case[3])
    unknown = GroupSensitivity(low=low, high=high, groups=groups, available=None)
    for relation in Relation:
        assert known.moved(relation) == unknown.moved(relation)
        assert known.moved_squared(relation) == unknown.moved_squared(relation)


@given(distance=st.integers(0, 2**62))
def test_rounded_distances_are_priced_with_few_losses(distance):
    found = steps_up(distance)
    assert distance <= found <= distance + distance // 2**13 + 1
    if found:
        assert laplace_pair(found, found).distance <= 2**14


@given(square=st.integers(1, 2**130))
def test_roots_are_rounded_up_within_one(square):
    root = root_up(square)
    assert square <= root * root < square + 1
    assert math.floor(root * root) == square
