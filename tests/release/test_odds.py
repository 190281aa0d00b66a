"""What a loss means: against the formulas of the literature."""

import math
import time

import pytest
from scipy.stats import norm

from discreet.loss import Approximate, GaussianDP, Pure, ZeroConcentrated
from discreet.mechanisms import Laplace
from discreet.release.odds import odds_of, odds_of_plans
from discreet.units import Relation
from tests.plan.test_neighbors import QUESTIONS
from tests.release.clinic import plan_of


@pytest.mark.theorem("guessing-odds")
@pytest.mark.parametrize(
    ("epsilon", "guess", "caught"),
    [
        ("0.1", 52.5, 1.1),
        ("0.5", 62.2, 1.65),
        (1, 73.1, 2.7),
        (2, 88.1, 7.4),
        (4, 98.2, 54.6),
        (8, 99.97, 99.97),
    ],
)
def test_pure_losses(epsilon, guess, caught):
    odds = odds_of(Pure(epsilon=epsilon))
    assert 100 * odds.guess == pytest.approx(guess, abs=0.06)
    assert 100 * odds.caught == pytest.approx(caught, rel=0.01)
    e = math.exp(float(epsilon))
    assert odds.guess >= e / (1 + e) - 1e-12
    assert odds.caught >= min(1, 0.01 * e, 1 - 0.99 / e) - 1e-12


@pytest.mark.theorem("guessing-odds")
@pytest.mark.parametrize(("scale", "right"), [(10, 52), (2, 61), (1, 70), ("1/2", 82)])
def test_laplace_noise_on_one_count_has_the_odds_of_the_nearer_count(scale, right):
    """On the integers: wide noise, whose law is nearly continuous."""
    wide = Laplace(scale=1000 * Laplace(scale=scale).scale).loss(distance=1000)
    odds = odds_of(wide)
    assert odds.times_right == f"about {right}"
    assert odds.guess == pytest.approx(
        1 - math.exp(-1 / (2 * Laplace(scale=scale).scale)) / 2, rel=1e-3
    )


@pytest.mark.theorem("guessing-odds")
def test_gaussian_losses():
    mu = 0.3
    odds = odds_of(GaussianDP(mu="0.3"))
    assert odds.guess == pytest.approx(norm.cdf(mu / 2), abs=1e-6)
    assert odds.guess >= norm.cdf(mu / 2) - 1e-12
    assert odds.caught == pytest.approx(norm.cdf(norm.ppf(0.01) + mu), rel=1e-4)


def test_approximate_losses():
    epsilon, delta = 1.0, 1e-3
    odds = odds_of(Approximate(epsilon=1, delta="1e-3"))
    best = (math.exp(epsilon) + delta) / (1 + math.exp(epsilon))
    assert odds.guess == pytest.approx(best, rel=1e-9)
    assert odds.caught == pytest.approx(math.e * 0.01 + delta, rel=1e-7)


@pytest.mark.theorem("guessing-odds")
@pytest.mark.parametrize("at", [0, 2, 5, 7, 8, 13, 16])
@pytest.mark.parametrize("price", [{"epsilon": "1/2"}, {"rho": "1/10"}])
def test_odds_of_plans_are_bounds_and_close(at, price):
    plan = plan_of(QUESTIONS[at], **price, delta="1e-9")
    quick, exact = odds_of_plans((plan,)), odds_of(plan.loss)
    assert exact.guess - 1e-9 <= quick.guess <= exact.guess + 0.05
    assert exact.caught - 1e-9 <= quick.caught <= 1.3 * exact.caught


@pytest.mark.theorem("guessing-odds")
@pytest.mark.parametrize("epsilon", ["0.01", "0.5", "3", "20"])
def test_a_rho_that_follows_from_an_epsilon_says_no_more_about_odds(epsilon):
    plan = plan_of(QUESTIONS[0], epsilon=epsilon)
    told, pure = odds_of_plans((plan,)), Pure(epsilon=plan.price.epsilon)
    for rho in (plan.price.rho, pure.concentrated()):
        weaker = odds_of(ZeroConcentrated(rho=rho))
        assert told.guess <= weaker.guess
        assert told.caught <= weaker.caught


def test_odds_of_plans_that_mix_everything_are_found_quickly():
    sql = (
        "SELECT city, AVG(cost) AS m, MEDIAN(cost) AS q, MAX(age) AS top FROM visits GROUP BY city"
    )
    plan = plan_of(sql, epsilon="1/2", delta="1e-9")
    started = time.process_time()
    odds = odds_of_plans((plan,))
    assert time.process_time() - started < 5
    assert 0.5 < odds.guess < 0.63
    both = odds_of_plans((plan, plan_of(sql, epsilon=1, delta="1e-9")))
    assert odds.guess < both.guess < math.exp(1.5) / (1 + math.exp(1.5)) + 1e-6


def test_plans_without_protection_have_no_odds():
    plan = plan_of(QUESTIONS[2], epsilon=10**12, delta="1e-9", ceiling=False)
    assert odds_of_plans((plan,)).guess == 1
    assert "more than 99" in odds_of_plans((plan,)).sentence()


def test_words_name_the_unit_and_both_worlds():
    text = odds_of(Pure(epsilon="0.5")).sentence(unit="patient")
    assert "whether a patient is in the data is right about 62 times in 100; a coin" in text
    assert "for at most 1.7 in 100 of those who are." in text
    other = odds_of(Pure(epsilon="0.5")).sentence(unit="row", relation=Relation.REPLACE)
    assert "which of two versions of one row's data is true" in other
    assert "at most 1.7 times in 100 where it is the other." in other


def test_no_odds_of_nothing_and_of_everything():
    nothing = odds_of(Pure(epsilon=0))
    assert nothing.times_right == "about 50"
    assert "at most 1.0 in 100" in nothing.sentence()
    everything = odds_of(Pure(epsilon=100))
    assert everything.times_right == "more than 99"
    assert "at most 100 in 100" in everything.sentence()


@pytest.mark.parametrize("word", ["anonymous", "impossible", "cannot", "guarantee"])
def test_words_promise_nothing(word):
    assert word not in odds_of(Pure(epsilon=1)).sentence().lower()
