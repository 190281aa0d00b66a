"""Answers that break off: what was paid stays paid, and a failure is told once."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from discreet.engines.duckdb import Connection, DuckDB
from discreet.engines.engine import HashOrder
from discreet.engines.execution import stopped_error
from discreet.errors import (
    EngineFailed,
    EngineStopped,
    EntropyUnavailable,
    LedgerUnavailable,
    QuestionClosed,
)
from discreet.ledger import Ledger
from discreet.query.expressions import Column
from discreet.query.relations import Scan
from discreet.query.types import Type
from discreet.requests.engine_request import EngineRequest
from discreet.session import answer_pipeline as answering
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


def failure_of(session, question=COUNT):
    """Ask a question that fails, and return what is told."""
    with pytest.raises(EngineFailed) as caught:
        session.ask(question, epsilon=1)
    assert caught.value.__context__ is None
    assert caught.value.__cause__ is None
    return str(caught.value)


def refusal_of(session, question=COUNT):
    """Ask it again, and return what is told."""
    with pytest.raises(QuestionClosed) as caught:
        session.ask(question, epsilon=1)
    return str(caught.value)


@pytest.mark.parametrize("error", [RuntimeError(QUOTED), KeyError(QUOTED), MemoryError(QUOTED)])
def test_an_engine_that_fails_closes_the_question_until_the_owner_reopens_it(
    tmp_path, monkeypatch, error
):
    with opened(tmp_path) as session:
        with monkeypatch.context() as patch:
            patch.setattr(DuckDB, "run", raising(error))
            assert QUOTED not in failure_of(session)
            assert kinds(session) == ["open", "charge", "start", "fail"]
            refusal_of(session)
        refusal_of(session)  # whatever the engine would do now
        assert kinds(session) == ["open", "charge", "start", "fail"]
        (key,) = session.ledger.closed
        session.ledger.reopen(key, reason="the disk was full", by="owner")
        assert not session.ask(COUNT, epsilon=1).replayed
        assert kinds(session)[4:] == ["reopen", "start", "release"]
        assert session.remaining.amounts[0] == 10**24
        assert session.ledger.verify().ok


def test_an_error_of_the_engine_closes_the_question_whatever_it_says(tmp_path, monkeypatch):
    """Engines replace their errors by a sentence of ours; a row may have caused it all the same."""
    error = EngineFailed(what=f"row {QUOTED} is odd.", why="a test.", do="look.")
    with opened(tmp_path) as session:
        with monkeypatch.context() as patch:
            patch.setattr(DuckDB, "run", raising(error))
            assert QUOTED not in failure_of(session)
        refusal_of(session)
        assert kinds(session) == ["open", "charge", "start", "fail"]


@pytest.mark.parametrize(
    "error", [ValueError(QUOTED), EntropyUnavailable(what="no bits.", why="a test.", do="wait.")]
)
def test_a_failure_after_noise_was_drawn_is_the_answer(tmp_path, monkeypatch, error):
    with opened(tmp_path) as session:
        with monkeypatch.context() as patch:
            patch.setattr(answering, "answer", raising(error))
            assert QUOTED not in failure_of(session)
        assert kinds(session) == ["open", "charge", "start", "release"]
        refusal_of(session)  # no other noise is drawn
        assert session.ledger.closed == ()  # and nothing is there to be reopened
        assert kinds(session) == ["open", "charge", "start", "release"]
        assert session.ledger.verify().ok


def test_what_is_told_does_not_depend_on_the_reason(tmp_path, monkeypatch):
    told = set()
    reasons = [(DuckDB, "run"), (answering, "answer"), (answering.AnswerPipeline, "order")]
    for number, (place, step) in enumerate(reasons):
        folder = tmp_path / str(number)
        folder.mkdir()
        with opened(folder) as session:
            with monkeypatch.context() as patch:
                patch.setattr(place, step, raising(ValueError(QUOTED)))
                first = failure_of(session)
            told.add((first, refusal_of(session)))
    assert len(told) == 1


def test_a_failure_is_on_record_before_it_is_told(tmp_path, monkeypatch):
    gone = LedgerUnavailable(what="gone.", why="a test.", do="wait.")
    with opened(tmp_path) as session:
        monkeypatch.setattr(DuckDB, "run", raising(ValueError(QUOTED)))
        with monkeypatch.context() as patch:
            patch.setattr(Ledger, "fail", raising(gone))
            patch.setattr(Ledger, "release", raising(gone))
            with pytest.raises(LedgerUnavailable):  # as an answer that cannot be stored
                session.ask(COUNT, epsilon=1)
        failure_of(session)


@pytest.mark.parametrize("stop", [KeyboardInterrupt(), stopped_error()])
def test_what_no_row_can_bring_about_is_asked_again(tmp_path, monkeypatch, stop):
    with opened(tmp_path) as session:
        with monkeypatch.context() as patch:
            patch.setattr(DuckDB, "run", raising(stop))
            with pytest.raises(type(stop)) as caught:
                session.ask(COUNT, epsilon=1)
        assert caught.value.__context__ is None
        assert kinds(session) == ["open", "charge", "start"]
        assert not session.ask(COUNT, epsilon=1).replayed


def test_random_bits_that_are_missing_before_any_noise_are_asked_for_again(tmp_path, monkeypatch):
    missing = EntropyUnavailable(what="no bits.", why="a test.", do="wait.")
    with opened(tmp_path) as session:
        with monkeypatch.context() as patch:
            patch.setattr(answering.AnswerPipeline, "order", raising(missing))
            with pytest.raises(EntropyUnavailable):
                session.ask(COUNT, epsilon=1)
        assert kinds(session) == ["open", "charge", "start"]
        assert not session.ask(COUNT, epsilon=1).replayed


def test_duckdb_says_that_it_was_interrupted(monkeypatch):
    visits = pa.table({"patient": [1]})
    lowered = EngineRequest(
        relation=Scan("visits", (("patient", Type.INTEGER),)),
        unit=(Column("patient"),),
        keys=(),
        groups=1,
        measures=(),
    )
    monkeypatch.setattr(Connection, "fetch", raising(duckdb.InterruptException("INTERRUPT")))
    with DuckDB({"visits": visits}) as engine, pytest.raises(EngineStopped):
        engine.run(lowered, order=HashOrder(salt=1))


def test_a_ledger_that_fails_before_the_charge_reads_no_data(tmp_path, monkeypatch):
    gone = LedgerUnavailable(what="gone.", why="a test.", do="wait.")
    with opened(tmp_path) as session:
        monkeypatch.setattr(DuckDB, "run", raising(AssertionError("data was read")))
        monkeypatch.setattr(Ledger, "begin", raising(gone))
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
        for name in ("find", "begin", "release"):
            noted(Ledger, name)
        noted(DuckDB, "run")
        session.ask(COUNT, epsilon=1)
        assert steps == ["find", "begin", "run", "release"]
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

for kind, name, after, folder in {points!r}:
    child = os.fork()  # loads everything once
    if child == 0:
        kind = {{"Ledger": Ledger, "DuckDB": DuckDB}}[kind]
        setattr(kind, name, then_die(getattr(kind, name)) if after else die)
        opened(Path(folder)).ask(BY_WARD, epsilon=1)
        os._exit(0)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
KILLS = {
    "before the charge": (("Ledger", "begin", False), []),
    "started": (("Ledger", "begin", True), ["charge", "start"]),
    "read": (("DuckDB", "run", True), ["charge", "start"]),
    "released": (("Ledger", "release", True), ["charge", "start", "release"]),
}


@pytest.fixture(scope="module")
def killed(tmp_path_factory):
    """The folders of processes that were killed, each at its point."""
    folders = {name: tmp_path_factory.mktemp("killed") for name in KILLS}
    points = [(*KILLS[name][0], str(folder)) for name, folder in folders.items()]
    program = textwrap.dedent(KILLED.format(root=str(ROOT), points=points))
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True)
    assert done.stdout.split() == [b"9"] * len(points), done.stderr.decode()
    return folders


@pytest.mark.parametrize("name", KILLS)
def test_a_process_that_is_killed_loses_nothing_but_its_time(killed, name):
    recorded = KILLS[name][1]
    with opened(killed[name]) as session:
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
