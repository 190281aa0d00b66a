"""Every face of a statement against enumeration of tables, neighbors and outcomes."""

import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.accounting import Leaf, Parallel, Sampled, Sequential, account
from discreet.loss import GaussianDP, Pure, RenyiDP, ZeroConcentrated
from tests.accounting.oracle import count, exact_delta, law_of, neighbors

HALF, THIRDS, FIFTHS = Fraction(1, 2), Fraction(2, 3), Fraction(4, 5)
RECORDS = [{"ward": "A"}, {"ward": "B"}, {"ward": "other"}]
TREE = Sequential(
    count("all", FIFTHS), Parallel("ward", {"A": count("a", HALF), "B": count("b", THIRDS)})
)
both = pytest.mark.parametrize("relation", ["add_remove", "replace"])


def laws(relation):
    for pair in neighbors(len(RECORDS), 2, relation):
        yield tuple(law_of(TREE, [RECORDS[at] for at in table]) for table in pair)


def missed(p, q, alarm):
    """The least chance to miss p for a test of outcomes that accuses wrongly with chance alarm."""
    left, miss = alarm, Fraction(1)
    for outcome in sorted(p, key=lambda y: q[y] / p[y]):
        share = min(Fraction(1), left / q[outcome])
        left, miss = left - share * q[outcome], miss - share * p[outcome]
    return miss


@both
def test_the_enclosure_of_delta_holds_the_truth(relation):
    price = account(TREE, relation=relation)
    ratios = [Fraction(1), Fraction(5, 4), Fraction(2), Fraction(3)]
    for ratio, true in zip(ratios, exact_delta(TREE, RECORDS, ratios, relation), strict=True):
        ends = price.delta_interval(Fraction(math.log(ratio)))
        assert ends.low - 1e-12 <= true <= ends.high + 1e-12
        assert ends.width < 1e-9
        assert ends.high == price.delta(epsilon=Fraction(math.log(ratio)))


@both
@pytest.mark.parametrize("alarm", ["0", "0.05", "0.3", "0.7", "1"])
def test_the_tradeoff_is_that_of_the_best_test(relation, alarm):
    truth = min(missed(p, q, Fraction(alarm)) for p, q in laws(relation))
    found = account(TREE, relation=relation).tradeoff(alarm)
    assert found <= truth
    assert math.isclose(found, truth, abs_tol=1e-6)


@both
@pytest.mark.parametrize("order", [2, 5])
def test_the_divergence_is_the_largest_of_all(relation, order):
    def divergence(p, q):
        total = sum(p[y] ** order / q[y] ** (order - 1) for y in p)
        return math.log(total) / (order - 1)

    truth = max(divergence(p, q) for p, q in laws(relation))
    found = account(TREE, relation=relation).renyi(order)
    assert truth * (1 - 1e-12) <= found <= truth * (1 + 1e-9)


def test_a_bound_over_several_neighbors_has_no_lower_end():
    sample = Sampled(Leaf(Pure(epsilon=1)), rate="1/2")
    price = account(sample, relation="replace")
    ends = price.delta_interval("0.5")
    assert ends.low <= ends.high == price.delta("0.5")
    assert account(Sequential(), relation="replace").delta_interval(0).high == 0


LOSSES = [
    Pure(epsilon=1),
    GaussianDP(mu="0.7"),
    ZeroConcentrated(rho="0.1"),
    RenyiDP(orders=(2, 4, 8), values=("0.1", "0.2", "0.4")),
    Pure(epsilon=1).power(3),
    account(TREE, relation="replace"),
]


@pytest.mark.parametrize("curve", LOSSES, ids=lambda curve: type(curve).__name__)
def test_one_number_by_position_and_several_in_a_vector(curve):
    epsilons, deltas = ["0.1", 0.5, Fraction(1)], np.array([1e-5, 1e-3])
    assert curve.deltas(epsilons).tolist() == [curve.delta(epsilon=e) for e in epsilons]
    assert curve.epsilons(deltas).tolist() == [curve.epsilon(delta=d) for d in deltas]
    assert curve.epsilon(1e-5) == curve.epsilon(delta=1e-5) == curve.interval(1e-5).high
    assert curve.delta(1) == curve.delta_interval(1).high
    assert curve.renyi(2) == curve.renyi(order=2)
    assert curve.tradeoff("0.1") == curve.tradeoff(false_alarm="0.1")
    assert curve.deltas([]).shape == (0,)
    assert curve.deltas(range(3)).dtype == np.float64
