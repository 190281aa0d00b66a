"""Budgets: what they promise, what they accept, and that their arithmetic is exact."""

import copy
import math
import pickle
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.accounting.budget import Budget
from discreet.errors import OutOfRange, WrongKind
from discreet.loss import Approximate, GaussianDP, Pure, RenyiDP

EVERY = [
    Budget(epsilon=1),
    Budget(epsilon=1, delta="1e-6"),
    Budget(rho="0.1"),
    Budget(rho="0.1", delta="1e-9"),
]


def charge(budget, losses):
    """Charge losses one by one; return what was spent and how many fitted."""
    spent, count = tuple(0 for _ in budget.limit), 0
    for loss in losses:
        price = budget.price(loss)
        total = tuple(a + b for a, b in zip(spent, price, strict=True))
        if not budget.currency.fits(total, budget.limit):
            break
        spent, count = total, count + 1
    return spent, count


# --- what is promised ---------------------------------------------------------------------------


@pytest.mark.parametrize(("epsilon", "delta"), [(1, "1e-6"), (2, 1e-9), ("0.1", "1e-3"), (20, 0.2)])
def test_a_budget_promises_what_it_was_made_for(epsilon, delta):
    budget = Budget(epsilon=epsilon, delta=delta)
    assert budget.guarantee == Approximate(epsilon=epsilon, delta=delta)


@pytest.mark.theorem("filter-approximate")
@pytest.mark.parametrize(("epsilon", "delta"), [(1, "1e-6"), (2, 1e-9), ("0.1", "1e-3"), (20, 0.2)])
def test_the_limits_are_hardly_smaller_than_the_promise_allows(epsilon, delta):
    budget = Budget(epsilon=epsilon, delta=delta)
    data = budget.written()
    for place in (2, 3):
        limit = list(budget.limit)
        limit[place] = int(limit[place] * Fraction(10001, 10000))
        with pytest.raises(WrongKind, match="promise"):
            Budget.read({**data, "limit": [str(each) for each in limit]})


# --- exact arithmetic ---------------------------------------------------------------------------


@pytest.mark.theorem("directed-rounding")
@pytest.mark.parametrize("tenth", [0.1, "0.1", Fraction(1, 10)])
def test_ten_tenths_fit_into_one_and_an_eleventh_does_not(tenth):
    spent, count = charge(Budget(epsilon=1), [Pure(epsilon=tenth)] * 11)
    assert (spent, count) == ((10**24, 0), 10)


def test_a_third_three_times_does_not_fit_but_all_three_at_once_do():
    budget = Budget(epsilon=1)
    assert charge(budget, [Pure(epsilon=Fraction(1, 3))] * 3)[1] == 2
    assert charge(budget, [Pure(epsilon=Fraction(1, 3)).power(3)])[1] == 1
    assert charge(Budget(epsilon="1.000000000000000000000002"), [Pure(epsilon="1/3")] * 3)[1] == 3


SMALL = st.fractions(min_value=0, max_value=2, max_denominator=10**6)


@pytest.mark.parametrize("budget", EVERY, ids=str)
@given(first=SMALL, second=SMALL)
def test_a_larger_loss_never_costs_less(budget, first, second):
    low, high = sorted((first, second))
    cheap, dear = (budget.price(Pure(epsilon=epsilon)) for epsilon in (low, high))
    assert all(a <= b for a, b in zip(cheap, dear, strict=True))


@pytest.mark.theorem("filter-joint")
def test_parts_of_it_would_break_both_limits():
    budget = Budget(epsilon=1, delta="1e-6")
    half = tuple(limit // 2 for limit in budget.limit)
    in_epsilon = (half[0], 0, *(10 * most for most in half[2:5]), 0)
    in_rho = (10 * half[0], 0, half[2], 10 * half[3], 10 * half[4], 0)
    assert all(budget.currency.fits(part, half) for part in (in_epsilon, in_rho))
    total = tuple(a + b for a, b in zip(in_epsilon, in_rho, strict=True))
    assert not budget.currency.fits(total, budget.limit)


# --- what cannot be done ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"epsilon": 1, "rho": 1},
        {"epsilon": "much"},
        {"epsilon": True},
    ],
)
def test_a_budget_is_one_thing(given):
    with pytest.raises(WrongKind):
        Budget(**given)


@pytest.mark.parametrize(
    "given",
    [
        {"epsilon": -1},
        {"epsilon": math.inf},
        {"epsilon": 1, "delta": 1},
        {"epsilon": 1, "delta": -1},
        {"rho": 1, "delta": 1},
        {"rho": -1},
    ],
)
def test_a_budget_is_in_range(given):
    with pytest.raises(OutOfRange):
        Budget(**given)


def test_a_loss_without_a_price_is_refused_with_advice():
    with pytest.raises(WrongKind, match="no price in epsilon") as caught:
        Budget(epsilon=1).price(GaussianDP(mu="0.1"))
    assert "delta=1e-9" in caught.value.do
    with pytest.raises(WrongKind, match="no price in rho"):
        Budget(rho=1).price(RenyiDP(orders=[2], values=[1]))
    with pytest.raises(WrongKind):
        Budget(rho=1).price("0.1")


# --- the value ----------------------------------------------------------------------------------


@pytest.mark.parametrize("budget", EVERY, ids=str)
def test_a_budget_is_a_value(budget):
    assert eval(repr(budget)) == budget  # noqa: S307  our own text
    assert pickle.loads(pickle.dumps(budget)) == budget  # noqa: S301  our own bytes
    assert copy.deepcopy(budget) == budget
    assert hash(budget) == hash(copy.copy(budget))
    assert len(budget.components) == len(budget.limit)
    assert budget.components[-1] == "delta"


@pytest.mark.parametrize(
    ("budget", "text"),
    [
        (Budget(epsilon="1/3"), "epsilon 0.3333"),
        (Budget(rho="0.1", delta=1e-6), "rho 0.1, delta 1e-06"),
        (Budget(epsilon=2, delta=1e-9), "epsilon 2 at delta 1e-09"),
    ],
)
def test_how_a_budget_is_shown(budget, text):
    assert str(budget) == text
