"""What the catalogue says of columns that are not what they seem."""

import pytest

from discreet.engines.postgres.engine import Postgres
from discreet.errors import BadPolicy, SourceChanged
from discreet.query.types import Type
from discreet.requests.table_schema import Schema, TableFacts
from discreet.session import open as opened
from discreet.units import custom

VIRTUAL = (
    "UPDATE pg_attribute SET attgenerated = 'v'"
    " WHERE attrelid = CAST('{}' AS regclass) AND attname = 'age'"
)

POLICY = 'format = 1\nunit = "exact"\n[limits]\nmax_groups = 1\nmax_rows = 1'


@pytest.fixture
def blurred(owner, place):
    """A table with names that the server takes for the same in small and in capital letters."""
    owner(
        "DROP TABLE IF EXISTS blurred",
        "DROP COLLATION IF EXISTS one_case",
        "CREATE COLLATION one_case"
        " (provider = icu, locale = 'und-u-ks-level2', deterministic = false)",
        'CREATE TABLE blurred (id int, "Name" text COLLATE one_case, short varchar(9)'
        ' COLLATE one_case, exact text COLLATE "C")',
        "INSERT INTO blurred VALUES (1, 'Ada', 'A', 'a'), (2, 'ADA', 'a', 'a')",
    )
    yield place("blurred")
    owner("DROP TABLE blurred", "DROP COLLATION one_case")


@pytest.mark.parametrize("unit", [("Name",), ("name",), ("id", "short")])
def test_texts_that_the_server_takes_for_the_same_name_nobody(blurred, unit):
    with pytest.raises(BadPolicy) as caught:
        opened(blurred, unit=custom(name="person", columns=unit), test_mode=True)
    assert "different values are held for equal" in str(caught.value)


ROLES = {
    "unit": "",
    "key": 'public = true\nkey = ["x"]\n',
    "pointer": '[tables.t.link]\ncolumn = "x"\nparent = "p"\nkey = "k"\n[tables.p]\n',
    "end": '[tables.p.link]\ncolumn = "k"\nparent = "t"\nkey = "x"\n',
}


@pytest.mark.parametrize("kind", ["char(5)", "text COLLATE one_case"])
def test_nor_do_they_link_or_tell_rows_apart(blurred, owner, place, kind):
    owner(
        "DROP TABLE IF EXISTS t, p",
        f"CREATE TABLE t (x {kind}, patient text)",
        "CREATE TABLE p (k text, patient text)",
    )
    try:
        for role, lines in ROLES.items():
            unit = "x" if role == "unit" else "patient"
            rules = f'format = 1\nunit = "{unit}"\n[tables.t]\n{lines}'
            tables = {name: place(name) for name in ("tp" if role != "unit" else "t")}
            with pytest.raises(BadPolicy, match="different values are held for equal"):
                opened(tables, policy=rules, test_mode=True)
    finally:
        owner("DROP TABLE t, p")


def test_what_the_server_stores_is_told_with_its_precision(owner, place):
    owner(
        "DROP TABLE IF EXISTS precise",
        "CREATE TABLE precise (a uuid, b numeric(9, 2), c timestamp(3), d char(4), e text)",
    )
    with Postgres({"precise": place("precise")}) as engine:
        found = engine.stored()["precise"]
    owner("DROP TABLE precise")
    assert {name: (value.native, value.form, value.blurred) for name, value in found.items()} == {
        "a": ("uuid", "uuid", False),
        "b": ("numeric(9,2)", None, False),
        "c": ("timestamp(3) without time zone", None, False),
        "d": ("character(4)", "text", True),
        "e": ("text", "text", False),
    }


def test_uuids_of_the_server_and_texts_have_one_form(owner, place):
    one = "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"
    owner(
        "DROP TABLE IF EXISTS t, p",
        "CREATE TABLE t (patient uuid)",
        "CREATE TABLE p (patient text)",
        f"INSERT INTO t VALUES ('{one}')",  # noqa: S608
        f"INSERT INTO p VALUES ('{one.upper()}'), ('no uuid')",  # noqa: S608
    )
    rules = 'format = 1\nunit = "patient"\n{}[limits]\nmax_rows = 5'
    tables = {"t": place("t"), "p": place("p")}
    try:
        with pytest.raises(BadPolicy, match="unit_form"):
            opened(tables, policy=rules.format(""), test_mode=True)
        with opened(tables, policy=rules.format('unit_form = "uuid"\n'), test_mode=True) as session:
            question = (
                "SELECT COUNT(DISTINCT patient) AS n FROM"
                " (SELECT patient FROM t UNION ALL SELECT patient FROM p) AS both"
            )
            assert session.ask(question, epsilon=10**20).rows()[0]["n"] == 1
    finally:
        owner("DROP TABLE t, p")


def test_such_texts_may_be_read(blurred):
    with opened(blurred, unit=custom(name="person", columns=("exact",)), test_mode=True) as session:
        assert session.tables["blurred"].column("Name").type is Type.TEXT
    with Postgres({"blurred": blurred}) as engine:
        engine.learn_schema(Schema([TableFacts(name="blurred", columns=(), unit=("id",))]))


def test_a_collation_that_comes_later(blurred, owner):
    count = "SELECT COUNT(*) AS n FROM blurred"
    with opened(blurred, policy=POLICY, test_mode=True) as session:
        session.ask(count, epsilon=1)
        owner("ALTER TABLE blurred ALTER exact TYPE text COLLATE one_case")
        with pytest.raises(SourceChanged):
            session.ask(count, epsilon=2)


@pytest.mark.parametrize("table", ["parent", "child", "grandchild"])
def test_a_column_that_is_computed_in_some_part_cannot_be_named(owner, place, table):
    """Newer servers compute columns when they are read; on others the catalogue is made up."""
    owner(
        "DROP TABLE IF EXISTS parent CASCADE",
        "CREATE TABLE parent (patient int, age int)",
        "CREATE TABLE child () INHERITS (parent)",
        "CREATE TABLE grandchild () INHERITS (child)",
    )
    with Postgres({"parent": place("parent")}) as engine:
        assert engine.tables()["parent"] == {"patient": Type.INTEGER, "age": Type.INTEGER}
    owner(VIRTUAL.format(table))
    try:
        with Postgres({"parent": place("parent")}) as engine:
            assert engine.tables()["parent"] == {"patient": Type.INTEGER, "age": None}
    finally:
        owner("DROP TABLE parent CASCADE")
