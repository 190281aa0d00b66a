"""What a ledger hands out: receipts, charges, starts and releases.

Trust: kernel.

Definition.  A receipt names a ledger, the number of an entry and the head after it.  Whoever holds
one can show later that the entry, and everything before it, is still there (or is not).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final, Self, final

from discreet.accounting.budget import Budget
from discreet.accounting.currency import Amounts
from discreet.errors import WrongKind

__all__ = ["Account", "Charged", "Receipt", "Release", "Started"]

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
        found = _RECEIPT.fullmatch(text) if isinstance(text, str) else None
        if found is None:
            raise WrongKind(
                what="a receipt cannot be read.",
                why="it names a ledger, the number of an entry, and the head after it.",
                do="give it as it was printed: 32 hex digits, a number and 64 hex digits, "
                "with colons between them.",
            )
        return cls(found[1], int(found[2]), found[3])


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
    """Leave to read the data for a charge; attempts count from 1."""

    key: str
    attempt: int


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """An answer that is stored for good; ``replayed`` if it was there already.

    >>> stored = Release(key="k", question="", answer=b"42",
    ...                  receipt=Receipt("1" * 32, 3, "a" * 64), replayed=False)
    >>> "42" in repr(stored)
    False
    """

    key: str
    question: str
    answer: bytes = field(repr=False)
    receipt: Receipt
    replayed: bool
