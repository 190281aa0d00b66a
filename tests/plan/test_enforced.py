"""A box is enforced by filters above scans, and holds only what these enforce."""

from dataclasses import replace
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.accounting import Box
from discreet.accounting.values import at_least, below, equals, is_null, one_of
from discreet.errors import UnsupportedSQL
from discreet.plan.binding.binder import Binder
from discreet.plan.binding.scope import enforce_scope
from discreet.query.relations import Filter, Scan, descend
from discreet.query.sql.parse import read_relation
from tests.plan.clinic import POLICY, SCHEMA, databases, planned
from tests.plan.test_scope import RELATIONS, named, record
from tests.reference.relations import rows_of

NAMES = POLICY.unit.columns
JOINED = "SELECT {} FROM visits v {} JOIN drugs d ON v.patient = d.person"
SHAPES = {
    "SELECT ward FROM visits": (True, True),
    "SELECT drug FROM drugs": (True, False),
    "SELECT sum FROM bills": (True, True),
    JOINED.format("v.ward", "INNER"): (True, True),
    JOINED.format("v.ward", "LEFT"): (True, True),
    JOINED.format("d.drug", "RIGHT"): (True, False),
    JOINED.format("d.drug", "FULL"): (True, False),
    "SELECT ward FROM visits UNION ALL SELECT drug FROM drugs": (True, False),
    "SELECT ward FROM visits UNION ALL SELECT city FROM visits": (True, True),
    "SELECT v.ward FROM visits v LEFT JOIN wards w ON v.ward = w.ward": (True, True),
    "SELECT n FROM (SELECT patient, COUNT(*) AS n FROM visits GROUP BY patient) AS t": (True, True),
    "SELECT DISTINCT patient, ward FROM visits": (True, True),
    (
        "SELECT n FROM (SELECT ROW_NUMBER() OVER (PARTITION BY patient ORDER BY age) AS n "
        "FROM visits) AS t"
    ): (True, True),
    ("SELECT a.ward FROM visits a LEFT JOIN visits b ON a.patient = b.patient AND a.age < b.age"): (
        True,
        True,
    ),
}
"""Relations, and whether filters on the unit and on the sex of visits guard all of their rows."""

UNIT, SEX = (named(SCHEMA, "visits", column, NAMES) for column in ("patient", "sex"))
COLUMNS = {
    UNIT: (1, 2, 3),
    SEX: ("f", "m", "x"),
    named(SCHEMA, "visits", "born", NAMES): (1980, 1985, 1990),
    named(SCHEMA, "visits", "height", NAMES): (0, 1, 2),
}


def bound(text, box):
    """Bind a relation, and plant a box in it."""
    return replace(_bound(text), scope=box)


@cache
def _bound(text):
    return Binder(SCHEMA, NAMES).bind(read_relation(text))


@st.composite
def boxes(draw):
    """Draw boxes that may be about anything."""
    chance = draw(st.randoms(use_true_random=False))
    found = {}
    for column in chance.sample(sorted(COLUMNS), chance.choice([1, 1, 2])):
        values = chance.choice([equals, one_of, at_least, below])(chance.choice(COLUMNS[column]))
        values = ~values if chance.random() < 0.3 else values
        found[column] = values | is_null() if chance.random() < 0.3 else values
    return Box(found)


@pytest.mark.theorem("question-scope")
@settings(max_examples=25)
@given(tables=databases(), box=boxes())
def test_units_with_rows_lie_in_the_box_whatever_it_is(tables, box):
    """All relations are asked about the same tables, since drawing tables takes long."""
    for text in (*SHAPES, *RELATIONS[-10:]):
        found = enforce_scope(bound(text, box), SCHEMA, NAMES)
        for row in rows_of(found.relation, tables):
            (who,) = (row[name] for name in found.unit)
            if who is not None:
                known = record(tables, who)
                assert known in found.scope, text


@pytest.mark.parametrize(("text", "kept"), SHAPES.items())
def test_a_condition_is_kept_where_it_guards_every_row(text, kept):
    box = Box({UNIT: equals(1), SEX: equals("f")})
    found = enforce_scope(bound(text, box), SCHEMA, NAMES)
    conditions = [name for name, _ in found.scope.conditions]
    assert (UNIT in conditions, SEX in conditions) == kept


def test_filters_stand_directly_above_scans():
    box = Box({UNIT: equals(1), SEX: equals("f")})
    found = enforce_scope(bound(JOINED.format("v.ward", "INNER"), box), SCHEMA, NAMES)
    parents = {
        child.table: node
        for node in descend(found.relation)
        for child in node.children()
        if isinstance(child, Scan)
    }
    assert {table: type(node) for table, node in parents.items()} == dict.fromkeys(
        ["visits", "drugs"], Filter
    )


def test_a_box_of_everything_changes_nothing():
    rows = bound("SELECT ward FROM visits", Box.everything())
    assert enforce_scope(rows, SCHEMA, NAMES) == rows


@pytest.mark.parametrize(
    ("table", "column"), [("visits", "ward"), ("visits", "age"), ("drugs", "drug")]
)
def test_columns_that_units_do_not_share_are_in_no_box(table, column):
    """Not even if an inference says so: no name in a box is theirs."""
    assert named(SCHEMA, table, column, NAMES) is None
    glued = Box({column: equals("A"), f"{table}.{column}": equals("A")})
    found = enforce_scope(bound("SELECT ward FROM visits", glued), SCHEMA, NAMES)
    assert found.scope == Box.everything()
    assert found.relation == bound("SELECT ward FROM visits", glued).relation


EMPTY = [
    "sex = 'f' AND sex = 'm'",
    "patient = 1 AND patient = 2",
    "patient IS NULL",
    "born = NULL",
    "born > 5 AND born < 6 AND born < 5",
    "age > 5 AND age < 3",
    "FALSE",
    "(born = 5) IS NULL AND born > 7",
    "born > 1979.1 AND born < 1979.9",
]


@pytest.mark.parametrize("condition", EMPTY)
def test_a_question_about_nobody_is_refused(condition):
    with pytest.raises(UnsupportedSQL, match="nobody can meet"):
        planned(f"SELECT COUNT(*) AS n FROM visits WHERE {condition}")  # noqa: S608


def test_nested_contradictions_are_refused_too():
    text = "SELECT COUNT(*) AS n FROM (SELECT * FROM visits WHERE sex = 'f') AS t WHERE sex = 'm'"
    with pytest.raises(UnsupportedSQL, match="nobody can meet"):
        planned(text)


def test_a_part_about_nobody_does_not_make_a_union_empty():
    part = "SELECT patient, ward FROM visits WHERE {}"
    parts = " UNION ALL ".join(map(part.format, ("FALSE", "ward = 'A'")))
    assert not planned(f"SELECT COUNT(*) AS n FROM ({parts}) AS t").scope.empty  # noqa: S608
