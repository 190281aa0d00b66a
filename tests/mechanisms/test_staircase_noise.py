"""The staircase law: its sampler by enumeration, its tails and moments by summation."""

import functools
from fractions import Fraction

import pytest

from discreet.mechanisms import staircase as staircase_noise
from discreet.mechanisms.staircase import StaircaseNoise
from discreet.noise import laplace as geometric
from tests.noise.laws import ALPHA, TINY_FREE, TINY_TABLE, check_law, chi_square, stream

F = Fraction
LAWS = [
    StaircaseNoise(epsilon=F(1), sensitivity=1, step=1),
    StaircaseNoise(epsilon=F(2), sensitivity=3, step=1),
    StaircaseNoise(epsilon=F(3, 2), sensitivity=4, step=3),
    StaircaseNoise(epsilon=F(3), sensitivity=2, step=2),
]


@pytest.mark.theorem("staircase-sampler")
@pytest.mark.parametrize("law", LAWS, ids=str)
def test_every_word_leads_to_the_claimed_law(law, monkeypatch):
    monkeypatch.setattr(staircase_noise, "_SIZES", TINY_TABLE)
    monkeypatch.setattr(staircase_noise, "_stairs", staircase_noise._stairs.__wrapped__)
    narrow = functools.partial(geometric.geometric_into, sizes=TINY_FREE)
    monkeypatch.setattr(geometric, "geometric_into", narrow)

    def attempt(entropy):
        drawn = law.attempt(1, entropy)
        return int(drawn[0]) if drawn.size else None

    check_law(attempt, law.pmf_bounds, unexplored=F(1, 5), max_runs=12_000)


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_large_samples_follow_the_law(law):
    assert chi_square(law.sample(20_000, stream(str(law))), law) > ALPHA


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_tails_and_moments_are_sums(law):
    reach = 40 * law.sensitivity
    chances = {k: law.pmf_bounds(k, 128) for k in range(-reach, reach + 1)}
    assert sum(c.low for c in chances.values()) <= 1
    assert 1 - sum(c.high for c in chances.values()) < F(1, 10**14)
    for k in range(-5, 12):
        tail = sum(c.low for y, c in chances.items() if y > k)
        assert abs(law.survival_bounds(k).low - tail) < F(1, 10**14)
        assert abs(law.cdf_bounds(k).low - (1 - tail)) < F(1, 10**14)
    magnitude = sum(abs(k) * c.low for k, c in chances.items())
    variance = sum(k * k * c.low for k, c in chances.items())
    assert float(magnitude) == pytest.approx(law.mean_magnitude().nearest(), rel=1e-12)
    assert float(variance) == pytest.approx(law.moments().variance.nearest(), rel=1e-12)


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_quantiles_are_exact(law):
    for p in ("0.1", "0.5", "0.9", "0.999"):
        k = law.quantile(p)
        assert law.cdf_bounds(k).high >= F(p) > law.cdf_bounds(k - 1).low


def test_enclosures_hold_at_any_depth():
    law = LAWS[1]
    deep = law.pmf_bounds(3 * 10_000)
    assert 0 < deep.low <= deep.high < deep.low * (1 + F(1, 2**50))
