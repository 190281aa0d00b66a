"""Tables on the PostgreSQL server of the tests."""

import pytest

from tests.engines.postgres.rows import connect


@pytest.fixture
def owner(postgres):
    """Run statements as the owner of everything."""

    def run(*statements):
        with connect(postgres) as connection:
            for statement in statements:
                cursor = connection.execute(statement)
            return cursor.fetchall() if cursor.description else []

    return run


@pytest.fixture
def place(postgres):
    """Return the address of a table."""

    def address(table, **role):
        return f"{postgres.address(**role)}/{table}"

    return address
