"""How fast characteristic functions of sampled Gaussians decay, and narrow noise at small rates."""

import itertools
import math
from fractions import Fraction

import dp_accounting.pld.privacy_loss_distribution as pld
import numpy as np
import pytest
from flint import arb

from discreet.loss import GaussianDP
from discreet.loss.composition import Composition
from discreet.loss.gaussian import GaussianPair
from discreet.loss.poisson_sampling import (
    Direction,
    SampledGaussianCumulants,
    SampledPair,
    sampled_loss,
)
from tests.loss import truth

pytestmark = pytest.mark.theorem("contour-rounding")
F = Fraction

LAWS = [
    (0.001, 2.0, 1, 1.8),
    (0.0001, 4.0, 1, 1.2),
    (0.01, 1.0, 1, 5.0),
    (0.1, 0.5, 1, 2.0),
    (0.001, 2.0, -1, 6.2),
    (0.05, 1.0, -1, 3.0),
]


def modulus(q, mu, w, s):
    """|phi(s)| of the tilted loss by a plain sum of many points, an order of magnitude finer."""
    step = min(1 / 64, 0.15 / (s * mu + 1))
    y = np.arange(-13.0, 13.0 + max(w, 0.0) * mu, step)
    loss = sampled_loss(q, mu * y - mu * mu / 2)
    weight = np.exp(w * loss - y * y / 2 - (w * loss - y * y / 2).max())
    return abs(complex((weight * np.exp(1j * s * loss)).sum())) / float(weight.sum())


@pytest.mark.parametrize(("q", "mu", "sign", "c"), LAWS)
def test_the_majorant_lies_above_at_every_height(q, mu, sign, c):
    decay = SampledGaussianCumulants(q, mu, sign).decay(c)
    w = 1 + c if sign > 0 else -c
    heights = [0.3, 1.0, 3.0, 10.0, 27.0, 100.0, 300.0, 1000.0, 3000.0]
    found = [modulus(q, mu, w, s) for s in heights]
    for j, s in enumerate(heights):
        assert math.log(max(found[j:])) <= decay.log_bound(s) + 1e-9
    bounds = [decay.log_bound(s) for s in heights]
    assert all(one >= other for one, other in itertools.pairwise(bounds))


def test_the_rare_losses_of_narrow_noise_decay_long_before_the_others():
    decay = SampledGaussianCumulants(0.001, 2.0, 1).decay(1.8)
    w = 2.8
    assert 20000 * decay.log_bound(40.0) < -60
    assert 20000 * math.log(modulus(0.001, 2.0, w, 40.0)) < -60


def test_nodes_for_the_height_zero_do_not_serve_great_heights():
    """The twin that the grid must not be: it is off by far more than the grid allows for."""
    pair, s = SampledGaussianCumulants(0.01, 1.0, 1), 300.0
    wrong = []
    for height in (0.0, s):
        nodes = pair.nodes(5.0, height)
        share = nodes.weight / nodes.weight.sum()
        found = abs(complex((share * np.exp(1j * s * nodes.loss)).sum()))
        wrong.append(abs(found - modulus(0.01, 1.0, 6.0, s)))
    assert wrong[0] > 1e-6
    assert wrong[1] < 1e-9


@pytest.mark.theorem("contour-aliasing")
def test_narrow_noise_at_a_small_rate_has_a_tight_interval():
    bracket = GaussianDP(mu=2).sampled(rate="0.001").power(20000).interval(delta="1e-6")
    assert bracket.width < 2e-7
    assert bracket.low < 7.7298597 < bracket.high + 1e-7


@pytest.mark.theorem("contour-aliasing")
@pytest.mark.parametrize("mu", [3, 4])
def test_still_narrower_noise_has_a_tight_interval(mu):
    """At 3 the cheapest order decays too slowly, and a neighbor does not; at 4 none does soon."""
    bracket = GaussianDP(mu=mu).sampled(rate="0.0005").power(5000).interval(delta="1e-5")
    assert bracket.width < 1e-6
    single = pld.from_gaussian_mechanism(
        1 / mu, sampling_prob=0.0005, value_discretization_interval=4e-3
    )
    pessimistic = single.self_compose(5000).get_epsilon_for_delta(1e-5)
    assert bracket.low <= pessimistic <= bracket.high + 0.02


@pytest.mark.theorem("smoothed-contour")
def test_runs_that_mostly_sample_nobody_have_a_narrow_interval():
    """Nearly all mass lies together, as an atom does, and no contour decays."""
    pair = SampledPair(Composition(((GaussianPair(F(9)), 1),)), F(1, 2000), Direction.REMOVE)
    bracket = Composition(((pair, 50),)).epsilon(F(1, 10**5))
    assert 0 < bracket.width < 1e-4 * bracket.high
    single = pld.from_gaussian_mechanism(
        1 / 3, sampling_prob=0.0005, value_discretization_interval=1e-3
    )
    pessimistic = single.self_compose(50).get_epsilon_for_delta(1e-5)
    assert bracket.low <= pessimistic <= bracket.high + 0.001


@pytest.mark.theorem("contour-aliasing")
def test_narrow_noise_at_another_contour():
    pair = SampledPair(Composition(((GaussianPair(F(4)), 1),)), F(1, 1000), Direction.REMOVE)
    bracket = Composition(((pair, 20000),)).delta(7.5)
    q, mu = truth.ball(F(1, 1000)), arb(2)
    exact = truth.profile(
        lambda z: truth.sampled_moment(q, mu, 1, z, step=F(1, 12), reach=12) ** 20000,
        arb(7.5),
        c=arb(1.7),
        period=arb(70),
        count=150,
    )
    assert bracket.low * (1 - 1e-9) <= exact <= bracket.high * (1 + 1e-9)
    assert bracket.width <= 1e-6 * bracket.high
