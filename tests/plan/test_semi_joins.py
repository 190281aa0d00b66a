"""EXISTS, IN and tables behind commas: what is counted is what SQL counts, and mutants are caught.

The truth is DuckDB's own answer to the same text, about tables without the rows of nobody: those
whose unit is NULL, and those that point to no unit.  Limits are so wide that they cut nothing.
"""

# ruff: noqa: S608 (texts to be read, and to be asked of tables made here)

import atexit
from dataclasses import replace
from fractions import Fraction
from functools import cache

import duckdb
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from discreet.accounting import Leaf
from discreet.engines.engine import HashOrder, Performance
from discreet.errors import NotPerUnit, UnknownName, WrongType
from discreet.plan.binding.names import written_number
from discreet.plan.policy.policy import read_policy
from discreet.query import read, read_expression
from discreet.query.canonical import canonical
from discreet.query.expressions import Call, Column
from discreet.query.relations import Join, SemiJoin, descend
from discreet.requests.table_schema import Schema
from tests.engines.answers import flat
from tests.engines.edges import ARROW, filled, opened
from tests.plan import clinic
from tests.plan.clinic import PEOPLE, TYPES, answers, table, without
from tests.reference.engine import Reference
from tests.reference.relations import rows_of

POLICY = read_policy(
    clinic.TEXT.replace("max_groups = 2", "max_groups = 99").replace(
        "max_rows = 3", "max_rows = 99"
    )
)
ENGINE = opened(TYPES, performance=Performance(threads=1))
atexit.register(ENGINE.close)
ASKED = "SELECT COUNT(*) AS n, COUNT(DISTINCT v.patient) AS p FROM"
QUESTIONS = [
    "visits v, bills b WHERE b.visit = v.visit",
    "visits v CROSS JOIN wards w WHERE v.ward = w.ward AND w.beds > 1",
    "wards w, drugs d, visits v WHERE d.drug = w.ward AND v.patient = d.person AND v.age > w.beds",
    "wards w, wards x, visits v WHERE w.ward = x.ward AND x.ward = v.ward",
    "drugs d JOIN visits v ON d.person = v.patient, wards w WHERE d.drug = w.ward",
    "visits v, wards w WHERE (v.ward = w.ward AND w.beds = 1) OR (v.ward = w.ward AND v.age > 3)",
    "visits v, wards w WHERE v.stay < w.beds OR v.ward = w.ward",
    "visits v WHERE v.ward IN (SELECT ward FROM wards WHERE beds > 1)",
    "visits v WHERE v.ward NOT IN (SELECT ward FROM wards WHERE beds > 1)",
    "visits v WHERE NOT v.city IN (SELECT ward FROM wards WHERE wards.ward = v.ward)",
    "visits v WHERE v.age NOT IN (SELECT beds FROM wards WHERE ward = 'no such')",
    "visits v WHERE v.stay IN (SELECT beds FROM wards UNION ALL SELECT beds + 1 FROM wards)",
    "visits v WHERE EXISTS (SELECT * FROM wards WHERE beds > v.stay)",
    "visits v WHERE NOT EXISTS (SELECT 1 FROM wards w WHERE w.ward = v.ward AND beds < age)",
    "visits v WHERE EXISTS (SELECT 1 FROM drugs d WHERE d.person = v.patient AND d.drug <> v.ward)",
    "visits v WHERE NOT EXISTS (SELECT 1 FROM drugs WHERE person = patient AND drug = ward)",
    "visits v WHERE v.patient IN (SELECT person FROM drugs WHERE drug IS NOT NULL)",
    "visits v WHERE v.patient NOT IN (SELECT person FROM drugs WHERE drug = 'A')",
    "visits v WHERE v.visit IN (SELECT DISTINCT visit FROM bills)",
    "visits v WHERE v.visit IN (SELECT visit FROM bills GROUP BY visit HAVING COUNT(*) > 1)",
    "visits v WHERE v.visit IS NOT NULL AND v.visit NOT IN (SELECT visit FROM bills)",
    (
        "visits v WHERE EXISTS (SELECT 1 FROM visits w WHERE w.patient = v.patient AND "
        "w.visit <> v.visit AND w.age > v.age) AND v.paid"
    ),
    (
        "visits v, wards w WHERE v.ward = w.ward AND NOT EXISTS "
        "(SELECT 1 FROM bills b, wards x WHERE b.visit = v.visit AND x.ward = w.ward AND beds > 1)"
    ),
    (
        "visits v WHERE v.patient IN (SELECT person FROM drugs d WHERE d.drug IN "
        "(SELECT ward FROM wards WHERE beds < 2))"
    ),
    "visits v WHERE v.age > (SELECT AVG(beds) + 1 FROM wards)",
    "visits v WHERE v.stay < (SELECT MAX(beds) FROM wards w WHERE w.ward = v.ward) OR v.paid",
    "visits v WHERE v.age >= (SELECT AVG(w.age) FROM visits w WHERE w.patient = v.patient)",
    "visits v WHERE (SELECT COUNT(*) FROM bills b WHERE b.visit = v.visit) < 2",
    (
        "visits v, wards w WHERE v.ward = w.ward AND beds - 1 < "
        "(SELECT COUNT(drug) FROM drugs, wards x WHERE person = patient AND drug = x.ward)"
    ),
    (
        "visits v WHERE v.patient IN (SELECT person FROM drugs d WHERE d.dose > "
        "(SELECT MIN(beds) FROM wards WHERE ward = d.drug))"
    ),
    "(SELECT DISTINCT visit, patient FROM visits) AS v, bills b WHERE v.visit = b.visit",
]
MIXED = [None, "A", "B", "C", "D"]
WHOLE = st.sampled_from([None, 0, 1, 2, 3])


PUBLIC = [
    [{"ward": "A", "beds": 1}, {"ward": "B", "beds": 2}, {"ward": "D", "beds": None}],
    [{"ward": "B", "beds": 2}, {"ward": "C", "beds": 2}, {"ward": None, "beds": 3}],
    [],
]
"""Public tables: with a NULL beside the key, with one in it and a value twice, and empty."""


@st.composite
def databases(draw):
    """Draw tables in which much is NULL and much is equal."""
    visits = draw(
        table(
            6,
            patient=st.sampled_from([None, *PEOPLE]),
            ward=st.sampled_from(MIXED),
            city=st.sampled_from(MIXED),
            age=WHOLE,
            stay=WHOLE,
            paid=st.sampled_from([None, True, False]),
        )
    )
    rest = dict.fromkeys(TYPES["visits"])
    return {
        "visits": [{**rest, **row, "visit": at} for at, row in enumerate(visits)],
        "drugs": draw(
            table(
                4,
                person=st.sampled_from([None, *PEOPLE]),
                drug=st.sampled_from(MIXED),
                dose=st.just(1.0),
            )
        ),
        "bills": draw(table(4, visit=st.sampled_from([None, 0, 1, 2, 3, 9]), sum=st.just(1.0))),
        "wards": PUBLIC[draw(st.sampled_from(range(len(PUBLIC))))],
    }


def of_somebody(tables):
    """Leave out rows that belong to nobody."""
    visits = [row for row in tables["visits"] if row["patient"] is not None]
    there = {row["visit"] for row in visits}
    return {
        "visits": visits,
        "drugs": [row for row in tables["drugs"] if row["person"] is not None],
        "bills": [row for row in tables["bills"] if row["visit"] in there],
        "wards": tables["wards"],
    }


TRUTH = duckdb.connect(config={"threads": 1})
atexit.register(TRUTH.close)


def register(tables):
    """Tell DuckDB itself about the tables."""
    for name, types in TYPES.items():
        form = pa.schema([(column, ARROW[kind]) for column, kind in types.items()])
        TRUTH.register(name, pa.Table.from_pylist(tables[name], schema=form))


def truth(text):
    """Ask DuckDB itself about the tables that it was told of."""
    return TRUTH.execute(text).fetchall()[0]


@cache
def planned(text, public=0):
    """Plan a question about the clinic with one of the public tables."""

    def public_rows(relation):
        return [tuple(row.values()) for row in rows_of(relation, {"wards": PUBLIC[public]})]

    return clinic.plan(
        read(text),
        schema=Schema(POLICY.tables),
        policy=POLICY,
        unit=POLICY.unit,
        public_rows=public_rows,
        epsilon=1,
        delta=1e-9,
    )


@pytest.mark.theorem("unit-local")
@settings(max_examples=12, suppress_health_check=list(HealthCheck))
@given(tables=databases())
def test_what_is_counted_is_what_sql_counts(tables):
    """All questions are asked about the same tables, by the reference and by DuckDB."""
    filled(ENGINE, tables, TYPES)
    register(of_somebody(tables))
    for text in QUESTIONS:
        plan = planned(f"{ASKED} {text}", PUBLIC.index(tables["wards"]))
        order = HashOrder(salt=1, portable=True)
        raw = Reference(tables, TYPES).run(plan.request, order=order)
        found = {name: int(values[0]) for name, values in raw.totals.items()}
        count, people = truth(f"{ASKED} {text}")
        assert int(raw.units[0]) == people, text
        assert found["count"] == count, (text, found)
        assert flat(ENGINE.run(plan.request, order=order)) == flat(raw), text


def claims(plan):
    """Return how far each total may move, as the plan is priced."""
    return {node.name: node.added for node in plan.tree.walk() if isinstance(node, Leaf)}


PERSONAL = (
    f"{ASKED} visits v WHERE NOT EXISTS "
    "(SELECT 1 FROM drugs d WHERE d.person = v.patient AND d.drug = v.ward)"
)


def swapped(plan, on):
    """Return the same plan with another condition of its semi join."""

    def changed(node):
        below = [changed(child) for child in node.children()]
        node = node.rebuilt(below)
        return replace(node, on=on(node)) if isinstance(node, SemiJoin) else node

    return replace(plan.request, relation=changed(plan.request.relation))


@pytest.mark.parametrize("name", ["none", "not the unit", "nothing"])
def test_semi_joins_that_look_at_others_are_caught(name):
    """One person with drugs of all wards takes the visits of others away, in broken twins alone."""
    rest = dict.fromkeys(TYPES["visits"])
    tables = {
        "visits": [{**rest, "visit": at, "patient": 2, "ward": "A"} for at in range(40)]
        + [{**rest, "visit": 40 + at, "patient": 3, "ward": "B"} for at in range(40)],
        "drugs": [{"person": 1, "drug": ward, "dose": 1.0} for ward in "AB"],
        "bills": [],
        "wards": clinic.WARDS,
    }
    plan = clinic.planned(PERSONAL)
    conditions = {
        "none": lambda node: node.on,
        "not the unit": lambda node: Call("AND", node.on.arguments[1:] * 2),
        "nothing": lambda _: None,
    }
    request = swapped(plan, conditions[name])
    here, there = answers(request, tables)[0], answers(request, without(tables, 1))[0]
    moved = {
        each: abs(sum(here[each].values()) - sum(there[each].values())) for each in claims(plan)
    }
    within = all(step <= claims(plan)[each] for each, step in moved.items())
    assert within == (name == "none")
    assert moved["count"] == (0 if name == "none" else 6)  # three rows of each of the others


def test_an_anti_join_that_forgets_null_is_caught():
    """NOT IN without its two joins for NULL keeps rows that SQL leaves out."""
    text = f"{ASKED} visits v WHERE v.ward NOT IN (SELECT ward FROM wards)"
    rest = dict.fromkeys(TYPES["visits"])
    tables = {
        "visits": [{**rest, "visit": 0, "patient": 1, "ward": "A"}],
        "drugs": [],
        "bills": [],
        "wards": PUBLIC[1],
    }
    plan = planned(text, 1)
    register(tables)
    assert truth(text)[0] == 0
    assert answers(plan.request, tables)[0]["units"] == {(): 0}
    assert sum(isinstance(node, SemiJoin) for node in descend(plan.request.relation)) == 3
    found = plan.request.relation
    while not (isinstance(found, SemiJoin) and _equal(found.on)):
        found = found.left
    forgetful = replace(plan.request, relation=found)
    assert answers(forgetful, tables)[0]["units"] == {(): 1}


def _equal(on):
    return isinstance(on, Call) and on.function == "="


def test_names_inside_come_before_names_outside():
    text = f"{ASKED} visits v WHERE EXISTS (SELECT 1 FROM visits w WHERE w.patient = v.patient AND "
    inner = planned(f"{text} age > 3)")
    (join,) = (node for node in descend(inner.request.relation) if isinstance(node, SemiJoin))
    assert isinstance(join.on, Call)
    assert {node.name for node in join.on.arguments} == {"patient", "patient_2"}
    with pytest.raises(UnknownName):
        planned(f"{text} x.age > 3)")
    with pytest.raises(WrongType):
        planned(f"{ASKED} visits v WHERE v.ward IN (SELECT beds FROM wards)")


@pytest.mark.parametrize(
    ("text", "do"),
    [
        ("ward IN (SELECT drug FROM drugs)", "compare them with WHERE v.patient = drugs.person in"),
        ("EXISTS (SELECT 1 FROM bills WHERE sum > v.cost)", "compare them with WHERE v.visit = b"),
        ("visit NOT IN (SELECT visit FROM bills)", "write NOT EXISTS with x = y inside, or add"),
    ],
)
def test_a_subquery_about_others_says_what_to_write(text, do):
    with pytest.raises(NotPerUnit) as error:
        planned(f"{ASKED} visits v WHERE {text}")
    assert error.value.do.startswith(do)


def test_tables_behind_commas_are_joined_by_their_keys():
    """The chain begins where others are found by keys: nothing is multiplied, in any order."""
    text = f"{ASKED} wards w, visits v, bills b WHERE b.visit = v.visit AND v.ward = w.ward"
    plan = planned(text)
    joins = [node for node in descend(plan.request.relation) if isinstance(node, Join)]
    assert {join.kind for join in joins} == {"inner"}


def test_the_same_question_in_other_letters_has_one_text():
    one = "SELECT COUNT(*) AS n FROM visits v WHERE EXISTS (SELECT 1 FROM bills b WHERE b.k = v.k)"
    two = "select count(*) as n from Visits x where exists (select * from Bills y where x.k = y.k)"
    three = one.replace("EXISTS", "NOT EXISTS")
    assert canonical(read(one)) == canonical(read(two))
    assert canonical(read(one)) != canonical(read(three))


def test_written_numbers_are_added_exactly():
    assert written_number(read_expression("0.06 + 0.01")) == Fraction("0.07")
    assert written_number(read_expression("2 * (0.5 - 1)")) == -1
    assert written_number(read_expression("1 / 3")) is None
    assert written_number(Column("a")) is None
