"""The contract of every store: one list of checks for files and for servers.

A check takes a ``Place``: one address, fresh and empty, for which ``store()`` makes as many stores
as it is called, not yet opened.  A ``Chain`` writes rows that follow from each other.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

import pytest

from discreet.errors import DamagedLedger, LedgerError, NotALedger
from discreet.ledger.entries import NO_HEAD, EntryRow, head_after, line_of
from discreet.ledger.store import LedgerStore


def made(store: LedgerStore, rows: Iterable[EntryRow] = ()) -> LedgerStore:
    """Make a store unless there is one, and open it."""
    store.create(rows)
    store.open()
    return store


AT = "2026-01-01T00:00:00.000000Z"


class Chain:
    """Rows that follow from each other, and nothing else: prices and limits do not matter here."""

    def __init__(self, rows=()):
        self.rows = list(rows)

    def add(self, kind, *, key=None, question=None, answer=None):
        seq, head = len(self.rows) + 1, self.rows[-1].head if self.rows else NO_HEAD
        said = {"key": key, "question": question}
        fields = {name: text for name, text in said.items() if text is not None}
        line = line_of(seq, kind, AT, fields)
        row = EntryRow(seq, kind, key, question, line, head_after(head, line), answer)
        self.rows.append(row)
        return row

    def asked(self, key, *, question="", answer=None):
        """Add a charge and a start, and a release if there is an answer."""
        rows = [self.add("charge", key=key, question=question), self.add("start", key=key)]
        return rows if answer is None else [*rows, self.add("release", key=key, answer=answer)]


class Place:
    """One address, and all stores that were made for it."""

    def __init__(self, make: Callable[[float], LedgerStore]):
        self._make = make
        self._made: list[LedgerStore] = []

    def store(self, *, timeout: float = 60) -> LedgerStore:
        store = self._make(timeout)
        self._made.append(store)
        return store

    def opened(self, *, timeout: float = 60) -> LedgerStore:
        store = self.store(timeout=timeout)
        made(store)
        return store

    def close(self) -> None:
        for store in self._made:
            store.close()


@contextmanager
def place_of(make: Callable[[float], LedgerStore]) -> Iterator[Place]:
    """Yield a place whose stores are closed at the end; ``make`` takes a timeout."""
    place = Place(make)
    try:
        yield place
    finally:
        place.close()


def write(store, *rows):
    with store.exclusive():
        store.append(rows)


def write_and_fail(store, rows, error):
    with store.exclusive():
        store.append(rows[:2])
        store.keep_checkpoint(rows[1].seq, "lost")
        store.append(rows[2:])
        raise error


def stored(store, after=0):
    return list(store.rows(after, answers=True))


def check_nothing_is_made_unless_allowed(place):
    for _ in range(2):
        with pytest.raises(NotALedger):
            place.store().open()
    made(place.store())
    place.store().open()


def check_a_new_store_is_empty(place):
    store = place.opened()
    assert stored(store) == []
    assert store.checkpoint() is None
    assert store.rows_of(["k"]) == []
    assert store.first_answer("q") is None


def check_rows_come_back_as_they_were(place):
    chain = Chain()
    chain.add("open")
    for key, question, answer in (
        ("visits by ward", "q1", b""),
        ('it\'s "quoted" \\ %s %% {} $1', "", bytes(range(256))),
        ("größer als Ω 中文 🙂", "q2", b"\x00" * 300_000),
        ("x" * 200, "0" * 64, None),
    ):
        chain.asked(key, question=question, answer=answer)
    store = place.opened()
    write(store, *chain.rows[:3])
    write(store, *chain.rows[3:])
    for reader in (store, place.opened()):
        assert stored(reader) == chain.rows
        assert stored(reader, after=4) == chain.rows[4:]
        assert stored(reader, after=len(chain.rows)) == []


def check_answers_are_loaded_only_if_asked_for(place):
    chain, store = Chain(), place.opened()
    write(store, *chain.asked("k", answer=b"42"))
    assert [row.answer for row in store.rows(0)] == [None, None, None]
    assert [row.answer for row in store.rows(0, answers=True)] == [None, None, b"42"]


def check_an_error_takes_everything_back(place):
    chain, store = Chain(), place.opened()
    write(store, chain.add("open"))
    for error in (ValueError, KeyboardInterrupt, GeneratorExit):
        lost = Chain(chain.rows).asked("k", answer=b"42")
        with pytest.raises(error):
            write_and_fail(store, lost, error)
        assert stored(store) == stored(place.opened()) == chain.rows
        assert store.checkpoint() is None
    write(store, *chain.asked("k", answer=b"43"))
    assert stored(store) == chain.rows


def check_others_see_only_what_has_ended(place):
    chain, store, other = Chain(), place.opened(), place.opened()
    with store.exclusive():
        store.append(chain.asked("k", question="q", answer=b"42"))
        assert stored(store) == chain.rows
        assert store.rows_of(["k"]) == chain.rows
        assert store.first_answer("q") == chain.rows[-1]
        assert stored(other) == []
        assert other.rows_of(["k"]) == []
        assert other.first_answer("q") is None
    assert stored(other) == chain.rows
    assert other.first_answer("q") == chain.rows[-1]


def check_a_block_may_be_empty(place):
    store = place.opened()
    with store.exclusive():
        pass
    with store.exclusive():
        store.append([])
    assert stored(store) == []


def check_rows_may_be_read_slowly(place):
    chain = Chain()
    for number in range(700):
        chain.asked(f"k{number}")
    store, other = place.opened(), place.opened()
    write(store, *chain.rows)
    slow, left = store.rows(0), store.rows(3)
    assert [next(left).seq for _ in range(5)] == [4, 5, 6, 7, 8]
    seen = [next(slow) for _ in range(10)]
    before = len(chain.rows)
    write(other, *chain.asked("later", answer=b"42"))
    write(store, *chain.asked("later still", answer=b"43"))
    assert store.first_answer("q") is None
    seen += list(slow)
    assert [row.seq for row in seen][:before] == list(range(1, before + 1))
    assert [row.seq for row in seen] == [row.seq for row in chain.rows[: len(seen)]]
    left.close()
    with store.exclusive():
        inside = store.rows(before)
        assert next(inside).key == "later"
        store.append(chain.asked("last"))
    assert stored(other) == chain.rows


def check_keys_are_looked_up(place):
    chain, store = Chain(), place.opened()
    chain.add("open")
    chain.add("account", key=None)
    for key in "abc":
        chain.asked(key)
    chain.add("start", key="b")
    for key in "cb":
        chain.add("release", key=key, answer=key.encode())
    write(store, *chain.rows)
    for keys in ([], ["a"], ["b"], ("c", "b"), {"a", "b", "c"}, ["no", "b", "A", ""], {"b": 1}):
        assert store.rows_of(keys) == [row for row in chain.rows if row.key in list(keys)]
    many = [f"no {number}" for number in range(3000)]
    assert store.rows_of([*many, "b"]) == [row for row in chain.rows if row.key == "b"]


def check_the_first_answer_of_a_question_is_found(place):
    chain, store = Chain(), place.opened()
    for key, question in (("a", "one"), ("b", "two"), ("c", "one"), ("d", "two"), ("e", "three")):
        chain.asked(key, question=question)
    first = {"one": chain.add("release", key="c", answer=b"c")}
    first["two"] = chain.add("release", key="b", answer=b"b")
    for key in "da":
        chain.add("release", key=key, answer=key.encode())
    write(store, *chain.rows)
    assert {name: store.first_answer(name) for name in first} == first
    assert store.first_answer("three") is None
    assert store.first_answer("ONE") is None
    write(store, *chain.asked("f", question="", answer=b"f"))
    assert store.first_answer("") is None  # no question is no question


def check_rows_that_cannot_be_are_refused(place):
    chain, store = Chain(), place.opened()
    write(store, *chain.asked("k", answer=b"42"))
    twins = {"charge": None, "release": b"43"}
    for kind, answer in twins.items():
        again = Chain(chain.rows).add(kind, key="k", answer=answer)
        with pytest.raises(DamagedLedger):
            write(store, again)
    last = chain.rows[-1]
    for twin in (last, EntryRow(4, "start", "k", None, last.line, last.head)):
        with pytest.raises(DamagedLedger):
            write(store, twin)
    for seq in (3, 5):
        with pytest.raises(DamagedLedger):
            write(store, EntryRow(seq, "start", "k", None, "{}", head_after(last.head, "{}")))
    for kind, answer in (("start", b"42"), ("release", None)):
        with pytest.raises(DamagedLedger):
            write(store, Chain(chain.rows).add(kind, key="other", answer=answer))
    assert stored(store) == chain.rows
    write(store, chain.add("start", key="k"))
    assert stored(store) == chain.rows


def check_a_checkpoint_is_replaced(place):
    chain, store = Chain(), place.opened()
    write(store, chain.add("open"))
    for seq, state in ((1, "x" * 200_000), (2, '{"größer": 1}'), (2, "")):
        with store.exclusive():
            store.keep_checkpoint(seq, state)
        assert store.checkpoint() == place.opened().checkpoint() == (seq, state)
    assert stored(store) == chain.rows


def check_closing_twice_does_nothing(place):
    store = place.opened()
    write(store, Chain().add("open"))
    store.close()
    store.close()
    place.store().close()
    assert len(stored(place.opened())) == 1


def check_writers_take_turns(place):
    """Each adds one row to what is there: a row that did not see its last would not follow it."""
    place.opened()
    failures = []

    def work():
        try:
            store = place.opened()
            for _ in range(15):
                with store.exclusive():
                    chain = Chain(store.rows(0))
                    store.append([chain.add("start", key="k")])
        except LedgerError as error:
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    rows = stored(place.opened())
    assert len(rows) == 90
    assert all(row.follows(*last) for row, last in zip(rows, heads(rows), strict=False))


def heads(rows):
    """Return the number and the head before each row."""
    return [(0, NO_HEAD), *((row.seq, row.head) for row in rows)]


def check_many_may_create_it_at_once(place):
    failures = []
    ready = threading.Barrier(6)

    def work():
        store = place.store()
        ready.wait()
        try:
            made(store)
        except LedgerError as error:
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert stored(place.opened()) == []


CHECKS = tuple(check for name, check in sorted(globals().items()) if name.startswith("check_"))
