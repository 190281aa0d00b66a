"""Sparse: the split, the price on all neighbors, and the six published variants."""

import functools
import math
from fractions import Fraction

import pytest

from discreet.errors import OutOfRange
from discreet.loss import Pure
from discreet.mechanisms.sparse_vector import Sparse, threshold_share
from tests.audit.sparse_vector import BROKEN, PRIVATE, VARIANTS
from tests.twins.sparse_vector import neighbors, worst


def spent(plan):
    aboves = plan.answers * (1 if plan.monotone else 2)
    noises = plan.threshold_noise, plan.query_noise
    return plan.sensitivity * (1 / noises[0].scale + aboves / noises[1].scale)


@pytest.mark.theorem("sparse-vector")
@pytest.mark.parametrize("monotone", [False, True])
@pytest.mark.parametrize("answers", [1, 2, 3, 7, 300, 10**6])
def test_the_parts_add_up_to_epsilon_exactly(answers, monotone):
    for epsilon, sensitivity in ((1, 1), ("0.1", 3), (Fraction(22, 7), 10)):
        plan = Sparse(
            threshold=5,
            answers=answers,
            epsilon=epsilon,
            sensitivity=sensitivity,
            monotone=monotone,
        )
        assert spent(plan) == plan.epsilon
        assert plan.loss() == Pure(epsilon=plan.epsilon)


@pytest.mark.theorem("sparse-split")
@pytest.mark.parametrize("aboves", [1, 2, 3, 10, 600, 2 * 10**6, 2**33])
def test_the_share_is_the_optimum_rounded(aboves):
    share = threshold_share(aboves)
    assert float(share) == pytest.approx(1 / (1 + aboves ** (2 / 3)), rel=2**-15)

    def variance(part):
        return 2 / part**2 + 2 * (aboves / (1 - part)) ** 2

    assert variance(share) <= min(variance(share * (1 + step)) for step in (-0.001, 0.001))


@pytest.mark.theorem("sparse-vector")
@pytest.mark.parametrize("answers", [1, 2, 3])
@pytest.mark.parametrize("monotone", [False, True])
def test_no_outcome_on_any_neighbors_exceeds_epsilon(answers, monotone):
    plan = Sparse(threshold=0, answers=answers, epsilon=2, monotone=monotone)
    pairs = neighbors(3, range(-1, 2), monotone=monotone)
    assert worst(plan.reference_pmf, pairs).at_most <= 2


@pytest.mark.theorem("sparse-vector")
@pytest.mark.parametrize("answers", [1, 2])
def test_the_loss_is_tight_in_the_limit_of_many_belows(answers):
    plan = Sparse(threshold=-40, answers=answers, epsilon=2)
    outcome = (False,) * 40 + (True,) * answers
    law = plan._comparison()
    pair = (0,) * 40 + (1,) * answers, (1,) * 40 + (0,) * answers
    found = worst(lambda stream: {outcome: law.chance(outcome, stream)}, [pair])
    assert 1.999 < found.at_least <= found.at_most <= 2


@pytest.mark.theorem("sparse-vector")
@pytest.mark.parametrize("variant", PRIVATE, ids=str)
@pytest.mark.parametrize("answers", [1, 2])
def test_the_private_variants_pass(variant, answers):
    law = functools.partial(variant.law, answers=answers)
    found = worst(law, neighbors(3, (-1, 0, 1)))
    assert found.at_most <= 1


@pytest.mark.theorem("sparse-vector")
@pytest.mark.parametrize(
    ("variant", "pair", "outcome", "loss"),
    [
        (VARIANTS[2], ((0, 0, 0), (1, 1, 1)), (None, None, 0), 1.5),
        (VARIANTS[3], ((0, 0, 1), (1, 1, 0)), (False, False, True), 1.5188606325),
        (VARIANTS[4], ((0, 0, 1), (0, 0, 0)), (False, False, True), math.inf),
        (VARIANTS[5], ((0, 0, 1), (1, 1, 0)), (False, False, True), 1.1233818535),
    ],
    ids=[str(variant) for variant in BROKEN],
)
def test_every_broken_variant_is_refuted_with_a_witness(variant, pair, outcome, loss):
    found = worst(variant.law, neighbors(3, (0, 1)))
    assert found.at_least > 1
    witness = worst(lambda stream: {outcome: variant.law(stream)[outcome]}, [pair])
    assert witness.at_least == found.at_least == pytest.approx(loss, abs=1e-9)


def test_an_exact_law_of_too_many_outcomes_is_refused():
    with pytest.raises(OutOfRange):
        Sparse(threshold=0, answers=20, epsilon=1).reference_pmf([0] * 20)
