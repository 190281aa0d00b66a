"""Values of a ledger: checked strings, account paths and terms go in, receipts come out.

Trust: kernel.

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
from typing import Final, Self, final

from discreet.accounting.box import Contribution
from discreet.accounting.budget import Budget
from discreet.accounting.currencies import Amounts
from discreet.errors import OutOfRange, WrongKind
from discreet.units import PrivacyUnit

_LONGEST_KEY: Final = 200
_LONGEST_TEXT: Final = 1000
_DEEPEST: Final = 8
_NAMED: Final = 8
_PART: Final = re.compile(r"[A-Za-z0-9_.-]{1,64}", re.ASCII)
_RECEIPT: Final = re.compile(r"([0-9a-f]{32}):([1-9][0-9]{0,17}):([0-9a-f]{64})", re.ASCII)


def checked_text(text: object, *, name: str, most: int = _LONGEST_TEXT) -> str:
    """Refuse what is not readable text: empty, too long, or with control characters."""
    if not isinstance(text, str):
        raise WrongKind(f"the {name} must be text, got {type(text).__name__}.")
    if not text.strip() or len(text) > most or not text.isprintable():
        raise OutOfRange(
            f"the {name} must have 1 to {most} printable characters; it is kept in an entry, for "
            "people to read and to look up."
        )
    return text


def checked_key(key: object, *, name: str = "key") -> str:
    """Refuse what is not a key, the digest of a question, or a word."""
    return checked_text(key, name=name, most=_LONGEST_KEY)


def checked_reason(reason: object) -> str:
    """Refuse what is not a reason."""
    return checked_text(reason, name="reason")


def checked_person(person: object) -> str:
    """Refuse what is not the name of a person."""
    return checked_text(person, name="name")


def two_people(reason: object, by: object, approved_by: object) -> dict[str, str]:
    """Return why, and who requests and approves it; refuse that this is the same person.

    >>> two_people("a new survey", "ana", "ben")["approved_by"]
    'ben'
    """
    why, first, second = checked_reason(reason), checked_person(by), checked_person(approved_by)
    if first.strip().casefold() == second.strip().casefold():
        raise OutOfRange(
            what="the same person requests and approves it.",
            why="what weakens a promise takes two people.",
            do="have somebody else approve it.",
        )
    return {"reason": why, "by": first, "approved_by": second}


def checked_path(path: object) -> str:
    """Refuse what is not the path of an account.

    >>> checked_path("data/flu")
    'data/flu'
    """
    if not isinstance(path, str):
        raise WrongKind(f"the path of an account must be text, got {type(path).__name__}.")
    parts = path.split("/")
    if len(parts) > _DEEPEST or not all(_PART.fullmatch(part) for part in parts):
        raise OutOfRange(
            f"the path of an account must have 1 to {_DEEPEST} parts of 1 to 64 letters, digits, "
            "'_', '-' or '.', such as 'data/flu/ana'."
        )
    return path


def path_and_ancestors(path: str) -> tuple[str, ...]:
    """Return a path and everything above it, the root first."""
    parts = path.split("/")
    return tuple("/".join(parts[: k + 1]) for k in range(len(parts)))


def parent_account(path: str) -> str:
    """Return the account right above a path; nothing for a root."""
    return path.rpartition("/")[0]


def named_accounts(paths: Iterable[str]) -> str:
    """Say which accounts there are.

    >>> named_accounts(["data", "data/flu"])
    'one of its accounts (data, data/flu)'
    """
    known = sorted(paths)
    more = len(known) - _NAMED
    others = f" and {more} more" if more > 0 else ""
    return f"one of its accounts ({', '.join(known[:_NAMED])}{others})"


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
                "a receipt must be given as it was printed: 32 hex digits, a number and 64 hex "
                "digits, with colons between them."
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
    record pays or, if records are replaced, two of one box.  ``new`` is false if the same
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


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class OpeningTerms:
    """The terms that a ledger is opened with; None leaves a term to the record."""

    unit: PrivacyUnit | None = None
    budget: Budget | None = None
    account: str | None = None
    constant: Iterable[str] | None = None
    contribution: Contribution | None = None
    ledger: str | None = None
    """The id of a ledger that has to exist already."""

    def __post_init__(self) -> None:
        """Refuse invalid terms before anything is opened."""
        if self.unit is not None and not isinstance(self.unit, PrivacyUnit):
            raise _wrong("unit", self.unit, "row(), person(...) or custom(...)")
        if self.contribution is not None and not isinstance(self.contribution, Contribution):
            raise _wrong("contribution", self.contribution, "Contribution(rows=...)")
        if self.budget is not None:
            checked_budget(self.budget)
        if self.ledger is not None:
            checked_text(self.ledger, name="id", most=32)
        if self.constant is not None:
            object.__setattr__(self, "constant", _columns(self.constant))
        if self.account is not None and parent_account(checked_path(self.account)):
            raise OutOfRange(
                f"the first account of a ledger, {self.account}, must be above all others: give "
                "one part, such as 'data'."
            )


def checked_budget(budget: object) -> Budget:
    """Refuse what limits nothing, or leaves nothing to ask for.

    >>> checked_budget(Budget(epsilon=1)).limit
    (1000000000000000000000000, 0)
    """
    if not isinstance(budget, Budget):
        raise _wrong("budget", budget, "Budget(epsilon=1), for example")
    if max(budget.limit[:-1]) <= 0:
        raise OutOfRange("a budget must have a limit above 0, or nothing could ever be asked.")
    return budget


def checked_timeout(timeout: object) -> float:
    """Refuse what is not a number of seconds above zero.

    >>> checked_timeout(60)
    60.0
    """
    number = isinstance(timeout, int | float) and not isinstance(timeout, bool)
    if not number or not 0 < timeout <= threading.TIMEOUT_MAX:  # type: ignore[operator]
        raise OutOfRange("the timeout must be a number of seconds above 0, such as timeout=60.")
    return float(timeout)  # type: ignore[arg-type]


def _columns(constant: object) -> tuple[str, ...]:
    names = list(constant) if isinstance(constant, Iterable) else [None]
    if isinstance(constant, str) or not all(isinstance(name, str) and name for name in names):
        raise _wrong("list of constant columns", constant, "constant=['birth_year'], for example")
    return tuple(sorted({str(name) for name in names}))


def _wrong(name: str, value: object, give: str) -> WrongKind:
    return WrongKind(f"the {name} of a ledger must be {give}; got {type(value).__name__}.")
