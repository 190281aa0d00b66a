"""Ledgers on a PostgreSQL server: the contract of stores, addresses, servers that are refused."""

import secrets
import sys
import threading
import time
import traceback

import pytest

from discreet.errors import LedgerError, LedgerUnavailable, WrongKind
from discreet.ledger.postgres import PostgresStore
from discreet.ledger.store import store_for
from tests.ledger.store_contract import (
    CHECKS,
    Chain,
    check_writers_take_turns,
    made,
    place_of,
    stored,
    write,
)

SECRET = secrets.token_hex(8)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__.removeprefix("check_"))
def test_contract(check, place):
    check(place)


# --- addresses --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "rest",
    [
        "#Upper",
        "#with-dash",
        "#with space",
        '#quo"te',
        "#1st",
        "#pg_mine",
        "#information_schema",
        "#größe",
        "#" + "a" * 64,
        "#a#b",
        "#a\n",
        "?nonsense=1",
        "?connect_timeout",
        "%zz",
        "\udc80",
    ],
)
def test_addresses_that_cannot_be_read_are_not_quoted(rest):
    with pytest.raises(WrongKind) as caught:
        store_for(f"postgresql://ana:{SECRET}@127.0.0.1/clinic{rest}", timeout=1)
    assert_silent(caught.value)
    with pytest.raises(WrongKind) as caught:
        store_for(f"postgresql://ana:#{SECRET}@127.0.0.1/clinic", timeout=1)
    assert_silent(caught.value)


@pytest.mark.parametrize("scheme", ["postgresql", "postgres"])
@pytest.mark.parametrize(
    ("rest", "shown"),
    [
        ("", "discreet"),
        ("#", "discreet"),
        ("#flu_2026", "flu_2026"),
        ("#_" + "a" * 62, "_" + "a" * 62),
    ],
)
def test_an_address_names_a_schema(scheme, rest, shown):
    store = store_for(f"{scheme}://ana:{SECRET}@127.0.0.1/clinic{rest}", timeout=1)
    assert repr(store) == f"PostgresStore(#{shown})"
    assert repr(store._server) == f"Server(#{shown})"


def assert_silent(error):
    """Neither the error nor what it was raised from shows the password."""
    assert SECRET not in "".join(traceback.format_exception(error)) + repr(vars(error))
    assert error.__cause__ is None
    assert error.__context__ is None


def test_what_the_driver_says_is_not_passed_on(postgres, owner, place):
    nowhere = f"postgresql://owner:{SECRET}@127.0.0.1:1/postgres"
    for address in (
        nowhere,
        postgres.address("x", password=SECRET),
        postgres.address("x", role="me"),
    ):
        with pytest.raises(LedgerUnavailable) as caught:
            made(PostgresStore(address, timeout=5))
        assert_silent(caught.value)
    store = place.opened()
    write(store, *Chain().asked(SECRET))
    with pytest.raises(LedgerError) as caught:
        write(store, *Chain().asked(SECRET))
    assert_silent(caught.value)


def test_a_missing_driver_is_explained(monkeypatch):
    for name in ("postgres",):
        monkeypatch.delitem(sys.modules, f"discreet.ledger.{name}", raising=False)
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(LedgerUnavailable, match=r"pip install 'discreet\[postgres\]'"):
        store_for("postgresql://127.0.0.1/clinic", timeout=1)


# --- servers ----------------------------------------------------------------------------------


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


@pytest.mark.parametrize("name", ["fsync", "full_page_writes"])
def test_servers_that_may_forget_are_refused(setting, place, name):
    chain, store = Chain(), place.opened()
    write(store, chain.add("open"))
    setting(name, "off")
    with pytest.raises(LedgerUnavailable, match=name):
        made(place.store())
    with pytest.raises(LedgerUnavailable, match=name):
        write(store, *chain.asked("k"))
    setting(name, "on")
    write(store, *chain.rows[1:])
    assert stored(store) == chain.rows


def test_a_database_that_cannot_hold_every_text_is_refused(postgres, owner):
    owner("CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0 LOCALE 'C'")
    address = postgres.address("x").replace("/postgres#", "/latin#")
    with pytest.raises(LedgerUnavailable, match="UTF8"):
        made(PostgresStore(address, timeout=5))


def test_a_server_that_accepts_no_changes_is_refused(postgres, owner, place):
    place.opened()
    owner(f"CREATE ROLE reader SUPERUSER LOGIN PASSWORD '{SECRET}'")
    owner("ALTER ROLE reader SET default_transaction_read_only = on")
    address = postgres.address("x", role="reader", password=SECRET)
    with pytest.raises(LedgerUnavailable, match="accepts changes") as caught:
        made(PostgresStore(address, timeout=5))
    assert_silent(caught.value)


def test_the_settings_of_a_role_do_not_weaken_a_ledger(postgres, owner, name):
    owner(f"CREATE ROLE hasty SUPERUSER LOGIN PASSWORD '{SECRET}'")
    for changed in (
        "synchronous_commit = off",
        "default_transaction_isolation = 'serializable'",
        "search_path = 'nowhere'",
        "statement_timeout = '2s'",
        "standard_conforming_strings = off",
    ):
        owner(f"ALTER ROLE hasty SET {changed}")
    address = postgres.address(name, role="hasty", password=SECRET)
    with place_of(lambda timeout: PostgresStore(address, timeout=timeout)) as place:
        check_writers_take_turns(place)
        store = place.opened()
        with store.exclusive():
            asked = "synchronous_commit", "transaction_isolation", "statement_timeout"
            found = [store._session.ask("SELECT current_setting(%s)", what) for what in asked]
        assert found == [[("on",)], [("read committed",)], [("0",)]]


# --- turns ------------------------------------------------------------------------------------


def test_waiting_for_others_ends(place):
    chain, store, other = Chain(), place.opened(), place.opened(timeout=0.2)
    with store.exclusive():
        store.append([chain.add("open")])
        begun = time.monotonic()
        with pytest.raises(LedgerUnavailable, match="longer than the timeout"):
            write(other, chain.rows[0])
        assert 0.15 < time.monotonic() - begun < 5
        assert stored(other) == []
    write(other, *chain.asked("k"))
    assert stored(store) == chain.rows


def test_creating_waits_no_longer_either(owner, postgres, name, place):
    held = place.store()._server.connect()
    held.begin(f"SELECT pg_advisory_xact_lock(hashtextextended('discreet ledger \"{name}\"', 0))")
    with pytest.raises(LedgerUnavailable, match="longer than the timeout"):
        place.opened(timeout=0.2)
    held.close()
    place.opened()


def test_turns_come_in_the_order_of_asking(owner, place):
    order, threads = [], []

    def work(number):
        store = place.opened()
        asking.set()
        with store.exclusive():
            order.append(number)

    waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted AND mode = 'ShareRowExclusiveLock'"
    with place.opened().exclusive():
        for number in range(5):
            asking = threading.Event()
            threads.append(threading.Thread(target=work, args=(number,)))
            threads[-1].start()
            asking.wait(10)
            while owner(waiting) != [(number + 1,)]:
                time.sleep(0.005)
    for thread in threads:
        thread.join()
    assert order == [0, 1, 2, 3, 4]


def test_a_closed_store_is_not_used(place):
    store = place.opened()
    with pytest.raises(LedgerUnavailable):
        store.append([Chain().add("open")])
    with pytest.raises(LedgerUnavailable):
        store.keep_checkpoint(1, "")
    store.close()
    for use in (lambda: stored(store), lambda: write(store), store.checkpoint):
        with pytest.raises(LedgerUnavailable, match="closed"):
            use()
