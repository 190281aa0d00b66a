"""Readings of an odometer, against analysts who stop whenever they like.

The games are solved exactly: a player asks in view of all answers, stops at will, and gains
P(S) minus the mean of e**reading on S under Q.
"""

import functools
import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.accounting import Box, Budget, Odometer, PrivacyFilter, equals
from discreet.accounting.budgets.amounts import NEVER, added, amount_up, amount_value
from discreet.errors import OutOfRange
from discreet.loss import GaussianDP, Pure, RenyiDP, ZeroConcentrated
from discreet.loss.elementary import exp
from discreet.units import row
from tests.accounting.games import Ask, largest_loss, leaking, response, two_point
from tests.accounting.test_currency import both_ways, divergences_of, rho_of

LAWS = [response(Fraction(5, 4)), response(2), two_point(Fraction(1, 10), 2)]


def gain(menu, accepts, reading, width, depth):
    """Return the most that a player gains with at most so many questions."""

    @functools.cache
    def growth(spent):
        epsilon = reading(spent)
        return None if math.isinf(epsilon) else exp(Fraction(epsilon)).low

    @functools.cache
    def best(x, spent, left):  # x = Q/P so far
        ratio = growth(spent)
        found = Fraction(0) if ratio is None else max(Fraction(0), 1 - ratio * x)
        for ask in menu if left else ():
            total = added(spent, ask.price)
            if accepts(total):
                mean = (p * best(x * q / p, total, left - 1) for p, q in ask.law if p)
                found = max(found, sum(mean, Fraction(0)))
        return found

    return best(Fraction(1), (0,) * width, depth)


def gained(budget, odometer, menu, depth=4):
    def accepts(total):
        return budget.currency.fits(total, budget.limit)

    return gain(menu, accepts, odometer.reading, len(budget.limit), depth)


@pytest.mark.theorem("odometer")
@pytest.mark.parametrize("delta", ["0.01", "0.1"])
def test_nobody_gains_more_than_delta_from_readings_in_rho(delta):
    budget = Budget(rho=5)
    menu = both_ways(LAWS, lambda law: (amount_up(rho_of(law)), 0))
    assert gained(budget, Odometer(budget, delta=delta), menu) <= Fraction(delta)


@pytest.mark.theorem("odometer")
@pytest.mark.parametrize("currency", ["either", "joint"])
def test_nobody_gains_more_than_delta_on_two_routes(currency):
    budget = Budget(epsilon=1, delta="0.3", currency=currency, reserve="0.2")
    leaky, at_two = leaking(LAWS[0], "0.02"), two_point(Fraction(1, 50), 4)

    def priced(law):
        inner = LAWS[0] if law == leaky else law
        epsilon, chance = largest_loss(inner), Fraction(0)
        if law == at_two and currency == "joint":  # (log 2, 1/100)-private
            epsilon, chance = largest_loss(response(2)), Fraction(1, 100)
        price = [epsilon, chance, rho_of(inner), Fraction(int(law == leaky), 50)]
        return tuple(
            amount_up(part) for k, part in enumerate(price) if currency == "joint" or k != 1
        )

    menu = both_ways([leaky, at_two, LAWS[1]], priced)
    found = gained(budget, Odometer(budget), menu)
    assert Fraction(2, 100) <= found <= Fraction(3, 10)


@pytest.mark.theorem("odometer")
def test_nobody_gains_more_than_delta_from_readings_at_fixed_orders():
    orders = (Fraction(2), Fraction(8))
    budget = Budget(renyi={2: 3, 8: 5})

    def priced(law):
        values = divergences_of(law, [2, 8])
        return budget.price(RenyiDP(orders=orders, values=values))

    assert gained(budget, Odometer(budget, delta="0.1"), both_ways(LAWS, priced)) <= Fraction(1, 10)


@pytest.mark.theorem("odometer")
def test_sums_of_pure_epsilons_are_readings_without_a_delta():
    budget = Budget(epsilon=3)
    menu = both_ways(LAWS, lambda law: budget.price(Pure(epsilon=largest_loss(law))))
    assert gained(budget, Odometer(budget), menu) <= Fraction(1, 10**12)


@pytest.mark.theorem("odometer")
@pytest.mark.parametrize("delta", ["0.01", "0.1"])
def test_what_was_spent_converted_is_no_reading(delta):
    """A twin that converts the rho of all answers so far; many small questions beat it."""
    law = response(Fraction(9, 8))
    menu = [Ask(law, (amount_up(rho_of(law)), 0))]

    def converted(spent):
        return ZeroConcentrated(rho=amount_value(spent[0])).epsilon(delta=delta)

    def always(_):
        return True

    assert gain(menu, always, converted, 2, 80) > Fraction(delta)
    odometer = Odometer(Budget(rho=20), delta=delta)
    assert gain(menu, always, odometer.reading, 2, 80) <= Fraction(delta)


@pytest.mark.theorem("odometer")
def test_lines_without_their_slack_are_no_reading():
    budget = Budget(rho=5)
    menu = both_ways(LAWS, lambda law: (amount_up(rho_of(law)), 0))
    odometer = Odometer(budget, delta="0.01")

    def bare(spent):
        return float(min(line.slope for line in odometer._lines) * amount_value(spent[0]))

    assert gain(menu, lambda _: True, bare, 2, 3) > Fraction(1, 100)


# --- readings -----------------------------------------------------------------------------------


@pytest.mark.parametrize("budget", [Budget(epsilon=2, delta="1e-9"), Budget(rho=1, delta="1e-9")])
@given(parts=st.lists(st.integers(0, 10**24), min_size=4, max_size=4))
def test_readings_grow_with_what_was_spent(budget, parts):
    odometer = Odometer(budget, delta="1e-8")
    spent = tuple(p * m // 10**24 for p, m in zip(parts, budget.limit, strict=False))
    more = tuple((s + m) // 2 for s, m in zip(spent, budget.limit, strict=True))
    assert odometer.reading(spent) <= odometer.reading(more)


def test_a_reading_costs_a_little_more_than_a_promise_made_in_advance():
    budget = Budget(epsilon=2, delta="1e-9", currency="zcdp")
    odometer = Odometer(budget)
    assert odometer.delta == Fraction(1, 10**9)
    for part, most in [(1, "1.13"), (10, "1.25"), (100, "1.31")]:
        rho = budget.limit[0] // part
        known = ZeroConcentrated(rho=amount_value(rho)).epsilon(delta="1e-9")
        assert known < odometer.reading((rho, 0)) < known * float(most)


def test_the_shorter_route_is_read():
    spending = PrivacyFilter(Budget(epsilon=5, delta="1e-9"), unit=row())
    odometer = Odometer(spending.budget)
    spending.charge(Pure(epsilon="0.5"))
    assert odometer.reading(spending.spent) == 0.5
    for _ in range(100):
        spending.charge(GaussianDP(mu="0.05"))
    epsilon = amount_value(spending.spent[0])
    assert odometer.reading(spending.spent) < epsilon < NEVER
    assert odometer.reading(spending.left().spent) == odometer.reading(spending.spent)


def test_people_are_read_by_what_was_asked_about_them():
    spending = PrivacyFilter(Budget(epsilon=1), unit=row())
    spending.charge(Pure(epsilon="0.25"), scope=Box({"state": equals("A")}))
    odometer = Odometer(spending.budget)
    assert odometer.reading(spending.left(Box({"state": equals("A")})).spent) == 0.25
    assert odometer.reading(spending.left(Box({"state": equals("B")})).spent) == 0


def test_a_route_beyond_its_deltas_is_not_read():
    budget = Budget(epsilon=5, delta="1e-9")
    odometer = Odometer(budget)
    inside = (10**21, budget.limit[1], 10**24, 0)
    beyond = (10**21, budget.limit[1] + 1, 10**24, 0)
    assert odometer.reading(inside) == 0.001 < odometer.reading(beyond)
    either = Budget(epsilon=5, delta="1e-9", currency="either")
    assert Odometer(either).reading((NEVER, 10**22, 0)) < 2


@pytest.mark.parametrize(
    ("budget", "delta"),
    [
        (Budget(rho=1), None),
        (Budget(mu=1), 0),
        (Budget(rho=1, delta="1e-6"), "1e-6"),
        (Budget(epsilon=1, delta="1e-6"), "2e-7"),
        (Budget(epsilon=1, delta="1e-6", currency="basic"), "1e-7"),
    ],
)
def test_an_odometer_needs_a_delta(budget, delta):
    with pytest.raises(OutOfRange):
        Odometer(budget, delta=delta)


@pytest.mark.parametrize("spent", [(0,), (0, 0, 0), (0, 10**24)])
def test_what_no_filter_can_have_spent_is_refused(spent):
    with pytest.raises(OutOfRange):
        Odometer(Budget(rho=1, delta="1e-6"), delta="1e-5").reading(spent)
