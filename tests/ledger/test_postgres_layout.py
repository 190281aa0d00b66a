"""The tables of a ledger on a PostgreSQL server: what is refused, and who may do what."""

import secrets

import pytest
from psycopg import errors

from discreet.errors import DamagedLedger, LedgerUnavailable, NewerFormat, NotALedger
from discreet.ledger.entries import head_after
from discreet.ledger.postgres import PostgresStore
from tests.ledger.store_contract import (
    Chain,
    check_a_checkpoint_is_replaced,
    check_writers_take_turns,
    made,
    place_of,
    stored,
    write,
)

PASSWORD = secrets.token_hex(8)


# --- what is found ----------------------------------------------------------------------------


def test_an_empty_schema_is_used(owner, name, place):
    owner(f"CREATE SCHEMA {name}")
    with pytest.raises(NotALedger):
        place.store().open()
    write(place.opened(), Chain().add("open"))


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TABLE other (x integer)",
        "CREATE VIEW other AS SELECT 1",
        "CREATE TABLE meta (application text, format integer)",
        "CREATE TABLE meta (application text, format text, single boolean)",
        "CREATE TABLE meta (application text, format integer, single boolean)",
        "CREATE TABLE meta AS SELECT 'discreet ledger' application, NULL::int format, true single",
        "CREATE TABLE meta AS SELECT 'other' application, 1 format, true single",
        "CREATE TABLE meta AS SELECT 'discreet ledger' application, 0 format, true single",
    ],
)
def test_something_else_is_left_alone(owner, name, place, statement):
    owner(f"CREATE SCHEMA {name}")
    owner(statement)
    tables = "SELECT relname FROM pg_class WHERE relnamespace = %s::regnamespace"
    before = owner(tables, name)
    for create in (True, False):
        with pytest.raises(NotALedger):
            (made if create else PostgresStore.open)(place.store())
    assert owner(tables, name) == before


def test_a_later_format_is_refused(owner, name, place):
    place.opened()
    owner("UPDATE meta SET format = 2")
    with pytest.raises(NewerFormat, match="version 2"):
        made(place.store())


@pytest.mark.parametrize(
    "statement",
    [
        "ALTER TABLE entry DISABLE TRIGGER append_only",
        "ALTER TABLE entry ENABLE TRIGGER in_order",
        "DROP TRIGGER in_order ON entry",
        "DROP INDEX one_charge",
        "DROP INDEX one_release",
        "ALTER TABLE entry DROP CONSTRAINT entry_head_key",
        "ALTER TABLE entry SET UNLOGGED",
        "ALTER TABLE entry ENABLE ROW LEVEL SECURITY",
        "CREATE RULE quiet AS ON INSERT TO entry DO INSTEAD NOTHING",
        "ALTER TABLE entry ADD COLUMN refund integer",
        "DROP TABLE entry",
        "DROP TABLE turn",
        "ALTER TABLE checkpoint DROP COLUMN state",
    ],
)
def test_missing_guards_are_noticed(owner, name, place, statement):
    write(place.opened(), Chain().add("open"))
    owner(statement)
    with pytest.raises(DamagedLedger):
        made(place.store())


def test_tables_that_vanish_are_noticed(owner, name, place):
    store = place.opened()
    owner(f"DROP SCHEMA {name} CASCADE")
    with pytest.raises(DamagedLedger):
        stored(store)
    with pytest.raises(DamagedLedger):
        write(store, Chain().add("open"))


# --- what the server itself refuses -----------------------------------------------------------


@pytest.mark.parametrize("replica", [False, True])
def test_entries_are_only_ever_appended(direct, place, replica):
    chain, store = Chain(), place.opened()
    chain.add("open")
    chain.asked("k", answer=b"42")
    write(store, *chain.rows)
    last, again = chain.rows[-1], "{}"
    head = head_after(last.head, again)
    new = "INSERT INTO entry (seq, kind, line, head) VALUES"
    refused = [
        "UPDATE entry SET line = '' WHERE seq = 2",
        "UPDATE entry SET answer = 'x' WHERE seq = 4",
        "UPDATE entry SET line = line WHERE false",
        "DELETE FROM entry",
        "TRUNCATE entry",
        "TRUNCATE entry CASCADE",
        f"{new} (4, 'x', '{again}', '{head}') ON CONFLICT (seq) DO UPDATE SET line = ''",
        f"{new} (4, 'x', '{again}', '{head}')",
        f"{new} (6, 'x', '{again}', '{head}')",
        f"{new} (0, 'x', '{again}', '{head}')",
        f"{new} (5, 'x', '{again}', '{last.head}')",
        f"{new} (5, 'x', '{again} ', '{head}')",
    ]
    with direct() as connection:
        if replica:
            connection.execute("SET session_replication_role = replica")
        for statement in refused:
            with pytest.raises(errors.RestrictViolation):
                connection.execute(statement)
        assert stored(store) == chain.rows
        connection.execute(f"{new} (5, 'x', '{again}', '{head}')")
    assert stored(store)[4].head == head


@pytest.mark.parametrize("kind", ["charge", "release"])
def test_there_is_one_charge_and_one_release_a_key(direct, place, kind):
    chain, store = Chain(), place.opened()
    write(store, *chain.asked("k", answer=b"42"))
    head = head_after(chain.rows[-1].head, "{}")
    values = (4, kind, "k", "", "{}", head, b"43" if kind == "release" else None)
    with (
        direct() as connection,
        pytest.raises(errors.UniqueViolation),
    ):
        connection.execute("INSERT INTO entry VALUES (%s, %s, %s, %s, %s, %s, %s)", values)


# --- roles ------------------------------------------------------------------------------------


@pytest.fixture
def clerk(postgres, owner, name, place):
    """A role with no more rights than the layout says a ledger needs, and its address."""
    place.opened()
    owner(f"CREATE ROLE clerk_{name} LOGIN PASSWORD '{PASSWORD}'")
    for rights in (
        "USAGE ON SCHEMA {0}",
        "SELECT ON {0}.meta",
        "SELECT, INSERT ON {0}.entry",
        "SELECT, INSERT, UPDATE ON {0}.checkpoint",
        "UPDATE ON {0}.turn",
    ):
        owner(f"GRANT {rights.format(name)} TO clerk_{name}")
    return postgres.address(name, role=f"clerk_{name}", password=PASSWORD)


@pytest.mark.parametrize("check", [check_a_checkpoint_is_replaced, check_writers_take_turns])
def test_a_clerk_can_do_all_that_a_ledger_does(clerk, check):
    with place_of(lambda timeout: PostgresStore(clerk, timeout=timeout)) as place:
        check(place)


def test_a_clerk_cannot_lift_the_guards(direct, clerk):
    with direct(clerk) as connection:
        for statement in (
            "UPDATE entry SET line = ''",
            "DELETE FROM entry",
            "TRUNCATE entry",
            "DROP TABLE entry",
            "ALTER TABLE entry DISABLE TRIGGER append_only",
            "DROP TRIGGER append_only ON entry",
            "CREATE OR REPLACE FUNCTION in_order() RETURNS trigger LANGUAGE sql AS ''",
            "UPDATE meta SET format = 9",
            "SET session_replication_role = replica",
        ):
            with pytest.raises(errors.InsufficientPrivilege):
                connection.execute(statement)


def test_a_role_without_rights_is_told(postgres, owner, name, place):
    place.opened()
    owner(f"CREATE ROLE stranger_{name} LOGIN PASSWORD '{PASSWORD}'")
    for schema in (name, f"other_{name}"):
        address = postgres.address(schema, role=f"stranger_{name}", password=PASSWORD)
        with pytest.raises(LedgerUnavailable, match="lacks a right"):
            made(PostgresStore(address, timeout=5))
