from fractions import Fraction

import mpmath
import pytest

from discreet.loss import Approximate, GaussianDP, Pure
from tests.loss.formulas import (
    poisson_epsilon,
    poisson_profile,
    poisson_replace_profile,
)
from tests.loss.oracles import coin, hockey_stick, product_law


def curve(loss):
    return lambda epsilon: loss.delta(epsilon=epsilon)


def test_golden_values_of_poisson_sampling():
    assert poisson_epsilon(epsilon=1, rate="0.01") == pytest.approx(0.017036863236177, rel=1e-12)
    one, two = GaussianDP(mu=1), GaussianDP(mu=2)
    for epsilon, value in (("0.5", 0.00203253692034), ("0.05", 0.02614366295895)):
        found = poisson_profile(curve(one), rate="0.1", epsilon=epsilon)
        assert found == pytest.approx(value, rel=1e-11)
    replaced = poisson_replace_profile(curve(one), curve(two), rate="0.1", epsilon="0.3")
    assert replaced == pytest.approx(0.016499159718, rel=1e-10)
    exact = exact_replaced(mpmath.mpf("0.1"), mpmath.mpf("0.3"))
    assert float(exact) == pytest.approx(0.009696563149, rel=1e-7)
    assert replaced >= exact


def exact_replaced(rate, epsilon):
    """Sum (p - e**epsilon q)+ for sampled unit Gaussians at 1 and at -1: a half line."""

    def gap(x):
        return density(x, 1) - mpmath.exp(epsilon) * density(x, -1)

    def density(x, mean):
        return (1 - rate) * mpmath.npdf(x) + rate * mpmath.npdf(x, mean)

    def tail(x, mean):
        return (1 - rate) * mpmath.ncdf(-x) + rate * mpmath.ncdf(mean - x)

    start = mpmath.findroot(gap, 1)
    return tail(start, 1) - mpmath.exp(epsilon) * tail(start, -1)


def test_golden_values_of_the_two_directions():
    loss = GaussianDP(mu=1).sampled(rate="0.1")
    remove, add = loss.remove[0], loss.add[0]
    assert remove.delta(0.5).high == pytest.approx(0.00203253692034, rel=1e-9)
    assert remove.delta(0.05).high == pytest.approx(0.02614366295895, rel=1e-9)
    assert add.delta(0.05).high == pytest.approx(0.01057258135383, rel=1e-9)
    assert add.delta(0.5).high == 0.0
    assert loss.delta(epsilon=0.05) >= remove.delta(0.05).high


def test_the_golden_value_of_a_thousand_sampled_gaussians():
    loss = GaussianDP(mu=1).sampled(rate="0.01").power(1000)
    assert loss.epsilon(delta=1e-5) == pytest.approx(1.82824, abs=1e-4)


@pytest.mark.theorem("amplification")
@pytest.mark.parametrize("epsilon", ["0", "0.05", "0.1"])
def test_poisson_sampling_of_a_coin_by_enumeration(epsilon):
    rate = mpmath.mpf("0.1")
    one, two = coin(1, 1), coin(1, 0)
    mixed = {k: rate * one[k] + (1 - rate) * two[k] for k in (0, 1)}
    truth = hockey_stick(mixed, two, epsilon)
    found = Pure(epsilon=1).sampled(rate="0.1")
    assert truth <= found.remove[0].delta(float(epsilon)).high <= truth + 1e-9
    mapped = poisson_profile(curve(Pure(epsilon=1)), rate="0.1", epsilon=epsilon)
    assert truth - mpmath.mpf(10) ** -17 <= mapped <= truth + mpmath.mpf("1e-15")
    back = hockey_stick(two, mixed, epsilon)
    assert back <= found.add[0].delta(float(epsilon)).high <= back + 1e-9


@pytest.mark.theorem("amplification")
@pytest.mark.parametrize("epsilon", ["0", "0.1", "0.3"])
def test_samples_of_fixed_size_by_enumeration(epsilon):
    """One of four records is drawn and answers by randomized response; one record is replaced."""
    size = Fraction(1, 4)
    worst = mpmath.mpf(0)
    for others in range(4):
        laws = []
        for own in (0, 1):
            one = mpmath.mpf(others + own) / 4
            law = {k: one * coin(1, 1)[k] + (1 - one) * coin(1, 0)[k] for k in (0, 1)}
            laws.append(law)
        worst = max(worst, hockey_stick(*laws, epsilon), hockey_stick(*reversed(laws), epsilon))
    loss = Pure(epsilon=1).sampled_without_replacement(size=1, population=4)
    assert worst <= loss.delta(epsilon=epsilon) + 1e-15
    mapped = poisson_profile(curve(Pure(epsilon=1)), rate=size, epsilon=epsilon)
    assert loss.delta(epsilon=epsilon) == pytest.approx(mapped, rel=1e-12)


@pytest.mark.theorem("amplification")
@pytest.mark.parametrize("epsilon", ["0", "0.2", "0.6"])
def test_composed_samples_of_fixed_size_by_enumeration(epsilon):
    """Two rounds, each with a fresh sample: one of three records answers by randomized response."""
    worst = mpmath.mpf(0)
    for others in range(3):
        laws = []
        for own in (0, 1):
            one = mpmath.mpf(others + own) / 3
            laws.append({k: one * coin(1, 1)[k] + (1 - one) * coin(1, 0)[k] for k in (0, 1)})
        first, second = (product_law(law, law) for law in laws)
        worst = max(
            worst, hockey_stick(first, second, epsilon), hockey_stick(second, first, epsilon)
        )
    loss = Pure(epsilon=1).sampled_without_replacement(size=1, population=3).power(2)
    assert worst <= loss.delta(epsilon=epsilon)


def test_sampling_everything_changes_nothing():
    loss = GaussianDP(mu=1)
    assert loss.sampled(rate=1) == loss.profile()
    assert loss.sampled_without_replacement(size=5, population=5) == loss.profile()


def test_the_point_map_is_implied():
    loss = Approximate(epsilon=1, delta="1e-5").sampled(rate="0.01")
    epsilon = poisson_epsilon(epsilon=1, rate="0.01")
    assert loss.delta(epsilon=epsilon) <= 1e-7 * (1 + 1e-6)


def test_fixed_size_samples_of_a_gaussian():
    loss = GaussianDP(mu=1).sampled_without_replacement(size=10, population=100)
    truth = poisson_profile(curve(GaussianDP(mu=1)), rate="0.1", epsilon="0.5")
    assert truth * (1 - 1e-12) <= loss.delta(epsilon="0.5") <= truth * (1 + 1e-9)
    hundred = loss.power(100).interval(delta=1e-6)
    assert hundred.width <= 1e-4 * hundred.high
    removed = GaussianDP(mu=1).sampled(rate="0.1").power(100)
    assert removed.epsilon(delta=1e-6) < hundred.low  # both branches count here
