"""One draw of a posterior: its law and its loss, exactly."""

import itertools
import math
from fractions import Fraction

import pytest

from discreet.errors import DiscreetError
from discreet.learning import PosteriorDraw
from discreet.noise import exact_law

GOLDEN = [("0.01", 8.09), ("0.05", 5.55), ("0.1", 4.21), ("0.2", 2.68)]


@pytest.mark.theorem("posterior-draw")
@pytest.mark.parametrize(("lowest", "epsilon"), GOLDEN)
def test_golden_losses_of_the_continuous_law(lowest, epsilon):
    fine = PosteriorDraw(people=50, lowest=lowest, points=2501)
    assert abs(float(fine.epsilon) - epsilon) < 0.012
    bound = 2 * math.log((1 - float(lowest)) / float(lowest))
    assert fine.epsilon < bound


@pytest.mark.theorem("posterior-draw")
@pytest.mark.parametrize("prior", [(1, 1), (2, 3)])
def test_the_loss_is_the_largest_ratio_of_all_outcomes(prior):
    draw = PosteriorDraw(people=6, lowest="0.2", yes=prior[0], no=prior[1], points=5)
    grid = [Fraction(1, 5) + Fraction(3, 20) * k for k in range(5)]
    laws = []
    for count in range(7):
        weights = [
            t ** (prior[0] + count - 1) * (1 - t) ** (prior[1] + 6 - count - 1) for t in grid
        ]
        laws.append([weight / sum(weights) for weight in weights])
    worst = max(
        max(one[k] / other[k], other[k] / one[k])
        for one, other in itertools.pairwise(laws)
        for k in range(5)
    )
    assert 0 <= float(draw.epsilon) - math.log(worst) < 1e-12
    assert draw.loss.epsilon(delta=0) == float(draw.epsilon)


@pytest.mark.theorem("posterior-draw")
def test_the_law_of_a_draw_by_enumeration():
    draw = PosteriorDraw(people=2, lowest="1/4", points=3)
    law = exact_law(lambda entropy: draw.run(1, entropy=entropy), unexplored="96/256")
    # one attempt: of 256 words 160 are kept, in parts of t (1 - t) = 3/16, 4/16 and 3/16
    assert law.unexplored == Fraction(96, 256)
    assert law.mass == {0.25: Fraction(48, 256), 0.5: Fraction(64, 256), 0.75: Fraction(48, 256)}


@pytest.mark.parametrize("lowest", ["0", "1/2", "-1", "0.7"])
def test_a_plain_posterior_is_refused(lowest):
    with pytest.raises(DiscreetError, match="between"):
        PosteriorDraw(people=10, lowest=lowest)


def test_too_much_work_is_refused():
    with pytest.raises(DiscreetError, match="too many"):
        PosteriorDraw(people=10**6, lowest="0.1")
