"""Golden numbers of randomizers of numbers: worst variances, and those of the literature."""

import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.local import TwoPoint, WindowResponse
from discreet.local.numbers import LevelSearch


def hybrid(epsilon):
    """The worst variance of the hybrid mechanism of Wang et al. 2019, above an epsilon of 0.61."""
    half, whole = math.exp(epsilon / 2), math.exp(epsilon)
    return (half + 3) / (3 * half * (half - 1)) + (whole + 1) ** 2 / (half * (whole - 1) ** 2)


@pytest.mark.parametrize(
    ("epsilon", "two", "even", "best"),
    [
        ("0.5", 16.671, 21.06, 16.0031),
        ("1", 4.683, 5.066, 3.9921),
        ("2", 1.724, 1.092, 0.8665),
        ("4", 1.076, 0.1618, 0.1275),
    ],
)
def test_worst_variances(epsilon, two, even, best):
    assert TwoPoint(epsilon=epsilon).variance().nearest() == pytest.approx(two, abs=5e-4)
    width = {"0.5": 121, "1": 113, "2": 95, "4": 63}[epsilon]  # 257 reports, as in the table
    linear = WindowResponse.linear(epsilon=epsilon, values=258 - width, width=width)
    assert linear.variance().nearest() == pytest.approx(even, rel=3e-4)
    assert WindowResponse.minimax(epsilon=epsilon).variance().nearest() == pytest.approx(
        best, abs=6e-4
    )


def piecewise(epsilon):
    """The worst variance of the piecewise mechanism of Wang et al. 2019."""
    grown = math.expm1(epsilon / 2)
    return 1 / grown + (grown + 4) / (3 * grown**2)


@pytest.mark.parametrize(
    ("epsilon", "pieces", "published"),
    [(0.5, 21.22, None), (1, 5.224, 4.289), (2, 1.228, 1.042), (4, 0.2414, 0.219)],
)
def test_worst_variances_of_the_literature(epsilon, pieces, published):
    assert piecewise(epsilon) == pytest.approx(pieces, rel=4e-4)
    if published:  # below an epsilon of 0.61 it is two-point response
        assert hybrid(epsilon) == pytest.approx(published, rel=4e-4)


@pytest.mark.parametrize(("epsilon", "bar"), [(1, 0.99), (2, 0.95), (4, 0.72)])
def test_the_default_beats_the_published_hybrid(epsilon, bar):
    best = WindowResponse.minimax(epsilon=epsilon)
    assert best.bits == 7
    assert best.variance().high <= bar * Fraction(hybrid(epsilon))


@pytest.mark.theorem("minimax-levels")
@pytest.mark.parametrize(("epsilon", "outcomes"), [("0.5", 8), ("1", 16), ("3", 20)])
def test_no_levels_of_the_same_window_are_much_better(epsilon, outcomes):
    best = WindowResponse.minimax(epsilon=epsilon, outcomes=outcomes)
    at_points = max(best.variance(point).nearest() for point in best.points())
    search = LevelSearch.of(float(Fraction(epsilon)), outcomes, best.width)
    bounds = []
    for code in range(len(search.means)):
        for share in np.linspace(0, 0.9, 10):  # any weights give a bound
            weights = np.full(len(search.means), (1 - share) / len(search.means))
            weights[code] += share
            bounds.append(float(weights @ search.best(weights)[1]))
    assert max(bounds) <= at_points * (1 + 1e-9)
    assert max(bounds) > 0.93 * at_points  # even these few weights come close
