"""The price of a request follows from the request alone, whatever was priced before."""

import functools
import itertools
import threading
from fractions import Fraction

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from discreet.accounting import (
    Budget,
    Contribution,
    Leaf,
    Parallel,
    PrivacyFilter,
    Sequential,
    account,
    dp_sgd,
)
from discreet.accounting import requests as request
from discreet.accounting.currencies import (
    BasicCurrency,
    ConcentratedCurrency,
    JointCurrency,
    in_order,
)
from discreet.accounting.requests import RequestPricer
from discreet.loss import GaussianDP, PrivacyLoss, Pure
from discreet.loss import Laplace as ContinuousLaplace
from discreet.mechanisms import Exponential, Gaussian, Laplace
from discreet.units import person, row

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


def forget():
    """Forget all prices and losses that are kept."""
    for kept in (request._pieces, request._prices, request._price_of):
        kept.cache_clear()


def fresh():
    """Return a filter that shares no price with earlier ones."""
    forget()
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


DELTAS = ("1e-9", "1e-3")
QUESTIONS = [
    (at, relation, delta)
    for at in range(len(TREES))
    for relation in ("add_remove", "replace")
    for delta in DELTAS
]


@pytest.fixture(scope="module")
def answers():
    """Ends of intervals, each from a statement of its own."""
    return {
        (at, relation, delta): account(TREES[at], relation=relation).interval(delta)
        for at, relation, delta in QUESTIONS
    }


@settings(max_examples=2, deadline=None, suppress_health_check=list(HealthCheck))
@given(order=st.permutations(QUESTIONS))
def test_the_accountant_answers_a_question_in_one_way(answers, order):
    shared = {}
    for at, relation, delta in order:
        if (at, relation) not in shared:
            shared[at, relation] = account(TREES[at], relation=relation)
        price = shared[at, relation]
        assert price.interval(delta) == answers[at, relation, delta]
        assert price.epsilon(delta) == answers[at, relation, delta].high


def test_threads_that_share_a_statement_have_one_answer(answers):
    shared = {each: account(TREES[each[0]], relation=each[1]) for each in {q[:2] for q in answers}}
    found = []

    def ask(turn):
        for step in range(len(QUESTIONS)):
            at, relation, delta = QUESTIONS[(turn * 5 + step) % len(QUESTIONS)]
            same = shared[at, relation].interval(delta) == answers[at, relation, delta]
            found.append(same)

    threads = [threading.Thread(target=ask, args=(turn,)) for turn in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4 * len(QUESTIONS)
    assert all(found)


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_equal_profiles_have_one_price(relation):
    """They may hold their pairs in another order, which would round in another way."""
    parts = [
        Laplace(scale=7).loss(),
        Pure(epsilon="0.1").profile(),
        Exponential(candidates=3, scale=5).loss(distance=1),
    ]
    found = set()
    for order in itertools.permutations(parts):
        forget()
        loss = functools.reduce(PrivacyLoss.compose, order)
        rows = RequestPricer(unit=row(relation=relation))
        for currency in (
            BasicCurrency(),
            ConcentratedCurrency(),
            JointCurrency(Fraction(1), Fraction(1, 10**6)),
        ):
            found.add((currency, rows.pieces(Leaf(loss), currency, delta="1e-6")))
    assert len(found) == 3


def test_losses_with_very_long_fractions_are_put_in_order():
    """Parts of a price over many questions have thousands of digits, more than Python prints."""
    long = Fraction(10**5000 + 1, 3 * 10**5001)
    one, other = Pure(epsilon=long).profile(), Pure(epsilon=long / 7).profile()
    there, back = in_order(one.compose(other)), in_order(other.compose(one))
    assert there.remove[0].pairs == back.remove[0].pairs


def test_one_release_is_never_charged_as_several():
    """Prices are looked up by equality: whichever was priced first must not price the other."""
    several, one = Leaf(_sixteen()), Leaf(_sixteen().as_one())
    assert several.source != one.source
    assert several != one
    assert one == Leaf(_sixteen().as_one())
    for leaf in (several, one, several):  # each after the other was priced
        chain = leaf.source.group(2).epsilon(delta=1e-3)
        assert leaf.price(2, 0).epsilon(delta=1e-3) == chain
    prices = [leaf.price(2, 0).epsilon(delta=1e-3) for leaf in (several, one)]
    assert prices[0] < prices[1] - 0.3  # 6.436 and 6.746


def test_a_filter_charges_one_release_in_full_after_several():
    unit, rows = person("person"), Contribution(rows=2)
    several, one = (Leaf(loss) for loss in (_sixteen(), _sixteen().as_one()))
    alone = RequestPricer(unit=unit, contribution=rows)
    after = RequestPricer(unit=unit, contribution=rows)
    after.pieces(several, BasicCurrency(), delta="1e-3")
    charged = after.pieces(one, BasicCurrency(), delta="1e-3")
    assert charged == alone.pieces(one, BasicCurrency(), delta="1e-3")
    assert charged[0].added > after.pieces(several, BasicCurrency(), delta="1e-3")[0].added


def _sixteen():
    return Laplace(scale=4).loss().power(16)
