"""Plans as text: a change of any of them is seen in review.

``golden.txt`` holds questions, each with its price and, below it, its plan.
"""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

from discreet.accounting import Leaf
from discreet.units import PrivacyUnit
from tests.plan.clinic import PEOPLE, POLICY, answers, databases, planned, without
from tests.plan.test_neighbors import check, crowd

PLANS = Path(__file__).with_name("golden.txt")


def cases():
    """Return the question, the price and the plan of each entry."""
    text = PLANS.read_text(encoding="utf-8")
    for entry in re.split(r"^# ", text, flags=re.MULTILINE)[1:]:
        first, _, plan = entry.partition("\n")
        price, _, question = first.partition(" ")
        yield question, json.loads(price), plan.strip()


def made(question, price):
    price = dict(price)
    relation = price.pop("relation", None)
    unit = POLICY.unit
    if relation is not None:
        unit = PrivacyUnit(name=unit.name, columns=unit.columns, relation=relation)
    return planned(question, unit=unit, **price)


@pytest.mark.parametrize(("question", "price", "plan"), list(cases()))
def test_plans_are_as_before(question, price, plan):
    assert made(question, price).details == plan


@settings(max_examples=8)
@given(tables=databases(), salt=st.integers(0, 9))
def test_nobody_moves_these_plans_further_than_they_claim(tables, salt):
    """A text says what changed; this says whether it is right, whatever the text."""
    for question, price, _ in cases():
        note(question)
        plan, replaced = made(question, price), "relation" in price
        parts = [without(tables, who) for who in PEOPLE[:2]]
        whole, *others = (
            answers(plan.request, part, salt) for part in ([] if replaced else [tables]) + parts
        )
        for other in others:
            check(plan, whole, other, replaced=replaced)


def test_a_price_for_half_of_what_a_person_adds_would_be_seen():
    """The comparison above notices a plan that claims too little."""
    question, price, _ = next(cases())
    plan = made(question, price)
    leaf = next(node for node in plan.tree.walk() if isinstance(node, Leaf))
    wrong = replace(plan, tree=replace(leaf, added=leaf.added / 2))
    tables = crowd()
    one, other = (answers(wrong.request, each) for each in (tables, without(tables, 1)))
    check(plan, one, other, replaced=False)
    with pytest.raises(AssertionError):
        check(wrong, one, other, replaced=False)


def test_there_is_a_dozen():
    assert len(list(cases())) >= 12
