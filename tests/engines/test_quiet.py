"""DuckDB writes nothing of its own to stdout, where answers are told and scripts read JSON."""

import duckdb
import pytest

import discreet
import discreet.session as sessions
from discreet.engines.duckdb import Connection
from tests.session import clinic

SHOWN = "SELECT current_setting('enable_progress_bar')"


@pytest.fixture(autouse=True)
def _at_the_prompt(monkeypatch):
    """Let every connection begin as at a prompt and under ``python -m``: with a bar."""
    connect = duckdb.connect

    def connected(**options):
        connection = connect(**options)
        connection.execute("SET enable_progress_bar = true")
        return connection

    monkeypatch.setattr(duckdb, "connect", connected)


@pytest.fixture
def shown(monkeypatch):
    """Return whether each connection that is closed would have shown how far it is."""
    found = []
    close = Connection.close

    def closing(self):
        found.append(self._connection.execute(SHOWN).fetchall()[0][0])
        close(self)

    monkeypatch.setattr(Connection, "close", closing)
    return found


def test_a_session_shows_no_progress(shown):
    with sessions.open({"visits": clinic.visits()}, policy=clinic.POLICY, unit=discreet.person("patient"), test_mode=True) as session:  # fmt: skip  # noqa: E501
        session.ask(clinic.COUNT, epsilon=1)
    assert set(shown) == {False}


def test_the_check_of_the_owner_shows_no_progress(shown):
    sessions.check({"visits": clinic.visits()}, policy=clinic.POLICY)
    assert set(shown) == {False}
