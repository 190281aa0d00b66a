"""The kinds of entries, and what each says.

Trust: kernel.

The entries that close a question after a failed attempt, and open it again.

    fail      an attempt failed after data may have been read.  Whether it fails can depend on one
              person, so another attempt would be another observation: the question is closed
    reopen    the owner has looked at the reason and allows further attempts, in their name

The charge of a closed question stays, as every charge does.

The kinds of entries, and what each says.

    open      whom the ledger protects, its first account and what that may lose: entry 1, only
    account   a further account, below one that is there
    raise     higher limits for an account, wanted by one person and approved by another
    charge    a request, and what it costs (:mod:`discreet.ledger.charge`)
    start     data is about to be read for a charge
    release   the answer was stored; the entry holds its digest, not the answer
    restore   everything before was read from a backup; what was left may count as spent
    fail      an attempt failed, and the question is closed (:mod:`discreet.ledger.entry_kinds`)
    reopen    a closed question may be attempted again
    describe  what the data looks like (:mod:`discreet.ledger.canonical_lines`)

There is no kind that gives anything back.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Self, final

from discreet.accounting.budgets.budget import Budget
from discreet.accounting.scopes.contribution import Contribution
from discreet.accounting.storage.codec import decode_unit, encode_unit
from discreet.errors import DiscreetError
from discreet.ledger.canonical_lines import (
    DescriptionEntry,
    EntryRow,
    damaged_entry_error,
    digest,
    head_after,
    line_of,
)
from discreet.ledger.charge import ChargeEntry
from discreet.units import PrivacyUnit

__all__ = [
    "PARSE_ERRORS",
    "AccountEntry",
    "Entry",
    "FailEntry",
    "OpenEntry",
    "RaiseEntry",
    "ReleaseEntry",
    "ReopenEntry",
    "RestoreEntry",
    "StartEntry",
    "read_entry",
    "row_of",
]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class FailEntry:
    """An attempt failed, and the question is closed."""

    kind: ClassVar[str] = "fail"
    question: ClassVar[None] = None

    key: str

    def line(self, seq: int, at: str) -> str:
        """Return the canonical line."""
        return line_of(seq, self.kind, at, {"key": self.key})

    @classmethod
    def read(cls, fields: Mapping[str, Any]) -> Self:
        """Read what a line says."""
        return cls(key=fields["key"])


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ReopenEntry:
    """A closed question may be attempted again."""

    kind: ClassVar[str] = "reopen"
    question: ClassVar[None] = None

    key: str
    reason: str
    by: str

    def line(self, seq: int, at: str) -> str:
        """Return the canonical line."""
        fields = {"key": self.key, "reason": self.reason, "by": self.by}
        return line_of(seq, self.kind, at, fields)

    @classmethod
    def read(cls, fields: Mapping[str, Any]) -> Self:
        """Read what a line says."""
        return cls(key=fields["key"], reason=fields["reason"], by=fields["by"])


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class OpenEntry:
    """The first entry: what stays fixed for ever, and the limits of the first account."""

    kind: ClassVar[str] = "open"
    key: ClassVar[None] = None
    question: ClassVar[None] = None

    ledger: str
    unit: PrivacyUnit
    constant: tuple[str, ...]
    contribution: Contribution | None
    account: str
    budget: Budget

    def line(self, seq: int, at: str) -> str:
        """Return the canonical line."""
        limits = self.contribution
        fields = {
            "ledger": self.ledger,
            "unit": encode_unit(self.unit),
            "constant": list(self.constant),
            "contribution": None if limits is None else limits.written(),
            "account": self.account,
            "budget": self.budget.written(),
        }
        return line_of(seq, self.kind, at, fields)

    @classmethod
    def read(cls, fields: Mapping[str, Any]) -> Self:
        """Read what a line says."""
        limits = fields["contribution"]
        return cls(
            ledger=fields["ledger"],
            unit=decode_unit(fields["unit"]),
            constant=tuple(fields["constant"]),
            contribution=None if limits is None else Contribution.read(limits),
            account=fields["account"],
            budget=Budget.read(fields["budget"]),
        )


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class AccountEntry:
    """A further account; without limits of its own, those above it limit it."""

    kind: ClassVar[str] = "account"
    key: ClassVar[None] = None
    question: ClassVar[None] = None

    account: str
    budget: Budget | None
    by: str

    def line(self, seq: int, at: str) -> str:
        """Return the canonical line."""
        budget = None if self.budget is None else self.budget.written()
        fields = {"account": self.account, "budget": budget, "by": self.by}
        return line_of(seq, self.kind, at, fields)

    @classmethod
    def read(cls, fields: Mapping[str, Any]) -> Self:
        """Read what a line says."""
        budget = None if fields["budget"] is None else Budget.read(fields["budget"])
        return cls(account=fields["account"], budget=budget, by=fields["by"])


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class RaiseEntry:
    """Higher limits for an account."""

    kind: ClassVar[str] = "raise"
    key: ClassVar[None] = None
    question: ClassVar[None] = None

    account: str
    budget: Budget
    reason: str
    by: str
    approved_by: str

    def line(self, seq: int, at: str) -> str:
        """Return the canonical line."""
        fields = {
            "account": self.account,
            "budget": self.budget.written(),
            "reason": self.reason,
            "by": self.by,
            "approved_by": self.approved_by,
        }
        return line_of(seq, self.kind, at, fields)

    @classmethod
    def read(cls, fields: Mapping[str, Any]) -> Self:
        """Read what a line says."""
        return cls(
            account=fields["account"],
            budget=Budget.read(fields["budget"]),
            reason=fields["reason"],
            by=fields["by"],
            approved_by=fields["approved_by"],
        )


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class StartEntry:
    """Data is about to be read, for the n-th time, for one charge."""

    kind: ClassVar[str] = "start"
    question: ClassVar[None] = None

    key: str
    attempt: int

    def line(self, seq: int, at: str) -> str:
        """Return the canonical line."""
        return line_of(seq, self.kind, at, {"key": self.key, "attempt": self.attempt})

    @classmethod
    def read(cls, fields: Mapping[str, Any]) -> Self:
        """Read what a line says."""
        return cls(key=fields["key"], attempt=fields["attempt"])


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseEntry:
    """An answer was stored beside this entry."""

    kind: ClassVar[str] = "release"
    question: ClassVar[None] = None

    key: str
    answer: str
    size: int

    @classmethod
    def of(cls, key: str, answer: bytes) -> Self:
        """Take the answer itself."""
        return cls(key=key, answer=digest(answer), size=len(answer))

    def line(self, seq: int, at: str) -> str:
        """Return the canonical line."""
        fields = {"key": self.key, "answer": self.answer, "size": self.size}
        return line_of(seq, self.kind, at, fields)

    @classmethod
    def read(cls, fields: Mapping[str, Any]) -> Self:
        """Read what a line says."""
        return cls(key=fields["key"], answer=fields["answer"], size=fields["size"])


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreEntry:
    """Everything before was read from a backup that ended at a head.

    Unless two people vouch that nothing was charged after it, what was left of every account may
    have been spent since, and counts as ``spent``.
    """

    kind: ClassVar[str] = "restore"
    key: ClassVar[None] = None
    question: ClassVar[None] = None

    reason: str
    by: str
    approved_by: str
    head: str
    spent: bool

    def line(self, seq: int, at: str) -> str:
        """Return the canonical line."""
        fields = {
            "reason": self.reason,
            "by": self.by,
            "approved_by": self.approved_by,
            "from": self.head,
            "spent": self.spent,
        }
        return line_of(seq, self.kind, at, fields)

    @classmethod
    def read(cls, fields: Mapping[str, Any]) -> Self:
        """Read what a line says."""
        return cls(
            reason=fields["reason"],
            by=fields["by"],
            approved_by=fields["approved_by"],
            head=fields["from"],
            spent=fields.get("spent", False),  # not recorded by earlier versions
        )


Entry = (
    OpenEntry
    | AccountEntry
    | RaiseEntry
    | ChargeEntry
    | StartEntry
    | ReleaseEntry
    | RestoreEntry
    | FailEntry
    | ReopenEntry
    | DescriptionEntry
)
"""What can be recorded."""

PARSE_ERRORS: Final = (
    DiscreetError,
    ArithmeticError,
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
)
"""What reading something that was never written can end in."""

_READ: Final[Mapping[str, Callable[[Mapping[str, Any]], Entry]]] = {
    kind.kind: kind.read
    for kind in (
        OpenEntry,
        AccountEntry,
        RaiseEntry,
        ChargeEntry,
        StartEntry,
        ReleaseEntry,
        RestoreEntry,
        FailEntry,
        ReopenEntry,
        DescriptionEntry,
    )
}


def row_of(entry: Entry, after: tuple[int, str], at: str, answer: bytes | None = None) -> EntryRow:
    """Return the row of an entry that follows the one with a number and a head."""
    seq = after[0] + 1
    line = entry.line(seq, at)
    head = head_after(after[1], line)
    return EntryRow(seq, entry.kind, entry.key, entry.question, line, head, answer)


def read_entry(row: EntryRow) -> Entry:
    """Read the entry of a row.

    >>> line = line_of(2, "start", "2026-01-01T00:00:00.000000Z", {"key": "k", "attempt": 1})
    >>> read_entry(EntryRow(2, "start", "k", None, line, "a" * 64))
    StartEntry(key='k', attempt=1)
    """
    fields = row.fields()
    try:
        return _READ[row.kind](fields)
    except PARSE_ERRORS:
        raise damaged_entry_error(row.seq) from None
