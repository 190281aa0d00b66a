"""Sampled (epsilon, delta) responses: both ends against the exact formula at 50 digits."""

import math
from fractions import Fraction

import mpmath
import pytest
from mpmath import mpf

from discreet.loss import Approximate
from discreet.loss.composition import Composition
from discreet.loss.poisson_sampling import Direction, SampledPair
from discreet.loss.pure_pairs import ResponsePair
from tests.loss import oracles

CASES = [
    ("1", "1e-5", "0.01"),
    ("1", "1e-5", "0.9"),
    ("0.1", "1e-9", "0.3"),
    ("3", "0", "0.001"),
    ("2", "0.01", "0.5"),
    ("0", "1e-6", "0.2"),
]


def inner(epsilon, delta, a):
    """The profile of the response at any ratio a > 0."""
    if a < 1:
        return 1 - a + a * inner(epsilon, delta, 1 / a)
    return oracles.response(epsilon, delta, mpmath.log(a))


def removed(epsilon, delta, rate, a):
    q = oracles.real(rate)
    return q * inner(epsilon, delta, 1 + (a - 1) / q) if a > 1 - q else 1 - a


def exact(case, direction, eps):
    a = mpmath.exp(oracles.real(eps))
    if direction is Direction.REMOVE:
        return removed(*case, a)
    return 1 - a + a * removed(*case, 1 / a)


def points(epsilon, rate):
    corner = math.log1p(float(rate) * math.expm1(float(epsilon)))
    lost = -math.log1p(-float(rate))
    other = -math.log1p(float(rate) * math.expm1(-float(epsilon)))
    near = [x * (1 + s) for x in (corner, lost, other) for s in (-1e-9, -2e-16, 0.0, 2e-16, 1e-9)]
    return [0.0, 1e-6, 0.02, 0.5, 1.0, 1.5, 2.2, 5.0, *near]


@pytest.mark.theorem("poisson-sampling")
@pytest.mark.parametrize("direction", list(Direction))
@pytest.mark.parametrize("case", CASES)
def test_no_end_is_on_the_wrong_side(case, direction):
    epsilon, delta, rate = map(Fraction, case)
    pair = SampledPair(Composition(((ResponsePair(epsilon, delta), 1),)), rate, direction)
    one = Composition(((pair, 1),))
    for eps in points(epsilon, rate):
        truth, found = exact((epsilon, delta, rate), direction, eps), one.delta(eps)
        assert mpf(found.low) <= truth + mpf(10) ** -45
        assert truth <= mpf(found.high) + mpf(10) ** -45
        assert mpf(one.delta_above(eps)) >= truth - mpf(10) ** -45
        assert found.width <= 4e-12 * math.exp(eps)


@pytest.mark.theorem("poisson-sampling")
@pytest.mark.parametrize("case", CASES)
def test_the_low_end_beyond_the_corner_is_at_most_rate_times_delta(case):
    epsilon, delta, rate = map(Fraction, case)
    loss = Approximate(epsilon=epsilon, delta=delta).sampled(rate=rate)
    corner = oracles.real(1) + oracles.real(rate) * mpmath.expm1(oracles.real(epsilon))
    above = math.nextafter(float(mpmath.log(corner)), 9.0)
    for eps in (above, above + 1e-12, above + 0.1, 7.0):
        found = loss.delta_interval(epsilon=Fraction(eps))
        assert Fraction(found.low) <= rate * delta <= Fraction(found.high)
        assert found.width <= 1e-14
