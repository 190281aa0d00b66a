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
auditor does both (:mod:`discreet.ledger.verify`).
Theorem (key ``checkpoint-replay``).  The state read from a checkpoint, followed by the entries
after it, equals the state that all entries lead to, byte for byte.
    Proof.  A checkpoint is a written state, which reads back unchanged; applying an entry depends
    on nothing but the state and the entry.
A checkpoint counts only if its digest is right and its head is that of the stored entry with its
number; any other is ignored, and everything is replayed.  A checkpoint ahead of the entries proves
that entries were lost.  Every replayed row must follow from the one before, by number and hash.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Self, assert_never, final

from discreet.accounting.box import shared_columns
from discreet.accounting.budget import Budget
from discreet.accounting.filter import Charge as FilterCharge
from discreet.accounting.filter import PrivacyFilter
from discreet.accounting.requests import RequestPricer
from discreet.errors import DamagedLedger, DiscreetError, NewerFormat
from discreet.ledger.entries import (
    NO_HEAD,
    PARSE_ERRORS,
    AccountEntry,
    ChargeEntry,
    DescriptionEntry,
    Entry,
    EntryRow,
    FailEntry,
    OpenEntry,
    Pieces,
    RaiseEntry,
    ReleaseEntry,
    ReopenEntry,
    RestoreEntry,
    StartEntry,
    canonical,
    damaged_entry_error,
    digest,
    read_entry,
)
from discreet.ledger.failures import missing_entries_error
from discreet.ledger.values import Account, parent_account, path_and_ancestors

if TYPE_CHECKING:  # a store is handed in
    from discreet.ledger.requests import Costs
    from discreet.ledger.store import LedgerStore

_VERSION: Final = 1


@final
class LedgerState:
    """The state after one entry; empty before the first."""

    __slots__ = (
        "_accounts",
        "_closed",
        "_descriptions",
        "_filters",
        "_opening",
        "_paths",
        "_prices",
        "_shown",
        "head",
        "seq",
    )

    def __init__(self) -> None:
        """Know nothing yet."""
        self.seq = 0
        self.head = NO_HEAD
        self._accounts: dict[str, Account] = {}
        self._shown: Mapping[str, Account] | None = None
        self._opening: OpenEntry | None = None
        self._prices: RequestPricer | None = None
        self._filters: dict[str, PrivacyFilter] = {}
        self._paths: dict[str, tuple[str, ...]] = {}
        self._closed: dict[str, None] = {}
        self._descriptions: dict[DescriptionEntry, None] = {}

    @property
    def opening(self) -> OpenEntry:
        """The first entry."""
        if self._opening is None:
            raise damaged_entry_error(1)
        return self._opening

    @property
    def accounts(self) -> Mapping[str, Account]:
        """All accounts, by their paths; the mapping does not change later."""
        if self._shown is None:
            self._shown = MappingProxyType({**self._accounts})
        return self._shown

    @property
    def prices(self) -> RequestPricer:
        """How requests are priced."""
        if self._prices is None:
            raise damaged_entry_error(1)
        return self._prices

    @property
    def closed(self) -> Collection[str]:
        """The keys of closed questions, in the order in which they were closed."""
        return self._closed.keys()

    @property
    def descriptions(self) -> Collection[DescriptionEntry]:
        """All descriptions, in the order in which they were recorded."""
        return self._descriptions.keys()

    def filter_of(self, path: str) -> PrivacyFilter:
        """Return what was charged to an account with limits."""
        return self._filters[path]

    def limited_accounts(self, path: str) -> tuple[str, ...]:
        """Return the accounts with limits that a charge to an account debits, the root first."""
        return self._paths[path]

    def costs(self, pieces: Pieces) -> Costs:
        """Return the most that a record pays in each account, or two records of one box."""
        unit = self.opening.unit
        return tuple(
            (path, FilterCharge(0, parts, self._filters[path].budget, unit).amounts)
            for path, parts in pieces
        )

    # --- the fold -----------------------------------------------------------------------------

    def apply_row(self, row: EntryRow) -> None:
        """Apply a stored row, if it follows from the last one."""
        if not row.follows(self.seq, self.head):
            raise damaged_entry_error(row.seq)
        try:
            self.apply(read_entry(row), row.seq, row.head)
        except (DamagedLedger, NewerFormat):
            raise
        except PARSE_ERRORS:
            raise damaged_entry_error(row.seq) from None

    def apply(self, entry: Entry, seq: int, head: str) -> None:
        """Take the next entry; if it raises, the state is no longer usable."""
        if (self._opening is None) != isinstance(entry, OpenEntry):
            raise damaged_entry_error(seq)
        match entry:
            case ChargeEntry():
                self._charge(entry, seq)
            case StartEntry() | ReleaseEntry():
                pass
            case FailEntry() | ReopenEntry() | DescriptionEntry():
                self._note(entry)
            case RestoreEntry():
                self._restored(entry)
            case OpenEntry():
                self._open(entry)
            case AccountEntry():
                self._add(entry.account, entry.budget, seq)
            case RaiseEntry():
                self._filters[entry.account] = self._filters[entry.account].with_budget(
                    entry.budget
                )
                self._put(entry.account, entry.budget)
            case _:
                assert_never(entry)
        self.seq, self.head = seq, head

    def _describe(self, entry: DescriptionEntry) -> None:
        """Keep a description; that of a table says what all rows of a unit share in it."""
        self._descriptions[entry] = None
        if entry.what == "schema":
            shared = shared_columns(entry.content())
            self._prices = self.prices.sharing(shared)
            for each in self._filters.values():
                each.share(shared)

    def _open(self, entry: OpenEntry) -> None:
        if parent_account(entry.account):
            raise damaged_entry_error(1)
        self._opening = entry
        self._prices = RequestPricer(
            unit=entry.unit, constant=entry.constant, contribution=entry.contribution
        )
        self._add(entry.account, entry.budget, 1)

    def _add(self, path: str, budget: Budget | None, seq: int) -> None:
        above = parent_account(path)
        if path in self._accounts or (above in self._accounts) != bool(self._accounts):
            raise damaged_entry_error(seq)
        if budget is not None:
            self._filters[path] = PrivacyFilter(budget, **self._terms())
        self._put(path, budget)
        self._paths[path] = tuple(
            account for account in path_and_ancestors(path) if account in self._filters
        )

    def _put(self, path: str, budget: Budget | None) -> None:
        self._accounts[path] = Account(path, budget)
        self._shown = None

    def _charge(self, charge: ChargeEntry, seq: int) -> None:
        if tuple(path for path, _ in charge.pieces) != self._paths.get(charge.account):
            raise damaged_entry_error(seq)
        for path, pieces in charge.pieces:
            self._filters[path].enter(pieces)

    def _note(self, entry: FailEntry | ReopenEntry | DescriptionEntry) -> None:
        match entry:
            case FailEntry():
                self._closed[entry.key] = None
            case ReopenEntry():
                del self._closed[entry.key]
            case DescriptionEntry():
                self._describe(entry)

    def _restored(self, entry: RestoreEntry) -> None:
        """Where charges may be unknown, every record owes what could have been charged: all."""
        if entry.spent:
            for charged in self._filters.values():
                charged.exhaust()

    def _terms(self) -> dict[str, Any]:
        opening = self.opening
        return {
            "unit": opening.unit,
            "constant": self.prices.constant,
            "contribution": opening.contribution,
        }

    # --- checkpoints --------------------------------------------------------------------------

    def written(self) -> str:
        """Return the state as text: a digest, and what it is the digest of."""
        accounts = {
            path: {
                "budget": None if account.budget is None else account.budget.written(),
                "book": None if account.budget is None else self._filters[path].written(),
            }
            for path, account in self._accounts.items()
        }
        opening = None if self._opening is None else self._opening.line(1, "")
        text = canonical(
            {
                "version": _VERSION,
                "seq": self.seq,
                "head": self.head,
                "opening": opening,
                "accounts": accounts,
                "closed": list(self._closed),
                "descriptions": [[entry.what, entry.content()] for entry in self._descriptions],
            }
        )
        return f"{digest(text.encode('ascii'))}\n{text}"

    @classmethod
    def read(cls, text: str) -> Self:
        """Read what ``written`` wrote, and refuse everything else as damaged."""
        try:
            return cls._read(text)
        except PARSE_ERRORS:
            raise damaged_entry_error(0) from None

    @classmethod
    def _read(cls, text: str) -> Self:
        first, _, rest = text.partition("\n")
        if digest(rest.encode("ascii")) != first:
            raise ValueError
        data = json.loads(rest)
        if data["version"] != _VERSION:
            raise ValueError
        state = cls()
        if data["opening"] is not None:
            opening = OpenEntry.read(json.loads(data["opening"]))
            state.apply(opening, 1, "")
            state._restore(data["accounts"])
        state._closed = dict.fromkeys(data["closed"])
        for what, content in data["descriptions"]:
            state._describe(DescriptionEntry.of(what, content))
        state.seq, state.head = data["seq"], data["head"]
        if type(state.seq) is not int or not isinstance(state.head, str):
            raise TypeError
        return state

    def _restore(self, accounts: dict[str, Any]) -> None:
        for path in sorted(accounts):  # what is above comes first
            kept = accounts[path]["budget"]
            budget = None if kept is None else Budget.read(kept)
            if path != self.opening.account:
                self._add(path, budget, 0)
            if budget is not None:
                self._filters[path] = PrivacyFilter.read(
                    accounts[path]["book"], budget=budget, **self._terms()
                )
            self._put(path, budget)


def restore_state(store: LedgerStore) -> LedgerState:
    """Return the state of the last checkpoint that counts, or that of no entries at all."""
    kept = store.checkpoint()
    if kept is None:
        return LedgerState()
    seq, text = kept
    row = next(store.rows(after=seq - 1), None)
    if row is None:
        raise missing_entries_error()
    try:
        state = LedgerState.read(text)
    except DiscreetError:
        return LedgerState()
    known = (state.seq, state.head) == (seq, row.head) and row.seq == seq
    return state if known else LedgerState()
