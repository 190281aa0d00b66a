"""Scores of leaves move as far as is claimed, and no further."""

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.mechanisms import Exponential
from discreet.plan.pricing.group_sensitivity import QuantileChoice
from tests.plan.clinic import scores

LEVELS = st.sampled_from(
    [Fraction(0), Fraction(1, 4), Fraction(1, 2), Fraction(9, 10), Fraction(1)]
)
COUNTS = st.lists(st.integers(0, 3), min_size=1, max_size=6)


def choice_of(level, offset, leaves):
    return QuantileChoice(
        measure="x",
        level=level,
        offset=offset,
        mechanism=Exponential(candidates=leaves, scale=1),
        rows=1,
        groups=1,
        available=None,
    )


def step(choice, rows, others):
    pairs = zip(scores(choice, rows), scores(choice, others), strict=True)
    return max(abs(a - b) for a, b in pairs)


@pytest.mark.theorem("leaf-scores")
@settings(max_examples=60)
@given(counts=COUNTS, level=LEVELS, offset=st.integers(-4, 4))
def test_rows_move_scores(counts, level, offset):
    choice = choice_of(level, offset, len(counts))
    rows = dict(enumerate(counts))
    for leaf, count in rows.items():
        more = rows | {leaf: count + 1}
        assert step(choice, rows, more) <= choice.added == max(level, 1 - level)
        for other, others in rows.items():
            assert step(choice, more, rows | {other: others + 1}) <= 1


def test_the_claim_is_reached():
    choice = choice_of(Fraction(1, 4), 0, 3)
    assert step(choice, {0: 4}, {0: 5}) == Fraction(3, 4) == choice.added
    assert step(choice, {0: 4}, {0: 4, 2: 1}) == Fraction(1, 4) < choice.added
    assert step(choice, {0: 4, 2: 1}, {0: 5}) == 1  # replaced
