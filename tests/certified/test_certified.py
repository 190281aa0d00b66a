"""Enclosures against two independent oracles, and broken twins that the same checks must catch."""

from fractions import Fraction

import mpmath
import pytest
from flint import arb, ctx, fmpq
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet import certified
from tests.certified.cases import (
    atan_cases,
    atanh_cases,
    exp_cases,
    log_cases,
    log_two_cases,
    pi_cases,
    sqrt_cases,
)
from tests.twins.certified import TWINS, twin

WIDEST = 3  # units between the two ends, at any precision


# --- the oracles: balls of arb, and plain mpmath with many guard bits -------------------------

ARB = {
    "exp_neg": lambda x: (-x).exp(),
    "log": lambda x: x.log(),
    "sqrt": lambda x: x.sqrt(),
    "pi": lambda _: arb.pi(),
    "_twice_atanh": lambda x: 2 * x.atanh(),
    "_atan_inverse": lambda x: (1 / x).atan(),
    "_log_two": lambda _: arb(2).log(),
}
MPMATH = {
    "exp_neg": lambda x: mpmath.exp(-x),
    "log": mpmath.log,
    "sqrt": mpmath.sqrt,
    "pi": lambda _: +mpmath.pi,
    "_twice_atanh": lambda x: 2 * mpmath.atanh(x),
    "_atan_inverse": lambda x: mpmath.atan(1 / x),
    "_log_two": lambda _: mpmath.log(2),
}


def precision(x, bits):
    """Return a working precision that leaves at least 200 bits behind the binary point."""
    return bits + 256 + x.numerator.bit_length() + x.denominator.bit_length()


def check(name, x, bits, low, high):
    """Fail unless both oracles place 2**bits * f(x) between low and high."""
    assert type(low) is int
    assert type(high) is int
    assert low <= high
    with ctx.workprec(precision(x, bits)):
        ball = ARB[name](arb(fmpq(x.numerator, x.denominator))) * arb(1 << bits)
        assert not ball < low, f"{name}({x}, {bits}): the lower end is too high"
        assert not ball > high, f"{name}({x}, {bits}): the upper end is too low"
        assert float(ball.rad()) < 2.0**-100
    with mpmath.workprec(precision(x, bits)):
        value = mpmath.ldexp(MPMATH[name](mpmath.mpf(x.numerator) / x.denominator), bits)
        slack = mpmath.ldexp(1, -100)
        assert low - slack <= value <= high + slack, f"{name}({x}, {bits}): mpmath disagrees"


def check_tight(name, x, bits, low, high):
    check(name, x, bits, low, high)
    assert high - low <= WIDEST, f"{name}({x}, {bits}): {high - low} units wide"


def check_exp(module):
    for x, bits in exp_cases():
        check_tight("exp_neg", x, bits, *module.exp_neg(x, bits))


def check_log(module):
    for x, bits in log_cases():
        check_tight("log", x, bits, *module.log(x, bits))


def check_sqrt(module):
    for x, bits in sqrt_cases():
        low, high = module.sqrt(x, bits)
        check("sqrt", x, bits, low, high)
        assert high - low <= 1
        assert (low == high) == (low * low == x * 4**bits)


def check_pi(module):
    for one, bits in pi_cases():
        check_tight("pi", one, bits, *module.pi(bits))


def check_atanh(module):
    for x, scale in atanh_cases():
        low, high = module._twice_atanh(x.numerator, x.denominator, scale)
        check("_twice_atanh", x, scale, low, high)
        assert high - low <= 2 * scale + 8


def check_atan(module):
    for n, scale in atan_cases():
        low, high = module._atan_inverse(n.numerator, scale)
        check("_atan_inverse", n, scale, low, high)
        assert high - low <= 2 * scale + 8


def check_log_two(module):
    for one, scale in log_two_cases():
        low, high = module._log_two(scale)
        check("_log_two", one, scale, low, high)
        assert high - low <= 4 * scale + 16


CHECKS = {
    "exp_neg": check_exp,
    "log": check_log,
    "sqrt": check_sqrt,
    "pi": check_pi,
    "_twice_atanh": check_atanh,
    "_atan_inverse": check_atan,
    "_log_two": check_log_two,
}


# --- fixed cases, and the twins that they catch -----------------------------------------------


@pytest.mark.theorem("enclosure")
@pytest.mark.parametrize("name", CHECKS)
def test_fixed_cases_are_enclosed(name):
    CHECKS[name](certified)


@pytest.mark.theorem("enclosure")
@pytest.mark.parametrize("broken", TWINS, ids=str)
def test_a_broken_twin_is_caught(broken):
    with pytest.raises(AssertionError):
        CHECKS[broken.function](twin(broken))


@pytest.mark.parametrize("name", CHECKS)
def test_a_twin_without_a_fault_passes(name):
    broken = next(one for one in TWINS if one.function == name)
    CHECKS[name](twin(broken._replace(new=broken.old)))


# --- any rational at any precision ------------------------------------------------------------

BITS = st.integers(0, 700)
NATURAL = st.integers(0, 10**60) | st.integers(0, 50)
POSITIVE = st.integers(1, 10**60) | st.integers(1, 50)


@pytest.mark.theorem("enclosure")
@settings(max_examples=1000)
@given(st.builds(Fraction, NATURAL, POSITIVE), BITS)
def test_exp_neg_encloses(x, bits):
    check_tight("exp_neg", x, bits, *certified.exp_neg(x, bits))


@pytest.mark.theorem("enclosure")
@settings(max_examples=1000)
@given(st.builds(Fraction, POSITIVE, POSITIVE), BITS)
def test_log_encloses(x, bits):
    check_tight("log", x, bits, *certified.log(x, bits))


@pytest.mark.theorem("enclosure")
@settings(max_examples=1000)
@given(st.builds(Fraction, NATURAL, POSITIVE), BITS)
def test_sqrt_encloses(x, bits):
    low, high = certified.sqrt(x, bits)
    check("sqrt", x, bits, low, high)
    assert high - low <= 1


@pytest.mark.theorem("enclosure")
@settings(max_examples=100)
@given(st.integers(0, 5000))
def test_pi_encloses(bits):
    check_tight("pi", Fraction(1), bits, *certified.pi(bits))


@given(st.builds(Fraction, NATURAL, POSITIVE), st.integers(0, 200), st.integers(1, 200))
def test_more_bits_agree_with_fewer(x, bits, more):
    low, high = certified.exp_neg(x, bits)
    finer_low, finer_high = certified.exp_neg(x, bits + more)
    assert low << more <= finer_high
    assert finer_low <= high << more


@given(st.builds(Fraction, POSITIVE, POSITIVE), BITS)
def test_log_of_exp_neg_leads_back(x, bits):
    y = x % 40
    low, high = certified.exp_neg(y, bits + 80)
    back_low = certified.log(Fraction(low, 1 << (bits + 80)), bits)[0]
    back_high = certified.log(Fraction(high, 1 << (bits + 80)), bits)[1]
    assert back_low <= -y * 2**bits <= back_high


@pytest.mark.parametrize("bits", [0, 1, 64, 1000])
def test_values_known_exactly_have_no_width(bits):
    one = 1 << bits
    assert certified.exp_neg(Fraction(0), bits) == (one, one)
    assert certified.log(Fraction(1), bits) == (0, 0)
    assert certified.sqrt(Fraction(49), bits) == (7 * one, 7 * one)
    assert certified.sqrt(Fraction(0), bits) == (0, 0)


@pytest.mark.parametrize("bits", [0, 1, 64, 1000])
@pytest.mark.parametrize("x", [Fraction(10) ** 5000, Fraction(10) ** 9])
def test_a_hopeless_exponent_costs_nothing(x, bits):
    assert certified.exp_neg(x, bits) == (0, 1)
