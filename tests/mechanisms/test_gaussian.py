"""The Gaussian mechanism: tight where all moves can be listed, concentrated everywhere."""

import itertools
import math
from fractions import Fraction

import pytest

from discreet.loss import GaussianDP, Profile, ZeroConcentrated
from discreet.loss.gaussian import DiscreteGaussianPair, SmoothedGaussianPair
from discreet.mechanisms import Gaussian
from discreet.noise import DiscreteGaussian, DyadicGrid

F = Fraction


@pytest.mark.theorem("gaussian-mechanism")
@pytest.mark.parametrize("distance", [1, 2, 3])
def test_the_exact_curve_is_below_the_concentrated_bound(distance):
    noisy = Gaussian(sigma=3)
    exact, bound = noisy.loss(distance=distance), noisy.concentrated(distance=distance)
    assert bound == ZeroConcentrated(rho=F(distance**2, 18))
    for delta in (1e-3, 1e-6, 1e-9):
        assert exact.epsilon(delta=delta) <= bound.epsilon(delta=delta)
    assert math.isinf(exact.epsilon(delta=0))


@pytest.mark.theorem("gaussian-mechanism")
@pytest.mark.parametrize("sigma", [4, 20])
def test_the_curve_is_nearly_that_of_the_continuous_law(sigma):
    """Row M4: the analytic curve, which is valid for every epsilon, not the classical bound."""
    exact = Gaussian(sigma=sigma).loss(distance=1)
    continuous = GaussianDP(mu=F(1, sigma))
    for delta in (1e-3, 1e-6):
        near = pytest.approx(continuous.epsilon(delta=delta), rel=0.01)
        assert exact.epsilon(delta=delta) == near
    classical = math.sqrt(2 * math.log(1.25 / 1e-6)) / sigma
    assert exact.epsilon(delta=1e-6) < classical


def test_the_classical_bound_is_wrong_above_one_and_ours_is_not():
    """sigma = sqrt(2 ln(1.25 / delta)) / epsilon is proved for epsilon < 1 only."""
    epsilon, delta = 10, F(1, 10)
    sigma = math.sqrt(2 * math.log(1.25 / delta)) / epsilon
    assert GaussianDP(mu=1 / sigma).delta_interval(epsilon=epsilon).low > 4 * delta
    law = DiscreteGaussian(variance=9)
    exact = sum(max(0.0, law.pmf(k - 1) - math.exp(0.3) * law.pmf(k)) for k in range(-60, 61))
    assert Gaussian(sigma=3).loss(distance=1).delta(epsilon=0.3) == pytest.approx(exact, abs=1e-12)


@pytest.mark.theorem("log-concave-moves")
@pytest.mark.parametrize("move", [(1, 1, 1), (2,), (1, 1)])
def test_the_loss_of_a_vector_covers_every_move_of_its_length(move):
    law, epsilon = DiscreteGaussian(variance=1), 0.5
    window = range(-7, 10)
    chance = {k: law.pmf(k) for k in range(-10, 11)}
    delta = 0.0
    for y in itertools.product(window, repeat=len(move)):
        here = math.prod(chance.get(a - b, 0.0) for a, b in zip(y, move, strict=True))
        there = math.prod(chance.get(a, 0.0) for a in y)
        delta += max(0.0, here - math.exp(epsilon) * there)
    squared = sum(step * step for step in move)
    distance = F(math.ceil(math.sqrt(squared) * 1000), 1000)
    loss = Gaussian(variance=1).loss(distance=distance, coordinates=len(move))
    assert isinstance(loss, Profile)
    assert delta <= loss.delta(epsilon=epsilon) + 1e-9
    assert delta == pytest.approx(loss.delta(epsilon=epsilon), abs=1e-6)


@pytest.mark.theorem("gaussian-smoothing")
def test_long_moves_of_many_coordinates_are_priced_by_one_gaussian():
    noisy = Gaussian(sigma=100)
    bound = noisy.concentrated(distance=30, coordinates=50)
    assert bound == ZeroConcentrated(rho=F(900, 20_000))
    loss = noisy.loss(distance=30, coordinates=50)
    continuous = GaussianDP(mu=F(3, 10))
    for count, delta in itertools.product((1, 100), (1e-3, 1e-6, 1e-12)):
        found = loss.power(count).epsilon(delta=delta)
        assert found < bound.power(count).epsilon(delta=delta)
        assert found == pytest.approx(continuous.power(count).epsilon(delta=delta), rel=5e-4)
    assert isinstance(noisy.loss(distance=30), Profile)


def vector_profile(variance, move, epsilon, reach):
    """The exact profile of a move, by a sum over all outcomes in a window."""
    law = DiscreteGaussian(variance=variance)
    chance = {k: law.pmf(k) for k in range(-2 * reach, 2 * reach + 1)}
    delta = 0.0
    for y in itertools.product(range(-reach, reach + 1), repeat=len(move)):
        here = math.prod(chance[a - b] for a, b in zip(y, move, strict=True))
        there = math.prod(chance[a] for a in y)
        delta += max(0.0, here - math.exp(epsilon) * there)
    return delta


@pytest.mark.theorem("gaussian-smoothing")
@pytest.mark.parametrize("move", [(3,), (2, 2), (2, 1), (0, 3)])
def test_competing_moves_are_all_covered(move):
    loss = Gaussian(variance=40).loss(distance=3, coordinates=2)
    for epsilon in (0.0, 0.2, 0.6):
        exact = vector_profile(40, move, epsilon, 40)
        assert exact <= loss.delta(epsilon=epsilon) + 1e-9
        if sum(step * step for step in move) == 9:
            assert exact >= 0.7 * loss.delta(epsilon=epsilon)


@pytest.mark.theorem("gaussian-smoothing")
@pytest.mark.parametrize("sigma", [10**4, 10**6])
def test_wide_noise_costs_what_continuous_noise_costs(sigma):
    whole = Gaussian(sigma=sigma).loss(distance=100)
    step = F(1, 2**14)
    real = Gaussian(sigma=sigma * step, grid=DyadicGrid(exponent=-14))
    for delta in (1e-3, 1e-6, 1e-9):
        exact = GaussianDP(mu=F(100, sigma)).epsilon(delta=delta)
        assert whole.epsilon(delta=delta) == pytest.approx(exact, rel=1e-6, abs=1e-15)
        on_grid = GaussianDP(mu=F(101, sigma)).epsilon(delta=delta)  # rounding adds a step
        found = real.loss(distance=100 * step).epsilon(delta=delta)
        assert exact * (1 - 1e-6) <= found <= on_grid * (1 + 1e-6)


def test_noise_that_can_be_listed_keeps_its_exact_curve():
    listed, wide = Gaussian(sigma=3000).loss(distance=7), Gaussian(sigma=4000).loss(distance=7)
    assert listed.remove[0].pairs == ((DiscreteGaussianPair(F(3000**2), 7), 1),)
    assert isinstance(wide.remove[0].pairs[0][0], SmoothedGaussianPair)
    assert wide.epsilon(delta=1e-9) < listed.epsilon(delta=1e-9)


def test_narrow_noise_in_several_coordinates_is_priced_by_the_bound():
    noisy = Gaussian(variance=20)
    assert noisy.loss(distance=2, coordinates=9) == ZeroConcentrated(rho=F(4, 40))
    wider = Gaussian(variance=30)
    found, bound = (
        make(distance=2, coordinates=9).epsilon(delta=1e-2)
        for make in (wider.loss, wider.concentrated)
    )
    assert found < 0.9 * bound


def test_a_root_may_be_rounded_up():
    noisy = Gaussian(sigma=3)
    assert noisy.concentrated(distance="1.4143", coordinates=2) == ZeroConcentrated(rho=F(2, 18))
    assert noisy.loss(distance="1.4143", coordinates=2) == noisy.loss(distance="1.5", coordinates=2)
    assert noisy.loss(distance="1.4143") == noisy.loss(distance=2)  # one number, by whole steps


@pytest.mark.theorem("grid-distance")
def test_distances_on_a_grid():
    real = Gaussian(sigma=2, grid=DyadicGrid(exponent=-1))
    steps = Gaussian(sigma=4)
    assert real.loss(distance="0.7") == steps.loss(distance=2)
    assert real.error(confidence=0.9) == (steps.error(confidence=0.9) + F(1, 2)) / 2
    assert real.concentrated(distance=1, coordinates=4).rho >= F(4, 32)


@pytest.mark.parametrize("coordinates", [1, 3, 1000])
def test_simultaneous_errors_are_exact(coordinates):
    law = DiscreteGaussian(variance=25)
    reach = Gaussian(sigma=5).error(confidence="0.95", coordinates=coordinates)
    chances = [coordinates * math.log1p(-2 * law.survival(r)) for r in (reach, reach - 1)]
    assert chances[0] >= math.log(0.95) > chances[1]
