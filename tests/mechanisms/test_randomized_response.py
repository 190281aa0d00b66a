"""Randomized response: exact law, tight loss, unbiased estimates."""

import math
from fractions import Fraction

import pytest

from discreet.certified import exp_neg
from discreet.loss import Pure
from discreet.mechanisms.randomized_response import RandomizedResponse
from tests.mechanisms import contract
from tests.noise.laws import check_law, stream
from tests.twins import finite as twins

F = Fraction
COLORS = ("red", "green", "blue", "black")


def case(mechanism, **more):
    return contract.Case(
        name=f"response {len(mechanism.categories)} {mechanism.epsilon}",
        mechanism=mechanism,
        inputs=mechanism.categories,
        distance=lambda x, y: int(x != y),
        miss=lambda y, x: int(x != y),
        **more,
    )


BITS = [
    case(RandomizedResponse(epsilon=epsilon), tight=True, tight_at_zero=True)
    for epsilon in (1, "0.1")
]
MORE = [
    case(RandomizedResponse(epsilon=2, categories=COLORS)),
    case(RandomizedResponse(epsilon="0.5", categories=range(7))),
]


@pytest.mark.theorem("response-mechanism")
@pytest.mark.parametrize("which", BITS, ids=str)
@pytest.mark.parametrize("check", [contract.check_privacy, contract.check_value])
def test_the_price_of_a_bit(which, check):
    check(which.mechanism, which)


@pytest.mark.parametrize("which", BITS + MORE, ids=str)
@pytest.mark.parametrize(
    "check", [contract.check_enclosures, contract.check_error, contract.check_sampler]
)
def test_the_law_and_the_error(which, check):
    check(which.mechanism, which)


@pytest.mark.theorem("response-mechanism")
@pytest.mark.parametrize("which", MORE, ids=str)
def test_the_price_of_more_categories(which):
    answer = which.mechanism
    laws = [answer.reference_pmf(category) for category in answer.categories[:2]]
    ratio = max(laws[0][y].high / laws[1][y].low for y in answer.categories)
    loss = answer.loss()
    assert math.log(ratio) == pytest.approx(float(answer.epsilon), rel=1e-14)
    assert loss.epsilon(delta=0) == pytest.approx(float(answer.epsilon), rel=1e-12)
    assert loss.epsilon(delta=0) >= answer.epsilon
    found = float(contract.least_divergence(*laws, 0.3))
    assert found * (1 - 1e-15) <= loss.delta(epsilon=0.3) <= found + 1e-6


@pytest.mark.theorem("response-mechanism")
@pytest.mark.parametrize("k", [2, 3, 5])
@pytest.mark.parametrize("epsilon", [F(0), F(1, 3), F(2)])
def test_every_word_leads_to_the_claimed_law(k, epsilon):
    answer = RandomizedResponse(epsilon=epsilon, categories=range(k))
    with contract.narrow_words():
        check_law(
            lambda entropy: answer.run(1, entropy=entropy),
            answer.reference_pmf(1).__getitem__,
            unexplored=F(1, 50),
            max_runs=20_000,
        )


def test_the_truth_is_kept_with_the_odds_of_the_course():
    for epsilon in (F(1, 10), F(1), F(5)):
        kept = RandomizedResponse(epsilon=epsilon).keep()
        assert kept.nearest() == pytest.approx(
            math.exp(epsilon) / (1 + math.exp(epsilon)), rel=1e-15
        )
        decay, one = exp_neg(epsilon, 300), 1 << 300
        least, most = (F(end, one + end) for end in decay)
        assert 1 - kept.high <= most + F(1, 1 << 100)
        assert least <= 1 - kept.low
    five = RandomizedResponse(epsilon=1, categories=range(5))
    assert 1 - five.keep().nearest() == pytest.approx(0.595390, abs=6e-7)


def test_the_loss_of_a_bit_is_pure():
    assert RandomizedResponse(epsilon=1).loss() == Pure(epsilon=1)
    assert RandomizedResponse(epsilon=0.1).loss(distance=3) == Pure(epsilon="0.1")


def test_more_categories_have_a_smaller_profile_at_the_same_epsilon():
    many = RandomizedResponse(epsilon=1, categories=range(10)).loss()
    assert many.epsilon(delta=0) == pytest.approx(1, rel=1e-12)
    assert many.delta(epsilon=0) == pytest.approx((math.e - 1) / (math.e + 9), rel=1e-6)
    assert many.delta(epsilon=0) < Pure(epsilon=1).delta(epsilon=0) / 3


def test_an_enormous_epsilon_is_no_burden():
    sure = RandomizedResponse(epsilon=10**6, categories=COLORS)
    assert sure.loss() == Pure(epsilon=10**6)
    assert sure.run("red") == "red"
    assert sure.error(confidence="0.999999") == 0


@pytest.mark.theorem("response-estimate")
@pytest.mark.parametrize("k", [2, 4])
def test_the_estimate_is_unbiased(k):
    answer = RandomizedResponse(epsilon="1.5", categories=range(k))
    truths = [0] * 3 + [1] * 2  # the expected count of answers 0, exactly
    kept = answer.reference_pmf(0)[0].nearest()
    lied = answer.reference_pmf(1)[0].nearest()
    expected = 3 * kept + 2 * lied
    low, high = (answer.estimate(count=count, total=5) for count in (0, 5))
    assert low + (high - low) * expected / 5 == pytest.approx(3 / len(truths), rel=1e-12)
    assert answer.estimate(count=5, total=5) > 1  # unbiased estimates leave [0, 1]


def test_the_uncorrected_share_is_biased():
    answer = RandomizedResponse(epsilon=1)
    assert answer.estimate(count=731_059, total=10**6) == pytest.approx(1, abs=1e-5)


def test_many_answers_at_once():
    answer = RandomizedResponse(epsilon=20, categories=COLORS)
    asked = list(COLORS) * 50
    assert answer.run_each(asked, entropy=stream("each")) == asked  # lies have a chance of 6e-9
    assert answer.run_each([]) == []


@pytest.mark.parametrize(
    ("twin", "check"),
    [
        (twins.keeps_too_often(F(1), COLORS), contract.check_privacy),
        (twins.lies_may_be_true(F(1), COLORS), contract.check_privacy),
        (twins.lies_may_be_true(F(1), COLORS), contract.check_sampler),
    ],
)
def test_broken_twins_are_caught(twin, check):
    with pytest.raises(contract.Broken):
        check(twin, case(RandomizedResponse(epsilon=1, categories=COLORS), tight_at_zero=True))
