from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.loss.notions import optimal_delta, response_delta
from tests.loss.oracles import coin, hockey_stick, mpmath, product_law, real, response

SMALL = st.fractions(min_value=0, max_value=2, max_denominator=20)
CHANCES = st.fractions(min_value=0, max_value=Fraction(1, 2), max_denominator=1000)


def encloses(interval, truth):
    assert real(interval.low) <= truth + mpmath.mpf(10) ** -45
    assert real(interval.high) >= truth - mpmath.mpf(10) ** -45
    assert interval.high - interval.low < Fraction(1, 10**38)


@given(SMALL, CHANCES, SMALL)
def test_one_response(epsilon, delta, target):
    interval = response_delta(epsilon=epsilon, delta=delta, target=target)
    encloses(interval, response(epsilon, delta, target))


@pytest.mark.theorem("optimal-composition")
@settings(max_examples=40)
@given(st.lists(SMALL, min_size=1, max_size=5), SMALL)
def test_pure_promises_equal_the_enumeration(epsilons, target):
    p = product_law(*(coin(e, 0) for e in epsilons))
    q = product_law(*(coin(e, 1) for e in epsilons))
    interval = optimal_delta([(e, 0) for e in epsilons], target=target)
    encloses(interval, hockey_stick(p, q, target))


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
    found = optimal_delta([("0.1", "1e-6")], target=target, times=6).nearest()
    assert found == pytest.approx(value, rel=1e-10)


def test_golden_values_of_small_compositions():
    twice = [("1", 0)]
    assert optimal_delta(twice, target=2, times=2).high == 0
    assert optimal_delta(twice, target=0, times=2).nearest() == pytest.approx(0.46211715726001)
    three = [("0.3", "1e-6"), ("0.5", "1e-6"), ("0.7", "1e-6")]
    assert optimal_delta(three, target=1).nearest() == pytest.approx(0.09401118677677, rel=1e-12)
    two = [("1", 0), ("0.5", 0)]
    assert optimal_delta(two, target=1).nearest() == pytest.approx(0.17904988921682, rel=1e-12)
    five = optimal_delta(twice, target=4, times=5).nearest()
    assert five == pytest.approx(0.13199601015, rel=1e-10)


def test_the_golden_optimum_of_a_hundred_promises():
    at = optimal_delta([("0.1", 0)], target="4.306791372517", times=100)
    assert at.nearest() == pytest.approx(1e-5, rel=1e-9)
