"""What an observer can guess: closed forms, exact attackers on finite laws, known figures."""

import math
from fractions import Fraction
from statistics import NormalDist

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import DiscreetError
from discreet.explain.guesses import Guesses, percent_up
from discreet.loss import Approximate, GaussianDP, Laplace, Profile, Pure, ZeroConcentrated
from discreet.loss.finite import FinitePair

SLACK = 1e-9
NORMAL = NormalDist()
ALARMS = (Fraction(1, 1000), Fraction(1, 100), Fraction(1, 20), Fraction(1, 2))


def pure_catch(epsilon, alarm):
    return min(1.0, math.exp(epsilon) * alarm, 1 - math.exp(-epsilon) * (1 - alarm))


@pytest.mark.parametrize("epsilon", ["0.1", "0.5", "1", "2", "4", "8"])
@pytest.mark.theorem("guessing-odds")
def test_pure_losses_have_their_closed_forms(epsilon):
    guesses, number = Guesses(Pure(epsilon=epsilon)), float(epsilon)
    right = math.exp(number) / (1 + math.exp(number))
    assert right - SLACK <= guesses.right() <= right + SLACK
    for alarm in ALARMS:
        exact = pure_catch(number, float(alarm))
        assert exact - SLACK <= guesses.caught(alarm) <= exact + SLACK


@pytest.mark.parametrize(
    ("epsilon", "caught"),
    [("0.1", 1.1), ("0.5", 1.65), ("1", 2.7), ("2", 7.4), ("4", 54.6), ("8", 99.97)],
)
def test_catch_rates_at_one_percent_are_those_that_are_known(epsilon, caught):
    assert 100 * Guesses(Pure(epsilon=epsilon)).caught("0.01") == pytest.approx(caught, abs=0.06)


@pytest.mark.parametrize(
    ("epsilon", "without", "within"),
    [("0.1", 48, 52), ("0.5", 39, 61), ("1", 30, 70), ("2", 18, 82), ("4", 7, 93)],
)
def test_laplace_counts_have_the_odds_of_nanayakkara_and_others(epsilon, without, within):
    guesses = Guesses(Laplace(scale=1 / Fraction(epsilon)))
    assert round(100 * guesses.right()) == within
    assert round(100 * (1 - guesses.right())) == without
    exact = 1 - math.exp(-float(epsilon) / 2) / 2
    assert exact - SLACK <= guesses.right() <= exact + 1e-6


@pytest.mark.parametrize("mu", ["0.1", "0.5", "1", "3"])
def test_gaussian_losses_have_their_closed_forms(mu):
    guesses, number = Guesses(GaussianDP(mu=mu)), float(mu)
    assert 0 <= guesses.right() - NORMAL.cdf(number / 2) <= 1e-6
    for alarm in ALARMS:
        exact = NORMAL.cdf(NORMAL.inv_cdf(float(alarm)) + number)
        assert -SLACK <= guesses.caught(alarm) - exact <= 1e-4


@pytest.mark.parametrize("rho", ["0.0001", "0.015", "0.5", "2.56"])
def test_zcdp_is_never_below_the_gaussian_that_it_bounds_and_near_its_own_tradeoff(rho):
    loss, mu = ZeroConcentrated(rho=rho), math.sqrt(2 * float(rho))
    for alarm in ALARMS:
        caught = Guesses(loss).caught(alarm)
        assert caught >= NORMAL.cdf(NORMAL.inv_cdf(float(alarm)) + mu) - SLACK
        full = 1 - loss.tradeoff(false_alarm=alarm)
        assert full - SLACK <= caught <= 1.06 * full


POSTERIORS = {  # prior in percent: at epsilon .01, .1, .5, 1, 2, 5, 10, in percent
    "0.1": (0.10, 0.11, 0.16, 0.27, 0.73, 12.9, 95.7),
    "1": (1.01, 1.10, 1.64, 2.67, 6.95, 60.0, 99.6),
    "2": (2.02, 2.21, 3.26, 5.26, 13.1, 75.2, 99.8),
    "10": (10.1, 10.9, 15.5, 23.2, 45.1, 94.3, 100.0),
    "50": (50.2, 52.5, 62.2, 73.1, 88.1, 99.3, 100.0),
}


@pytest.mark.parametrize("prior", POSTERIORS)
def test_posteriors_are_those_that_are_known(prior):
    for epsilon, known in zip(
        ("0.01", "0.1", "0.5", "1", "2", "5", "10"), POSTERIORS[prior], strict=True
    ):
        after = Guesses(Pure(epsilon=epsilon)).posterior(Fraction(prior) / 100)
        assert 100 * after == pytest.approx(known, abs=0.06)


laws = st.lists(st.integers(1, 30), min_size=4, max_size=4).map(
    lambda parts: tuple(Fraction(part, sum(parts)) for part in parts)
)


def power(first, second, alarm):
    """Return the best chance under ``first`` of a randomized test of level ``alarm``."""
    caught, left = Fraction(0), alarm
    for p, q in sorted(zip(first, second, strict=True), key=lambda pq: -pq[0] / pq[1]):
        share = min(Fraction(1), left / q)
        caught, left = caught + share * p, left - share * q
    return caught


@given(laws, laws, st.sampled_from(ALARMS))
@settings(max_examples=40, deadline=None)
@pytest.mark.theorem("guessing-odds")
def test_the_best_attacker_on_finite_laws_is_within_the_bounds(first, second, alarm):
    guesses = Guesses(Profile.of(FinitePair(first, second)))
    apart = sum(max(p - q, Fraction(0)) for p, q in zip(first, second, strict=True))
    assert float(1 + apart) / 2 - SLACK <= guesses.right() <= float(1 + apart) / 2 + 1e-6
    best = max(power(first, second, alarm), power(second, first, alarm))
    assert float(best) - SLACK <= guesses.caught(alarm)
    assert guesses.apart_at_least() <= float(apart) + SLACK


@given(laws, laws, st.sampled_from([Fraction(1, 10), Fraction(1, 4), Fraction(1, 2)]))
@settings(max_examples=40, deadline=None)
@pytest.mark.theorem("posterior-bound")
def test_likelihood_ratios_exceed_their_bound_with_no_more_than_the_chance(first, second, chance):
    ratio = Guesses(Approximate(epsilon=50, delta=0), Profile.of(FinitePair(first, second))).ratio(
        chance
    )
    exceeded = sum(
        p
        for p, q in zip(first, second, strict=True)
        if p > q * Fraction(math.exp(ratio)) * (1 + Fraction(1, 10**12))
    )
    assert exceeded <= chance


def test_a_ratio_that_ignores_the_chance_to_exceed_it_would_be_caught():
    first, second = (Fraction(1, 2), Fraction(1, 2)), (Fraction(1, 8), Fraction(7, 8))
    loss = Profile.of(FinitePair(first, second))
    honest, mutant = Guesses(loss).ratio("0.3"), loss.epsilon(delta="0.3")  # epsilon as it is
    assert Fraction(1, 2) > Fraction(math.exp(mutant)) * Fraction(1, 8)  # exceeded with 1/2 > 0.3
    assert math.exp(honest) >= 4 - SLACK


@given(laws, laws, laws, st.sampled_from(ALARMS[1:]))
@settings(max_examples=40, deadline=None)
@pytest.mark.theorem("chained-guesses")
def test_two_steps_bound_worlds_that_are_joined_by_a_third(first, middle, last, alarm):
    both = Profile.of(FinitePair(first, middle)).join(Profile.of(FinitePair(middle, last)))
    chain = Guesses(both).chain(2)
    assert float(power(first, last, alarm)) - SLACK <= chain.caught(alarm)
    apart = sum(max(p - q, Fraction(0)) for p, q in zip(first, last, strict=True))
    assert float(1 + apart) / 2 - SLACK <= chain.right()


def test_attributes_under_add_and_remove_cost_two_epsilons():
    chain, twice = Guesses(Pure(epsilon=1)).chain(2), Guesses(Pure(epsilon=2))
    assert chain.right() == pytest.approx(twice.right())
    assert chain.caught("0.01") == pytest.approx(twice.caught("0.01"))


def test_of_several_losses_the_least_bound_counts():
    tight, loose = Pure(epsilon="0.1"), Pure(epsilon=3)
    assert Guesses(loose, tight).right() == Guesses(tight).right()


@pytest.mark.parametrize("loss", [Pure(epsilon=0), Pure(epsilon="1e-6"), Pure(epsilon=50)])
def test_extreme_losses_stay_in_range(loss):
    guesses = Guesses(loss)
    assert 0.5 <= guesses.right() <= 1
    assert 0.01 <= guesses.caught("0.01") <= 1
    assert 0.5 <= guesses.group(4).right() <= 1
    assert guesses.posterior("0.5") <= 1
    assert 50 <= percent_up(guesses.right()) <= 100


@pytest.mark.parametrize("chance", [0, 1, "-1", "2"])
def test_chances_outside_of_their_range_are_refused(chance):
    guesses = Guesses(Pure(epsilon=1))
    for method in (guesses.caught, guesses.posterior, guesses.chain(2).caught):
        with pytest.raises(DiscreetError):
            method(chance)


def test_no_loss_is_refused():
    with pytest.raises(DiscreetError):
        Guesses()
    with pytest.raises(DiscreetError):
        Guesses(1)
