"""Plans with wrong boxes: the inference is replaced, and people outside the box must not count."""

# ruff: noqa: DTZ001 (moments have no time zone here)

import math
import random
from datetime import date, datetime
from fractions import Fraction

import pyarrow as pa

from discreet.accounting import Box
from discreet.accounting.values import (
    at_least,
    below,
    equals,
    is_not_null,
    is_null,
    one_of,
)
from discreet.engines.engine import HashOrder
from discreet.errors import UnsupportedSQL
from discreet.plan.binding.scope import scope_name
from discreet.plan.policy.policy import read_policy
from discreet.planner import plan
from discreet.query.sql.parse import read
from discreet.query.types import Type
from discreet.requests.table_schema import Schema
from tests.reference.casts import read as read_value

ORDER = HashOrder(salt=3, portable=True)
SHARED = """
born = {type = "integer", constant = true}
weight = {type = "float", constant = true}
sex = {type = "text", constant = true}
ill = {type = "boolean", constant = true}
day = {type = "date", constant = true}
seen = {type = "timestamp", constant = true}
"""
POLICY = read_policy(
    f"""
format = 1
unit = "patient"
[limits]
max_groups = 2
max_rows = 3
[tables.visits]
key = ["visit"]
[tables.visits.columns]
patient = {{type = "integer"}}
visit = {{type = "integer"}}
ward = {{type = "text", categories = ["A", "B"]}}
cost = {{type = "float", low = 0, high = 100}}
stay = {{type = "integer"}}
{SHARED}
[tables.drugs]
unit = ["person"]
[tables.drugs.columns]
person = {{type = "integer"}}
dose = {{type = "integer", low = 0, high = 9}}
[tables.bills]
link = {{column = "visit", parent = "visits", key = "visit"}}
[tables.bills.columns]
visit = {{type = "integer"}}
sum = {{type = "integer", low = 0, high = 10}}
"""
)
BY_ROW = read_policy(
    f"""
format = 1
unit = "row"
[tables.visits.columns]
patient = {{type = "integer"}}
cost = {{type = "float", low = 0, high = 100}}
{SHARED}
"""
)
TYPES = {
    table.name: {column.name: column.type for column in table.columns} for table in POLICY.tables
}
ARROW = {
    Type.INTEGER: pa.int64(),
    Type.FLOAT: pa.float64(),
    Type.TEXT: pa.string(),
    Type.BOOLEAN: pa.bool_(),
    Type.DATE: pa.date32(),
    Type.TIMESTAMP: pa.timestamp("us"),
}
SHARED_COLUMNS = ("born", "weight", "sex", "ill", "day", "seen")
PEOPLE = {
    1: (1980, 70.5, "f", True, date(2020, 1, 1), datetime(2020, 1, 1, 12)),
    2: (1980, math.nan, "m", False, date(2020, 1, 2), datetime(2020, 1, 1, 12, 0, 0, 1)),
    3: (None, None, None, None, None, None),
    4: (1990, math.inf, "", True, date(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59, 999999)),
    5: (2**53 + 1, -0.0, "F", None, date(9999, 12, 31), None),
    6: (2**53, 0.1, "f ", False, None, datetime(1, 1, 1)),
}
QUESTIONS = (
    "SELECT COUNT(*) AS n, SUM(cost) AS s FROM visits WHERE stay >= 0",
    "SELECT ward, COUNT(DISTINCT patient) AS n FROM visits WHERE stay >= 0 GROUP BY ward",
    "SELECT COUNT(*) AS n FROM visits v JOIN drugs d ON v.patient = d.person WHERE v.stay >= 0",
    "SELECT SUM(b.sum) AS s FROM bills b WHERE b.sum >= 0",
    (
        "SELECT COUNT(*) AS n FROM (SELECT patient, born, MAX(cost) AS c FROM visits "
        "GROUP BY patient, born) AS t WHERE c >= 0"
    ),
    "SELECT APPROX_QUANTILES(cost, 2) AS q FROM visits WHERE stay >= 0",
)


def clinic():
    """Every person has two visits, two drugs and a bill for each visit."""
    visits = [
        {
            "patient": who,
            "visit": 2 * who + again,
            "ward": "AB"[(who + again) % 2],
            "cost": 10.0 * who + again,
            "stay": again,
            **dict(zip(SHARED_COLUMNS, shared, strict=True)),
        }
        for who, shared in PEOPLE.items()
        for again in range(2)
    ]
    drugs = [{"person": who, "dose": who + again} for who in PEOPLE for again in range(2)]
    bills = [{"visit": row["visit"], "sum": row["patient"]} for row in visits]
    return {"visits": visits, "drugs": drugs, "bills": bills}


def without(tables, people):
    """Take people out, with all that is theirs."""
    gone = {row["visit"] for row in tables["visits"] if row["patient"] in people}
    return {
        "visits": [row for row in tables["visits"] if row["patient"] not in people],
        "drugs": [row for row in tables["drugs"] if row["person"] not in people],
        "bills": [row for row in tables["bills"] if row["visit"] not in gone],
    }


def arrow(tables):
    """Return the tables as Arrow tables."""
    return {
        name: pa.table(
            {
                column: pa.array([row[column] for row in rows], ARROW[kind])
                for column, kind in TYPES[name].items()
            }
        )
        for name, rows in tables.items()
    }


def known_as(column, policy=POLICY):
    """Return the name of a column of visits in a box."""
    schema = Schema(policy.tables)
    table = schema.table("visits")
    return scope_name(schema, table, table.column(column), policy.unit.columns)


def record(row, policy=POLICY):
    """Return what a row says of its unit, by the names of a box and as engines read it."""
    columns = ("patient", *SHARED_COLUMNS)
    return {
        known_as(column, policy): exact(read_value(row[column], TYPES["visits"][column]))
        for column in columns
    }


def exact(value):
    """Return a value as sets of values know it: a float is the number that it holds."""
    return Fraction(value) if isinstance(value, float) else value


def outside(box, tables):
    """Return the people who do not lie in a box."""
    rows = {row["patient"]: record(row) for row in tables["visits"]}
    return {who for who, known in rows.items() if known not in box}


def boxes(seed, count, policy=POLICY):
    """Return wrong boxes: some that fit no question, and random ones."""
    found = [
        {"patient": equals(1)},
        {"born": is_null()},
        {"weight": below(1)},
        {"sex": ~one_of("f", "")},
        {"ill": equals(True), "day": at_least(date(2019, 1, 1))},
        {"seen": is_not_null(), "patient": below(4)},
    ]
    chance = random.Random(seed)  # noqa: S311  the same boxes each time
    for _ in range(count):
        columns = chance.sample(("patient", *SHARED_COLUMNS), chance.choice([1, 1, 2]))
        found.append({column: drawn_values(chance, column) for column in columns})
    return [
        Box({known_as(name, policy): values for name, values in each.items()}) for each in found
    ]


def drawn_values(chance, column):
    """Draw a set of values, with ends that somebody has."""
    kind = TYPES["visits"][column]
    held = [row[column] for row in clinic()["visits"]]
    ends = [value for value in held if read_value(value, kind) is not None]
    end = exact(chance.choice(ends))
    makers = [equals, one_of] if kind is Type.TEXT else [equals, at_least, below]
    found = chance.choice(makers)(end)
    found = ~found if chance.random() < 0.3 else found
    return found | is_null() if chance.random() < 0.3 else found


def planned(question, *, policy=POLICY, **price):
    """Plan a question."""
    return plan(
        read(question),
        schema=Schema(policy.tables),
        policy=policy,
        unit=policy.unit,
        public_rows=list,
        **(price or {"epsilon": 1, "delta": "1e-9"}),
    )


def planted(monkeypatch, box, question, **more):
    """Plan a question while every condition is held to say that the box is meant.

    None stands for a box that is refused, because no value could lie in it.
    """
    with monkeypatch.context() as patch:
        patch.setattr("discreet.plan.binding.binder.scope_box", lambda *_: box)
        try:
            return planned(question, **more)
        except UnsupportedSQL as error:  # nothing lies before the first moment
            if "nobody" not in error.what:
                raise
            return None
