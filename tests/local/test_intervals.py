"""Intervals of shares: exact coverage on few people, statistics on many, hostile reports."""

import functools
import math

import numpy as np
import pytest
from scipy import stats

from discreet.attacks.proportions import at_least, at_most
from discreet.errors import DiscreetError
from discreet.exact import Interval
from discreet.local import Direct, Hadamard, Hashing, Subset, Unary, intervals
from discreet.local.intervals import TARGETS, Coins, share_bounds

ORACLES = {
    "direct": Direct(epsilon=1, values=3),
    "unary": Unary(epsilon=1, values=8, coding="optimized"),
    "hadamard": Hadamard(epsilon="0.5", values=8),
    "sure": Direct(epsilon=6, values=2),
}


def coins_of(name):
    return Coins.of(ORACLES[name].chances())


@functools.cache
def ends(name, people, miss, target, hostile=0):
    counts = np.arange(people + 1)
    return share_bounds(
        counts, people=people, coins=coins_of(name), miss=miss, target=target, hostile=hostile
    )


def support_law(holders, people, p, q):
    """Return the exact chances of all counts: M coins of chance p, the others of chance q."""
    own = stats.binom.pmf(np.arange(holders + 1), holders, p)
    return np.convolve(own, stats.binom.pmf(np.arange(people - holders + 1), people - holders, q))


def misses(law, low, high, share):
    """Return the chance that the interval is above the share, and that it is below."""
    slack = 1e-12
    return law[low > share + slack].sum(), law[high < share - slack].sum()


@pytest.mark.theorem("two-coin-interval")
@pytest.mark.parametrize("name", ORACLES)
@pytest.mark.parametrize("people", [1, 7, 60, 200])
def test_intervals_about_those_who_reported_miss_no_more_than_stated(name, people):
    coins, (low, high) = coins_of(name), ends(name, people, 0.1, "reported")
    worst = 0.0
    for holders in range(0, people + 1, max(1, people // 20)):
        law = support_law(holders, people, coins.p, coins.q)
        above, below = misses(law, low, high, holders / people)
        assert max(above, below) <= 0.05 + 1e-9
        worst = max(worst, above + below)
    assert worst > 0.03 or people < 60  # and little less: they are not just wide


@pytest.mark.theorem("clopper-pearson")
@pytest.mark.parametrize("name", ORACLES)
@pytest.mark.parametrize("people", [1, 7, 60, 200])
def test_intervals_about_the_population_miss_no_more_than_stated(name, people):
    coins, (low, high) = coins_of(name), ends(name, people, 0.1, "population")
    for share in np.linspace(0, 1, 21):
        chance = coins.q + share * (coins.p - coins.q)
        law = stats.binom.pmf(np.arange(people + 1), people, chance)
        above, below = misses(law, low, high, share)
        assert max(above, below) <= 0.05 + 1e-9


def test_noise_alone_is_no_interval_about_the_population():
    coins, (low, high) = coins_of("sure"), ends("sure", 200, 0.1, "reported")
    law = stats.binom.pmf(np.arange(201), 200, coins.q + 0.5 * (coins.p - coins.q))
    assert sum(misses(law, low, high, 0.5)) > 0.5  # the mutant: sold as about the population


def test_the_variance_at_zero_is_no_bar_for_a_frequent_value():
    coins, people = coins_of("unary"), 200
    reach = 1.645 * math.sqrt(float(coins.variance(0.0)) / people)
    shares = coins.shares(np.arange(people + 1), people)
    law = support_law(people, people, coins.p, coins.q)
    assert sum(misses(law, shares - reach, shares + reach, 1.0)) > 0.13
    low, high = ends("unary", people, 0.1, "reported")
    assert sum(misses(law, low, high, 1.0)) <= 0.1


@pytest.mark.parametrize(("hits", "people"), [(0, 9), (3, 9), (9, 9), (5000, 10_000), (7, 10**6)])
def test_they_agree_with_certified_bounds(hits, people):
    nearly = Coins.of((Interval("0.999999", "0.999999"), Interval("0", "0")))
    low, high = share_bounds(
        np.array([hits]), people=people, coins=nearly, miss=0.1, target="population"
    )
    assert 0 <= float(at_least(hits, people, level="0.05")) / 0.999999 - low[0] < 1e-9
    assert -1e-9 < min(float(at_most(hits, people, level="0.05")) / 0.999999, 1) - high[0] <= 1e-12


@pytest.mark.theorem("hostile-reports")
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", ["unary", "hadamard"])
def test_hostile_reports_cannot_leave_the_widened_interval(name, target):
    coins, people, hostile = coins_of(name), 120, 10
    low, high = ends(name, people, 0.1, target, hostile)
    honest = people - hostile
    for holders in (0, 20, honest):
        law = support_law(holders, honest, coins.p, coins.q)
        counts = np.arange(honest + 1)
        for held in (0, hostile):  # what the attackers have themselves
            share = (holders + held) / people
            for supported in (0, hostile):  # and what they send
                above, below = misses(law, low[counts + supported], high[counts + supported], share)
                assert max(above, below) <= 0.05 + 1e-9


def test_the_low_end_falls_by_what_a_report_adds_and_the_high_end_rises_by_what_it_takes():
    coins, people, hostile = coins_of("hadamard"), 200_000, 2000
    count, bars = np.array([110_000]), {"coins": coins, "miss": 0.05, "target": "population"}
    low, high = share_bounds(count, people=people, **bars)
    lower, higher = share_bounds(count, people=people, hostile=hostile, **bars)
    assert (low - lower)[0] == pytest.approx(hostile * coins.inflation / people, rel=0.02)
    assert (higher - high)[0] == pytest.approx(hostile * coins.deflation / people, rel=0.02)


def test_what_a_report_adds_is_not_what_it_takes_away():
    coins, people, hostile = coins_of("hadamard"), 400, 200  # who hold the value, and deny it
    law = stats.binom.pmf(np.arange(hostile + 1), people - hostile, coins.q)
    counts, share = np.arange(hostile + 1), hostile / people
    low, high = ends("hadamard", people, 0.1, "reported", hostile)
    assert sum(misses(law, low[counts], high[counts], share)) <= 0.1
    reach = 1.645 * math.sqrt(float(coins.variance(share)) / people)
    mutant = coins.shares(counts, people) + reach + hostile * coins.inflation / people
    assert sum(misses(law, mutant - 1, mutant, share)) > 0.5


INFLATION = {  # (1 - q)/(p - q), to three digits
    1: (2.164, 2.54, 3.164, 3.174, 3.33, 6.24, 74.9),
    "0.5": (4.08, 4.52, 5.08, 5.08, 5.62, 14.9, 197),
}


@pytest.mark.parametrize("epsilon", INFLATION)
def test_what_one_hostile_report_adds(epsilon):
    oracles = (
        Hadamard(epsilon=epsilon, values=128),
        Unary(epsilon=epsilon, values=128, coding="symmetric"),
        Unary(epsilon=epsilon, values=128, coding="optimized"),
        Subset(epsilon=epsilon, values=128),
        Hashing(epsilon=epsilon, values=128),
        Direct(epsilon=epsilon, values=10),
        Direct(epsilon=epsilon, values=128),
    )
    found = [Coins.of(oracle.chances()).inflation for oracle in oracles]
    assert found == pytest.approx(INFLATION[epsilon], rel=2e-3)


def test_many_people_are_covered_as_often_as_stated():
    coins, people, runs = coins_of("unary"), 100_000, 2000
    generator = np.random.default_rng(1)
    holders = people // 3
    counts = generator.binomial(holders, coins.p, runs)
    counts += generator.binomial(people - holders, coins.q, runs)
    low, high = share_bounds(counts, people=people, coins=coins, miss=0.05, target="reported")
    missed = int(((low > holders / people) | (high < holders / people)).sum())
    assert stats.binom.sf(missed - 1, runs, 0.05) > 1e-6
    assert missed > 0.03 * runs  # within a 32nd of a deviation of the exact interval
    tight = (low + high) / 2 + 0.8 * np.array([[-1], [1]]) * (high - low) / 2
    mutant = int(((tight[0] > holders / people) | (tight[1] < holders / people)).sum())
    assert stats.binom.sf(mutant - 1, runs, 0.05) < 1e-6


def test_steps_above_few_people_only_widen(monkeypatch):
    coins, counts, people = coins_of("hadamard"), np.arange(990, 1200, 13), 2000
    bars = {"people": people, "coins": coins, "miss": 0.05, "target": "reported"}
    low, high = share_bounds(counts, **bars)
    monkeypatch.setattr(intervals, "_SMALL", 0)
    lower, higher = share_bounds(counts, **bars)
    step = math.sqrt(max(coins.variance(0.0), coins.variance(1.0)) / people) / 32
    assert ((lower <= low) & (low <= lower + step)).all()
    assert ((high <= higher) & (higher <= high + step)).all()
    assert (higher - lower > high - low).any()


@pytest.mark.parametrize("hostile", [-1, 11, "3"])
def test_more_hostile_reports_than_people_are_refused(hostile):
    with pytest.raises(DiscreetError):
        ends("direct", 10, 0.05, "population", hostile)


def test_if_all_are_hostile_nothing_is_known():
    low, high = ends("direct", 10, 0.05, "population", 10)
    assert (low == 0).all()
    assert (high == 1).all()


def test_reports_that_say_nothing_are_refused():
    half = Interval("1/2", "1/2")
    with pytest.raises(DiscreetError):
        Coins.of((half, half))
    with pytest.raises(DiscreetError):
        share_bounds(
            np.array([1]), people=2, coins=coins_of("direct"), miss=0.05, target="everybody"
        )
