"""Compositions of promises lose what the optimal composition says, and no more."""

import math
from fractions import Fraction
from functools import reduce

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.loss import Approximate
from tests.loss.oracles import coin, hockey_stick, optimal_delta, product_law, response

SMALL = st.fractions(min_value=0, max_value=2, max_denominator=20)
CHANCES = st.fractions(min_value=0, max_value=Fraction(1, 2), max_denominator=1000)


def composed(promises, times=1):
    losses = [Approximate(epsilon=e, delta=d) for e, d in promises]
    return reduce(lambda one, two: one.compose(two), losses).power(times)


@given(SMALL, CHANCES, SMALL)
def test_one_response(epsilon, delta, target):
    bracket = Approximate(epsilon=epsilon, delta=delta).delta_interval(epsilon=target)
    truth = response(epsilon, delta, target)
    assert bracket.low <= truth <= bracket.high <= math.nextafter(bracket.low, 2)


@pytest.mark.theorem("optimal-composition")
@settings(max_examples=40)
@given(st.lists(SMALL, min_size=1, max_size=5), SMALL)
def test_pure_promises_equal_the_enumeration(epsilons, target):
    p = product_law(*(coin(e, 0) for e in epsilons))
    q = product_law(*(coin(e, 1) for e in epsilons))
    truth, promises = hockey_stick(p, q, target), [(e, 0) for e in epsilons]
    assert abs(optimal_delta(promises, target) - truth) < mpmath.mpf(10) ** -40
    found = composed(promises).delta_interval(epsilon=target)
    assert found.low <= truth * (1 + mpmath.mpf(10) ** -40) + mpmath.mpf(10) ** -40
    assert truth <= found.high * (1 + mpmath.mpf(10) ** -40) + mpmath.mpf(10) ** -40
    assert found.width <= 1e-11 * found.high + 1e-15


@pytest.mark.parametrize(
    ("target", "value"),
    [
        ("0.6", 5.999985e-6),
        ("0.4", 0.00380067023933),
        ("0.2", 0.02750884128568),
        ("0", 0.09352164854568),
    ],
)
def test_golden_values_of_six_equal_promises(target, value):
    found = composed([("0.1", "1e-6")], times=6).delta(epsilon=target)
    assert found == pytest.approx(value, rel=1e-10)


def test_golden_values_of_small_compositions():
    twice = [("1", 0)]
    assert composed(twice, times=2).delta(epsilon=2) == 0
    assert composed(twice, times=2).delta(epsilon=0) == pytest.approx(0.46211715726001)
    three = [("0.3", "1e-6"), ("0.5", "1e-6"), ("0.7", "1e-6")]
    assert composed(three).delta(epsilon=1) == pytest.approx(0.09401118677677, rel=1e-12)
    two = [("1", 0), ("0.5", 0)]
    assert composed(two).delta(epsilon=1) == pytest.approx(0.17904988921682, rel=1e-12)
    five = composed(twice, times=5).delta(epsilon=4)
    assert five == pytest.approx(0.13199601015, rel=1e-10)


def test_the_golden_optimum_of_a_hundred_promises():
    at = composed([("0.1", 0)], times=100).delta(epsilon="4.306791372517")
    assert at == pytest.approx(1e-5, rel=1e-9)
