"""Refutation by laws: golden values, the six variants of sparse vector, all notions."""

import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.attacks import Batches, Enumerated, claims, estimate_epsilon, exact_epsilon
from discreet.errors import WrongKind
from discreet.exact import Interval
from discreet.loss import GaussianDP
from discreet.mechanisms import AboveThreshold, Gaussian, Laplace, RandomizedResponse
from discreet.mechanisms.finite import FiniteMechanism
from tests.attacks import quadrature
from tests.audit.sparse_vector import BROKEN, PRIVATE, VARIANTS
from tests.twins.sparse_vector import neighbors

ROUNDING = 1e-9


def continuous(belows, aboves, **noise):
    """Two streams, and the chance of "belows, then aboves" on them, with continuous noise."""
    pattern = (False,) * belows + (True,) * aboves
    pair = (0,) * belows + (1,) * aboves, (1,) * belows + (0,) * aboves
    return lambda stream: {pattern: quadrature.chance(pattern, stream, **noise)}, pair


@pytest.mark.parametrize(
    ("belows", "loss"),
    [(1, 0.39581533), (2, 0.58914730), (5, 0.89981469), (10, 0.99401016), (20, 0.99998137)],
)
def test_above_threshold_at_threshold_zero(belows, loss):
    law, pair = continuous(belows, 1, threshold=0, threshold_scale=2, query_scale=4)
    measured = exact_epsilon(law, pair, claim=1)
    assert measured.lower == pytest.approx(loss, abs=1e-8)
    assert not measured.violates


@pytest.mark.parametrize(("answers", "bound"), [(1, 1.75), (2, 3.25), (5, 7.75)])
def test_variant_four_reaches_a_multiple_of_its_claim(answers, bound):
    law, pair = continuous(50, answers, threshold=-30, threshold_scale=4, query_scale=4 / 3)
    measured = exact_epsilon(law, pair, claim=1)
    assert measured.violates
    assert bound - 1e-3 < measured.lower < bound + ROUNDING


@pytest.mark.parametrize(("each", "loss"), [(1, 0.743), (2, 1.543), (5, 4.061), (10, 8.397)])
def test_variant_six_grows_with_the_number_of_answers(each, loss):
    law, pair = continuous(each, each, threshold=0.5, threshold_scale=2, query_scale=2)
    measured = exact_epsilon(law, pair, claim=1)
    assert measured.lower == pytest.approx(loss, abs=1e-3)
    assert measured.violates == (each > 1)


@pytest.mark.parametrize(
    ("belows", "aboves", "noise", "loss"),
    [(9, 1, (0, 20, 40), 0.0984), (9, 1, (-80, 40, 40 / 3), 0.1749), (5, 5, (0.5, 20, 20), 0.4145)],
)
def test_ten_queries_at_a_tenth(belows, aboves, noise, loss):
    names = ("threshold", "threshold_scale", "query_scale")
    law, pair = continuous(belows, aboves, **dict(zip(names, noise, strict=True)))
    assert exact_epsilon(law, pair).lower == pytest.approx(loss, abs=1e-4)


@pytest.mark.theorem("likeliest-first")
@pytest.mark.parametrize("variant", PRIVATE, ids=str)
def test_the_private_variants_are_not_refuted(variant):
    measured = exact_epsilon(variant.law, list(neighbors(2, (-1, 0, 1))), claim=1)
    assert 0.3 < measured.lower <= 1


PAIRS = {
    3: ((0, 0, 1), (1, 1, 0)),
    4: ((0, 0, 0, 0, 0, 1), (1, 1, 1, 1, 1, 0)),
    5: ((0, 1), (1, 0)),
    6: ((0, 0, 1, 1), (1, 1, 0, 0)),
}


@pytest.mark.parametrize("variant", BROKEN, ids=str)
def test_the_broken_variants_are_refuted(variant):
    measured = exact_epsilon(variant.law, PAIRS[variant.number], claim=1)
    assert measured.violates, measured
    assert measured.level == measured.n == 0
    assert (measured.lower == math.inf) == (variant.number == 5)


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
def test_sampling_agrees_with_the_laws(variant):
    """Answers drawn from the exact laws show no more than these, and most of it."""
    pair = PAIRS.get(variant.number, PAIRS[4])
    exact = exact_epsilon(variant.law, pair, claim=1)
    generator = np.random.default_rng(7)
    codes = {}

    def draw(stream, n):
        law = variant.law(stream)
        chances = [float(chance.low) for chance in law.values()]
        places = [codes.setdefault(outcome, len(codes)) for outcome in law]
        rest = max(1 - sum(chances), 0)  # outcomes outside the window look all alike
        return generator.choice([*places, -1], size=n, p=np.array([*chances, rest]) / 1)

    measured = estimate_epsilon(Batches(draw), pair, 50_000, claim=1)
    assert 0.6 * min(exact.lower, 4) < measured.lower <= exact.lower
    assert measured.violates == (measured.lower > 1)
    assert measured.violates == exact.violates


# --- notions ------------------------------------------------------------------------------------

MATRIX = [["0.5", "0.3", "0.2"], ["0.2", "0.3", "0.5"], ["0.4", "0.4", "0.2"]]


@pytest.mark.theorem("likeliest-first")
@pytest.mark.parametrize("delta", ["0", "0.05", "0.2"])
def test_epsilon_at_a_delta_is_that_of_the_loss(delta):
    mechanism = FiniteMechanism(matrix=MATRIX)
    pairs = [(i, j) for i in range(3) for j in range(i)]
    measured = exact_epsilon(mechanism, pairs, claim=claims.ApproximateClaim(delta=delta))
    assert measured.lower == pytest.approx(mechanism.loss().epsilon(delta=delta), abs=1e-9)


@pytest.mark.theorem("likeliest-first")
def test_mu_is_that_of_the_trade_off():
    """No set of outcomes shows more than those in order of their ratios."""
    mechanism = FiniteMechanism(matrix=MATRIX)
    p, q = mechanism.matrix[:2]
    bound = exact_epsilon(mechanism, (0, 1), claim=claims.GaussianMu()).lower
    sets = [[number for number in range(3) if code >> number & 1] for code in range(1, 7)]
    single = [
        claims.GaussianMu().lower(sum(p[y] for y in s), sum(q[y] for y in s)).lower for s in sets
    ]
    assert bound == max(single)


def test_rho_of_the_discrete_gaussian_is_nearly_reached():
    measured = exact_epsilon(
        Gaussian(sigma=2), (0, 1), claim=claims.Concentrated(rho="1/8"), outcomes=range(-40, 41)
    )
    assert not measured.violates
    assert measured.lower == pytest.approx(1 / 8, rel=1e-3)


def test_a_law_with_infinitely_many_outcomes_needs_a_list():
    with pytest.raises(WrongKind):
        exact_epsilon(Laplace(scale=1), (0, 1))
    measured = exact_epsilon(Laplace(scale=1), (0, 1), claim=1, outcomes=range(-5, 5))
    assert measured.lower == pytest.approx(1, abs=1e-9)
    assert not measured.violates


def test_no_law_no_refutation():
    for mechanism in (7, lambda data: data):
        with pytest.raises(WrongKind):
            exact_epsilon(mechanism, (0, 1))


def test_programs_are_enumerated():
    """A coin that lies once in four, drawn bit by bit."""
    coin = Enumerated(program=lambda data, entropy: data ^ (entropy.bits(2) == 0))
    measured = exact_epsilon(coin, (0, 1), claim=1)
    assert measured.lower == pytest.approx(math.log(3), abs=1e-9)
    assert measured.violates
    endless = Enumerated(
        program=lambda data, entropy: data if entropy.bits(1) else 1 - data,
        unexplored=Fraction(1, 2),
    )
    assert exact_epsilon(endless, (0, 1)).lower == 0


def test_enclosures_are_read_from_the_safe_side():
    wide = Interval(Fraction(1, 4), Fraction(1, 2))
    measured = exact_epsilon(lambda data: {0: wide, 1: wide}, (0, 1))
    assert measured.lower == 0


@pytest.mark.parametrize("epsilon", ["0.1", 1, 5])
def test_randomized_response_and_sparse_vector_are_tight(epsilon):
    measured = exact_epsilon(RandomizedResponse(epsilon=epsilon), (0, 1), claim=epsilon)
    assert measured.lower == pytest.approx(float(epsilon), abs=1e-9)
    assert not measured.violates
    plan = AboveThreshold(threshold=0, epsilon=epsilon)
    assert not exact_epsilon(plan, ((0, 0, 1), (1, 1, 0)), claim=epsilon).violates


def test_a_loss_of_its_own_kind_is_a_claim():
    claim = GaussianDP(mu=1)
    measured = exact_epsilon(Gaussian(sigma=1), (0, 1), claim=claim, outcomes=range(-20, 21))
    assert measured.parameter == "mu"
    assert measured.violates  # noise on integers is told apart a little better than on the line
