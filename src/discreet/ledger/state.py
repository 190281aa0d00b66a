"""The state of a ledger: the sum of all its entries so far.

Trust: kernel.

Definition.  The state holds whom the ledger protects, its accounts with their limits, and for each
account with limits a privacy filter with all charges to it and below it; also which questions are
closed, and how the data was described.  It is a fold: ``apply`` takes one entry after another and
depends on nothing else; no clock, no order of a set, no data.
A charge to an account is a charge to all accounts above it, to all or to none.
Theorem (keys ``cell-filters``, ``cell-pairs``).  Whatever is charged, in view of all answers, what
an account promises holds for everything charged to it and below: its filter alone ensures it.
Entries are applied as recorded; neither their price nor whether it fitted is worked out again.  An
auditor does both (:mod:`discreet.ledger.verify`).  Every row must follow from the one before, by
number and hash.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import final

from discreet.accounting.box import shared_columns
from discreet.accounting.budget import Budget
from discreet.accounting.currencies import Amounts
from discreet.accounting.filter import Charge as FilterCharge
from discreet.accounting.filter import PrivacyFilter
from discreet.accounting.requests import RequestPricer
from discreet.errors import DamagedLedger, NewerFormat
from discreet.ledger.entries import (
    NO_HEAD,
    PARSE_ERRORS,
    DescriptionEntry,
    Entry,
    EntryRow,
    Opening,
    Pieces,
    canonical,
    damaged_entry_error,
    pieces_of,
)
from discreet.ledger.failures import exchanged_ledger_error
from discreet.ledger.table import EntryTable
from discreet.ledger.values import Account, Receipt, parent_account, path_and_ancestors


@final
class LedgerState:
    """The state after one entry; empty before the first."""

    def __init__(self) -> None:
        """Know nothing yet."""
        self.seq = 0
        self.head = NO_HEAD
        self.closed: dict[str, None] = {}
        """The keys of closed questions, in the order in which they were closed."""
        self.descriptions: dict[DescriptionEntry, None] = {}
        """All descriptions, in the order in which they were recorded."""
        self.accounts: Mapping[str, Account] = MappingProxyType({})
        """All accounts, by their paths; a mapping that was handed out does not change later."""
        self._opening: Opening | None = None
        self._prices: RequestPricer | None = None
        self._filters: dict[str, PrivacyFilter] = {}

    @property
    def opening(self) -> Opening:
        """What the first entry says."""
        if self._opening is None:
            raise damaged_entry_error(1)
        return self._opening

    @property
    def prices(self) -> RequestPricer:
        """How requests are priced."""
        return self._prices or self.opening.prices()

    @property
    def receipt(self) -> Receipt:
        """Where the ledger stands."""
        return Receipt(self.opening.ledger, self.seq, self.head)

    def filter_of(self, path: str) -> PrivacyFilter:
        """Return what was charged to an account with limits."""
        return self._filters[path]

    def limited_accounts(self, path: str) -> tuple[str, ...]:
        """Return the accounts with limits that a charge to an account debits, the root first."""
        return tuple(above for above in path_and_ancestors(path) if above in self._filters)

    def costs(self, pieces: Pieces) -> tuple[tuple[str, Amounts], ...]:
        """Return the most that a record pays in each account, or two records of one box."""
        unit = self.opening.unit
        return tuple(
            (path, FilterCharge(0, parts, self._filters[path].budget, unit).amounts)
            for path, parts in pieces
        )

    # --- the fold -----------------------------------------------------------------------------

    def catch_up(self, table: EntryTable) -> None:
        """Apply all entries that are not known yet; the last known one must still be there."""
        rows = table.rows(after=max(self.seq - 1, 0))
        if self.seq:
            last = next(rows, None)
            if last is None or (last.seq, last.head) != (self.seq, self.head):
                raise exchanged_ledger_error(self.seq)
        self.apply_rows(rows)

    def apply_rows(self, rows: Iterable[EntryRow]) -> None:
        """Apply stored rows, each of which must follow from the one before."""
        for row in rows:
            if not row.follows(self.seq, self.head):
                raise damaged_entry_error(row.seq)
            try:
                self.apply(row.fields(), row.seq, row.head)
            except (DamagedLedger, NewerFormat):
                raise
            except PARSE_ERRORS:
                raise damaged_entry_error(row.seq) from None

    def append(self, entry: Entry, at: str, answer: bytes | None = None) -> EntryRow:
        """Apply a new entry, and return its row; if it raises, the state is no longer usable."""
        row = EntryRow.of(entry, (self.seq, self.head), at, answer)
        self.apply(entry, row.seq, row.head)
        return row

    def apply(self, entry: Entry, seq: int, head: str) -> None:  # noqa: C901, PLR0912  kinds
        """Take the next entry; if it raises, the state is no longer usable."""
        if (self._opening is None) != (entry["kind"] == "open"):
            raise damaged_entry_error(seq)
        match entry:
            case {"kind": "charge", "account": str(path)}:
                charged = pieces_of(entry)
                if tuple(each for each, _ in charged) != self.limited_accounts(path):
                    raise damaged_entry_error(seq)
                for each, pieces in charged:
                    self._filters[each].enter(pieces)
            case {"kind": "start" | "release"}:
                pass
            case {"kind": "fail", "key": str(key)}:
                self.closed[key] = None
            case {"kind": "reopen", "key": str(key)}:
                del self.closed[key]
            case {"kind": "describe", "what": str(what), "content": dict(content)}:
                self._describe(DescriptionEntry(what, canonical(content)))
            case {"kind": "restore", "spent": bool(spent)}:
                for charges in self._filters.values() if spent else ():
                    charges.exhaust()  # every record owes all that charges could have cost
            case {"kind": "open"}:
                self._opening = opening = Opening.read(entry)
                self._prices = opening.prices()
                self._add(opening.account, opening.budget)
            case {"kind": "account", "account": str(path), "budget": budget}:
                self._add(path, None if budget is None else Budget.read(budget))
            case {"kind": "raise", "account": str(path), "budget": budget}:
                raised = self._filters[path].with_budget(Budget.read(budget))
                self._filters[path] = raised
                self._put(Account(path, raised.budget))
            case _:
                raise damaged_entry_error(seq)
        self.seq, self.head = seq, head

    def _describe(self, description: DescriptionEntry) -> None:
        """Keep a description; that of a table says what all rows of a unit share in it."""
        self.descriptions[description] = None
        if description.what == "schema":
            shared = shared_columns(description.content())
            self._prices = self.prices.sharing(shared)
            for each in self._filters.values():
                each.share(shared)

    def _add(self, path: str, budget: Budget | None) -> None:
        above = parent_account(path)
        known = above in self.accounts if self.accounts else not above
        if not known or path in self.accounts:
            raise LookupError
        if budget is not None:
            prices = self.prices
            self._filters[path] = PrivacyFilter(
                budget,
                unit=prices.unit,
                constant=prices.constant,
                contribution=prices.contribution,
            )
        self._put(Account(path, budget))

    def _put(self, account: Account) -> None:
        self.accounts = MappingProxyType({**self.accounts, account.path: account})
