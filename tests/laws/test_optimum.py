"""The accountant never falls below the optimal composition, and encloses it."""

from fractions import Fraction
from functools import reduce

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.loss import Approximate
from tests.laws.losses import TARGETS, TENTHS
from tests.loss.oracles import optimal_delta

CHANCES = st.sampled_from([Fraction(0), Fraction(1, 10**6), Fraction(1, 100)])
PROMISES = st.lists(st.tuples(TENTHS, CHANCES), min_size=1, max_size=6)


@pytest.mark.theorem("optimal-composition")
@settings(max_examples=60)
@given(PROMISES, st.integers(1, 3), TARGETS)
def test_products_of_promises_enclose_the_optimum(promises, times, target):
    losses = [Approximate(epsilon=e, delta=d) for e, d in promises]
    total = reduce(lambda one, two: one.compose(two), losses).power(times)
    exact = optimal_delta(promises, target=target, times=times)
    bracket = total.delta_interval(epsilon=target)
    assert bracket.high >= exact
    assert bracket.low <= exact
