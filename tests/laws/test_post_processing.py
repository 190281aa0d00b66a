"""Post-processing never changes a promise: merged outcomes lose no more."""

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.loss import Profile
from discreet.loss.finite import FinitePair
from tests.laws.losses import TARGETS

WEIGHTS = st.lists(st.integers(1, 9), min_size=4, max_size=4)


def law(weights):
    return tuple(Fraction(w, sum(weights)) for w in weights)


@pytest.mark.theorem("post-processing")
@settings(max_examples=8)
@given(WEIGHTS, WEIGHTS, TARGETS)
def test_merging_outcomes_never_adds(first, second, target):
    p, q = law(first), law(second)
    full = Profile.of(FinitePair(p, q))
    merged = Profile.of(FinitePair((p[0] + p[1], *p[2:]), (q[0] + q[1], *q[2:])))
    assert merged.delta_interval(epsilon=target).low <= full.delta(epsilon=target)
