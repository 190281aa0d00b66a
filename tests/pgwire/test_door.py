"""The door itself: who gets in, what strangers and analysts can make it do, and what leaves it."""

import datetime as dt
import ipaddress
import os
import random
import select
import socket
import struct
import subprocess
import time

import psycopg
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from discreet.errors import BadPolicy, NotAllowed
from discreet.pgwire import door as doors
from discreet.service import check_site, read_site
from tests.pgwire.clinics import COUNT, SQL, address, connected, sql_clinic
from tests.pgwire.raw import Raw, bound, errors_of, framed, startup, text
from tests.service import canaries, served

WRONG = "dsc_wrong"
SSL = struct.pack("!ii", 8, 80877103)


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with sql_clinic(
        tmp_path_factory.mktemp("site"), table=canaries.table(), policy=canaries.POLICY
    ) as found:
        yield found


# --- who gets in --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("more", "state"),
    [
        ({"token": WRONG}, "28P01"),
        ({"token": "x" * 9000}, "28P01"),
        ({"name": "ben", "of": "ana"}, "28P01"),
        ({"database": "payroll"}, "3D000"),
        ({"options": "-c discreet.epsilom=1"}, "22023"),
        ({"client_encoding": "LATIN1"}, "22023"),
    ],
)
def test_nobody_else_gets_in(server, more, state):
    named = {"name": "ana", **more}
    token = named.pop("token", None) or server.token(named.pop("of", "ana"))
    with pytest.raises(psycopg.OperationalError) as refused:
        psycopg.connect(address(server, token=token, **named))
    with Raw(server) as client:
        parts = {key: each for key, each in named.items() if key not in {"name", "database"}}
        client.send(startup(named["name"], named.get("database", "clinic"), **parts))
        client.message()
        client.send(framed(b"p", text(token)))
        told = client.until_ready()
    assert errors_of(told) == [state], refused
    assert token not in str(told)


def test_a_token_of_less_scope_does_less(server):
    with connected(server, "vic") as db:
        assert db.execute("SELECT count(*) FROM information_schema.tables").fetchone() == (1,)
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            db.execute(f"SET discreet.epsilon = '0.5'; {COUNT}")
    scope = [each for each in server.caller("ana").allowed if each.value == "ask"]
    token = server.counter.tokens.make(server.caller("ana"), scope=scope)
    with connected(server, token=token) as db, pytest.raises(psycopg.errors.InsufficientPrivilege):
        db.execute("SELECT 1")


def test_a_revoked_token_ends_its_connections(server):
    token = server.token("ana")
    for asked in ("SELECT 1", COUNT):
        with connected(server, token=token if asked == COUNT else server.token("ana")) as db:
            db.execute("SET discreet.epsilon = '0.5'")
            for each in server.counter.tokens.of("ana"):
                server.counter.tokens.revoke(server.caller("ana"), each.prefix)
            with pytest.raises(psycopg.errors.InvalidPassword):
                db.execute(asked)
            assert db.closed
        token = server.token("ana")


def test_wrong_tokens_are_limited_by_address(tmp_path):
    with sql_clinic(tmp_path, calls_per_minute=5) as busy:
        told = []
        for _ in range(9):
            with Raw(busy, token=WRONG) as client:
                told += errors_of(client.until_ready())
        assert (told[0], told[-1]) == ("28P01", "53300")


@pytest.fixture
def certificate(tmp_path):
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = dt.datetime.now(dt.UTC)
    here = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), 1, now, now + dt.timedelta(2))
        .add_extension(here, critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    (tmp_path / "site.pem").write_bytes(made.public_bytes(pem))
    private = key.private_bytes(
        pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    (tmp_path / "site.key").write_bytes(private)
    (tmp_path / "site.key").chmod(0o600)
    return tmp_path / "site.pem"


def test_with_a_certificate_tokens_travel_over_tls_alone(tmp_path, certificate):
    more = SQL + 'certificate = "site.pem"\nkey = "site.key"\n'
    with sql_clinic(tmp_path, more=more) as safe:
        verified = {"sslmode": "verify-full", "sslrootcert": certificate}
        with connected(safe, **verified) as db:
            assert db.pgconn.ssl_in_use
            assert db.execute("SELECT 1").fetchone() == (1,)
        with Raw(safe) as client:
            client.send(startup())
            assert errors_of(client.until_ready()) == ["28000"]
        with Raw(safe) as client:
            client.send(SSL + startup())  # in clear behind it, for whoever does not look
            assert errors_of(client.until_ready()) == ["08P01"]


def test_a_site_that_would_leak_tokens_is_refused(tmp_path):
    path = served.written(tmp_path, site=served.SITE + SQL + 'host = "0.0.0.0"\n')
    with pytest.raises(NotAllowed, match="without TLS"):
        read_site(path)
    path.write_text(served.SITE + "[sql_clients]\nprot = 5432\n")
    with pytest.raises(BadPolicy, match="sql_clients has an unknown key"):
        read_site(path)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        path.write_text(served.SITE + f"[sql_clients]\nport = {taken.getsockname()[1]}\n")
        assert any("nothing can listen" in each.words for each in check_site(read_site(path)))


# --- what an analyst may try ----------------------------------------------------------------------

FORBIDDEN = """
SELECT * FROM read_csv('{file}')
SELECT content FROM read_text('{file}')
SELECT * FROM pg_catalog.read_text('{file}')
SELECT "read_blob"('{file}')
SELECT * FROM '{file}'
SELECT * FROM glob('/*')
SELECT * FROM pg_read_file('{file}')
SELECT getenv('HOME')
SELECT * FROM duckdb_settings()
SELECT * FROM system.x.main.duckdb_views
WITH duckdb_views AS (SELECT * FROM duckdb_views) SELECT * FROM duckdb_views
SELECT (WITH duckdb_views AS (SELECT 1) SELECT 1), v.* FROM duckdb_views v
SELECT * FROM duckdb_secrets()
SELECT query('SELECT 1')
SELECT lo_import('{file}')
SELECT pg_sleep(100)
COPY visits TO '{file}.copy'
COPY (SELECT 1) TO '{file}.copy'
COPY visits FROM STDIN
ATTACH '{file}'
PRAGMA database_list
INSTALL httpfs
CREATE TABLE x AS SELECT 1
SELECT * INTO x FROM pg_class
WITH x AS (DELETE FROM pg_class RETURNING 1) SELECT * FROM x
EXPLAIN ANALYZE SELECT note FROM visits
SELECT patient FROM visits
SELECT * FROM payroll.public.visits
SELECT * FROM pg_class, visits
SELECT (SELECT MAX(note) FROM visits) FROM pg_class
SELECT relname FROM pg_class WHERE relname IN (SELECT note FROM visits)
SET discreet.epsilon = 'much'
SET discreet.nothing = 1
SELECT count(*) FROM generate_series(1, 100000000000)
SELECT * FROM generate_series(1, 1000000000)
SELECT array_agg(x) FROM generate_series(1, 1000000000) t(x)
"""


@pytest.mark.parametrize("asked", FORBIDDEN.strip().splitlines())
def test_nothing_is_read_written_or_kept_busy(server, tmp_path, asked):
    file = tmp_path / "secret.csv"
    file.write_text("CANARY,1\n")
    with connected(server, options="-c discreet.epsilon=0.5") as db:
        with pytest.raises(psycopg.Error) as refused:
            db.execute(asked.format(file=file))
        assert refused.value.sqlstate[:2] in {"42", "22", "0A"}
        assert "CANARY" not in str(refused.value)
        assert db.execute("SELECT 1").fetchone() == (1,)
    assert list(tmp_path.iterdir()) == [file]


LONG = 90_000


@pytest.mark.parametrize(
    "asked",
    [" " * LONG + "1", f"SELECT '{'/*a' * (LONG // 3)}'", "BEGIN;" * (LONG // 6), "1" * 200_000],
    ids=["spaces", "comments", "statements", "long"],
)
def test_one_text_holds_nobody_up(server, asked):
    """The first two took minutes of the only event loop when expressions went back and forth."""
    with connected(server) as db:
        start = time.process_time()
        with pytest.raises(psycopg.Error):
            db.execute(asked)
        assert time.process_time() - start < 10
        assert db.execute("SELECT 1").fetchone() == (1,)


def test_a_parameter_in_many_places_fills_no_memory(server):
    many = "SELECT " + "$1 ," * 12_000 + "1"
    with Raw(server, token=server.token("ana")) as client:
        client.until_ready()
        client.send(framed(b"P", text("", many) + b"\0\0") + bound("", "", "x" * 100_000))
        client.send(framed(b"E", text("") + bytes(4)) + framed(b"S"))  # 1.2 GB if it were filled in
        assert errors_of(client.until_ready()) == ["54000"]
        client.send(framed(b"P", text("", many[: 7 + 4 * 900] + "1") + b"\0\0"))
        client.send(bound("", "", "x" * 100_000) + framed(b"E", text("") + bytes(4)) + framed(b"S"))
        assert errors_of(client.until_ready()) == ["42601"]


def test_a_value_that_does_not_fit_its_form_ends_no_connection(server):
    with psycopg.connect(address(server), autocommit=True) as db:
        with pytest.raises(psycopg.errors.InvalidParameterValue):
            db.execute(f"SELECT {2**100} AS n", binary=True)
        assert db.execute("SELECT 1").fetchone() == (1,)
    nested = struct.pack("!iiI", 1, 0, 1016)  # a list of a list of a list
    for _ in range(3000):
        nested = nested[:12] + struct.pack("!iii", 1, 1, len(nested)) + nested
    parse = framed(b"P", text("", "SELECT $1") + struct.pack("!hi", 1, 1016))
    bind = text("", "") + struct.pack("!hhhi", 1, 1, 1, len(nested)) + nested + b"\0\0"
    with Raw(server, token=server.token("ana")) as client:
        client.until_ready()
        client.send(parse + framed(b"B", bind) + framed(b"S"))
        assert errors_of(client.until_ready()) == ["22023"]


def test_a_text_that_grows_ends_its_process_and_not_the_server(server):
    many = "a" * 1000
    grown = "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'"
    for _ in range(3):
        grown = f"replace({grown}, 'a', '{many}')"  # 40 GB
    with connected(server) as db:
        with pytest.raises(psycopg.Error):
            db.execute(f"SELECT {grown}")
        assert db.execute("SELECT 1").fetchone() == (1,)


def test_who_goes_leaves_one_process_at_work_and_no_more(server):
    """One person's questions about tables wait for each other, however often they hang up."""
    long = framed(b"Q", text("SELECT count(*) FROM generate_series(1, 100000000000)"))
    with connected(server) as db:
        for _ in range(2):  # both processes have begun
            db.execute("SELECT 1")
    with Raw(server, token=server.token("ana")) as client:
        client.until_ready()
        client.send(long)
        time.sleep(0.5)
    time.sleep(1.2)  # it is noticed that the client has gone
    again = Raw(server, token=server.token("ana"), seconds=300)
    with again, connected(server, "ben") as ben:
        again.until_ready()
        again.send(framed(b"Q", text("SELECT 1")))
        for _ in range(2):
            ben.execute("SELECT 1")
        assert select.select([again.socket], [], [], 0)[0] == []
        assert again.until_ready()[-1][0] == b"Z"


def test_settings_of_the_server_are_not_told(server):
    with connected(server) as db:
        told = str(db.execute("SELECT * FROM pg_settings").fetchall())
        told += str(db.execute("SHOW ALL").fetchall())
    assert "/" not in told.replace("read/write", "")


def test_messages_have_a_size_and_come_in_time(server, monkeypatch):
    with Raw(server) as client:
        client.send(struct.pack("!ii", 1 << 30, 196608))
        assert errors_of(client.until_ready()) == ["08P01"]
    with Raw(server, token=server.token("ana")) as client:
        client.until_ready()
        client.send(b"Q" + struct.pack("!i", 1 << 30))
        assert errors_of(client.until_ready()) == ["54000"]
    monkeypatch.setattr("discreet.pgwire.wire.MESSAGE_SECONDS", 0.2)
    with Raw(server, token=server.token("ana")) as client:
        client.until_ready()
        client.send(b"Q" + struct.pack("!i", 100) + b"half of")
        assert client.message() is None


def test_strangers_and_people_have_a_number_of_connections(server, monkeypatch):
    monkeypatch.setattr(doors, "_OF_A_PERSON", 2)
    too_many = pytest.raises(psycopg.OperationalError, match="too many connections")
    with connected(server), connected(server), connected(server, "ben"), too_many:
        connected(server)
    monkeypatch.setattr(doors, "_STRANGERS_OF_AN_ADDRESS", 1)
    with Raw(server) as silent:
        silent.send(startup())
        silent.message()
        with Raw(server) as other:
            assert errors_of(other.until_ready()) == ["53300"]
        with Raw(server, at="127.0.0.2", token=server.token("ana")) as elsewhere:
            assert elsewhere.until_ready()[-1][0] == b"Z"
        monkeypatch.setattr(doors, "_STRANGERS", 1)
        with Raw(server, at="127.0.0.2") as elsewhere:
            assert errors_of(elsewhere.until_ready()) == ["53300"]
    monkeypatch.setattr("discreet.pgwire.connection._STARTUP_SECONDS", 0.2)
    with Raw(server) as silent:
        assert silent.message() is None


def test_a_client_that_does_not_read_is_cut_off(server, monkeypatch):
    monkeypatch.setattr("discreet.pgwire.wire.WRITE_SECONDS", 0.3)
    with Raw(server, token=server.token("ana")) as client:
        client.until_ready()
        long = "a" * 1000
        asked = framed(b"Q", text(f"SELECT '{long}' FROM generate_series(1, 5000)"))  # noqa: S608
        with pytest.raises((ConnectionError, TimeoutError)):
            client.send(asked * 4000)
    with connected(server) as db:
        assert db.execute("SELECT 1").fetchone() == (1,)


def test_a_client_that_cancels_or_goes_leaves_its_question(tmp_path):
    priced = framed(b"Q", text("SET discreet.epsilon = '0.5'"))
    with sql_clinic(tmp_path, tick="3") as slow, Raw(slow, token=slow.token("ana")) as client:
        key = next(body for kind, body in client.until_ready() if kind == b"K")
        client.send(priced)
        client.until_ready()
        begun = time.monotonic()
        client.send(framed(b"Q", text(COUNT)))
        time.sleep(0.5)
        with Raw(slow) as other:
            other.send(struct.pack("!ii", 16, 80877102) + key)
            assert other.message() is None
        assert errors_of(client.until_ready()) == ["57014"]
        client.send(framed(b"Q", text(COUNT)))
        client.socket.close()
        with connected(slow, options="-c discreet.epsilon=0.5") as db:
            assert db.execute(COUNT).fetchone() is not None
        assert time.monotonic() - begun > 3  # at its tick, whoever waited for it
        entries = slow.counter.history(slow.caller("olga"), "clinic")
        assert sum(each["kind"] == "charge" for each in entries) == 1


# --- any bytes ------------------------------------------------------------------------------------


def changed(draw, data):
    """Return bytes with a few of them changed, dropped or doubled."""
    found = bytearray(data)
    for _ in range(draw.randint(0, 4)):
        at = draw.randrange(len(found) + 1)
        match draw.randrange(4):
            case 0:
                found[at : at + 1] = bytes([draw.randrange(256)])
            case 1:
                del found[at : at + draw.randint(1, 9)]
            case 2:
                found[at:at] = draw.randbytes(draw.randint(1, 9))
            case _:
                found[at:at] = found[: draw.randint(1, 40)]
        if not found:
            break
    return bytes(found)


def test_any_bytes_crash_nothing_and_move_no_value(server):
    """Ten thousand messages, most of them broken, and no word of a row in what comes back."""
    draw = random.Random(44)  # noqa: S311
    sent, answered, seen = 0, 0, b""
    token = server.token("ana")
    good = [
        framed(b"Q", text("SELECT 1; SELECT current_user")),
        framed(b"Q", text("SELECT note, patient FROM visits")),
        framed(b"Q", text("SET discreet.epsilon = '0.1'")),
        framed(b"Q", text("SHOW ALL")),
        framed(b"P", text("s", "SELECT $1::int, relname FROM pg_class") + b"\0\1\0\0\0\x17"),
        framed(b"P", text("", "SET a.b = 1") + b"\0\0"),
        bound("", "s", "5"),
        bound("", ""),
        framed(b"D", b"S" + text("s")),
        framed(b"D", b"P" + text("")),
        framed(b"E", text("") + b"\0\0\0\2"),
        framed(b"C", b"S" + text("s")),
        framed(b"S"),
        framed(b"H"),
        framed(b"d", b"rows"),
        framed(b"F", b"\0\0\0\1"),
    ]
    while sent < 10_000:
        with Raw(server, token=token, seconds=20) as client:
            client.until_ready()
            batch = [draw.choice(good) for _ in range(40)]
            batch = [changed(draw, each) if draw.random() < 0.4 else each for each in batch]
            sent += len(batch)
            try:
                client.send(b"".join(batch))
                client.socket.shutdown(socket.SHUT_WR)
                client.drained()
                answered += 1
            except (ConnectionError, TimeoutError):
                pass
            seen += client.seen
    with Raw(server) as stranger:
        stranger.send(draw.randbytes(100))
        stranger.drained()
        seen += stranger.seen
    assert answered > 200
    assert canaries.leaked(seen) == []
    with connected(server, token=token) as db:
        assert db.execute("SELECT 1").fetchone() == (1,)


def test_no_process_stays_behind(tmp_path):
    with sql_clinic(tmp_path) as last, connected(last) as db:
        db.execute("SELECT 1")
        listed = ["ps", "--ppid", str(os.getpid()), "-o", "args="]
        before = subprocess.run(listed, capture_output=True, text=True, check=True).stdout
    after = subprocess.run(listed, capture_output=True, text=True, check=False).stdout
    of_ours = "multiprocessing.spawn"
    assert after.count(of_ours) < before.count(of_ours)
