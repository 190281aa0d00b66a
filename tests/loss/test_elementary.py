from fractions import Fraction

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.exact import Interval
from discreet.loss.elementary import exp, log, sqrt, tanh_half
from tests.loss.oracles import real

SIZES = st.fractions(min_value=0, max_value=200, max_denominator=10**6)


def encloses(interval, truth, width=1e-40):
    assert real(interval.low) <= truth + mpmath.mpf(10) ** -47
    assert real(interval.high) >= truth - mpmath.mpf(10) ** -47
    assert interval.high - interval.low <= width * max(1, interval.high)


@given(SIZES, st.booleans())
def test_exp(x, negative):
    x = -x if negative else x
    interval = exp(x)
    scale = max(1, mpmath.exp(real(x)))
    assert real(interval.low) <= mpmath.exp(real(x)) + scale * mpmath.mpf(10) ** -48
    assert real(interval.high) >= mpmath.exp(real(x)) - scale * mpmath.mpf(10) ** -48
    assert interval.high - interval.low <= 1e-40 * max(1, interval.high)


@given(SIZES)
def test_log_sqrt_and_tanh(x):
    encloses(log(x + Fraction(1, 1000)), mpmath.log(real(x + Fraction(1, 1000))))
    encloses(sqrt(x), mpmath.sqrt(real(x)))
    encloses(tanh_half(x), mpmath.tanh(real(x) / 2))


@pytest.mark.parametrize("x", [0, 1, -1])
def test_exact_points(x):
    assert exp(Fraction(0)) == Interval(Fraction(1), Fraction(1))
    assert log(Fraction(1)) == Interval(Fraction(0), Fraction(0))
