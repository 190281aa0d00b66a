"""Discrete Gaussian noise below a continuous Gaussian: the inequality, the pair, the engines."""

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.loss import GaussianDP, Profile, ZeroConcentrated
from discreet.loss.composition import Composition, Product, split_product
from discreet.loss.dominance import dominates
from discreet.loss.gaussian import LEAK, GaussianPair, SmoothedGaussianPair, smoothing
from discreet.loss.poisson_sampling import Direction, SampledPair
from discreet.loss.pure_pairs import LaplacePair, ResponsePair
from discreet.loss.rho import concentration

F = Fraction
pytestmark = pytest.mark.theorem("gaussian-smoothing")


def eta(t):
    """The claimed chance, per coordinate, that smoothing fails."""
    q = mpmath.exp(-2 * mpmath.pi**2 * mpmath.mpf(t))
    return 4 * q / (1 - q**3)


def theta(x, t):
    """The sum over integers k of exp(-(k - x)**2 / (2t))."""
    reach = int(mpmath.ceil(11 * mpmath.sqrt(t))) + 1
    near = int(mpmath.nint(x))
    return mpmath.fsum(
        mpmath.exp(-((near + k - x) ** 2) / (2 * t)) for k in range(-reach, reach + 1)
    )


def smoothed_law(y, s, t):
    """P[Y = y] for X from N(0, s) and Y around X, by the trapezoidal rule."""
    v = s + t
    w, mean = s * t / v, s * y / v
    step = mpmath.sqrt(w) / 5
    total = mpmath.fsum(
        mpmath.exp(-((k * step) ** 2) / (2 * w)) / theta(mean + k * step, t) for k in range(-50, 51)
    )
    return (
        mpmath.exp(-(mpmath.mpf(y) ** 2) / (2 * v)) * total * step / mpmath.sqrt(2 * mpmath.pi * s)
    )


def discrete_law(y, v):
    return mpmath.exp(-(mpmath.mpf(y) ** 2) / (2 * v)) / theta(mpmath.mpf(0), v)


def least_share(s, t):
    """The smallest D / W, minus one."""
    return min(discrete_law(y, s + t) / smoothed_law(y, s, t) - 1 for y in range(8))


WIDTHS = [(mpmath.mpf(s), mpmath.mpf(t)) for s, t in (("0.05", "0.2"), ("1", "0.2"), ("2", "0.7"))]


@pytest.mark.parametrize(("s", "t"), WIDTHS)
def test_the_law_is_above_most_of_the_smoothed_one(s, t):
    with mpmath.workdps(25):
        assert least_share(s, t) >= -eta(t)
        total = smoothed_law(0, s, t) + 2 * mpmath.fsum(smoothed_law(y, s, t) for y in range(1, 13))
        assert abs(total - 1) < mpmath.mpf(10) ** -10
        for x in ("0", "0.3", "0.5"):
            waves = theta(mpmath.mpf(x), t) / mpmath.sqrt(2 * mpmath.pi * t) - 1
            assert abs(waves) <= eta(t) / 2


def test_a_leak_that_is_too_small_is_noticed():
    with mpmath.workdps(25):
        s, t = mpmath.mpf("0.05"), mpmath.mpf("0.2")
        assert least_share(s, t) < -eta(t) / 10
        assert least_share(s, t) < -4 * mpmath.exp(-2 * mpmath.pi**2 * 2 * t)  # with t doubled
        waves = theta(mpmath.mpf(0), t) / mpmath.sqrt(2 * mpmath.pi * t) - 1
        assert waves > 0.99 * eta(t) / 2  # each of the two steps of the proof is close


@pytest.mark.parametrize("n", [1, 2, 3, 4, 7, 8, 1000, 2**20, 10**9])
def test_the_leak_is_below_its_constant(n):
    with mpmath.workdps(60):
        t = smoothing(n)
        chance = n * eta(mpmath.mpf(t.numerator) / t.denominator)
        assert chance <= mpmath.mpf(LEAK.numerator) / LEAK.denominator
        assert chance > mpmath.mpf(2) ** -108


def discrete_profile(variance, move, eps):
    """The exact profile of a move under discrete Gaussian noise, at float accuracy."""
    reach = math.ceil(12 * math.sqrt(variance)) + max(move)
    y = np.arange(-reach, reach + 1, dtype=np.float64)
    total = float(np.exp(-(y**2) / (2 * variance)).sum())
    p = q = np.ones(1)
    for step in move:
        here = np.exp(-((y - step) ** 2) / (2 * variance)) / total
        there = np.exp(-(y**2) / (2 * variance)) / total
        p, q = np.multiply.outer(p, here).ravel(), np.multiply.outer(q, there).ravel()
    return float(np.maximum(p - math.exp(eps) * q, 0.0).sum())


MOVES = [(30, (3,)), (30, (2, 2)), (100, (1,)), (100, (6,)), (100, (4, 4)), (400, (20,))]


@pytest.mark.parametrize(("variance", "move"), MOVES)
def test_the_pair_dominates_the_noise_and_is_close(variance, move):
    squared = sum(step * step for step in move)
    pair = SmoothedGaussianPair.of(variance=F(variance), squared=squared, coordinates=len(move))
    whole = Product(((pair, 1),), None)  # without the curve
    composition = Composition(((pair, 1),))
    ratio = variance / (variance - float(smoothing(len(move))))
    wider = GaussianDP(mu_squared=pair.mu_squared)
    for eps in (0.0, 0.05, 0.2, 0.5, 1.0):
        exact = discrete_profile(variance, move, eps)
        assert exact <= whole.delta(eps).high * (1 + 1e-9) + 1e-13
        assert exact <= composition.delta(eps).high * (1 + 1e-9) + 1e-13
        assert whole.delta(eps).high == pytest.approx(wider.delta(epsilon=eps), rel=1e-9)
    for eps in (-0.1, -0.7):
        exact = discrete_profile(variance, move, eps)
        assert exact <= composition.delta(eps).high * (1 + 1e-9)
    assert pair.mu_squared == pytest.approx(squared * ratio / variance)


def test_the_pair_of_a_small_t_dominates_too():
    """The theorem where it costs something: a leak of percents, checked with the noise itself."""
    for s, t in ((F(1), F(1, 5)), (F(1, 2), F(1, 5)), (F(2), F(3, 10))):
        leak = F(float(eta(float(t))) * (1 + 1e-9))
        for d in (1, 2):
            pair = SmoothedGaussianPair(F(d * d) / s, leak, F(100))
            for eps in (-0.8, 0.0, 0.4, 1.5, 3.0, 6.0):
                exact = discrete_profile(float(s + t), (d,), eps)
                assert exact <= Composition(((pair, 1),)).delta(eps).high * (1 + 1e-12)


@pytest.mark.parametrize("sigma", [10**4, 10**6])
def test_wide_noise_costs_what_continuous_noise_does(sigma):
    pair = SmoothedGaussianPair.of(variance=F(sigma) ** 2, squared=400, coordinates=7)
    loss, gaussian = Profile.of(pair), GaussianDP(mu=F(20, sigma))
    for count, delta in itertools.product((1, 1000, 10**6), (1e-3, 1e-6, 1e-12)):
        near = pytest.approx(gaussian.power(count).epsilon(delta=delta), rel=1e-6, abs=1e-15)
        assert loss.power(count).epsilon(delta=delta) == near
        assert loss.power(count).interval(delta=delta).low <= loss.power(count).epsilon(delta=delta)


variances = st.sampled_from([24, 30, 60, 300, 10**5])


@settings(max_examples=40, deadline=None)
@given(
    variances,
    st.integers(1, 200),
    st.integers(1, 9),
    st.integers(1, 1000),
    st.sampled_from([1e-2, 1e-6, 1e-15, 1e-40]),
)
def test_never_above_the_concentrated_bound(variance, squared, places, count, delta):
    pair = SmoothedGaussianPair.of(variance=F(variance), squared=squared, coordinates=places)
    rho = F(squared, 2 * variance)
    if pair is None:
        assert variance < 6 * smoothing(min(squared, places))
        return
    loss, simple = Profile.of(pair).power(count), ZeroConcentrated(rho=count * rho)
    found = loss.interval(delta=delta)
    assert found.high <= simple.epsilon(delta=delta) * (1 + 1e-9)
    assert loss.delta(epsilon=found.high) <= delta * (1 + 1e-6)
    assert found.low <= GaussianDP(mu_squared=2 * rho * count).epsilon(delta=delta) * (1 + 1e-9)
    assert loss.renyi(order=3) == pytest.approx(float(3 * rho * count))


def test_many_merge_into_one():
    pairs = [
        SmoothedGaussianPair.of(variance=F(v), squared=d, coordinates=3)
        for v, d in ((100, 4), (500, 9), (10**8, 400))
    ]
    together = Composition(tuple((pair, 7) for pair in pairs))
    ((merged, count),) = together.pairs
    assert count == 1
    assert merged.mu_squared == 7 * sum(pair.mu_squared for pair in pairs)
    assert merged.leak == 21 * LEAK
    assert merged.rho == 7 * sum(pair.rho for pair in pairs)
    folded = Composition()
    for pair in reversed(pairs):
        folded = folded.compose(Composition(((pair, 3),))).compose(Composition(((pair, 4),)))
    assert folded == together
    assert hash(folded) == hash(together)
    assert together.power(3) == together.compose(together).compose(together)
    assert together.power(0) == Composition()
    assert together.reverse() == together
    pairs, leaks = split_product(together.compose(Composition(((GaussianPair(F(1)), 2),))).pairs)
    assert pairs == ((GaussianPair(merged.mu_squared + 2), 1),)
    assert leaks == ((ResponsePair(F(0), merged.leak), 1),)


def test_beside_other_pairs_only_the_gaussian_is_worked_on():
    pair = SmoothedGaussianPair.of(variance=F(10**6), squared=10**4, coordinates=3)
    mixed = Composition(((pair, 10), (LaplacePair(F(1, 2)), 2), (GaussianPair(F(1, 3)), 1)))
    square = 10 * pair.mu_squared + F(1, 3)
    plain = Composition(((LaplacePair(F(1, 2)), 2), (GaussianPair(square), 1)))
    assert mixed.epsilon(1e-6).high == pytest.approx(plain.epsilon(1e-6).high, rel=1e-9)
    assert mixed.delta(1.0).high == pytest.approx(plain.delta(1.0).high, rel=1e-9)


def test_below_the_leak_the_curve_answers():
    pair = SmoothedGaussianPair.of(variance=F(10**6), squared=4, coordinates=3)
    loss = Profile.of(pair)
    bound = ZeroConcentrated(rho=pair.rho).epsilon(delta=1e-40)
    assert loss.epsilon(delta=1e-40) == pytest.approx(bound, rel=1e-9)
    assert math.isinf(loss.epsilon(delta=0))
    beside = loss.compose(Profile.of(GaussianPair(F(1))))
    assert math.isfinite(beside.epsilon(delta=1e-40))


def test_groups_move_farther_in_more_places():
    pair = SmoothedGaussianPair.of(variance=F(100), squared=2, coordinates=2)
    three = pair.group(3)
    assert three == SmoothedGaussianPair(9 * pair.mu_squared, 3 * pair.leak, 9 * pair.rho)
    for move in ((3, 3), (4, 1), (2, 1, 1)):  # of three units, each by at most the root of 2
        for eps in (0.0, 0.3, 1.0):
            exact = discrete_profile(100.0, move, eps)
            assert exact <= Composition(((three, 1),)).delta(eps).high * (1 + 1e-9)


@pytest.mark.theorem("dominance")
def test_order():
    near, far = (
        Composition(((SmoothedGaussianPair.of(variance=F(100), squared=d, coordinates=2), 1),))
        for d in (4, 9)
    )
    assert dominates(far, near)
    assert not dominates(near, far)
    assert dominates(far, Composition(((GaussianPair(F(4, 100)), 1),)))
    slightly = far.pairs[0][0].mu_squared
    assert not dominates(far, Composition(((GaussianPair(slightly), 1),)))  # it is above the curve
    assert concentration(far) == F(9, 200)


@pytest.mark.theorem("poisson-sampling")
@pytest.mark.parametrize("direction", Direction)
def test_a_leak_on_a_sample_is_a_smaller_leak_beside_the_sample(direction):
    """Exactly, with two outcomes in place of the Gaussian."""
    p, q, leak, rate = (F(3, 4), F(1, 4)), (F(1, 3), F(2, 3)), F(1, 7), F(1, 5)
    kept = 1 - leak
    both = (
        (*(kept * a for a in p), leak, F(0)),
        (*(kept * b for b in q), F(0), leak),
    )
    mixed = tuple((1 - rate) * b + rate * a for a, b in zip(*both, strict=True)), both[1]
    small = tuple((1 - rate) * b + rate * a for a, b in zip(p, q, strict=True)), q
    rest = 1 - rate * leak
    claimed = (
        (*(rest * a for a in small[0]), rate * leak, F(0)),
        (*(rest * b for b in small[1]), F(0), rate * leak),
    )
    if direction is Direction.ADD:
        mixed, claimed = mixed[::-1], claimed[::-1]
    for a in sorted({F(k, 40) for k in range(1, 160)}):
        exact, bound = (
            sum(max(F(0), x - a * y) for x, y in zip(*laws, strict=True))
            for laws in (mixed, claimed)
        )
        assert exact <= bound


def test_what_is_sampled_is_told_apart_from_what_leaks():
    pair = SmoothedGaussianPair.of(variance=F(10**4), squared=900, coordinates=50)
    inner, leak = Composition(((pair, 2), (GaussianPair(F(1)), 1))).without_leak()
    assert inner.pairs == ((GaussianPair(2 * pair.mu_squared + 1), 1),)
    assert leak == 2 * LEAK
    alone = Composition(((GaussianPair(F(1)), 1),))
    assert alone.without_leak() == (alone, 0)
    whole = SampledPair(Composition(((pair, 1),)), F(1, 10), Direction.REMOVE)
    plain = SampledPair(
        Composition(((GaussianPair(pair.mu_squared), 1),)), F(1, 10), whole.direction
    )
    for eps in (0.0, 0.1):
        assert whole.profile(eps).high == pytest.approx(plain.profile(eps).high, rel=1e-9)


def test_no_engine_serves_the_pair_as_a_whole():
    assert SmoothedGaussianPair.of(variance=F(20), squared=1, coordinates=1) is None
    pair = SmoothedGaussianPair(F(1), F(0), F(1, 2))
    assert pair.log_moment(2.0) == 3.0
    assert pair.largest() == pair.largest_below() == math.inf
    assert pair.closed_form() is pair.above(F(1)) is pair.below(F(1)) is None
    assert SmoothedGaussianPair.transform_of([(pair, 1)]) is None
    assert pair.grain() == 0
