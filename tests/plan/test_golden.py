"""Plans as text: a change of any of them is seen in review.

``golden.txt`` holds questions, each with its price and, below it, its plan.
"""

import json
import re
from pathlib import Path

import pytest

from discreet.units import PrivacyUnit
from tests.plan.clinic import POLICY, planned

PLANS = Path(__file__).with_name("golden.txt")


def cases():
    """Return the question, the price and the plan of each entry."""
    text = PLANS.read_text(encoding="utf-8")
    for entry in re.split(r"^# ", text, flags=re.MULTILINE)[1:]:
        first, _, plan = entry.partition("\n")
        price, _, question = first.partition(" ")
        yield question, json.loads(price), plan.strip()


def shown(question, price):
    price = dict(price)
    relation = price.pop("relation", None)
    unit = POLICY.unit
    if relation is not None:
        unit = PrivacyUnit(name=unit.name, columns=unit.columns, relation=relation)
    return str(planned(question, unit=unit, **price))


@pytest.mark.parametrize(("question", "price", "plan"), list(cases()))
def test_plans_are_as_before(question, price, plan):
    assert shown(question, price) == plan


def test_there_is_a_dozen():
    assert len(list(cases())) >= 12
