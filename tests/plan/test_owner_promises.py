"""Every plan names the promises that its price rests on, and no others."""

from dataclasses import replace

import pytest

from discreet.plan.plan_words import branches_of, html_of
from discreet.plan.policy.owner_promises import OwnerPromise, promises_of, same_columns
from discreet.plan.policy.policy import read_policy
from discreet.requests.table_schema import Schema
from discreet.units import person, row
from tests.plan.clinic import POLICY, SCHEMA, planned

NAMES = OwnerPromise(kind="names", table="", column="patient")
SEX = OwnerPromise(kind="constant", table="visits", column="sex")
BORN = OwnerPromise(kind="constant", table="visits", column="born")
VISIT = OwnerPromise(kind="link", table="visits", column="visit")
ROWS = read_policy(
    """
format = 1
unit = "row"
[tables.visits.columns]
ward = {type = "text", categories = ["A", "B"], constant = true}
"""
)


@pytest.mark.parametrize(
    ("text", "promises"),
    [
        ("SELECT COUNT(*) AS n FROM visits", [NAMES]),
        ("SELECT COUNT(*) AS n FROM visits WHERE ward = 'A'", [NAMES]),
        ("SELECT COUNT(*) AS n FROM visits WHERE patient = 3", [NAMES]),
        ("SELECT sex, COUNT(*) AS n FROM visits GROUP BY sex", [NAMES]),
        ("SELECT COUNT(*) AS n FROM visits WHERE sex = 'f'", [NAMES, SEX]),
        ("SELECT COUNT(*) AS n FROM visits WHERE sex = 'f' AND born < 1970", [NAMES, SEX, BORN]),
        ("SELECT COUNT(*) AS n FROM visits WHERE sex = 'f' OR cost > 3", [NAMES]),
        ("SELECT COUNT(*) AS n FROM bills", [NAMES, VISIT]),
        ("SELECT COUNT(*) AS n FROM drugs", [NAMES]),
        (
            "SELECT COUNT(*) AS n FROM bills b JOIN visits v USING (visit) WHERE v.sex = 'm'",
            [NAMES, SEX, VISIT],
        ),
        ("SELECT COUNT(*) AS n FROM visits v JOIN wards w ON v.ward = w.ward", [NAMES]),
    ],
)
def test_what_a_price_rests_on(text, promises):
    plan = planned(text)
    key = str
    assert sorted(plan.promises, key=key) == sorted(promises, key=key)
    assert plan.promises[0] == NAMES
    for promise in promises:
        assert str(promise) in plan.details
        assert str(promise) in html_of(branches_of(plan))


def test_rows_that_are_units_promise_to_stay_where_scopes_divide_them():
    schema = Schema(ROWS.tables)

    def promised(text):
        found = planned(text, policy=ROWS, schema=schema, unit=row(), epsilon=1)
        return [each.kind for each in found.promises]

    assert promised("SELECT COUNT(*) AS n FROM visits") == []
    assert promised("SELECT COUNT(*) AS n FROM visits WHERE ward = 'A'") == ["stay"]


def test_all_promises_of_a_schema_begin_with_names():
    found = promises_of(SCHEMA, POLICY.unit)
    assert found[0] == NAMES
    assert {each.kind for each in found} == {"names", "constant", "link"}
    assert promises_of(SCHEMA, row())[0].kind == "stay"


def test_columns_that_hold_the_same_are_a_promise_of_their_own():
    policy = read_policy(
        """
format = 1
unit = "patient"
[limits]
max_rows = 3
[same]
sex = ["visits.sex", "people.sex"]
[tables.visits.columns]
patient = {type = "integer"}
sex = {type = "text", constant = true}
[tables.people.columns]
patient = {type = "integer"}
sex = {type = "text", constant = true}
"""
    )
    schema = Schema(labelled(policy))
    unit = person("patient")
    plan = planned(
        "SELECT COUNT(*) AS n FROM visits WHERE sex = 'f'",
        policy=policy,
        schema=schema,
        unit=unit,
        epsilon=1,
    )
    assert [each.kind for each in plan.promises] == ["names", "constant", "same"]
    assert "the columns that the policy calls sex agree for each unit" in plan.details


def labelled(policy):
    """Return tables as a session has them: with the labels of columns that hold the same."""
    promised = same_columns(policy.same, policy.tables, policy.unit.columns)
    return [
        replace(
            table,
            columns=tuple(
                replace(each, same=promised.get((table.name, each.name))) for each in table.columns
            ),
        )
        for table in policy.tables
    ]
