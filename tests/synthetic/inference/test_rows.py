"""Rows follow their model at least as closely as independent draws would, or nearly so."""

import itertools
import json
import subprocess
import sys

import numpy as np
import pytest

from discreet.synthetic.inference.dense import Dense
from discreet.synthetic.inference.inference import ImpossibleCells
from discreet.synthetic.inference.junction_tree import JunctionTree
from discreet.synthetic.inference.tree_model import RowStep, rows_by_steps
from tests.synthetic.inference.tables import domain_of, measured, stream

COLUMNS = 6
ROWS = 4000
MODELS = {
    "chain": [(k, k + 1) for k in range(COLUMNS - 1)],
    "cycle": [*((k, k + 1) for k in range(COLUMNS - 1)), (0, COLUMNS - 1)],
    "dense clique": list(itertools.combinations(range(COLUMNS), 2)),
    "two triples": [(0, 1, 2), (3, 4, 5)],
}


def distance(table, model, marginals):
    """The total variation between rows and model, on average over marginals."""
    apart = []
    for marginal in marginals:
        law = model.marginal(marginal) / model.total
        cells = np.ravel_multi_index(table[:, marginal].astype(np.int64).T, law.shape)
        share = np.bincount(cells, minlength=law.size) / len(table)
        apart.append(0.5 * np.abs(share - law.ravel()).sum())
    return float(np.mean(apart))


def drawn(model, count, seed):
    """Independent rows of the model."""
    law = model.marginal(range(model.domain.columns)).ravel()
    cells = np.random.default_rng(seed).choice(law.size, count, p=law / law.sum())
    return np.stack(np.unravel_index(cells, model.domain.sizes), axis=1)


def fitted(name, fit):
    domain = domain_of(*[2, 3] * (COLUMNS // 2))
    return fit.fit(domain, measured(domain, MODELS[name], seed=len(name), sigma=5))


@pytest.mark.parametrize("size", [2, 3, COLUMNS])
@pytest.mark.parametrize("fit", [Dense(), JunctionTree()])
@pytest.mark.parametrize("name", MODELS)
def test_rows_are_as_close_to_their_model_as_independent_draws(name, fit, size):
    model = fitted(name, fit)
    marginals = list(itertools.combinations(range(COLUMNS), size))
    ours = np.mean([distance(model.rows(ROWS, stream(f"{k}")), model, marginals) for k in range(3)])
    free = np.mean([distance(drawn(model, ROWS, k), model, marginals) for k in range(3)])
    assert ours <= 1.2 * free


def test_rows_given_measured_instead_of_triangulated_cliques_break_the_contract():
    """Around a cycle, each column given the one before it alone forgets the edge that closes it."""
    model = fitted("cycle", JunctionTree())
    domain = model.domain
    steps = [RowStep.of((0, 1), (), model.marginal((0, 1)))]
    steps += [
        RowStep.of((k, k + 1), (k,), model.marginal((k, k + 1))) for k in range(1, COLUMNS - 1)
    ]
    table = rows_by_steps(domain, steps, ROWS, stream("mutant"))
    closing = [(0, COLUMNS - 1)]
    assert distance(table, model, closing) > 1.2 * distance(drawn(model, ROWS, 0), model, closing)
    assert distance(table, model, [(0, 1), (2, 3)]) < distance(
        drawn(model, ROWS, 0), model, [(0, 1), (2, 3)]
    )


def test_rows_in_the_order_of_earlier_columns_break_the_contract(monkeypatch):
    """Without a random order within groups, columns on both sides of a separator are tied."""
    model = fitted("chain", JunctionTree())
    monkeypatch.setattr(
        "discreet.synthetic.inference.tree_model.shuffled", lambda count, _: np.arange(count)
    )
    table = model.rows(ROWS, stream("unshuffled"))
    ends = [(0, 2), (1, 3), (2, 4)]
    assert distance(table, model, ends) > 1.2 * distance(drawn(model, ROWS, 0), model, ends)


def test_the_same_stream_gives_the_same_rows():
    for fit in (Dense(), JunctionTree()):
        model = fitted("cycle", fit)
        one, same, other = (model.rows(500, stream(label)) for label in ("a", "a", "b"))
        assert one.tobytes() == same.tobytes() != other.tobytes()
        assert one.dtype == np.uint8


@pytest.mark.parametrize("fit", [Dense(), JunctionTree()])
def test_no_row_lies_in_an_impossible_cell(fit):
    domain = domain_of(3, 3, 3)
    zeros = [
        ImpossibleCells((0, 1), np.array([0, 4, 8])),
        ImpossibleCells((1, 2), np.array([1, 5])),
    ]
    model = fit.fit(domain, measured(domain, [(0, 2)], seed=3), zeros=zeros)
    table = model.rows(3000, stream("zeros")).astype(int)
    assert not np.isin(table[:, 0] * 3 + table[:, 1], [0, 4, 8]).any()
    assert not np.isin(table[:, 1] * 3 + table[:, 2], [1, 5]).any()


@pytest.mark.parametrize("count", [0, 1, 7])
@pytest.mark.parametrize("fit", [Dense(), JunctionTree()])
def test_any_number_of_rows_can_be_asked_for(count, fit):
    table = fitted("cycle", fit).rows(count, stream("few"))
    assert table.shape == (count, COLUMNS)
    assert (table < np.array([2, 3] * (COLUMNS // 2))).all()


@pytest.mark.slow
def test_ten_million_rows_of_fifteen_columns_take_less_than_a_gigabyte():
    """In a process of its own, whose peak is what the operating system says."""
    done = subprocess.run(
        [sys.executable, "-c", TALL], stdout=subprocess.PIPE, text=True, check=True, timeout=600
    )
    shape, peak = json.loads(done.stdout)
    assert shape == [10**7, 15]
    assert peak < 1 << 30


TALL = """
import json, resource
from fractions import Fraction
import numpy as np
from discreet.noise import KeyedEntropy
from discreet.synthetic.inference.descent import Effort
from discreet.synthetic.inference.junction_tree import JunctionTree
from discreet.synthetic.inference.inference import CodedDomain, Measurement
sizes = (2, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 8, 8, 10, 10)
domain = CodedDomain(tuple(map(str, range(15))), sizes)
generator = np.random.default_rng(0)
ring = [*((k, k + 1) for k in range(14)), (0, 14)]
measured = [
    Measurement(pair, generator.integers(0, 10**5, domain.size(pair)), Fraction(100))
    for pair in ring
]
model = JunctionTree(effort=Effort(steps=20)).fit(domain, measured)
table = model.rows(10**7, KeyedEntropy(key=bytes(32), label="rows"))
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
print(json.dumps([table.shape, peak]))
"""
