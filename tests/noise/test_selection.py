"""Selection at sizes that cannot be enumerated, and at scores that would underflow."""

from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from discreet.attacks import ReplayEntropy
from discreet.errors import OutOfRange, WrongKind
from discreet.noise import DiscreteLaplace, exponential_weights, selection
from discreet_course.permute_and_flip import permute_and_flip
from tests.noise.laws import ALPHA, TINY_COINS, stream

CHOOSERS = [exponential_weights, permute_and_flip]


@pytest.mark.parametrize("choose", CHOOSERS)
@pytest.mark.parametrize("offset", [0, 10**6, -(10**6), 2**62])
def test_a_common_offset_changes_nothing(choose, offset):
    picks = [
        choose(scores=[offset + score for score in (0, 3, 5, 4)], rate="1/2", entropy=source)
        for source in [stream("offset")]
        for _ in range(300)
    ]
    source = stream("offset")
    assert picks == [choose(scores=[0, 3, 5, 4], rate="1/2", entropy=source) for _ in range(300)]


@pytest.mark.parametrize("choose", CHOOSERS)
def test_scores_of_a_million_do_not_underflow(choose):
    scores = [-(10**6), 10**6, 10**6, -(10**6)]
    source = stream("million")
    picks = [choose(scores=scores, rate=1, entropy=source) for _ in range(400)]
    assert set(picks) == {1, 2}
    assert stats.binomtest(picks.count(1), len(picks)).pvalue > ALPHA


@pytest.mark.parametrize("choose", CHOOSERS)
def test_integers_arrays_and_fractions_mean_the_same(choose):
    whole = [3, 1, 4, 1, 5]
    forms = [whole, np.array(whole), np.array(whole, np.uint8), [Fraction(s, 1) for s in whole]]
    picks = []
    for form in forms:
        source = stream("forms")
        picks.append([choose(scores=form, rate="1/3", entropy=source) for _ in range(50)])
    assert picks[0] == picks[1] == picks[2] == picks[3]


@pytest.mark.theorem("exponential-inversion")
@pytest.mark.parametrize("size", [1, 2, 3, 10, 1000, 30_000])
def test_floats_and_integers_select_the_same_candidate(size):
    """Wherever the floating-point path answers, the integer path gives the same answer."""
    gaps = np.abs(DiscreteLaplace(scale=8).sample(size, stream("gaps")))
    gaps[size // 2] = 0
    unit = Fraction(1, 3)
    source = stream("words")
    answered = 0
    for _ in range(8):
        word = source.bits(53)
        by_floats = selection._by_floats(
            np.cumsum(np.exp(-selection.exponents(gaps, unit))), word, 53
        )
        if by_floats is not None:
            answered += 1
            exact = selection._by_integers(gaps, unit, word, source, selection.SIZES)
            assert by_floats == exact
    assert answered == 8


def test_words_on_a_boundary_are_left_to_integers():
    gaps = np.zeros(4, np.int64)  # boundaries at exactly 1/4, 1/2, 3/4
    sums = np.arange(1.0, 5.0)
    for number in (1, 2, 3):
        assert selection._by_floats(sums, number << 51, 53) is None
        exact = selection._by_integers(
            gaps, Fraction(1), number << 51, stream("edge"), selection.SIZES
        )
        assert exact == number
        assert selection._by_floats(sums, (number << 51) + (1 << 20), 53) == number


@pytest.mark.parametrize("choose", CHOOSERS)
def test_large_selections_follow_their_law(choose):
    """Ten groups of a hundred equal scores each: chi-square on the groups, false alarm 1e-6."""
    scores = np.repeat(np.arange(10), 100)
    source = stream("large")
    picks = np.array([choose(scores=scores, rate="1/2", entropy=source) for _ in range(4000)])
    counts = np.bincount(picks // 100, minlength=10)
    heads = np.exp(-0.5 * (9 - np.arange(10)))
    if choose is exponential_weights:
        chances = heads / heads.sum()
    else:  # a uniform member of the heads: integrate prod(1 - p + p t) over t
        nodes, weights = np.polynomial.legendre.leggauss(600)
        t, weights = (nodes + 1) / 2, weights / 2
        log_all = 100 * np.log1p(-heads[:, None] * (1 - t)).sum(axis=0)
        chances = np.array(
            [100 * (weights * p * np.exp(log_all - np.log1p(-p * (1 - t)))).sum() for p in heads]
        )
    assert chances.sum() == pytest.approx(1, abs=1e-9)
    rare = chances * len(picks) < 5
    if rare.any():
        counts = np.append(counts[~rare], counts[rare].sum())
        chances = np.append(chances[~rare], chances[rare].sum())
    assert stats.chisquare(counts, chances / chances.sum() * len(picks)).pvalue > ALPHA


@pytest.mark.parametrize("sizes", [selection.SIZES, TINY_COINS])
@pytest.mark.parametrize("count", [0, 1, 2, 40])
def test_many_draws_are_as_many_single_draws(count, sizes):
    """Tiny words leave many draws to the integers, which read more words in between."""
    scores = np.array([0, 3, 5, 4, 5, -1])
    source = stream("many")
    single = [
        exponential_weights(scores=scores, rate="1/2", entropy=source, sizes=sizes)
        for _ in range(count)
    ]
    together = exponential_weights(
        scores=scores, rate="1/2", count=count, entropy=stream("many"), sizes=sizes
    )
    assert together.dtype == np.int64
    assert together.tolist() == single


@pytest.mark.parametrize(
    ("count", "error"), [(-1, OutOfRange), (10**30, OutOfRange), (1.0, WrongKind), ("1", WrongKind)]
)
def test_a_number_of_draws_that_is_none_is_refused_before_a_bit_is_drawn(count, error):
    with pytest.raises(error):
        exponential_weights(scores=[1, 2], rate=1, count=count, entropy=ReplayEntropy([]))
