"""The geometric mechanism is best for everyone, once its output is read rightly."""

import math
from fractions import Fraction

import pytest

from discreet.errors import OutOfRange, WrongKind
from discreet.units import NeighborGraph
from discreet_course.optimal import (
    bayes_remap,
    expectation,
    expected,
    geometric_on_counts,
    optimal_mechanism,
)
from tests.course.test_optimal import COSTS, PRIORS
from tests.twins import finite as twins

HALVES = [Fraction(2, 2 ** (k + 1)) / (2 - Fraction(1, 2**10)) for k in range(11)]
KNOWN = {"uniform": PRIORS["uniform"], "binomial": PRIORS["binomial"], "halving": HALVES}
WORST = {  # of the mechanism as it is, at epsilon 1/2 and 1
    "absolute": (1.761511, 0.845185),
    "square": (5.616988, 1.771606),
    "wrong": (0.755081, 0.537883),
}


@pytest.mark.theorem("universal-geometric")
@pytest.mark.parametrize("prior", KNOWN)
@pytest.mark.parametrize("cost", COSTS)
@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(1)])
def test_remapped_geometric_noise_is_optimal(prior, cost, epsilon):
    chances = KNOWN[prior]
    best = optimal_mechanism(
        graph=NeighborGraph.line(11), epsilon=epsilon, cost=COSTS[cost], prior=chances
    )
    common = geometric_on_counts(largest=10, epsilon=epsilon)
    remapped = bayes_remap(common, prior=chances, cost=COSTS[cost])
    assert remapped.epsilon() <= common.epsilon() <= float(epsilon)
    price = expectation(chances, expected(remapped, COSTS[cost]))
    assert best.cost.low <= price <= best.cost.low + Fraction(1, 10**9)


@pytest.mark.parametrize("cost", COSTS)
@pytest.mark.parametrize("at", [0, 1])
def test_the_worst_case_without_remapping(cost, at):
    common = geometric_on_counts(largest=10, epsilon=("0.5", 1)[at])
    assert float(max(expected(common, COSTS[cost]))) == pytest.approx(WORST[cost][at], abs=6e-7)


def test_epsilon_zero_says_nothing():
    assert geometric_on_counts(largest=3, epsilon=0).odds_ratio() == 1


@pytest.mark.parametrize(
    ("epsilon", "true"), [("0.1", 0.191), ("0.5", 0.832), (1, 1.490), (2, 2.623)]
)
def test_bounding_noise_by_renormalizing_nearly_doubles_epsilon(epsilon, true):
    epsilon = Fraction(epsilon)
    width = 200
    reach = width + math.ceil(12 * width / epsilon)
    broken = twins.renormalized(width=width, reach=reach, epsilon=epsilon)
    assert broken.epsilon() == pytest.approx(true, abs=0.008)
    assert broken.epsilon() > 1.3 * epsilon  # the check refutes the claim
    limit = float(epsilon) + math.log(2 - math.exp(-epsilon))
    assert limit == pytest.approx(true, abs=6e-4)
    assert broken.epsilon() == pytest.approx(limit, abs=0.008)


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: geometric_on_counts(largest=0, epsilon=1), OutOfRange),
        (lambda: geometric_on_counts(largest=5, epsilon=-1), OutOfRange),
        (lambda: geometric_on_counts(largest="5", epsilon=1), WrongKind),
        (lambda: bayes_remap(3, prior=[1], cost=COSTS["wrong"]), WrongKind),
        (
            lambda: bayes_remap(
                geometric_on_counts(largest=1, epsilon=1), prior=[1], cost=COSTS["wrong"]
            ),
            WrongKind,
        ),
    ],
)
def test_bad_input_is_refused(call, error):
    with pytest.raises(error):
        call()
