"""Settings of all tests: the same examples on every machine, however slow it is; and servers."""

import re

import pytest
from hypothesis import settings

from tests.servers.postgres import PostgresServer

settings.register_profile("fixed", deadline=None, derandomize=True)
settings.load_profile("fixed")


_ADDRESS = re.compile(r" at 0x[0-9a-f]+")


def steady_text(name):
    """Leave addresses out of the name of a parameter, which differ between processes."""
    return _ADDRESS.sub("", name)


def steady(value):
    """Name a parameter alike in all processes that share the tests out: for ``ids=``."""
    return steady_text(repr(value))


@pytest.fixture(scope="session")
def postgres():
    """A PostgreSQL server, started when the first test asks for it."""
    with PostgresServer() as server:
        yield server
