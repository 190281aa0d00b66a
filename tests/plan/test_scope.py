"""Units with a row in a bound relation lie in its scope."""

import pytest
from hypothesis import given, settings

from discreet.accounting import Box
from discreet.accounting.values import equals
from discreet.engines.reference.casts import read as read_value
from discreet.engines.reference.relations import rows_of
from discreet.plan.bind import Binder
from discreet.plan.policy import read_policy
from discreet.plan.schema import Schema
from discreet.query.sql.read import read_relation
from tests.plan.clinic import SCHEMA, TYPES, databases, planned

CONDITIONS = [
    "sex = 'f'",
    "sex <> 'f'",
    "NOT (sex = 'f')",
    "sex IN ('f', 'x')",
    "sex IS NULL OR sex = 'm'",
    "'f' <= sex",
    "born BETWEEN 1980 AND 1985",
    "born > 1979.5 AND born < 1989.5",
    "born = 1980.0",
    "NOT (born < 1985)",
    "born IS NULL",
    "height = 1.5",
    "height IS NULL",
    "height >= 1 AND height < 2",
    "NOT height IS NULL",
    "patient IN (1, 3)",
    "patient = 2 OR patient = 3",
    "patient = 1 AND patient = 2",
    "sex = 'f' OR born = 1990",
    "sex = 'f' AND age > 5",
    "LOWER(sex) = 'f'",
    "sex = ward",
    "COALESCE(sex, 'f') = 'f'",
    "born + 1 = 1981",
    "(sex = 'f') IS TRUE",
    "(sex = 'f') IS FALSE",
    "CASE WHEN sex = 'f' THEN TRUE ELSE paid END",
    "ward = 'A'",
]
RELATIONS = [
    *map("SELECT ward FROM visits WHERE {}".format, CONDITIONS),
    "SELECT v.ward FROM visits v JOIN drugs d ON v.patient = d.person WHERE v.sex = 'f'",
    (
        "SELECT a.ward FROM (SELECT * FROM visits WHERE sex = 'f') AS a LEFT JOIN drugs d "
        "ON a.patient = d.person"
    ),
    (
        "SELECT d.drug FROM (SELECT * FROM visits WHERE sex = 'f') AS a RIGHT JOIN drugs d "
        "ON a.patient = d.person"
    ),
    (
        "SELECT d.drug FROM (SELECT * FROM visits WHERE sex = 'f') AS a FULL JOIN drugs d "
        "ON a.patient = d.person"
    ),
    "SELECT ward FROM visits WHERE sex = 'f' UNION ALL SELECT ward FROM visits WHERE sex = 'm'",
    "SELECT b.sum FROM bills b WHERE b.visit = 1",
    (
        "SELECT n FROM (SELECT patient, sex, COUNT(*) AS n FROM visits GROUP BY patient, sex) AS t "
        "WHERE sex = 'f' AND n = 1"
    ),
    (
        "SELECT k FROM (SELECT sex, LAG(sex, 1) OVER (PARTITION BY patient ORDER BY age) AS k "
        "FROM visits) AS t WHERE k = 'f' AND sex = 'f'"
    ),
    "SELECT s FROM (SELECT patient, UPPER(sex) AS sex, ward AS s FROM visits) AS t WHERE sex = 'F'",
    (
        "SELECT ward FROM visits v JOIN (SELECT ward AS other, beds AS born FROM wards) w "
        "ON v.ward = w.other WHERE w.born = 1"
    ),
]


def record(tables, who):
    """Return what all rows of a person share, by the columns of their own table."""
    rows = [row for row in tables["visits"] if row["patient"] == who]
    shared = {
        name: read_value(row[name], TYPES["visits"][name])
        for row in rows
        for name in ("sex", "height", "born")
    }
    return {"patient": who, "person": who} | shared


@pytest.mark.theorem("question-scope")
@pytest.mark.parametrize("text", RELATIONS)
@settings(max_examples=15)
@given(tables=databases())
def test_units_with_rows_lie_in_the_box(text, tables):
    bound = Binder(SCHEMA).bind(read_relation(text))
    for row in rows_of(bound.relation, tables):
        (who,) = (row[name] for name in bound.unit)
        if who is not None:
            known = record(tables, who)
            inside = {name: values for name, values in bound.scope.conditions if name in known}
            assert not bound.scope.empty
            assert known in Box(inside)


@pytest.mark.parametrize(
    ("condition", "box"),
    [
        ("sex = 'f'", "sex 'f'"),
        ("sex = 'f' AND age > 5", "sex 'f'"),
        ("ward = 'A'", "everything"),
        ("LOWER(sex) = 'f'", "everything"),
        ("sex = 'f' OR born = 1990", "everything"),
    ],
)
def test_what_is_known_is_used(condition, box):
    text = f"SELECT ward FROM visits WHERE {condition}"  # noqa: S608
    assert str(Binder(SCHEMA).bind(read_relation(text)).scope) == box


def test_rows_that_are_units_have_all_their_columns():
    policy = read_policy(
        'format = 1\nunit = "row"\n[tables.visits.columns]\nward = {type = "text"}\n'
        'age = {type = "integer"}'
    )
    binder = Binder(Schema(policy.tables))
    bound = binder.bind(read_relation("SELECT ward FROM visits WHERE ward = 'A' AND age > 5"))
    assert str(bound.scope) == "age above 5; ward 'A'"


NAMED = """
format = 1
unit = "Patient"
[tables.visits.columns]
PATIENT = {type = "integer"}
cost = {type = "float"}
[tables.calls]
unit = ["caller"]
[tables.calls.columns]
caller = {type = "integer"}
patient = {type = "integer", constant = true}
"""


@pytest.mark.parametrize(
    ("text", "box"),
    [
        ("SELECT cost FROM visits WHERE patient = 7", "Patient 7"),
        ("SELECT patient FROM calls WHERE caller > 7", "Patient above 7"),
        ("SELECT caller FROM calls WHERE patient = 7", "everything"),  # is not the unit there
    ],
)
def test_the_unit_has_its_own_name_in_a_box(text, box):
    policy = read_policy(NAMED)
    binder = Binder(Schema(policy.tables), policy.unit.columns)
    assert str(binder.bind(read_relation(text)).scope) == box


def test_a_plan_names_the_unit_as_the_ledger_does():
    policy = read_policy(NAMED)
    plan = planned(
        "SELECT COUNT(DISTINCT caller) AS n FROM calls WHERE caller = 7",
        unit=policy.unit,
        policy=policy,
        schema=Schema(policy.tables),
        epsilon=1,
    )
    assert plan.scope.for_unit(policy.unit) == plan.scope == Box({"Patient": equals(7)})
