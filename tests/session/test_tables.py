"""Several tables: links, joins with public tables, and groups that public tables list."""

import pyarrow as pa
import pytest

import discreet.session as sessions
from discreet.errors import BadPolicy, NotPerUnit, QuestionError
from discreet.query import read
from discreet.session.public_tables import PublicTableReader
from tests.session.clinic import EXACT, LINKED, POLICY, bills, visits, wards

RULES = POLICY + LINKED
TABLES = {"visits": visits(), "bills": bills(), "wards": wards()}


@pytest.fixture
def clinic():
    with sessions.open(TABLES, policy=RULES, test_mode=True) as session:
        yield session


def test_rows_of_a_linked_table_belong_to_the_unit_of_their_parent(clinic):
    plan = clinic.plan("SELECT COUNT(*) AS n FROM bills", epsilon=1)
    assert plan.request.unit
    assert clinic.ask("SELECT COUNT(*) AS n FROM bills", **EXACT).rows()[0]["n"] == 80
    total = clinic.ask("SELECT SUM(amount) AS total FROM bills", **EXACT).rows()[0]["total"]
    assert total == sum(number % 50 for number in range(80))


def test_a_unit_of_a_linked_table_counts_once():
    tables = {**TABLES, "bills": pa.concat_tables([bills()] * 5)}  # ten bills for each patient
    with sessions.open(tables, policy=RULES, test_mode=True) as session:
        counted = session.ask("SELECT COUNT(*) AS n FROM bills", **EXACT).rows()[0]["n"]
        assert counted == 3 * 40


def test_a_linked_table_is_joined_with_its_parent(clinic):
    asked = (
        "SELECT v.ward, COUNT(*) AS n, SUM(b.amount) AS total, COUNT(DISTINCT v.patient) AS p "
        "FROM bills b JOIN visits v ON b.visit = v.visit GROUP BY v.ward"
    )
    rows = clinic.ask(asked, **EXACT).rows()
    found = [(row["ward"], row["n"], row["total"], row["p"]) for row in rows]
    odd = sum(number % 50 for number in range(80) if number // 2 % 2)
    even = sum(number % 50 for number in range(80)) - odd
    assert found == [("A", 40, even, 20), ("B", 40, odd, 20), ("C", 0, 0, 0)]


def test_people_and_what_they_did():
    rules = (
        'format = 1\nunit = "id"\n[limits]\nmax_rows = 9\n[tables.people]\nkey = ["id"]\n'
        "[tables.people.columns]\n"
        'city = {type = "text", categories = ["x", "y"], constant = true}\n'
        "[tables.visits]\n"
        'link = {column = "person", parent = "people", key = "id"}\n'
    )
    people = pa.table({"id": [1, 2, 3], "city": ["x", "x", "y"]})
    seen = pa.table({"person": [1, 1, 2, 3, 4, None]})
    asked = (
        "SELECT p.city, COUNT(*) AS n, COUNT(DISTINCT v.person) AS who FROM visits v "
        "JOIN people p ON v.person = p.id GROUP BY p.city"
    )
    with sessions.open({"people": people, "visits": seen}, policy=rules, test_mode=True) as session:
        rows = session.ask(asked, **EXACT).rows()
        assert [(row["city"], row["n"], row["who"]) for row in rows] == [("x", 3, 2), ("y", 1, 1)]


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


@pytest.mark.theorem("public-listing")
@pytest.mark.parametrize(
    "tables",
    [
        "visits RIGHT JOIN (SELECT DISTINCT ward FROM wards) AS w USING (ward)",
        "visits v RIGHT JOIN (SELECT DISTINCT ward FROM wards) USING (ward)",
        "(SELECT DISTINCT ward FROM wards) AS w LEFT JOIN visits USING (ward)",
        "(SELECT * FROM visits) RIGHT JOIN (SELECT DISTINCT ward FROM wards) AS w USING (ward)",
    ],
)
def test_a_public_table_lists_groups_by_shared_names(clinic, tables):
    asked = f"SELECT ward, COUNT(patient) AS n FROM {tables} GROUP BY ward ORDER BY ward DESC"  # noqa: S608
    rows = clinic.ask(asked, **EXACT).rows()
    assert [(row["ward"], row["n"]) for row in rows] == [("D", 0), ("C", 0), ("B", 40), ("A", 40)]


@pytest.mark.parametrize(
    "asked",
    [
        "SELECT ward, COUNT(*) AS n FROM visits RIGHT JOIN wards USING (ward) GROUP BY ward",
        (
            "SELECT region, COUNT(*) AS n FROM visits RIGHT JOIN (SELECT DISTINCT ward FROM wards) "
            "AS w USING (ward) GROUP BY region"
        ),
        (
            "SELECT ward, COUNT(*) AS n FROM bills b JOIN visits v ON b.visit = v.visit RIGHT JOIN "
            "(SELECT DISTINCT ward FROM wards) AS w USING (ward) GROUP BY ward"
        ),
    ],
)
def test_shared_names_that_list_no_groups_are_refused(clinic, asked):
    with pytest.raises(QuestionError) as error:
        clinic.plan(asked, epsilon=1)
    assert "ON each of them" in error.value.do or "join on each of them" in error.value.do


def test_private_tables_are_not_read_as_public_ones(clinic):
    reader = PublicTableReader(clinic._engine, clinic.schema)
    relation = clinic.plan("SELECT COUNT(*) AS n FROM visits", epsilon=1).request.relation
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


MANY = 2**60
CODES = (
    'format = 1\nunit = "row"\n[tables.codes]\npublic = true\nkey = ["k"]\n'
    '[tables.visits.columns]\nk = {type = "integer"}\nf = {type = "float"}\n'
)


@pytest.mark.theorem("unit-local")
@pytest.mark.parametrize(
    "asked",
    [
        "SELECT COUNT(*) AS n FROM visits v JOIN codes c ON v.f = c.k",
        "SELECT COUNT(*) AS n FROM visits v LEFT JOIN codes c ON c.k = v.f",
        "SELECT COUNT(*) AS n FROM (SELECT f AS k FROM visits) v JOIN codes c USING (k)",
        "SELECT COUNT(*) AS n FROM (SELECT CAST(k AS DOUBLE) x FROM visits) JOIN codes ON x = k",
        "SELECT COUNT(*) AS n FROM visits JOIN (SELECT CAST(k AS DOUBLE) x FROM codes) ON f = x",
    ],
)
def test_a_row_meets_one_row_of_a_key_only_if_values_are_compared_as_they_are(asked):
    """Whole numbers that differ are equal as floats: one row would count a hundred times."""
    tables = {
        "visits": pa.table({"k": [MANY], "f": [float(MANY)]}),
        "codes": pa.table({"k": [MANY + at for at in range(100)]}),
    }
    with sessions.open(tables, policy=CODES, test_mode=True) as session:
        with pytest.raises(NotPerUnit, match="may count a row several times"):
            session.ask(asked, **EXACT)
        alike = "SELECT COUNT(*) AS n FROM visits v JOIN codes c ON v.k = c.k"
        assert session.ask(alike, **EXACT).rows()[0]["n"] == 1


@pytest.mark.theorem("unit-local")
@pytest.mark.parametrize("name", ["patient (unit)", *(f"patient_{n} (unit)" for n in range(2, 9))])
def test_no_name_of_a_column_takes_the_place_of_the_unit(name):
    """Whatever columns are called, five hundred rows of one patient count as one patient's."""
    rows = pa.table({"patient": [1] * 500 + [2], "visit": list(range(501))})
    policy = 'format = 1\nunit = "patient"\n[limits]\nmax_groups = 1\nmax_rows = 1'
    part = f"SELECT visit AS `{name}` FROM visits"  # noqa: S608
    with sessions.open({"visits": rows}, policy=policy, test_mode=True) as session:
        for inner in (part, f"SELECT visit AS `{name}`, patient FROM visits"):  # noqa: S608
            asked = f"SELECT COUNT(*) AS n FROM ({inner} UNION ALL {inner}) u"  # noqa: S608
            assert session.ask(asked, **EXACT).rows()[0]["n"] == 2
