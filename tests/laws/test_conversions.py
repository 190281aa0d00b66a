"""No conversion ends below the tight value, and a longer chain never lowers a loss."""

from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.loss import GaussianDP, Profile, ZeroConcentrated, convert
from discreet.loss.conversions import approximate_at, pure_to_gaussian, renyi_at
from tests.laws.losses import TARGETS, gaussian, known, pure

COUNTS = st.integers(1, 20)
ORDERS = tuple(1 + Fraction(k, 4) for k in (1, 2, 4, 8, 16, 32, 64, 128))


@settings(max_examples=40)
@given(known, COUNTS, TARGETS)
def test_renyi_orders_never_promise_less_than_the_profile(loss, count, target):
    many = loss.power(count)
    if many.renyi(order=2) > 10**5:
        return
    curve = renyi_at(many, orders=ORDERS)
    assert curve.delta(epsilon=target) >= many.delta_interval(epsilon=target).low


@settings(max_examples=40)
@given(st.one_of(pure, gaussian), COUNTS, TARGETS)
def test_concentrated_never_promises_less_than_the_profile(loss, count, target):
    converted = convert(loss, ZeroConcentrated).power(count)
    tight = loss.power(count).delta_interval(epsilon=target)
    assert converted.delta(epsilon=target) >= tight.low


@settings(max_examples=40)
@given(pure, COUNTS, TARGETS)
def test_longer_chains_never_gain(loss, count, target):
    direct = convert(loss, ZeroConcentrated).power(count)
    through = convert(pure_to_gaussian(loss), ZeroConcentrated).power(count)
    assert through.rho >= direct.rho
    assert through.delta(epsilon=target) >= direct.delta(epsilon=target)
    wide = convert(loss, GaussianDP).power(count)
    assert wide.delta(epsilon=target) >= loss.power(count).delta_interval(epsilon=target).low


@settings(max_examples=30)
@given(known, TARGETS, st.sampled_from(["1e-3", "1e-6"]))
def test_a_point_of_the_profile_says_less_than_the_profile(loss, target, delta):
    if loss.epsilon(delta=delta) > 100:
        return
    point = approximate_at(loss, delta=delta)
    assert point.delta(epsilon=target) >= loss.delta_interval(epsilon=target).low
    assert isinstance(convert(loss, Profile), Profile)
