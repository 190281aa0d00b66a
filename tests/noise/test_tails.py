"""Certified tails where two formulas meet: term by term or summed at once, near or far."""

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.certified import exp_neg
from discreet.exact import Interval
from discreet.noise import DiscreteLaplace
from discreet.noise.decay import ScaledExponential
from discreet.noise.gaussian import _euler_maclaurin, _term_by_term, tail_ratio

F = Fraction


@pytest.mark.theorem("gaussian-tail")
@pytest.mark.parametrize("bits", [24, 64, 200])
@pytest.mark.parametrize("share", [0, F(1, 3), 1, 2, 5])
@pytest.mark.parametrize("deviation", [46, 64, 150])
def test_both_ways_to_sum_a_tail_agree(deviation, share, bits):
    variance = deviation**2 + F(12345, 1 << 20)
    k = math.floor(min(share * deviation, variance / 16))
    one, other = _term_by_term(variance, k, bits + 16), _euler_maclaurin(variance, k, bits)
    assert other.low <= one.high
    assert one.low <= other.high
    assert (other.high - other.low) * 2 ** (bits - 4) <= other.low
    assert tail_ratio(variance, k, bits) == other


@pytest.mark.theorem("enclosure")
@given(x=st.fractions(513, 4000), bits=st.sampled_from([24, 64, 300]))
def test_far_exponentials_are_enclosed_to_a_relative_precision(x, bits):
    one = Interval(F(1), F(1))
    found = ScaledExponential(x, one).bounds(bits)
    scale = bits + 40 + math.ceil(2 * x)
    low, high = exp_neg(x, scale)
    assert found.low <= F(high, 1 << scale)
    assert F(low, 1 << scale) <= found.high
    assert (found.high - found.low) * 2**bits <= found.low


@pytest.mark.theorem("enclosure")
def test_narrow_laws_have_quantiles_and_tails_at_once():
    for rate in (10**4, 65536, 10**5):
        law = DiscreteLaplace(scale=F(1, rate))
        assert law.quantile("0.975") == 0
        assert law.survival_bounds(0).high < F(1, 1 << rate // 2)
        assert abs(law.log_survival(0) + rate) < 1e-6
