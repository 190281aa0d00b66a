"""The private quantile: how far scores move, and which candidate is selected."""

import itertools
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from discreet.loss import ZeroConcentrated
from discreet.mechanisms import Exponential, Quantile
from tests.noise.laws import stream

F = Fraction
TABLES = [
    rows for size in range(5) for rows in itertools.combinations_with_replacement(range(4), size)
]


def make(level="1/2", relation="add_remove", scale=1):
    return Quantile(level=level, candidates=range(4), scale=scale, relation=relation)


@pytest.mark.theorem("quantile-score")
@pytest.mark.parametrize("level", [F(0), F(1, 4), F(1, 2), F(9, 10), F(1)])
@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_how_far_scores_move(level, relation):
    quantile = make(level, relation)
    largest = F(0)
    for x, y in itertools.permutations(TABLES, 2):
        lost, gained = (sum((Counter(a) - Counter(b)).values()) for a, b in ((x, y), (y, x)))
        if (lost + gained == 1) if relation == "add_remove" else (lost == gained == 1):
            scores = zip(quantile._scores(x), quantile._scores(y), strict=True)
            largest = max(largest, *(abs(a - b) for a, b in scores))
    assert largest <= quantile._moved(1)
    if relation == "add_remove":
        assert largest == quantile._moved(1) == max(level, 1 - level)


@pytest.mark.theorem("quantile-score")
def test_losses():
    assert make(scale=2).loss().pure_bound() == F(1, 2)
    assert make(scale=2).loss(distance=3).pure_bound() == F(3, 2)
    assert make(scale=2, relation="replace").loss().pure_bound() == 1
    assert make(level="9/10", scale=2).loss().pure_bound() == F(9, 10)
    assert make(scale=2, relation="local").loss(distance=9).pure_bound() == 1
    assert make(scale=2).concentrated() == ZeroConcentrated(rho=F(1, 32))


@pytest.mark.parametrize("level", [F(1, 10), F(1, 2), F(3, 4)])
def test_with_many_rows_the_true_quantile_is_selected(level):
    values = np.arange(10_000)
    quantile = Quantile(level=level, candidates=range(0, 10_000, 50), scale=2, relation="replace")
    answer = quantile.run(values, entropy=stream("quantile"))
    assert abs(answer - level * 10_000) <= quantile.error(confidence=F(999_999, 10**6)) + 1


def test_scores_are_not_below_zero_exactly_at_quantiles():
    assert make()._scores((0, 1, 1, 3)) == [-1, 1, -1, -1]
    assert make()._scores((0, 2)) == [0, 0, 0, -1]
    assert make()._scores(()) == [0, 0, 0, 0]
    assert make("1/4")._scores((1,) * 4) == [-1, 1, -3, -3]


def cut_off(quantile, rows):
    """The score that says of ties no more than that they are right."""
    return [min(F(0), score) for score in quantile._scores(rows)]


def mid_ranks(quantile, rows):
    """The score by the middle of the ranks of a candidate."""
    target = quantile.level * len(rows)
    below = [sum(row < place for row in rows) for place in quantile.candidates]
    upto = [sum(row <= place for row in rows) for place in quantile.candidates]
    return [-abs(F(b + u, 2) - target) for b, u in zip(below, upto, strict=True)]


def misses(quantile, rows, scores):
    """The mean number of ranks by which a choice with these scores misses."""
    law = Exponential(candidates=4, scale=quantile.scale).reference_pmf(scores)
    missed = (max(F(0), -score) for score in quantile._scores(rows))
    return sum(float(law[place].low) * float(miss) for place, miss in enumerate(missed))


@pytest.mark.theorem("quantile-score")
@pytest.mark.parametrize("level", [F(1, 4), F(1, 2), F(9, 10)])
def test_ties_cost_no_accuracy(level):
    """On every small table the mean rank error is at most that of the score that is cut off."""
    quantile, gained, by_mid_rank = make(level), 0, 0.0
    for rows in TABLES:
        open_ended = misses(quantile, rows, quantile._scores(rows))
        clipped = misses(quantile, rows, cut_off(quantile, rows))
        assert open_ended <= clipped + 1e-12
        gained += open_ended < clipped - 1e-3
        by_mid_rank += misses(quantile, rows, mid_ranks(quantile, rows)) - open_ended
    assert gained > len(TABLES) / 2
    assert by_mid_rank > 0


@pytest.mark.theorem("quantile-score")
@pytest.mark.parametrize("factor", [F(9, 10), F(11, 10)])
def test_mutants_of_the_score_move_further(factor, monkeypatch):
    """A score that grows faster with ties than half of them is not as private as is claimed."""
    real = Quantile._scores

    def more_for_ties(quantile, rows):
        ties = [rows.count(place) for place in quantile.candidates]
        return [s + factor * F(n, 2) for s, n in zip(real(quantile, rows), ties, strict=True)]

    monkeypatch.setattr(Quantile, "_scores", more_for_ties)
    with pytest.raises(AssertionError):
        test_how_far_scores_move(F(1, 2), "add_remove")


def test_the_error_counts_ranks():
    assert make(scale=2).error(confidence=0.95).denominator in {1, 2}
    assert make(scale=2).error(confidence=0.95) <= 9
