"""Means of many people's numbers: coverage, and hostile reports."""

import numpy as np
import pytest
from scipy import stats

from discreet.errors import DiscreetError
from discreet.local import MeanEstimate, TwoPoint, WindowResponse
from discreet.local.means import mean_reach


@pytest.mark.theorem("empirical-bernstein")
@pytest.mark.parametrize("people", [20, 100])
def test_means_of_few_people_are_covered(people):
    coin = TwoPoint(epsilon=1)
    lies = coin.law(1)[0]
    for ups in (0, people // 3, people):  # how many have the number 1; the others have -1
        own = stats.binom.pmf(np.arange(ups + 1), ups, float(1 - lies))
        rest = stats.binom.pmf(np.arange(people - ups + 1), people - ups, float(lies))
        law, missed = np.convolve(own, rest), 0.0
        for count, chance in enumerate(law):
            tally = np.array([people - count, count])
            reach = mean_reach(coin, tally, miss=0.1, target="reported")
            truth = 2 * ups / people - 1
            missed += chance * (abs(float(coin.mean(tally)) - truth) > reach)
        assert missed <= 0.1


@pytest.mark.theorem("normal-interval")
@pytest.mark.theorem("deviation-bound")
@pytest.mark.parametrize(
    "randomizer",
    [
        TwoPoint(epsilon=1),
        WindowResponse.minimax(epsilon=2, outcomes=9),
    ],
    ids=lambda randomizer: randomizer.name,
)
@pytest.mark.parametrize("target", ["reported", "population"])
def test_means_of_many_people_are_covered_as_often_as_stated(randomizer, target):
    people, runs, generator = 1_000_000, 150, np.random.default_rng(4)
    codes = [0, randomizer.values // 2, randomizer.values - 1]
    points = np.array([float(randomizer.points()[code]) for code in codes])
    laws = [np.array([float(p) for p in randomizer.law(code)]) for code in codes]
    shares = np.array([0.2, 0.5, 0.3])
    hits = narrow = 0
    for _ in range(runs):
        held = (shares * people).astype(int)
        if target == "population":
            held = generator.multinomial(people, shares)
        tally = sum(generator.multinomial(n, law) for n, law in zip(held, laws, strict=True))
        error = abs(float(randomizer.mean(tally)) - float((shares * points).sum()))
        reach = mean_reach(randomizer, tally, miss=0.05, target=target)
        hits += error <= reach
        narrow += error <= 0.5 * reach
    assert stats.binom.cdf(hits, runs, 0.95) > 1e-6
    assert stats.binom.cdf(narrow, runs, 0.95) < 1e-6


def test_hostile_reports_cannot_leave_the_interval_of_a_mean():
    coin, people, hostile = TwoPoint(epsilon=1), 200_000, 2000
    ups = people // 2
    truth = 0.0
    for sent in (0, hostile):
        honest = np.array([ups - hostile // 2, ups - hostile // 2])
        tally = honest + np.array([hostile - sent, sent])
        found = MeanEstimate.of(coin, tally, hostile=hostile)
        assert found.low <= truth <= found.high
        blind = MeanEstimate.of(coin, tally)
        assert not blind.low <= truth <= blind.high


def test_a_mean_says_what_it_is_about():
    tally = np.array([400, 600])
    text = str(MeanEstimate.of(TwoPoint(epsilon=1), tally, low=0, high=10, target="reported"))
    assert "of those who reported" in text
    with pytest.raises(DiscreetError):
        MeanEstimate.of(TwoPoint(epsilon=1), tally, low=1, high=1)
    with pytest.raises(DiscreetError):
        MeanEstimate.of(TwoPoint(epsilon=1), tally, hostile=1001)
    with pytest.raises(DiscreetError):
        MeanEstimate.of(TwoPoint(epsilon=1), np.array([0, 1]))
