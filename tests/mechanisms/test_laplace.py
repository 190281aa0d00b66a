"""The Laplace mechanism: the numbers of the course, vectors, grids and simultaneous errors."""

import functools
import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.loss import Profile
from discreet.loss.pure_pairs import DiscreteLaplacePair
from discreet.mechanisms import Laplace
from discreet.mechanisms.additive import laplace_pair
from discreet.noise import DiscreteLaplace, DyadicGrid
from discreet_course.sensitivity import sum_sensitivity
from tests.noise.laws import stream

F = Fraction
FINE = DyadicGrid(exponent=-20)


@pytest.mark.theorem("laplace-mechanism")
@pytest.mark.parametrize(("epsilon", "scale"), [(F(1, 10), 50), (F(4), F(5, 4))])
def test_the_sum_of_weights(epsilon, scale):
    """Row L2: weights in [0, 5] kg; epsilon 0.1 takes Lap(50), epsilon 4 takes Lap(1.25)."""
    distance = sum_sensitivity("add_remove", low=0, high=5)
    assert distance / epsilon == scale
    loss = Laplace(scale=scale, grid=FINE).loss(distance=distance)
    assert F(loss.epsilon(delta=0)) == pytest.approx(epsilon, abs=0, rel=1e-15)
    assert F(loss.epsilon(delta=0)) >= epsilon


def test_the_density_and_the_variance():
    """Row L3: on a fine grid the law is that of the course, and the variance is 2 b**2."""
    scale, step = F(3), F(1, 2**10)
    law = DiscreteLaplace(scale=scale / step)
    for y in (-2, 0, 1, 7):
        density = law.pmf(int(y / step)) / float(step)
        assert density == pytest.approx(math.exp(-abs(y) / 3) / 6, rel=1e-3)
    assert law.moments().variance.nearest() * float(step) ** 2 == pytest.approx(18, rel=1e-6)


def test_one_person_reports_an_age():
    """Row L8: ages 18 to 100 with Lap(3), in the local model: epsilon is 82/3."""
    distance = sum_sensitivity("local", low=18, high=100)
    epsilon = Laplace(scale=3).loss(distance=distance).epsilon(delta=0)
    assert F(82, 3) <= F(epsilon) <= F(82, 3) * (1 + F(1, 2**50))


@pytest.mark.parametrize(("p", "n", "epsilon"), [(F(3, 10), 100, F(1, 2)), (F(1, 2), 1000, F(2))])
def test_the_mean_of_coins(p, n, epsilon):
    """Row L9, with its erratum: noise on the sum, and one division by n.

    E[(p - estimate)**2] = p (1 - p) / n + 2 / (epsilon n)**2; integer noise does a little better.
    """
    sampling = p * (1 - p) / n
    noise = DiscreteLaplace(scale=1 / epsilon).moments().variance
    continuous = 2 / epsilon**2
    assert continuous - F(1, 2) <= noise.low <= noise.high <= continuous
    ours, course = sampling + noise.high / n**2, sampling + 2 / (epsilon * n) ** 2
    assert course - F(1, 2) / n**2 <= ours <= course
    twice = sampling + 2 / (epsilon * n * n) ** 2  # what dividing twice would suggest
    assert twice < ours


@pytest.mark.theorem("log-concave-moves")
@pytest.mark.parametrize("scale", [F(1, 2), F(2), F(5)])
def test_one_coordinate_is_the_worst_of_all_moves_of_one_length(scale):
    def delta(move, epsilon):
        moves = (Profile.of_symmetric(DiscreteLaplacePair(scale, step)) for step in move)
        loss = functools.reduce(lambda one, other: one.compose(other), moves)
        return loss.delta_interval(epsilon=epsilon)

    for epsilon in (0, 0.2, 0.9, 2):
        whole = delta([4], epsilon)
        for move in ([3, 1], [2, 2], [2, 1, 1], [1, 1, 1, 1], [3], [1]):
            assert delta(move, epsilon).low <= whole.high


@pytest.mark.theorem("laplace-coarsening")
def test_coarser_noise_stands_in_for_finer():
    fine, coarse = DiscreteLaplacePair(F(300), 600), DiscreteLaplacePair(F(10), 20)
    for epsilon in (0, 0.05, 0.1, 0.77, 1.99):
        small = Profile.of_symmetric(fine).delta_interval(epsilon=epsilon)
        large = Profile.of_symmetric(coarse).delta_interval(epsilon=epsilon)
        assert small.low <= large.high <= small.high + F(2, 20) ** 2 / 2
        curve = max(0.0, 1 - math.exp((epsilon - 2) / 2))
        assert curve <= small.high + 1e-12
    far = laplace_pair(F(1 << 21), 5 << 22)
    assert (far.scale / (1 << 21), far.distance) == (F(1, 1280), 16384)
    assert laplace_pair(F(7), 10**9 + 7).distance == 10**9 + 7  # a prime: nothing divides it


@pytest.mark.theorem("grid-distance")
def test_distances_on_a_grid():
    weight = Laplace(scale=1, grid=DyadicGrid(exponent=-1))
    steps = [F(weight.loss(distance=d).epsilon(delta=0)) * 2 for d in ("0.1", "0.5", "0.7", 1)]
    assert steps == [1, 1, 2, 2]
    assert weight.loss(distance="0.7", coordinates=3).epsilon(delta=0) == 2.0


def test_a_fraction_of_a_step_counts_as_a_step():
    assert Laplace(scale=2).loss(distance=2.5) == Laplace(scale=2).loss(distance=3)


@pytest.mark.parametrize("coordinates", [1, 2, 7, 1000, 10**6])
@pytest.mark.parametrize("confidence", [F(1, 2), F(19, 20), 1 - F(1, 10**9)])
def test_simultaneous_errors_are_exact(coordinates, confidence):
    law = DiscreteLaplace(scale=5)
    reach = Laplace(scale=5).error(confidence=confidence, coordinates=coordinates)

    def log_chance(r):
        return coordinates * math.log1p(-2 * law.survival(r))

    assert log_chance(reach) >= math.log(confidence)
    assert reach == 0 or log_chance(reach - 1) < math.log(confidence)


def test_the_error_on_a_grid_reaches_to_the_edge_of_the_cell():
    plain, grid = Laplace(scale=8), Laplace(scale=2, grid=DyadicGrid(exponent=-2))
    assert grid.error(confidence=0.9) == (plain.error(confidence=0.9) + F(1, 2)) / 4


def test_shapes_and_kinds():
    noisy = Laplace(scale=2)
    assert isinstance(noisy.run(5, entropy=stream("kind")), int)
    matrix = noisy.run(np.zeros((2, 3), np.int32), entropy=stream("kind"))
    assert (matrix.shape, matrix.dtype) == ((2, 3), np.int64)
    real = Laplace(scale=2, grid=DyadicGrid(exponent=-3))
    assert isinstance(real.run(5.0, entropy=stream("kind")), float)
    assert real.run([0.5, 1.5], entropy=stream("kind")).dtype == np.float64
    assert noisy.run(2**63 - 1, entropy=stream("end")) <= 2**63 - 1


def test_values_beyond_the_ends_stop_there():
    noisy = Laplace(scale=2**50)
    source = stream("ends")
    answers = [noisy.run(2**63 - 1, entropy=source) for _ in range(20)]
    assert max(answers) == 2**63 - 1


def test_a_float_parameter_stands_for_its_decimal_text():
    assert Laplace(scale=0.1) == Laplace(scale="0.1") == Laplace(scale=F(1, 10))
