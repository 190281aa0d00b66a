"""The loss of continuous Laplace noise, against its closed forms."""

import json
import math
from fractions import Fraction

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet as dp
from discreet.accounting import Leaf, account, decode, encode
from discreet.errors import OutOfRange
from discreet.loss import GaussianDP, Laplace, Profile, Pure, ZeroConcentrated
from discreet.loss.pure_pairs import LaplacePair
from tests.loss.oracles import at_least, laplace

SCALES = st.fractions(min_value=Fraction(1, 4), max_value=20, max_denominator=30)
EPSILONS = st.fractions(min_value=0, max_value=4, max_denominator=50)


@pytest.mark.theorem("laplace-profile")
@given(SCALES, EPSILONS)
def test_the_profile_is_the_closed_form(scale, epsilon):
    at_least(Laplace(scale=scale).delta(epsilon=epsilon), laplace(1 / scale, epsilon))


@given(SCALES, st.fractions(min_value=Fraction(1, 100), max_value=Fraction(99, 100)))
def test_the_tradeoff_is_that_of_two_shifted_laws(scale, alarm):
    shift = mpmath.exp(-mpmath.mpf(scale.denominator) / scale.numerator)
    a = mpmath.mpf(alarm.numerator) / alarm.denominator
    if a < shift / 2:
        truth = 1 - a / shift
    elif a <= 0.5:
        truth = shift / (4 * a)
    else:
        truth = shift * (1 - a)
    found = Laplace(scale=scale).tradeoff(false_alarm=alarm)
    assert found <= truth + 1e-30
    assert math.isclose(found, truth, abs_tol=1e-6)


@given(SCALES, st.integers(2, 8))
def test_the_divergence_has_its_closed_form(scale, order):
    e, a = 1 / mpmath.mpf(float(scale)), order
    total = a / mpmath.mpf(2 * a - 1) * mpmath.exp((a - 1) * e)
    total += (a - 1) / mpmath.mpf(2 * a - 1) * mpmath.exp(-a * e)
    truth = float(mpmath.log(total) / (a - 1))
    found = Laplace(scale=Fraction(float(scale))).renyi(order=order)
    assert truth * (1 - 1e-12) <= found <= truth * (1 + 1e-9) + 1e-12


@given(SCALES, st.integers(1, 5))
def test_a_group_divides_the_scale_as_the_chain_of_pairs_does(scale, size):
    group = Laplace(scale=scale).group(size)
    assert group == Laplace(scale=scale / size)
    assert group.profile() == Profile.of(LaplacePair(1 / scale)).group(size)


def test_integer_noise_loses_more_at_distance_one():
    integers, reals = dp.mechanisms.Laplace(scale=2).loss(), Laplace(scale=2)
    assert integers.epsilon(delta=0) == reals.epsilon(delta=0) == 0.5
    for k in range(10):
        epsilon = Fraction(k, 20)
        assert integers.delta(epsilon=epsilon) > reals.delta(epsilon=epsilon)
    assert Pure(epsilon="1/2").dominates(reals)
    assert not reals.dominates(Pure(epsilon="1/2"))
    assert reals.dominates(Laplace(scale=3))
    assert not Laplace(scale=3).dominates(reals)


def test_it_composes_prices_and_pays_in_every_currency():
    noise = Laplace(scale=4)
    pairs = Profile.of(LaplacePair(Fraction(1, 4)))
    assert noise.power(10).epsilon(delta="1e-6") == pairs.power(10).epsilon(delta="1e-6")
    mixed = noise.compose(GaussianDP(mu="0.3"))
    assert mixed.epsilon(delta="1e-6") == pairs.compose(GaussianDP(mu="0.3")).epsilon(delta="1e-6")
    rho = noise.concentrated()
    assert Fraction(1, 64) < rho < Fraction(1, 32)  # below epsilon**2 / 2 of a pure loss
    order = 2
    assert noise.renyi(order=order) <= ZeroConcentrated(rho=rho).renyi(order=order)
    assert account(Leaf(noise) * 2, relation="add_remove").epsilon(delta=0) == 0.5


def test_it_is_written_and_read():
    tree = Leaf(Laplace(scale="5/6"), name="paper") + Leaf(dp.mechanisms.Laplace(scale=2))
    again = decode(json.loads(json.dumps(encode(tree))))
    assert again == tree
    assert eval(repr(Laplace(scale="5/6")), {"loss": dp.loss, "Fraction": Fraction}) == Laplace(  # noqa: S307
        scale="5/6"
    )


@pytest.mark.parametrize("scale", [0, "0", -1, float("inf")])
def test_no_scale_no_loss(scale):
    with pytest.raises(OutOfRange):
        Laplace(scale=scale)
