"""Searches for whole numbers: the same answer from wherever they start."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.mechanisms import Gaussian, Laplace, NoisyKeys
from discreet.mechanisms.partition_selection import estimated_distance, leak_probability
from discreet.noise import DiscreteGaussian, DiscreteLaplace
from discreet.noise.distribution import first_true

F = Fraction


@given(answer=st.integers(0, 5000), near=st.integers(-10, 6000))
def test_a_start_changes_nothing_but_the_time(answer, near):
    tried = []

    def enough(r):
        assert r >= 0
        tried.append(r)
        return r >= answer

    assert first_true(enough, near=near) == answer
    assert first_true(enough) == answer
    assert first_true(enough, high=6000) == answer
    tried.clear()
    first_true(enough, near=answer)
    assert len(tried) <= 2


@pytest.mark.theorem("threshold-leak")
@pytest.mark.parametrize("law", [DiscreteLaplace, DiscreteGaussian])
@pytest.mark.parametrize("size", [F(1, 50), F(1, 2), F(3), F(40), F(10**4), F(10**9)])
@pytest.mark.parametrize("chance", [F(1, 3), F(1, 10**5), F(1, 10**12), F(1, 10**80)])
@pytest.mark.parametrize(("groups", "most"), [(1, 1), (10, 1), (3, 50)])
def test_the_estimate_is_close_and_the_threshold_least(law, size, chance, groups, most):
    gaussian = law is DiscreteGaussian
    noise = law(variance=size**2) if gaussian else law(scale=size)
    near = estimated_distance(noise, chance=chance, groups=groups, most=most)
    mechanism = Gaussian(variance=size**2) if gaussian else Laplace(scale=size)
    found = NoisyKeys.for_delta(
        delta=chance, noise=mechanism, groups=groups, relation="add_remove", most=most
    )
    distance = found.threshold - found.fewest
    assert abs(distance - near) <= 2 + distance / 1000
    assert (
        found.leak()
        == leak_probability(noise, distance=distance, groups=groups, most=most)
        <= chance
    )
    if distance:
        assert leak_probability(noise, distance=distance - 1, groups=groups, most=most) > chance
