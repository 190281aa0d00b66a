"""Exact matrices: divergences against their definitions, and exact costs."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.mechanisms.finite import (
    cost_table,
    expectation,
    hockey_stick,
    max_ratio,
    multiply,
    pair_up,
    renyi,
    stochastic,
)
from discreet_course.optimal import prior_on

F = Fraction


@st.composite
def laws(draw, outputs=4):
    weights = draw(st.lists(st.integers(0, 6), min_size=outputs, max_size=outputs).filter(any))
    return tuple(F(weight, sum(weights)) for weight in weights)


def events(size):
    return [s for n in range(size + 1) for s in itertools.combinations(range(size), n)]


@pytest.mark.theorem("finite-mechanism")
@given(laws(), laws(), st.fractions(0, 4))
def test_the_hockey_stick_is_the_largest_excess_over_all_events(p, q, factor):
    best = max(sum((p[o] - factor * q[o] for o in event), F(0)) for event in events(len(p)))
    assert hockey_stick(p, q, factor) == best


@pytest.mark.theorem("finite-mechanism")
@given(laws(), laws())
def test_the_largest_ratio_is_where_the_hockey_stick_ends(p, q):
    ratio = max_ratio(p, q)
    if ratio == math.inf:
        assert hockey_stick(p, q, F(10**6)) > 0
    else:
        assert hockey_stick(p, q, ratio) == 0
        assert p == q or hockey_stick(p, q, ratio - F(1, 10**9)) > 0


@given(laws(), laws(), laws())
def test_products_add_ratios_up(p, q, r):
    pair = pair_up((p, q), (q, r))
    left, right = max_ratio(p, q), max_ratio(q, r)
    assert max_ratio(*pair) == (math.inf if math.inf in {left, right} else left * right)


def test_renyi_matches_closed_forms():
    p, q = (F(3, 4), F(1, 4)), (F(1, 4), F(3, 4))
    assert renyi(p, q, F(2)) == pytest.approx(math.log(9 / 4 + 1 / 12), rel=1e-15)
    assert renyi(p, q, F(1)) == pytest.approx(math.log(3) / 2, rel=1e-15)
    half = math.log(0.25 * 3**1.5 + 0.75 * 3**-1.5) / 0.5
    assert renyi(p, q, F(3, 2)) == pytest.approx(half, rel=1e-14)
    assert renyi(p, q, F(17)) == pytest.approx(math.log(0.25 * 3**17 + 0.75 * 3**-17) / 16)
    assert renyi(p, p, F(2)) == renyi(p, p, F(1)) == 0
    assert renyi((F(1), F(0)), (F(0), F(1)), F(2)) == math.inf
    assert renyi((F(1), F(0)), (F(1, 2), F(1, 2)), F(7)) == pytest.approx(math.log(2))


@given(laws(), laws())
def test_renyi_grows_with_the_order_up_to_the_largest_ratio(p, q):
    found = [renyi(p, q, F(order)) for order in (1, F(3, 2), 2, 5, 40, 1000)]
    assert all(a <= b * (1 + 1e-12) + 1e-15 for a, b in itertools.pairwise(found))
    ratio = max_ratio(p, q)
    assert found[-1] <= (math.log(ratio) * (1 + 1e-12) + 1e-15 if ratio < math.inf else math.inf)


@given(laws(3), laws(3), laws(3))
def test_multiplication_keeps_rows_stochastic(p, q, r):
    product = multiply((p, q), (p, q, r))
    assert stochastic(product) == product


def test_what_can_be_read():
    assert stochastic(np.array([[0.1, 0.9]])) == ((F(1, 10), F(9, 10)),)
    assert stochastic([(1,)]) == ((F(1),),)
    assert stochastic([["1/3", F(2, 3)]]) == ((F(1, 3), F(2, 3)),)


def test_truth_values_and_numbers_are_costs():
    assert cost_table(lambda x, y: x != y, "ab", "ab") == ((0, 1), (1, 0))
    assert cost_table(lambda x, y: np.bool_(x), [0, 1], [0]) == ((0,), (1,))
    assert cost_table(lambda x, y: 0.1, [0], [0]) == ((F(1, 10),),)
    assert expectation(prior_on(["1/3", "2/3"], 2), [F(3), F(6)]) == 5
