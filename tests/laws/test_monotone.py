"""Curves fall, compositions grow, and what dominates lies above."""

import math
from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.laws.losses import TARGETS, any_loss

DELTAS = st.integers(1, 12).map(lambda k: Fraction(1, 10**k))
SLACK = 1 + 1e-6


@settings(max_examples=40)
@given(any_loss, DELTAS, DELTAS)
def test_epsilon_falls_as_delta_grows(loss, one, two):
    small, large = sorted((one, two))
    assert loss.epsilon(delta=small) >= loss.epsilon(delta=large)


@settings(max_examples=40)
@given(any_loss, TARGETS, TARGETS)
def test_delta_falls_as_epsilon_grows(loss, one, two):
    small, large = sorted((one, two))
    assert loss.delta(epsilon=small) >= loss.delta_interval(epsilon=large).low


@settings(max_examples=40)
@given(any_loss, any_loss, TARGETS)
def test_composing_never_lowers_a_loss(one, two, target):
    both = one.compose(two)
    assert both.delta(epsilon=target) >= one.delta_interval(epsilon=target).low
    assert both.delta(epsilon=target) >= two.delta_interval(epsilon=target).low


@settings(max_examples=60)
@given(any_loss, any_loss, TARGETS)
def test_dominance_agrees_with_the_curves(one, two, target):
    if one.dominates(two):
        assert one.delta(epsilon=target) * SLACK >= two.delta_interval(epsilon=target).low
        assert one.join(two) == one
    assert one.dominates(one)


@settings(max_examples=40)
@given(any_loss, any_loss, TARGETS)
def test_a_join_is_the_larger_curve(one, two, target):
    joined = one.join(two).delta_interval(epsilon=target)
    assert joined.high * SLACK >= max(
        one.delta_interval(epsilon=target).low, two.delta_interval(epsilon=target).low
    )
    assert joined.low <= max(one.delta(epsilon=target), two.delta(epsilon=target)) * SLACK


@settings(max_examples=40)
@given(any_loss, st.integers(1, 3), TARGETS)
def test_groups_never_lose_less(loss, size, target):
    group = loss.group(size)
    assert group.delta(epsilon=target) * SLACK >= loss.delta_interval(epsilon=target).low


@settings(max_examples=25)
@given(any_loss, st.integers(1, 10).map(lambda k: Fraction(k, 10)), TARGETS)
def test_sampling_never_loses_more(loss, rate, target):
    sampled = loss.sampled(rate=rate)
    assert sampled.delta_interval(epsilon=target).low <= loss.delta(epsilon=target) * SLACK
    assert not math.isnan(sampled.delta(epsilon=target))
