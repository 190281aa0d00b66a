"""Slots: a plan that is fixed in advance, filled in any order and adaptively."""

from fractions import Fraction

import pytest

from discreet.accounting import UNPROTECTED, Leaf, Repeat
from discreet.accounting.budgets.workload import Slots, Workload, compare
from discreet.accounting.scopes.contribution import Contribution
from discreet.errors import OutOfRange, OverBudget, WrongKind
from discreet.loss import Approximate, GaussianDP, Pure, RenyiDP, ZeroConcentrated
from discreet.mechanisms import Gaussian, Laplace
from discreet.units import person, row
from tests.accounting.games import Ask, response, value


def three():
    return Slots(
        {"map": GaussianDP(mu=1), "table": Pure(epsilon="0.5"), "total": Pure(epsilon="0.2")},
        unit=row(),
    )


def test_slots_are_taken_once_in_any_order():
    slots = three()
    assert slots.free == ("map", "table", "total")
    slots.take("total", Pure(epsilon="0.2"))
    slots.take("map", GaussianDP(mu="0.9"))
    assert slots.free == ("table",)
    with pytest.raises(OverBudget, match="already"):
        slots.take("map", GaussianDP(mu="0.1"))
    assert slots.free == ("table",)
    assert repr(slots) == "<1 of 3 slots free, row>"


@pytest.mark.theorem("slots")
@pytest.mark.parametrize(
    ("slot", "request_", "fits"),
    [
        (Pure(epsilon=1), Pure(epsilon=1), True),
        (Pure(epsilon=1), Laplace(scale=1), True),
        (Pure(epsilon=1), Pure(epsilon="1.0001"), False),
        (Pure(epsilon=1), GaussianDP(mu="0.01"), False),
        (GaussianDP(mu=1), GaussianDP(mu=1), True),
        (GaussianDP(mu=1), Pure(epsilon="0.8"), True),
        (GaussianDP(mu=1), ZeroConcentrated(rho="0.01"), False),
        (ZeroConcentrated(rho=1), GaussianDP(mu=1), True),
        (ZeroConcentrated(rho=1), Pure(epsilon=1), True),
        (ZeroConcentrated(rho=1), ZeroConcentrated(rho="1.0001"), False),
        (Approximate(epsilon=1, delta="1e-6"), Approximate(epsilon=1, delta="1e-6"), True),
        (Approximate(epsilon=1, delta="1e-6"), Approximate(epsilon=1, delta="1.1e-6"), False),
        (Approximate(epsilon=1, delta="1e-6"), GaussianDP(mu="0.2"), True),
        (RenyiDP(orders=[2, 8], values=[1, 2]), ZeroConcentrated(rho="0.2"), True),
        (RenyiDP(orders=[2, 8], values=[1, 2]), ZeroConcentrated(rho="0.3"), False),
        (Pure(epsilon=1), UNPROTECTED, False),
    ],
)
def test_a_request_must_lose_no_more_than_its_slot(slot, request_, fits):
    slots = Slots({"one": slot}, unit=row())
    if fits:
        slots.take("one", request_)
        assert slots.free == ()
        return
    with pytest.raises(OverBudget, match="not proved"):
        slots.take("one", request_)
    assert slots.free == ("one",)


@pytest.mark.theorem("slots")
def test_one_point_below_is_not_enough():
    """(1, 1e-6) at one epsilon says nothing about the others: a pure slot wants all of them."""
    wide = Laplace(scale=2).loss(distance=2)  # at distance 1 it would be randomized response
    slots = Slots({"one": wide}, unit=row())
    request = Approximate(epsilon=1, delta=0)
    assert request.delta(epsilon=1) <= wide.delta(epsilon=1)
    with pytest.raises(OverBudget):
        slots.take("one", Pure(epsilon=1))


def test_several_slots_at_once():
    slots = Slots({name: ZeroConcentrated(rho="0.1") for name in "abc"}, unit=row())
    slots.take(("a", "b"), ZeroConcentrated(rho="0.2"))
    assert slots.free == ("c",)
    with pytest.raises(OverBudget):
        slots.take(("b", "c"), ZeroConcentrated(rho="0.1"))


@pytest.mark.parametrize("bad", ["d", ("a", "a"), (), ("a", "d")])
def test_slots_are_named(bad):
    slots = Slots({name: Pure(epsilon=1) for name in "abc"}, unit=row())
    with pytest.raises(OutOfRange):
        slots.take(bad, Pure(epsilon=1))
    assert slots.free == ("a", "b", "c")


def test_slots_need_losses_and_a_unit():
    with pytest.raises(WrongKind):
        Slots({}, unit=row())
    with pytest.raises(WrongKind):
        Slots([Pure(epsilon=1)], unit=row())
    with pytest.raises(WrongKind):
        Slots({"a": Pure(epsilon=1)}, unit="row")
    with pytest.raises(WrongKind):
        Slots({"a": 1}, unit=row())


def test_the_guarantee_is_the_composition_of_all_slots_used_or_not():
    slots = three()
    both = GaussianDP(mu=1).compose(Pure(epsilon="0.5")).compose(Pure(epsilon="0.2"))
    assert slots.guarantee == both
    slots.take("map", Pure(epsilon=0))
    assert slots.guarantee == both


def test_slots_are_about_a_unit():
    people = person("patient", relation="replace")
    once = Contribution(rows=1)
    slots = Slots({"count": Leaf(Laplace(scale=2), replaced=0)}, unit=people, contribution=once)
    assert slots.guarantee.epsilon(delta=0) == 0
    assert slots.unit == people
    slots = Slots({"count": Laplace(scale=2)}, unit=people, contribution=Contribution(rows=2))
    assert slots.guarantee.epsilon(delta=0) == 2


def test_trees_and_mechanisms_take_slots():
    ten = 10 * Leaf(Pure(epsilon="0.1"))
    slots = Slots({"ten": ten, "noise": Gaussian(sigma=10)}, unit=row())
    slots.take("ten", Repeat(Leaf(Pure(epsilon="0.05")), 9))
    slots.take("noise", Gaussian(sigma=10))
    assert slots.free == ()


@pytest.mark.theorem("slots")
def test_no_strategy_beats_the_slots():
    """Slots of odds 2, 3/2 and 3/2, in any order, each also by a smaller request, adaptively."""
    odds = [Fraction(2), Fraction(3, 2), Fraction(3, 2)]
    menu = []
    for index, most in enumerate(odds):
        taken = tuple(int(k == index) for k in range(3))
        menu += [Ask(response(o), taken) for o in {most, Fraction(5, 4)}]

    def accepts(total):
        return max(total) <= 1

    for ratio in [Fraction(1), Fraction(3, 2), Fraction(2), Fraction(4)]:
        ends = [(Fraction(1), Fraction(1))]
        for each in odds:
            ends = [(p * a, q * b) for p, q in ends for a, b in response(each)]
        promised = sum((max(p - ratio * q, Fraction(0)) for p, q in ends), Fraction(0))
        assert value(menu, accepts, ratio, 3) == promised


def test_a_plan_is_cheaper_than_asking_one_by_one():
    plan = Workload([Pure(epsilon="0.1")] * 100)
    found = compare(plan, delta=1e-5)
    one_by_one = dict(found.one_by_one)
    assert found.planned == pytest.approx(4.306791372517, abs=1e-6)
    assert one_by_one["zcdp"] == pytest.approx(4.726125606, abs=1e-8)
    assert one_by_one["gaussian"] == pytest.approx(5.696123713, abs=1e-6)
    assert one_by_one["basic"] == pytest.approx(10, abs=1e-3)
    slots = plan.slots()
    assert slots.guarantee.epsilon(delta=1e-5) <= found.planned * (1 + 1e-6)
    for name in slots.free[:50]:
        slots.take(name, Pure(epsilon="0.1"))
    assert len(slots.free) == 50
