"""What ``benchmarks/ledger.py`` races: a ledger for many clients, and a transaction for each step.

A question is what a session asks of a ledger for one answer: a charge with its start, before data
is read, and a release.  Both contenders write the same three entries for each question, in a chain
of hashes and in the same table, and make the first two durable together before the third.

``python -m benchmarks.rows.ledger CONTENDER FOLDER CLIENTS SECONDS`` prints what one of them did.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from discreet.accounting import Box, Budget, equals
from discreet.ledger import Ledger
from discreet.ledger.sqlite import TABLES
from discreet.loss import Pure
from discreet.units import row

GROUPED, SINGLE = "group commit", "a transaction each"
PRICE = "1e-9"
ANSWER = b"x" * 200
DIGEST = hashlib.sha256(ANSWER).hexdigest()

_PAY = "UPDATE account SET spent = spent + 1 WHERE spent + 1 <= most"

Ask = Callable[[str], None]
"""Asks the question with a key."""


@contextmanager
def grouped(folder: Path) -> Iterator[Callable[[], Ask]]:
    """One ledger for all clients: a commit is for all that wait."""
    with Ledger.open(folder / "ledger", unit=row(), budget=Budget(epsilon=1)) as ledger:

        def ask(key: str) -> None:
            ledger.begin(Pure(epsilon=PRICE), key=key)
            ledger.release(key, ANSWER)

        yield lambda: ask


@contextmanager
def single(folder: Path) -> Iterator[Callable[[], Ask]]:
    """One transaction for each step, and a connection for each client."""
    path = folder / "single"
    Single(path).lay_out(limit=10**9)
    yield lambda: Single(path)


class Single:
    """A connection of one client; SQLite itself lets clients wait for each other."""

    def __init__(self, path: Path) -> None:
        """Connect as durably as the ledger does."""
        self._connection = sqlite3.connect(path, timeout=60, isolation_level=None)
        for setting in ("journal_mode = WAL", "synchronous = FULL"):
            self._connection.execute(f"PRAGMA {setting}")

    def lay_out(self, *, limit: int) -> None:
        """Make the table of entries that the ledger has, and a counter with a limit."""
        for statement in TABLES:
            self._connection.execute(statement)
        columns = "spent INTEGER NOT NULL, most INTEGER NOT NULL"
        self._connection.execute(f"CREATE TABLE account ({columns}) STRICT")
        self._connection.execute("INSERT INTO account VALUES (0, ?)", [limit])

    def __call__(self, key: str) -> None:
        """Ask: two transactions."""
        with self._transaction():
            if self._connection.execute(_PAY).rowcount != 1:
                raise RuntimeError("over budget")
            self._append("charge", key, {"account": "data", "amount": 1, "question": ""})
            self._append("start", key, {"attempt": 1})
        with self._transaction():
            self._append("release", key, {"answer": DIGEST, "size": len(ANSWER)}, ANSWER)

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")

    def _append(
        self, kind: str, key: str, fields: Mapping[str, object], answer: bytes | None = None
    ) -> None:
        last = self._connection.execute("SELECT seq, head FROM entry ORDER BY seq DESC LIMIT 1")
        seq, head = last.fetchone() or (0, "0" * 64)
        common = {"format": 1, "seq": seq + 1, "kind": kind, "key": key}
        at = datetime.now(UTC).isoformat(timespec="microseconds")
        line = json.dumps({**fields, **common, "at": at}, sort_keys=True, separators=(",", ":"))
        head = hashlib.sha256(f"{head}\n{line}".encode()).hexdigest()
        cells = (seq + 1, kind, key, None, line, head, answer)
        self._connection.execute("INSERT INTO entry VALUES (?,?,?,?,?,?,?)", cells)


CONTENDERS = {GROUPED: grouped, SINGLE: single}


def run(contender: str, folder: Path, clients: int, seconds: float) -> dict[str, float]:
    """Let clients ask for a while; say how many answers they got, and how long each took."""
    waits: list[float] = []
    with CONTENDERS[contender](folder) as connected:
        begin, end = threading.Barrier(clients + 1), time.perf_counter() + 3600

        def client(number: int) -> None:
            ask, attempt = connected(), 0
            begin.wait()
            while (begun := time.perf_counter()) < end:
                ask(f"{number}-{attempt}")
                waits.append(time.perf_counter() - begun)
                attempt += 1

        threads = [threading.Thread(target=client, args=(number,)) for number in range(clients)]
        for thread in threads:
            thread.start()
        begin.wait()
        begun = time.perf_counter()
        end = begun + seconds
        for thread in threads:
            thread.join()
        spent = time.perf_counter() - begun
    waits.sort()
    return {
        "per_second": len(waits) / spent,
        "median": waits[len(waits) // 2],
        "p99": waits[len(waits) * 99 // 100],
        "longest": waits[-1],
    }


def fill(path: Path, entries: int, clients: int) -> int:
    """Make a ledger of many entries, with prices and scopes of many kinds; return how many."""
    asked = range(entries // 3)
    with Ledger.open(path, unit=row(), budget=Budget(epsilon=1)) as ledger:

        def client(first: int) -> None:
            for number in asked[first::clients]:
                key, price = f"q{number}", Pure(epsilon=f"{1 + number % 20}e-9")
                scope = Box({"state": equals(number % 50)}) if number % 10 == 0 else None
                ledger.begin(price, key=key, scope=scope)
                ledger.release(key, ANSWER)

        threads = [threading.Thread(target=client, args=(number,)) for number in range(clients)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return ledger.receipt.seq


def open_and_verify(path: Path) -> dict[str, float]:
    """Return the CPU time to open a ledger, which reads all its entries, and to verify it."""
    begun = time.process_time()
    with Ledger.open(path) as ledger:
        opened = time.process_time()
        ledger.verify().raise_if_bad()
        return {"open": opened - begun, "verify": time.process_time() - opened}


if __name__ == "__main__":
    _, name, place, clients, seconds = sys.argv
    print(json.dumps(run(name, Path(place), int(clients), float(seconds))))
