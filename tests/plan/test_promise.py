"""An answer within found bounds never costs more than was charged for it, whatever they are."""

import functools
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet import planner as settling
from discreet.accounting import Leaf, Sequential
from discreet.errors import NotAllowed, OutOfRange, WrongKind
from discreet.exact import float_up
from discreet.loss import Approximate, Pure, ZeroConcentrated
from discreet.mechanisms import Laplace
from discreet.plan.bounds_search import FoundBounds, PricePromise, check_promise
from discreet.plan.pricing.calibration import Price, epsilon_sum, loss_of
from discreet.plan.pricing.requested_price import estimate
from discreet.planner import plan_second_stage
from discreet.units import person, row
from tests.plan.clinic import POLICY, SCHEMA, planned, public_rows

QUESTIONS = [
    "SELECT AVG(note) AS m FROM visits",
    "SELECT COUNT(*) AS n, SUM(born) AS s, AVG(born) AS m, MEDIAN(note) AS q FROM visits",
    "SELECT ward, SUM(note) AS s, COUNT(note) AS n, STDDEV(born) AS d FROM visits GROUP BY ward",
    "SELECT city, COUNT(*) AS n, AVG(note) AS m, MAX(born) AS l FROM visits GROUP BY city",
    (
        "SELECT city, COUNT(DISTINCT patient) AS n, VAR_POP(note * 2) AS m, AVG(cost) AS c "
        "FROM visits GROUP BY city"
    ),
    "SELECT sex, APPROX_QUANTILES(born, 4) AS q, SUM(age) AS a FROM visits GROUP BY sex",
    "SELECT AVG(note) FILTER (WHERE paid) AS m, SUM(note) AS s, SUM(note) / 2 AS r FROM visits",
    (
        "SELECT SUM(note) AS s, AVG(note, contribution_bounds_per_row => (0, 128)) AS m, "
        "SUM(note, contribution_bounds_per_group => (0, 9)) AS t FROM visits"
    ),
    "SELECT AVG(note, epsilon => 0.1) AS m, COUNT(*, epsilon => 0.2) AS n FROM visits",
]
PRICES = [
    {"epsilon": "0.5"},
    {"epsilon": "0.5", "delta": "1e-9"},
    {"rho": "0.1"},
    {"rho": "0.1", "delta": "1e-9"},
]
UNITS = [POLICY.unit, person("patient", relation="replace")]
BOUNDS = estimate(epsilon="0.1")


@functools.cache
def asked(text, price, unit):
    return planned(text, unit=UNITS[unit], bounds=BOUNDS, **PRICES[price])


def with_bounds(plan, *pairs):
    found = [
        FoundBounds(about=target.about, low=low, high=high, seen=True)
        for target, (low, high) in zip(plan.search.targets, pairs, strict=True)
    ]
    return plan_second_stage(plan, found, schema=SCHEMA, policy=POLICY, public_rows=public_rows)


@st.composite
def ends(draw, plan):
    pairs = []
    for target in plan.search.targets:
        places = st.integers(0, target.bins.count - 1)
        first, last = sorted((draw(places), draw(places)))
        pairs.append(target.bins.span(first, last))
    return pairs


@pytest.mark.theorem("bounds-composition")
@pytest.mark.parametrize("unit", [0, 1])
@pytest.mark.parametrize("price", range(len(PRICES)))
@pytest.mark.parametrize("text", QUESTIONS)
@settings(max_examples=4, deadline=None)
@given(data=st.data())
def test_every_answer_keeps_the_promise(text, price, unit, data):
    if "city" in text and "delta" not in PRICES[price]:
        return  # private keys need a delta
    plan = asked(text, price, unit)
    final, stage = with_bounds(plan, *data.draw(ends(plan)))  # checks the promise
    assert (final.tree, final.price, final.digest) == (plan.tree, plan.price, plan.digest)
    assert stage != plan.digest
    assert {each.measure for each in final.noises} <= {each.measure for each in plan.noises}
    assert final.search == plan.search


@pytest.mark.theorem("bounds-composition")
@pytest.mark.parametrize("unit", [0, 1])
@pytest.mark.parametrize("text", QUESTIONS[:3])
def test_the_price_is_that_of_search_and_answer_together(text, unit):
    plan = asked(text, 0, unit)
    search, promise = plan.search, plan.search.promise
    assert search.price.epsilon == Fraction(1, 10)
    assert promise.price.epsilon == Fraction(1, 2)
    assert plan.price.epsilon == Fraction(6, 10)
    assert plan.price.rho == search.price.rho + promise.price.rho
    assert (plan.price.delta, plan.price.beside) == (0, 0)
    assert epsilon_sum(plan.tree, plan.unit) == (Fraction(6, 10), 0)
    assert loss_of(plan.tree, plan.unit).epsilon(delta=0) <= float_up(Fraction(6, 10))
    leaves = [node for node in plan.tree.walk() if isinstance(node, Leaf)]
    sources = {type(leaf.source).__name__ for leaf in leaves}
    assert sources <= {"Laplace", "Pure", "Exponential"}
    for leaf in leaves:
        if isinstance(leaf.source, Pure):
            assert leaf.name.partition(" ")[0] in search.scaled


def test_a_price_in_rho_and_one_with_a_delta():
    rho = asked(QUESTIONS[2], 3, 0)
    assert [leaf.source for leaf in rho.search.promise.leaves] == [ZeroConcentrated(rho="0.1")]
    assert rho.price.rho == Fraction(1, 10) + rho.search.price.rho
    assert rho.price.epsilon > asked(QUESTIONS[2], 0, 0).search.price.epsilon
    hidden = asked(QUESTIONS[3], 3, 0)
    assert hidden.search.promise.leaves[1].source == Approximate(epsilon=0, delta="1e-9")
    assert hidden.price.beside == Fraction(1, 10**9)
    many = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(noise = GAUSSIAN) AVG(note) AS m FROM visits"
    gaussian = planned(many, epsilon=1, delta=1e-9, bounds=BOUNDS)
    assert [each.source for each in gaussian.search.promise.leaves] == [
        Approximate(epsilon=1, delta="1e-9")
    ]
    assert (gaussian.price.epsilon, gaussian.price.delta) == (Fraction(11, 10), Fraction(1, 10**9))


@pytest.mark.theorem("bounds-composition")
@pytest.mark.parametrize("price", range(len(PRICES)))
def test_an_answer_that_costs_more_is_refused(price):
    plan = asked(QUESTIONS[2], price, 0)
    more = {key: Fraction(value) * 2 for key, value in PRICES[price].items() if key != "delta"}
    dear = planned(
        QUESTIONS[2],
        found_bounds=plan.search.widest,
        **more,
        **{key: value for key, value in PRICES[price].items() if key == "delta"},
    )
    with pytest.raises(OutOfRange):
        check_promise(plan.search.promise, dear.tree, dear.price, plan.unit)


def test_a_delta_that_was_not_promised_is_refused():
    promise = PricePromise(price=Price(epsilon=Fraction(1)), leaves=())
    with pytest.raises(OutOfRange):
        check_promise(
            promise, Leaf(Pure(epsilon=1)), Price(epsilon=Fraction(1), delta=Fraction(1, 9)), row()
        )
    rho = PricePromise(price=Price(rho=Fraction(1)), leaves=())
    with pytest.raises(OutOfRange):
        check_promise(
            rho, Leaf(Pure(epsilon=1)), Price(rho=Fraction(1), beside=Fraction(1, 9)), row()
        )


def test_a_part_without_a_share_is_refused():
    plan, other = asked(QUESTIONS[0], 0, 0), asked(QUESTIONS[1], 0, 0)
    with pytest.raises(OutOfRange):
        plan_second_stage(
            replace(other, search=replace(other.search, promise=plan.search.promise)),
            other.search.widest,
            schema=SCHEMA,
            policy=POLICY,
            public_rows=public_rows,
        )
    with pytest.raises(WrongKind):
        plan_second_stage(plan, (), schema=SCHEMA, policy=POLICY, public_rows=public_rows)


def test_the_policy_limits_search_and_answer_together():
    policy = replace(POLICY, limits=replace(POLICY.limits, max_epsilon=Fraction(1)))
    text = "SELECT AVG(note) AS m FROM visits"
    planned(text, policy=policy, epsilon="0.9", bounds=BOUNDS)
    with pytest.raises(NotAllowed):
        planned(text, policy=policy, epsilon="0.95", bounds=BOUNDS)
    loose = replace(POLICY, limits=replace(POLICY.limits, max_rho=Fraction(1, 1000)))
    with pytest.raises(NotAllowed):
        planned(text, policy=loose, epsilon="0.01", bounds=BOUNDS)


@pytest.mark.parametrize("bounds", [estimate(epsilon=50), estimate(rho=50)])
def test_what_has_no_price_in_a_limited_currency_is_refused(bounds):
    """Where groups are private, all of delta goes to their choice, and no epsilon follows."""
    policy = replace(POLICY, limits=replace(POLICY.limits, max_epsilon=Fraction(2)))
    text = "SELECT city, SUM(note) AS s FROM visits GROUP BY city"
    planned(text, rho="0.01", delta=1e-6, bounds=bounds)
    with pytest.raises(NotAllowed):
        planned(text, policy=policy, rho="0.01", delta=1e-6, bounds=bounds)


def test_bounds_may_be_paid_in_rho():
    plan = planned(QUESTIONS[0], rho="0.1", bounds=estimate(rho="0.005"))
    assert Fraction(49, 10000) < plan.search.price.rho <= Fraction(5, 1000)
    assert plan.price.rho <= Fraction(105, 1000)


@pytest.mark.theorem("bounds-composition")
def test_the_second_stage_is_held_against_the_promise(monkeypatch):
    plan = asked(QUESTIONS[0], 0, 0)
    dear = planned(QUESTIONS[0], epsilon="0.6", found_bounds=plan.search.widest)
    monkeypatch.setattr(settling, "planned", lambda *_, **known: dear)
    with pytest.raises(OutOfRange):
        with_bounds(plan, plan.search.widest[0].bounds)


@pytest.mark.theorem("bounds-composition")
def test_every_part_keeps_its_own_promise():
    plan = asked(QUESTIONS[0], 0, 0)
    promise, unit = plan.search.promise, plan.unit
    stage = planned(QUESTIONS[0], found_bounds=plan.search.widest, **PRICES[0])
    count, total = stage.tree.children
    check_promise(promise, stage.tree, stage.price, unit)
    half = [replace_source(each, Laplace(scale=each.source.scale / 2)) for each in (count, total)]
    wide = [replace_source(each, Laplace(scale=each.source.scale * 2)) for each in (count, total)]
    check_promise(promise, Sequential(count, wide[1]), stage.price, unit)  # less than its share
    for tree in (
        Sequential(half[0], total),
        Sequential(count, half[1]),
        Sequential(wide[0], total),  # cheaper, and yet not what was charged
        Sequential(count, total, replace_source(count, Laplace(scale=9), name="more")),
    ):
        with pytest.raises(OutOfRange):
            check_promise(promise, tree, stage.price, unit)


def replace_source(leaf, source, name=None):
    return Leaf(
        source,
        name=leaf.name if name is None else name,
        unit=leaf.unit,
        added=leaf.added,
        replaced=leaf.replaced,
    )


@pytest.mark.parametrize("price", range(len(PRICES)))
def test_bounds_around_zero_need_no_count_and_change_no_share(price):
    plan = asked(QUESTIONS[2], price, 0)
    final, _ = with_bounds(plan, (Fraction(-8), Fraction(8)), (Fraction(-7), Fraction(7)))
    shares = dict(plan.search.promise.shares)
    for noise in final.noises if shares else ():
        assert noise.distances.added / noise.mechanism.scale <= shares[noise.measure, None]
