"""Census-style reconstruction: the block of seven people, and what noise does to it."""

from dataclasses import replace

import pytest

from discreet.mechanisms import Laplace
from discreet.noise import KeyedEntropy
from discreet_course.reconstruction.census import (
    SEVEN_PEOPLE,
    SEVEN_TRAITS,
    Statistic,
    reconstruct,
)

PEOPLE = (
    (8, "female", "black", "single"),
    (18, "male", "white", "single"),
    (24, "female", "white", "single"),
    (30, "male", "white", "married"),
    (36, "female", "black", "married"),
    (66, "female", "black", "married"),
    (84, "male", "black", "married"),
)


def without(*numbers):
    return [row for number, row in enumerate(SEVEN_PEOPLE) if number not in numbers]


def test_the_published_block_names_all_seven():
    assert reconstruct(SEVEN_PEOPLE, SEVEN_TRAITS) == [PEOPLE]


@pytest.mark.parametrize(("left_out", "tables"), [((6,), 2), ((5,), 22), ((2,), 1), ((4,), 1)])
def test_fewer_statistics_leave_as_many_tables_as_others_found(left_out, tables):
    assert len(reconstruct(without(*left_out), SEVEN_TRAITS)) == tables


def test_suppressed_cells_are_not_needed():
    assert reconstruct([*SEVEN_PEOPLE[:7], SEVEN_PEOPLE[-1]], SEVEN_TRAITS) == [PEOPLE]


def test_three_ages_from_their_median_and_mean():
    men = Statistic(count=3, median=30, mean="44.0")
    tables = reconstruct([men], {})
    assert len([table for table in tables if table[0][0] >= 1]) == 30
    assert all(sum(age for (age,) in table) == 132 for table in tables)


def test_a_search_ends_when_it_has_enough():
    assert len(reconstruct([Statistic(count=3)], SEVEN_TRAITS, most=5)) == 5


def test_noise_on_the_statistics_leaves_nobody_to_name():
    """Noisy counts and sums contradict each other, or fit other people."""
    coins = KeyedEntropy(key=bytes(32), label="noise")

    def noisy(statistic):
        if statistic.count is None:
            return statistic
        count = max(Laplace(scale=2).run(statistic.count, entropy=coins), 1)
        mean = float(statistic.mean) * statistic.count
        total = max(Laplace(scale=230).run(round(mean), entropy=coins), 0)
        return replace(statistic, count=count, median=None, mean=f"{total / count:.1f}")

    assert reconstruct([noisy(row) for row in SEVEN_PEOPLE], SEVEN_TRAITS, most=50) != [PEOPLE]
