"""Chi-square at ten million draws, with the real tables and the real words.

Enumeration has proved the law at small sizes; this guards what it cannot reach.  The stream is
fixed, so the tests are deterministic; over random streams each assertion would raise a false alarm
once in a million times.  Every law has two mutants, a little narrower and a little wider, that must
be refused.
"""

from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from discreet.arrays import INT64_MAX, INT64_MIN
from discreet.errors import OutOfRange, WrongKind
from discreet.noise import (
    Bernoulli,
    Categorical,
    DiscreteGaussian,
    DiscreteLaplace,
    Uniform,
    tablefree,
)
from discreet.noise.bernoulli import CoinSizes
from discreet.noise.laplace import drawn_together
from discreet.noise.tablefree import FreeSizes, Parameters, gaussian_into, laplace_into
from tests.noise.laws import ALPHA, cells_of, chi_square, chi_squares, count_cells, p_value, stream

DRAWS = 10**7
ENOUGH = 5 * 10**6  # to refuse a scale that is half a percent off
FEW = 4 * 10**5

TABLES = {
    "laplace, one table": lambda f: DiscreteLaplace(scale=2 * f),
    "laplace, blocks": lambda f: DiscreteLaplace(scale=1000 * f),
    "laplace, wide blocks": lambda f: DiscreteLaplace(scale=10**12 * f),
    "gaussian, one table": lambda f: DiscreteGaussian(variance=9 * f**2),
    "gaussian, blocks": lambda f: DiscreteGaussian(variance=10**6 * f**2),
    "gaussian, wide blocks": lambda f: DiscreteGaussian(variance=10**24 * f**2),
}
FREE = {
    "laplace": (lambda f: DiscreteLaplace(scale=300 * f), laplace_into, "scale"),
    "gaussian": (lambda f: DiscreteGaussian(variance=10**4 * f**2), gaussian_into, "variance"),
}
MUTANTS = [Fraction(199, 200), Fraction(201, 200)]


@pytest.mark.parametrize("name", TABLES)
def test_many_draws(name):
    law = TABLES[name](Fraction(1))
    sample = law.sample(ENOUGH, stream(name))
    right, *wrong = chi_squares(sample, law, *(TABLES[name](factor) for factor in MUTANTS))
    assert right > ALPHA
    assert max(wrong) < ALPHA


@pytest.mark.parametrize("name", FREE)
def test_many_draws_without_a_table(name):
    make, draw_into, parameter = FREE[name]
    law = make(Fraction(1))
    sample = np.empty(4 * 10**6, np.int64)
    draw_into(sample, Parameters.same(getattr(law, parameter)), stream(name))
    right, *wrong = chi_squares(sample, law, *(make(factor**2) for factor in MUTANTS))
    assert right > ALPHA
    assert max(wrong) < ALPHA


@pytest.mark.parametrize("below", [6, 1000, 10**9 + 7, 2**63 - 1])
def test_uniform_draws(below):
    law = Uniform(below=below)
    sample = law.sample(10**6, stream("uniform"))
    assert chi_square(sample, law) > ALPHA
    for end in (0, below - 1):  # mutants: one draw in a hundred stuck at an end
        mutant = sample.copy()
        mutant[::100] = end
        assert chi_square(mutant, law) < ALPHA


@pytest.mark.parametrize("p", ["1/3", "0.001"], ids=str)
def test_coin_flips(p):
    coin = Bernoulli(p=p)
    heads = int(coin.flips(DRAWS, stream("coin")).sum())
    chance = coin.pmf(1)
    spread = (DRAWS * chance * (1 - chance)) ** 0.5
    assert abs(heads - DRAWS * chance) < 4.9 * spread  # two-sided 1e-6
    for wrong in (chance * 0.98, chance * 1.02):
        assert abs(heads - DRAWS * wrong) > 1.9 * spread


def test_categorical_draws():
    weights = [7, 0, 1, 400, 13, Fraction(1, 2)]
    law = Categorical(weights=weights)
    sample = law.sample(DRAWS, stream("categorical"))
    counts = np.bincount(sample, minlength=6)
    expected = np.array([law.pmf(k) for k in range(6)]) * DRAWS
    assert counts[1] == 0
    kept = expected > 0
    statistic = ((counts - expected)[kept] ** 2 / expected[kept]).sum()
    assert statistic < 35.9  # chi-square with 4 degrees of freedom, level 3e-7
    mutant = np.array([7.2, 0, 1, 400, 13, 0.5])
    mutant *= DRAWS / mutant.sum()
    assert ((counts - mutant)[kept] ** 2 / mutant[kept]).sum() > 35.9


def test_the_size_of_a_call_does_not_change_the_law():
    """A call below and a call above the table's threshold have the same law, and both are right."""
    law = DiscreteLaplace(scale=5)
    small = np.concatenate([law.sample(60_000, stream(f"small {n}")) for n in range(20)])
    large = law.sample(1_200_000, stream("large"))
    assert chi_square(small, law) > ALPHA
    assert chi_square(large, law) > ALPHA


def test_the_widest_noise_stays_within_64_bits():
    """Even where words of zeros make its logarithm as large as a word can, on either side."""
    law = DiscreteLaplace(scale=2**50)

    class Extreme:
        def __init__(self, negative):
            self.negative, self.source = negative, stream("ends")

        def words(self, count, width):
            if width == 1:
                return np.full(count, self.negative, np.uint8)
            if width == 53:  # coins: the low bits are kept, and so is the proposal
                return np.zeros(count, np.uint64)
            return np.zeros(count, np.uint64) if width == 64 else self.source.words(count, width)

        def bits(self, width):
            return 1 if width == 64 else self.source.bits(width)

    assert (law.sample(3, Extreme(negative=False)) > 2**56).all()
    assert (law.sample(3, Extreme(negative=False)) < 2**60).all()
    assert (law.sample(3, Extreme(negative=True)) > -(2**60)).all()


def test_values_beyond_64_bits_stop_at_the_ends():
    wide = tablefree.WideIntegers(np.array([2**62]), np.array(3), np.array([5]))
    assert wide.exact(0) == 2**65 + 5
    assert wide.floats()[0] == 2.0**65
    assert wide.clamped(np.array([False])).tolist() == [INT64_MAX]
    assert wide.clamped(np.array([True])).tolist() == [INT64_MIN]


WIDEST = {
    "laplace table": DiscreteLaplace(scale=2**50).sample,
    "gaussian table": DiscreteGaussian(variance=2**100).sample,
    "laplace 1e12": DiscreteLaplace(scale=10**12).sample,
    "uniform": Uniform(below=2**63).sample,
}


@pytest.mark.parametrize("name", WIDEST)
def test_the_lowest_bits_of_wide_noise_are_fair(name):
    """No step goes through floats, which would round the lowest bits away beyond 2**53."""
    sample = WIDEST[name](10**6, stream(name))
    counts = np.bincount(sample & 255, minlength=256)
    assert stats.chisquare(counts).pvalue > ALPHA
    rounded = sample.astype(np.float64).astype(np.int64)  # mutant
    if np.abs(sample).max() > 2**55:
        assert stats.chisquare(np.bincount(rounded & 255, minlength=256)).pvalue < ALPHA


@pytest.mark.slow
@pytest.mark.parametrize("name", TABLES)
def test_a_billion_draws(name):
    """At 10**9 draws a scale wrong by one part in 2000 is visible."""
    law, source = TABLES[name](Fraction(1)), stream(f"billion {name}")
    edges = cells_of(law, 200)
    counts = sum(count_cells(law.sample(DRAWS, source), edges) for _ in range(100))
    assert p_value(counts, law, edges) > ALPHA
    for factor in (Fraction(1999, 2000), Fraction(2001, 2000)):
        assert p_value(counts, TABLES[name](factor), edges) < ALPHA


@pytest.mark.parametrize("name", FREE)
@pytest.mark.parametrize("sizes", [None, FreeSizes(coins=CoinSizes(guard=0.2))], ids=str)
def test_laws_that_are_drawn_together(name, sizes):
    """Each keeps its own law, also where exact numbers decide."""
    make, factors = FREE[name][0], [Fraction(1, 100), Fraction(1), Fraction(10**6)]
    laws, count = [make(factor) for factor in factors], 2 * 10**5 if sizes is None else 6000
    off = Fraction(3, 100) if sizes is None else Fraction(15, 100)
    more = {} if sizes is None else {"sizes": sizes}
    samples = drawn_together(laws, [count] * 3, stream(name), **more)
    for factor, law, sample in zip(factors, laws, samples, strict=True):
        right, *wrong = chi_squares(sample, law, make(factor * (1 - off)), make(factor * (1 + off)))
        assert right > ALPHA
        assert max(wrong) < ALPHA


def test_nothing_and_other_families_drawn_together():
    laplace, gaussian = DiscreteLaplace(scale=3), DiscreteGaussian(variance=3)
    assert drawn_together([], []) == []
    assert [each.size for each in drawn_together([laplace] * 3, [2, 0, 1])] == [2, 0, 1]
    with pytest.raises(WrongKind):
        drawn_together([laplace, gaussian], [1, 1])
    with pytest.raises(OutOfRange):
        drawn_together([laplace], [-1])
