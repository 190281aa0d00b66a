"""Ledgers on a PostgreSQL server when something breaks: sessions, clients, lines, the server."""

import contextlib
import os
import signal
import threading
import time
import traceback

import pytest

from discreet.errors import LedgerError, LedgerUnavailable
from discreet.ledger import postgres as postgres_session
from discreet.ledger.postgres import PostgresStore
from tests.ledger.cut_line import CutLine
from tests.ledger.processes import forked
from tests.ledger.store_contract import Chain, heads, place_of, stored, write

AGAIN = "try again with the same key"


def terminate(owner, store):
    """End the session of a store, as an administrator or a failing server would."""
    process = store._session._connection.info.backend_pid
    owner("SELECT pg_terminate_backend(%s)", process)
    while owner("SELECT 1 FROM pg_stat_activity WHERE pid = %s", process):
        time.sleep(0.005)


def chained(rows):
    return all(row.follows(*last) for row, last in zip(rows, heads(rows), strict=False))


# --- sessions ---------------------------------------------------------------------------------


@pytest.mark.parametrize("use", ["read", "write", "look up", "checkpoint"])
def test_a_session_lost_while_idle_is_begun_again(owner, place, use):
    chain, store = Chain(), place.opened()
    write(store, *chain.asked("k", answer=b"42"))
    terminate(owner, store)
    if use == "read":
        assert stored(store) == chain.rows
    elif use == "write":
        write(store, *chain.asked("l"))
    elif use == "look up":
        assert store.rows_of(["k"]) == chain.rows
    else:
        assert store.checkpoint() is None
    assert stored(place.opened()) == chain.rows


@pytest.mark.parametrize("when", ["at once", "amid", "before the commit"])
def test_a_session_lost_in_its_turn_leaves_nothing(owner, place, when):
    chain, store = Chain(), place.opened()
    write(store, chain.add("open"))
    lost = Chain(chain.rows)

    def work():
        with store.exclusive():
            if when == "at once":
                terminate(owner, store)
            store.append(lost.asked("k"))
            store.keep_checkpoint(2, "lost")
            if when == "amid":
                terminate(owner, store)
            store.append([lost.add("release", key="k", answer=b"42")])
            if when == "before the commit":
                terminate(owner, store)

    with pytest.raises(LedgerUnavailable, match=AGAIN) as caught:
        work()
    assert caught.value.__context__ is None
    assert "administrator" not in "".join(traceback.format_exception(caught.value))
    for reader in (store, place.opened()):
        assert stored(reader) == chain.rows
        assert reader.checkpoint() is None
    write(store, *chain.asked("k", answer=b"43"))
    assert stored(store) == chain.rows


@pytest.mark.parametrize("lose", [True, False])
def test_a_failure_that_was_passed_over_is_no_success(owner, place, lose):
    chain, store = Chain(), place.opened()
    write(store, chain.add("open"))

    def work():
        with store.exclusive():
            store.append(Chain(chain.rows).asked("k"))
            if lose:
                terminate(owner, store)
            for use in (
                lambda: store.append(chain.rows),
                lambda: stored(store),
                lambda: store.append(Chain(chain.rows).asked("l")),
                lambda: store.keep_checkpoint(1, ""),
            ):
                with contextlib.suppress(LedgerError):
                    use()
                    survived.append(use)

    survived = []
    with pytest.raises(LedgerUnavailable):
        work()
    assert survived == []
    assert stored(store) == chain.rows


def test_a_writer_that_sleeps_loses_its_turn(monkeypatch, place):
    monkeypatch.setattr(postgres_session, "_LEASE", 0)
    chain, sleeper, other = Chain(), place.opened(timeout=0.3), place.opened()

    def work():
        with sleeper.exclusive():
            sleeper.append(Chain().asked("k"))
            write(other, chain.add("open"))

    with pytest.raises(LedgerUnavailable):
        work()
    assert stored(sleeper) == chain.rows


# --- lines ------------------------------------------------------------------------------------


@pytest.mark.parametrize("cut", ["before", "after"])
def test_a_line_cut_at_the_commit_leaves_all_or_nothing(postgres, address, place, cut):
    chain, direct = Chain(), place.opened()
    write(direct, chain.add("open"))
    with CutLine(postgres.port) as line:
        detour = address.replace(f":{postgres.port}/", f":{line.port}/")
        with place_of(lambda timeout: PostgresStore(detour, timeout=timeout)) as far:
            store = far.opened()
            line.cut = cut
            new = Chain(chain.rows).asked("k", answer=b"42")
            with pytest.raises(LedgerUnavailable, match=AGAIN) as caught:
                write(store, *new)
            assert "amid a commit" in caught.value.what
            line.cut = None
            with store.exclusive():  # whoever has the next turn sees how it ended
                assert stored(store) == chain.rows + (new if cut == "after" else [])
    assert stored(direct) == chain.rows + (new if cut == "after" else [])


# --- clients ----------------------------------------------------------------------------------


def stay_in_turn(address, report):
    store = PostgresStore(address, timeout=60)
    store.open()
    with store.exclusive():
        store.append(Chain(store.rows(0)).asked("k", answer=b"42"))
        os.write(report, b"inside")
        time.sleep(60)


def test_a_killed_client_leaves_nothing_and_gives_its_turn_back(address, place):
    chain, store = Chain(), place.opened(timeout=30)
    write(store, chain.add("open"))
    told, report = os.pipe()
    client = forked(stay_in_turn, address, report)
    assert os.read(told, 20) == b"inside"
    os.kill(client, signal.SIGKILL)
    try:
        write(store, *chain.asked("l"))
    finally:
        os.waitpid(client, 0)
        os.close(told)
        os.close(report)
    assert stored(store) == chain.rows


# --- the server -------------------------------------------------------------------------------


def test_a_server_that_stops_is_told_and_found_again(postgres, place):
    chain, store = Chain(), place.opened(timeout=2)
    write(store, chain.add("open"))
    postgres.stop()
    try:
        for _ in range(2):
            with pytest.raises(LedgerUnavailable):
                write(store, *Chain(chain.rows).asked("k"))
            with pytest.raises(LedgerUnavailable):
                stored(store)
    finally:
        postgres.start()
    write(store, *chain.asked("k"))
    assert stored(store) == chain.rows


class Clerk(threading.Thread):
    """Answers one question a turn until told to stop; knows what it was told is durable."""

    def __init__(self, store, stop):
        super().__init__()
        self.store, self.stop = store, stop
        self.durable, self.doubtful, self.seen = [], [], []
        self.start()

    def run(self):
        while not self.stop.is_set():
            added = []
            try:
                with self.store.exclusive():
                    chain = Chain(stored(self.store))
                    self.seen.append(list(chain.rows))
                    added = chain.asked(f"k{len(chain.rows)}", answer=b"42" * 100)
                    self.store.append(added)
                self.durable.append(added)
            except LedgerUnavailable:
                self.doubtful.append(added)
                time.sleep(0.1)


@pytest.mark.theorem("postgres-durable")
def test_a_crash_of_the_server_keeps_exactly_what_was_committed(postgres, place):
    stop = threading.Event()
    clerks = [Clerk(place.opened(), stop) for _ in range(3)]
    for _ in range(2):
        before = sum(len(clerk.durable) for clerk in clerks)
        while sum(len(clerk.durable) for clerk in clerks) < before + 10:
            time.sleep(0.005)
        postgres.crash()
        postgres.start()
    stop.set()
    for clerk in clerks:
        clerk.join()
    rows = stored(place.opened())
    durable = [added for clerk in clerks for added in clerk.durable]
    doubtful = [added for clerk in clerks for added in clerk.doubtful]
    assert doubtful
    assert chained(rows)
    assert all(rows[added[0].seq - 1 : added[-1].seq] == added for added in durable)
    assert all(rows[: len(some)] == some for clerk in clerks for some in clerk.seen)
    assert len(durable) <= len(rows) / 3 <= len(durable) + len(doubtful)


@pytest.mark.theorem("postgres-durable")
def test_a_commit_waits_for_the_log(postgres, owner, place):
    """Where the log has been synced to, told by the server right after a commit."""
    store, chain = place.opened(), Chain()
    synced = "SELECT pg_current_wal_flush_lsn() > %s::pg_lsn"
    for number in range(5):
        with store.exclusive():
            store.append(chain.asked(f"k{number}"))
            ((written,),) = store._session.ask("SELECT pg_current_wal_insert_lsn()::text")
        assert owner(synced, written) == [(True,)]
