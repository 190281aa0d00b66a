"""Cliques by elimination, and marginals across a tree of them, against their definitions."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.synthetic.inference.descent import Effort
from discreet.synthetic.inference.inference import CodedDomain, Measurement
from discreet.synthetic.inference.junction_tree import JunctionTree
from discreet.synthetic.inference.tree_model import triangulated


def _by_sets(domain, marginals):
    """Min-fill elimination with sets of columns, as the definition reads."""
    neighbors = {column: set() for column in range(domain.columns)}
    for marginal in marginals:
        for column in marginal:
            neighbors[column] |= set(marginal) - {column}

    def cost(column):
        pairs = itertools.combinations(sorted(neighbors[column]), 2)
        missing = sum(other not in neighbors[one] for one, other in pairs)
        return missing, domain.size(tuple({column} | neighbors[column])), column

    cliques = []
    while neighbors:
        column = min(map(cost, neighbors))[2]
        around = neighbors.pop(column)
        cliques.append(around | {column})
        for other in around:
            neighbors[other] = (neighbors[other] | around) - {column, other}
    largest = [one for one in cliques if not any(one < other for other in cliques)]
    return tuple(sorted({tuple(sorted(clique)) for clique in largest}))


@given(st.data())
def test_elimination_follows_its_definition(data):
    columns = data.draw(st.integers(1, 9))
    sizes = tuple(data.draw(st.integers(1, 4)) for _ in range(columns))
    domain = CodedDomain(tuple(f"c{place}" for place in range(columns)), sizes)
    one = st.sets(st.integers(0, columns - 1), min_size=1, max_size=4).map(sorted).map(tuple)
    marginals = data.draw(st.lists(one, max_size=12))
    assert triangulated(domain, marginals) == _by_sets(domain, marginals)


def _all_cells(model):
    """The product of the chances of all cliques, over those of what they share."""
    cells = np.ones(model.domain.sizes)
    parts = zip(model.tree.cliques, model.tree.separators, model.beliefs, strict=True)
    for clique, separator, belief in parts:
        shared = belief.sum(axis=tuple(i for i, c in enumerate(clique) if c not in separator))
        for columns, values, power in ((clique, belief, 1), (separator, shared, -1)):
            shape = [size if c in columns else 1 for c, size in enumerate(model.domain.sizes)]
            cells = cells * np.maximum(values, 1e-300).reshape(shape) ** power
    return cells


@given(st.data())
def test_marginals_across_a_tree_are_those_of_all_cells(data):
    """Any columns of a random tree model, by summing the product of all its parts."""
    domain = CodedDomain(tuple("abcdef"), (2, 3, 2, 2, 3, 2))
    pairs = st.sets(st.integers(0, 5), min_size=2, max_size=3).map(sorted).map(tuple)
    marginals = data.draw(st.lists(pairs, min_size=1, max_size=5))
    generator = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    measured = [
        Measurement(marginal, generator.integers(0, 90, domain.size(marginal)), Fraction(9))
        for marginal in [*((column,) for column in range(6)), *marginals]
    ]
    effort = Effort(steps=20, tolerance=1e-3)
    model = JunctionTree(effort=effort).fit(domain, measured)
    whole = model.total * _all_cells(model)
    for size in (1, 2, 3, 4):
        for wanted in itertools.combinations(range(6), size):
            axes = tuple(column for column in range(6) if column not in wanted)
            assert model.marginal(wanted) == pytest.approx(whole.sum(axis=axes), abs=1e-6)
