"""The chances of showing a group: private for the very numbers used, and the largest there are."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from discreet.certified import exp_neg
from discreet.errors import OutOfRange
from discreet.mechanisms.optimal_selection import (
    checked_length,
    halfway,
    optimal_chances,
)

CASES = [
    (Fraction(1), Fraction(1, 10**5)),
    (Fraction(1), Fraction(1, 8)),
    (Fraction(1, 10), Fraction(1, 10**9)),
    (Fraction(3), Fraction(1, 10**12)),
    (Fraction(0), Fraction(1, 100)),
    (Fraction(20), Fraction(1, 10**6)),
    (Fraction(1, 3), Fraction(2, 3)),
    (Fraction(900), Fraction(1, 10**30)),
]


def exact(chances):
    return [chances.at(n) for n in range(chances.last + 1)]


def private(chances, epsilon, delta):
    """Decide the inequalities for n and n + 1 in exact numbers, in all four ways."""
    scale = 600
    growth = Fraction(1 << scale, exp_neg(epsilon, scale)[1])  # at most e**epsilon
    return all(
        a <= growth * b + delta
        for p, q in zip([*chances[:-1]], chances[1:], strict=True)
        for a, b in ((p, q), (q, p), (1 - p, 1 - q), (1 - q, 1 - p))
    )


def in_closed_form(epsilon, delta, units):
    """The three phases of Desfontaines, Voss, Gipson and Mandayam 2022, in floating point."""
    e, d = float(epsilon), float(delta)
    first = 1 + math.floor(math.log((math.exp(e) + 2 * d - 1) / ((math.exp(e) + 1) * d)) / e)

    def rising(n):
        return d * math.expm1(n * e) / math.expm1(e)

    if units <= first:
        return rising(units)
    fall = math.exp(-(units - first) * e)
    return min(1.0, (1 - fall) * (1 + d / math.expm1(e)) + fall * rising(first))


@pytest.mark.theorem("optimal-keys")
@pytest.mark.parametrize(("epsilon", "delta"), CASES)
def test_the_numbers_that_are_used_are_private(epsilon, delta):
    chances = exact(optimal_chances(epsilon, delta))
    assert chances[0] == 0
    assert chances[-1] == 1
    assert chances == sorted(chances)
    assert private(chances, epsilon, delta)


@pytest.mark.theorem("optimal-keys")
@settings(max_examples=25, deadline=None)
@given(
    epsilon=st.fractions(min_value=Fraction(1, 50), max_value=10, max_denominator=10**6),
    delta=st.fractions(min_value=Fraction(1, 10**12), max_value=Fraction(99, 100)),
)
def test_they_are_private_whatever_is_asked(epsilon, delta):
    known = optimal_chances(epsilon, delta)
    assert private(exact(known), epsilon, delta)
    assert np.all(
        np.abs(known.estimates - [float(known.at(n)) for n in range(known.last + 1)]) == 0
    )


@pytest.mark.theorem("optimal-keys")
@pytest.mark.parametrize(("epsilon", "delta"), CASES)
def test_more_of_any_chance_is_not_private(epsilon, delta):
    """Mutants: a chance rounded up, and one that is sure too early."""
    known = optimal_chances(epsilon, delta)
    chances = exact(known)
    more = Fraction(1 << 3, 1 << known.bits)
    for n in (1, known.last // 2, known.last - 1):
        raised = chances.copy()
        raised[n] = min(raised[n] + more, Fraction(1))
        assert raised == chances or not private(raised, epsilon, delta)
    early = [*chances[:-2], Fraction(1), Fraction(1)]
    assert not private(early, epsilon, delta)


@pytest.mark.parametrize("delta", [Fraction(1, 10**5), Fraction(1, 3), Fraction(1, 10**9)])
def test_chances_rounded_to_the_nearest_float_are_not_private(delta):
    known = optimal_chances(Fraction(1, 7), delta)
    nearest = [Fraction(estimate) for estimate in known.estimates.tolist()]
    assert not private(nearest, Fraction(1, 7), delta)


@pytest.mark.theorem("optimal-keys")
@pytest.mark.parametrize(
    ("epsilon", "delta"),
    [("1", "1e-5"), ("0.5", "1e-3"), ("0.1", "1e-9"), ("2", "0.05"), ("0.01", "1e-6")],
)
def test_the_closed_form(epsilon, delta):
    known = optimal_chances(Fraction(epsilon), Fraction(delta))
    for n in range(known.last + 1):
        assert float(known.at(n)) == pytest.approx(
            in_closed_form(Fraction(epsilon), Fraction(delta), n), rel=1e-9
        )


@pytest.mark.theorem("optimal-keys")
@pytest.mark.parametrize(
    ("epsilon", "delta"), [(1.0, 0.01), (0.3, 0.05), (2.0, 0.001), (0.0, 0.1), (0.7, 0.4)]
)
def test_no_private_choice_shows_a_group_more_often(epsilon, delta):
    """The linear program over all chances of up to nine units, for each number of units."""
    known, size, growth = optimal_chances(Fraction(epsilon), Fraction(delta)), 9, math.exp(epsilon)
    rows, limits = [], []
    for n in range(size):
        for a, b in ((n, n + 1), (n + 1, n)):
            shown, hidden = np.zeros(size + 1), np.zeros(size + 1)
            shown[a], shown[b] = 1, -growth
            hidden[a], hidden[b] = -1, growth  # 1 - p(a) <= growth (1 - p(b)) + delta
            rows += [shown, hidden]
            limits += [delta, growth - 1 + delta]
    bounds = [(0, 0)] + [(0, 1)] * size
    for n in range(1, size + 1):
        goal = np.zeros(size + 1)
        goal[n] = -1
        best = -linprog(goal, A_ub=rows, b_ub=limits, bounds=bounds, method="highs").fun
        assert float(known.at(n)) == pytest.approx(best, abs=1e-7)


def test_what_can_be_worked_out_by_hand():
    """Without epsilon the chance grows by delta; with much of it, the third unit is enough."""
    flat = optimal_chances(Fraction(0), Fraction(1, 4))
    assert exact(flat) == [0, Fraction(1, 4), Fraction(1, 2), Fraction(3, 4), 1]
    assert optimal_chances(Fraction(900), Fraction(1, 10)).last == 3
    e = math.e
    two = float(optimal_chances(Fraction(1), Fraction(1, 100)).at(2))
    assert two == pytest.approx(0.01 * (1 + e), rel=1e-12)


def test_beyond_the_ends():
    known = optimal_chances(Fraction(1), Fraction(1, 8))
    assert known.at(-5) == 0
    assert known.at(10**9) == 1


@pytest.mark.parametrize("epsilon", ["0.01", "0.1", "1", "3"])
@pytest.mark.parametrize("delta", ["1e-3", "1e-9"])
def test_the_estimate_of_half(epsilon, delta):
    known = optimal_chances(Fraction(epsilon), Fraction(delta))
    half = next(n for n in range(known.last) if known.at(n) >= Fraction(1, 2))
    assert abs(half - halfway(Fraction(epsilon), Fraction(delta))) <= 2
    assert abs(known.last - 2 * half) <= 2


def test_what_would_never_be_shown_is_refused():
    for epsilon, delta in ((0, Fraction(1, 10**9)), (Fraction(1, 10**6), Fraction(1, 10**12))):
        with pytest.raises(OutOfRange, match="too small"):
            checked_length(Fraction(epsilon), delta)
    with pytest.raises(OutOfRange):
        checked_length(Fraction(0), Fraction(1, 10**400))
    checked_length(Fraction(10**6), Fraction(1, 10**400))
