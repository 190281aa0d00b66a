from fractions import Fraction

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.exact import Interval
from discreet.loss.elementary import gaussian_profile, normal_cdf, normal_quantile_up
from tests.loss.oracles import gaussian, real


@settings(max_examples=60)
@given(st.fractions(min_value=-12, max_value=12, max_denominator=10**5))
def test_the_normal_distribution_function_is_enclosed(x):
    interval = normal_cdf(x)
    truth = mpmath.ncdf(real(x))
    assert real(interval.low) <= truth + mpmath.mpf(10) ** -49
    assert real(interval.high) >= truth - mpmath.mpf(10) ** -49
    assert interval.high - interval.low < Fraction(1, 10**45)


@pytest.mark.parametrize("x", [-81, -1000, 81, 1000])
def test_far_tails(x):
    interval = normal_cdf(Fraction(x))
    assert 0 <= interval.low <= interval.high <= 1
    assert interval.high - interval.low < Fraction(1, 2**150)


@pytest.mark.theorem("gaussian-profile")
@settings(max_examples=60)
@given(
    st.fractions(min_value=Fraction(1, 20), max_value=5, max_denominator=1000),
    st.fractions(min_value=0, max_value=8, max_denominator=1000),
)
def test_the_gaussian_profile_is_enclosed(mu, epsilon):
    interval = gaussian_profile(mu * mu, epsilon)
    truth = gaussian(mu, epsilon)
    assert real(interval.low) <= truth + mpmath.mpf(10) ** -40
    assert real(interval.high) >= truth - mpmath.mpf(10) ** -40
    assert interval.high - interval.low < Fraction(1, 10**35)


def test_a_small_gaussian_at_a_large_epsilon_is_not_below_zero():
    interval = gaussian_profile(Fraction(1, 10**4), Fraction(50))
    assert 0 <= interval.low <= interval.high < Fraction(1, 10**40)
    assert gaussian_profile(Fraction(0), Fraction(1)) == Interval(Fraction(0), Fraction(0))


@given(st.fractions(min_value=Fraction(1, 10**9), max_value=Fraction(999, 1000)))
@settings(max_examples=40)
def test_a_quantile_reaches_its_probability(chance):
    x = normal_quantile_up(Interval(chance, chance))
    assert mpmath.ncdf(real(x)) >= real(chance)
    assert mpmath.ncdf(real(x) - mpmath.mpf("1e-9")) < real(chance)
