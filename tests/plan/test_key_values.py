"""The values of a key are public where the question and the schema say so, and nowhere else."""

from datetime import date

import pytest
from hypothesis import given, settings

from discreet.plan.binding.bound_question import bind_question
from discreet.query.relation_columns import columns
from discreet.query.sql.parse import read
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
    "CASE WHEN age > 60 THEN 1 ELSE 0 END": (1, 0),
    "DIV(age, 50)": (0, 1, 2, None),
    "DIV(age, -50)": (-2, -1, 0, None),
}
PRIVATE = ["city", "age", "age > 60", "EXTRACT(YEAR FROM day)", "LOWER(ward)", "born"]
PRIVATE += ["DIV(born, 10)", "DIV(age, 0)", "DIV(50, age)"]
LISTED = [
    ("city", "city IN ('x', 'y', 'x')", ("x", "y")),
    ("city", "city = 'x' AND age > 1", ("x",)),
    ("city", "'x' = city", ("x",)),
    ("city", "city IS NULL", (None,)),
    ("day", "day = DATE '2024-01-31'", (date(2024, 1, 31),)),
    ("ward", "ward IN ('D')", ("D",)),
    ("city", "city IN ('x') OR age > 1", None),
    ("city", "NOT city IN ('x')", None),
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


DECLARED = {"ward", "sex", "RANGE_BUCKET(cost, [10, 20])", "DIV(age, 50)", "DIV(age, -50)"}
COMPUTED = [key for key in PUBLIC if key not in DECLARED]


@settings(max_examples=25)
@given(tables=databases())
def test_computed_keys_have_no_other_values(tables):
    for key in COMPUTED:
        text = f"SELECT {key} AS k, COUNT(*) AS n FROM visits GROUP BY {key}"  # noqa: S608
        found = bind_question(read(text), SCHEMA, public_rows)
        rule = compiled(found.keys[0].key.expression, dict(columns(found.rows.relation)))
        seen = {rule(row) for row in rows_of(found.rows.relation, tables)}
        assert seen <= set(PUBLIC[key])


@pytest.mark.parametrize("key", ["ward", "DIV(age, 50)", "DIV(age, -50)"])
@settings(max_examples=25)
@given(tables=databases())
def test_rows_with_undeclared_values_are_left_out_beside_a_private_key(key, tables):
    text = f"SELECT {key} AS k, city, COUNT(*) AS n FROM visits GROUP BY {key}, city"  # noqa: S608
    request = planned(text).request
    rule = compiled(request.keys[0].expression, dict(columns(request.relation)))
    seen = {rule(row) for row in rows_of(request.relation, tables)}
    assert seen <= set(PUBLIC[key])
