"""One person is one unit, in all tables: units have one normal form, or are refused."""

import duckdb
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

import discreet as dp
from discreet.engines.engine import HashOrder
from discreet.errors import BadPolicy
from discreet.plan.policy.policy import read_policy
from discreet.query.types import Type
from discreet.session.schemas import schema_of
from tests.reference.engine import Reference
from tests.session.test_scope_names import TOP, ask, spent

ONE = "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"
TWO = "b0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"
UUID = TOP.replace("[budget]", 'unit_form = "uuid"\n[budget]')
EXACT = {"epsilon": 10**20}
BOTH = """SELECT COUNT(DISTINCT v.patient) AS n FROM visits v JOIN bills b
ON v.patient = b.patient"""
UNITED = """SELECT COUNT(DISTINCT patient) AS n FROM (
SELECT patient FROM visits UNION ALL SELECT patient FROM bills) AS t"""


def tables(one, other):
    return {
        "visits": pa.table({"patient": one}),
        "bills": pa.table({"patient": other}),
    }


def counted(sources, policy, question=UNITED):
    with dp.open(sources, policy=policy, test_mode=True) as session:
        return session.ask(question, **EXACT).rows()[0]["n"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ([7], ["007"]),
        (["7"], [7]),
        ([True], [1]),
        (pa.array([None], pa.date32()), ["1980-01-01"]),
    ],
)
def test_units_of_two_types_are_refused(one, other):
    with pytest.raises(BadPolicy, match="unit_form"):
        dp.open(tables(one, other), policy=TOP, test_mode=True)


def test_a_number_read_as_text_is_not_the_text_of_another_table():
    """7 and '007' are one person: to read both as text makes two of them."""
    rules = TOP + '[tables.visits.columns]\npatient = {type = "text"}\n'
    with pytest.raises(BadPolicy, match="unit_form"):
        dp.open(tables([7], ["007"]), policy=rules, test_mode=True)
    whole = TOP.replace("[budget]", 'unit_form = "integer"\n[budget]')
    assert counted(tables([7], ["007"]), whole) == 1


def test_a_declared_type_that_is_its_own_normal_form_is_enough():
    rules = TOP + '[tables.bills.columns]\npatient = {type = "integer"}\n'
    assert counted(tables([7], ["007"]), rules) == 1


@pytest.mark.parametrize("form", ["text", "uuid", "integer"])
def test_a_form_that_does_not_follow_is_refused(form):
    values = {"text": [7], "uuid": [7], "integer": pa.array([None], pa.date32())}[form]
    rules = TOP.replace("[budget]", f'unit_form = "{form}"\n[budget]')
    with pytest.raises(BadPolicy):
        dp.open({"visits": pa.table({"patient": values})}, policy=rules, test_mode=True)


@pytest.mark.parametrize(
    "line",
    [
        'unit_form = "float"',
        "unit_form = 3",
        'unit_form = ["uuid", "uuid"]',
        'unit_form = "uuid"\n[tables.visits.columns.patient]\ntype = "integer"',
        'unit_form = "integer"\n[tables.visits.columns.patient]\ntype = "text"',
    ],
)
def test_a_wrong_form_is_refused(line):
    with pytest.raises(BadPolicy):
        dp.open(
            {"visits": pa.table({"patient": ["7"]})},
            policy=f'format = 1\nunit = "patient"\n{line}\n',
            test_mode=True,
        )


def test_a_policy_with_forms_and_promises_is_written_and_read():
    text = (
        'format = 1\nunit = ["patient", "day"]\nunit_form = ["uuid", "text"]\n'
        '[same]\nsex = ["a.sex", "b.sex"]\n'
        "[tables.a.columns.sex]\ntype = 'text'\nconstant = true\n"
        "[tables.b.columns.sex]\ntype = 'text'\nconstant = true\n"
    )
    policy = read_policy(text)
    assert policy.unit_forms == ("uuid", "text")
    assert policy.same[0].columns == (("a", "sex"), ("b", "sex"))
    assert read_policy(policy.written()) == policy


@pytest.mark.parametrize(
    "lines",
    [
        "x = []",
        "x = ['a.sex', 'a.sex']",
        "x = ['a.sex']\ny = ['a.sex']",
        "x = ['sex']",
        "x = ['a.age']",
        "x = ['a.patient']",
        "x = ['c.sex']",
        "x = 'a.sex'",
    ],
)
def test_a_wrong_promise_is_refused(lines):
    with pytest.raises(BadPolicy):
        read_policy(
            f'format = 1\nunit = "patient"\n[same]\n{lines}\n[tables.a.columns]\n'
            "sex = {type = 'text', constant = true}\nage = {type = 'integer'}\n"
            "patient = {type = 'integer', constant = true}\n"
            "[tables.c]\npublic = true\n[tables.c.columns]\n"
            "sex = {type = 'text', constant = true}\n"
        )


# --- UUIDs ------------------------------------------------------------------------------------


def test_a_uuid_in_upper_case_is_the_same_person():
    mixed = tables([ONE, ONE.upper(), "{" + ONE + "}", "no uuid", None], [ONE.upper(), TWO])
    assert counted(mixed, TOP) == 5  # texts are what they are, unless the policy says more
    assert counted(mixed, UUID) == 2
    assert counted(mixed, UUID, BOTH) == 1


def test_a_stored_uuid_and_a_text_are_alike_only_if_it_is_declared(tmp_path):
    path = tmp_path / "clinic.duckdb"
    with duckdb.connect(str(path)) as database:
        database.execute("CREATE TABLE visits (patient UUID)")
        database.execute("CREATE TABLE bills (patient VARCHAR)")
        database.execute("INSERT INTO visits VALUES (?)", [ONE])
        database.execute("INSERT INTO bills VALUES (?)", [ONE.upper()])
    sources = {"visits": path, "bills": path}
    with pytest.raises(BadPolicy, match="unit_form"):
        dp.open(sources, policy=TOP, test_mode=True)
    assert counted(sources, UUID) == 1


def test_the_reference_reads_uuids_alike():
    rows = [{"patient": each} for each in (ONE, ONE.upper(), TWO.replace("-", ""), "no", None)]
    engine = Reference({"visits": rows}, {"visits": {"patient": Type.TEXT}})
    rules = read_policy(UUID)
    engine.learn_schema(schema_of(rules, rules.unit, engine.tables(), engine.stored()))
    with dp.open(
        {"visits": pa.table({"patient": [row["patient"] for row in rows]})},
        policy=UUID,
        test_mode=True,
    ) as session:
        plan = session.plan("SELECT COUNT(DISTINCT patient) AS n FROM visits", epsilon=1)
        raw = engine.run(plan.request, order=HashOrder(salt=1))
        found = session._engine.run(plan.request, order=HashOrder(salt=1))
    assert {name: list(each) for name, each in raw.totals.items()} == {
        name: list(each) for name, each in found.totals.items()
    }
    assert list(raw.units) == list(found.units)


def test_a_pointer_to_the_unit_has_its_form():
    rules = UUID + (
        '[tables.visits]\nkey = ["patient"]\n'
        '[tables.bills.link]\ncolumn = "payer"\nparent = "visits"\nkey = "patient"\n'
    )
    sources = {
        "visits": pa.table({"patient": [ONE, TWO]}),
        "bills": pa.table({"payer": [ONE.upper(), TWO]}),
    }
    assert counted(sources, rules, "SELECT COUNT(*) AS n FROM bills") == 2


def test_a_spelling_in_another_format_is_no_other_person(tmp_path):
    """Upper case in a CSV file and lower case in Parquet: the same person, charged twice."""
    files = tmp_path / "visits.csv", tmp_path / "visits.parquet"
    pa.csv.write_csv(pa.table({"patient": [ONE.upper()]}), files[0])
    pa.parquet.write_table(pa.table({"patient": [ONE]}), files[1])
    ledger = tmp_path / "clinic.ledger"
    ask(files[0], f"patient = '{ONE.upper()}'", ledger, policy=TOP)
    ask(files[1], f"patient = '{ONE}'", ledger, policy=TOP)
    assert spent(ledger) == 2
    other = tmp_path / "other.ledger"
    for number, file in enumerate(files):  # in one form, people are told apart in all formats
        ask(file, f"patient = '{(ONE, TWO)[number]}'", other, policy=UUID)
    assert spent(other) == 1


def test_texts_of_two_kinds_of_source_need_a_declared_form(tmp_path):
    file = tmp_path / "visits.csv"
    pa.csv.write_csv(pa.table({"patient": ["a"]}), file)
    sources = {"visits": file, "bills": pa.table({"patient": ["a"]})}
    with pytest.raises(BadPolicy, match="unit_form"):
        dp.open(sources, policy=TOP, test_mode=True)
    assert counted(sources, TOP.replace("[budget]", 'unit_form = "text"\n[budget]')) == 1


# --- contradictions and collations ------------------------------------------------------------


@pytest.mark.parametrize(
    ("unit", "own"), [("patient", "visit"), (["patient", "visit"], ["visit", "patient"])]
)
def test_a_table_cannot_contradict_the_unit(unit, own):
    table = pa.table({"patient": [1], "visit": [2]})
    named = own if isinstance(own, list) else [own]
    rules = f"format = 1\nunit = {unit!r}\n[tables.visits]\nunit = {named!r}\n"
    with pytest.raises(BadPolicy, match="names its unit by"):
        dp.open({"visits": table}, policy=rules, test_mode=True)


COLLATED = ["NOCASE", "NOACCENT", "NFC", "NOCASE.NOACCENT"]
ROLES = {
    "unit": "",
    "key": '[tables.t]\npublic = true\nkey = ["x"]\n',
    "pointer": '[tables.t.link]\ncolumn = "x"\nparent = "p"\nkey = "k"\n[tables.p]\n',
    "end": '[tables.p.link]\ncolumn = "k"\nparent = "t"\nkey = "x"\n[tables.t]\n',
}


@pytest.mark.parametrize("collation", COLLATED)
@pytest.mark.parametrize("role", ROLES)
def test_a_collation_that_blurs_people_is_refused(tmp_path, collation, role):
    """Three spellings were three people to us, and one to the database."""
    path = tmp_path / "clinic.duckdb"
    with duckdb.connect(str(path)) as database:
        database.execute(f"CREATE TABLE t (x VARCHAR COLLATE {collation}, patient VARCHAR)")
        database.execute(
            f"CREATE TABLE p (k VARCHAR, patient VARCHAR, n VARCHAR COLLATE {collation})"
        )
        database.execute("INSERT INTO t VALUES ('Ana', 'a'), ('ana', 'a'), ('ANA', 'a')")
    unit = "x" if role == "unit" else "patient"
    rules = f'format = 1\nunit = "{unit}"\n{ROLES[role]}'
    sources = {"t": path} if role == "unit" else {"t": path, "p": path}
    with pytest.raises(BadPolicy, match="collation"):
        dp.open(sources, policy=rules, test_mode=True)


def test_a_collation_of_other_columns_is_no_matter(tmp_path):
    path = tmp_path / "clinic.duckdb"
    with duckdb.connect(str(path)) as database:
        database.execute("CREATE TABLE t (patient VARCHAR, name VARCHAR COLLATE NOCASE)")
        database.execute("INSERT INTO t VALUES ('a', 'Ana'), ('b', 'ana')")
    question = "SELECT COUNT(*) AS n FROM t WHERE name = 'ana'"
    assert counted({"t": path}, TOP, question) == 1


def test_moments_that_are_rounded_when_they_are_read_name_nobody():
    """Two people whose moments differ by a nanosecond would be one."""
    for unit, good in (("ns", False), ("us", True), ("ms", True)):
        moments = pa.array([1, 2], pa.timestamp(unit))
        sources = {"t": pa.table({"patient": moments})}
        if good:
            dp.open(sources, policy=TOP, test_mode=True).close()
        else:
            with pytest.raises(BadPolicy, match="rounded"):
                dp.open(sources, policy=TOP, test_mode=True)
