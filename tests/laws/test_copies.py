"""Composing n times equals composing n copies."""

from functools import reduce

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.laws.losses import TARGETS, any_loss


@settings(max_examples=40)
@given(any_loss, st.integers(1, 4), TARGETS)
def test_a_power_equals_its_copies(loss, count, target):
    copies = reduce(lambda total, _: total.compose(loss), range(count - 1), loss)
    power = loss.power(count)
    assert power.profile() == copies.profile()
    assert power.delta(epsilon=target) == pytest.approx(
        copies.delta(epsilon=target), rel=1e-9, abs=1e-300
    )
