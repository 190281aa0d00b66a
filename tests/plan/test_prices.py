"""Prices: what is asked is what is spent, by every part alone and by all together."""

import functools
import itertools
import json
from fractions import Fraction

import pytest

from discreet.accounting import Budget, PrivacyFilter, account, decode, encode
from discreet.accounting.currencies import concentrated_price, point_price
from discreet.errors import OutOfRange
from discreet.mechanisms import Gaussian, Laplace, NoisyKeys, OptimalKeys
from discreet.plan.pricing import calibration
from discreet.plan.pricing.calibration import (
    Price,
    by_epsilon,
    by_point,
    by_rho,
    epsilon_sum,
    loss_of,
    rho_sum,
)
from discreet.plan.pricing.group_sensitivity import GroupSensitivity, Releases
from discreet.plan.pricing.noise_steps import check_kept
from discreet.plan.pricing.release_composition import composition_of
from discreet.plan.pricing.release_parts import (
    GAUSSIAN,
    LAPLACE,
    OPTIMAL,
    NoisyTotals,
    PartitionSelection,
    QuantileLevel,
    UnpricedRelease,
    dyadic_up,
    root_down,
)
from discreet.plan.pricing.requested_price import RequestedPrice
from discreet.units import person
from tests.plan.clinic import planned

DELTA = Fraction(1, 10**9)
RELATIONS = ["add_remove", "replace", "either"]


def totals(groups, available, most=5):
    far = GroupSensitivity(low=-1, high=most, groups=groups, available=available)
    return NoisyTotals(measure="count", distances=far)


def level(groups, available):
    return QuantileLevel(
        measure="leaves",
        level=Fraction(3, 4),
        leaves=64,
        rows=2,
        groups=groups,
        available=available,
    )


PARTS = [
    *(totals(groups, available) for groups, available in ((1, 1), (1, None), (3, 4), (3, None))),
    totals(2, None, most=2**29),
    *(level(groups, available) for groups, available in ((1, 1), (2, None))),
    *(
        PartitionSelection(law=law, groups=groups, fewest=2)
        for law in (OPTIMAL, LAPLACE)
        for groups in (1, 3)
    ),
    PartitionSelection(law=GAUSSIAN, groups=3, fewest=1),
    *(
        PartitionSelection(law=law, groups=2, fewest=1, measure="count", most=4)
        for law in (LAPLACE, GAUSSIAN)
    ),
]


def sketch_of(*parts, relation="add_remove"):
    return UnpricedRelease(
        parts=parts,
        weights=tuple(range(1, len(parts) + 1)),
        fixed=(None,) * len(parts),
        unit=person("patient", relation=relation),
    )


@pytest.mark.theorem("part-prices")
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("part", PARTS[:-1])
def test_a_share_of_epsilon_is_kept(part, relation):
    sketch = sketch_of(part, relation=relation)
    found = by_epsilon(sketch, Fraction(1, 2), DELTA)
    epsilon, delta = point_price(loss_of(found.tree, sketch.unit))
    assert epsilon == found.price.epsilon <= Fraction(1, 2)
    assert delta <= DELTA
    if not isinstance(part, PartitionSelection):
        assert delta == found.price.delta == 0
    assert epsilon > Fraction(499, 1000)


@pytest.mark.theorem("part-prices")
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize(
    ("part", "law"), [(part, GAUSSIAN) for part in PARTS] + [(PARTS[2], LAPLACE)]
)
def test_a_share_of_rho_is_kept(part, law, relation):
    sketch = sketch_of(part, relation=relation)
    found = by_rho(sketch, Fraction(1, 10), DELTA, law)
    if (
        not isinstance(part, QuantileLevel) or relation == "add_remove"
    ):  # which takes long to work out
        rho, delta = concentrated_price(loss_of(found.tree, sketch.unit))
        assert rho <= found.price.rho
        assert delta <= DELTA
    assert found.price.rho <= Fraction(1, 10)
    assert found.price.rho > Fraction(96, 1000)


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("count", [1, 2, 3])
def test_epsilon_and_delta_are_kept_together(relation, count):
    parts = [
        totals(3, None),
        totals(3, None, most=2**29),
        PartitionSelection(law=OPTIMAL, groups=3, fewest=1),
    ]
    for chosen in itertools.combinations(parts, count):
        sketch = sketch_of(*chosen, relation=relation)
        found = by_point(sketch, Fraction(1), DELTA)
        loss = account(found.tree, unit=sketch.unit).loss
        assert loss.delta(epsilon=1) <= DELTA
        assert (found.price.epsilon, found.price.delta) == (1, DELTA)
        assert loss.epsilon(delta=DELTA) > 0.97 or chosen == (parts[-1],)  # nothing is left unused


def test_a_tiny_epsilon_is_planned_in_a_few_tries(monkeypatch):
    tries = []

    def counted(releases, unit):
        tries.append(releases)
        return composition_of(releases, unit)

    monkeypatch.setattr(calibration, "composition_of", counted)
    sketch = sketch_of(level(1, 1), relation="add_remove")
    tiny = by_point(sketch, Fraction(1, 10**24), DELTA)
    assert loss_of(tiny.tree, sketch.unit).delta(epsilon=Fraction(1, 10**24)) <= DELTA
    assert 3 < len(tries) < 50


@pytest.mark.parametrize(
    "text",
    [
        "SELECT COUNT(*) AS n FROM visits",
        "SELECT ward, COUNT(*) AS n, AVG(cost) AS m FROM visits GROUP BY ward",
        "SELECT city, COUNT(DISTINCT patient) AS n, SUM(age) AS m FROM visits GROUP BY city",
        "SELECT ward, MEDIAN(age) AS n FROM visits GROUP BY ward",
    ],
)
@pytest.mark.parametrize("relation", RELATIONS)
def test_books_charge_no_more_than_was_asked(text, relation):
    unit = person("patient", relation=relation)
    plan = planned(text, unit=unit, epsilon="1/2", delta=DELTA)
    if plan.delta is None:
        charge = PrivacyFilter(Budget(epsilon=1, delta=1e-7), unit=unit).charge(plan.tree)
        assert charge.amounts[0] <= 5 * 10**23
        assert charge.amounts[-1] <= 10**15
        assert charge.amounts == Budget(epsilon=1, delta=1e-7).price(plan.loss)
    if plan.choices:
        return  # a rho of choices by rank takes long to work out
    plan = planned(text, unit=unit, rho="1/20", delta=DELTA)
    charge = PrivacyFilter(Budget(rho=1, delta=1e-8), unit=unit).charge(plan.tree)
    assert charge.amounts[0] <= 5 * 10**22
    assert charge.amounts[1] <= 10**15


@pytest.mark.parametrize("relation", RELATIONS[:2])
def test_a_scope_that_not_all_are_in_has_a_price(relation):
    unit = person("patient", relation=relation)
    plan = planned(
        "SELECT ward, COUNT(*) AS n FROM visits WHERE sex = 'f' GROUP BY ward", unit=unit, epsilon=1
    )
    shared = [name for name, _ in plan.scope.conditions]
    book = PrivacyFilter(Budget(epsilon=1), unit=unit, constant=shared)
    book.charge(plan.tree, scope=plan.scope)
    other = planned(
        "SELECT ward, COUNT(*) AS n FROM visits WHERE sex = 'm' GROUP BY ward", unit=unit, epsilon=1
    )
    if relation == "add_remove":
        book.charge(other.tree, scope=other.scope)  # about others, who pay for themselves


def test_sums_are_those_of_the_parts():
    sketch = sketch_of(
        totals(3, None), level(3, None), PartitionSelection(law=LAPLACE, groups=3, fewest=1)
    )
    found = by_epsilon(sketch, Fraction(1), DELTA)
    assert epsilon_sum(found.tree, sketch.unit) == (found.price.epsilon, found.price.delta)
    assert rho_sum(found.tree, sketch.unit)[0] == found.price.rho
    assert epsilon_sum(by_rho(sketch, Fraction(1), DELTA, GAUSSIAN).tree, sketch.unit) is None


def test_nothing_costs_nothing():
    tree = composition_of(Releases(), person("patient"))
    assert epsilon_sum(tree, person("patient")) == rho_sum(tree, person("patient")) == (0, 0)


@functools.cache
def keys_of(law):
    sketch = sketch_of(PartitionSelection(law=law, groups=2, fewest=1))
    return by_epsilon(sketch, Fraction(1), DELTA).releases.selection


def test_laws_of_keys():
    assert isinstance(keys_of(OPTIMAL), OptimalKeys)
    assert isinstance(keys_of(LAPLACE), NoisyKeys)
    assert isinstance(keys_of(None).noise, Laplace)
    sketch = sketch_of(PartitionSelection(law=None, groups=2, fewest=1))
    noise = by_rho(sketch, Fraction(1), DELTA, GAUSSIAN).releases.selection.noise
    assert isinstance(noise, Gaussian)


@pytest.mark.parametrize(
    "value", [Fraction(1, 3), Fraction(7), Fraction(10**30, 7), Fraction(1, 10**30)]
)
def test_rounding_goes_the_safe_way(value):
    assert root_down(value) ** 2 <= value <= (root_down(value) * (1 + Fraction(1, 10**10))) ** 2
    assert value <= dyadic_up(value) <= value * (1 + Fraction(1, 10**10))


def test_a_price_above_the_asked_one_is_refused():
    half = Fraction(1, 2)
    asked = RequestedPrice(epsilon=half, delta=DELTA, confidence=half)
    check_kept(asked, Price(epsilon=half, delta=DELTA))
    for price in (
        Price(epsilon=half + DELTA),
        Price(rho=half),
        Price(epsilon=half, delta=2 * DELTA),
    ):
        with pytest.raises(OutOfRange):
            check_kept(asked, price)
    with pytest.raises(OutOfRange):
        check_kept(RequestedPrice(rho=half, confidence=half), Price(rho=half, beside=DELTA))


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("price", [{"epsilon": 1, "delta": DELTA}, {"rho": "0.1", "delta": DELTA}])
def test_trees_are_stored_and_read(relation, price):
    unit = person("patient", relation=relation)
    for text in (
        "SELECT city, COUNT(DISTINCT patient) AS n, AVG(cost) AS m FROM visits GROUP BY city",
        "SELECT city, MEDIAN(age) AS n FROM visits GROUP BY city",
    ):
        tree = planned(text, unit=unit, **price).tree
        assert decode(json.loads(json.dumps(encode(tree)))) == tree


def test_a_plan_says_its_price_in_the_words_of_a_budget():
    text = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward"
    plan = planned(text, rho="0.1", delta=DELTA)
    assert plan.costs(Budget(rho=1)) == "rho 0.1"
    assert plan.costs(Budget(epsilon=9, delta=1e-6)).endswith("delta 1e-24")
    assert planned(text, epsilon="0.5").costs(Budget(epsilon=1)) == "epsilon 0.5"
