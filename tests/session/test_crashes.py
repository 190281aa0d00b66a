"""Answers that break off: what was paid stays paid, and asking again completes it."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from discreet.engines.duckdb import DuckDB
from discreet.errors import EngineFailed, EntropyUnavailable, LedgerUnavailable
from discreet.ledger import Ledger
from discreet.session import answering
from tests.session.clinic import BY_WARD, COUNT, opened

ROOT = Path(__file__).parents[2]
QUOTED = "value-4711"


def kinds(session):
    kinds = [entry["kind"] for entry in session.ledger.entries()]
    return [kind for kind in kinds if kind != "describe"]


def raising(error):
    def act(*arguments, **named):
        raise error

    return act


@pytest.mark.parametrize("error", [RuntimeError(QUOTED), KeyError(QUOTED), MemoryError(QUOTED)])
def test_an_engine_that_fails_leaves_the_charge_and_a_retry_completes_it(
    tmp_path, monkeypatch, error
):
    with opened(tmp_path) as session:
        with monkeypatch.context() as patch:
            patch.setattr(DuckDB, "run", raising(error))
            with pytest.raises(EngineFailed) as caught:
                session.ask(COUNT, epsilon=1)
        assert QUOTED not in str(caught.value)
        assert caught.value.__context__ is None
        assert caught.value.__cause__ is None
        assert kinds(session) == ["open", "charge", "start"]
        release = session.ask(COUNT, epsilon=1)
        assert not release.replayed
        assert kinds(session) == ["open", "charge", "start", "start", "release"]
        assert session.remaining.amounts[0] == 10**24
        assert session.ledger.verify().ok


def test_noise_that_fails_is_one_sentence_too(tmp_path, monkeypatch):
    with opened(tmp_path) as session:
        with monkeypatch.context() as patch:
            patch.setattr(answering, "answer", raising(ValueError(QUOTED)))
            with pytest.raises(EngineFailed) as caught:
                session.ask(COUNT, epsilon=1)
        assert QUOTED not in str(caught.value)
        assert caught.value.__context__ is None
        assert not session.ask(COUNT, epsilon=1).replayed


def test_random_bits_that_are_missing_are_said(tmp_path, monkeypatch):
    missing = EntropyUnavailable(what="no bits.", why="a test.", do="wait.")
    with opened(tmp_path) as session:
        monkeypatch.setattr(answering, "answer", raising(missing))
        with pytest.raises(EntropyUnavailable):
            session.ask(COUNT, epsilon=1)


def test_a_ledger_that_fails_before_the_charge_reads_no_data(tmp_path, monkeypatch):
    gone = LedgerUnavailable(what="gone.", why="a test.", do="wait.")
    with opened(tmp_path) as session:
        monkeypatch.setattr(DuckDB, "run", raising(AssertionError("data was read")))
        for step in ("charge", "start"):
            with monkeypatch.context() as patch:
                patch.setattr(Ledger, step, raising(gone))
                with pytest.raises(LedgerUnavailable):
                    session.ask(COUNT, epsilon=1)


def test_a_ledger_that_fails_to_store_tells_nothing(tmp_path, monkeypatch):
    gone = LedgerUnavailable(what="gone.", why="a test.", do="wait.")
    with opened(tmp_path) as session:
        with monkeypatch.context() as patch:
            patch.setattr(Ledger, "release", raising(gone))
            with pytest.raises(LedgerUnavailable):
                session.ask(COUNT, epsilon=1)
        assert not session.ask(COUNT, epsilon=1).replayed
        assert kinds(session).count("charge") == 1


def test_the_order_of_the_steps(tmp_path, monkeypatch):
    steps = []

    def noted(kind, name):
        function = getattr(kind, name)

        def act(*arguments, **named):
            steps.append(name)
            return function(*arguments, **named)

        monkeypatch.setattr(kind, name, act)

    with opened(tmp_path) as session:
        for name in ("find", "charge", "start", "release"):
            noted(Ledger, name)
        noted(DuckDB, "run")
        session.ask(COUNT, epsilon=1)
        assert steps == ["find", "charge", "start", "run", "release"]
        steps.clear()
        session.ask(COUNT, epsilon=1)
        assert steps == ["find"]


KILLED = """
import os, sys
sys.path.insert(0, {root!r})
from pathlib import Path
from discreet.engines.duckdb import DuckDB
from discreet.ledger import Ledger
from tests.session.clinic import BY_WARD, opened

def die(*arguments, **named):
    os._exit(9)

def then_die(function):
    def act(*arguments, **named):
        function(*arguments, **named)
        os._exit(9)
    return act

kind, name, after = {point!r}
kind = {{"Ledger": Ledger, "DuckDB": DuckDB}}[kind]
setattr(kind, name, then_die(getattr(kind, name)) if after else die)
opened(Path({folder!r})).ask(BY_WARD, epsilon=1)
"""


@pytest.mark.parametrize(
    ("point", "recorded"),
    [
        (("Ledger", "charge", False), []),
        (("Ledger", "charge", True), ["charge"]),
        (("Ledger", "start", True), ["charge", "start"]),
        (("DuckDB", "run", True), ["charge", "start"]),
        (("Ledger", "release", True), ["charge", "start", "release"]),
    ],
    ids=["before the charge", "charged", "started", "read", "released"],
)
def test_a_process_that_is_killed_loses_nothing_but_its_time(tmp_path, point, recorded):
    program = textwrap.dedent(KILLED.format(root=str(ROOT), point=point, folder=str(tmp_path)))
    done = subprocess.run([sys.executable, "-c", program], check=False, capture_output=True)
    assert done.returncode == 9, done.stderr.decode()
    with opened(tmp_path) as session:
        assert kinds(session)[1:] == recorded
        release = session.ask(BY_WARD, epsilon=1)
        assert release.replayed == ("release" in recorded)
        assert kinds(session).count("charge") == kinds(session).count("release") == 1
        assert session.remaining.amounts[0] == 10**24
        assert session.ledger.verify(receipts=[release.receipt]).ok


DIGEST = """
import sys
sys.path.insert(0, {root!r})
import discreet.session as sessions
from tests.session.clinic import BY_WARD, POLICY, visits
print(sessions.open({{"visits": visits()}}, policy=POLICY).plan(BY_WARD, epsilon=1).digest)
"""


def test_a_question_has_the_same_digest_in_every_process():
    found = {
        subprocess.run(
            [sys.executable, "-c", DIGEST.format(root=str(ROOT))],
            check=True,
            capture_output=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("1", "2")
    }
    assert len(found) == 1
