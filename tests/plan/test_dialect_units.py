"""The dialect, rule by rule: what keeps people apart is planned, and what mixes them is refused."""

import pytest

from discreet.errors import NotPerUnit
from discreet.plan.policy.policy import read_policy
from discreet.requests.table_schema import Schema
from tests.plan.clinic import planned
from tests.query.dialect import APART, MIXED, TABLES, underlined

POLICY = read_policy(TABLES)


def planned_here(sql):
    schema = Schema(POLICY.tables)
    return planned(sql, unit=POLICY.unit, policy=POLICY, schema=schema, epsilon=1, delta=1e-9)


@pytest.mark.parametrize("entry", APART, ids=lambda entry: entry.rule)
def test_apart(entry):
    assert planned_here(entry.sql).request.unit


@pytest.mark.parametrize("entry", MIXED, ids=lambda entry: entry.rule)
def test_mixed(entry):
    with pytest.raises(NotPerUnit) as caught:
        planned_here(entry.sql)
    assert underlined(caught.value).strip() == entry.words
    assert caught.value.do == entry.do
