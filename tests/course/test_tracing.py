"""Tracing members from averages: predicted shares, and the bound of a private release."""

from math import exp, sqrt

import numpy as np
import pytest

from discreet.mechanisms import Laplace
from discreet.noise import KeyedEntropy
from discreet_course.tracing import expected, marginals, people, scores, trace


def fixed(label):
    return KeyedEntropy(key=bytes(32), label=label)


def rates(traits):
    return 0.2 + 0.6 * (np.arange(traits) % 101) / 100


def crowd(count, traits, *, strangers=2000):
    chances = rates(traits)
    members = people(count, chances, entropy=fixed(f"members {traits}"))
    others = people(strangers, chances, entropy=fixed(f"strangers {traits}"))
    return chances, members, others


@pytest.mark.parametrize(
    ("count", "traits", "share", "area"),
    [(100, 100, 0.11, 0.76), (100, 900, 0.72, 0.98), (100, 2500, 0.99, 1.0)],
)
def test_exact_averages_give_members_away(count, traits, share, area):
    chances, members, others = crowd(count, traits)
    traced = trace(members.mean(axis=0), chances, members=members, strangers=others)
    assert abs(traced.share - share) <= 5 * sqrt(0.25 / count)
    assert abs(traced.area - area) <= 0.05
    assert abs(expected(count, traits) - share) <= 0.06


def test_scores_have_the_means_and_deviations_that_are_claimed():
    chances, members, others = crowd(100, 2500)
    averages = members.mean(axis=0)
    inside, outside = (scores(averages, chances, each) for each in (members, others))
    assert abs(inside.mean() - 25) <= 1.5
    assert abs(outside.mean()) <= 5 * sqrt(25 / 2000)
    assert abs(outside.std() - 5) <= 0.5


@pytest.mark.theorem("tracing-bound")
@pytest.mark.parametrize("epsilon", [1, 4])
def test_a_private_release_of_averages_traces_no_more_than_proven(epsilon):
    """Noise is real; 100 members and five deviations: 3e-7."""
    traits = 900
    chances, members, others = crowd(100, traits)
    sums = members.sum(axis=0, dtype=np.int64)
    noisy = np.asarray(Laplace(scale=traits / epsilon).run(sums)) / 100
    traced = trace(noisy, chances, members=members, strangers=others)
    bound = min(1, exp(epsilon) * traced.alarms)
    assert traced.share <= bound + 5 * sqrt(0.25 / 100)
    assert abs(traced.area - 0.5) <= 0.25


# --- marginals ----------------------------------------------------------------------------------


def test_tables_of_pairs_are_worth_many_more_bits():
    """Seventy traits say little; all their pairs name nearly everybody."""
    chances, members, others = crowd(100, 70)
    tables = marginals(members).mean(axis=0)
    assert tables.shape == (70 * 71 // 2,)
    single = trace(tables[:70], chances, members=members, strangers=others)
    paired = trace(tables, chances, members=members, strangers=others)
    assert single.share < 0.25
    assert paired.share > 0.95
    assert abs(paired.share - expected(100, 70 * 71 // 2)) <= 0.06


def test_scores_of_pairs_are_sums_over_all_products():
    chances, members, others = crowd(20, 6, strangers=5)
    tables = marginals(members).mean(axis=0)
    centered = members - chances
    spread = chances * (1 - chances)
    wanted = []
    for row in others - chances:
        score = sum(centered[:, j].mean() * row[j] / spread[j] for j in range(6))
        for i in range(6):
            for j in range(i + 1, 6):
                average = (centered[:, i] * centered[:, j]).mean()
                score += average * row[i] * row[j] / (spread[i] * spread[j])
        wanted.append(score)
    assert scores(tables, chances, others) == pytest.approx(wanted)


@pytest.mark.theorem("tracing-bound")
def test_private_tables_of_pairs_trace_no_more_than_proven():
    chances, members, others = crowd(100, 70)
    sums = marginals(members).sum(axis=0, dtype=np.int64)
    noisy = np.asarray(Laplace(scale=len(sums)).run(sums)) / 100
    traced = trace(noisy, chances, members=members, strangers=others)
    assert traced.share <= exp(1) * traced.alarms + 5 * sqrt(0.25 / 100)
