"""Requests about a ledger as a whole: opening it, accounts, higher limits, descriptions, snapshots.

Trust: kernel.

No request lowers a limit or what was spent.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Generic, TypeVar, final

from discreet.accounting.box import Box
from discreet.accounting.budget import checked_raise, is_recorded
from discreet.accounting.filter import Left
from discreet.accounting.requests import Priceable
from discreet.errors import OtherLedger, OutOfRange
from discreet.ledger.canonical_lines import DescriptionEntry
from discreet.ledger.entry_kinds import AccountEntry, OpenEntry, RaiseEntry
from discreet.ledger.opening_terms import OpeningTerms
from discreet.ledger.values import Account, Receipt, parent_account

if TYPE_CHECKING:  # handed in
    from discreet.ledger.connection import Batch

__all__ = [
    "AccountRequest",
    "DescribeRequest",
    "LeftRequest",
    "LookingRequest",
    "OpenRequest",
    "RaiseRequest",
    "Snapshot",
    "SnapshotRequest",
    "StatementRequest",
    "checked_account",
]


Result_co = TypeVar("Result_co", covariant=True)


@final
@dataclass(frozen=True, slots=True)
class Snapshot:
    """The public facts of a ledger at one moment; nothing in it changes later."""

    opening: OpenEntry
    accounts: Mapping[str, Account]
    receipt: Receipt
    closed: tuple[str, ...]
    descriptions: tuple[DescriptionEntry, ...]


class _LedgerRequest:
    """A request that has to know the rows of no key."""

    __slots__ = ()

    keys: ClassVar[tuple[str, ...]] = ()


class LookingRequest(_LedgerRequest, Generic[Result_co]):
    """A request that appends nothing, and is answered without locking others out."""

    __slots__ = ()

    def act(self, batch: Batch) -> Result_co:
        """Look."""
        raise NotImplementedError


@final
@dataclass(frozen=True, slots=True)
class SnapshotRequest(LookingRequest[Snapshot]):
    """Take a snapshot, in view of all existing entries."""

    def act(self, batch: Batch) -> Snapshot:
        """Take it."""
        state = batch.state
        receipt = Receipt(state.opening.ledger, state.seq, state.head)
        return Snapshot(
            opening=state.opening,
            accounts=state.accounts,
            receipt=receipt,
            closed=tuple(state.closed),
            descriptions=tuple(state.descriptions),
        )


@final
@dataclass(frozen=True, slots=True)
class DescribeRequest(_LedgerRequest):
    """Record a description, unless an equal one exists."""

    entry: DescriptionEntry

    def act(self, batch: Batch) -> None:
        """Record it if it is new."""
        if self.entry not in batch.state.descriptions:
            batch.append(self.entry)


@final
@dataclass(frozen=True, slots=True)
class OpenRequest(LookingRequest[Snapshot]):
    """Open an existing ledger on some terms."""

    terms: OpeningTerms

    def act(self, batch: Batch) -> Snapshot:
        """Compare the record with the terms; tables without entries are damage."""
        self.terms.check(batch.state)
        return SnapshotRequest().act(batch)


@final
@dataclass(frozen=True, slots=True)
class AccountRequest(_LedgerRequest):
    """Open a further account; an existing one with the same limits is returned."""

    entry: AccountEntry

    def act(self, batch: Batch) -> Snapshot:
        """Check what is above, and record."""
        accounts, path = batch.state.accounts, self.entry.account
        there = accounts.get(path)
        if there is None:
            checked_account(accounts, parent_account(path))
            batch.append(self.entry)
        elif not is_recorded(there.budget, self.entry.budget):
            raise OtherLedger(
                what=f"account {path} is recorded with another budget.",
                why="limits on record are raised by two people, or stay.",
                do="leave the account as it is, or raise its limit with raise_limit.",
            )
        return SnapshotRequest().act(batch)


@final
@dataclass(frozen=True, slots=True)
class RaiseRequest(_LedgerRequest):
    """Raise the limits of an account."""

    entry: RaiseEntry

    def act(self, batch: Batch) -> Snapshot:
        """Check that it is a raise, and record it."""
        path = self.entry.account
        if checked_account(batch.state.accounts, path).budget is None:
            raise OutOfRange(
                what=f"account {path} has no limits of its own.",
                why="a limit where there was none would lower what may be asked.",
                do="raise the limits of an account above it.",
            )
        now = batch.state.filter_of(path).budget
        budget = checked_raise(now, self.entry.budget)
        batch.append(replace(self.entry, budget=budget))
        return SnapshotRequest().act(batch)


@final
@dataclass(frozen=True, slots=True)
class LeftRequest(LookingRequest[Left]):
    """Return what is left for requests about a scope, in an account and all above it."""

    account: str
    scope: Box | None

    def act(self, batch: Batch) -> Left:
        """Take a copy of what is left, usable while others are charged."""
        state = batch.state
        checked_account(state.accounts, self.account)
        return _together(
            [
                state.filter_of(path).left(self.scope)
                for path in state.limited_accounts(self.account)
            ]
        )


def _together(lefts: Sequence[Left]) -> Left:
    """Return what is left in the last account, for requests that all of them have to accept."""

    def fitting(what: Priceable, delta: object) -> Callable[[int], bool]:
        fits = [left.fitting(what, delta) for left in lefts]
        return lambda times: all(fit(times) for fit in fits)

    def charging(what: Priceable, delta: object) -> Left:
        return _together([left.charging(what, delta) for left in lefts])

    return replace(lefts[-1], fitting=fitting, charging=charging)


@final
@dataclass(frozen=True, slots=True)
class StatementRequest(LookingRequest[tuple[tuple[str, str], ...]]):
    """Return what is left in every account."""

    def act(self, batch: Batch) -> tuple[tuple[str, str], ...]:
        """Put it in words."""
        state = batch.state
        return tuple(
            (path, "" if state.accounts[path].budget is None else str(state.filter_of(path).left()))
            for path in sorted(state.accounts)
        )


def checked_account(accounts: Mapping[str, Account], path: str) -> Account:
    """Refuse an account that does not exist."""
    if path not in accounts:
        raise OutOfRange(
            what=f"there is no account {path!r}."
            if path
            else "a ledger has one root account, and this would be a second one.",
            why="a charge counts against the limits of accounts that are on record.",
            do="use one of the accounts of the ledger, or open this one with open_account.",
        )
    return accounts[path]
