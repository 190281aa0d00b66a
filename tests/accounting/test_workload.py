"""Workloads: planned together against asked one by one, at the same delta."""

import pytest

from discreet.accounting import Leaf, Parallel
from discreet.accounting.budgets.currency import (
    BasicCurrency,
    ConcentratedCurrency,
    GaussianCurrency,
)
from discreet.accounting.budgets.workload import Workload, compare
from discreet.errors import OutOfRange, WrongKind
from discreet.loss import GaussianDP, Pure, RenyiDP, ZeroConcentrated
from discreet.mechanisms import Gaussian, Laplace
from discreet.units import person, row

FIFTY = Workload([Pure(epsilon="0.1")] * 40 + [Pure(epsilon="0.2")] * 10)


@pytest.mark.theorem("filter-concentrated")
def test_fifty_questions():
    found = compare(FIFTY, delta=1e-6)
    epsilons = dict(found.one_by_one)
    assert epsilons["zcdp"] == pytest.approx(4.599068038, abs=1e-9)
    assert epsilons["basic"] == pytest.approx(6, abs=1e-5)
    assert found.planned == pytest.approx(3.99938, abs=1e-4)
    assert found.saved == pytest.approx(0.59969, abs=1e-4)


@pytest.mark.theorem("filter-gaussian")
def test_gaussians_lose_nothing_in_their_own_currency():
    found = compare(Workload([GaussianDP(mu=mu) for mu in ("0.3", "0.4", "0.5")]), delta=1e-6)
    epsilons = dict(found.one_by_one)
    assert found.planned == pytest.approx(3.307600723, abs=1e-8)
    assert epsilons["gaussian"] == pytest.approx(found.planned, abs=1e-9)
    assert "basic" not in epsilons
    assert found.saved == pytest.approx(0, abs=1e-8)


@pytest.mark.parametrize(
    "losses",
    [
        [Laplace(scale=10)] * 30,
        [Pure(epsilon="0.3"), Laplace(scale=4), Leaf(Pure(epsilon="0.1"))],
        [ZeroConcentrated(rho="0.01")] * 4,
        [Gaussian(sigma=20)] * 4,
        [Parallel("ward", {"A": Leaf(Laplace(scale=2)), "B": Leaf(Laplace(scale=3))})],
    ],
)
@pytest.mark.parametrize("delta", ["1e-9", "1e-3"])
def test_a_plan_never_costs_more(losses, delta):
    found = compare(Workload(losses), delta=delta)
    best = min(epsilon for _, epsilon in found.one_by_one)
    assert found.planned <= best * (1 + 1e-6)


def test_prices_add_up():
    assert FIFTY.price(BasicCurrency()) == (6 * 10**24, 0)
    assert FIFTY.price(ConcentratedCurrency())[1] == 0
    assert Workload([ZeroConcentrated(rho=1)]).price(GaussianCurrency()) is None


def test_a_workload_is_about_a_unit():
    replaced = Workload([Pure(epsilon="0.1")] * 2, unit=row(relation="replace"))
    assert replaced.price(BasicCurrency()) == (4 * 10**23, 0)
    either = Workload([Leaf(Pure(epsilon="0.1"), replaced=0)], unit=row(relation="either"))
    assert either.price(BasicCurrency()) == (10**23, 0)
    people = Workload([Pure(epsilon="0.1")], unit=person("patient"))
    assert people.unit == person("patient")


def test_what_is_shown():
    assert str(compare(FIFTY, delta=1e-6)).splitlines() == [
        "50 questions about one row under add_remove, epsilon at delta 1e-06",
        "  planned together  4",
        "  one by one",
        "    basic           6",
        "    zcdp            4.6",
        "    gaussian        5.565",
    ]


def test_what_cannot_be_compared():
    with pytest.raises(OutOfRange):
        Workload([])
    with pytest.raises(WrongKind):
        Workload([0.1])
    with pytest.raises(OutOfRange):
        compare(Workload([RenyiDP(orders=[2], values=[1])]), delta=1e-6)
    with pytest.raises(OutOfRange):
        compare(FIFTY, delta=2)
