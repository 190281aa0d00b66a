"""Each family against interval arithmetic: cumulants on a line, laws on a lattice, closed forms."""

import math
from fractions import Fraction

import numpy as np
import pytest
from flint import acb, arb, ctx

from discreet.loss.composition import Composition
from discreet.loss.finite import FinitePair
from discreet.loss.gaussian import DiscreteGaussianPair, GaussianPair
from discreet.loss.poisson_sampling import Direction, SampledPair
from discreet.loss.pure_pairs import (
    BoundedRangePair,
    DiscreteLaplacePair,
    LaplacePair,
    ResponsePair,
)
from tests.loss import truth

HALF, THIRD = Fraction(1, 2), Fraction(1, 3)
FINITE = FinitePair((HALF, THIRD, Fraction(1, 6)), (THIRD, Fraction(1, 5), Fraction(7, 15)))
ONE = Composition(((GaussianPair(Fraction(1)), 1),))


def sampled(rate, direction, inner=ONE):
    return SampledPair(inner, Fraction(rate), direction)


def finite_moment(pair, z):
    total = acb(0)
    for p, q in zip(pair.p, pair.q, strict=True):
        total += truth.ball(p) * (z * (truth.ball(p) / truth.ball(q)).log()).exp()
    return total


LINES = [
    (
        LaplacePair(Fraction(1, 100)),
        lambda z: truth.laplace_moment(truth.ball(Fraction(1, 100)), z),
    ),
    (LaplacePair(Fraction(3)), lambda z: truth.laplace_moment(arb(3), z)),
    *[
        (
            BoundedRangePair(Fraction(e)),
            lambda z, e=e: truth.bounded_range_moment(truth.ball(Fraction(e)), z),
        )
        for e in ("0.0001", "0.3", "1", "9")
    ],
    (
        ResponsePair(Fraction(1, 10)),
        lambda z: truth.response_moment(truth.ball(Fraction(1, 10)), z),
    ),
    (GaussianPair(Fraction(1, 9)), lambda z: truth.gaussian_moment(truth.ball(Fraction(1, 9)), z)),
    (FINITE, lambda z: finite_moment(FINITE, z)),
    *[
        (
            sampled("0.01", direction),
            lambda z, sign=sign: truth.sampled_moment(truth.ball("0.01"), arb(1), sign, z),
        )
        for direction, sign in ((Direction.REMOVE, 1), (Direction.ADD, -1))
    ],
]


@pytest.mark.theorem("contour-rounding")
@pytest.mark.theorem("sampled-gaussian-quadrature")
@pytest.mark.parametrize(("pair", "moment"), LINES, ids=lambda x: type(x).__name__)
def test_cumulants_lie_within_their_error_bounds(pair, moment):
    ctx.prec = truth.PRECISION
    transform = type(pair).transform_of([(pair, 1)])
    heights = 0.75 * np.arange(24)
    for c in (0.5, 6.0):
        line = transform.line(c, heights)
        real, wrong = transform.real(np.array([c]))
        exact = moment(acb(c, 0)).real
        assert abs(float((arb(real[0]) - exact.log()).mid())) <= wrong[0]
        for j in (0, 1, 5, 23):
            value = moment(acb(c, float(heights[j])))
            computed = acb(line.value[j].real, line.value[j].imag).exp()
            off = float(abs(value - computed).mid()) / float(abs(computed).mid())
            assert off <= math.expm1(line.error[j])
            decayed = float(abs(value / exact).mid())
            assert decayed <= math.exp(transform.decay(c, float(heights[j]))) * (1 + 1e-12)


PAIRS = [
    LaplacePair(Fraction(1)),
    LaplacePair(Fraction(3, 7)),
    BoundedRangePair(Fraction(1)),
    BoundedRangePair(Fraction(3, 7)),
    ResponsePair(Fraction(1)),
    ResponsePair(Fraction(3, 7), Fraction(1, 100)),
    DiscreteLaplacePair(Fraction(2), 1),
    DiscreteLaplacePair(Fraction(3, 2), 4),
    DiscreteGaussianPair(Fraction(4), 1),
    DiscreteGaussianPair(Fraction(9), 2),
    FINITE,
    sampled("0.1", Direction.REMOVE),
    sampled("0.1", Direction.ADD),
    sampled("0.3", Direction.REMOVE, Composition(((LaplacePair(Fraction(1)), 1),))),
    sampled("0.3", Direction.ADD, Composition(((BoundedRangePair(Fraction(1)), 1),))),
]


def hockey(law, step, eps, side):
    x = (law.start + np.arange(len(law.mass))) * float(step)
    eps = eps - law.drift if side == "above" else eps + law.drift
    return float(law.mass @ np.maximum(-np.expm1(eps - np.maximum(x, eps)), 0.0)) + law.infinite


@pytest.mark.theorem("connect-the-dots")
@pytest.mark.parametrize("step", [Fraction(1, 7), Fraction(1, 50), Fraction(1, 1000)])
@pytest.mark.parametrize("pair", PAIRS, ids=repr)
def test_laws_bound_the_profile_from_both_sides(pair, step):
    one = Composition(((pair, 1),))
    above, below = pair.above(step), pair.below(step)
    for eps in np.linspace(-1.3, 1.6, 30):
        exact = one.delta(float(eps))
        assert hockey(above, step, eps, "above") >= exact.low * (1 - 1e-12) - 1e-13
        assert hockey(below, step, eps, "below") <= exact.high * (1 + 1e-12) + 1e-13
        gap = hockey(above, step, eps, "above") - hockey(below, step, eps, "below")
        assert gap <= 4 * float(step)


@pytest.mark.theorem("dominating-pair")
@pytest.mark.parametrize("pair", PAIRS, ids=repr)
def test_a_reversed_profile_is_the_reversed_pairs_profile(pair):
    assert pair.reverse().reverse() == pair
    one = Composition(((pair, 1),))
    reversed_ = one.reverse()
    for eps in (0.3, 0.9):
        a = math.exp(eps)
        flipped = 1 - 1 / a + one.delta(eps).high / a
        found = reversed_.delta(-eps)
        assert found.low <= flipped * (1 + 1e-12)
        assert flipped <= found.high * (1 + 1e-6) + 1e-9


@pytest.mark.theorem("discrete-laplace-loss")
def test_geometric_noise_at_distance_one_is_randomized_response():
    geometric = Composition(((DiscreteLaplacePair(Fraction(2), 1), 3),))
    response = Composition(((ResponsePair(HALF), 3),))
    for eps in (0.0, 0.4, 1.1):
        assert geometric.delta(eps).overlaps(response.delta(eps))


@pytest.mark.theorem("discrete-gaussian-renyi")
def test_discrete_gaussian_moments_stay_below_the_continuous_ones():
    pair = DiscreteGaussianPair(Fraction(4), 2)
    atoms = pair.atoms()
    for t in (0.5, 1.0, 7.0):
        exact = math.log(float(atoms.mass @ np.exp(t * atoms.losses)))
        assert exact <= pair.log_moment(t) + 1e-12


@pytest.mark.parametrize("pair", PAIRS, ids=repr)
def test_moments_bound_those_of_a_law_from_below(pair):
    law = pair.below(Fraction(1, 2000))
    x = (law.start + np.arange(len(law.mass))) / 2000
    for t in (0.3, 1.0, 2.5):
        assert math.log(float(law.mass @ np.exp(t * x))) <= pair.cumulant(t) + 1e-12
        if pair.infinity().low:
            assert math.isinf(pair.log_moment(t))
    assert pair.group(1) in {pair, None}


def test_disjoint_laws_lose_everything():
    pair = FinitePair((Fraction(1), Fraction(0)), (Fraction(0), Fraction(1)))
    assert Composition(((pair, 1),)).delta(3.0).low > 1 - 1e-12
    assert math.isinf(Composition(((pair, 1),)).epsilon(0.5).high)
