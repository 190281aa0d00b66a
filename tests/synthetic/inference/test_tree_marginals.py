"""Marginals across a tree of cliques: those of the product, within bounded memory."""

import itertools
import tracemalloc

import numpy as np
import pytest

from discreet.synthetic.inference import tree_model
from discreet.synthetic.inference.inference import CodedDomain
from discreet.synthetic.inference.tree_model import TreeModel, calibrated, clique_tree


def model_of(sizes, marginals, seed=1):
    domain = CodedDomain(tuple(f"c{place}" for place in range(len(sizes))), tuple(sizes))
    tree, generator = clique_tree(domain, marginals), np.random.default_rng(seed)
    potentials = [generator.normal(size=domain.shape(clique)) for clique in tree.cliques]
    beliefs = tuple(np.exp(belief) for belief in calibrated(tree, potentials))
    return TreeModel(domain=domain, total=1.0, tree=tree, beliefs=beliefs), potentials


@pytest.mark.parametrize("at_once", [1, 6, 1 << 20])
@pytest.mark.parametrize(
    "marginals",
    [
        [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5)],
        [(0, 1, 2), (1, 2, 3), (2, 3, 4), (3, 4, 5)],
        [(0, 1), (0, 2), (2, 3), (2, 4), (4, 5)],
        [(0, 1), (2, 3), (4, 5)],
    ],
)
def test_a_marginal_is_that_of_the_product_of_all_cliques(monkeypatch, marginals, at_once):
    monkeypatch.setattr(tree_model, "AT_ONCE", at_once)
    model, potentials = model_of((2, 3, 2, 3, 2, 2), marginals)
    law = np.ones(model.domain.sizes)
    for clique, potential in zip(model.tree.cliques, potentials, strict=True):
        shape = [size if place in clique else 1 for place, size in enumerate(model.domain.sizes)]
        law = law * np.exp(potential).reshape(shape)
    law /= law.sum()
    for count in (1, 2, 3):
        for wanted in itertools.combinations(range(6), count):
            others = tuple(place for place in range(6) if place not in wanted)
            assert np.allclose(model.marginal(wanted), law.sum(axis=others), atol=1e-12)


def test_far_columns_of_a_wide_tree_take_bounded_memory():
    """Separators of 9,216 cells between columns of 64: all at once would take 300 MB and more."""
    sizes = (64, 96, 96, 96, 96, 64)
    model, _ = model_of(sizes, [(0, 1, 2), (1, 2, 3), (2, 3, 4), (3, 4, 5)])
    model.marginal((1, 2))  # what the cliques themselves take is there
    tracemalloc.start()
    try:
        found = model.marginal((0, 5))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert found.shape == (64, 64)
    assert found.sum() == pytest.approx(1)
    assert peak < 6 * 8 * tree_model.AT_ONCE
