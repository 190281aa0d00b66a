"""An analyst who asks, and three whose ledgers are used in the wrong order.

A question has a key, an account and a cell: the records that it is about.  All questions cost the
same, and each cell has room for a known number of them, so that a count says whether too much was
granted.  Each answer is drawn anew whenever data is read; an answer that is drawn twice shows.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Final

from chaos.diary import Diary, Event
from discreet.accounting import Box, Budget, equals
from discreet.errors import OverBudget
from discreet.exact import decimal
from discreet.ledger import Ledger, StoredAnswer
from discreet.loss import Pure
from discreet.units import row

ROOT: Final = "data"
PRICE: Final = decimal("0.125", name="price")
ROOM: Final = {ROOT: 20, f"{ROOT}/even": 12, f"{ROOT}/odd": 12}
"""How many questions about one cell fit into each account."""

Point = Callable[[str], None]
"""Is told that a point in the program is reached, and may not return."""


def open_ledger(address: str) -> Ledger:
    """Open the ledger that analysts share, or make it."""
    return Ledger.open(address, unit=row(), budget=budget(ROOT), account=ROOT)


def open_accounts(ledger: Ledger) -> None:
    """Open the accounts below the root."""
    for account in ROOM:
        if account not in ledger.accounts:
            ledger.open_account(account, budget=budget(account), by="owner")


def budget(account: str) -> Budget:
    """Return the limits of an account."""
    return Budget(epsilon=ROOM[account] * PRICE)


@dataclass(frozen=True, slots=True)
class Question:
    """A question; its key says everything about it."""

    cell: int
    account: str
    name: str

    @property
    def key(self) -> str:
        """The key, which ``read`` understands."""
        return f"{self.cell}:{self.account}:{self.name}"

    @classmethod
    def read(cls, key: str) -> Question:
        """Return the question of a key."""
        cell, account, name = key.split(":")
        return cls(int(cell), account, name)

    def charge(self, ledger: Ledger) -> None:
        """Pay for it."""
        scope = Box({"cell": equals(self.cell)})
        ledger.charge(Pure(epsilon=PRICE), key=self.key, scope=scope, account=self.account)


def unanswered(past: Iterable[Event]) -> list[str]:
    """Return the keys that were asked, and neither answered nor refused."""
    keys: dict[str, None] = {}
    for event in past:
        if event.what == "asked":
            keys[event.key] = None
        elif event.what in {"told", "refused"}:
            keys.pop(event.key, None)
    return list(keys)


def draw() -> bytes:
    """Read data and draw noise: never twice the same."""
    return os.urandom(16)


@dataclass(slots=True)
class Analyst:
    """Asks in the right order: pay, begin, read, store, tell."""

    ledger: Ledger
    diary: Diary
    at: Point = lambda _: None

    def ask(self, question: Question) -> None:
        """Ask one question, and write down what comes of it."""
        self.diary.note("asked", question.key)
        try:
            question.charge(self.ledger)
        except OverBudget:
            self.diary.note("refused", question.key)
            return
        self.at("after_charge")
        begun = self.ledger.start(question.key)
        self.at("after_start")
        if not isinstance(begun, StoredAnswer):
            self.diary.note("read", question.key)
            answer = draw()
            self.at("after_read")
            begun = self.ledger.release(question.key, answer)
        self.at("after_release")
        self.diary.note("told", question.key, begun.answer, begun.receipt)
        self.at("after_telling")


class TellsFirst(Analyst):
    """A mutant: the answer is told before it is stored."""

    def ask(self, question: Question) -> None:
        """Pay, begin, read, tell, store."""
        self.diary.note("asked", question.key)
        try:
            question.charge(self.ledger)
        except OverBudget:
            self.diary.note("refused", question.key)
            return
        begun = self.ledger.start(question.key)
        answer = begun.answer if isinstance(begun, StoredAnswer) else draw()
        self.diary.note("told", question.key, answer)
        self.at("after_telling")
        if not isinstance(begun, StoredAnswer):
            self.ledger.release(question.key, answer)


class PaysLast(Analyst):
    """A mutant: the data is read and the answer told before anything is paid."""

    def ask(self, question: Question) -> None:
        """Read, tell, pay, begin, store."""
        self.diary.note("asked", question.key)
        self.diary.note("read", question.key)
        answer = draw()
        self.diary.note("told", question.key, answer)
        self.at("after_telling")
        try:
            question.charge(self.ledger)
        except OverBudget:
            return
        if not isinstance(self.ledger.start(question.key), StoredAnswer):
            self.ledger.release(question.key, answer)


class PaysAgain(Analyst):
    """A mutant: each attempt has a key of its own."""

    def ask(self, question: Question) -> None:
        """Ask under a new key."""
        again = replace(question, name=f"{question.name}#{os.urandom(4).hex()}")
        Analyst.ask(self, again)
