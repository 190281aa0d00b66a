"""Random seats: exactly uniform, by enumeration of all random words."""

import contextlib
import itertools
from collections import Counter
from fractions import Fraction
from math import perm

import numpy as np
import pytest

from discreet.errors import OutOfRange
from discreet.learning import seats
from discreet.learning.seats import fitting_size, seated, seats_for, shuffled


class Words:
    """Serves given words, and says when they are at an end."""

    def __init__(self, words):
        self.left = list(words)

    def words(self, count, _width):
        if len(self.left) < count:
            raise EOFError
        served, self.left = self.left[:count], self.left[count:]
        return np.array(served, np.uint64)


@pytest.mark.theorem("random-seats")
@pytest.mark.parametrize(("units", "count"), [(1, 3), (2, 3), (3, 3), (2, 4)])
def test_every_choice_of_seats_has_the_same_chance(units, count, monkeypatch):
    """All words of three bits; those with equal ones are drawn again, and left out here."""
    monkeypatch.setattr(seats, "_BITS", 3)
    rows = np.arange(units)[:, None] + 10
    found = Counter()
    for words in itertools.product(range(8), repeat=count):
        try:
            found[tuple(seated(rows, seats=count, entropy=Words(words)).ravel().tolist())] += 1
        except EOFError:
            assert len(set(words)) < count
    assert len(found) == perm(count, units)
    assert len(set(found.values())) == 1


def law(rows, count):
    """Return the chance of each arrangement of rows on seats, by all words of three bits."""
    found = Counter()
    for words in itertools.product(range(8), repeat=count):
        with contextlib.suppress(EOFError):
            lines = seated(rows, seats=count, entropy=Words(words))
            found[tuple(lines.ravel().tolist())] += 1
    total = sum(found.values())
    return {arrangement: Fraction(times, total) for arrangement, times in found.items()}


@pytest.mark.theorem("random-seats")
@pytest.mark.parametrize(("units", "count"), [(1, 3), (2, 3), (2, 4), (3, 4)])
@pytest.mark.parametrize("new", [0, -1])
def test_a_unit_more_leaves_all_others_in_their_seats(units, count, new, monkeypatch):
    """The coupling of the proof: take the new one away again, and the law is that without it."""
    monkeypatch.setattr(seats, "_BITS", 3)
    rows = np.arange(units)[:, None] + 10
    without = Counter()
    for arrangement, chance in law(rows, count).items():
        gone = rows[new, 0]
        without[tuple(-1 if row == gone else row for row in arrangement)] += chance
    assert without == law(np.delete(rows, new, axis=0), count)


def test_orders_are_of_all_numbers_and_not_always_the_same():
    found = {tuple(shuffled(6).tolist()) for _ in range(40)}  # all alike: a chance of 720**-39
    assert len(found) > 1
    assert all(sorted(order) == list(range(6)) for order in found)


def test_there_are_as_many_seats_as_units_in_whole_micro_batches():
    assert [seats_for(cap, micro=4) for cap in (1, 4, 5)] == [4, 4, 8]
    with pytest.raises(OutOfRange, match="more units than seats"):
        seated(np.zeros((3, 1), np.int64), seats=2)


@pytest.mark.parametrize("most", [1, 7, 256])
def test_micro_batches_of_one_size_leave_few_seats_empty(most):
    for cap in (1, 6, 7, 8, 255, 256, 257, 700):
        size = fitting_size(cap, most=most)
        batches = seats_for(cap, micro=size) // size
        assert size <= most
        assert batches == seats_for(cap, micro=most) // most
        assert seats_for(cap, micro=size) - cap < batches
