"""Units with a row in a bound relation lie in its scope."""

import itertools
from fractions import Fraction
from functools import cache

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet
from discreet.accounting import Box
from discreet.accounting.values import equals
from discreet.errors import DiscreetError
from discreet.plan.binding.binder import Binder
from discreet.plan.binding.scope import scope_name
from discreet.plan.policy.policy import read_policy
from discreet.query.sql.parse import read_relation
from discreet.requests.table_schema import Schema
from tests.plan.clinic import SCHEMA, TYPES, databases, planned
from tests.reference.casts import read as read_value
from tests.reference.relations import rows_of

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
    "(born <> 1980) IS NOT TRUE",
    "(height <> 1.5) IS NOT TRUE",
    "(sex NOT IN ('f', 'm')) IS NOT TRUE",
    "NOT ((NOT (sex = 'f')) IS TRUE)",
    "(born = 1980) IS NOT FALSE AND (sex = 'f' OR sex IS NULL)",
    "(born < 1985) IS NULL",
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


def named(schema, table, column, names=()):
    """Return the name of a column in a box."""
    facts = schema.table(table)
    return scope_name(schema, facts, facts.column(column), names)


def record(tables, who):
    """Return what all rows of a person share, by the columns of their own table."""
    rows = [row for row in tables["visits"] if row["patient"] == who]
    types = {name: TYPES["visits"][name] for name in ("sex", "height", "born")}
    shared = {
        named(SCHEMA, "visits", name): read_value(row[name], kind)
        for row in rows
        for name, kind in types.items()
    }
    return {named(SCHEMA, "visits", "patient"): who} | shared


@cache
def relations():
    """Bind all of them."""
    return {text: Binder(SCHEMA).bind(read_relation(text)) for text in RELATIONS}


@pytest.mark.theorem("question-scope")
@settings(max_examples=15)
@given(tables=databases())
def test_units_with_rows_lie_in_the_box(tables):
    """All relations are asked about the same tables, since drawing tables takes longest."""
    for text, bound in relations().items():
        for row in rows_of(bound.relation, tables):
            (who,) = (row[name] for name in bound.unit)
            if who is not None:
                known = record(tables, who)
                inside = {name: values for name, values in bound.scope.conditions if name in known}
                assert not bound.scope.empty, text
                assert known in Box(inside), text


@pytest.mark.parametrize(
    ("condition", "box"),
    [
        ("sex = 'f'", "visits.sex 'f'"),
        ("sex = 'f' AND age > 5", "visits.sex 'f'"),
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
    assert str(bound.scope) == "visits.age above 5; visits.ward 'A'"


WHOLES = [0, 1, 2, 3, 2**52 - 1, 2**52, 2**53 - 1, 2**53, 2**53 + 1, 2**60, 2**63 - 1]
NUMBERS = [
    *map(str, WHOLES),
    *(f"{whole}.{'0' * 30}1" for whole in WHOLES),
    *(f"{whole}.{'9' * 30}" for whole in WHOLES),
    *("0.5", "2.5", "1e-400", "1e16", "9007199254740993.0", "1e300"),
]
SINGLE = Schema(
    read_policy(
        'format = 1\nunit = "row"\n[tables.t.columns]\ni = {type = "integer"}\nf = {type = "float"}'
    ).tables
)


@st.composite
def comparisons(draw):
    """Return a condition on one column, with numbers that are equal to others as floats."""
    column, number = draw(st.sampled_from("if")), st.sampled_from(NUMBERS)
    sign = draw(st.sampled_from(["=", "<>", "<", "<=", ">", ">="]))
    plain = f"{column} {sign} {draw(number)}"
    flipped = f"{draw(number)} {sign} {column}"
    listed = f"{column} IN ({', '.join(draw(st.lists(number, min_size=1, max_size=3)))}, NULL)"
    between = f"{column} BETWEEN {draw(number)} AND {draw(number)}"
    either = f"({plain} OR {column} = {draw(number)})"
    part = draw(st.sampled_from([plain, flipped, listed, between, either]))
    return draw(st.sampled_from([part, f"NOT ({part})", f"({part}) IS TRUE"]))


@pytest.mark.theorem("question-scope")
@settings(max_examples=300)
@given(condition=comparisons(), signs=st.booleans())
def test_numbers_are_what_they_are_compared_as(condition, signs):
    """A whole number that is compared with a broken one is equal to the float next to it."""
    values = [-whole if signs else whole for whole in WHOLES]
    table = [{"i": value, "f": float(value)} for value in values] + [{"i": None, "f": None}]
    try:
        bound = Binder(SINGLE).bind(read_relation(f"SELECT i, f FROM t WHERE {condition}"))  # noqa: S608
    except DiscreetError:  # a number that is in no type, or a list without one
        return
    whole, broken = (each.column for each in bound.fields)
    for row in rows_of(bound.relation, {"t": table}):
        exact = None if row[broken] is None else Fraction(row[broken])
        assert {named(SINGLE, "t", "i"): row[whole], named(SINGLE, "t", "f"): exact} in bound.scope


def test_a_question_that_finds_somebody_is_paid_for_by_them():
    """The same, through a session: a new spelling of a number is no new person."""
    table = pa.table({"patient": [3] * 5, "wide": [2**53 + 1] * 5})
    spelled = [
        "patient = 3",
        "patient = 3.0000000000000000001",
        "patient IN (3.00000000000000000001, 7)",
        "patient <= 2.99999999999999999999 AND patient > 2",
        "wide = 9007199254740993",
        "wide IN (9007199254740992, 0.5)",
    ]
    policy = 'format = 1\nunit = "row"'
    with discreet.open({"t": table}, policy=policy, test_mode=True) as session:
        for one, other in itertools.combinations(spelled[:4], 2):
            boxes = [
                session.plan(f"SELECT COUNT(*) AS n FROM t WHERE {each}", epsilon=1).scope  # noqa: S608
                for each in (one, other)
            ]
            assert not (boxes[0] & boxes[1]).empty, (one, other)
        for each in spelled:
            found = session.ask(f"SELECT COUNT(*) AS n FROM t WHERE {each}", epsilon=10**20)  # noqa: S608
            assert found.rows()[0]["n"] == 5, each
            names = (named(session.schema, "t", column) for column in ("patient", "wide"))
            assert dict(zip(names, (3, 2**53 + 1), strict=True)) in found.plan.scope


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
        ("SELECT caller FROM calls WHERE patient = 7", "calls.patient 7"),  # not the unit there
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
    name = named(Schema(policy.tables), "visits", "patient", policy.unit.columns)
    assert plan.scope == plan.scope.for_unit(policy.unit, [name]) == Box({name: equals(7)})
