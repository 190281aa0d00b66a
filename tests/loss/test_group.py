from fractions import Fraction

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import OutOfRange
from discreet.loss import Approximate, GaussianDP, Profile, Pure, RenyiDP, ZeroConcentrated
from discreet.loss.group import (
    group_delta,
    group_profile,
    group_renyi,
    group_truncated_concentrated,
)
from discreet.loss.pairs.laplace import LaplacePair
from discreet.loss.renyi_curve import RenyiCurve
from tests.loss.oracles import gaussian, real

SMALL = st.fractions(min_value=0, max_value=2, max_denominator=20)


@pytest.mark.theorem("group-approximate")
@given(SMALL, st.fractions(min_value=0, max_value=Fraction(1, 100)), st.integers(1, 6))
def test_the_delta_of_a_group_is_attained_by_a_chain(epsilon, delta, size):
    chance = mpmath.mpf(0)
    for _ in range(size):
        chance = min(mpmath.mpf(1), mpmath.exp(real(epsilon)) * chance + real(delta))
    found = group_delta(epsilon=epsilon, delta=delta, size=size)
    assert chance * (1 - mpmath.mpf(10) ** -40) <= real(found) <= chance * (1 + 1e-15) + 1e-40


def test_golden_values_of_approximate_groups():
    loss = Approximate(epsilon="0.5", delta="1e-6").group(3)
    assert loss.epsilon_bound == Fraction(3, 2)
    assert float(loss.delta_bound) == pytest.approx(5.367003099e-6, rel=1e-9)
    loss = Approximate(epsilon="0.5", delta="1e-3").group(4)
    assert float(loss.delta_bound) == pytest.approx(0.009848692169497, rel=1e-12)
    assert Approximate(epsilon=1000, delta="1e-3").group(4).delta_bound == 1


@pytest.mark.theorem("group-pure")
def test_pure_groups_multiply():
    assert Pure(epsilon="0.1").group(3) == Pure(epsilon="0.3")
    assert Pure(epsilon="0.1").power(2).group(3).pure_bound() == Fraction(6, 10)


@pytest.mark.theorem("group-gaussian")
def test_gaussian_groups_multiply():
    loss = GaussianDP(mu="0.4").group(3)
    assert loss == GaussianDP(mu="1.2")
    assert loss.epsilon(delta=1e-6) == pytest.approx(6.021375901, abs=1e-8)


@pytest.mark.theorem("group-concentrated")
def test_concentrated_groups_grow_with_the_square():
    assert ZeroConcentrated(rho="0.08").group(3) == ZeroConcentrated(rho="0.72")
    assert group_truncated_concentrated(rho="0.1", largest_order=50, size=5) == (
        Fraction(5, 2),
        Fraction(10),
    )


@pytest.mark.theorem("group-renyi")
def test_renyi_groups_recover_the_gaussian():
    orders = (2, 3, 4, 5, 6, 7, 8, 16, 32)
    one = RenyiDP(orders=orders, values=[Fraction(a, 8) for a in orders])
    two = one.group(2)
    assert two.renyi(order=4) == 2.0
    assert 3 * one.renyi(order=8) == 3.0  # what halving the order would say
    assert all(two.renyi(order=a) >= a / 2 for a in two.orders)
    three = one.group(3)
    assert all(three.renyi(order=a) >= 9 * a / 8 - 1e-12 for a in three.orders)
    assert group_renyi(RenyiCurve(rho=Fraction(1, 8)), 2) == RenyiCurve(rho=Fraction(1, 2))
    assert RenyiDP(orders=(10,), values=(1,)).group(3).orders[-1] > 1


@pytest.mark.theorem("group-profile")
def test_profiles_of_groups():
    unit = GaussianDP(mu="0.4")
    found = group_profile(lambda e: unit.delta(epsilon=e), Fraction(1), 2)
    assert found == pytest.approx(0.06318515053963, rel=1e-8)
    assert found >= gaussian("0.8", 1)
    noise = Profile.of(LaplacePair(Fraction(1, 2)))
    found = group_profile(lambda e: noise.delta(epsilon=e), Fraction(1, 2), 2)
    assert found == pytest.approx(0.2211992169286, rel=1e-8)
    pure = Pure(epsilon="0.5")
    found = group_profile(lambda e: pure.delta(epsilon=e), Fraction(1, 2), 2)
    assert found == pytest.approx(0.244918662, rel=1e-8)


def test_profiles_group_pair_by_pair():
    mixed = GaussianDP(mu="0.4").compose(Approximate(epsilon="0.5", delta="1e-6"))
    expected = GaussianDP(mu="1.2").compose(Approximate(epsilon="0.5", delta="1e-6").group(3))
    assert mixed.group(3) == expected
    with_curve = ZeroConcentrated(rho="0.1").compose(Pure(epsilon=1)).group(2)
    assert with_curve == ZeroConcentrated(rho="0.4").compose(Pure(epsilon=2))


def test_a_sample_knows_no_groups():
    with pytest.raises(OutOfRange):
        Pure(epsilon=1).sampled(rate="0.1").group(2)
