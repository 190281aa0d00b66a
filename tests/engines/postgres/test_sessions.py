"""Sessions on tables of a PostgreSQL server, from opening to the record."""

import os
import signal
import subprocess
import sys
import threading

import pytest
from typer.testing import CliRunner

import discreet as dp
import discreet.session as sessions
from discreet.cli import app
from discreet.engines.postgres.engine import Postgres
from discreet.errors import BadPolicy, EngineStopped, UnreadableSource, WrongKind
from discreet.query.types import Type
from discreet.session.answer_pipeline import AnswerPipeline
from tests.engines.postgres.rows import fill
from tests.session.clinic import BY_WARD, COUNT, EXACT, LINKED, POLICY, bills, visits, wards

QUESTIONS = [
    COUNT,
    BY_WARD,
    "SELECT region, COUNT(DISTINCT patient) AS n FROM visits GROUP BY region",
    "SELECT SUM(b.amount) AS s FROM bills b JOIN visits v ON b.visit = v.visit",
    "SELECT w.beds, COUNT(*) AS n FROM visits v JOIN wards w ON v.ward = w.ward GROUP BY w.beds",
    "SELECT MEDIAN(cost) AS m FROM visits WHERE ward <> 'C'",
    "SELECT COUNT(*) FROM (SELECT patient, SUM(cost) AS c FROM visits GROUP BY 1) WHERE c > 21",
]
NATIVE = {
    "visits": "patient integer, visit bigint, region varchar(9), ward ward, cost numeric(9, 3)",
    "bills": "visit bigint, amount smallint",
    "wards": "ward varchar(3), beds integer",
}
FRAMES = {"visits": visits(), "bills": bills(), "wards": wards()}


@pytest.fixture
def clinic(postgres, owner):
    """The tables of the clinic in a schema of their own, and the address of their database."""
    owner(
        "DROP SCHEMA IF EXISTS clinic CASCADE",
        "DROP TYPE IF EXISTS ward CASCADE",
        "CREATE SCHEMA clinic",
        "CREATE TYPE ward AS ENUM ('D', 'C', 'B', 'A')",
        *(f"CREATE TABLE clinic.{table} ({columns})" for table, columns in NATIVE.items()),
    )
    fill(
        postgres,
        {f"clinic.{table}": frame.to_pylist() for table, frame in FRAMES.items()},
        {f"clinic.{table}": dict.fromkeys(frame.column_names) for table, frame in FRAMES.items()},
    )
    return postgres.address()


def in_test_mode(source, **changes):
    return sessions.open(source, **{"policy": POLICY + LINKED, "test_mode": True, **changes})


def answers(session):
    return [session.ask(text, **EXACT, delta="1e-6").to_arrow() for text in QUESTIONS]


def test_answers_are_those_of_frames(clinic):
    names = [f"clinic.{table}" for table in FRAMES]
    with in_test_mode(FRAMES) as here, in_test_mode(clinic, tables=names) as there:
        assert [table.to_pylist() for table in answers(there)] == [
            table.to_pylist() for table in answers(here)
        ]


def test_public_tables_from_elsewhere(clinic, tmp_path):
    mixed = {**FRAMES, "visits": f"{clinic}/clinic.visits", "bills": f"{clinic}/clinic.bills"}
    with in_test_mode(FRAMES) as here, in_test_mode(mixed) as there:
        assert [table.to_pylist() for table in answers(there)] == [
            table.to_pylist() for table in answers(here)
        ]


def test_one_table_by_its_address(clinic, tmp_path):
    ledger = tmp_path / "clinic.ledger"
    with dp.open(f"{clinic}/clinic.visits", policy=POLICY, ledger=ledger) as session:
        plan = session.plan(BY_WARD, epsilon="0.5")
        answer = session.ask(plan)
        assert not answer.replayed
        assert session.remaining.epsilon == pytest.approx(1.5)
        assert session.ask(BY_WARD, epsilon="0.5").replayed
    with dp.open(f"{clinic}/clinic.visits", policy=POLICY, ledger=ledger) as session:
        again = session.ask(BY_WARD, epsilon="0.5")
        assert again.replayed
        assert again.to_arrow().equals(answer.to_arrow())


def test_the_tables_of_the_policy(postgres, clinic, owner):
    owner("ALTER ROLE owner SET search_path = clinic", "DROP TABLE IF EXISTS visits, bills, wards")
    try:
        with pytest.raises(UnreadableSource) as caught:  # a search path names nothing
            in_test_mode(clinic)
        assert "as schema.table if it is not in the schema public" in str(caught.value)
    finally:
        owner("ALTER ROLE owner RESET search_path")


def test_columns_are_described(clinic):
    described = sessions.describe(f"{clinic}/clinic.visits")
    assert described == {
        "visits": {
            "patient": Type.INTEGER,
            "visit": Type.INTEGER,
            "region": Type.TEXT,
            "ward": Type.TEXT,
            "cost": Type.FLOAT,
        }
    }


def test_a_key_that_is_none_is_refused_at_opening(clinic, owner):
    owner("INSERT INTO clinic.wards VALUES ('A', 7)")
    with pytest.raises(BadPolicy) as caught:
        in_test_mode(clinic, tables=[f"clinic.{table}" for table in FRAMES])
    assert "two of its rows agree on its key" in str(caught.value)


def test_a_unit_that_is_a_decimal_is_refused(clinic):
    with pytest.raises(BadPolicy):
        dp.open(f"{clinic}/clinic.visits", unit=dp.person("cost"), test_mode=True)


def test_tables_of_two_databases_are_refused(clinic):
    other = clinic.replace("/postgres", "/other")
    with pytest.raises(WrongKind):
        dp.open(
            {"visits": f"{clinic}/visits", "wards": f"{other}/wards"},
            unit=dp.person("patient"),
            test_mode=True,
        )


def test_bounds_are_found_and_answers_are_remeasured(clinic):
    policy = POLICY.replace("low = 0\nhigh = 100\n", "").replace(
        'max_epsilon_per_question = "1"', ""
    )
    with in_test_mode(f"{clinic}/clinic.visits", policy=policy) as session:
        price = {"epsilon": "1e6", "bounds": dp.estimate(epsilon="1e6")}
        answer = session.ask("SELECT AVG(cost) AS c FROM visits", **price)
        assert answer.to_arrow().column("c")[0].as_py() == pytest.approx(12.9, abs=1)
        session.remeasure(answer, epsilon="1e6")


# --- failures and interrupts ------------------------------------------------------------------


def test_a_server_that_is_gone_costs_one_charge(postgres, clinic, tmp_path, monkeypatch):
    ledger = tmp_path / "clinic.ledger"
    with dp.open(f"{clinic}/clinic.visits", policy=POLICY, ledger=ledger) as session:
        postgres.crash()
        try:
            with pytest.raises(UnreadableSource):
                session.ask(COUNT, epsilon="0.5")
            assert session.remaining.epsilon == pytest.approx(2)
            monkeypatch.setattr(
                AnswerPipeline, "check_sources", lambda *_: None
            )  # it goes after the look
            with pytest.raises(EngineStopped):
                session.ask(COUNT, epsilon="0.5")
            monkeypatch.undo()
        finally:
            postgres.start()
        assert session.remaining.epsilon == pytest.approx(1.5)
        answer = session.ask(COUNT, epsilon="0.5")
        assert not answer.replayed
        assert session.remaining.epsilon == pytest.approx(1.5)
        kinds = [entry["kind"] for entry in session.ledger.entries() if entry["kind"] != "describe"]
        assert kinds.count("charge") == kinds.count("release") == 1


def test_an_interrupt_costs_one_charge(clinic, tmp_path, monkeypatch):
    ledger = tmp_path / "clinic.ledger"
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    fetch = Postgres.fetch

    def slowly(self, statement, tables):
        fetch(self, "SELECT pg_sleep(60)", tables)
        return fetch(self, statement, tables)

    monkeypatch.setattr(Postgres, "fetch", slowly)
    try:
        with dp.open(f"{clinic}/clinic.visits", policy=POLICY, ledger=ledger) as session:
            alarm = threading.Timer(0.7, lambda: os.kill(os.getpid(), signal.SIGINT))
            alarm.start()
            with pytest.raises(KeyboardInterrupt):
                session.ask(BY_WARD, epsilon="0.5")
            alarm.join()
            monkeypatch.undo()
            assert not session.ask(BY_WARD, epsilon="0.5").replayed
            kinds = [entry["kind"] for entry in session.ledger.entries()]
            kinds = [kind for kind in kinds if kind != "describe"]
            assert kinds.count("charge") == kinds.count("release") == 1
    finally:
        signal.signal(signal.SIGINT, before)


# --- the command line -------------------------------------------------------------------------


def run(folder, *arguments):
    return CliRunner().invoke(app, list(arguments), env={"COLUMNS": "200"})


def test_the_command_line(clinic, postgres, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rules.toml").write_text(POLICY)
    common = ["--policy=rules.toml", "--ledger=clinic.ledger", "--epsilon=0.5"]
    for data in (
        f"--data={clinic}/clinic.visits",
        f"--data={clinic}/clinic.visits?sslmode=prefer",
        f"--data=visits={clinic}/clinic.visits?sslmode=prefer",
    ):
        planned = run(tmp_path, "plan", COUNT, data, *common)
        assert planned.exit_code == 0, planned.stderr
        done = run(tmp_path, "ask", COUNT, data, *common)
        assert done.exit_code == 0, done.stderr
        assert postgres.password not in planned.output + done.output + done.stderr
    wrong = run(tmp_path, "ask", COUNT, f"--data={clinic}/clinic.absent", *common)
    assert wrong.exit_code == 2
    assert postgres.password not in wrong.output + wrong.stderr
    assert postgres.password not in (tmp_path / "clinic.ledger").read_bytes().decode("latin-1")


def test_a_policy_is_written_without_the_password(clinic, postgres, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    options = ["--unit=patient", "--epsilon=1", "--delta=0", "--bounds=cost=0:100", "--yes"]
    done = run(tmp_path, "init", f"{clinic}/clinic.visits?sslmode=prefer", *options)
    assert done.exit_code == 0, done.stderr
    written = (tmp_path / "policy.toml").read_text()
    assert postgres.password not in written + done.output
    assert "/postgres/clinic.visits?sslmode=prefer" in written
    monkeypatch.setenv("PGPASSWORD", postgres.password)
    asked = run(tmp_path, "ask", COUNT, "--epsilon=0.1")
    assert asked.exit_code == 0, asked.stderr


def test_a_ledger_without_its_password_is_used(clinic, postgres, owner, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    options = ["--unit=patient", "--epsilon=1", "--delta=0", "--bounds=cost=0:100", "--yes"]
    ledger = f"--ledger={postgres.address('init_ledger')}"
    done = run(tmp_path, "init", f"{clinic}/clinic.visits", *options, ledger)
    assert done.exit_code == 0, done.stderr
    written = (tmp_path / "policy.toml").read_text()
    assert postgres.password not in written + done.output
    assert "/postgres#init_ledger" in written
    monkeypatch.setenv("PGPASSWORD", postgres.password)
    asked = run(tmp_path, "ask", COUNT, "--epsilon=0.1")
    assert asked.exit_code == 0, asked.stderr
    shown = run(tmp_path, "ledger", "show")
    assert shown.exit_code == 0, shown.stderr
    assert postgres.password not in shown.output
    owner("DROP SCHEMA init_ledger CASCADE")


def test_nothing_is_loaded_before_it_is_needed():
    program = (
        "import sys, discreet as dp, discreet.session.opening_arguments, discreet.engines.dispatch;"
        "late = {'psycopg', 'adbc_driver_manager', 'adbc_driver_postgresql', 'pyspark'};"
        "dp.open; print(late & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, check=True, text=True
    )
    assert done.stdout == "set()\n"


def test_the_server_runs_the_statement_and_sends_totals(clinic, monkeypatch):
    """A row for each group crosses the wire, whatever the number of rows."""
    fetched = []
    fetch = Postgres.fetch

    def counted(self, statement, tables):
        found = fetch(self, statement, tables)
        fetched.append((statement, found.num_rows))
        return found

    monkeypatch.setattr(Postgres, "fetch", counted)
    with in_test_mode(f"{clinic}/clinic.visits", policy=POLICY) as session:
        plan = session.plan("SELECT COUNT(*) AS n FROM visits", epsilon=1)
        assert fetched == []
        session.ask(plan)
    ((statement, rows),) = fetched
    assert rows == 1
    assert statement.startswith('WITH "rows" AS (')
    assert "clinic" in plan.sql()
