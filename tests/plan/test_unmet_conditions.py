"""A condition that no declared value meets is named in the plan, before anything is paid."""

import pytest

from discreet.plan.policy.policy import read_policy
from discreet.planner import plan
from discreet.query.sql.parse import read
from discreet.requests.table_schema import Schema

POLICY = read_policy("""
format = 1
unit = "patient"
[limits]
max_rows = 5
[tables.visits.columns]
patient = { type = "integer" }
ward = { type = "text", categories = ["A", "B", "C"] }
floor = { type = "integer", categories = [1, 2] }
cost = { type = "float", low = 0, high = 900, nullable = false }
age = { type = "integer", low = 0, high = 110 }
note = { type = "text" }
""")


def warned(where):
    question = read(f"SELECT COUNT(*) AS n FROM visits WHERE {where}")  # noqa: S608
    return plan(
        question,
        schema=Schema(POLICY.tables),
        policy=POLICY,
        unit=POLICY.unit,
        public_rows=list,
        epsilon=1,
    )


@pytest.mark.parametrize(
    ("where", "named"),
    [
        ("ward = 'a'", ["ward"]),
        ("ward IN ('D', 'a') AND age > 5", ["ward"]),
        ("ward IS NULL", ["ward"]),
        ("floor > 2", ["floor"]),
        ("cost > 900", ["cost"]),
        ("cost BETWEEN -5 AND -1", ["cost"]),
        ("cost < 0 AND ward = 'x'", ["cost", "ward"]),
        ("age > 110", ["age"]),
        ("cost > 500 AND NOT cost <= 950", ["cost"]),
        ("ward = 'A'", []),
        ("ward = 'a' OR ward = 'B'", []),
        ("ward <> 'A'", []),
        ("age IS NULL", []),
        ("cost >= 900", []),
        ("cost > -5", []),
        ("floor = 1 AND note = 'x'", []),
    ],
)
def test_conditions_that_no_declared_value_meets_are_named(where, named):
    found = warned(where)
    assert [each.split()[4] for each in sorted(found.warnings)] == named
    assert ("WARNING" in str(found)) is bool(named)


def test_the_warning_says_what_is_declared():
    (ward,) = warned("ward = 'a'").warnings
    assert (
        ward == "no declared value of ward meets the conditions: its categories are 'A', 'B', 'C'"
    )
    (cost,) = warned("cost > 1000").warnings
    assert cost.endswith("its bounds are 0 and 900")


def test_a_warning_changes_nothing_else():
    assert warned("ward = 'a'").price == warned("ward = 'A'").price
    assert warned("ward = 'a'").digest != warned("ward = 'A'").digest
