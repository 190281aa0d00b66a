"""Neighbors for questions: watersheds show all that a choice of a leaf may lose."""

import math
from fractions import Fraction
from itertools import chain

import pytest

from discreet.mechanisms import Exponential
from discreet.plan.pricing.group_sensitivity import QuantileChoice
from tests.audit.test_questions import visitors, watersheds

LEAVES = 111


def choice(level, offset, scale):
    return QuantileChoice(
        measure="leaves",
        level=Fraction(level),
        offset=offset,
        mechanism=Exponential(candidates=LEAVES, scale=scale),
        rows=3,
        groups=1,
        available=1,
    )


def weights(aim, ages):
    """Return the weight of every leaf, by the definition of the scores."""
    target = float(aim.level * len(ages) + aim.offset)
    found = []
    for leaf in range(LEAVES):
        below, upto = sum(age < leaf for age in ages), sum(age <= leaf for age in ages)
        gap = max(0, below - target, target - upto)
        found.append(math.exp(-gap / float(aim.mechanism.scale)))
    return found


def odds_of_sides(aim, ages, middle):
    """Return the odds that the chosen leaf is below the cluster, and not above."""
    found = weights(aim, ages)
    return sum(found[:middle]) / sum(found[middle + 1 :])


PLANS = [
    [choice("1/2", 0, 6)],
    [choice(0, 46, 6)],
    [choice(1, -46, 6)],
    [choice("1/2", -101, 12), choice("1/2", 0, 6), choice("1/2", 101, 12)],
    [choice("9/10", -30, 12), choice("9/10", 0, 11), choice("9/10", 30, 12)],
]


@pytest.mark.theorem("leaf-runs")
@pytest.mark.parametrize("choices", PLANS, ids=["median", "least", "largest", "three", "high"])
def test_sides_of_a_watershed_move_apart_by_what_a_choice_may_lose(choices):
    moved = []
    for with_one, without in watersheds(choices):
        here, there = (table["visits"].column("age").to_pylist() for table in (with_one, without))
        assert len(here) == len(there) + 3
        moves = []
        for aim in choices:
            rank = math.floor(aim.level * len(there) + aim.offset)
            middle = sorted(there)[rank]
            gap = math.log(odds_of_sides(aim, here, middle) / odds_of_sides(aim, there, middle))
            lost = 2 * float(aim.added / aim.mechanism.scale)
            assert abs(gap) <= lost + 1e-9
            moves.append(abs(gap) / lost)
        moved.append(min(moves))
    assert max(moved) > 0.97  # the leaf of a filler is on neither side of the next cluster


def test_a_watershed_has_one_row_for_each_person_but_the_visitor():
    for with_one, without in watersheds(PLANS[3]):
        patients = without["visits"].column("patient").to_pylist()
        assert len(set(patients)) == len(patients)
        assert with_one["visits"].column("patient").to_pylist()[-3:] == [len(patients)] * 3


@pytest.mark.parametrize("by_row", [False, True])
def test_visitors_are_neighbors(by_row):
    for with_one, without in visitors(by_row=by_row):
        new = with_one["visits"].num_rows - without["visits"].num_rows
        assert new == 1 if by_row else new in {6, 9}
        assert with_one["visits"].slice(0, without["visits"].num_rows) == without["visits"]
        added = with_one["visits"].slice(without["visits"].num_rows).column("patient")
        assert set(added.to_pylist()).isdisjoint(without["visits"].column("patient").to_pylist())
        assert len(set(chain(added.to_pylist()))) == 1
