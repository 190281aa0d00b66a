"""Ledgers on the PostgreSQL server of the tests."""

import itertools

import psycopg
import pytest

from discreet.ledger.postgres import PostgresStore
from tests.ledger.store_contract import place_of

_numbers = itertools.count(1)


@pytest.fixture
def name():
    """The name of a ledger that is not there yet."""
    return f"ledger_{next(_numbers)}"


@pytest.fixture
def address(postgres, name):
    return postgres.address(name)


@pytest.fixture
def place(address):
    with place_of(lambda timeout: PostgresStore(address, timeout=timeout)) as place:
        yield place


@pytest.fixture
def direct(address, name):
    """Connect past any store; names are those of the ledger's schema."""

    def connect(place=address):
        options = f"-c search_path={name}"
        return psycopg.connect(place.partition("#")[0], autocommit=True, options=options)

    return connect


@pytest.fixture
def owner(direct):
    """Run a statement as the owner of everything."""

    def run(text, *values):
        with direct() as connection:
            cursor = connection.execute(text, values or None)
            return cursor.fetchall() if cursor.description else []

    return run
