"""Entries: what a ledger records, as chained lines of canonical JSON.

Trust: kernel.

Definition.  An entry is a JSON object with a ``kind``.  Its line has sorted names, no spaces and
only ASCII, so that equal entries are equal bytes.  The head after line n is

    head_n = SHA-256(head_(n-1) + newline + line_n),    head_0 = 64 zeros,

in hexadecimal digits: a head identifies everything up to it.  A store keeps rows: the line, its
head, copies of the fields that are looked up, and with a release the answer itself.
Assumes: SHA-256 is collision resistant.

    open      whom the ledger protects, its first account and its limits: entry 1 only
    account   a further account, below one that exists
    raise     higher limits for an account, requested by one person and approved by another
    charge    a request, and what it costs
    start     data is about to be read for a charge, for the n-th time
    release   the answer was stored; the entry holds its digest, not the answer
    fail      an attempt failed after data may have been read.  Whether it fails can depend on one
              person, so another attempt would be another observation: the question is closed
    reopen    the owner has looked at the reason and allows further attempts, in their name
    restore   everything before was read from a backup.  Unless two people vouch that nothing was
              charged after it, what was left counts as ``spent``, on every route of its currency
    describe  a JSON object about the data, under a word such as "schema"; descriptions never change

No kind gives anything back.  docs/reference/formats.md lists the fields of each kind.
"""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final, Self, final

from discreet.accounting.amounts import decode_amounts
from discreet.accounting.balances import ChargedBox
from discreet.accounting.box import Box, Contribution
from discreet.accounting.budget import Budget
from discreet.accounting.codec import decode_unit, encode_unit
from discreet.accounting.currencies import Amounts
from discreet.accounting.requests import RequestPricer
from discreet.errors import DamagedLedger, DiscreetError, NewerFormat, OutOfRange, WrongKind
from discreet.units import PrivacyUnit

_FORMAT: Final = 1
NO_HEAD: Final = "0" * 64
"""The head of a ledger without entries."""

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

Entry = Mapping[str, Any]
"""A kind and its fields, as JSON values."""

Pieces = tuple[tuple[str, tuple[ChargedBox, ...]], ...]
"""For each account that is debited, the root first, what its records pay."""

_LONGEST: Final = 1 << 20
_ALL: Final = Box.everything()
_ALL_WRITTEN: Final = _ALL.written()
_ENCODER: Final = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False
)


def canonical(value: object) -> str:
    """Return the one JSON text of a value.

    >>> canonical({"b": [1, None], "a": "text"})
    '{"a":"text","b":[1,null]}'
    """
    return _ENCODER.encode(value)


def head_after(head: str, line: str) -> str:
    """Return the head once a line has been appended."""
    return hashlib.sha256(f"{head}\n{line}".encode("ascii")).hexdigest()


def digest(content: bytes) -> str:
    """Return the SHA-256 of bytes, in hexadecimal digits."""
    return hashlib.sha256(content).hexdigest()


def now() -> str:
    """Return the time as entries show it; no decision depends on a clock."""
    return datetime.now(UTC).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


def damaged_entry_error(seq: int) -> DamagedLedger:
    """Return the error for an entry that cannot be read, or does not follow."""
    return DamagedLedger(
        what=f"entry {seq} is torn, or does not follow from the one before it.",
        why="what was spent can only be told from entries that form one chain.",
        do="verify the ledger, keep the file, and restore from a backup or a copy of it.",
    )


@final
@dataclass(frozen=True, slots=True)
class EntryRow:
    """One entry as a store keeps it; ``kind``, ``key`` and ``question`` copy what the line says.

    The answer of a release is never shown, and not always loaded.
    """

    seq: int
    kind: str
    key: str | None
    question: str | None
    line: str
    head: str
    answer: bytes | None = field(default=None, repr=False)

    @classmethod
    def of(cls, entry: Entry, after: tuple[int, str], at: str, answer: bytes | None = None) -> Self:
        """Return the row of an entry that follows the one with a number and a head."""
        seq = after[0] + 1
        line = canonical({**entry, "format": _FORMAT, "seq": seq, "at": at})
        copies = (entry["kind"], entry.get("key"), entry.get("question"))
        return cls(seq, *copies, line, head_after(after[1], line), answer)

    def follows(self, seq: int, head: str) -> bool:
        """Return whether this is the next entry after another, by number and hash."""
        chained = self.line.isascii() and self.head == head_after(head, self.line)
        return self.seq == seq + 1 and chained

    def fields(self) -> dict[str, Any]:
        """Return what the line says."""
        try:
            fields = json.loads(self.line)
        except (ValueError, RecursionError):
            fields = None
        if not isinstance(fields, dict) or type(fields.get("format")) is not int:
            raise damaged_entry_error(self.seq)
        if fields["format"] > _FORMAT:
            raise NewerFormat(
                what=f"entry {self.seq} has format {fields['format']}, and this package knows 1.",
                why="what an entry means must be known in full before anything is charged.",
                do="use the version of discreet that wrote it, or a later one.",
            )
        copies = (fields.get("seq"), fields.get("kind"), fields.get("key"), fields.get("question"))
        if fields["format"] != _FORMAT or copies != (self.seq, self.kind, self.key, self.question):
            raise damaged_entry_error(self.seq)
        return fields


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """What the first entry says: what stays fixed for ever, and the limits of the first account."""

    ledger: str
    unit: PrivacyUnit
    constant: tuple[str, ...]
    contribution: Contribution | None
    account: str
    budget: Budget

    def entry(self) -> Entry:
        """Return the entry."""
        return {
            "kind": "open",
            "ledger": self.ledger,
            "unit": encode_unit(self.unit),
            "constant": list(self.constant),
            "contribution": None if self.contribution is None else self.contribution.written(),
            "account": self.account,
            "budget": self.budget.written(),
        }

    @classmethod
    def read(cls, entry: Entry) -> Self:
        """Read the entry."""
        rows = entry["contribution"]
        return cls(
            ledger=entry["ledger"],
            unit=decode_unit(entry["unit"]),
            constant=tuple(entry["constant"]),
            contribution=None if rows is None else Contribution.read(rows),
            account=entry["account"],
            budget=Budget.read(entry["budget"]),
        )

    def prices(self) -> RequestPricer:
        """Return how requests are priced."""
        return RequestPricer(unit=self.unit, constant=self.constant, contribution=self.contribution)


def pieces_of(charge: Entry) -> Pieces:
    """Return what records pay for a charge.

    Amounts are integers, as decimal text.  Each account with limits on the path has one pair per
    box: what one record pays, and what two of the box pay if one is replaced.
    """
    boxes = [_ALL if box == _ALL_WRITTEN else Box.read(box) for box in charge["boxes"]]
    return tuple(
        (path, tuple(_piece(box, *pair) for box, pair in zip(boxes, pairs, strict=True)))
        for path, pairs in sorted(charge["amounts"].items())
    )


def _piece(box: Box, added: list[str], replaced: list[str]) -> ChargedBox:
    return ChargedBox(box, _amounts(*added), _amounts(*replaced))


@functools.lru_cache(1024)
def _amounts(*texts: str) -> Amounts:
    return decode_amounts(list(texts), width=len(texts))


@final
@dataclass(frozen=True, slots=True)
class DescriptionEntry:
    """What is described, and its canonical JSON.

    >>> DescriptionEntry.of("schema", {"table": "visits"}).text
    '{"table":"visits"}'
    """

    what: str
    text: str

    @classmethod
    def of(cls, what: str, content: object) -> Self:
        """Take an object that JSON can write; refuse anything else."""
        try:
            plain = _plain(content)
            text = canonical(plain)
            exact = isinstance(plain, dict) and json.loads(text) == plain
        except (TypeError, ValueError, RecursionError):
            text, exact = "", False
        if not exact:
            raise WrongKind(
                what=f"the description of a {what} is not an object that JSON can write.",
                why="it is compared with later ones by its text, so it must have exactly one.",
                do="give a mapping from strings to strings, integers, lists and mappings.",
            )
        if len(text) > _LONGEST:
            raise OutOfRange(
                what=f"the description of a {what} is longer than {_LONGEST} characters.",
                why="every process that opens the ledger reads it.",
                do="describe less, or store a digest of the rest.",
            )
        return cls(what, text)

    @property
    def digest(self) -> str:
        """The SHA-256 of the canonical JSON."""
        return digest(self.text.encode("ascii"))

    def content(self) -> dict[str, Any]:
        """Return the object itself, a new one each time."""
        content: dict[str, Any] = json.loads(self.text)
        return content

    def entry(self) -> Entry:
        """Return the entry."""
        said = {"what": self.what, "content": self.content(), "digest": self.digest}
        return {"kind": "describe", **said}


def _plain(value: object) -> object:
    """Return a value with lists for sequences."""
    if isinstance(value, Mapping):
        return {name: _plain(item) for name, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value
