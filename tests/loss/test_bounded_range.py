"""The bounded-range pair against brute force: single laws, real selections, adaptive games."""

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from discreet.loss.composition import Composition, Product
from discreet.loss.pure_pairs import BoundedRangePair, LaplacePair, ResponsePair
from discreet.mechanisms import Exponential

F = Fraction
pytestmark = pytest.mark.theorem("bounded-range-pair")


def times(epsilon, count=1):
    return Composition(((BoundedRangePair(F(epsilon)), count),))


def chance(t, e):
    """The chance of the larger loss t, of t and t - e."""
    return -np.expm1(t - e) / -math.expm1(-e)


def game(x, e, count, points=81):
    """What an adversary gets who picks the next t, out of some, after each outcome."""
    if count == 0:
        return np.maximum(0.0, -np.expm1(x))
    t = np.linspace(0, e, points).reshape(-1, *[1] * np.ndim(x))
    up = chance(t, e)
    rest = game(x - t, e, count - 1, points), game(x - t + e, e, count - 1, points)
    return np.max(up * rest[0] + (1 - up) * rest[1], axis=0)


@pytest.mark.parametrize("e", [0.125, 1.0, 4.0])
def test_the_profile_is_the_envelope_of_all_two_point_laws(e):
    for x in np.linspace(-1.2 * e, 1.2 * e, 25):
        found, brute = times(e).delta(float(x)), float(game(x, e, 1, 4001))
        assert brute <= found.high * (1 + 1e-13) + 1e-15
        assert found.low <= brute + 1e-6


@pytest.mark.parametrize(("count", "points"), [(2, 401), (3, 33)])
def test_compositions_are_above_every_adaptive_choice(count, points):
    for x in (0.0, 0.5, 1.2, 1.9):
        brute, found = float(game(x, 1.0, count, points)), times(1, count).delta(x)
        assert 0.6 * found.low <= brute <= found.high * (1 + 1e-12)


def test_ten_lie_between_one_two_point_law_and_the_concentrated_bound():
    found = times(1, 10).epsilon(1e-6)
    t, wins = 0.79, np.arange(11)
    up = float(chance(t, 1.0))
    mass = np.array([math.comb(10, int(j)) * up**j * (1 - up) ** (10 - j) for j in wins])
    reached = mass @ np.maximum(0.0, -np.expm1(7.7 - (10 * (t - 1) + wins)))
    assert reached > 1e-6  # so no epsilon up to 7.7 is true
    assert found.low <= 7.7 < found.high <= 8.845889


def test_real_selections_are_dominated():
    choose = Exponential(candidates=3, scale=2)
    vectors = list(itertools.product(range(3), repeat=3))
    laws = {v: [p.nearest() for p in choose.reference_pmf(v).values()] for v in vectors}
    bounds = {
        (d, eps): choose.loss(distance=d).remove[0].delta(eps).high
        for d in (1, 2)
        for eps in (-0.7, 0.0, 0.3, 0.9)
    }
    for here, there in itertools.permutations(vectors, 2):
        d = max(abs(a - b) for a, b in zip(here, there, strict=True))
        for eps in (-0.7, 0.0, 0.3, 0.9):
            lost = (p - math.exp(eps) * q for p, q in zip(laws[here], laws[there], strict=True))
            assert sum(max(0.0, part) for part in lost) <= bounds[d, eps] + 1e-12


@pytest.mark.parametrize("eps", [0.0, 0.25, 0.8])
def test_some_selection_attains_each_point(eps):
    choose = Exponential(candidates=2, scale=2)
    up = float(chance((eps + 1) / 2, 1.0))
    best = F(2 * math.log(up / (1 - up))).limit_denominator(10**9)
    laws = [choose.reference_pmf(v) for v in ((best, F(0)), (best - 1, F(1)))]
    p, q = ([one[i].nearest() for i in range(2)] for one in laws)
    lost = sum(max(0.0, a - math.exp(eps) * b) for a, b in zip(p, q, strict=True))
    assert lost == pytest.approx(choose.loss().delta(epsilon=eps), rel=1e-8)


@pytest.mark.parametrize("e", ["1e-9", "0.01", "1", "30", "2000"])
def test_moments_agree_with_many_digits(e):
    pair = BoundedRangePair(F(e))
    with mpmath.workdps(60):
        x = mpmath.mpf(F(e).numerator) / F(e).denominator
        for order in (1e-9, 1e-3, 0.5, 0.75, 3.0, 1e5, 1e18):
            t = mpmath.mpf(order)
            top = -mpmath.expm1(-(2 * t + 1) * x) / (-mpmath.expm1(-x) * (2 * t + 1))
            exact = t * x + mpmath.log(top)
            value, error = BoundedRangePair.transform_of([(pair, 1)]).real(np.array([order]))
            assert abs(mpmath.mpf(float(value[0])) - exact) <= error[0]
            assert exact <= pair.log_moment(order)
            assert error[0] <= 1e-11 * order * (1 + float(x))


def test_moments_are_those_of_the_density():
    exact = mpmath.quad(
        lambda x: mpmath.exp(2.5 * x + (x - 1) / 2) / (2 * (1 - mpmath.exp(-1))), [-1, 1]
    )
    assert BoundedRangePair(F(1)).cumulant(2.5) == pytest.approx(float(mpmath.log(exact)))


@pytest.mark.parametrize(("e", "count"), [("1", 2), ("1", 10), ("0.1", 40), ("7/3", 5)])
def test_contour_and_lattice_overlap(e, count):
    part = Product(((BoundedRangePair(F(e)), count),), None)
    for delta in (1e-2, 1e-6):
        line = part.epsilon(F(delta))
        lattice = part._lattice.epsilon(delta, count * float(F(e)), line.high)
        assert lattice is not None
        assert lattice.overlaps(line)
        assert line.width <= 1e-6


def test_a_range_of_zero_loses_nothing():
    nothing = Composition(((BoundedRangePair(F(0)), 3), (LaplacePair(F(1)), 2)))
    alone = Composition(((LaplacePair(F(1)), 2),))
    assert nothing.delta(0.7).overlaps(alone.delta(0.7))
    pair = BoundedRangePair(F(0))
    assert pair.cumulant(2.0) == 0
    assert pair.above(F(1, 7)).mass.sum() >= 1 >= pair.below(F(1, 7)).mass.sum()


def test_randomized_response_and_laplace_lose_more():
    for eps in (-0.8, -0.1, 0.0, 0.4, 0.99):
        deltas = [
            Composition(((pair, 1),)).delta(eps)
            for pair in (BoundedRangePair(F(1)), LaplacePair(F(1)), ResponsePair(F(1)))
        ]
        assert deltas[0].low <= deltas[1].high
        assert deltas[1].low <= deltas[2].high
