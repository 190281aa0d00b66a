"""The price of a request follows from the request alone, whatever was priced before."""

import threading
from fractions import Fraction

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from discreet.accounting import Budget, Leaf, Parallel, PrivacyFilter, Sequential, dp_sgd
from discreet.accounting import requests as request
from discreet.accounting.currencies import in_order
from discreet.loss import GaussianDP, Pure
from discreet.loss import Laplace as ContinuousLaplace
from discreet.mechanisms import Exponential, Gaussian, Laplace
from discreet.units import row

CHOICES = 30 * Leaf(Exponential(candidates=4, scale=20))
WIDE = 5 * Leaf(ContinuousLaplace(scale=9))
TREES = [
    CHOICES + WIDE,
    10 * Leaf(ContinuousLaplace(scale=10)),
    Sequential(Leaf(Laplace(scale=7)), Leaf(GaussianDP(mu="0.2")), 3 * Leaf(Pure(epsilon="0.1"))),
    dp_sgd(rate="0.1", sigma=2, steps=20),
    Parallel("ward", {"A": CHOICES, "B": Leaf(Gaussian(sigma=8)) + WIDE}),
]
REQUESTS = [(tree, delta) for tree in TREES for delta in ("1e-9", "1e-3")]


def fresh():
    """Return a filter that shares no loss with earlier ones."""
    request._price_of.cache_clear()
    return PrivacyFilter(Budget(epsilon=50, delta="0.1"), unit=row())


def price(spending, at):
    tree, delta = REQUESTS[at]
    return spending.pieces(tree, delta=delta)


@pytest.fixture(scope="module")
def prices():
    return [price(fresh(), at) for at in range(len(REQUESTS))]


@settings(max_examples=2, deadline=None, suppress_health_check=list(HealthCheck))
@given(order=st.permutations(range(len(REQUESTS))))
def test_what_was_asked_before_changes_no_price(prices, order):
    spending = fresh()
    for at in order:
        assert price(spending, at) == prices[at]


def test_what_is_asked_beside_it_changes_no_price(prices):
    found, spending = {}, fresh()

    def ask(turn):
        for step in range(len(REQUESTS)):
            at = (turn * 4 + step) % len(REQUESTS)
            found[turn, at] = price(spending, at)

    threads = [threading.Thread(target=ask, args=(turn,)) for turn in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4 * len(REQUESTS)
    assert all(each == prices[at] for (_, at), each in found.items())


def test_losses_with_very_long_fractions_are_put_in_order():
    """Parts of a price over many questions have thousands of digits, more than Python prints."""
    long = Fraction(10**5000 + 1, 3 * 10**5001)
    one, other = Pure(epsilon=long).profile(), Pure(epsilon=long / 7).profile()
    there, back = in_order(one.compose(other)), in_order(other.compose(one))
    assert there.remove[0].pairs == back.remove[0].pairs
