"""Pairs with merged outcomes, and wider noise."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.mechanisms import Laplace
from discreet.mechanisms.finite import hockey_stick, merge_equal_ratios

FACTORS = [Fraction(at, 7) for at in range(60)]


@st.composite
def pairs(draw, outputs=3):
    def law():
        weights = draw(st.lists(st.integers(0, 4), min_size=outputs, max_size=outputs).filter(any))
        return tuple(Fraction(weight, sum(weights)) for weight in weights)

    return law(), law()


@given(pairs())
def test_merging_does_not_change_the_hockey_stick(pair):
    smaller = merge_equal_ratios(*pair)
    assert [hockey_stick(*pair, f) for f in FACTORS] == [hockey_stick(*smaller, f) for f in FACTORS]
    assert all(a or b for a, b in zip(*smaller, strict=True))


@pytest.mark.theorem("wider-laplace")
@pytest.mark.parametrize(("narrow", "wide"), [("1", "2"), ("5/2", "3"), ("7", "40")])
@pytest.mark.parametrize("distance", [1, 2, 5])
def test_narrower_laplace_noise_dominates_wider(narrow, wide, distance):
    loss, less = (Laplace(scale=scale).loss(distance=distance) for scale in (narrow, wide))
    assert loss.dominates(less)
    assert not less.dominates(loss)
    for epsilon in (0, 0.1, 0.7, 2):
        assert loss.delta(epsilon=epsilon) >= less.delta_interval(epsilon=epsilon).low
