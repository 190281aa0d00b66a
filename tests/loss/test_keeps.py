"""Whether a loss keeps a price: the answer of its delta, found sooner."""

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.loss import Pure, ZeroConcentrated
from discreet.loss.composition import Composition
from discreet.loss.gaussian import (
    DiscreteGaussianPair,
    GaussianPair,
    SmoothedGaussianPair,
    smoothing,
)
from discreet.loss.pure_pairs import LaplacePair
from discreet.mechanisms import Gaussian, Laplace

LOSSES = [
    Pure(epsilon=1),
    ZeroConcentrated(rho="1/10"),
    Laplace(scale=2).loss().power(3),
    Gaussian(variance=40).loss(),
    Gaussian(variance=700).loss().power(4),
    Gaussian(variance=700).loss().compose(Gaussian(variance=10**12).loss(distance=10**5)),
    Gaussian(variance=2000).loss().compose(Laplace(scale=40).loss()),
]
FACTORS = ("1/1000", "1/2", "0.999", "0.99999", "1", "1.00001", "1.001", "2", "1000")


@pytest.mark.parametrize("loss", LOSSES, ids=str)
@pytest.mark.parametrize("epsilon", ["0", "0.1", "1/2", "1", "3"])
def test_it_is_decided_as_by_delta(loss, epsilon):
    exact = Fraction(loss.delta(epsilon=epsilon))
    for factor in FACTORS:
        delta = min(exact * Fraction(factor), Fraction(1))
        assert loss.keeps(epsilon=epsilon, delta=delta) == (exact <= delta)


PAIRS = st.one_of(
    st.builds(
        DiscreteGaussianPair,
        st.fractions(min_value=1, max_value=900, max_denominator=5),
        st.integers(1, 3),
    ),
    st.builds(
        GaussianPair, st.fractions(min_value=Fraction(1, 100), max_value=2, max_denominator=100)
    ),
    st.fractions(min_value=200, max_value=10**6, max_denominator=3).map(
        lambda v: SmoothedGaussianPair.of(variance=v, squared=9, coordinates=4)
    ),
)


@pytest.mark.theorem("gaussian-smoothing")
@settings(max_examples=150)
@given(
    pairs=st.lists(st.tuples(PAIRS, st.integers(1, 3)), min_size=1, max_size=3),
    epsilon=st.floats(0, 6),
    enough=st.floats(1e-12, 0.5),
)
def test_the_rough_bound_is_above_the_profile(pairs, epsilon, enough):
    composition = Composition(tuple(pairs))
    rough = composition._rough(epsilon, enough)
    assert rough >= composition.delta(epsilon).low
    for variance in (7, 12, 30):  # narrow noise on integers is no continuous noise
        single = Composition(((DiscreteGaussianPair(Fraction(variance), 1), 1),))
        grid = [step / 16 / variance for step in range(1, 40)]
        assert all(
            single._rough(eps, 0.5) >= single.delta(eps).low
            for eps in (grid if enough < 1e-6 else grid[::8])
        )


def test_without_a_gaussian_above_all_pairs_it_says_nothing():
    mixed = Composition(((LaplacePair(Fraction(1)), 1), (GaussianPair(Fraction(1)), 1)))
    narrow = Composition(((DiscreteGaussianPair(Fraction(1), 1), 1),))
    assert math.isinf(mixed._rough(1.0, 1e-6))
    assert math.isinf(narrow._rough(1.0, 1e-6))


def test_a_smaller_leak_takes_more_noise_away():
    assert smoothing(1, bits=20) < smoothing(1) == smoothing(1, bits=100)
    leaks = [DiscreteGaussianPair(Fraction(100), 1).smoothed(bits) for bits in (20, 60, 100)]
    assert [leak for _, leak in leaks] == [Fraction(1, 2**bits) for bits in (20, 60, 100)]
    assert [square for square, _ in leaks] == sorted(square for square, _ in leaks)
