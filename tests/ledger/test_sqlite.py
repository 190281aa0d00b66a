"""Ledgers in files: the contract of stores, what SQLite is told, and what if disks fail."""

import os
import re
import sqlite3
import stat
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from chaos.cards import copies_pass
from chaos.trace import strace
from discreet.errors import DamagedLedger, LedgerUnavailable
from discreet.ledger.sqlite import APPLICATION_ID, VERSION, SQLiteStore
from discreet.ledger.verify import verify_file
from tests.ledger.store_contract import CHECKS, Chain, made, place_of, stored, write

KEPT = ("", "-journal")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "study.ledger"


@pytest.fixture
def place(path):
    with place_of(lambda timeout: SQLiteStore(path, timeout=timeout)) as place:
        yield place


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_the_contract_of_stores(check, place):
    check(place)


def direct(path, *statements):
    """Run statements past the store; return what the last one found."""
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        for statement in statements:
            rows = connection.execute(statement).fetchall()
    finally:
        connection.close()
    return rows


# --- what SQLite is told ------------------------------------------------------------------------


def test_a_file_says_what_it_is(place, path):
    write(place.opened(), Chain().add("open"))
    assert direct(path, "PRAGMA application_id") == [(0x44504C31,)]
    assert direct(path, "PRAGMA user_version") == [(VERSION,)]
    assert APPLICATION_ID.to_bytes(4, "big") == b"DPL1"


@pytest.mark.theorem("sqlite-durable")
def test_every_commit_is_synced_before_it_counts(place):
    for store in (place.opened(), place.opened()):
        settings = {"journal_mode": "persist", "synchronous": 3, "trusted_schema": 0}
        assert {name: store._do(f"PRAGMA {name}")[0][0] for name in settings} == settings


@pytest.mark.theorem("sqlite-durable")
def test_file_and_journal_are_synced_between_writing_and_telling(tmp_path):
    """The calls of a process that charges: each write is synced before it is told."""
    run = f"""
        import os
        from discreet.ledger.sqlite import SQLiteStore
        from tests.ledger.store_contract import Chain, made, write
        store = SQLiteStore({str(tmp_path / "l")!r}, timeout=5)
        made(store)
        chain = Chain()
        for number in range(5):
            write(store, chain.add("start", key=str(number)))
            os.write(1, b"told")
    """
    program = [sys.executable, "-c", textwrap.dedent(run)]
    calls = "trace=pwrite64,write,fdatasync,fsync"
    done = subprocess.run(
        [strace(), "-f", "-y", "-e", calls, *program],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    dirty, told = set(), 0
    for line in done.stderr.splitlines():
        if file := re.search(r"<([^>]*/l(-journal)?)>", line):
            (dirty.discard if "sync(" in line else dirty.add)(file[1])
        elif '"told"' in line:
            told += 1
            assert not dirty
    assert told == 5


def test_a_new_file_and_its_folder_are_synced(place, path, monkeypatch):
    synced = []
    fsync = os.fsync
    monkeypatch.setattr(
        os,
        "fsync",
        lambda file: (synced.append(Path(f"/proc/self/fd/{file}").readlink()), fsync(file)),
    )
    place.opened()
    assert [name.parent for name in synced] == [path.parent, path.parent.parent]
    assert synced[1] == path.parent


def test_the_files_are_for_their_owner_alone(place, path):
    write(place.opened(), Chain().add("open"))
    for name in KEPT:
        mode = path.with_name(path.name + name).stat().st_mode
        assert stat.S_IMODE(mode) == 0o600, name


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE entry SET line = 'x'",
        "UPDATE entry SET answer = x'00' WHERE kind = 'release'",
        "DELETE FROM entry",
        "DELETE FROM entry WHERE seq = 3",
        "INSERT OR REPLACE INTO entry SELECT * FROM entry WHERE seq = 2",
        "REPLACE INTO entry VALUES (2, 'start', 'x', NULL, '{}', printf('%064d', 7), NULL)",
        "INSERT INTO entry VALUES (9, 'start', 'x', NULL, '{}', printf('%064d', 7), NULL)",
        "INSERT INTO entry VALUES (0, 'start', 'x', NULL, '{}', printf('%064d', 7), NULL)",
        "INSERT INTO entry VALUES (4, 'start', 'x', NULL, '{}', 'short', NULL)",
        "INSERT INTO entry VALUES (4, 'release', 'x', NULL, '{}', printf('%064d', 7), NULL)",
        "INSERT INTO entry VALUES (4, 'start', 'x', NULL, '{}', printf('%064d', 7), x'00')",
        "INSERT INTO entry VALUES (4, 'charge', 'k', '', '{}', printf('%064d', 7), NULL)",
        "INSERT INTO entry VALUES ('four', 'start', 'x', NULL, '{}', printf('%064d', 7), NULL)",
    ],
)
def test_entries_cannot_be_changed_through_sql(place, path, statement):
    store, chain = place.opened(), Chain()
    write(store, *chain.asked("k", answer=b"42"))
    with pytest.raises(sqlite3.IntegrityError):
        direct(path, statement)
    assert stored(store) == chain.rows


# --- when things fail ---------------------------------------------------------------------------


def test_a_full_file_takes_nothing_and_goes_on_when_there_is_room(place):
    store, chain = place.opened(), Chain()
    write(store, chain.add("open"))
    pages = store._do("PRAGMA page_count")[0][0]
    store._do(f"PRAGMA max_page_count = {pages}")
    large = Chain(chain.rows).asked("k", answer=b"x" * 100_000)
    with pytest.raises(LedgerUnavailable) as error:
        write(store, *large)
    assert "full" in error.value.what
    assert stored(store) == stored(place.opened()) == chain.rows
    store._do("PRAGMA max_page_count = 100000")
    write(store, *large)
    assert stored(store) == [*chain.rows, *large]


@pytest.mark.theorem("sqlite-durable")
def test_what_a_dead_process_has_left_half_written_is_taken_back(place, path):
    store, chain = place.opened(), Chain()
    write(store, *chain.asked("k", answer=b"42"))
    program = f"""
        import os
        from discreet.ledger.sqlite import SQLiteStore
        from tests.ledger.store_contract import Chain
        store = SQLiteStore({str(path)!r}, timeout=5)
        store.open()
        store._do("PRAGMA cache_size = 5")  # so that much is written before the end
        with store.exclusive():
            chain = Chain(store.rows(0))
            more = [chain.asked(str(n), answer=b"x" * 999) for n in range(500)]
            store.append([row for rows in more for row in rows])
            os._exit(9)
    """
    before = path.read_bytes()
    dead = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], check=False)
    assert dead.returncode == 9
    assert path.read_bytes() != before
    assert verify_file(path).problems[0].kind == "line"  # the words of these tests, and no others
    assert path.read_bytes() == before
    assert stored(place.opened()) == stored(store) == chain.rows


def test_another_program_that_keeps_it_busy_is_waited_for_and_then_given_up(place, path):
    store, chain = place.store(timeout=0.2), Chain()
    made(store)
    write(store, chain.add("open"))
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(LedgerUnavailable) as error:
        write(store, chain.add("start", key="k"))
    assert "busy" in error.value.what
    other.execute("ROLLBACK")
    other.close()
    write(store, chain.rows[-1])
    assert stored(store) == chain.rows


@pytest.mark.parametrize("how", ["removed", "replaced"])
def test_a_file_that_is_gone_or_replaced_takes_no_charges(place, path, how, tmp_path):
    store, chain = place.opened(), Chain()
    write(store, chain.add("open"))
    path.rename(tmp_path / "old")
    if how == "replaced":
        other = SQLiteStore(tmp_path / "new", timeout=5)
        made(other)
        other.close()
        (tmp_path / "new").rename(path)
    with pytest.raises(DamagedLedger):
        write(store, chain.add("start", key="k"))


def test_errors_hold_nothing_of_what_is_stored(place, path):
    store, chain = place.opened(), Chain()
    write(store, *chain.asked("secret key", answer=b"secret answer"))
    store.close()
    change = "UPDATE entry SET line = CAST(x'ff80736563726574' AS TEXT)"  # no text, and secret
    direct(path, "DROP TRIGGER never_changed", change)
    with pytest.raises(DamagedLedger) as error:
        stored(place.opened())
    chained = []
    found = error.value
    while found is not None:
        chained.append(f"{found!s} {found!r}")
        found = found.__cause__ or found.__context__
    assert not [each for each in chained if "secret" in each]


def test_a_torn_cell_is_damage(place, path):
    write(place.opened(), *Chain().asked("k", answer=b"42"))
    for change in (
        "UPDATE entry SET line = x'00'",
        "UPDATE entry SET answer = 7 WHERE kind = 'release'",
        "UPDATE entry SET key = x'00' WHERE seq = 2",
    ):
        copy = path.with_name("copy")
        direct(path, f"VACUUM INTO '{copy}'")
        direct(
            copy,
            "PRAGMA writable_schema = ON",
            "UPDATE sqlite_schema SET sql = replace(sql, 'STRICT', '') WHERE name = 'entry'",
        )
        direct(copy, "DROP TRIGGER never_changed", change)
        torn = SQLiteStore(copy, timeout=5)
        with copies_pass():
            torn.open()
        with pytest.raises(DamagedLedger):
            stored(torn)
        torn.close()
        for name in KEPT:
            path.with_name(f"copy{name}").unlink(missing_ok=True)
