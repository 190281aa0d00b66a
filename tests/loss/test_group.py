import time
from fractions import Fraction

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import OutOfRange
from discreet.loss import (
    Approximate,
    Composition,
    GaussianDP,
    Profile,
    Pure,
    RenyiDP,
    ZeroConcentrated,
)
from discreet.loss.envelope import chained, grouped, upper_envelope
from discreet.loss.finite import FinitePair, chained_laws
from discreet.loss.gaussian import GaussianPair
from discreet.loss.moments import RenyiCurve, group_delta, group_renyi
from discreet.loss.pure_pairs import LaplacePair, ResponsePair
from tests.loss.finite_laws import covers, laws, of, times
from tests.loss.oracles import gaussian, real, response

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


F = Fraction


@pytest.mark.theorem("group-gaussian")
def test_gaussian_groups_multiply():
    loss = GaussianDP(mu="0.4").group(3)
    assert loss == GaussianDP(mu="1.2")
    assert loss.epsilon(delta=1e-6) == pytest.approx(6.021375901, abs=1e-8)


@pytest.mark.theorem("group-concentrated")
def test_concentrated_groups_grow_with_the_square():
    assert ZeroConcentrated(rho="0.08").group(3) == ZeroConcentrated(rho="0.72")


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
    chained = GaussianDP(mu="0.4").profile().as_one().group(2).delta(epsilon=1)
    assert gaussian("0.8", 1) <= chained <= 0.0632
    noise = Profile.of(LaplacePair(Fraction(1, 2))).as_one().group(2).delta(epsilon="0.5")
    assert noise == pytest.approx(0.2211992169286, rel=1e-5)
    pure = Pure(epsilon="0.5").profile().as_one().group(2).delta(epsilon="0.5")
    assert pure == pytest.approx(0.244918662, rel=1e-5)


def test_profiles_group_pair_by_pair():
    mixed = GaussianDP(mu="0.4").compose(Approximate(epsilon="0.5", delta="1e-6"))
    expected = GaussianDP(mu="1.2").compose(Approximate(epsilon="0.5", delta="1e-6").group(3))
    assert mixed.group(3) == expected
    with_curve = ZeroConcentrated(rho="0.1").compose(Pure(epsilon=1)).group(2)
    assert with_curve == ZeroConcentrated(rho="0.4").compose(Pure(epsilon=2))


@pytest.mark.theorem("group-profile")
@settings(max_examples=12)
@given(laws(3))
def test_two_steps_are_within_a_chain(found):
    p, r, q = found
    chain = chained(of(p, r), of(r, q))
    covers(chain, p, q)
    if len(p) < 4:
        covers(chain.power(2), times(p, p), times(q, q), (0.0, 0.4, 1.5))


@pytest.mark.theorem("group-profile")
@pytest.mark.parametrize(
    ("pair", "far", "eps"),
    [
        (GaussianPair(Fraction(4, 25)), GaussianPair(Fraction(16, 25)), 1.0),
        (LaplacePair(Fraction(1, 2)), LaplacePair(Fraction(1)), 0.5),
    ],
)
def test_chains_of_noise_are_exact(pair, far, eps):
    step = Composition(((pair, 1),))
    found, exact = chained(step, step), Composition(((far, 1),))
    assert exact.delta(eps).low <= found.delta(eps).high <= exact.delta(eps).high * (1 + 1e-5)
    for count in (3, 30):
        wide = found.power(count).epsilon(1e-6)
        assert exact.power(count).epsilon(1e-6).low <= wide.high
        assert wide.high <= exact.power(count).epsilon(1e-6).high * (1 + 2e-5)


@pytest.mark.theorem("group-profile")
def test_chains_of_responses_are_the_known_profiles():
    step = Composition(((ResponsePair(Fraction(1, 2)), 1),))
    assert chained(step, step).delta(0.5).high == pytest.approx(0.244918662, rel=1e-6)
    leaky = Composition(((ResponsePair(Fraction(1, 2), Fraction(1, 1000)), 1),))
    four = chained(chained(leaky, leaky), chained(leaky, leaky))
    known = Approximate(epsilon="0.5", delta="1e-3").group(4)
    assert four.delta(2.0).high == pytest.approx(float(known.delta_bound), rel=1e-6)
    assert four.delta(2.0).high >= float(known.delta_bound) * (1 - 1e-12)


def test_steps_that_lose_nothing_or_everything():
    step = Composition(((LaplacePair(Fraction(1)), 1),))
    assert chained(step, Composition()) == step
    assert chained(Composition(), step) == step
    gone = Composition(((ResponsePair(Fraction(0), Fraction(1)), 1),))
    assert chained(step, gone) == gone


@pytest.mark.theorem("group-profile")
def test_pairs_that_know_no_group_are_chained():
    """A joined loss at distance three is above both of its parts there."""
    parts = [LaplacePair(Fraction(1, 2)), GaussianPair(Fraction(1, 4))]
    both = upper_envelope([Composition(((pair, 1),)) for pair in parts])
    far = grouped(both, 3)
    for pair in parts:
        for eps in (0.1, 0.8, 1.4):
            exact = Composition(((pair.group(3), 1),)).delta(eps)
            assert far.delta(eps).high >= exact.low


@pytest.mark.theorem("sampled-groups")
def test_a_sample_knows_its_groups():
    loss = Pure(epsilon=1).sampled(rate="0.1")
    level = 1 / (1 + mpmath.e)  # of the best test for one of the two
    both = 1 - (1 - level) * mpmath.exp(-2) - level  # what that test tells of two
    exact = 2 * mpmath.mpf("0.09") * response(1, 0, 0) + mpmath.mpf("0.01") * both
    assert exact * (1 - 1e-12) <= loss.group(2).delta(epsilon=0) <= exact * (1 + 1e-6)
    largest = mpmath.log(mpmath.mpf("0.81") + mpmath.mpf("0.18") * mpmath.e + mpmath.e**2 / 100)
    assert float(loss.group(2).pure_bound()) == pytest.approx(float(largest), rel=1e-9)


THREE = FinitePair(
    tuple(Fraction(n, 1000) for n in (501, 299, 200)),
    tuple(Fraction(n, 1000) for n in (500, 300, 200)),
)
LEAKING = FinitePair(
    tuple(Fraction(n, 10) for n in (5, 3, 2)), tuple(Fraction(n, 10) for n in (5, 5, 0))
)


@pytest.mark.theorem("group-profile")
@pytest.mark.parametrize("pair", [THREE, LEAKING], ids=["bounded", "leaking"])
@pytest.mark.parametrize("size", [65])
def test_long_chains_of_finite_laws_are_above_the_exact_chain_and_close(pair, size):
    exact = Profile.of(FinitePair(*chained_laws(pair.p, pair.q, size)))
    ours = Profile.of(pair).group(size)
    for epsilon in (0.0, 0.1, 0.2):
        least = exact.delta_interval(epsilon).low
        assert least * (1 - 1e-12) <= ours.delta(epsilon) <= least * 1.01 + 1e-4


@pytest.mark.parametrize("pair", [THREE, LEAKING], ids=["bounded", "leaking"])
def test_groups_of_any_size_take_no_time_and_are_above_smaller_ones(pair):
    start, last = time.process_time(), 0.0
    for size in (130, 1025, 10**6, 10**12):
        delta = Profile.of(pair).group(size).delta(epsilon=1)
        assert delta >= last * (1 - 1e-9)
        last = delta
    assert time.process_time() - start < 20  # seconds; the exact chain would take years


def test_samples_of_the_largest_groups_cost_what_all_of_them_cost():
    noise = GaussianDP(mu="1e-12")
    assert noise.sampled(rate="0.5").group(10**12).epsilon(1e-6) == pytest.approx(
        GaussianDP(mu=1).epsilon(1e-6), rel=1e-6
    )


def test_groups_that_nothing_is_known_about_are_refused():
    for loss in (
        RenyiDP(orders=(2, 10), values=("0.1", "0.5")),
        GaussianDP(mu=1).sampled_without_replacement(size=10, population=1000),
    ):
        with pytest.raises(OutOfRange, match="too large"):
            loss.group(10**12).epsilon(1e-6)
    with pytest.raises(OutOfRange, match="too large"):  # of which the orders fall to 1
        RenyiDP(orders=(2, 10), values=("0.1", "0.5")).group(400)


@pytest.mark.theorem("group-renyi")
def test_long_chains_of_curves_are_rounded_up():
    curve = RenyiCurve(orders=(Fraction(100),), values=(Fraction(1, 10**4),))
    rounded = group_renyi(curve, 66)
    shorter = group_renyi(curve, 64)
    two = group_renyi(curve, 2)
    assert rounded.orders[-1] < shorter.orders[-1] < two.orders[-1] < 100
    assert rounded.values[-1] > shorter.values[-1] > two.values[-1]
    top = shorter.orders[-1]
    for _ in range(2):
        top = top * 100 / (top + 99)
    assert top * (1 - Fraction(1, 10**20)) <= rounded.orders[-1] <= top
