"""Neighbors from a policy: real neighbors, beyond every limit, with every promise kept."""

from ast import literal_eval
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

from discreet.attacks import AuditedQuestion, Batches, neighbors_for, refute
from discreet.attacks.search.visitor_values import beyond_bounds, fresh
from discreet.errors import BadPolicy, OutOfRange, WrongKind
from discreet.plan.policy.policy import read_policy
from discreet.session import open as opened
from discreet.units import person, row

VISITS = """
format = 1
unit = "patient"
relation = "RELATION"
[limits]
max_rows = 3
max_groups = 2
[tables.visits.columns]
patient = { type = "INTEGER", nullable = false }
ward = { type = "TEXT", categories = ["A", "B", "C"] }
sex = { type = "TEXT", categories = ["f", "m"], constant = true }
cost = { type = "FLOAT", low = 0, high = 100 }
day = { type = "DATE" }
"""
LINKED = """
format = 1
unit = "patient"
[limits]
max_rows = 4
[tables.patients]
key = ["patient"]
[tables.patients.columns]
patient = { type = "TEXT" }
age = { type = "INTEGER", low = 0, high = 110 }
[tables.visits]
[tables.visits.columns]
id = { type = "INTEGER" }
patient = { type = "TEXT" }
[tables.drugs]
link = { column = "visit", parent = "visits", key = "id" }
[tables.drugs.columns]
visit = { type = "INTEGER" }
dose = { type = "FLOAT", low = 0, high = 9 }
[tables.wards]
public = true
key = ["ward"]
[tables.wards.columns]
ward = { type = "TEXT", categories = ["A", "B"] }
"""


def made(relation="add_remove"):
    return neighbors_for(VISITS.replace("RELATION", relation))


def rows(table):
    return Counter(tuple(sorted(each.items(), key=str)) for each in map(_text, table.to_pylist()))


def _text(each):
    return {name: repr(value) for name, value in each.items()}


def gone(one, other, name):
    """The rows that one has and the other has not."""
    return [dict(each) for each in (rows(one[name]) - rows(other[name])).elements()]


def patients(differing):
    return {each["patient"] for each in differing}


def test_pairs_differ_in_everything_of_one_person():
    for generator in made():
        for one, other in generator.pairs:
            more = gone(one, other, "visits")
            assert len(patients(more)) == 1, generator
            assert gone(other, one, "visits") == []
            assert patients(more).isdisjoint(
                patients(_text(r) for r in other["visits"].to_pylist())
            )


def test_under_replace_somebody_else_is_there():
    for generator in made("replace"):
        for one, other in generator.pairs:
            people = [len(set(side["visits"]["patient"].to_pylist())) for side in (one, other)]
            assert people[0] == people[1]
            here, there = gone(one, other, "visits"), gone(other, one, "visits")
            assert len(patients(here) | patients(there)) <= 1


def test_with_rows_for_units_one_row_differs():
    policy = VISITS.replace("RELATION", "add_remove").replace('"patient"', '"row"')
    generators = neighbors_for(policy)
    for generator in generators:
        for one, other in generator.pairs:
            assert one["visits"].num_rows == other["visits"].num_rows + 1
    assert not any("more rows" in each.name or "groups" in each.name for each in generators)


def test_every_limit_is_gone_beyond_by_one_and_by_many():
    found = {each.name: each.pairs for each in made()}
    sizes = [len(gone(*pair, "visits")) for pair in found["more rows than max_rows"]]
    assert sizes == [4, 24, 192]
    days = [
        len({each["day"] for each in gone(*pair, "visits")})
        for pair in found["more groups than max_groups, by day"]
    ]
    assert days == [3, 16]
    costs = {
        literal_eval(each["cost"])
        for pair in found["cost beyond its bounds"]
        for each in gone(*pair, "visits")
    }
    assert costs == {101.0, -1.0, 100_100.0, -100_000.0}
    odd = {each["cost"] for pair in found["odd values of cost"] for each in gone(*pair, "visits")}
    assert odd == {"None", "nan", "inf", "-inf"}
    assert {"cost at its bounds", "nobody else is there", "somebody like all others"} <= set(found)


def test_promises_of_the_owner_hold_in_all_tables():
    for generator in made():
        for side in (table for pair in generator.pairs for table in pair):
            sexes = {}
            for each in side["visits"].to_pylist():
                sexes.setdefault(each["patient"], set()).add(each["sex"])
            assert all(len(each) == 1 for each in sexes.values())
    for generator in neighbors_for(LINKED):
        for side in (table for pair in generator.pairs for table in pair):
            keys = side["patients"]["patient"].to_pylist()
            assert len(set(keys)) == len(keys)
            ids = side["visits"]["id"].to_pylist()
            assert len(set(ids)) == len(ids)
            assert set(side["drugs"]["visit"].to_pylist()) <= set(ids)
            assert side["wards"]["ward"].to_pylist() == ["A", "B"]


def test_one_person_has_all_that_differs_in_linked_tables():
    names = set()
    for generator in neighbors_for(LINKED):
        names.add(generator.name)
        for one, other in generator.pairs:
            owners = dict(
                zip(*(one["visits"][c].to_pylist() for c in ("id", "patient")), strict=True)
            )
            people = {literal_eval(each["patient"]) for each in gone(one, other, "visits")}
            people |= {literal_eval(each["patient"]) for each in gone(one, other, "patients")}
            people |= {owners[literal_eval(each["visit"])] for each in gone(one, other, "drugs")}
            assert len(people) == 1
            assert one["wards"] == other["wards"]
    assert {"drugs: more rows than max_rows", "patients: age beyond its bounds"} <= names


def test_a_session_opens_what_is_made():
    policy = VISITS.replace("RELATION", "add_remove")
    for one, other in [generator.pairs[0] for generator in neighbors_for(policy)][:2]:
        for side in (one, other):
            with opened(side, policy=policy, test_mode=True) as session:
                assert session.plan("SELECT COUNT(*) AS n FROM visits", epsilon=1).loss is not None


SQL = "SELECT SUM(cost) AS s FROM visits"


def test_a_question_withstands_all_of_them():
    policy = VISITS.replace("RELATION", "add_remove")
    question = AuditedQuestion(sql=SQL, price={"epsilon": 1}, options={"policy": policy})
    generators = neighbors_for(policy)
    claim = question.loss(generators[0].pairs[0][0])
    assert not refute(question, generators, 1500, claim=claim).violates


@pytest.mark.parametrize(
    ("limit", "where"), [("rows", "more rows"), ("bounds", "cost beyond its bounds")]
)
def test_a_program_that_forgets_a_limit_is_found_by_what_it_forgot(limit, where):
    """Sums of costs, each person at most three rows of 100, unless something is forgotten."""
    rng = np.random.default_rng(7)

    def totalled(data, n):
        spent = {}
        for each in data["visits"].to_pylist():
            cost = each["cost"] if each["cost"] is not None and each["cost"] == each["cost"] else 0
            kept = cost if limit == "bounds" else min(max(cost, 0), 100)
            kept = min(max(kept, -(10**9)), 10**9)
            spent.setdefault(each["patient"], []).append(kept)
        most = 3 if limit == "bounds" else None
        total = sum(sum(costs[:most]) for costs in spent.values())
        return np.rint(total + rng.laplace(scale=300, size=n))

    found = refute(Batches(totalled), made(), 6000, claim=1)
    assert found.violates
    assert where in found.pair or "odd values of cost" in found.pair or "groups" in found.pair


def test_schemas_will_do_and_less_will_not():
    schema = pa.schema({"patient": pa.string(), "n": pa.int32(), "when": pa.timestamp("us")})
    generators = neighbors_for(schema, unit=person("patient"))
    assert generators[0].pairs[0][0]["data"].schema.field("when").type == pa.timestamp("us")
    with pytest.raises(BadPolicy):
        neighbors_for(schema)
    with pytest.raises(OutOfRange):
        neighbors_for(LINKED, people=0)
    with pytest.raises(WrongKind):
        neighbors_for('format = 1\nunit = "row"')
    with pytest.raises(WrongKind):
        neighbors_for(5, unit=row())


def test_values_fit_their_types():
    policy = read_policy(VISITS.replace("RELATION", "add_remove"))
    cost = policy.tables[0].column("cost")
    assert all(isinstance(value, float) for value in beyond_bounds(cost))
    day = policy.tables[0].column("day")
    assert len({fresh(day, number) for number in range(40)}) == 40
