"""Ledgers on the PostgreSQL server of the tests."""

import itertools

import psycopg
import pytest

_numbers = itertools.count(1)


@pytest.fixture
def name():
    """The name of a ledger that is not there yet."""
    return f"ledger_{next(_numbers)}"


@pytest.fixture
def address(postgres, name):
    return postgres.address(name)


@pytest.fixture
def owner(address, name):
    """Run a statement as the owner of everything, past any ledger."""

    def run(text, *values):
        options = f"-c search_path={name}"
        with psycopg.connect(
            address.partition("#")[0], autocommit=True, options=options
        ) as connection:
            cursor = connection.execute(text, values or None)
            return cursor.fetchall() if cursor.description else []

    return run
