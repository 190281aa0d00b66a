"""A question multiplies the rows of nobody further than its plan says, whatever the tables hold."""

import random
from collections import Counter

import pytest

from discreet.errors import BadPolicy, NotAllowed
from discreet.plan.binding import fan_out
from discreet.plan.binding.binder import Binder
from discreet.plan.binding.fan_out import MOST_FAN_OUT, FanOut, within
from discreet.plan.policy.policy import read_policy
from discreet.query.sql.parse import read_relation
from discreet.requests.table_schema import Schema
from tests.reference.relations import rows_of

POLICY = read_policy("""
format = 1
unit = "p"
[tables.visits]
key = ["visit"]
[tables.visits.columns]
p = {type = "integer"}
visit = {type = "integer"}
x = {type = "integer"}
[tables.notes]
link = {column = "visit", parent = "visits", key = "visit"}
[tables.notes.columns]
visit = {type = "integer"}
n = {type = "integer"}
[tables.areas]
public = true
[tables.areas.columns]
x = {type = "integer"}
y = {type = "integer"}
[tables.wards]
public = true
key = ["x"]
[tables.wards.columns]
x = {type = "integer"}
z = {type = "integer"}
""")
SCHEMA = Schema(POLICY.tables)
LIMIT = 12
RELATIONS = [
    "SELECT p FROM visits",
    "SELECT v.p FROM visits v JOIN wards w ON v.x = w.x",
    "SELECT v.p FROM visits v LEFT JOIN wards w ON v.x = w.x",
    "SELECT v.p FROM visits v JOIN areas a ON v.x = a.x",
    "SELECT v.p FROM areas a JOIN visits v ON v.x > a.x",
    "SELECT v.p FROM visits v CROSS JOIN areas a",
    "SELECT v.p FROM visits v JOIN (SELECT DISTINCT x FROM areas) a ON v.x = a.x",
    "SELECT v.p FROM visits v JOIN visits w ON v.p = w.p",
    "SELECT v.p FROM visits v LEFT JOIN visits w ON v.p = w.p AND v.x < w.x",
    "SELECT v.p FROM visits v JOIN visits w ON v.p = w.p AND v.visit = w.visit",
    "SELECT w.p FROM visits v RIGHT JOIN visits w ON v.p = w.p",
    "SELECT p FROM visits v FULL JOIN visits w USING (p)",
    "SELECT v.p FROM visits v JOIN visits w ON v.p = w.p JOIN visits x ON v.p = x.p",
    "SELECT v.p FROM visits v JOIN visits w ON v.p = w.p JOIN wards a ON v.x = a.x",
    "SELECT n.n FROM notes n",
    "SELECT v.p FROM notes n JOIN visits v ON n.visit = v.visit",
    "SELECT p FROM visits UNION ALL SELECT p FROM visits",
    "SELECT u.p FROM (SELECT p, x FROM visits UNION ALL SELECT p, x FROM visits) u "  # noqa: ISC004
    "JOIN areas v ON u.x = v.x",
    "SELECT p, MAX(x) AS m FROM visits GROUP BY p",
    "SELECT p, ROW_NUMBER() OVER (PARTITION BY p ORDER BY x) AS r FROM visits",
]


def tables(rng, *, most):
    """Return tables that keep no promise: no column is a key."""
    few = range(3)
    visits = [
        {"p": rng.choice(few), "visit": rng.choice(few), "x": rng.choice(few)}
        for _ in range(rng.randrange(most))
    ]
    return {
        "visits": visits,
        "notes": [{"visit": rng.choice(few), "n": at} for at in range(rng.randrange(5))],
        "areas": [{"x": rng.choice(few), "y": at} for at in range(rng.randrange(5))],
        "wards": [{"x": rng.choice(few), "z": at} for at in range(rng.randrange(5))],
    }


def bound(text, public, most=LIMIT):
    """Bind a relation to tables of which some are public."""
    seen = {name: public[name] for name in ("areas", "wards")}

    def public_rows(relation):
        return [tuple(row.values()) for row in rows_of(relation, seen)]

    limit = FanOut(most, public_rows)

    def bind(matches):
        return Binder(SCHEMA, ("p",), fan_out=FanOut(matches, limit.public_rows)).bind(
            read_relation(text)
        )

    return within(most, bind)


def own_rows(data, person):
    """Count the rows of a unit: its own, and those that point to one of them."""
    visits = {row["visit"] for row in data["visits"] if row["p"] == person}
    pointing = sum(row["visit"] in visits for row in data["notes"])
    return sum(row["p"] == person for row in data["visits"]) + pointing


def check_rows(text, seen, data):
    """Every relation of the question has at most so many rows of each unit."""
    found = bound(text, seen)
    assert found.fan_out <= LIMIT
    counts = Counter(
        tuple(row[name] for name in found.unit) for row in rows_of(found.relation, data)
    )
    for (person,), count in counts.items():
        if person is not None:
            assert count <= found.fan_out * own_rows(data, person)
    return found.fan_out


@pytest.mark.theorem("fan-out")
@pytest.mark.parametrize("text", RELATIONS)
def test_nobody_has_more_rows_than_the_plan_says(text):
    rng = random.Random(15)  # noqa: S311
    answered = 0
    for _ in range(60):
        data = tables(rng, most=9)
        try:
            check_rows(text, data, data)
        except NotAllowed:  # said of the question and of public tables
            continue
        answered += 1
    assert answered


@pytest.mark.theorem("fan-out")
@pytest.mark.parametrize("text", RELATIONS)
def test_it_holds_even_if_public_tables_change_after_they_were_counted(text):
    """A planted wrong number of matches costs rows, and multiplies nobody's."""
    rng = random.Random(16)  # noqa: S311
    for _ in range(60):
        seen, data = tables(rng, most=9), tables(rng, most=9)
        data["areas"] *= 4
        data["wards"] *= 4
        try:
            check_rows(text, seen, data)
        except NotAllowed:
            continue


def test_a_twin_that_keeps_all_rows_is_caught(monkeypatch):
    """It believes the number of matches that was counted, and does not enforce it."""
    monkeypatch.setattr(fan_out, "first_rows", lambda side, by, most, fresh: side)
    text = "SELECT v.p FROM visits v JOIN areas a ON v.x = a.x"
    seen = {"visits": [{"p": 1, "visit": 1, "x": 1}], "notes": [], "wards": []}
    seen["areas"] = [{"x": 1, "y": 1}]
    with pytest.raises(AssertionError):
        check_rows(text, seen, {**seen, "areas": [{"x": 1, "y": at} for at in range(4)]})


def test_a_declared_key_is_met_once_even_if_it_is_none():
    text = "SELECT v.p FROM visits v JOIN wards w ON v.x = w.x"
    data = {"visits": [{"p": 1, "visit": 1, "x": 1}], "notes": [], "areas": []}
    data["wards"] = [{"x": 1, "z": at} for at in range(7)]
    found = bound(text, data)
    assert found.fan_out == 1
    assert len(rows_of(found.relation, data)) == 1


def test_several_joins_share_the_limit():
    """A row meets as many others as the whole question allows, alike on every engine."""
    one = "SELECT v.p FROM visits v JOIN visits w ON v.p = w.p"
    none = {"areas": [], "wards": []}
    assert bound(one, none, most=100).fan_out == 100
    assert bound(f"{one} JOIN visits x ON v.p = x.p", none, most=100).fan_out == 10 * 10
    three = f"{one} JOIN visits x ON v.p = x.p JOIN visits y ON v.p = y.p"
    assert bound(three, none, most=100).fan_out == 4**3


def test_the_side_that_a_key_tells_apart_is_the_one_that_is_limited():
    """So that neither order of two tables loses rows, as long as the key is one."""
    data = {"notes": [], "areas": [], "wards": []}
    data["visits"] = [{"p": 1, "visit": 1, "x": at} for at in range(30)]
    keyed = "(SELECT p, MAX(x) AS m FROM visits GROUP BY p) k"
    for sides in (f"visits v JOIN {keyed}", f"{keyed} JOIN visits v"):
        found = bound(f"SELECT v.x FROM {sides} ON v.p = k.p", data)  # noqa: S608
        assert found.fan_out == 1
        assert len(rows_of(found.relation, data)) == 30


@pytest.mark.parametrize("limit", [0, -1, True, 1.5, "many"])
def test_a_limit_is_a_whole_number(limit):
    text = f'"{limit}"' if isinstance(limit, str) else str(limit).lower()
    with pytest.raises(BadPolicy):
        read_policy(f"format = 1\n[limits]\nmax_fan_out = {text}")


def test_the_policy_names_the_limit():
    assert read_policy("format = 1").limits.max_fan_out == MOST_FAN_OUT
    policy = read_policy("format = 1\n[limits]\nmax_fan_out = 7")
    assert read_policy(policy.written()).limits.max_fan_out == 7
