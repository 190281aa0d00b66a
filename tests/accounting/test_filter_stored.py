"""Books that are written, read, raised, and charged step by step."""

import copy
import json
import pickle

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.accounting import Box, Leaf, Parallel, Where, at_least, between, equals, one_of
from discreet.accounting.box import Contribution
from discreet.accounting.budget import Budget
from discreet.accounting.filter import PrivacyFilter
from discreet.accounting.loss_map import LossMap
from discreet.errors import DiscreetError, OverBudget, WrongKind
from discreet.loss import Approximate, Pure, ZeroConcentrated
from discreet.units import person, row

BUDGETS = [
    Budget(epsilon=1),
    Budget(epsilon=1, delta="1e-6"),
    Budget(rho="0.4", delta="1e-6"),
]
RELATIONS = ["add_remove", "replace", "either"]
BOXES = [
    None,
    Box({"ward": equals("A")}),
    Box({"ward": one_of("A", "B")}),
    Box({"ward": equals("B"), "age": at_least(40)}),
    Box({"age": between(30, 50)}),
    Box({"age": between(30, 50), "sex": equals("F"), "ward": equals("C")}),
]
LOSSES = [
    Pure(epsilon="0.01"),
    Pure(epsilon="0.1"),
    Pure(epsilon="0.3"),
    Approximate(epsilon="0.2", delta="1e-8"),
    Leaf(Pure(epsilon="0.1"), replaced=Pure(epsilon=0)),
    Parallel("ward", {"A": Leaf(Pure(epsilon="0.2")), "C": Leaf(Pure(epsilon="0.1"))}),
]
REQUESTS = st.lists(
    st.tuples(st.sampled_from(LOSSES), st.sampled_from(BOXES)), min_size=1, max_size=25
)


def text(spending):
    return json.dumps(spending.written(), sort_keys=True)


def again(spending):
    return PrivacyFilter.read(
        json.loads(text(spending)), budget=spending.budget, unit=spending.unit
    )


def asked(spending, what, scope):
    try:
        charge = spending.charge(what, scope=scope)
    except OverBudget as refused:
        return str(refused)
    return charge


# --- stored -------------------------------------------------------------------------------------


@pytest.mark.parametrize("budget", BUDGETS, ids=lambda budget: budget.currency.name)
@pytest.mark.parametrize("relation", RELATIONS)
@settings(max_examples=5, deadline=None)
@given(requests=REQUESTS, often=st.integers(1, 5), cap=st.sampled_from([4096, 4]))
def test_a_filter_that_was_read_decides_as_the_first_would_have(
    budget, relation, requests, often, cap
):
    straight = PrivacyFilter(budget, unit=row(relation=relation))
    straight._owed.paid = LossMap(straight._owed.paid.width, cap=cap)
    paused = again(straight)
    for at, (what, scope) in enumerate(requests):
        assert asked(paused, what, scope) == asked(straight, what, scope)
        if at % often == 0:
            paused = again(paused)
        assert text(paused) == text(straight)
        assert paused.spent == straight.spent
        assert paused.left(scope).amounts == straight.left(scope).amounts


def test_the_form_is_the_documented_one():
    spending = PrivacyFilter(Budget(rho=1), unit=row())
    spending.charge(ZeroConcentrated(rho="0.1"))
    assert spending.written() == {
        "version": 1,
        "priced_for": {
            "currency": ["rho", "delta"],
            "kept_in": "zcdp",
            "unit": ["row"],
            "relation": "add_remove",
        },
        "charges": 1,
        "everywhere": ["100000000000000000000000", "0"],
        "paid": LossMap(2).written(),
    }


def changed(data, **fields):
    return {**data, **fields}


def test_nothing_else_is_read_as_a_filter():
    spending = PrivacyFilter(Budget(rho=1), unit=row())
    data = spending.written()
    broken = [
        None,
        [],
        {},
        {**data, "more": 1},
        {name: data[name] for name in data if name != "charges"},
        *(changed(data, version=version) for version in (0, 2, 3, True, 1.0, "1", None)),
        *(changed(data, charges=count) for count in (-1, "1", 1.0, True, None)),
        *(
            changed(data, everywhere=amounts)
            for amounts in (["0"], ["0", "0", "0"], [0, 0], ["-1", "0"], ["00", "0"], None, "00")
        ),
        changed(data, paid=None),
        changed(data, paid=LossMap(3).written()),
        changed(data, paid=LossMap(6).written()),
    ]
    for each in broken:
        with pytest.raises(DiscreetError):
            PrivacyFilter.read(each, budget=spending.budget, unit=row())
    with pytest.raises(WrongKind, match="relation"):
        PrivacyFilter.read(data, budget=spending.budget, unit=row(relation="replace"))
    with pytest.raises(WrongKind):
        PrivacyFilter.read(data, budget=Budget(epsilon=1), unit=row())


# --- step by step -------------------------------------------------------------------------------


def test_what_cannot_be_entered_is_refused_before_it_fits():
    """A ledger writes what fits: it must be possible to enter it."""
    mixed = Parallel(
        "part",
        {
            1: Where(Box({"ward": equals("A")}), Leaf(Pure(epsilon="0.1"))),
            2: Where(Box({"ward": equals(7)}), Leaf(Pure(epsilon="0.1"))),
        },
    )
    for relation in RELATIONS:
        spending = PrivacyFilter(Budget(epsilon=1), unit=row(relation=relation))
        with pytest.raises(WrongKind, match="kinds"):
            spending.fits(spending.pieces(mixed))
        spending.charge(Pure(epsilon="0.1"), scope=Box({"ward": equals("A")}))
        before = text(spending)
        pieces = spending.pieces(Pure(epsilon="0.1"), scope=Box({"ward": equals(7)}))
        for step in (spending.fits, spending.add):
            with pytest.raises(WrongKind, match="kinds"):
                step(pieces)
        assert text(spending) == before


def test_pieces_of_another_currency_are_refused():
    spending = PrivacyFilter(Budget(epsilon=1), unit=row())
    pieces = PrivacyFilter(Budget(epsilon=1, delta="1e-6"), unit=row()).pieces(Pure(epsilon="0.1"))
    for step in (spending.fits, spending.add, spending.refusal):
        for wrong in (pieces, [1], [Box.everything()]):
            with pytest.raises(WrongKind, match="amount"):
                step(wrong)
    assert spending.spent == (0, 0)


def test_a_filter_cannot_be_copied():
    spending = PrivacyFilter(
        Budget(epsilon=1), unit=person("patient"), contribution=Contribution(rows=2)
    )
    spending.charge(Leaf(Pure(epsilon="0.1")), scope=BOXES[1])
    for copied in (copy.copy, copy.deepcopy, pickle.dumps, lambda one: copy.deepcopy([one])):
        with pytest.raises(WrongKind, match="copied"):
            copied(spending)


def test_a_raised_filter_takes_the_place_of_the_first():
    spending = PrivacyFilter(Budget(epsilon=1), unit=row())
    raised = spending.with_budget(Budget(epsilon=2))
    for spend in (
        lambda: spending.charge(Pure(epsilon="0.1")),
        lambda: spending.add(spending.pieces(Pure(epsilon="0.1"))),
        lambda: spending.with_budget(Budget(epsilon=3)),
    ):
        with pytest.raises(WrongKind, match="raised"):
            spend()
    raised.charge(Pure(epsilon=2))


# --- raised -------------------------------------------------------------------------------------


@pytest.mark.parametrize("relation", RELATIONS)
@settings(max_examples=8, deadline=None)
@given(REQUESTS, REQUESTS)
def test_a_raised_filter_owes_the_same_and_decides_by_the_new_limits(relation, before, after):
    low, high = Budget(epsilon=1, delta="1e-6"), Budget(epsilon=2, delta="1e-6")
    spending, accepted = PrivacyFilter(low, unit=row(relation=relation)), []
    for what, scope in before:
        if not isinstance(asked(spending, what, scope), str):
            accepted.append((what, scope))
    kept = text(spending)
    raised = spending.with_budget(high)
    assert (raised.budget.limit, raised.guarantee) == (high.limit, high.guarantee)
    assert text(raised) == kept
    always = PrivacyFilter(high.counted_like(low), unit=row(relation=relation))
    for what, scope in accepted:
        always.charge(what, scope=scope)
    for what, scope in after:
        assert asked(raised, what, scope) == asked(always, what, scope)
    assert text(raised) == text(always)
    assert text(spending) == kept
