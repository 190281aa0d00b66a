"""Looking into a ledger: answers, accounts, what is left, and the entries; nothing changes.

Trust: kernel.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.accounting.box import Box, checked_box
from discreet.accounting.filter import Left
from discreet.accounting.requests import Priceable
from discreet.doors import Labeled
from discreet.errors import LedgerError, Tampered
from discreet.ledger.connection import LedgerConnection
from discreet.ledger.entries import NO_HEAD, EntryRow, damaged_entry_error
from discreet.ledger.requests import check_terms, checked_account, stored_answer
from discreet.ledger.sqlite import is_own_file
from discreet.ledger.state import LedgerState
from discreet.ledger.store import is_server
from discreet.ledger.values import (
    Account,
    OpeningTerms,
    Receipt,
    StoredAnswer,
    checked_key,
    checked_path,
    path_and_ancestors,
)
from discreet.ledger.witness import Anchor, WitnessFile

if TYPE_CHECKING:  # handed in, or returned by others
    from discreet.accounting.budget import Budget
    from discreet.loss import PrivacyLoss
    from discreet.units import PrivacyUnit


class LedgerView(Labeled):
    """What can be seen of a ledger; :class:`discreet.ledger.Ledger` also writes to it."""

    __slots__ = ("__weakref__", "_link", "_place")

    _link: LedgerConnection
    _place: str

    # --- answers ------------------------------------------------------------------------------

    def find(self, question: str) -> StoredAnswer | None:
        """Return the first answer to a question, if there is one; this costs nothing."""
        checked_key(question, name="question")
        row = self._link.read(lambda store: store.first_answer(question))
        return None if row is None else stored_answer(row, self.id, question)

    def answers_of(self, keys: Collection[str]) -> tuple[StoredAnswer, ...]:
        """Return the answers that are stored under some keys, in the order of their entries."""
        rows = self._rows_of(keys)
        asked = {row.key: row.question for row in rows if row.kind == "charge"}
        return tuple(
            stored_answer(row, self.id, asked.get(row.key)) for row in rows if row.kind == "release"
        )

    def attempts(self, key: str) -> int:
        """Return how often data was about to be read for a charge since it was last reopened."""
        starts = [row.seq for row in self._rows_of([key]) if row.kind == "start"]
        for row in self._link.rows(starts[0], answers=False) if starts else ():
            if row.kind == "reopen" and row.key == key:
                starts = [seq for seq in starts if seq > row.seq]
        return len(starts)

    def questions_of(self, keys: Collection[str]) -> frozenset[str]:
        """Return the questions that some keys were charged for."""
        return frozenset(row.question for row in self._rows_of(keys) if row.question is not None)

    def _rows_of(self, keys: Collection[str]) -> list[EntryRow]:
        return self._link.read(lambda store: store.rows_of(keys)) if keys else []

    @property
    def closed(self) -> tuple[str, ...]:
        """The keys of questions that a failed attempt has closed, the oldest first."""
        return self._link.look(lambda state: tuple(state.closed))

    def descriptions(self, what: str) -> tuple[Mapping[str, Any], ...]:
        """Return all descriptions of one kind, in the order in which they were recorded."""
        recorded = self._link.look(lambda state: tuple(state.descriptions))
        return tuple(entry.content() for entry in recorded if entry.what == what)

    # --- accounts -----------------------------------------------------------------------------

    def left(self, scope: Box | None = None, *, account: str | None = None) -> Left:
        """Return what is left for requests about a scope, or about everything.

        The amounts are those of the account, or of the next one above that has limits;
        ``how_many`` counts requests that all accounts above would accept too.
        """
        if scope is not None:
            checked_box(scope, name="scope")
        path = self._path(account)

        def view(state: LedgerState) -> Left:
            checked_account(state.accounts, path)
            limited = state.limited_accounts(path)
            return _together([state.filter_of(each).left(scope) for each in limited])

        return self._link.look(view)

    def left_as_of(self, receipt: Receipt, *, account: str | None = None) -> Left:
        """Return what was left in an account when the ledger stood where a receipt says.

        All entries up to there are read again.  A receipt of another ledger, or of another past of
        this one, is refused.
        """
        state, path = LedgerState(), self._path(account)
        state.apply_rows(self._proved_rows(receipt))
        checked_account(state.accounts, path)
        return state.filter_of(state.limited_accounts(path)[-1]).left()

    def guarantee(self, account: str | None = None) -> PrivacyLoss:
        """Return what holds for all answers that an account pays for, whatever will be asked."""
        path, accounts = self._path(account), self.accounts
        checked_account(accounts, path)
        budgets = (accounts[above].budget for above in reversed(path_and_ancestors(path)))
        return next(budget for budget in budgets if budget is not None).guarantee

    @property
    def accounts(self) -> Mapping[str, Account]:
        """All accounts, by their paths."""
        return self._link.look(lambda state: state.accounts)

    # --- the record ---------------------------------------------------------------------------

    @property
    def unit(self) -> PrivacyUnit:
        """Who is protected."""
        return self._link.opening.unit

    @property
    def id(self) -> str:
        """The name of this ledger, drawn when it was opened first."""
        return self._link.opening.ledger

    def owns(self, path: str | os.PathLike[str]) -> bool:
        """Return whether a path is that of a file of this ledger, there or still to be made."""
        return is_own_file(self._place, path)

    @property
    def receipt(self) -> Receipt:
        """The current end of the ledger; keep it, to show later that nothing was taken away."""
        return self._link.look(lambda state: state.receipt)

    @property
    def last_seen(self) -> Receipt:
        """The last entry that is known here to be durable; it may be behind ``receipt``."""
        return self._link.last_seen()

    def holds(self, receipt: Receipt) -> bool:
        """Return whether the entry of a receipt is in this ledger, with everything before it."""
        after = receipt.seq - 1
        row = self._link.read(lambda store: next(store.rows(after=after), None))
        found = None if row is None else Receipt(self.id, row.seq, row.head)
        return found == receipt

    def entries(self, after: int = 0) -> Iterator[dict[str, object]]:
        """Return the contents of the entries after a number, without answers."""
        for row in self._link.rows(after, answers=False):
            yield row.fields()

    def proved_entries(self, until: Receipt | None = None) -> list[dict[str, object]]:
        """Return what the entries up to a receipt say, or all; they must lead to its head."""
        return [row.fields() for row in self._proved_rows(until or self.receipt)]

    def proved_receipts(self) -> list[Receipt]:
        """Return where the ledger stood after each entry; all of them must lead to its end."""
        own = self.id
        return [Receipt(own, row.seq, row.head) for row in self._proved_rows(self.receipt)]

    def _proved_rows(self, end: Receipt) -> list[EntryRow]:
        proved: list[EntryRow] = []
        seq, head = 0, NO_HEAD
        for row in self._link.rows(0, answers=False):
            if row.seq > end.seq:
                break
            if not row.follows(seq, head):
                raise damaged_entry_error(row.seq)
            proved.append(row)
            seq, head = row.seq, row.head
        if (self.id, seq, head) != (end.ledger, end.seq, end.head):
            raise Tampered(
                what="the receipt is not one of this ledger.",
                why="it names another ledger, or an entry whose content was another.",
                do="look for the ledger with the id of the receipt; `discreet ledger verify`.",
            )
        return proved

    def check_terms(
        self,
        *,
        unit: PrivacyUnit | None = None,
        budget: Budget | None = None,
        id: str | None = None,  # noqa: A002  the word of the property
    ) -> None:
        """Refuse this ledger if it is recorded for anything but what is given."""
        terms = OpeningTerms(unit=unit, budget=budget, ledger=id)
        self._link.look(lambda state: check_terms(terms, state))

    # --- backups ------------------------------------------------------------------------------

    @property
    def notes_backups(self) -> bool:
        """Whether backups are noted: beside a ledger in a file, and not on a server."""
        return not is_server(self._place)

    def last_backup(self) -> Anchor | None:
        """Return when the last backup was made and where it ends; None if none was noted."""
        with suppress(LedgerError):
            found = self._backups().last() if self.notes_backups else None
            return found if found is not None and found.receipt.ledger == self.id else None
        return None

    def _backups(self) -> WitnessFile:
        return WitnessFile(Path(f"{self._place}-backups"))

    def __str__(self) -> str:
        """Show what is left in each account."""

        def view(state: LedgerState) -> str:
            lines = [f"ledger {state.opening.ledger}, entry {state.seq}"]
            for path, account in sorted(state.accounts.items()):
                left = "as above" if account.budget is None else state.filter_of(path).left()
                lines.append(f"  {path}: {left}")
            return "\n".join(lines)

        return self._link.look(view)

    def __repr__(self) -> str:
        """Show which ledger it is."""
        return "<closed ledger>" if self._link.closed else f"<ledger {self.id}>"

    def _path(self, account: str | None) -> str:
        return self._link.opening.account if account is None else checked_path(account)


def _together(lefts: Sequence[Left]) -> Left:
    """Return what is left in the last account, for requests that all of them have to accept."""

    def fitting(what: Priceable, delta: object) -> Callable[[int], bool]:
        fits = [left.fitting(what, delta) for left in lefts]
        return lambda times: all(fit(times) for fit in fits)

    def charging(what: Priceable, delta: object) -> Left:
        return _together([left.charging(what, delta) for left in lefts])

    return replace(lefts[-1], fitting=fitting, charging=charging)
