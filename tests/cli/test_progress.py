"""What a terminal shows while a question is answered: seconds on stderr, and then nothing."""

import json
import os
import re
import sqlite3
import sys
from contextlib import closing

import pexpect
import pyarrow.csv
import pytest

from tests.cli.test_commands import COUNT, SET_UP, answered
from tests.session.clinic import visits

CLEARED = "\x1b[2K"


@pytest.fixture
def clinic(tmp_path):
    """A folder with data, a policy and a ledger."""
    pyarrow.csv.write_csv(visits(), tmp_path / "visits.csv")
    answered(tmp_path, *SET_UP)
    return tmp_path


def test_seconds_are_shown_on_a_terminal_while_a_question_waits(clinic):
    program = f'exec "{sys.executable}" -m discreet.cli ask "{COUNT}" --epsilon=0.25 --json > out'
    with closing(sqlite3.connect(clinic / "visits.ledger", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")  # anyone who asks has to wait for it
        terminal = pexpect.spawn(
            "/bin/sh",
            ["-c", program],
            cwd=str(clinic),
            env={**os.environ, "TERM": "xterm"},
            encoding="utf-8",
            timeout=60,
        )
        terminal.expect(r"answering \.\.\. [1-9]\d* s")
        assert (clinic / "out").read_text() == ""
        other.execute("ROLLBACK")
        terminal.expect(pexpect.EOF)
    terminal.close()
    assert terminal.exitstatus == 0
    rest = terminal.before
    assert CLEARED in rest
    assert re.sub(r"\x1b\[[?\d;]*[a-zA-Z]", "", rest.rpartition(CLEARED)[2]).strip() == ""
    assert json.loads((clinic / "out").read_text())["replayed"] is False
