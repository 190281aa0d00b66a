"""A ledger on a PostgreSQL server when something breaks, and what it refuses."""

import os
import signal
import sys
import threading
import time
import traceback

import psycopg
import pytest

from discreet.accounting import Budget
from discreet.errors import (
    LedgerError,
    LedgerUnavailable,
    NewerFormat,
    OverBudget,
    WrongKind,
)
from discreet.ledger import Ledger, Started
from discreet.ledger.store import store_for
from discreet.loss import Pure
from discreet.units import row
from tests.ledger.programs import Program, forked

TERMS = {"unit": row(), "budget": Budget(epsilon=1)}
SMALL = Pure(epsilon="0.001")
LIMIT = 40
SECRET = "xyzzy-4711"  # noqa: S105  of nobody


@pytest.fixture
def ledger(address):
    with Ledger.open(address, **TERMS, timeout=10) as ledger:
        yield ledger


def ask(ledger, key):
    ledger.begin(SMALL, key=key)
    return ledger.release(key, b"42" * 100)


def terminate(owner):
    """End all other sessions, as an administrator or a failing server would."""
    others = "FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND application_name = 'discreet'"
    owner(f"SELECT pg_terminate_backend(pid) {others}")
    while owner(f"SELECT 1 {others}"):
        time.sleep(0.005)


def assert_silent(error):
    """Neither the error nor what it was raised from shows the password, or a stored value."""
    assert SECRET not in "".join(traceback.format_exception(error)) + repr(vars(error))
    assert error.__cause__ is None
    assert error.__context__ is None


# --- addresses and places -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "rest",
    [
        *("#Upper", "#with-dash", '#quo"te', "#1st", "#pg_mine", "#information_schema", "#größe"),
        *("#" + "a" * 64, "#a#b", "#a\n", "?nonsense=1", "?connect_timeout", "%zz", "\udc80"),
    ],
)
def test_addresses_that_cannot_be_read_are_not_quoted(rest):
    for secret in (SECRET, f"#{SECRET}"):
        with pytest.raises(WrongKind) as caught:
            Ledger.open(f"postgresql://ana:{secret}@127.0.0.1/clinic{rest}", **TERMS)
        assert_silent(caught.value)


def test_what_the_driver_says_is_not_passed_on(postgres, owner, ledger):
    nowhere = f"postgresql://owner:{SECRET}@127.0.0.1:1/postgres"
    for address in (nowhere, postgres.address("x", password=SECRET)):
        with pytest.raises(LedgerUnavailable) as caught:
            Ledger.open(address, **TERMS, timeout=5)
        assert_silent(caught.value)
    ledger.charge(SMALL, key="k")
    owner("ALTER TABLE entry ADD CHECK (length(key) < 3)")
    with pytest.raises(LedgerError) as caught:
        ledger.charge(SMALL, key=SECRET)
    assert SECRET not in str(caught.value)
    assert ledger.charge(SMALL, key="l").seq == 3


def test_a_missing_driver_is_explained(monkeypatch):
    monkeypatch.delitem(sys.modules, "discreet.ledger.postgres", raising=False)
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(LedgerUnavailable, match=r"pip install 'discreet\[postgres\]'"):
        store_for("postgresql://127.0.0.1/clinic", timeout=1)


def test_a_later_format_is_refused(owner, address, ledger):
    owner("UPDATE meta SET format = 2")
    with pytest.raises(NewerFormat):
        Ledger.open(address)


def test_entries_are_only_ever_appended(owner, ledger):
    ask(ledger, "k")
    for statement in ("UPDATE entry SET line = ''", "DELETE FROM entry", "TRUNCATE entry"):
        with pytest.raises(psycopg.errors.RestrictViolation):
            owner(statement)
    for kind, answer in (("charge", None), ("release", b"43")):
        values = (5, kind, "k", "", "{}", "0" * 64, answer)
        with pytest.raises(psycopg.errors.UniqueViolation):
            owner("INSERT INTO entry VALUES (%s, %s, %s, %s, %s, %s, %s)", *values)
    assert ledger.verify().ok


def test_a_role_needs_the_rights_that_are_named_and_no_others(postgres, owner, name, ledger):
    owner(f"CREATE ROLE clerk_{name} LOGIN PASSWORD '{SECRET}'")
    address = postgres.address(name, role=f"clerk_{name}", password=SECRET)
    with pytest.raises(LedgerUnavailable, match="lacks a right"):
        Ledger.open(address, timeout=5)
    for rights in (
        f"USAGE ON SCHEMA {name}",
        "SELECT ON meta",
        "SELECT, INSERT ON entry",
        "UPDATE ON turn",
    ):
        owner(f"GRANT {rights} TO clerk_{name}")
    with Ledger.open(address, timeout=5) as clerk:
        ask(clerk, "k")
    assert ledger.receipt.seq == 4


# --- servers that may forget ----------------------------------------------------------------------


@pytest.fixture
def setting(owner):
    """Change a setting of the running server, until the test ends."""
    changed = []

    def change(name, value):
        changed.append(name)
        owner(f"ALTER SYSTEM SET {name} = {value}")
        reload(name, value)

    def reload(name, value):
        owner("SELECT pg_reload_conf()")
        while owner("SELECT current_setting(%s)", name) != [(value,)]:
            time.sleep(0.01)

    yield change
    for name in changed:
        owner(f"ALTER SYSTEM RESET {name}")
        reload(name, "on")


@pytest.mark.parametrize("name_of_it", ["fsync", "full_page_writes"])
def test_servers_that_may_forget_are_refused(setting, address, ledger, name_of_it):
    setting(name_of_it, "off")
    with pytest.raises(LedgerUnavailable, match=name_of_it):
        Ledger.open(address)
    with pytest.raises(LedgerUnavailable, match=name_of_it):
        ledger.charge(SMALL, key="k")
    setting(name_of_it, "on")
    assert ledger.charge(SMALL, key="k").seq == 2


@pytest.mark.theorem("postgres-durable")
def test_the_settings_of_a_role_do_not_weaken_a_ledger(postgres, owner, name, ledger):
    """Where the log has been synced to is told by the server right after each commit."""
    owner(f"CREATE ROLE hasty SUPERUSER LOGIN PASSWORD '{SECRET}'")
    for changed in (
        "synchronous_commit = off",
        "default_transaction_isolation = 'serializable'",
        "search_path = 'nowhere'",
        "standard_conforming_strings = off",
    ):
        owner(f"ALTER ROLE hasty SET {changed}")
    with Ledger.open(postgres.address(name, role="hasty", password=SECRET)) as hasty:
        for number in range(5):
            hasty.charge(SMALL, key=f"k{number}")
            flushed = "SELECT pg_current_wal_flush_lsn() >= max(lsn) FROM (SELECT "
            flushed += "pg_current_wal_insert_lsn() - 0::numeric AS lsn) AS now"
            assert owner(flushed) == [(True,)]
    assert ledger.receipt.seq == 6


# --- sessions and lines ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "use",
    [
        lambda ledger: ledger.charge(SMALL, key="l").new,
        lambda ledger: ledger.left(),
        lambda ledger: ledger.find("q") is None,
    ],
    ids=["charge", "look", "find"],
)
def test_a_session_lost_while_idle_is_begun_again(owner, ledger, use):
    ask(ledger, "k")
    terminate(owner)
    assert use(ledger)


def test_waiting_for_others_ends(address, ledger, owner, name):
    with psycopg.connect(address.partition("#")[0]) as other:
        other.execute(f"LOCK TABLE {name}.turn IN SHARE ROW EXCLUSIVE MODE")
        with (
            Ledger.open(address, timeout=0.3) as hasty,
            pytest.raises(LedgerUnavailable, match="longer than the timeout"),
        ):
            hasty.charge(SMALL, key="k")
    assert ledger.charge(SMALL, key="k").seq == 2


STAYS = """
ledger = Ledger.open(address)
with ledger._link._store.exclusive():
    say("inside")
    hear()
"""


def test_a_killed_client_gives_its_turn_back(address, ledger):
    with Program(STAYS, address=address) as program:
        assert program.hear() == "inside"
        program.process.send_signal(signal.SIGKILL)
        assert ledger.charge(SMALL, key="k").seq == 2


@pytest.mark.theorem("postgres-durable")
def test_a_crash_of_the_server_keeps_exactly_what_was_committed(postgres, address, ledger):
    stop, told, doubtful = threading.Event(), [], []
    opened = threading.Barrier(4)

    def work(number):
        with Ledger.open(address, timeout=10) as mine:
            opened.wait(60)
            attempt = 0
            while not stop.is_set():
                key, attempt = f"{number} {attempt}", attempt + 1
                try:
                    told.append(ask(mine, key).receipt)
                except LedgerUnavailable:
                    doubtful.append(key)
                    time.sleep(0.1)

    clerks = [threading.Thread(target=work, args=(number,)) for number in range(3)]
    for clerk in clerks:
        clerk.start()
    opened.wait(60)
    for _ in range(2):
        before = len(told)
        while len(told) < before + 10:
            time.sleep(0.005)
        postgres.crash()
        postgres.start()
    stop.set()
    for clerk in clerks:
        clerk.join()
    report = ledger.verify(told)
    assert report.problems == ()
    assert doubtful
    assert len(told) <= report.releases <= len(told) + len(doubtful)
    assert report.charges <= len(told) + len(doubtful)


# --- from end to end ------------------------------------------------------------------------------


def answered(ledger, key, answer, *, question="", epsilon="0.1"):
    ledger.charge(Pure(epsilon=epsilon), key=key, question=question)
    assert isinstance(ledger.start(key), Started)
    return ledger.release(key, answer)


def test_exports_go_both_ways(tmp_path, postgres, name, ledger):
    answered(ledger, "visits", bytes(range(256)), question="q")
    ledger.backup(tmp_path / "export")
    said = {"reason": "moved", "by": "ana", "approved_by": "bo", "last": ledger.receipt}
    places = (tmp_path / "file", postgres.address(f"{name}_again"))
    for place in places:
        with Ledger.restore(place, tmp_path / "export", **said) as moved:
            assert moved.find("q").answer == bytes(range(256))
            assert moved.verify([ledger.receipt]).problems == ()
            assert str(moved.left()) == str(ledger.left())


def granted(address, name, *, threads, tries):
    """Charge one fortieth of the limit again and again; return how often it was granted."""
    successes = []

    def work(number):
        for attempt in range(tries):
            key = f"{name}/{number}/{attempt}"
            try:
                ledger.charge(Pure(epsilon=f"1/{LIMIT}"), key=key)
            except OverBudget:
                continue
            ledger.start(key)
            ledger.release(key, key.encode())
            successes.append(key)

    with Ledger.open(address) as ledger:
        workers = [threading.Thread(target=work, args=(number,)) for number in range(threads)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    return len(successes)


def test_many_clients_are_granted_exactly_the_limit(tmp_path, address, ledger):
    """Eight threads here and four processes elsewhere: 112 requests for 40."""

    def elsewhere(number):
        found = granted(address, f"client {number}", threads=2, tries=12)
        (tmp_path / f"{number}").write_text(f"{found}")

    clients = [forked(elsewhere, number) for number in range(4)]
    found = [granted(address, "here", threads=8, tries=2)]
    assert [os.waitpid(client, 0)[1] for client in clients] == [0] * 4
    found += [int((tmp_path / f"{number}").read_text()) for number in range(4)]
    assert sum(found) == LIMIT
    report = ledger.verify()
    assert (report.problems, report.charges, report.releases) == ((), LIMIT, LIMIT)
    with pytest.raises(OverBudget):
        ledger.charge(Pure(epsilon=f"1/{LIMIT}"), key="one more")
