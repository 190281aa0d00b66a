"""Shares: they add up, and no others have a smaller sum of errors."""

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from discreet.errors import WrongKind
from discreet.plan.pricing.release_parts import divide_epsilon, price_shares

WEIGHTS = st.lists(st.integers(1, 20), min_size=1, max_size=5)


@pytest.mark.theorem("split-shares")
@settings(max_examples=25)
@given(weights=WEIGHTS)
def test_no_search_finds_better_shares(weights):
    found = price_shares(weights, Fraction(1))
    assert sum(found) == 1

    def total(parts):
        return sum(weight / part for weight, part in zip(weights, parts, strict=True))

    ours = total(map(float, found))
    if len(weights) > 1:
        start = [1 / len(weights)] * len(weights)
        best = minimize(
            total,
            start,
            bounds=[(1e-3, 1)] * len(weights),
            constraints={"type": "eq", "fun": lambda parts: sum(parts) - 1},
        )
        assert ours <= best.fun * (1 + 1e-4)
    assert ours == pytest.approx(sum(weight**0.5 for weight in weights) ** 2, rel=1e-5)


@given(weights=WEIGHTS, total=st.fractions(Fraction(1, 1000), 10))
def test_shares_of_any_total_add_up(weights, total):
    assert sum(price_shares(weights, total)) == total


def test_epsilons_that_are_named_are_kept():
    half, quarter = Fraction(1, 2), Fraction(1, 4)
    assert divide_epsilon([1, 4, 9], [half, None, None], Fraction(1)) == (
        half,
        Fraction(1, 5),
        Fraction(3, 10),
    )
    assert divide_epsilon([1, 1], [quarter, quarter], Fraction(1)) == (quarter, quarter)
    for total in (Fraction(1, 4), Fraction(1, 2)):
        with pytest.raises(WrongKind):
            divide_epsilon([1, 1], [half, None], total)
