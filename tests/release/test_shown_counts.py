"""Counts that showed their groups: intervals in floats, and what holds far above the threshold."""

from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from discreet.aggregates.mean import Mean
from discreet.aggregates.noisy_totals import (
    OTHERS,
    Intervals,
    Noisy,
    NoisyTotal,
    Run,
    clear_counts,
    clear_miss_chance,
    selected_count_intervals,
)
from discreet.aggregates.sum import Sum
from discreet.mechanisms import Gaussian, Laplace, NoisyKeys
from tests.noise.laws import stream
from tests.release.draws import enough, held, interval_of, lowered
from tests.release.test_reach import law_of

C95 = Fraction(19, 20)


def keys_of(noise, threshold, fewest=1):
    return NoisyKeys(
        noise=noise, threshold=threshold, groups=1, relation="add_remove", fewest=fewest
    )


KEYS = [
    keys_of(Laplace(scale=2), 10),
    keys_of(Laplace(scale=2), 30, fewest=4),
    keys_of(Gaussian(sigma=3), 20),
    keys_of(Laplace(scale=30), 200),
    keys_of(Gaussian(sigma=20), 120),
]


@pytest.mark.theorem("shown-interval")
@pytest.mark.parametrize("keys", KEYS)
@pytest.mark.parametrize("confidence", [Fraction(1, 2), C95, Fraction(999, 1000)])
def test_floats_give_the_exact_intervals(keys, confidence):
    counts = np.arange(keys.threshold, 4 * keys.threshold, max(1, keys.threshold // 12))
    low, high = selected_count_intervals(keys, counts[::-1], confidence)
    exact = keys.intervals(counts[::-1], confidence=confidence)
    assert low.tolist() == exact[0].tolist()
    assert high.tolist() == exact[1].tolist()


@pytest.mark.theorem("shown-interval")
def test_wide_noise_is_never_held_narrower_than_exact():
    keys = keys_of(Gaussian(sigma=2000), 15_000)
    counts = np.array([15_000, 15_040, 17_000, 22_000, 60_000])
    low, high = selected_count_intervals(keys, counts, C95)
    exact = keys.intervals(counts, confidence=C95)
    assert (low <= exact[0]).all()
    assert (high >= exact[1]).all()
    assert (exact[0] - low).max() <= 20
    assert (high - exact[1])[1:].max() <= 20


def test_chances_that_floats_do_not_know_are_decided_exactly():
    keys, rare = keys_of(Laplace(scale=2), 10), 1 - Fraction(1, 10**12)
    ends = selected_count_intervals(keys, np.array([10, 90]), rare)
    exact = keys.intervals(np.array([10, 90]), confidence=rare)
    assert [end.tolist() for end in ends] == [end.tolist() for end in exact]


@pytest.mark.theorem("clear-count")
@pytest.mark.parametrize("keys", KEYS)
@pytest.mark.parametrize("confidence", [Fraction(1, 2), C95])
def test_errors_of_clear_counts_are_as_rare_as_they_should(keys, confidence):
    """The worst event of the chance allowed, for every number that a group may count, exactly."""
    law = law_of(keys.noise)
    most = float(clear_miss_chance(confidence))
    allowed = float((1 - confidence) * (1 - OTHERS))
    start = next(y for y in range(keys.threshold, 10**6) if all_clear(keys, y, confidence))
    worst = 0.0
    for count in range(keys.fewest, start + 60, max(1, keys.threshold // 25)):
        shown = law.survival(keys.threshold - count - 1)
        clear = law.survival(start - count - 1)
        worst = max(worst, min(most, clear) / shown)  # an event holds what is clear, or part of it
    assert worst <= allowed
    assert worst > 0.9 * allowed


def all_clear(keys, count, confidence):
    return bool(clear_counts(keys, np.array([count]), confidence).all())


@pytest.mark.theorem("clear-count")
def test_a_mutant_that_takes_every_count_for_clear_is_wrong():
    """Just below the threshold what is shown is far too much, as often as not."""
    keys = keys_of(Laplace(scale=2), 30)
    law, far = law_of(keys.noise), keys.noise.error(confidence=C95)
    units = 20
    shown = law.survival(keys.threshold - units - 1)
    assert law.survival(max(keys.threshold - units - 1, far)) / shown > 0.9


MEAN = Mean(
    measure="s",
    count="n",
    step=Fraction(1, 2**10),
    center=Fraction(50),
    low=Fraction(0),
    high=Fraction(100),
)
SUM = Sum(measure="s", step=Fraction(1, 2**10), center=Fraction(50), count="n")


@pytest.mark.theorem("clear-count")
@pytest.mark.parametrize("keys", KEYS[:3])
@pytest.mark.parametrize("over", [-4, 0, 8, 25, 400])
def test_sums_and_means_of_counts_that_chose_their_groups(keys, over):
    rows = max(1, keys.threshold + over)
    shown = keys.run(np.full(60_000, rows), entropy=stream("shown"))
    size = shown.counts.size
    if size < 2000:
        return
    noise = Laplace(scale=60 * 2**10)
    values = noise.run(np.full(size, 20 * rows * 2**10), entropy=stream("values"))
    totals = {
        "n": NoisyTotal((Run(values=shown.counts, mechanism=keys.noise, keys=keys),)),
        "s": NoisyTotal((Run(values=values, mechanism=noise),)),
    }
    known = Intervals(
        lowered(s=(-9, 9), n=(0, 1)), Noisy(size=size, keys=(), totals=totals, chosen=()), C95
    )
    means, sums = interval_of(MEAN, known), interval_of(SUM, known)
    assert enough(held(means, 70), size, C95)
    assert enough(held(sums, 70 * rows), size, C95)
    if over == 400:  # far above the threshold hardly anything is lost
        box = MEAN.range(known, known.box(("s", "n")))
        assert (means[1] - means[0]).mean() < 0.8 * (box[1] - box[0]).mean()
        less = 0.04 * (means[1] - means[0])
        count = held((means[0] + less, means[1] - less), 70)
        assert stats.binomtest(count, size, 0.95, "less").pvalue < 1e-6
