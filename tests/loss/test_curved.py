"""Pairs known by their profiles: above and below the truth, alone and composed, and tight."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.loss import Composition
from discreet.loss.curved_pair import CompositionPair, table_of_composition
from discreet.loss.envelope import EnvelopePair, upper_envelope
from discreet.loss.gaussian import GaussianPair
from discreet.loss.poisson_sampling import Direction, SampledPair
from discreet.loss.pure_pairs import LaplacePair, ResponsePair
from tests.loss.finite_laws import EPSILONS, laws, of, profile, times

F = Fraction


def gaussian(mu):
    return Composition(((GaussianPair(F(mu) ** 2), 1),))


def laplace(epsilon):
    return Composition(((LaplacePair(F(epsilon)), 1),))


@pytest.mark.theorem("dots")
@given(laws(2, most=6))
def test_polygons_enclose_the_profile_at_every_ratio(pq):
    p, q = pq
    table = table_of_composition(of(p, q))
    x = np.linspace(-4.0, 4.0, 61)
    for eps, low, high in zip(x, table.lower(x), table.upper(x), strict=True):
        truth = float(profile(p, q, F(math.exp(eps))))
        assert low <= truth * (1 + 1e-12) + 1e-13
        assert truth <= high * (1 + 1e-12) + 1e-13
        assert high - low <= 1e-4


@pytest.mark.theorem("dots")
@settings(max_examples=10)
@given(laws(2, most=3), st.integers(2, 3))
def test_powers_enclose_the_truth(pq, count):
    p, q = pq
    curved = Composition.of(CompositionPair(of(p, q))).power(count)
    first, second = times(*[p] * count), times(*[q] * count)
    for eps in EPSILONS:
        bracket = curved.delta(eps)
        truth = float(profile(first, second, F(math.exp(eps))))
        assert bracket.low <= truth * (1 + 1e-9) + 1e-12
        assert truth <= bracket.high * (1 + 1e-9) + 1e-12


@pytest.mark.theorem("dots")
@pytest.mark.parametrize("one", [gaussian(1), gaussian("0.1"), laplace(1)])
@pytest.mark.parametrize("count", [2, 10, 1000])
@pytest.mark.parametrize("delta", [1e-3, 1e-9])
def test_compositions_are_as_tight_as_without_a_table(one, count, delta):
    found = Composition.of(CompositionPair(one)).power(count).epsilon(delta)
    exact = one.power(count).epsilon(delta)
    assert exact.low <= found.high
    assert found.low <= exact.high
    assert found.high <= exact.high * (1 + 1e-5)
    assert found.low >= exact.low * (1 - 5e-4)


@pytest.mark.parametrize(
    "one", [gaussian(1), laplace("0.3"), of((F(2, 3), F(1, 3)), (F(1, 3), F(2, 3)))]
)
@pytest.mark.parametrize("t", [0.01, 0.7, 3.0, 40.0])
def test_moments_are_bounded_and_close(one, t):
    pair = CompositionPair(one)
    exact = one.log_moment(t)
    assert exact * (1 - 1e-12) - 1e-14 <= pair.log_moment(t) <= exact * (1 + 1e-4) + 1e-12


def test_a_pair_is_what_defines_it():
    pair = EnvelopePair((gaussian(1), laplace(1)))
    assert pair == EnvelopePair((gaussian(1), laplace(1)))
    assert hash(pair) == hash(EnvelopePair((gaussian(1), laplace(1))))
    assert pair.reverse().reverse() == pair
    assert pair.group(1) == pair
    assert pair.group(2) is None


def test_infinite_losses_are_kept_apart():
    leaky = Composition(((ResponsePair(F(1, 2), F(1, 1000)), 1),))
    curved = Composition.of(CompositionPair(leaky))
    assert curved.infinity().overlaps(leaky.infinity())
    assert curved.infinity().width <= 1e-16
    assert math.isinf(curved.pairs[0][0].log_moment(1.0))
    assert math.isfinite(curved.pairs[0][0].cumulant(1.0))
    for count in (1, 5):
        for eps in (0.0, 0.3, 2.6):
            assert curved.power(count).delta(eps).overlaps(leaky.power(count).delta(eps))
    assert math.isinf(curved.power(3).epsilon(1e-4).low)


def test_nothing_lost_is_nothing_lost():
    even = of((F(1, 2), F(1, 2)), (F(1, 2), F(1, 2)))
    assert Composition.of(CompositionPair(even)).power(4).delta(0.0).high <= 1e-12
    gone = of((F(1), F(0)), (F(0), F(1)))
    assert Composition.of(CompositionPair(gone)).power(2).delta(5.0).low >= 1 - 1e-9


@pytest.mark.theorem("poisson-sampling")
@settings(max_examples=10)
@given(laws(2, most=3), st.sampled_from(["0.01", "0.4", "0.99"]), st.integers(1, 2))
def test_sampled_curves_enclose_the_truth(pq, rate, count):
    p, q = pq
    share = F(rate)
    mixture = tuple((1 - share) * b + share * a for a, b in zip(p, q, strict=True))
    ends = (times(*[mixture] * count), times(*[q] * count))
    for direction in Direction:
        pair = SampledPair(of(p, q), share, direction)
        first, second = ends if direction is Direction.REMOVE else reversed(ends)
        one = Composition(((pair, count),))
        for eps in EPSILONS:
            truth = float(profile(first, second, F(math.exp(eps))))
            bracket = one.delta(eps)
            assert bracket.low <= truth * (1 + 1e-9) + 1e-12
            assert truth <= bracket.high * (1 + 1e-9) + 1e-12


@pytest.mark.theorem("poisson-sampling")
def test_samples_of_joined_losses_compose_tightly():
    inner = upper_envelope([laplace(1), gaussian(1)])
    pair = SampledPair(inner, F(1, 5), Direction.REMOVE)
    bracket = Composition(((pair, 100),)).epsilon(1e-6)
    assert bracket.width <= 1e-4 * bracket.high
    alone = Composition(((SampledPair(gaussian(1), F(1, 5), Direction.REMOVE), 100),))
    assert bracket.high >= alone.epsilon(1e-6).low
