"""The values of a key are public where the question and the schema say so, and nowhere else."""

from dataclasses import replace
from datetime import date
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.plan.binding.bound_question import bind_question
from discreet.plan.binding.public_keys import KeyImages
from discreet.plan.binding.value_facts import Facts
from discreet.query.expression_types import columns
from discreet.query.expressions import Call, Cast, Column, Literal, walk
from discreet.query.sql.parse import read
from discreet.query.types import Type
from discreet.requests.table_schema import Schema
from tests.plan.clinic import SCHEMA, databases, planned, public_rows
from tests.reference.expressions import compiled
from tests.reference.relations import rows_of

PUBLIC = {
    "ward": ("A", "B", "C", None),
    "sex": ("f", "m"),
    "paid": (False, True, None),
    "age IS NULL": (False, True),
    "RANGE_BUCKET(cost, [10, 20])": (0, 1, 2),
    "RANGE_BUCKET(age, [10, 20])": (0, 1, 2, None),
    "EXTRACT(QUARTER FROM day)": (1, 2, 3, 4, None),
    "CASE WHEN age > 60 THEN 'old' WHEN age > 20 THEN 'young' END": ("old", "young", None),
    "CASE WHEN age > 60 THEN 1 ELSE 0 END": (0, 1),
    "DIV(age, 50)": (0, 1, 2, None),
    "DIV(age, -50)": (-2, -1, 0, None),
    "DIV(50, age)": (*(0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16, 25, 50), None),
    "age > 60": (False, True, None),
    "cost > 60": (False, True),
    "LOWER(ward)": ("a", "b", "c", None),
    "COALESCE(ward, 'none')": ("A", "B", "C", "none"),
    "CASE WHEN age > 60 THEN 'old' ELSE ward END": ("old", "A", "B", "C", None),
    "IF(paid, sex, '?')": ("f", "m", "?"),
    "FLOOR(age / 50) * 50": (0, 50, 100, None),
    "FLOOR(cost / 40)": (0, 1, 2),
    "CEIL(cost / 40) + 1": (1, 2, 3, 4),
    "ROUND(0 - cost / 50)": (-2, -1, 0),
    "CAST(cost / 25 AS INTEGER)": (0, 1, 2, 3, 4),
    "ROUND(cost, -2)": (0, 100),
    "MOD(stay, 3)": (-2, -1, 0, 1, 2, None),
    "ABS(stay) * 2": (*range(0, 21, 2), None),
    "SIGN(stay)": (-1, 0, 1, None),
    "CAST(sex = 'f' AS INTEGER)": (0, 1),
}
PRIVATE = [
    "city",
    "EXTRACT(YEAR FROM day)",
    "born",
    "LOWER(city)",
    "FLOOR(note)",
    "ROUND(height)",
]
PRIVATE += [
    "DIV(born, 10)",
    "DIV(age, 0)",
    "age + stay",
    "DATE_TRUNC(day, MONTH)",
    "FLOOR(cost * 1000)",
]
PRIVATE += [
    "CASE WHEN age > 60 THEN 'old' ELSE city END",
    "COALESCE(city, ward)",
    "FLOOR(100 / cost)",
]
LISTED = [
    ("city", "city IN ('x', 'y', 'x')", ("x", "y")),
    ("city", "city = 'x' AND age > 1", ("x",)),
    ("city", "'x' = city", ("x",)),
    ("city", "city IS NULL", (None,)),
    ("day", "day = DATE '2024-01-31'", (date(2024, 1, 31),)),
    ("ward", "ward IN ('D')", ("D",)),
    ("city", "city IN ('x') OR age > 1", None),
    ("city", "NOT city IN ('x')", None),
    ("EXTRACT(YEAR FROM day)", "day BETWEEN '2023-05-01' AND '2024-01-31'", (2023, 2024)),
    ("EXTRACT(MONTH FROM day)", "day >= '2023-11-15' AND day < '2024-02-01'", (1, 11, 12)),
    (
        "DATE_TRUNC(day, MONTH)",
        "day >= '2023-11-15' AND day < '2024-01-01'",
        (date(2023, 11, 1), date(2023, 12, 1)),
    ),
    ("DATE_TRUNC(day, YEAR)", "day >= '2023-11-15'", None),
    ("FLOOR(note / 10) * 10", "note BETWEEN 5 AND 25", (0, 10, 20)),
    ("DIV(born, 10) * 10", "born >= 1980 AND born < 2000", (1980, 1990)),
    ("MOD(age, 2)", "age BETWEEN 4 AND 4", (0, 1)),  # one value is no range
]


def values(key, where="TRUE"):
    text = f"SELECT {key} AS k, COUNT(*) AS n FROM visits WHERE {where} GROUP BY {key}"  # noqa: S608
    return bind_question(read(text), SCHEMA, public_rows).keys[0].values


@pytest.mark.parametrize("key", PUBLIC)
def test_public_values(key):
    assert values(key) == PUBLIC[key]


@pytest.mark.parametrize("key", PRIVATE)
def test_private_values(key):
    assert values(key) is None


@pytest.mark.parametrize(("key", "where", "expected"), LISTED)
def test_values_that_a_question_lists(key, where, expected):
    assert values(key, where) == expected


COMPUTED = [
    "paid",
    "age IS NULL",
    "RANGE_BUCKET(age, [10, 20])",
    "EXTRACT(QUARTER FROM day)",
    "CASE WHEN age > 60 THEN 'old' WHEN age > 20 THEN 'young' END",
    "CASE WHEN age > 60 THEN 1 ELSE 0 END",
    "age > 60",
    "SIGN(stay)",
]


@settings(max_examples=25)
@given(tables=databases())
def test_computed_keys_have_no_other_values(tables):
    for key in COMPUTED:
        text = f"SELECT {key} AS k, COUNT(*) AS n FROM visits GROUP BY {key}"  # noqa: S608
        found = bind_question(read(text), SCHEMA, public_rows)
        rule = compiled(found.keys[0].key.expression, dict(columns(found.rows.relation)))
        seen = {rule(row) for row in rows_of(found.rows.relation, tables)}
        assert seen <= set(PUBLIC[key])


OTHERS = [
    "ward",
    "DIV(age, 50)",
    "DIV(age, -50)",
    "LOWER(ward)",
    "FLOOR(cost / 40)",
    "IF(paid, sex, '?')",
]
OTHERS += ["CASE WHEN age > 60 THEN 'old' ELSE ward END", "COALESCE(ward, 'none')"]


@pytest.mark.parametrize("key", OTHERS)
@settings(max_examples=25)
@given(tables=databases())
def test_rows_with_undeclared_values_are_left_out_beside_a_private_key(key, tables):
    text = f"SELECT {key} AS k, city, COUNT(*) AS n FROM visits GROUP BY {key}, city"  # noqa: S608
    request = planned(text).request
    rule = compiled(request.keys[0].expression, dict(columns(request.relation)))
    seen = {rule(row) for row in rows_of(request.relation, tables)}
    assert seen <= set(PUBLIC[key])


def test_columns_of_a_public_table_list_their_groups():
    text = "SELECT w.beds AS k, COUNT(*) AS n FROM visits v JOIN wards w ON v.ward = w.ward "
    joined = [values_of(text + more) for more in ("GROUP BY 1", "WHERE w.beds > 1 GROUP BY 1")]
    assert joined == [(1, 2), (2,)]
    assert values_of(text.replace("w.beds", "DIV(w.beds, 2)", 1) + "GROUP BY 1") == (0, 1)
    outer = values_of(text.replace("JOIN", "LEFT JOIN") + "GROUP BY 1")
    assert (outer[0], outer[-1]) == (0, None)  # those between the bounds of beds


def values_of(text):
    return bind_question(read(text), SCHEMA, public_rows).keys[0].values


FACTS = {
    "i": Facts(type=Type.INTEGER, low=Fraction(-7), high=Fraction(23)),
    "f": Facts(type=Type.FLOAT, low=Fraction(-5), high=Fraction(61, 4), nullable=False),
}
TYPES = {name: facts.type for name, facts in FACTS.items()}
WRITTEN = st.sampled_from(
    [Literal(each) for each in (1, 2, 3, 7, -2, Fraction(1, 2), Fraction(1, 3))]
)


@st.composite
def chains(draw):
    """Draw a whole number that is made of one column, step by step."""
    node = Column(draw(st.sampled_from("if")))
    for _ in range(draw(st.integers(0, 3))):
        sign = draw(
            st.sampled_from(["+", "-", "*", "/", "FLOOR", "CEIL", "ROUND", "NEGATE", "ABS"])
        )
        if sign in {"+", "-", "*", "/"}:
            pair = (node, draw(WRITTEN))
            node = Call(sign, pair if sign == "/" or draw(st.booleans()) else pair[::-1])
        else:
            node = Call(sign, (node,))
    return Cast(Call(draw(st.sampled_from(["FLOOR", "CEIL", "ROUND"])), (node,)), Type.INTEGER)


@settings(max_examples=150)
@given(key=chains(), numbers=st.lists(st.floats(-5, 15.25), max_size=9))
def test_functions_of_one_column_have_no_values_but_those_listed(key, numbers):
    """Of a whole number all values are listed and no other; of a float all that there can be."""
    image = KeyImages(FACTS).of(key)
    rule = compiled(key, TYPES)
    (name,) = {node.name for node in walk(key) if isinstance(node, Column)}
    known = [*range(-7, 24), None] if name == "i" else [-5.0, 15.25, *numbers]
    seen = {rule({name: value}) for value in known}
    if image is None:
        assert name == "f"  # ABS has no steps that are known
    elif name == "i":
        assert seen == set(image)
    else:
        assert seen <= set(image)
        turns = any(isinstance(node, Call) and node.function == "ABS" for node in walk(key))
        assert turns or {min(seen), max(seen)} == {min(image), max(image)}


def test_a_list_that_forgets_an_end_is_noticed():
    """A mutant that stops below the upper bound leaves out a group."""
    key = Cast(Call("FLOOR", (Call("/", (Column("f"), Literal(3))),)), Type.INTEGER)
    rule = compiled(key, TYPES)
    assert KeyImages(FACTS).of(key) == [*range(-2, 6)]
    lower = {**FACTS, "f": replace(FACTS["f"], high=Fraction(14))}
    assert rule({"f": 15.25}) not in KeyImages(lower).of(key)


def test_the_least_of_one_value_is_that_value():
    assert KeyImages(FACTS).of(Call("LEAST", (Column("i"),))) == [*range(-7, 24), None]
    assert KeyImages(FACTS).of(Call("GREATEST", (Column("i"), Literal(22)))) == [22, 23, None]


def test_days_of_the_policy_list_months_and_leave_out_others():
    days = (date(2023, 11, 15), date(2024, 1, 31))
    visits = SCHEMA.table("visits")
    columns_ = [
        replace(each, days=days, nullable=False) if each.name == "day" else each
        for each in visits.columns
    ]
    known = [each for each in SCHEMA.tables if each.name != "visits"]
    schema = Schema([*known, replace(visits, columns=tuple(columns_))])
    text = "SELECT DATE_TRUNC(day, MONTH) AS k, city, COUNT(*) AS n FROM visits GROUP BY 1, 2"
    plan = planned(text, schema=schema)
    rule = compiled(plan.request.keys[0].expression, dict(columns(plan.request.relation)))
    blank = dict.fromkeys(each.name for each in visits.columns)
    dates = [None, date(2023, 10, 31), date(2023, 11, 1), date(2024, 1, 31), date(2024, 2, 1)]
    tables = {"visits": [{**blank, "patient": 1, "day": day} for day in dates]}
    seen = {rule(row) for row in rows_of(plan.request.relation, tables)}
    assert seen == {date(2023, 11, 1), date(2024, 1, 1)}
    narrower = text.replace("GROUP", "WHERE day >= DATE '2024-01-01' GROUP").replace(
        ", city", "", 1
    )
    alone = planned(narrower.replace("1, 2", "1"), schema=schema)
    assert alone.request.public == ((date(2024, 1, 1),),)
    assert alone.selection is None
