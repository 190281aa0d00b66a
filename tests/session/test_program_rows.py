"""Programs are bound once where all tables are private, and each time where public ones are."""

from fractions import Fraction

import pyarrow as pa
import pytest

import discreet as dp
from discreet.query.expressions import Aggregate, Call, Column, Literal
from discreet.query.question import Question
from discreet.query.relations import Filter, Join, Table

POLICY = """
format = 1
unit = "patient"
[limits]
max_rows = 2
max_groups = 1
[tables.visits.columns]
ward = { type = "integer", low = 0, high = 9 }
urgent = { type = "boolean" }
"""
WARDS = """
[tables.wards]
public = true
key = ["ward"]
"""
VISITS = pa.table({"patient": [1, 2, 3], "ward": [1, 2, 1], "urgent": [True, False, True]})


def session(*, public=False, limits=POLICY):
    """Open visits, perhaps with a public table beside them."""
    wards = {"wards": pa.table({"ward": [1, 2]})} if public else {}
    policy = limits + WARDS if public else limits
    return dp.open({"visits": VISITS, **wards}, policy=policy, test_mode=True)


def question(relation, key="ward"):
    return Question(
        relation=relation, keys=((key, Column(key)),), outputs=(("n", Aggregate("COUNT")),)
    )


def test_equal_questions_are_bound_once():
    with session() as clinic:
        first = clinic.program_rows(question(Table("visits")))
        assert clinic.program_rows(question(Table("visits"))) is first
        assert clinic.program_rows(question(Table("visits"), "urgent")) is not first


@pytest.mark.parametrize(("one", "other"), [(1, 2), (1, True), (1, Fraction(3, 2)), (0, False)])
def test_questions_that_differ_in_a_literal_are_bound_apart(one, other):
    def where(value):
        column = Column("urgent" if type(value) is bool else "ward")
        return question(Filter(Table("visits"), Call("=", (column, Literal(value)))))

    with session() as clinic:
        first, second = (clinic.program_rows(where(value)) for value in (one, other))
        assert first is not second
        assert first.bound.rows.relation != second.bound.rows.relation


def test_beside_public_tables_questions_are_bound_anew():
    on = Call("=", (Column("ward", "visits"), Column("ward", "wards")))
    joined = question(Join(Table("visits"), Table("wards"), "inner", on), "urgent")
    with session(public=True) as clinic:
        for asked in (joined, question(Table("visits"))):
            assert clinic.program_rows(asked) is not clinic.program_rows(asked)


def test_each_session_binds_for_itself():
    fewer = POLICY.replace("max_rows = 2", "max_rows = 1")
    asked = question(Table("visits"))
    with session() as clinic, session(limits=fewer) as other:
        assert clinic.program_rows(asked).contributions.most_rows(None) == 2
        assert other.program_rows(asked).contributions.most_rows(None) == 1


def test_many_questions_are_forgotten_again():
    with session() as clinic:
        for limit in range(200):
            clinic.program_rows(
                question(Filter(Table("visits"), Call("=", (Column("ward"), Literal(limit)))))
            )
        assert len(clinic._pipeline._bound) <= 64
