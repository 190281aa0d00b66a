"""AboveThreshold: the price, shown on all neighbors, and what the literature says about it."""

import itertools
from fractions import Fraction

import pytest

from discreet.loss import Pure
from discreet.mechanisms.sparse_vector import AboveThreshold
from discreet.noise import DiscreteLaplace
from tests.twins.sparse_vector import neighbors, worst

NARROW, WIDE = DiscreteLaplace(scale=2), DiscreteLaplace(scale=4)


def test_the_noise_is_that_of_the_course():
    plan = AboveThreshold(threshold=0, epsilon=1)
    assert (plan.threshold_noise, plan.query_noise) == (NARROW, WIDE)
    coarse = AboveThreshold(threshold=0, epsilon=3, sensitivity=3)
    assert (coarse.threshold_noise, coarse.query_noise) == (NARROW, WIDE)


def test_the_loss_is_epsilon_for_each_unit():
    plan = AboveThreshold(threshold=0, epsilon=0.1)
    assert plan.loss() == Pure(epsilon=Fraction(1, 10))
    assert plan.loss(distance=3) == Pure(epsilon=Fraction(3, 10))


@pytest.mark.theorem("above-threshold")
@pytest.mark.parametrize("epsilon", ["0.5", "1", "3"])
def test_no_outcome_on_any_neighbors_exceeds_epsilon(epsilon):
    plan = AboveThreshold(threshold=0, epsilon=epsilon)
    found = worst(plan.reference_pmf, neighbors(3, range(-1, 2)))
    assert found.at_most <= plan.epsilon


@pytest.mark.theorem("above-threshold")
def test_larger_steps_are_paid_for_by_the_sensitivity_and_by_the_distance():
    wide = AboveThreshold(threshold=0, epsilon=1, sensitivity=2)
    far = AboveThreshold(threshold=0, epsilon=1)
    streams = [(2 * a, 2 * b) for a, b in ((0, 0), (0, 1), (1, 0), (1, 1))]
    pairs = [(here, there) for here in streams for there in streams]
    assert worst(wide.reference_pmf, pairs).at_most <= 1
    assert 1 < worst(far.reference_pmf, [((0, 0, 0, 2), (2, 2, 2, 0))]).at_most <= 2


@pytest.mark.theorem("above-threshold")
def test_the_sensitivity_widens_both_noises():
    plan = AboveThreshold(threshold=-30, epsilon=3, sensitivity=3)
    outcome = (False,) * 20 + (True,)
    law = plan._comparison()
    pair = (0,) * 20 + (3,), (3,) * 20 + (0,)
    found = worst(lambda stream: {outcome: law.chance(outcome, stream)}, [pair])
    assert 2.99 < found.at_least <= found.at_most <= 3


@pytest.mark.theorem("above-threshold")
def test_monotone_queries_need_half_the_noise_and_others_do_not_get_along_with_it():
    plan = AboveThreshold(threshold=0, epsilon=1, monotone=True)
    assert plan.query_noise == NARROW
    assert worst(plan.reference_pmf, neighbors(3, range(-1, 2), monotone=True)).at_most <= 1
    assert worst(plan.reference_pmf, neighbors(3, (0, 1))).at_least > 1


@pytest.mark.theorem("above-threshold")
def test_the_loss_is_tight_in_the_limit_of_many_belows():
    plan = AboveThreshold(threshold=-20, epsilon=1)

    def loss(belows):
        pair = (0,) * belows + (1,), (1,) * belows + (0,)
        outcome = (False,) * belows + (True,)

        def law(stream):
            return {outcome: plan._comparison().chance(outcome, stream)}

        return worst(law, [pair])

    found = [loss(belows) for belows in (1, 2, 5, 10, 20)]
    assert all(a.at_most < b.at_least for a, b in itertools.pairwise(found))
    assert found[-1].at_least > 1 - 1e-5
    assert found[-1].at_most <= 1


@pytest.mark.theorem("above-threshold")
def test_monotone_queries_reach_the_same_limit():
    plan = AboveThreshold(threshold=-20, epsilon=1, monotone=True)
    outcome = (False,) * 20 + (True,)
    law = plan._comparison()
    found = worst(
        lambda stream: {outcome: law.chance(outcome, stream)}, [((0,) * 21, (1,) * 20 + (0,))]
    )
    assert 1 - 1e-4 < found.at_least <= found.at_most <= 1
