"""The kinds of entries, and what each says.

Trust: kernel.

    open      whom the ledger protects, its first account and what that may lose: entry 1, only
    account   a further account, below one that is there
    raise     higher limits for an account, wanted by one person and approved by another
    charge    a request, and what it costs (:mod:`discreet.ledger.charge`)
    start     data is about to be read for a charge
    release   the answer was stored; the entry holds its digest, not the answer
    restore   everything before was read from a backup; what was left may count as spent
    fail      an attempt failed, and the question is closed (:mod:`discreet.ledger.closing`)
    reopen    a closed question may be attempted again
    describe  what the data looks like (:mod:`discreet.ledger.description`)

There is no kind that gives anything back.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Self, final

from discreet.accounting.budget import Budget
from discreet.accounting.codec import read_unit, written_unit
from discreet.accounting.contribution import Contribution
from discreet.errors import DiscreetError
from discreet.ledger.charge import Charge
from discreet.ledger.closing import Failing, Reopening
from discreet.ledger.description import Description
from discreet.ledger.entry import Row, damaged, digest, head_after, line_of
from discreet.units import PrivacyUnit

__all__ = [
    "GARBAGE",
    "Entry",
    "NewAccount",
    "Opening",
    "Raising",
    "Restoring",
    "Start",
    "Stored",
    "read_entry",
    "row_of",
]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
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
            "unit": written_unit(self.unit),
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
            unit=read_unit(fields["unit"]),
            constant=tuple(fields["constant"]),
            contribution=None if limits is None else Contribution.read(limits),
            account=fields["account"],
            budget=Budget.read(fields["budget"]),
        )


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class NewAccount:
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
class Raising:
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
class Start:
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
class Stored:
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
class Restoring:
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
    Opening
    | NewAccount
    | Raising
    | Charge
    | Start
    | Stored
    | Restoring
    | Failing
    | Reopening
    | Description
)
"""What can be recorded."""

GARBAGE: Final = (
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
        Opening,
        NewAccount,
        Raising,
        Charge,
        Start,
        Stored,
        Restoring,
        Failing,
        Reopening,
        Description,
    )
}


def row_of(entry: Entry, after: tuple[int, str], at: str, answer: bytes | None = None) -> Row:
    """Return the row of an entry that follows the one with a number and a head."""
    seq = after[0] + 1
    line = entry.line(seq, at)
    head = head_after(after[1], line)
    return Row(seq, entry.kind, entry.key, entry.question, line, head, answer)


def read_entry(row: Row) -> Entry:
    """Read the entry of a row.

    >>> line = line_of(2, "start", "2026-01-01T00:00:00.000000Z", {"key": "k", "attempt": 1})
    >>> read_entry(Row(2, "start", "k", None, line, "a" * 64))
    Start(key='k', attempt=1)
    """
    fields = row.fields()
    try:
        return _READ[row.kind](fields)
    except GARBAGE:
        raise damaged(row.seq) from None
