"""What the catalogue says of columns that are not what they seem."""

import pytest

from discreet.engines.postgres.engine import Postgres
from discreet.errors import BadPolicy, SourceChanged
from discreet.plan.schema import Schema, TableFacts
from discreet.query.types import Type
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
    assert "different texts are the same" in str(caught.value)


def test_such_texts_may_be_read(blurred):
    with opened(blurred, unit=custom(name="person", columns=("exact",)), test_mode=True) as session:
        assert session.tables["blurred"].column("Name").type is Type.TEXT
    with Postgres({"blurred": blurred}) as engine:
        engine.owned(Schema([TableFacts(name="blurred", columns=(), unit=("id",))]))


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
