"""Prices that are worked out once: the same as those worked out anew, and for whom they are."""

import copy
import functools
import pickle
import threading
from fractions import Fraction
from itertools import permutations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from discreet import accounting
from discreet.accounting import Box, Leaf, equals
from discreet.accounting import requests as request
from discreet.accounting import requests as tariff_module
from discreet.accounting.box import Contribution
from discreet.accounting.budget import Budget
from discreet.accounting.currencies import (
    BasicCurrency,
    ConcentratedCurrency,
    JointCurrency,
)
from discreet.accounting.filter import PrivacyFilter
from discreet.accounting.requests import PriceCache, RequestPricer
from discreet.errors import DiscreetError, OutOfRange, WrongKind
from discreet.loss import GaussianDP, PrivacyLoss, Pure, ZeroConcentrated
from discreet.mechanisms import Exponential, Laplace
from discreet.units import person, row
from tests.accounting.random_trees import trees

CURRENCIES = [BasicCurrency(), ConcentratedCurrency(), JointCurrency(10**10)]
SCOPES = [None, Box({"ward": equals("A")}), Box({"ward": equals("B")})]


@pytest.fixture
def worked(monkeypatch):
    """Count how often a tree is priced, as a product of its leaves or by the accountant."""
    seen = []
    account, product = accounting.account, request.leaf_product

    def counted(tree, **rest):
        seen.append(tree)
        return account(tree, **rest)

    def multiplied(tree, unit):
        found = product(tree, unit)
        seen.extend([] if found is None else [tree])
        return found

    monkeypatch.setattr(accounting, "account", counted)
    monkeypatch.setattr(request, "leaf_product", multiplied)
    return seen


def outcome(tariff, *asked, **how):
    try:
        return tariff.pieces(*asked, **how)
    except DiscreetError as error:
        return str(error)


@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    trees,
    st.sampled_from([row(), row(relation="replace"), row(relation="either"), person("patient")]),
)
def test_a_price_that_is_kept_is_the_price_worked_out_anew(tree, unit):
    limits = Contribution(rows=2)
    kept = PriceCache(unit=unit, contribution=limits)
    asked = [
        (tree, currency, {"scope": scope, "delta": "1e-9"})
        for currency in CURRENCIES[:2]
        for scope in SCOPES[:2]
    ]
    anew = [
        outcome(PriceCache(unit=unit, contribution=limits), tree, currency, **how)
        for tree, currency, how in asked
    ]
    for _ in range(2):
        assert [outcome(kept, tree, currency, **how) for tree, currency, how in asked] == anew


def test_one_accountant_works_for_all_budgets(worked):
    tree = 3 * Leaf(Laplace(scale=10))
    tariff = PriceCache(unit=row())
    budgets = [Budget(epsilon=1), Budget(epsilon=2), Budget(rho=1), Budget(epsilon=1, delta=1e-6)]
    books = [PrivacyFilter(budget, unit=row(), tariff=tariff) for budget in budgets]
    for book in books:
        for scope in SCOPES:
            book.charge(tree, scope=scope)
    assert len(worked) == 1
    assert books[0].pieces(tree) is books[1].pieces(3 * Leaf(Laplace(scale=10)))
    replaced = PrivacyFilter(Budget(epsilon=9), unit=row(relation="replace"))
    for scope in SCOPES:
        replaced.charge(tree, scope=scope)
    assert len(worked) == 2  # the price for one record is known, and not that for two


def test_a_price_is_shared_by_one_tree_one_unit_and_one_limit_alone(worked):
    tree = Leaf(Laplace(scale=7)) + Leaf(Laplace(scale=9))
    same = Leaf(Laplace(scale=7)) + Leaf(Laplace(scale=9))
    pricers = [
        RequestPricer(unit=row()),
        RequestPricer(unit=row(relation="replace")),
        RequestPricer(unit=person("patient"), contribution=Contribution(rows=2)),
        RequestPricer(unit=person("patient"), contribution=Contribution(rows=3)),
    ]
    for _ in range(2):
        prices = [pricer.loss(tree).epsilon(delta=0) for pricer in pricers]
    assert prices == [pytest.approx(k * (1 / 7 + 1 / 9)) for k in (1, 2, 2, 3)]
    assert len(worked) == len(pricers)
    assert pricers[0].loss(same) == pricers[0].loss(tree)
    assert len(worked) == len(pricers)


def test_what_differs_has_its_own_price():
    tariff = PriceCache(unit=row())
    tree = Leaf(Laplace(scale=10))
    loss = GaussianDP(mu=1)
    found = [
        tariff.pieces(tree, BasicCurrency()),
        tariff.pieces(tree, ConcentratedCurrency()),
        tariff.pieces(tree, BasicCurrency(), scope=SCOPES[1]),
        tariff.pieces(Leaf(Laplace(scale=20)), BasicCurrency()),
        tariff.pieces(2 * tree, BasicCurrency()),
        tariff.pieces(tree, BasicCurrency(), delta="1e-9"),
        tariff.pieces(loss, BasicCurrency(), delta="1e-9"),
        tariff.pieces(loss, BasicCurrency(), delta="1e-6"),
    ]
    assert len(set(found)) == len(found)
    assert tariff.pieces(tree, BasicCurrency(), delta=1e-9) is tariff.pieces(
        tree, BasicCurrency(), delta="1e-9"
    )


def test_refusals_are_not_kept_as_prices():
    tariff = PriceCache(unit=row())
    for _ in range(2):
        with pytest.raises(WrongKind, match="no price"):
            tariff.pieces(ZeroConcentrated(rho=1), BasicCurrency())
        with pytest.raises(WrongKind, match="charged"):
            tariff.pieces([1], BasicCurrency())
        with pytest.raises(WrongKind, match="scope"):
            tariff.pieces(Pure(epsilon=1), BasicCurrency(), scope={"ward": "A"})
        with pytest.raises(OutOfRange):
            tariff.pieces(Pure(epsilon=1), BasicCurrency(), delta=2)


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_equal_profiles_have_one_price(relation):
    """They may hold their pairs in another order, which would round in another way."""
    parts = [
        Laplace(scale=7).loss(),
        Pure(epsilon="0.1").profile(),
        Exponential(candidates=3, scale=5).loss(distance=1),
    ]
    mixed = [functools.reduce(PrivacyLoss.compose, order) for order in permutations(parts)]
    found = set()
    for loss in mixed:
        prices = PriceCache(unit=row(relation=relation))
        for currency in CURRENCIES:
            found.add((currency, prices.pieces(Leaf(loss), currency, delta="1e-6")))
    assert len(found) == len(CURRENCIES)


def test_so_many_prices_are_kept_and_no_more(monkeypatch):
    monkeypatch.setattr(tariff_module, "_KEPT", 4)
    tariff = PriceCache(unit=row())
    for k in range(1, 30):
        tariff.pieces(Leaf(Pure(epsilon=Fraction(k, 100))), BasicCurrency())
    kept = tariff._pieces.cache_info()
    assert (kept.currsize, kept.maxsize) == (4, 4)


def test_threads_share_prices():
    tariff = PriceCache(unit=row(relation="replace"))
    trees_of = [k * Leaf(Pure(epsilon="0.01")) for k in range(1, 30)]
    joint, fresh = JointCurrency(10**10), PriceCache(unit=row(relation="replace"))
    right = [fresh.pieces(tree, joint) for tree in trees_of]
    found = []

    def ask():
        found.append([tariff.pieces(tree, joint) for tree in trees_of])

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [right] * 8


def test_prices_of_another_unit_are_not_shared():
    mine = {"unit": person("patient"), "constant": ["ward"], "contribution": Contribution(rows=2)}
    tariff = PriceCache(**mine)
    assert PrivacyFilter(Budget(epsilon=1), **mine, tariff=tariff).tariff is tariff
    for other in (
        {"unit": row()},
        {"unit": person("patient", relation="replace")},
        {"constant": ()},
        {"contribution": Contribution(rows=1)},
        {"contribution": None},
        {"tariff": "none"},
    ):
        with pytest.raises(WrongKind, match="prices"):
            PrivacyFilter(Budget(epsilon=1), **{**mine, "tariff": tariff, **other})
    with pytest.raises(WrongKind, match="columns"):
        PriceCache(unit=row(), constant="ward")


def test_a_copy_starts_anew():
    tariff = PriceCache(
        unit=person("patient"), constant=["ward"], contribution=Contribution(rows=2)
    )
    tariff.pieces(Pure(epsilon=1), BasicCurrency())
    for twin in (copy.deepcopy(tariff), pickle.loads(pickle.dumps(tariff))):  # noqa: S301  our own
        assert twin.asker == tariff.asker
        assert twin._pieces.cache_info().currsize == 0
        assert twin.pieces(Pure(epsilon=1), BasicCurrency()) == tariff.pieces(
            Pure(epsilon=1), BasicCurrency()
        )
