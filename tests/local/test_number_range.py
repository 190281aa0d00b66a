"""Rounding to a public grid by exact coins."""

from fractions import Fraction
from unittest import mock

import numpy as np
import pytest

from discreet.attacks import exact_law
from discreet.errors import DiscreetError, OutOfRange
from discreet.local import NumberRange, WindowResponse
from discreet.local import numbers as number_range
from discreet.noise.bernoulli import CoinSizes
from tests.noise.laws import stream

POINTS = (Fraction(-1), Fraction(-1, 3), Fraction(1, 2), Fraction(1))
RANGE = NumberRange(low=0, high=12)  # marks at 0, 4, 9 and 12


def tiny(**_):
    return CoinSizes(word_bits=4, step_bits=4, guard=0.2)


def law_of(number):
    with mock.patch.object(number_range, "CoinSizes", tiny):
        return exact_law(
            lambda entropy: int(RANGE.codes([number], POINTS, entropy=entropy)[0]),
            unexplored=Fraction(1, 4000),
        )


@pytest.mark.theorem("stochastic-rounding")
@pytest.mark.parametrize("number", [0, "0.5", 4, Fraction(16, 3), 7, 9, "11.9", 12])
def test_a_number_goes_to_its_neighbors_and_stays_what_it_is_on_average(number):
    law, exact = law_of(number), Fraction(number)
    marks = [0, 4, 9, 12]
    assert law.unexplored <= Fraction(1, 4000)
    for code, mark in enumerate(marks):
        below = [other for other in marks if other < exact or other == mark == exact]
        neighbors = {max(below, default=0), min(other for other in marks if other >= exact)}
        assert law.mass.get(code, 0) == 0 or mark in neighbors
    mean = sum(mass * marks[code] for code, mass in law.mass.items())
    assert mean <= exact <= mean + 12 * law.unexplored


def test_arrays_of_floats_and_of_integers_are_rounded_alike():
    numbers = np.array([0.0, 0.25, 4.0, 5.5, 8.999999999999998, 9.0, 11.0, 12.0])
    as_list = RANGE.codes(numbers.tolist(), POINTS, entropy=stream("one list"))
    for other in (numbers, numbers.astype(object)):
        codes = RANGE.codes(other, POINTS, entropy=stream("one list"))
        assert codes.tolist() == as_list.tolist()
    inside = numbers[1:-1]
    codes = RANGE.codes(inside, POINTS, entropy=stream("inside"))
    assert codes.tolist() == RANGE.codes(list(inside), POINTS, entropy=stream("inside")).tolist()
    integers = np.array([0, 3, 4, 12, 3])
    codes = RANGE.codes(integers, POINTS, entropy=stream("whole"))
    listed = RANGE.codes(integers.tolist(), POINTS, entropy=stream("whole"))
    assert codes.tolist() == listed.tolist()


def test_a_float_at_a_mark_is_on_its_right_side():
    """0.1 + 0.2 is above 0.3 by a float's last digit, and the mark at 0.3 is no float."""
    short = NumberRange(low="0.1", high="0.5")
    points = (Fraction(-1), Fraction(0), Fraction(1))
    for number, code in ((0.3, 1), (0.1 + 0.2, 1)):
        assert short.codes(np.array([number, 0.2]), points, entropy=stream("a"))[0] == code


def test_floats_too_coarse_for_the_points_are_taken_exactly():
    far = NumberRange(low=10**12, high=10**12 + 1)
    points = WindowResponse.minimax(epsilon=1).points()
    codes = far.codes(np.full(400, 1e12 + 0.5), points, entropy=stream("far"))
    assert set(codes.tolist()) <= {len(points) // 2 - 1, len(points) // 2, len(points) // 2 + 1}


def test_many_floats_keep_their_average():
    points, people = WindowResponse.minimax(epsilon=1).points(), 20_000
    numbers = np.linspace(0.001, 11.999, people)
    codes = RANGE.codes(numbers, points, entropy=stream("many"))
    marks = np.array([float(RANGE.back(point)) for point in points])
    gap = np.diff(marks).max()
    assert abs(marks[codes] - numbers).max() <= gap
    assert abs(marks[codes].mean() - numbers.mean()) < 5 * gap / 2 / people**0.5
    assert RANGE.stretch() == 6


@pytest.mark.parametrize("number", [-1, 12.5, float("nan"), float("inf"), "x", None, "1/0"])
def test_other_numbers_are_refused_without_naming_them(number):
    with pytest.raises(OutOfRange) as caught:
        RANGE.codes([number], POINTS)
    assert "12.5" not in str(caught.value)
    if isinstance(number, float):
        with pytest.raises(OutOfRange):
            RANGE.codes(np.array([number]), POINTS)


def test_an_empty_range_is_refused():
    for low, high in ((1, 1), (2, 1)):
        with pytest.raises(DiscreetError):
            NumberRange(low=low, high=high)
