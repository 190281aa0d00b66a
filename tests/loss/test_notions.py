import math
from fractions import Fraction
from itertools import pairwise

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import OutOfRange, WrongKind
from discreet.loss import (
    Approximate,
    GaussianDP,
    PrivacyLoss,
    Profile,
    Pure,
    RenyiDP,
    ZeroConcentrated,
)
from discreet.loss.moments import pure_to_gaussian_mu
from discreet.loss.privacy_loss import missed_detections
from discreet.loss.pure_pairs import LaplacePair
from discreet.loss.shuffle import Shuffle
from discreet_course.textbook import advanced, group_loose
from tests.loss.oracles import at_least, gaussian, laplace, real, response

ALL = [
    Pure(epsilon=1),
    Approximate(epsilon="0.5", delta="1e-3"),
    ZeroConcentrated(rho="0.1"),
    GaussianDP(mu="0.7"),
    RenyiDP(orders=(2, 4, 8, 16, 32), values=("0.1", "0.2", "0.4", "0.8", "1.6")),
    Profile.of(LaplacePair(Fraction(1))),
    Pure(epsilon="0.3").compose(GaussianDP(mu="0.5")),
]
NAMES = [type(loss).__name__ for loss in ALL]
EPSILONS = st.fractions(min_value=0, max_value=4, max_denominator=50)
every = pytest.mark.parametrize("loss", ALL, ids=NAMES)


@given(EPSILONS, EPSILONS)
def test_pure_is_randomized_response(epsilon, target):
    at_least(Pure(epsilon=epsilon).delta(epsilon=target), response(epsilon, 0, target))


@pytest.mark.theorem("randomized-response")
@given(EPSILONS, st.integers(0, 6).map(lambda k: Fraction(1, 10**k)), EPSILONS)
def test_approximate_is_randomized_response(epsilon, delta, target):
    loss = Approximate(epsilon=epsilon, delta=delta)
    at_least(loss.delta(epsilon=target), response(epsilon, delta, target))


@pytest.mark.theorem("randomized-response")
@given(EPSILONS, st.integers(0, 15).map(lambda k: Fraction(1, 10**k)))
def test_the_epsilon_of_randomized_response(epsilon, delta):
    rest = 1 - real(delta) * (1 + mpmath.exp(-real(epsilon)))
    truth = max(mpmath.mpf(0), real(epsilon) + mpmath.log(rest)) if rest > 0 else mpmath.mpf(0)
    bracket = Pure(epsilon=epsilon).interval(delta=delta)
    assert bracket.low <= truth <= bracket.high
    assert bracket.width <= 1e-15 * max(1, bracket.high)


@settings(max_examples=50)
@given(EPSILONS, st.fractions(min_value=Fraction(1, 10), max_value=3, max_denominator=50))
def test_gaussian_has_its_closed_form(epsilon, mu):
    truth = gaussian(mu, epsilon)
    at_least(GaussianDP(mu=mu).delta(epsilon=epsilon), truth, absolute=1e-40)


def test_golden_values_of_one_release():
    assert GaussianDP(mu=1).delta(epsilon=1) == pytest.approx(0.12693673750664, rel=1e-12)
    assert GaussianDP(mu="0.5").delta(epsilon=1) == pytest.approx(0.00682959498311, rel=1e-11)
    assert GaussianDP(mu=1).epsilon(delta=1e-5) == pytest.approx(4.377178095681, abs=1e-9)
    two = GaussianDP(mu=1).power(2)
    assert two == GaussianDP(mu_squared=2)
    assert two.epsilon(delta=1e-5) == pytest.approx(6.572970067030, abs=1e-9)
    noise = Profile.of(LaplacePair(Fraction(1)))
    assert noise.delta(epsilon=0.5) == pytest.approx(0.22119921692860, rel=1e-12)
    assert Pure(epsilon=1).delta(epsilon=0.5) == pytest.approx(0.28764913664497, rel=1e-12)


def test_golden_values_of_compositions():
    hundred = Pure(epsilon="0.1").power(100)
    assert hundred.epsilon(delta=1e-5) == pytest.approx(4.306791372517, abs=1e-9)
    assert Pure(epsilon=1).power(5).delta(epsilon=4) == pytest.approx(0.13199601015, rel=1e-9)
    noise = Profile.of(LaplacePair(Fraction(1))).power(5)
    assert noise.delta(epsilon=4) == pytest.approx(0.05298688, abs=1e-6)
    assert noise.epsilon(delta=1e-6) == pytest.approx(4.999968, abs=1e-5)


@every
def test_epsilon_and_delta_are_inverse(loss):
    for delta in (1e-2, 1e-6):
        epsilon = loss.epsilon(delta=delta)
        if math.isfinite(epsilon):
            assert loss.delta(epsilon=epsilon) <= delta * (1 + 1e-6)


@every
def test_intervals_hold_what_is_published(loss):
    at_delta, at_epsilon = loss.interval(delta="1e-4"), loss.delta_interval(epsilon="0.5")
    assert at_delta.high == loss.epsilon(delta="1e-4")
    assert at_epsilon.high == loss.delta(epsilon="0.5")
    assert at_delta.low <= at_delta.high
    assert at_epsilon.low <= at_epsilon.high


@every
def test_the_profile_says_the_same(loss):
    wide = loss.profile()
    for epsilon in ("0", "0.5", "1.5"):
        assert wide.delta(epsilon=epsilon) == pytest.approx(loss.delta(epsilon=epsilon), rel=1e-3)
    assert wide.renyi(order=2) == pytest.approx(loss.renyi(order=2), rel=1e-9)


@every
def test_a_tradeoff_is_below_the_diagonal_and_falls(loss):
    values = [loss.tradeoff(false_alarm=alarm) for alarm in ("0", "0.05", "0.3", "0.9", "1")]
    assert all(a >= b for a, b in pairwise(values))
    assert all(0 <= v <= 1 - a for v, a in zip(values, (0, 0.05, 0.3, 0.9, 1), strict=True))


@pytest.mark.theorem("tradeoff-duality")
@pytest.mark.parametrize("alarm", ["0.001", "0.05", "0.3", "0.8"])
def test_tradeoffs_in_closed_form(alarm):
    alpha = real(Fraction(alarm))
    e = mpmath.e
    truth = max(mpmath.mpf(0), 1 - e * alpha, (1 - alpha) / e)
    found = Pure(epsilon=1).tradeoff(false_alarm=alarm)
    assert truth - 1e-6 <= found <= truth
    mu = mpmath.mpf("0.7")
    truth = mpmath.ncdf(mpmath.sqrt(2) * mpmath.erfinv(1 - 2 * alpha) - mu)
    loss = GaussianDP(mu="0.7")
    assert truth * (1 - mpmath.mpf("1e-12")) <= loss.tradeoff(false_alarm=alarm) <= truth
    assert truth - 1e-6 <= loss.profile().tradeoff(false_alarm=alarm) <= truth


@pytest.mark.theorem("gaussian-composition")
def test_gaussians_add_their_squares():
    assert GaussianDP(mu=3).compose(GaussianDP(mu=4)) == GaussianDP(mu=5)
    assert repr(GaussianDP(mu=1).power(2)) == "GaussianDP(mu_squared=Fraction(2, 1))"
    assert GaussianDP(mu=1).power(2).mu >= math.sqrt(2)


@pytest.mark.theorem("concentrated-composition")
def test_concentrated_losses_add():
    both = ZeroConcentrated(rho="0.1").compose(ZeroConcentrated(rho="0.2"))
    assert both == ZeroConcentrated(rho="0.3") == ZeroConcentrated(rho="0.1").power(3)


@pytest.mark.theorem("renyi-composition")
def test_renyi_losses_add_order_by_order():
    one = RenyiDP(orders=(2, 4), values=(1, 3))
    assert one.compose(one) == one.power(2) == RenyiDP(orders=(2, 4), values=(2, 6))
    assert one.renyi(order=3) <= 3
    assert one.renyi(order=5) == math.inf
    mixed = one.compose(Pure(epsilon=1))
    assert mixed.renyi(order=2) == pytest.approx(1 + Pure(epsilon=1).renyi(order=2))


def test_mixed_compositions_are_profiles():
    mixed = Pure(epsilon=1).compose(GaussianDP(mu=1))
    assert isinstance(mixed, Profile)
    assert mixed.epsilon(delta=0) == math.inf
    assert mixed.pure_bound() is None
    zero = Pure(epsilon=1).power(0)
    assert zero.epsilon(delta=0) == 0.0
    assert zero.delta(epsilon=0) == 0.0


def test_pure_bounds_add_exactly():
    ten = Pure(epsilon=0.1).power(10)
    assert ten.epsilon(delta=0) == 1.0
    assert ten.pure_bound() == 1
    assert Pure(epsilon=1).dominates(ten)
    assert not Pure(epsilon="0.999").dominates(ten)


def test_below_its_delta_an_approximate_loss_is_infinite():
    loss = Approximate(epsilon=1, delta="1e-3")
    assert loss.epsilon(delta="1e-4") == math.inf
    assert loss.epsilon(delta="1e-3") == 1.0
    assert loss.epsilon(delta=1) == 0.0
    assert loss.renyi(order=2) == math.inf
    assert loss.concentrated() is None
    assert loss.pure_bound() is None
    assert Approximate(epsilon=1, delta=0).pure_bound() == 1
    assert Approximate(epsilon=1, delta=0).concentrated() == Pure(epsilon=1).concentrated()
    assert Approximate(epsilon=1, delta=0).renyi(order=2) == Pure(epsilon=1).renyi(order=2)


def test_joins():
    assert Pure(epsilon=1).join(Pure(epsilon=2)) == Pure(epsilon=2)
    assert GaussianDP(mu=2).join(GaussianDP(mu=1)) == GaussianDP(mu=2)
    worst = Pure(epsilon=1)
    noise = Profile.of(LaplacePair(Fraction(6, 5)))
    both = worst.join(noise)
    assert both.delta(epsilon=0) == pytest.approx(0.46211715726, rel=1e-10)
    assert both.delta(epsilon="1.1") == pytest.approx(0.04877057549929, rel=1e-10)
    assert len(both.remove) == 2
    assert both.power(2).remove == both.compose(both).remove
    assert len(both.power(2).remove) == 1  # which one it is may depend on earlier outputs
    at_least(both.delta(epsilon="0.3"), max(response(1, 0, "0.3"), laplace("1.2", "0.3")))


@pytest.mark.theorem("dominance")
def test_dominance_within_and_across_notions():
    assert GaussianDP(mu=2).dominates(GaussianDP(mu=1))
    assert not GaussianDP(mu=1).dominates(GaussianDP(mu=2))
    assert GaussianDP(mu="1.3").dominates(Pure(epsilon=1))
    assert not GaussianDP(mu="1.2").dominates(Pure(epsilon=1))
    assert ZeroConcentrated(rho="0.5").dominates(GaussianDP(mu=1))
    assert not ZeroConcentrated(rho="0.49").dominates(GaussianDP(mu=1))
    assert ZeroConcentrated(rho="0.47").dominates(Pure(epsilon=1))
    assert not ZeroConcentrated(rho=100).dominates(Approximate(epsilon=0, delta="0.1"))
    assert Approximate(epsilon=1, delta="0.13").dominates(GaussianDP(mu=1))
    assert not Approximate(epsilon=1, delta="0.12").dominates(GaussianDP(mu=1))
    assert Approximate(epsilon=1, delta="0.1").dominates(Approximate(epsilon=1, delta="0.1"))
    curve = RenyiDP(orders=(2, 4), values=(1, 2))
    assert curve.dominates(GaussianDP(mu=1))
    assert not curve.dominates(GaussianDP(mu="1.1"))
    noise = Profile.of(LaplacePair(Fraction(1)))
    assert Pure(epsilon=1).power(3).dominates(noise.power(2))
    assert not noise.power(3).dominates(Pure(epsilon=1).power(2))
    assert not noise.dominates(ZeroConcentrated(rho=1))
    assert not noise.dominates(GaussianDP(mu=1))


@every
def test_bad_questions_are_refused(loss):
    for ask in (
        lambda: loss.delta(epsilon=-1),
        lambda: loss.delta(epsilon=math.nan),
        lambda: loss.delta(epsilon=math.inf),
        lambda: loss.epsilon(delta=-1),
        lambda: loss.epsilon(delta=2),
        lambda: loss.epsilon(delta=math.nan),
        lambda: loss.renyi(order=1),
        lambda: loss.renyi(order=math.nan),
        lambda: loss.tradeoff(false_alarm=2),
        lambda: loss.power(-1),
        lambda: loss.group(0),
        lambda: loss.sampled(rate=0),
        lambda: loss.sampled(rate=2),
        lambda: loss.sampled_without_replacement(size=0, population=10),
        lambda: loss.sampled_without_replacement(size=11, population=10),
    ):
        with pytest.raises(OutOfRange):
            ask()
    for ask in (lambda: loss.power(1.5), lambda: loss.compose(3), lambda: loss.join("x")):
        with pytest.raises(WrongKind):
            ask()


def test_a_notion_is_abstract():
    with pytest.raises(TypeError):
        PrivacyLoss()


def test_very_large_numbers_are_answered_quickly():
    large = 10**6
    for loss in (*ALL, Pure(epsilon=large), GaussianDP(mu=10**6), ZeroConcentrated(rho=10**9)):
        assert 0 <= loss.delta(epsilon=large) <= 1
        assert 0 <= loss.delta(epsilon=0) <= 1
        assert loss.epsilon(delta=1e-6) >= 0
    assert GaussianDP(mu_squared=10**9).compose(GaussianDP(mu=1)).mu_squared == 10**9 + 1
    assert group_loose(Approximate(epsilon=500, delta="1e-6"), size=9).delta_bound == 1
    assert Shuffle(epsilon=large, population=5).delta(epsilon=large) <= 1
    with pytest.raises(OutOfRange):
        advanced(Approximate(epsilon=large, delta=0), count=2, slack="0.1")


@pytest.mark.theorem("tradeoff-duality")
@pytest.mark.parametrize("epsilon", ["0", "0.01", "0.5", "1", "3", "40", "999", "1001", "9999"])
@pytest.mark.parametrize("alarm", ["0", "1e-300", "0.01", "0.3", "0.9", "1"])
def test_the_tradeoff_of_pure_privacy_is_that_of_randomized_response(epsilon, alarm):
    loss, chance = Pure(epsilon=epsilon), Fraction(alarm)
    found = loss.tradeoff(false_alarm=alarm)
    with mpmath.workdps(1000):
        growth, exact = (
            mpmath.exp(mpmath.mpf(epsilon)),
            mpmath.mpf(chance.numerator) / chance.denominator,
        )
        truth = max(1 - growth * exact, (1 - exact) / growth, mpmath.mpf(0))
        assert mpmath.mpf(found) <= truth
        assert truth - mpmath.mpf(found) <= mpmath.mpf(2) ** -50 * truth + mpmath.mpf("1e-300")

    def curve(at):
        return loss.delta(epsilon=Fraction(at))

    assert found >= missed_detections(curve, curve, chance)


@pytest.mark.theorem("pure-to-concentrated")
@pytest.mark.parametrize("epsilon", [0.01, 0.1, 1, 3, 20])
def test_pure_losses_are_concentrated_and_no_smaller_rho_holds(epsilon):
    rho = epsilon * math.tanh(epsilon / 2)
    loss = Pure(epsilon=epsilon)
    for order in (1.001, 1.5, 2, 8, 64):
        assert loss.renyi(order=order) <= rho * order * (1 + 1e-12)
    assert loss.renyi(order=1.001) >= rho * (1 - 1e-12)


@pytest.mark.theorem("pure-to-gaussian")
@pytest.mark.parametrize("epsilon", ["0.01", "0.5", "1", "4"])
def test_pure_losses_are_gaussian(epsilon):
    mu = pure_to_gaussian_mu(epsilon=epsilon)
    exact = 2 * mpmath.sqrt(2) * mpmath.erfinv(mpmath.tanh(mpmath.mpf(epsilon) / 2))
    assert exact <= mpmath.mpf(mu.numerator) / mu.denominator <= exact * (1 + mpmath.mpf("1e-13"))
    for target in ("0", "0.3", "2"):
        assert GaussianDP(mu=mu).delta(epsilon=target) >= Pure(epsilon=epsilon).delta(
            epsilon=target
        )


@pytest.mark.theorem("gaussian-to-concentrated")
@pytest.mark.parametrize("order", [1.5, 2, 30])
def test_gaussian_losses_are_concentrated(order):
    assert GaussianDP(mu=3).renyi(order=order) == pytest.approx(4.5 * order, rel=1e-12)
