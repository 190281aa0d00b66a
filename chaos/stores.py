"""Ledgers on other stores than their own: wrapped ones, and ones that are broken on purpose."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from unittest import mock

from discreet.ledger import ledger as opening
from discreet.ledger import sqlite
from discreet.ledger.entries import NO_HEAD, EntryRow, canonical, head_after
from discreet.ledger.store import store_for

Wrapper = Callable[[Any], Any]
"""Makes a store of a store."""


@contextmanager
def wrapped(wrapper: Wrapper | None) -> Iterator[None]:
    """Let every ledger that is opened in this process meanwhile have a wrapped store."""
    wrap = wrapper or (lambda store: store)
    with mock.patch.object(opening, "store_for", lambda *a, **b: wrap(store_for(*a, **b))):
        yield


@contextmanager
def copies_pass() -> Iterator[None]:
    """Open copies of ledgers in this process as if each were the original."""
    with mock.patch.object(sqlite, "is_original", lambda card, _: len(card) == 1):
        yield


class Wrapped:
    """A store that does what another does."""

    def __init__(self, store: Any) -> None:
        """Wrap a store."""
        self.store = store

    def __getattr__(self, name: str) -> Any:
        """Leave everything as it is."""
        return getattr(self.store, name)


class OtherSettings(Wrapped):
    """A file that is used with other settings of SQLite."""

    settings: tuple[str, ...] = ()

    def open(self) -> None:
        """Open, and change settings."""
        self.store.open()
        for setting in self.settings:
            self.store._do(setting)  # noqa: SLF001  (a mutant looks inside)


class NeverSynced(OtherSettings):
    """A mutant: nothing is synced."""

    settings = ("PRAGMA synchronous = OFF",)


class NotJournaled(OtherSettings):
    """A mutant: what a crash interrupts cannot be taken back."""

    settings = ("PRAGMA journal_mode = MEMORY",)


class Unlocked(Wrapped):
    """A mutant: writers look first and lock later; entries get whatever number is free then."""

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Lock nothing, and dawdle."""
        yield

    def append(self, rows: Sequence[EntryRow]) -> None:
        """Append after whatever is there by now."""
        time.sleep(0.05)
        with self.store.exclusive():
            last = list(self.store.rows(after=0))[-1:]
            seq, head = (last[0].seq, last[0].head) if last else (0, NO_HEAD)
            moved = []
            for row in rows:
                seq += 1
                line = canonical({**row.fields(), "seq": seq})
                head = head_after(head, line)
                moved.append(EntryRow(seq, row.kind, row.key, row.question, line, head, row.answer))
            self.store.append(moved)
