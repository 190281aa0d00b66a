"""The time of a draw says nothing about its value."""

import time
from collections import defaultdict
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from discreet.noise import DiscreteGaussian, DiscreteLaplace, exact_law
from discreet.noise.scalar import ScalarGaussian, ScalarLaplace
from tests.noise.laws import TINY_FREE


@pytest.mark.parametrize(
    "scalar", [ScalarLaplace(Fraction(1), TINY_FREE), ScalarGaussian(Fraction(1), TINY_FREE)]
)
def test_the_number_of_attempts_is_independent_of_the_value(scalar):
    """Exactly: after one rejected attempt, values have the same law as after none.

    An attempt is settled by its first word alone in most cases; there, the chance of each value is
    counted over all words, once for the first attempt and once for the second.
    """
    width = scalar.width

    class Stop(Exception):
        pass

    class Silent:
        def bits(self, _):
            raise Stop

    outcomes = defaultdict(int)
    for word in range(1 << width):
        try:
            outcomes[scalar.attempt(word, Silent())] += 1
        except Stop:
            outcomes["open"] += 1
    rejected = outcomes.pop(None)
    assert 0 < rejected < 1 << width

    def program(entropy):
        first = entropy.bits(width)
        value = scalar.attempt(first, entropy)
        return (1, value) if value is not None else (2, None)

    law = exact_law(program, max_runs=1 << (width + 1))
    for value, count in outcomes.items():
        if value != "open":
            assert law.mass[1, value] >= Fraction(count, 1 << width)


@pytest.mark.slow
@pytest.mark.parametrize(
    "law",
    [DiscreteLaplace(scale=1), DiscreteLaplace(scale=100), DiscreteGaussian(variance=100)],
    ids=str,
)
def test_time_and_magnitude_are_uncorrelated(law):
    """Spearman below 0.02, AUC within 0.01 of a half, over 200,000 draws on a quiet machine."""
    clock = time.perf_counter_ns
    values, times = [], []
    for _ in range(200_000):
        start = clock()
        value = law.draw()
        times.append(clock() - start)
        values.append(abs(value))
    values, times = np.array(values), np.array(times)
    assert abs(stats.spearmanr(values, times).statistic) < 0.02
    large = values > np.median(values)
    ranks = stats.rankdata(times)
    ones, zeros = large.sum(), (~large).sum()
    auc = (ranks[large].sum() - ones * (ones + 1) / 2) / (ones * zeros)
    assert abs(auc - 0.5) < 0.01
