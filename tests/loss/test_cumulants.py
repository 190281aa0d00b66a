"""Cumulants at one order: never below the truth, and as close as their error bounds say."""

import math
from fractions import Fraction

import pytest
from flint import arb, ctx, fmpq
from hypothesis import given
from hypothesis import strategies as st

from discreet.exact import float_up
from discreet.loss import RenyiCurve
from discreet.loss.gaussian import DiscreteGaussianPair, GaussianPair
from discreet.loss.pure_pairs import (
    BoundedRangePair,
    DiscreteLaplacePair,
    LaplacePair,
    ResponsePair,
)
from discreet.loss.rounding import UNIT, quotient_up

F = Fraction
ORDERS = [2.0**-12, 1e-3, 0.1, 0.5, 0.75, 1.0, 3.0, 47.0, 1e3, 4e6]
SIZES = [F(1, 10**9), F(1, 10**4), F(1, 30), F(1), F(7, 3), F(40), F(900)]


@pytest.fixture(autouse=True)
def _precise():
    ctx.prec = 400


def exact(value):
    number = F(value)
    return arb(fmpq(number.numerator, number.denominator))


def geometric(scale, distance, t):
    """Add up all atoms, as the definition says."""
    w, order = exact(1 / scale), exact(t)
    a, total = (-w).exp(), arb(0)
    for j in range(distance + 1):
        mass = (-w * j).exp() / (1 + a) * (1 if j in {0, distance} else 1 - a)
        total += mass * (order * w * (distance - 2 * j)).exp()
    return total.log()


def close(found, truth, slack):
    return exact(found) >= truth and exact(found) <= truth + slack


@pytest.mark.theorem("discrete-laplace-loss")
@pytest.mark.parametrize("t", ORDERS)
@pytest.mark.parametrize("epsilon", SIZES)
@pytest.mark.parametrize("distance", [1, 2, 3, 60])
def test_geometric_noise_has_the_moments_of_its_atoms(distance, epsilon, t):
    pair = DiscreteLaplacePair(distance / epsilon, distance)
    truth = geometric(pair.scale, distance, t)
    straight = float(epsilon) * t
    lost = min(straight, 0.5)  # bounds |y|
    assert close(pair.cumulant(t), truth, UNIT * (16 * straight + 512 * lost) + 1e-300)


@pytest.mark.theorem("discrete-laplace-loss")
def test_geometric_noise_at_any_distance_is_below_a_pure_loss_and_above_a_shorter_one():
    far = DiscreteLaplacePair(F(10**9), 2 * 10**8)
    for t in ORDERS:
        assert far.cumulant(t) <= ResponsePair(F(1, 5)).cumulant(t)
        assert far.cumulant(t) >= LaplacePair(F(1, 5)).cumulant(t) * (1 - 1e-6)
    assert DiscreteLaplacePair(F(10**300), 1).cumulant(1.0) < 1e-13


@pytest.mark.theorem("contour-rounding")
@pytest.mark.parametrize("t", ORDERS)
@pytest.mark.parametrize("epsilon", SIZES)
def test_closed_forms_round_up(epsilon, t):
    e, order = exact(epsilon), exact(t)
    chance = 1 / (1 + e.exp())
    twice = 2 * order + 1
    slack = 600 * UNIT * (t + 40) * (1 + float(epsilon))
    response = order * e + (1 + chance * ((-2 * order * e).exp() - 1)).log()
    assert close(ResponsePair(epsilon).cumulant(t), response, slack)
    leaky = ResponsePair(epsilon, F(1, 1000))
    assert close(leaky.cumulant(t), response + (exact(1) - exact(F(1, 1000))).log(), slack)
    laplace = order * e + (1 + order / twice * ((-twice * e).exp() - 1)).log()
    assert close(LaplacePair(epsilon).cumulant(t), laplace, slack)
    ranged = order * e + ((1 - (-twice * e).exp()) / (1 - (-e).exp()) / twice).log()
    assert close(BoundedRangePair(epsilon).cumulant(t), ranged, slack)


@pytest.mark.theorem("discrete-gaussian-renyi")
@given(
    t=st.floats(2.0**-40, 1e9),
    square=st.fractions(F(1, 10**12), F(10**6)),
    distance=st.integers(1, 10**6),
)
def test_gaussian_moments_are_rounded_up_once(t, square, distance):
    order = F(t)
    wanted = float_up(order * (order + 1) * square / 2)
    assert GaussianPair(square).cumulant(t) == wanted
    assert RenyiCurve(rho=square / 2).log_moment(t) == wanted
    discrete = DiscreteGaussianPair(distance**2 / square, distance)
    assert discrete.cumulant(t) == wanted


@given(top=st.integers(1, 10**400), bottom=st.integers(1, 10**400))
def test_quotients_are_rounded_up_once(top, bottom):
    assert quotient_up(top, bottom) == float_up(F(top, bottom))


def test_a_quotient_beyond_all_floats_is_infinite():
    assert quotient_up(10**400, 1) == math.inf
    assert quotient_up(1, 10**400) == 5e-324
