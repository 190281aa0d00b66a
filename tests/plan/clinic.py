"""A clinic to plan for: its policy, random tables, and what one unit moves in them."""

from fractions import Fraction
from functools import cache

import numpy as np
from hypothesis import strategies as st

from discreet.aggregates.mode import ModeChoice
from discreet.engines.engine import HashOrder
from discreet.plan.policy.policy import read_policy
from discreet.plan.pricing.group_sensitivity import QuantileSpan, spans_of
from discreet.planner import plan
from discreet.query.sql.parse import read
from discreet.requests.table_schema import Schema
from tests.reference.engine import Reference
from tests.reference.relations import rows_of

TEXT = """
format = 1
unit = "patient"
[limits]
max_groups = 2
max_rows = 3
ceilings = []
[tables.visits]
key = ["visit"]
[tables.visits.columns]
visit = {type = "integer"}
patient = {type = "integer"}
ward = {type = "text", categories = ["A", "B", "C"], nullable = true}
city = {type = "text"}
sex = {type = "text", categories = ["f", "m"], constant = true}
height = {type = "float", constant = true}
born = {type = "integer", constant = true}
day = {type = "date"}
cost = {type = "float", low = 0, high = 100, nullable = false}
age = {type = "integer", low = 0, high = 110}
stay = {type = "integer", low = -3, high = 10}
note = {type = "float"}
paid = {type = "boolean"}
[tables.drugs]
unit = ["person"]
[tables.drugs.columns]
person = {type = "integer"}
drug = {type = "text"}
dose = {type = "float", low = -1, high = 4}
[tables.bills]
link = {column = "visit", parent = "visits", key = "visit"}
[tables.bills.columns]
visit = {type = "integer"}
sum = {type = "float", low = 0, high = 10}
[tables.wards]
public = true
key = ["ward"]
[tables.wards.columns]
ward = {type = "text"}
beds = {type = "integer", low = 0, high = 50}
"""
POLICY = read_policy(TEXT)
SCHEMA = Schema(POLICY.tables)
TYPES = {each.name: {c.name: c.type for c in each.columns} for each in POLICY.tables}
WARDS = [{"ward": ward, "beds": beds} for ward, beds in (("A", 1), ("B", 2), ("D", 2))]
PEOPLE = (1, 2, 3)
SHARED = {
    1: ("f", 1.5, 1980),
    2: ("m", float("nan"), 1990),
    3: ("x", None, None),
    None: ("f", 2.0, 1),
}

NUMBERS = st.sampled_from([None, 0, 1, 5, 110, 111, -4, 2**62, -(2**63)]) | st.integers(-5, 120)
FLOATS = st.sampled_from(
    [None, 0.0, -0.0, 50.0, 100.0, 1e308, -1e308, float("inf"), float("-inf"), float("nan"), 5e-324]
) | st.floats(-10, 110)


def public_rows(relation):
    """Read the public tables."""
    rows = rows_of(relation, {"wards": WARDS})
    return [tuple(row.values()) for row in rows]


def planned(sql, *, unit=POLICY.unit, policy=POLICY, schema=SCHEMA, **price):
    """Plan a question about the clinic."""
    price = price or {"epsilon": 1, "delta": 1e-9}
    question = read(sql) if isinstance(sql, str) else sql
    return plan(question, schema=schema, policy=policy, unit=unit, public_rows=public_rows, **price)


def table(most, **columns):
    """Draw rows."""
    return st.lists(st.fixed_dictionaries(columns), max_size=most)


@cache
def _rows(people):
    """Say how to draw the rows of three tables; to make that up takes longer than to draw them."""
    who = st.sampled_from([None, *people])
    wards = st.sampled_from([None, "A", "B", "C", "D"])
    visits = table(
        9,
        patient=who,
        ward=wards,
        city=st.sampled_from([None, "x", "y", "z"]),
        day=st.none() | st.dates(),
        cost=FLOATS,
        age=NUMBERS,
        stay=NUMBERS,
        note=FLOATS,
        paid=st.sampled_from([None, True, False]),
    )
    drugs = table(4, person=who, drug=wards, dose=FLOATS)
    return visits, drugs, table(4, visit=st.integers(0, 8), sum=FLOATS)


@st.composite
def databases(draw, people=PEOPLE, visits_shared=1):
    """Draw the tables of a clinic that keeps the promises of its policy, and no others.

    Where several visits share a number, the promise that it belongs to one person is broken.
    """
    of_visits, of_drugs, of_bills = _rows(people)
    visits = draw(of_visits)
    for number, row in enumerate(visits):
        row["visit"] = number // visits_shared
        row["sex"], row["height"], row["born"] = SHARED[row["patient"]]
    return {
        "visits": visits,
        "drugs": draw(of_drugs),
        "bills": draw(of_bills),
        "wards": WARDS,
    }


def without(tables, *people):
    """Take people out, with all that belongs to them and to nobody else."""
    visits = [row for row in tables["visits"] if row["patient"] not in people]
    gone = {row["visit"] for row in tables["visits"]} - {row["visit"] for row in visits}
    return {
        "visits": visits,
        "drugs": [row for row in tables["drugs"] if row["person"] not in people],
        "bills": [row for row in tables["bills"] if row["visit"] not in gone],
        "wards": tables["wards"],
    }


def answers(lowered, tables, salt=0):
    """Compute what is measured, by group: units, totals, and the leaves of histograms."""
    raw = Reference(tables, TYPES).run(lowered, order=HashOrder(salt=salt, portable=True))
    groups = list(zip(*(column.to_pylist() for column in raw.keys), strict=True))
    groups = groups if raw.keys else [()]
    units = {"units": dict(zip(groups, raw.units.tolist(), strict=True))}
    totals = {
        name: dict(zip(groups, values.tolist(), strict=True)) for name, values in raw.totals.items()
    }
    leaves = {name: {} for name in raw.leaves}
    for name, (group, leaf, count) in raw.leaves.items():
        for place, where, rows in zip(group.tolist(), leaf.tolist(), count.tolist(), strict=True):
            leaves[name].setdefault(groups[place], {})[where] = rows
    return units | totals, leaves


def moved(one, other):
    """Return by how much each group that differs has moved."""
    groups = {*one, *other}
    found = {group: one.get(group, 0) - other.get(group, 0) for group in groups}
    return {group: change for group, change in found.items() if change}


def scores(choice, leaves):
    """Return the scores of all leaves of a group, as a choice defines them, and their denominator.

    They are whole numbers of parts, since a thousand fractions take a thousand times as long.
    """
    rows = np.zeros(choice.mechanism.candidates, np.int64)
    for leaf, count in leaves.items():
        rows[leaf] = count
    total = int(rows.sum())
    if isinstance(choice, ModeChoice):
        return 2 * rows - total, 2
    level, parts = choice.level.numerator, choice.level.denominator
    assert parts * (total + abs(choice.offset)) < 2**61
    target = level * total + parts * max(choice.offset, 0)
    rows[0 if choice.offset < 0 else -1] += abs(choice.offset)
    up_to = parts * np.cumsum(rows)
    return np.minimum(target - (up_to - parts * rows), up_to - target), parts


def span_scores(choice, leaves):
    """Return the scores of all spans around every value of a group, and their denominator."""
    rows = np.zeros(choice.leaves, np.int64)
    for leaf, count in leaves.items():
        rows[leaf] = count
    upto = np.concatenate([[0], np.cumsum(rows)])
    near, wide = np.arange(choice.leaves)[:, None], np.array(spans_of(choice.leaves))[None, :]
    below = upto[np.maximum(near - wide, 0)]
    until = upto[np.minimum(near + wide, choice.leaves - 1) + 1]
    level, parts = choice.level.numerator, choice.level.denominator
    depth = np.minimum(level * rows.sum() - parts * below, parts * until - level * rows.sum())
    size = np.maximum(3 * depth, parts * (until - below - rows[:, None]))
    target, largest = 3 * parts * choice.offset, np.iinfo(np.int64).max // 4
    large = np.concatenate([size[:, :-1], np.full((choice.leaves, 1), largest)], axis=1)
    before = np.concatenate([np.full((choice.leaves, 1), -largest), size[:, :-1]], axis=1)
    return -np.maximum(before - target, target - large), 3 * parts


def score_change(choice, one, other):
    """Return the most by which a score differs between the leaves of two groups."""
    of = span_scores if isinstance(choice, QuantileSpan) else scores
    (here, parts), (there, _) = of(choice, one), of(choice, other)
    return Fraction(int(abs(here - there).max()), parts)
