"""The Gaussian mechanism: tight where all moves can be listed, concentrated everywhere."""

import itertools
import math
from fractions import Fraction

import pytest

from discreet.loss import GaussianDP, Profile, ZeroConcentrated
from discreet.mechanisms import Gaussian
from discreet.mechanisms.moves import worst_moves
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
def test_worst_moves_cover_all_others():
    for squared, places in itertools.product(range(1, 9), range(1, 5)):
        kept = worst_moves(squared=squared, coordinates=places)
        assert all(sum(step**2 for step in move) <= squared for move in kept)
        assert all(len(move) <= places for move in kept)
    assert worst_moves(squared=3, coordinates=9) == ((1, 1, 1),)
    assert worst_moves(squared=4, coordinates=2) == ((2,),)
    assert worst_moves(squared=5, coordinates=2) == ((2, 1),)
    assert worst_moves(squared=4, coordinates=4) == ((1, 1, 1, 1), (2,))


@pytest.mark.theorem("log-concave-moves")
@pytest.mark.parametrize("move", [(1, 1, 1), (2,), (1, 1), (2, 1)])
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
    if len(worst_moves(squared=squared, coordinates=len(move))) == 1:
        assert delta == pytest.approx(loss.delta(epsilon=epsilon), abs=1e-6)


def test_long_moves_of_many_coordinates_are_priced_by_the_bound():
    noisy = Gaussian(sigma=100)
    assert noisy.loss(distance=30, coordinates=50) == ZeroConcentrated(rho=F(900, 20_000))
    assert isinstance(noisy.loss(distance=30), Profile)


def test_a_root_may_be_rounded_up():
    noisy = Gaussian(sigma=3)
    assert noisy.concentrated(distance="1.4143", coordinates=2) == ZeroConcentrated(rho=F(2, 18))
    assert noisy.loss(distance="1.4143", coordinates=2) == noisy.loss(distance="1.5", coordinates=2)
    assert noisy.loss(distance="1.4143") == noisy.loss(distance=1)  # one coordinate moves by 1


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
