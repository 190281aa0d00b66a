"""Several tables: links, joins with public tables, and groups that public tables list."""

import pyarrow as pa
import pytest

import discreet.session as sessions
from discreet.errors import BadPolicy, NotPerUnit
from discreet.query import read
from discreet.session.public_tables import PublicTables
from tests.session.clinic import EXACT, LINKED, POLICY, bills, visits, wards

RULES = POLICY + LINKED
TABLES = {"visits": visits(), "bills": bills(), "wards": wards()}


@pytest.fixture
def clinic():
    with sessions.open(TABLES, policy=RULES, test_mode=True) as session:
        yield session


def test_rows_of_a_linked_table_belong_to_the_unit_of_their_parent(clinic):
    plan = clinic.plan("SELECT COUNT(*) AS n FROM bills", epsilon=1)
    assert plan.lowered.unit
    assert clinic.ask("SELECT COUNT(*) AS n FROM bills", **EXACT).rows()[0]["n"] == 80
    total = clinic.ask("SELECT SUM(amount) AS total FROM bills", **EXACT).rows()[0]["total"]
    assert total == sum(number % 50 for number in range(80))


def test_a_unit_of_a_linked_table_counts_once():
    tables = {**TABLES, "bills": pa.concat_tables([bills()] * 5)}  # ten bills for each patient
    with sessions.open(tables, policy=RULES, test_mode=True) as session:
        counted = session.ask("SELECT COUNT(*) AS n FROM bills", **EXACT).rows()[0]["n"]
        assert counted == 3 * 40


def test_a_public_table_can_be_joined(clinic):
    asked = (
        "SELECT COUNT(*) AS n FROM visits JOIN wards ON visits.ward = wards.ward WHERE beds >= 15"
    )
    assert clinic.ask(asked, **EXACT).rows()[0]["n"] == 40


def test_a_public_table_lists_groups(clinic):
    asked = (
        "SELECT w.ward, COUNT(patient) AS n FROM visits RIGHT JOIN "
        "(SELECT DISTINCT ward FROM wards) AS w ON visits.ward = w.ward GROUP BY w.ward"
    )
    rows = clinic.ask(asked, **EXACT).rows()
    assert [(row["ward"], row["n"]) for row in rows] == [("A", 40), ("B", 40), ("C", 0), ("D", 0)]


def test_private_tables_are_not_read_as_public_ones(clinic):
    reader = PublicTables(clinic._engine, clinic.schema)
    relation = clinic.plan("SELECT COUNT(*) AS n FROM visits", epsilon=1).lowered.relation
    with pytest.raises(NotPerUnit):
        reader(relation)
    with pytest.raises(Exception, match="E50"):
        reader(read("SELECT COUNT(*) AS n FROM visits").relation)


def test_a_key_of_a_public_table_that_is_none_is_refused():
    twice = {**TABLES, "wards": pa.table({"ward": ["A", "A"], "beds": [1, 2]})}
    with pytest.raises(BadPolicy):
        sessions.open(twice, policy=RULES, test_mode=True)
    nobody = {**TABLES, "wards": pa.table({"ward": ["A", None, None], "beds": [1, 2, 3]})}
    sessions.open(nobody, policy=RULES, test_mode=True).close()  # NULL matches nothing


def test_a_key_that_becomes_one_only_when_it_is_read_is_refused():
    texts = pa.table({"ward": ["7", "07"], "beds": [1, 2]})
    rules = RULES + '[tables.wards.columns.ward]\ntype = "integer"\n'
    with pytest.raises(BadPolicy):
        sessions.open({**TABLES, "wards": texts}, policy=rules, test_mode=True)


def test_a_linked_table_alone_is_refused():
    with pytest.raises(BadPolicy):
        sessions.open({"bills": bills()}, policy=RULES, test_mode=True)


def test_a_table_of_its_own_unit(tmp_path):
    rules = POLICY + '[tables.calls]\nunit = ["caller"]\n'
    calls = pa.table({"caller": [1, 1, 2, None]})
    with sessions.open(
        {"visits": visits(), "calls": calls}, policy=rules, test_mode=True
    ) as session:
        assert session.ask("SELECT COUNT(*) AS n FROM calls", **EXACT).rows()[0]["n"] == 3
