"""Budgets that keep a promise stated in odds, and hardly less."""

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dp
from discreet.errors import DiscreetError
from discreet.explain import Guesses, budget_for

chances = st.fractions(Fraction(1, 1000), Fraction(999, 1000), max_denominator=1000)


def above(budget):
    """Return the loss of a budget that is larger by a hair."""
    return dp.loss.Pure(epsilon=budget.guarantee.pure_bound() + Fraction(1, 10**9))


@given(chances, chances)
@settings(max_examples=30, deadline=None)
@pytest.mark.theorem("budget-for-odds")
def test_beliefs_stay_below_and_no_larger_budget_would_do(first, second):
    prior, posterior = sorted((first, second))
    if prior == posterior:
        return
    budget = budget_for(prior=prior, posterior=posterior)
    assert Guesses(budget.guarantee).posterior(prior) <= float(posterior) + 1e-15
    assert Guesses(above(budget)).posterior(prior) > float(posterior)


@given(chances, chances)
@settings(max_examples=30, deadline=None)
@pytest.mark.theorem("budget-for-odds")
def test_alarms_catch_no_more_and_no_larger_budget_would_do(first, second):
    alarm, caught = sorted((first, second))
    if alarm == caught:
        return
    budget = budget_for(caught=caught, false_alarms=alarm)
    assert Guesses(budget.guarantee).caught(alarm) <= float(caught) + 1e-12
    assert Guesses(above(budget)).caught(alarm) > float(caught)


@pytest.mark.theorem("budget-for-odds")
def test_with_a_delta_the_promise_is_kept_too():
    budget = budget_for(caught="0.05", false_alarms="0.01", delta="1e-6")
    assert Guesses(budget.guarantee).caught("0.01") <= 0.05 + 1e-8  # of the search
    budget = budget_for(right="0.6", delta="0.001")
    assert Guesses(budget.guarantee).right() <= 0.6 + 1e-12


def test_the_calculator_for_lawyers():
    budget = budget_for(prior="0.01", posterior="0.05")
    exact = math.log(0.05 / 0.95) - math.log(0.01 / 0.99)
    assert float(budget.guarantee.pure_bound()) == pytest.approx(exact, abs=1e-11)
    assert float(budget.guarantee.pure_bound()) <= exact


@pytest.mark.parametrize(
    "promise",
    [
        {},
        {"prior": "0.1"},
        {"prior": "0.1", "posterior": "0.1"},
        {"prior": "0.2", "posterior": "0.1"},
        {"prior": "0.1", "posterior": "0.2", "delta": "1e-6"},
        {"prior": "0", "posterior": "0.2"},
        {"caught": "0.01", "false_alarms": "0.05"},
        {"right": "0.5"},
        {"right": "0.6", "caught": "0.5"},
        {"right": "much"},
        {"right": "0.5001", "delta": "0.1"},
    ],
)
def test_promises_that_cannot_be_kept_or_understood_are_refused(promise):
    with pytest.raises(DiscreetError):
        budget_for(**promise)
