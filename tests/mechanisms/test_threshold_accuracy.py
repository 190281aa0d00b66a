"""The error of comparisons, against the exact law and against plain sums."""

import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.mechanisms.sparse_vector import AboveThreshold, Sparse
from discreet.mechanisms.threshold_law import Accuracy
from discreet.noise import DiscreteLaplace


def plain(accuracy, alpha):
    """Add up the chance of the event in floats, term by term, by the formulas of the law."""
    a = math.exp(-1 / accuracy.threshold_noise.scale)
    t = np.arange(-30 * math.ceil(accuracy.threshold_noise.scale) - 30, 0)
    t = np.concatenate([t, [0], -t])
    mass = (1 - a) / (1 + a) * a ** np.abs(t)

    def at_most(k):
        b = math.exp(-1 / accuracy.query_noise.scale)
        tail = np.where(k < 0, b ** np.abs(k), b ** np.abs(k + 1)) / (1 + b)
        return np.where(k < 0, tail, 1 - tail)

    inside = at_most(t + alpha) - at_most(t - alpha - 2)
    return float(mass @ inside**accuracy.queries)


@pytest.mark.theorem("threshold-accuracy")
@pytest.mark.parametrize("queries", [1, 7, 100])
@pytest.mark.parametrize("scales", [("1/2", 1), (2, 4), (5, 3)])
@pytest.mark.parametrize("confidence", ["0.5", "0.95", "0.999"])
def test_alpha_is_the_smallest_that_holds(queries, scales, confidence):
    rho, nu = (DiscreteLaplace(scale=scale) for scale in scales)
    accuracy = Accuracy(threshold_noise=rho, query_noise=nu, queries=queries)
    alpha = accuracy.smallest(Fraction(confidence))
    assert plain(accuracy, alpha) >= float(confidence) - 1e-9
    assert plain(accuracy, alpha - 1) < float(confidence) + 1e-9


@pytest.mark.theorem("threshold-accuracy")
def test_wide_noise_is_blurred_on_the_safe_side():
    rho, nu = DiscreteLaplace(scale=500), DiscreteLaplace(scale=1000)
    accuracy = Accuracy(threshold_noise=rho, query_noise=nu, queries=10)
    alpha = accuracy.smallest(Fraction(9, 10))
    assert plain(accuracy, alpha) >= 0.9
    assert plain(accuracy, alpha - 5) < 0.9


@pytest.mark.theorem("threshold-accuracy")
@pytest.mark.parametrize("answers", [1, 2])
def test_streams_at_the_edge_are_answered_right_as_often_as_promised(answers):
    """On streams just beyond alpha, the exact law of the right pattern is above the confidence."""
    plan = Sparse(threshold=0, answers=answers, epsilon=4)
    for confidence in (Fraction(1, 2), Fraction(9, 10)):
        alpha = plan.error(confidence=confidence, queries=4)
        low, high = -alpha - 1, alpha + 1
        assert plan.reference_pmf([low] * 4)[(False,) * 4].low >= confidence
        right = (False, False, False, True)
        stream = [low, low, low, high]
        assert sum(c.low for p, c in plan.reference_pmf(stream).items() if p == right) >= confidence


def test_the_error_beats_the_textbook_bound():
    plan = AboveThreshold(threshold=0, epsilon=1)
    textbook = 8 * (math.log(100) + math.log(2 / 0.05))
    assert plan.error(confidence=0.95, queries=100) < textbook / 2
