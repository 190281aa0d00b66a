"""Explained odds beside attackers: the best one by simulation, and the audit's measured one."""

import json
import math
from fractions import Fraction

import numpy as np
import pytest

import discreet as dp
from discreet.accounting import Leaf
from discreet.attacks import estimate_epsilon
from discreet.explain import Guesses, explain
from discreet.ledger import Ledger

ALPHA = 1e-6
DRAWS = 200_000


def hoeffding(draws):
    """Return how far a share of so many draws is off, except with a chance of ALPHA."""
    return math.sqrt(math.log(2 / ALPHA) / (2 * draws))


def best_attacker(law, alarm):
    """Play both worlds many times; return how often the best guess and the best alarm are right.

    The likelihood ratio grows with the answer, so the best guess names the nearer count, and the
    best alarm sounds above a threshold, and by a coin at it (Neyman and Pearson).
    """
    support = np.arange(-60, 61)
    chances = np.array([law(int(place)) for place in support])
    chances /= chances.sum()
    generator = np.random.default_rng(7)
    without, noise = generator.choice(support, size=(2, DRAWS), p=chances)
    within = noise + 1
    right = ((without <= 0).mean() + (within > 0).mean()) / 2
    above = 1 - np.cumsum(chances)
    threshold = int(np.argmax(above <= float(alarm)))
    coin = (float(alarm) - above[threshold]) / chances[threshold]
    tossed = generator.random(DRAWS) < coin
    sounds = (within > support[threshold]) | ((within == support[threshold]) & tossed)
    return right, sounds.mean()


@pytest.mark.parametrize(
    ("mechanism", "law"),
    [
        (dp.mechanisms.Laplace(scale=2), lambda k: math.exp(-abs(k) / 2)),
        (dp.mechanisms.Gaussian(sigma=2), lambda k: math.exp(-k * k / 8)),
    ],
)
def test_the_best_attacker_reaches_the_odds_and_does_not_exceed_them(mechanism, law):
    figures = explain(Leaf(mechanism), audience="auditor").figures
    alarm, bound = figures.one.caught[1]
    right, caught = best_attacker(law, alarm)
    slack = hoeffding(DRAWS)
    assert abs(right - figures.one.right) <= slack
    assert abs(caught - bound) <= slack
    mutant = explain(dp.loss.Pure(epsilon="0.2"), audience="auditor").figures
    assert right > mutant.one.right + slack  # odds that are too low would be noticed


def test_the_measured_attacker_of_an_audit_agrees():
    measured = estimate_epsilon(dp.mechanisms.Laplace(scale=1), (0, 1), 5_000, claim=1)
    told = explain(Leaf(dp.mechanisms.Laplace(scale=1)), audience="auditor").figures
    assert 0.5 < measured.lower <= told.ratio + 1e-9


def test_a_group_of_a_thousand_and_longer_chains_stay_in_range():
    for loss in (
        dp.loss.Pure(epsilon="0.001"),
        dp.loss.ZeroConcentrated(rho="1e-7"),
        dp.loss.GaussianDP(mu="0.001"),
        dp.loss.Approximate(epsilon="0.001", delta="1e-9"),
    ):
        one, many = Guesses(loss), Guesses(loss).group(1000)
        assert one.right() < many.right() <= 1
        assert one.caught("0.01") < many.caught("0.01") <= 1
    thousand = Guesses(dp.loss.Pure(epsilon="0.001")).group(1000)
    assert thousand.right() == pytest.approx(Guesses(dp.loss.Pure(epsilon=1)).right())


@pytest.mark.parametrize("alarm", [Fraction(1, 10**30), 1 - Fraction(1, 10**30)])
def test_rare_and_certain_alarms_have_bounds(alarm):
    for loss in (dp.loss.ZeroConcentrated(rho="0.1"), dp.loss.Pure(epsilon=1)):
        assert float(alarm) <= Guesses(loss).caught(alarm) <= 1


@pytest.mark.parametrize(
    ("budget", "audience"),
    [
        (dp.Budget(epsilon=2), "analyst"),
        (dp.Budget(epsilon=2, delta="1e-6"), "steward"),
        (dp.Budget(rho="0.5"), "subject"),
        (dp.Budget(rho="0.5"), "auditor"),
    ],
)
def test_ledgers_without_answers_and_with_mixed_ones_are_explained(tmp_path, budget, audience):
    with Ledger.open(tmp_path / "a.ledger", unit=dp.row(), budget=budget) as ledger:
        empty = ledger.explain(audience=audience)
        assert empty.figures.one.right == 0.5
        assert empty.figures.promise.right > 0.5
        ledger.charge(dp.loss.Pure(epsilon="0.125"), key="a")
        if budget.currency.name != "basic":
            ledger.charge(dp.loss.GaussianDP(mu="0.03125"), key="b")
        mixed = ledger.explain(audience=audience)
        truth = Guesses(dp.loss.Pure(epsilon="0.125")).right()
        assert truth - 1e-9 <= mixed.figures.one.right <= mixed.figures.promise.right + 1e-9
        json.dumps(mixed.to_json(), allow_nan=False)
