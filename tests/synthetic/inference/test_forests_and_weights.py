"""The closed form on forests of pairs, and multiplicative weights."""

from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import OutOfRange
from discreet.synthetic.inference.dense import Dense
from discreet.synthetic.inference.descent import Effort
from discreet.synthetic.inference.inference import ImpossibleCells, Measurement
from discreet.synthetic.inference.junction_tree import JunctionTree
from discreet.synthetic.inference.pair_forest import PairForest
from discreet.synthetic.methods.mwem import (
    CellMeasurement,
    MultiplicativeWeights,
)
from tests.synthetic.inference.tables import (
    domain_of,
    latent_counts,
    marginal_of,
    measured,
    objective,
)

TREE = [(0,), (1,), (2,), (3,), (0, 1), (1, 2), (1, 3)]


def exact(domain, marginals, seed):
    cells = latent_counts(domain, seed=seed)
    return [
        Measurement(m, marginal_of(cells, m).ravel().astype(np.int64), Fraction(1))
        for m in marginals
    ]


def test_a_forest_of_exact_pairs_is_reproduced():
    domain = domain_of(2, 3, 4, 2, 3)
    measurements = exact(domain, TREE, seed=8)
    model = PairForest().fit(domain, measurements)
    for m in measurements:
        np.testing.assert_allclose(model.marginal(m.marginal).ravel(), m.values, atol=0.01 * 64)
    np.testing.assert_allclose(
        model.marginal((3, 4)), np.outer(model.marginal((3,)), np.ones(3) / 3), rtol=1e-9
    )


def test_the_closed_form_is_close_to_the_optimum():
    domain = domain_of(2, 3, 4, 2)
    measurements = measured(domain, TREE, seed=8, sigma=10)
    best = JunctionTree(effort=Effort(steps=3000, tolerance=1e-8)).fit(domain, measurements)
    model = PairForest().fit(domain, measurements)
    cells = sum(m.values.size for m in measurements)
    assert objective(model, measurements) <= objective(best, measurements) + 0.25 * cells
    for pair in [(0, 1), (0, 2), (2, 3)]:
        apart = 0.5 * np.abs(model.marginal(pair) - best.marginal(pair)).sum() / model.total
        assert apart < 0.01


def test_beliefs_agree_where_pairs_overlap():
    domain = domain_of(3, 3, 3)
    model = PairForest().fit(domain, measured(domain, [(0, 1), (1, 2)], seed=6))
    for belief, axis in zip(model.beliefs, (0, 1), strict=True):
        np.testing.assert_allclose(
            belief.sum(axis=axis), model.marginal((1,)) / model.total, atol=1e-7
        )


def test_impossible_cells_of_pairs_stay_empty():
    domain = domain_of(2, 2)
    zeros = [ImpossibleCells((0, 1), np.array([1]))]
    pair = Measurement((0, 1), np.array([50, 9, 10, 40]), Fraction(4))
    model = PairForest().fit(domain, [pair], zeros=zeros)
    assert model.marginal((0, 1))[0, 1] == 0
    assert model.marginal((0, 1)).sum() == pytest.approx(model.total)


@pytest.mark.parametrize(
    ("marginals", "zeros"),
    [([(0, 1), (1, 2), (0, 2)], ()), ([(0, 1, 2)], ()), ([(0, 1)], ((1, 2),))],
)
def test_other_graphs_are_refused(marginals, zeros):
    domain = domain_of(2, 2, 2)
    stated = [ImpossibleCells(zero, np.array([0])) for zero in zeros]
    with pytest.raises(OutOfRange, match="forest of pairs"):
        PairForest().fit(domain, measured(domain, marginals, seed=1), zeros=stated)


def test_one_update_is_the_published_one():
    domain = domain_of(2, 2, 2)
    cell = CellMeasurement((0, 2), 1, 60, Fraction(1))
    model = MultiplicativeWeights(rows=100.0, replays=1).fit(domain, [cell])
    law = np.full((2, 2, 2), 100 / 8)
    law[0, :, 1] *= np.exp((60 - 25) / 200)
    np.testing.assert_allclose(model.marginal((0, 1, 2)), law * 100 / law.sum())


def test_many_replays_reach_the_measured_marginals():
    domain = domain_of(2, 3, 2)
    measurements = exact(domain, [(0, 1), (1, 2)], seed=3)
    rows = float(measurements[0].total)
    weights = MultiplicativeWeights(rows=rows, replays=3000).fit(domain, measurements)
    dense = Dense(effort=Effort(steps=3000, tolerance=1e-10)).fit(domain, measurements)
    np.testing.assert_allclose(weights.counts, dense.counts, atol=1e-3 * rows)


def test_replays_from_an_earlier_model_continue_it():
    domain = domain_of(2, 2)
    cell = CellMeasurement((0,), 0, 90, Fraction(1))
    once = MultiplicativeWeights(rows=100.0, replays=3)
    twice = once.fit(domain, [cell], start=once.fit(domain, [cell]))
    six = MultiplicativeWeights(rows=100.0, replays=6).fit(domain, [cell])
    np.testing.assert_allclose(twice.counts, six.counts)


def test_weights_need_rows():
    with pytest.raises(OutOfRange, match="not positive"):
        MultiplicativeWeights(rows=0.0).fit(domain_of(2), [])
