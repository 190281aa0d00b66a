"""AboveThreshold: the price, shown on all neighbors, and what the literature says about it."""

import itertools
from fractions import Fraction

import pytest

from discreet.loss import Pure
from discreet.mechanisms.sparse_vector import AboveThreshold
from discreet.noise import DiscreteLaplace
from tests.mechanisms import quadrature
from tests.twins.sparse_vector import neighbors, worst

NARROW, WIDE = DiscreteLaplace(scale=2), DiscreteLaplace(scale=4)
ROUNDING = 1e-12


def test_the_noise_is_that_of_the_course():
    plan = AboveThreshold(threshold=0, epsilon=1)
    assert (plan.threshold_noise, plan.query_noise) == (NARROW, WIDE)
    coarse = AboveThreshold(threshold=0, epsilon=3, sensitivity=3)
    assert (coarse.threshold_noise, coarse.query_noise) == (NARROW, WIDE)


def test_the_loss_is_epsilon_for_each_unit():
    plan = AboveThreshold(threshold=0, epsilon=0.1)
    assert plan.loss() == Pure(epsilon=Fraction(1, 10))
    assert plan.loss(distance=3) == Pure(epsilon=Fraction(3, 10))


def test_naive_accounting_would_charge_every_comparison():
    plan = AboveThreshold(threshold=0, epsilon=1)
    one_comparison = 1 / plan.query_noise.scale
    assert 100 * one_comparison == 25  # n epsilon / 4, and the plan costs 1


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


def test_the_chances_of_continuous_noise():
    noise = {"threshold": 0, "threshold_scale": 2, "query_scale": 4}
    pattern = False, False, True
    assert quadrature.chance(pattern, (0, 0, 1), **noise) == pytest.approx(0.1279857533, abs=1e-10)
    assert quadrature.chance(pattern, (1, 1, 0), **noise) == pytest.approx(0.0710065166, abs=1e-10)


@pytest.mark.parametrize(
    ("belows", "loss"),
    [
        (1, 0.39581533),
        (2, 0.58914730),
        (5, 0.89981469),
        (10, 0.99401016),
        (20, 0.99998137),
        (50, 1),
    ],
)
def test_the_loss_of_continuous_noise_at_threshold_zero(belows, loss):
    found = quadrature.loss(belows, 1, threshold=0, threshold_scale=2, query_scale=4)
    assert found == pytest.approx(loss, abs=1e-8)


def test_a_threshold_between_the_values_costs_a_little_more():
    noise = {"threshold_scale": 2, "query_scale": 4}
    assert quadrature.loss(1, 1, threshold=0.5, **noise) == pytest.approx(0.39845110, abs=1e-8)
    assert quadrature.loss(5, 1, threshold=-20, **noise) == pytest.approx(0.94928, abs=1e-5)


@pytest.mark.parametrize(("answers", "bound"), [(1, 1.75), (2, 3.25), (5, 7.75)])
def test_continuous_variant_four_reaches_a_multiple_of_its_claim(answers, bound):
    noise = {"threshold_scale": 4, "query_scale": 4 / 3}
    assert bound - 1e-3 < quadrature.loss(50, answers, threshold=-30, **noise) < bound + ROUNDING
    assert bound == (1 + 6 * answers) / 4


@pytest.mark.parametrize(
    ("each", "loss"), [(1, 0.743), (2, 1.543), (5, 4.061), (10, 8.397), (20, 17.217)]
)
def test_continuous_variant_six_grows_with_the_number_of_answers(each, loss):
    found = quadrature.loss(each, each, threshold=0.5, threshold_scale=2, query_scale=2)
    assert found == pytest.approx(loss, abs=1e-3)
    assert found > each / 2


def test_ten_queries_at_a_tenth():
    def loss(belows, aboves, threshold, threshold_scale, query_scale):
        return quadrature.loss(
            belows,
            aboves,
            threshold=threshold,
            threshold_scale=threshold_scale,
            query_scale=query_scale,
        )

    assert loss(9, 1, 0, 20, 40) == pytest.approx(0.0984, abs=1e-4)
    assert loss(9, 1, -80, 40, 40 / 3) == pytest.approx(0.1749, abs=1e-4)
    assert loss(5, 5, 0.5, 20, 20) == pytest.approx(0.4145, abs=1e-4)
