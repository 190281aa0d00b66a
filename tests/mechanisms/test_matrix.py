"""Exact matrices: divergences against their definitions, and exact costs."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.mechanisms.finite import hockey_stick, max_ratio, multiply, stochastic

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


@given(laws(3), laws(3), laws(3))
def test_multiplication_keeps_rows_stochastic(p, q, r):
    product = multiply((p, q), (p, q, r))
    assert stochastic(product) == product


def test_what_can_be_read():
    assert stochastic(np.array([[0.1, 0.9]])) == ((F(1, 10), F(9, 10)),)
    assert stochastic([(1,)]) == ((F(1),),)
    assert stochastic([["1/3", F(2, 3)]]) == ((F(1, 3), F(2, 3)),)
