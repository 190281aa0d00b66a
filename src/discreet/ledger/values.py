"""Values of a ledger: checked strings, account paths and terms go in, receipts come out.

Trust: kernel.

Keys, questions, reasons and names of people are strings.  One that reads like another without being
equal would hide one request behind another.

Definition.  Accounts are named by paths: data, data/flu, data/flu/ana.  A path is one to eight
parts joined by slashes; a part is 1 to 64 ASCII letters, digits or ``_ - .``.  The accounts above
a path are its prefixes: a charge to an account is a charge to all accounts above it too.

Definition.  A receipt names a ledger, the number of an entry and the head after it.  Its holder
can show later whether the entry, and everything before it, is still there.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Self, final

from discreet.accounting.box import Contribution
from discreet.accounting.budget import Budget, is_recorded
from discreet.accounting.currencies import Amounts
from discreet.errors import OtherLedger, OutOfRange, WrongKind
from discreet.ledger.entries import NO_HEAD, EntryRow, OpenEntry, now, row_of
from discreet.ledger.failures import absent_ledger_error
from discreet.units import PrivacyUnit

if TYPE_CHECKING:
    from discreet.ledger.state import LedgerState


_LONGEST_KEY: Final = 200
_LONGEST_TEXT: Final = 1000


def checked_text(text: object, *, name: str, most: int) -> str:
    """Refuse what is not readable text: empty, too long, or with control characters."""
    if not isinstance(text, str):
        raise WrongKind(
            what=f"the {name} is a {type(text).__name__}, not text.",
            why="it is kept in an entry, for people to read and to look up.",
            do=f"give the {name} as text.",
        )
    if not text.strip() or len(text) > most or not text.isprintable():
        raise OutOfRange(
            what=f"the {name} is blank, longer than {most} characters, or has control characters.",
            why="it is kept in an entry, for people to read and to look up.",
            do=f"give a {name} of 1 to {most} printable characters.",
        )
    return text


def checked_key(key: object, *, name: str = "key") -> str:
    """Refuse what is not a key, the digest of a question, or a word."""
    return checked_text(key, name=name, most=_LONGEST_KEY)


def checked_reason(reason: object) -> str:
    """Refuse what is not a reason."""
    return checked_text(reason, name="reason", most=_LONGEST_TEXT)


def checked_person(person: object) -> str:
    """Refuse what is not the name of a person."""
    return checked_text(person, name="name", most=_LONGEST_TEXT)


def check_two_people(by: str, approved_by: str) -> None:
    """Refuse that the same person requests and approves it.

    >>> check_two_people("ana", "ben")
    """
    if by.strip().casefold() == approved_by.strip().casefold():
        raise OutOfRange(
            what="the same person requests and approves it.",
            why="what weakens a promise takes two people.",
            do="have somebody else approve it.",
        )


_DEEPEST: Final = 8
_PART: Final = re.compile(r"[A-Za-z0-9_.-]{1,64}", re.ASCII)


def checked_path(path: object) -> str:
    """Refuse what is no path of an account.

    >>> checked_path("data/flu")
    'data/flu'
    """
    if not isinstance(path, str):
        raise WrongKind(
            what=f"the path of an account is a {type(path).__name__}, not text.",
            why="accounts are told apart by their paths.",
            do="give a path such as 'data/flu/ana'.",
        )
    parts = path.split("/")
    if len(parts) > _DEEPEST or not all(_PART.fullmatch(part) for part in parts):
        raise OutOfRange(
            what="a part of the account's path is empty, too long or has other characters, or "
            f"there are more than {_DEEPEST} parts.",
            why="paths appear in every entry, and must read the same everywhere.",
            do="give up to 8 parts of 1 to 64 letters, digits, '_', '-' or '.': 'data/flu/ana'.",
        )
    return path


def path_and_ancestors(path: str) -> tuple[str, ...]:
    """Return a path and everything above it, the root first."""
    parts = path.split("/")
    return tuple("/".join(parts[: k + 1]) for k in range(len(parts)))


def parent_account(path: str) -> str:
    """Return the account right above a path; nothing for a root."""
    return path.rpartition("/")[0]


_NAMED: Final = 8


def named_accounts(paths: Iterable[str]) -> str:
    """Say which accounts there are.

    >>> named_accounts(["data", "data/flu"])
    'one of its accounts (data, data/flu)'
    """
    known = sorted(paths)
    more = len(known) - _NAMED
    others = f" and {more} more" if more > 0 else ""
    return f"one of its accounts ({', '.join(known[:_NAMED])}{others})"


_RECEIPT: Final = re.compile(r"([0-9a-f]{32}):([1-9][0-9]{0,17}):([0-9a-f]{64})", re.ASCII)


@final
@dataclass(frozen=True, slots=True)
class Receipt:
    """Where a ledger stood after one of its entries.

    >>> receipt = Receipt(ledger="1" * 32, seq=7, head="a" * 64)
    >>> Receipt.read(str(receipt)) == receipt
    True
    """

    ledger: str
    seq: int
    head: str

    def __str__(self) -> str:
        """Show it on one line that ``read`` takes."""
        return f"{self.ledger}:{self.seq}:{self.head}"

    @classmethod
    def read(cls, text: object) -> Self:
        """Read what ``str`` showed."""
        match = _RECEIPT.fullmatch(text) if isinstance(text, str) else None
        if match is None:
            raise WrongKind(
                what="a receipt cannot be read.",
                why="it names a ledger, the number of an entry, and the head after it.",
                do="give it as it was printed: 32 hex digits, a number and 64 hex digits, "
                "with colons between them.",
            )
        return cls(match[1], int(match[2]), match[3])


@final
@dataclass(frozen=True, slots=True)
class Account:
    """An account of a ledger, and its limits; without any, those above it limit it.

    >>> Account("data/flu", None).limited
    False
    """

    path: str
    budget: Budget | None

    @property
    def limited(self) -> bool:
        """Whether it has limits of its own."""
        return self.budget is not None


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Charged:
    """A charge that is recorded for good.

    ``amounts`` says for each account with limits what the charge costs it: the most that one
    record pays or, where records are replaced, two of one box.  ``new`` is false if the same
    charge had been recorded under this key before; it is then not paid again.
    """

    key: str
    account: str
    receipt: Receipt
    new: bool
    amounts: tuple[tuple[str, Amounts], ...]

    @property
    def seq(self) -> int:
        """The number of the entry."""
        return self.receipt.seq


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """Permission to read the data for a charge; attempts count from 1."""

    key: str
    attempt: int


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class StoredAnswer:
    """An answer that is stored for good; ``replayed`` if it was there already.

    >>> stored = StoredAnswer(key="k", question="", answer=b"42",
    ...                  receipt=Receipt("1" * 32, 3, "a" * 64), replayed=False)
    >>> "42" in repr(stored)
    False
    """

    key: str
    question: str
    answer: bytes = field(repr=False)
    receipt: Receipt
    replayed: bool


_NAME: Final = 32


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class OpeningTerms:
    """The terms that a ledger is opened with; None leaves a term to the record."""

    unit: PrivacyUnit | None = None
    budget: Budget | None = None
    account: str | None = None
    constant: tuple[str, ...] | None = None
    contribution: Contribution | None = None
    ledger: str | None = None
    """The name of a ledger that has to be there already."""

    @classmethod
    def checked(  # noqa: PLR0913  what stays on record for ever
        cls,
        *,
        unit: object = None,
        budget: object = None,
        account: object = None,
        constant: object = None,
        contribution: object = None,
        ledger: object = None,
    ) -> Self:
        """Refuse invalid terms before anything is opened."""
        if unit is not None and not isinstance(unit, PrivacyUnit):
            raise _wrong("unit", unit, "row(), person(...) or custom(...)")
        if contribution is not None and not isinstance(contribution, Contribution):
            raise _wrong("contribution", contribution, "Contribution(rows=...)")
        path = None if account is None else checked_path(account)
        if path is not None and parent_account(path):
            raise OutOfRange(
                what=f"the first account of a ledger, {path}, lies below another.",
                why="one account stands above all others: its limits are the promise.",
                do="give one part, such as 'data', and open accounts below it with open_account.",
            )
        return cls(
            unit=unit,
            budget=None if budget is None else checked_budget(budget),
            account=path,
            constant=None if constant is None else _columns(constant),
            contribution=contribution,
            ledger=None if ledger is None else checked_text(ledger, name="id", most=_NAME),
        )

    @property
    def can_create(self) -> bool:
        """Whether a new ledger may be made on these terms; never if it must exist already."""
        return self.unit is not None and self.budget is not None and self.ledger is None

    def first_row(self, ledger: str) -> EntryRow:
        """Return the first entry of a new ledger."""
        if self.unit is None or self.budget is None:
            raise absent_ledger_error()
        opening = OpenEntry(
            ledger=ledger,
            unit=self.unit,
            constant=self.constant or (),
            contribution=self.contribution,
            account=self.account or "data",
            budget=self.budget,
        )
        return row_of(opening, (0, NO_HEAD), now())

    def check(self, state: LedgerState) -> None:
        """Refuse a ledger that is recorded for something else."""
        first, unit = state.opening, self.unit
        if self.ledger is not None and self.ledger != first.ledger:
            raise OtherLedger(
                what="the ledger at this address is not the one that the policy names.",
                why="another ledger has a budget of its own for the same people.",
                do="bring back the ledger with the id that the policy names, or correct the "
                "address.",
            )
        if self.account is not None and self.account not in state.accounts:
            raise OtherLedger(
                what=f"there is no account {self.account!r} in the ledger.",
                why="its first account is fixed when it is made, and all others lie below that.",
                do=f"name {named_accounts(state.accounts)}, or leave the account out.",
            )
        now = state.accounts[first.account].budget
        other = {
            "unit": unit is not None
            and (unit.columns, unit.relation) != (first.unit.columns, first.unit.relation),
            "budget": self.budget is not None
            and not any(is_recorded(known, self.budget) for known in (first.budget, now)),
            "constant": self.constant is not None and self.constant != first.constant,
            "contribution": self.contribution is not None
            and self.contribution != first.contribution,
        }
        names = [name for name, differs in other.items() if differs]
        if names:
            raise OtherLedger(
                what=f"the ledger is recorded with another {' and '.join(names)}.",
                why="what was charged before is about the unit and the limits on record, and "
                "they stay with it.",
                do="leave out what the ledger knows itself, raise a limit with raise_limit, or "
                "open another ledger for other people.",
            )


def checked_budget(budget: object) -> Budget:
    """Refuse what limits nothing, or leaves nothing to ask for.

    >>> checked_budget(Budget(epsilon=1)).limit
    (1000000000000000000000000, 0)
    """
    if not isinstance(budget, Budget):
        raise _wrong("budget", budget, "Budget(epsilon=1), for example")
    if max(budget.limit[:-1]) <= 0:
        raise OutOfRange(
            what="the limits of a budget are zero.",
            why="nothing could ever be asked.",
            do="give a budget with a limit above zero.",
        )
    return budget


def checked_timeout(timeout: object) -> float:
    """Refuse what is no number of seconds above zero.

    >>> checked_timeout(60)
    60.0
    """
    known = isinstance(timeout, int | float) and not isinstance(timeout, bool)
    if not known or not 0 < timeout <= threading.TIMEOUT_MAX:  # type: ignore[operator]
        raise OutOfRange(
            what="the timeout is not a positive number of seconds.",
            why="a call that waits for other processes has to end at some point.",
            do="give timeout=60, for example.",
        )
    return float(timeout)  # type: ignore[arg-type]


def _columns(constant: object) -> tuple[str, ...]:
    if isinstance(constant, str) or not isinstance(constant, Iterable):
        raise _wrong("list of constant columns", constant, "constant=['birth_year'], for example")
    columns = list(constant)
    if not all(isinstance(column, str) and column for column in columns):
        raise _wrong("list of constant columns", columns, "names of columns, as text")
    return tuple(sorted(set(columns)))


def _wrong(name: str, value: object, give: str) -> WrongKind:
    return WrongKind(
        what=f"the {name} of a ledger is a {type(value).__name__}.",
        why="it stays on record for ever, so it has to be what was meant.",
        do=f"give {give}.",
    )
