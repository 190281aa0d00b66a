"""Bounds of Clopper and Pearson: they hold, by exact sums, and are no wider than needed."""

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.attacks.proportions import _log_choose, at_least, at_most, tail
from discreet.errors import OutOfRange, WrongKind

LEVELS = [Fraction(1, 2), Fraction(1, 10), Fraction(1, 1000), Fraction(1, 10**6)]


def pmf(k, n, p):
    return math.comb(n, k) * p**k * (1 - p) ** (n - k)


def exact_tail(k, n, p):
    return sum(pmf(j, n, p) for j in range(k, n + 1))


@given(st.integers(1, 60), st.integers(0, 60), st.fractions(0, 1, max_denominator=50))
def test_the_tail_is_enclosed_from_above(n, k, p):
    k = min(k, n)
    true = exact_tail(k, n, p)
    bounds = tail(k, n, p)
    assert true <= bounds
    if k > n * p + 1:
        assert bounds <= true * (1 + Fraction(1, 2**30)) + Fraction(1, 2**158)  # one digit more


@pytest.mark.theorem("clopper-pearson")
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("n", [1, 2, 7, 20])
def test_the_chance_that_a_bound_is_wrong_is_at_most_the_level(n, level):
    lows = [at_least(k, n, level=level) for k in range(n + 1)]
    highs = [at_most(k, n, level=level) for k in range(n + 1)]
    ends = {low + shift for low in lows for shift in (0, Fraction(-1, 10**9))}
    for p in {Fraction(number, 64) for number in range(65)} | {
        end for end in ends if 0 <= end <= 1
    }:
        assert sum(pmf(k, n, p) for k in range(n + 1) if lows[k] > p) <= level
        assert sum(pmf(k, n, p) for k in range(n + 1) if highs[k] < p) <= level


@pytest.mark.parametrize(("k", "n"), [(1, 10), (10, 10), (5000, 10**4), (3, 10**6), (999, 1000)])
@pytest.mark.parametrize("level", LEVELS[1:])
def test_no_wider_than_needed(k, n, level):
    low = at_least(k, n, level=level)
    assert tail(k, n, low) <= level < tail(k, n, low * (1 + Fraction(1, 10**6)))
    assert at_most(n - k, n, level=level) == 1 - low


def test_a_bound_that_is_off_by_one_count_is_seen():
    level, n = Fraction(1, 10), 20
    lows = [at_least(min(k + 1, n), n, level=level) for k in range(n + 1)]
    chances = [
        sum(pmf(k, n, p) for k in range(n + 1) if lows[k] > p)
        for p in (Fraction(number, 64) for number in range(65))
    ]
    assert max(chances) > level


@pytest.mark.parametrize(("n", "k"), [(600, 300), (2000, 700), (5000, 4000)])
def test_factorials_by_their_series(n, k):
    true = math.comb(n, k)
    bound = float(_log_choose(n, k))
    assert bound == pytest.approx(math.log(true), rel=1e-14)
    assert _log_choose(n, k) >= Fraction(math.log(true)) - Fraction(1, 10**9)


def test_certainty_is_bounded_by_the_number_of_trials():
    for n, most in [(10**3, 5.60), (10**4, 7.90), (10**5, 10.2)]:
        low, high = at_least(n, n, level="0.025"), at_most(0, n, level="0.025")
        assert math.log(low / high) == pytest.approx(most, abs=0.01 if n < 10**5 else 0.05)


@pytest.mark.parametrize("level", [0, 1, -1, 2])
def test_a_level_outside_its_range_is_refused(level):
    with pytest.raises(OutOfRange):
        at_least(1, 2, level=level)


@pytest.mark.parametrize(("hits", "n"), [(3, 2), (-1, 2), (0, 0)])
def test_impossible_counts_are_refused(hits, n):
    with pytest.raises(OutOfRange):
        at_most(hits, n, level="0.1")


def test_counts_are_integers():
    with pytest.raises(WrongKind):
        at_most(0.5, 2, level="0.1")
