"""DuckDB writes nothing of its own to stdout, where answers are told and scripts read JSON."""

import re
from pathlib import Path

import duckdb
import pytest

import discreet
import discreet.session as sessions
from discreet.engines.connection import SETTINGS, Connection
from discreet.engines.spark import task
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


def test_a_task_of_spark_shows_no_progress():
    job = {"version": duckdb.__version__, "settings": dict(SETTINGS), "salt": 1, "tables": {}}
    with task._connection(job) as connection:
        assert connection.execute(SHOWN).fetchall() == [(False,)]


def test_there_is_no_other_connection():
    source = Path(discreet.__file__).parent
    calls = re.compile(r"^(?! *>>>).*duckdb\.connect\(", re.MULTILINE)
    files = sorted(path for path in source.rglob("*.py") if calls.search(path.read_text("utf-8")))
    assert files == [source / "engines" / "connection.py", source / "engines" / "spark" / "task.py"]
