"""Real clients connect: psql, psycopg, SQLAlchemy, pandas, JDBC, and what other tools send."""

import os
import subprocess
from pathlib import Path

import pandas as pd
import psycopg
import pytest
import sqlalchemy as sa

from tests.pgwire.clinics import COUNT, address, connected, sql_clinic
from tests.pgwire.raw import Raw, bound, framed, text
from tests.servers.java import java_home
from tests.servers.jdbc import driver, psql

HERE = Path(__file__).parent
BY_WARD = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with sql_clinic(tmp_path_factory.mktemp("site")) as found:
        yield found


@pytest.fixture(scope="module")
def engine(server):
    place = f"ana:{server.token('ana')}@127.0.0.1:{server.sql_port}/clinic"
    made = sa.create_engine(f"postgresql+psycopg://{place}?options=-c%20discreet.epsilon%3D0.5")
    yield made
    made.dispose()


def charges(server):
    entries = server.counter.history(server.caller("olga"), "clinic")
    return sum(each["kind"] == "charge" for each in entries)


def said_by_psql(server, *commands):
    options = [each for command in commands for each in ("-c", command)]
    done = subprocess.run(
        [psql(), "-X", address(server), *options], capture_output=True, check=False, text=True
    )
    return done.stdout, done.stderr


def test_psql_looks_around(server):
    told, errors = said_by_psql(
        server, r"\conninfo", r"\d", r"\dt+", r"\d visits", r"\d+ visits", r"\l", r"\dn+", r"\du"
    )
    assert errors == ""
    assert "double precision" in told
    assert "one of: A, B, C" in told
    assert "protects one person (patient)" in told
    assert told.count("not null") == 6  # of three columns, twice
    assert told.count("visits") >= 4


def test_psql_asks_and_is_told_the_price(server):
    told, notes = said_by_psql(
        server, "SET discreet.epsilon = '0.25'", "SET discreet.intervals = on", COUNT, COUNT
    )
    assert "n_low" in told
    assert "costs epsilon 0.25" in notes
    assert "is on record, and free" in notes
    receipt = notes.partition("receipt ")[2].split()[0]
    told, _ = said_by_psql(
        server,
        "/* a tool */ SET discreet.epsilon = '0.25'",
        COUNT,
        "/* a tool */ SHOW discreet.receipt",
    )
    assert receipt in told


def test_psql_shows_a_refusal_with_its_hint(server):
    _, errors = said_by_psql(server, "SELECT * FROM visits")
    assert "ERROR:  this asks for single rows" in errors
    assert "HINT:  write an aggregate" in errors
    _, errors = said_by_psql(server, COUNT.replace("n FROM", "unpriced FROM"))
    assert "HINT:  SET discreet.epsilon = '0.1'" in errors


def test_psycopg_asks_with_parameters_in_text_and_in_binary(server):
    with connected(server, options="-c discreet.epsilon=0.5") as db:
        for binary in (False, True):
            asked = BY_WARD.replace("GROUP", "WHERE cost > %s AND ward <> %s GROUP")
            rows = db.execute(asked, (5, "C"), binary=binary).fetchall()
            assert [ward for ward, _ in rows] == ["A", "B", "C"]
            assert {type(n) for _, n in rows} == {int}
        lists = "SELECT APPROX_QUANTILES(cost, 2) AS q, 1 > 2 AS no FROM visits"
        answers = [db.execute(lists, binary=binary).fetchall() for binary in (False, True)]
        assert answers[0] == answers[1]
        assert len(answers[0][0][0]) == 3
        with db.cursor("there") as cursor, pytest.raises(psycopg.Error, match="DECLARE is not"):
            cursor.execute(BY_WARD)


def test_prepared_statements_are_described_for_nothing(server):
    with connected(server, options="-c discreet.epsilon=0.75") as db:
        before = charges(server)
        lines = db.execute(f"EXPLAIN {COUNT}").fetchall()
        assert lines[0] == ("question  (cost=0..0.75)",)
        assert "epsilon 0.75" in str(lines)
        with Raw(server, token=server.token("ana")) as client:
            client.send(framed(b"Q", text("SET discreet.epsilon = '0.75'")))
            client.send(framed(b"P", text("later", f"{COUNT} WHERE ward = $1") + b"\0\0"))
            client.send(framed(b"D", b"S" + text("later")) + bound("", "later", "A"))
            client.send(framed(b"D", b"P" + text("")) + framed(b"S"))
            told = [*client.until_ready(), *client.until_ready(), *client.until_ready()]
            assert [body for kind, body in told if kind == b"t"] == [b"\0\1\0\0\0\x19"]
            described = [body for kind, body in told if kind == b"T"]
            assert [body[:4] for body in described] == [b"\0\1" + text("n")] * 2
            assert charges(server) == before
            client.send(bound("", "later", "A") + framed(b"E", b"\0" * 5) + framed(b"S"))
            assert [kind for kind, _ in client.until_ready()][:2] == [b"2", b"D"]
    assert charges(server) == before + 1


def test_a_transaction_is_refused_until_it_ends(server):
    with psycopg.connect(address(server)) as db:
        with pytest.raises(psycopg.Error, match="single rows"):
            db.execute("SELECT * FROM visits")
        with pytest.raises(psycopg.errors.InFailedSqlTransaction):
            db.execute("SELECT 1")
        db.rollback()
        assert db.execute("SELECT 1").fetchone() == (1,)
        with db.transaction(), db.transaction():
            assert db.execute("SELECT current_schema(), current_user").fetchone() == (
                "public",
                "ana",
            )


def test_a_clause_of_the_question_wins_over_the_session(server):
    told = []
    with connected(server, options="-c discreet.epsilon=0.5") as db:
        db.add_notice_handler(lambda note: told.append(note.message_primary))
        db.execute(
            "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 0.125) COUNT(*) AS n FROM visits"
        )
        db.execute("SET discreet.epsilon = default; SET discreet.share = '0.02%'")
        db.execute("SELECT COUNT(*) AS shared FROM visits")
    assert [each.partition("costs ")[2][:13] for each in told] == ["epsilon 0.125", "epsilon 0.4; "]


def test_sqlalchemy_reflects_and_asks(engine):
    found = sa.MetaData()
    found.reflect(engine)
    visits = found.tables["visits"]
    assert {name: str(each.type) for name, each in visits.c.items()} == {
        "patient": "BIGINT",
        "visit": "BIGINT",
        "region": "TEXT",
        "ward": "TEXT",
        "cost": "DOUBLE PRECISION",
    }
    assert (visits.c.cost.comment, visits.c.cost.nullable) == ("from 0 to 100", False)
    assert visits.comment == "protects one person (patient) under add_remove"
    asked = sa.select(visits.c.ward, sa.func.count().label("n")).where(visits.c.cost > 5)
    with engine.connect() as db:
        assert len(db.execute(asked.group_by(visits.c.ward)).all()) == 3


def test_pandas_reads_and_a_refresh_is_free(server, engine):
    frame = pd.read_sql("SELECT ward, AVG(cost) AS cost FROM public.visits GROUP BY ward", engine)
    assert list(frame.dtypes.astype(str)[1:]) == ["float64"]
    before = charges(server)
    again = pd.read_sql("SELECT ward, AVG(cost) AS cost FROM visits GROUP BY ward", engine)
    pd.testing.assert_frame_equal(frame, again)
    assert charges(server) == before


def test_jdbc_looks_around_and_asks(server):
    url = f"jdbc:postgresql://127.0.0.1:{server.sql_port}/clinic?options=-c%20discreet.epsilon=0.5"
    command = [java_home() / "bin" / "java", "-Xshare:auto", "-XX:TieredStopAtLevel=1"]
    command += ["-cp", driver(), HERE / "Clients.java", url, "ana", server.token("ana")]
    done = subprocess.run(
        command, capture_output=True, check=False, text=True, env=dict(os.environ)
    )
    lines = done.stdout.splitlines()
    assert done.returncode == 0, done.stderr
    assert lines[:3] == ["tables 1", "patient int8 null", "visit int8 null"]
    assert "ward text one of: A, B, C" in lines
    assert "keys 000" in lines
    assert len({line for line in lines if line.startswith("answer")}) == 1
    assert lines[-4:] == ["int8", "parts 3", "refused 42601", "valid true"]


RECORDED = [
    line.strip().rstrip(";")
    for line in (HERE / "recorded.sql").read_text().splitlines()
    if line and not line.startswith("--")
]


def test_what_tools_send_is_answered(server):
    with connected(server) as db:
        answers = {text: db.execute(text).fetchall() for text in RECORDED}
    named = [text for text in RECORDED if "visits" in str(answers[text])]
    assert len(named) >= 6
    types = next(rows for text, rows in answers.items() if "elemtypoid" in text)
    assert ("pg_catalog", 1022, "_float8", "a", False, 701) in types
