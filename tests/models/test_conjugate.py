"""Posteriors that know about geometric noise: golden numbers, enumeration, coverage."""

import itertools
import math

import numpy as np
import pytest
from scipy.stats import beta, binom, binomtest

from discreet.errors import DiscreetError
from discreet.mechanisms import Gaussian, Laplace
from discreet.models import BetaBernoulli, DirichletCounts, PrivateLikelihood

ALPHA = 1e-6
GOLDEN = [
    ((100, 37, "0.1", 1, 1), (0.377452, 0.135611, 0.156550, 0.610637)),
    ((100, 37, 1, 1, 1), (0.372549, 0.049444, 0.292686, 0.455363)),
    ((20, -5, "0.1", 1, 1), (0.344450, 0.262090, 0.022428, 0.860325)),
    ((50, 60, "0.5", 2, 2), (0.908899, 0.062529, 0.787666, 0.983383)),
]


@pytest.mark.theorem("noise-aware-beta")
@pytest.mark.parametrize(("given", "golden"), GOLDEN)
def test_golden_numbers(given, golden):
    people, released, epsilon, yes, no = given
    law = BetaBernoulli(people=people, released=released, epsilon=epsilon, yes=yes, no=no).posterior
    found = (law.mean, law.deviation, *law.interval("0.9"))
    assert np.allclose(found, golden, atol=6e-7, rtol=0)


@pytest.mark.theorem("noise-aware-beta")
def test_the_mixture_is_bayes_rule_on_a_grid():
    law = BetaBernoulli(people=7, released=9, epsilon="0.4", yes=2, no=3).posterior
    share = (np.arange(20000) + 0.5) / 20000
    s = np.arange(8)
    chance = binom.pmf(s[:, None], 7, share) * np.exp(-0.4 * np.abs(9 - s))[:, None]
    weight = chance.sum(axis=0) * beta.pdf(share, 2, 3)
    weight /= weight.sum()
    assert abs(law.mean - (weight * share).sum()) < 1e-6
    assert abs(law.cdf(0.7) - weight[share < 0.7].sum()) < 1e-4


@pytest.mark.theorem("noise-aware-dirichlet")
def test_shares_of_three_categories_by_enumeration():
    people, released, epsilon, prior = 5, (3, -1, 2), 0.3, (1.0, 2.0, 0.5)
    found = DirichletCounts(
        people=people, released=released, epsilon="0.3", prior=("1", "2", "0.5")
    ).shares
    total, means = 0.0, np.zeros(3)
    for s in itertools.product(range(people + 1), repeat=3):
        if sum(s) != people:
            continue
        log = sum(
            math.lgamma(a + k) - math.lgamma(k + 1) - epsilon * abs(z - k)
            for a, k, z in zip(prior, s, released, strict=True)
        )
        total += math.exp(log)
        means += math.exp(log) * (np.array(prior) + s) / (sum(prior) + people)
    assert np.allclose([share.mean for share in found], means / total, atol=1e-12)


@pytest.mark.theorem("noise-aware-dirichlet")
def test_two_categories_agree_with_each_other():
    first, second = DirichletCounts(people=60, released=(20, 33), epsilon="0.2").shares
    assert abs(first.mean + second.mean - 1) < 1e-12
    assert abs(first.quantile(0.2) + second.quantile(0.8) - 1) < 1e-8


def covered(people, epsilon, runs, believed=None):
    """How often 90 % intervals hold the share, for an analyst who believes in some epsilon."""
    draw = np.random.default_rng(11)
    hits = 0
    known = {}
    for _ in range(runs):
        share = draw.uniform()
        stop = 1 - math.exp(-epsilon)
        noise = int(draw.geometric(stop) - draw.geometric(stop))
        seen = int(draw.binomial(people, share)) + noise
        if seen not in known:
            law = BetaBernoulli(people=people, released=seen, epsilon=str(believed or epsilon))
            known[seen] = law.posterior.interval("0.9")
        low, high = known[seen]
        hits += low <= share <= high
    return hits


def shares_held(runs, believed, people=30, epsilon=0.3):
    """How many 90 % intervals of three shares hold them, shares being drawn from the prior."""
    draw = np.random.default_rng(13)
    stop = 1 - math.exp(-epsilon)
    found = 0
    for _ in range(runs):
        shares = draw.dirichlet(np.ones(3))
        noise = draw.geometric(stop, 3) - draw.geometric(stop, 3)
        seen = (draw.multinomial(people, shares) + noise).tolist()
        laws = DirichletCounts(people=people, released=seen, epsilon=str(believed)).shares
        found += 0.05 <= laws[0].cdf(shares[0]) <= 0.95  # one of them, so that runs are independent
    return found


@pytest.mark.theorem("noise-aware-dirichlet")
@pytest.mark.parametrize(
    ("people", "epsilon", "believed"), [(30, 0.3, 0.3), (30, 0.3, 3), (100, 1, 0.1)]
)
def test_intervals_of_shares_cover_what_they_say(people, epsilon, believed):
    found = binomtest(shares_held(800, believed, people, epsilon), 800, 0.9)
    assert bool(found.pvalue > ALPHA) is (believed == epsilon)


@pytest.mark.slow
@pytest.mark.parametrize(("people", "epsilon"), [(20, 0.1), (100, 0.1), (1000, 0.1)])
def test_coverage_of_both_laws_is_within_three_standard_errors(people, epsilon):
    runs = 10_000
    error = (0.9 * 0.1 / runs) ** 0.5
    assert abs(covered(people, epsilon, runs) / runs - 0.9) < 3 * error
    if people <= 100:
        assert abs(shares_held(runs, epsilon, people, epsilon) / runs - 0.9) < 3 * error


@pytest.mark.parametrize(
    "noise", [Laplace(scale=3), Gaussian(variance=7), Gaussian(variance="0.3")]
)
def test_likelihoods_are_the_law_of_the_noise(noise):
    seen = PrivateLikelihood((4, 9), noise)
    for truth in ((4, 9), (0, 12), (7, 7)):
        exact = [float(noise.law.pmf_bounds(z - s).low) for z, s in zip((4, 9), truth, strict=True)]
        assert abs(float(seen.log_density(truth)) - sum(map(math.log, exact))) < 1e-7
    counts = np.arange(21)[:, None] * np.ones(2)
    chances = binom.logpmf(np.arange(21), 20, 0.4)
    slow = sum(
        np.exp(seen.log_density(c)) * np.exp(p) for c, p in zip(counts, chances, strict=True)
    )
    assert abs(seen.marginal(counts, chances) - math.log(slow)) < 1e-9
    assert seen.document()["released"] == [4, 9]


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: BetaBernoulli(people=0, released=1, epsilon=1),
        lambda: BetaBernoulli(people=5, released=1, epsilon=0),
        lambda: BetaBernoulli(people=5, released=1, epsilon=1, yes=0),
        lambda: BetaBernoulli(people=5, released=1, epsilon=1).posterior.interval(1),
        lambda: DirichletCounts(people=5, released=(1,), epsilon=1),
        lambda: DirichletCounts(people=5, released=(1, 2), epsilon=-1),
        lambda: DirichletCounts(people=5, released=(1, 2), epsilon=1, prior=(1,)),
        lambda: PrivateLikelihood((1,), None),
        lambda: PrivateLikelihood((37.5,), Laplace(scale=1)),
        lambda: PrivateLikelihood((1,), Laplace(scale=1)).log_density((1, 2)),
    ],
)
def test_mistakes(wrong):
    with pytest.raises(DiscreetError):
        wrong()
