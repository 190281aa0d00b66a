"""Scores of leaves move as far as is claimed, and no further."""

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.mechanisms import Exponential
from discreet.plan.pricing.group_sensitivity import QuantileChoice
from tests.plan.clinic import planned, score_change

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


@pytest.mark.theorem("leaf-scores")
@settings(max_examples=60)
@given(counts=COUNTS, level=LEVELS, offset=st.integers(-4, 4))
def test_rows_move_scores(counts, level, offset):
    choice = choice_of(level, offset, len(counts))
    rows = dict(enumerate(counts))
    for leaf, count in rows.items():
        more = rows | {leaf: count + 1}
        assert score_change(choice, rows, more) <= choice.added == max(level, 1 - level)
        for other, others in rows.items():
            assert score_change(choice, more, rows | {other: others + 1}) <= 1


def test_the_claim_is_reached():
    choice = choice_of(Fraction(1, 4), 0, 3)
    assert score_change(choice, {0: 4}, {0: 5}) == Fraction(3, 4) == choice.added
    assert score_change(choice, {0: 4}, {0: 4, 2: 1}) == Fraction(1, 4) < choice.added
    assert score_change(choice, {0: 4, 2: 1}, {0: 5}) == 1  # replaced


@pytest.mark.theorem("leaf-scores")
@pytest.mark.parametrize(
    "text",
    [
        "SELECT ward, MEDIAN(age) AS m FROM visits GROUP BY ward",
        "SELECT ward, MEDIAN(age) AS m, MIN(stay) AS l FROM visits GROUP BY ward",
        "SELECT ward, MODE(age) AS a FROM visits GROUP BY ward",
        "SELECT MEDIAN(age) AS m FROM visits",
    ],
)
def test_a_choice_is_paid_for_in_every_group_of_a_unit(text):
    """A unit moves the scores of each choice in each of its groups; the price holds all of that.

    What one choice loses in one group is the range of its log-ratios; they are added up by hand.
    """
    plan = planned(text, epsilon=1)
    groups = 2 if "GROUP BY" in text else 1
    lost = [
        groups * 2 * choice.weight * choice.rows / choice.mechanism.scale for choice in plan.choices
    ]
    assert {choice.groups for choice in plan.choices} == {groups}
    assert sum(lost) <= 1
    assert sum(lost) <= Fraction(plan.loss.epsilon(delta=0))  # which is what is charged
    assert sum(lost) > Fraction(9, 10)  # nor is much more paid than that
