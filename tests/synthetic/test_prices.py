"""Prices of plans: kept, close to the tight ones, never above what was asked for but for bins."""

from fractions import Fraction

import pytest

import discreet as dp
from discreet.accounting import Leaf, Repeat, Sequential
from discreet.mechanisms import Exponential, Gaussian
from discreet.plan.pricing.calibration import epsilon_nearly, loss_of
from discreet.units import Relation, row
from tests.synthetic import clinic

S = dp.synthetic
DELTA = Fraction(1, 10**9)
TREES = [
    (Gaussian(variance=500), Exponential(candidates=7, scale=20), 5, 4),
    (Gaussian(variance=Fraction(27306667, 16384)), Exponential(candidates=9, scale=26), 1, 10),
    (Gaussian(variance=900), Exponential(candidates=9, scale=3), 3, 1),
]


@pytest.mark.parametrize(("noise", "choice", "columns", "rounds"), TREES)
@pytest.mark.parametrize("relation", [Relation.ADD_REMOVE, Relation.REPLACE])
def test_a_quick_price_is_kept_and_close(noise, choice, columns, rounds, relation):
    unit = row(relation=relation)
    tree = Sequential(Repeat(Leaf(noise), columns), Repeat(Leaf(choice), rounds))
    quick = epsilon_nearly(tree, unit, DELTA)
    tight = loss_of(tree, unit).interval(delta=DELTA)
    assert tight.low <= quick <= Fraction(tight.high) * Fraction(1001, 1000)


@pytest.mark.parametrize(
    "method", [S.AIM(), S.MST(), S.MWEM(rounds=5), S.MWEM(rounds=40), S.Independent()]
)
@pytest.mark.parametrize("epsilon", ["0.1", "1", "7"])
def test_no_price_is_above_the_one_asked_for(method, epsilon):
    with clinic.opened() as session:
        plan = clinic.planned(session, method=method, epsilon=epsilon, delta="1e-9")
    assert Fraction(epsilon) * Fraction(9, 10) <= plan.price.epsilon <= Fraction(epsilon)
