"""Entries: what a ledger records, as chained lines of canonical JSON.

Trust: kernel.

Definition.  The line of an entry is its JSON object with sorted names, no spaces and only ASCII, so
that equal entries are equal bytes.  The head after line n is

    head_n = SHA-256(head_(n-1) + newline + line_n),    head_0 = 64 zeros,

in hexadecimal digits: a head identifies everything up to it.  A store keeps rows: the line, its
head, copies of the fields that are looked up, and with a release the answer itself.
Assumes: SHA-256 is collision resistant.

    open      whom the ledger protects, its first account and its limits: entry 1 only
    account   a further account, below one that exists
    raise     higher limits for an account, requested by one person and approved by another
    charge    a request, and what it costs
    start     data is about to be read for a charge
    release   the answer was stored; the entry holds its digest, not the answer
    fail      an attempt failed after data may have been read.  Whether it fails can depend on one
              person, so another attempt would be another observation: the question is closed
    reopen    the owner has looked at the reason and allows further attempts, in their name
    restore   everything before was read from a backup; what was left may count as spent
    describe  a JSON object about the data, under a word such as "schema"; descriptions never change

No kind gives anything back: the charge of a closed question stays, as every charge does.
"""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from typing import Any, ClassVar, Final, Self, TypeVar, final, get_args

from discreet.accounting.amounts import decode_amounts
from discreet.accounting.balances import ChargedBox
from discreet.accounting.box import Box, Contribution
from discreet.accounting.budget import Budget
from discreet.accounting.codec import decode_unit, encode_unit
from discreet.accounting.currencies import Amounts
from discreet.errors import DamagedLedger, DiscreetError, NewerFormat, OutOfRange, WrongKind
from discreet.units import PrivacyUnit

FORMAT: Final = 1
"""The version of the entries that are written."""

NO_HEAD: Final = "0" * 64
"""The head of a ledger without entries."""

_ENCODER: Final = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False
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

    def follows(self, seq: int, head: str) -> bool:
        """Return whether this is the next entry after another, by number and hash."""
        chained = self.line.isascii() and self.head == head_after(head, self.line)
        return self.seq == seq + 1 and chained

    def fields(self) -> dict[str, object]:
        """Return what the line says.

        >>> EntryRow(1, "start", "k", None, '{"kind":"start"}', NO_HEAD).fields()
        Traceback (most recent call last):
        discreet.errors.DamagedLedger
        """
        try:
            fields = json.loads(self.line)
        except (ValueError, RecursionError):
            fields = None
        if not isinstance(fields, dict) or type(fields.get("format")) is not int:
            raise damaged_entry_error(self.seq)
        if fields["format"] > FORMAT:
            raise NewerFormat(
                what=f"entry {self.seq} has format {fields['format']}, and this package knows 1.",
                why="what an entry means must be known in full before anything is charged.",
                do="use the version of discreet that wrote it, or a later one.",
            )
        copies = (fields.get("seq"), fields.get("kind"), fields.get("key"), fields.get("question"))
        if fields["format"] != FORMAT or copies != (self.seq, self.kind, self.key, self.question):
            raise damaged_entry_error(self.seq)
        return fields


def canonical(value: object) -> str:
    """Return the one JSON text of a value.

    >>> canonical({"b": [1, None], "a": "text"})
    '{"a":"text","b":[1,null]}'
    """
    return _ENCODER.encode(value)


def line_of(seq: int, kind: str, at: str, fields: Mapping[str, object]) -> str:
    """Return the line of an entry."""
    return canonical({**fields, "format": FORMAT, "seq": seq, "kind": kind, "at": at})


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
        do="verify the ledger, keep the file, and restore from an export or a copy of it.",
    )


_LONGEST: Final = 1 << 20


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class DescriptionEntry:
    """What is described, and its canonical JSON.

    >>> DescriptionEntry.of("schema", {"table": "visits"}).text
    '{"table":"visits"}'
    """

    kind: ClassVar[str] = "describe"
    key: ClassVar[None] = None
    question: ClassVar[None] = None

    what: str
    text: str

    @classmethod
    def of(cls, what: str, content: object) -> Self:
        """Take an object that JSON can write; refuse anything else."""
        text = _written(content) if isinstance(content, Mapping) else None
        if text is None:
            raise WrongKind(
                what=f"the description of a {what} is not an object that JSON can write.",
                why="it is compared with later ones by its text, so it must have exactly one.",
                do="give a mapping from texts to texts, whole numbers, lists and mappings.",
            )
        if len(text) > _LONGEST:
            raise OutOfRange(
                what=f"the description of a {what} is longer than {_LONGEST} characters.",
                why="every process that opens the ledger reads it.",
                do="describe less, or store a digest of the rest.",
            )
        return cls(what=what, text=text)

    @property
    def digest(self) -> str:
        """The SHA-256 of the canonical JSON."""
        return digest(self.text.encode("ascii"))

    def content(self) -> dict[str, Any]:
        """Return the object itself, a new one each time."""
        content: dict[str, Any] = json.loads(self.text)
        return content

    def line(self, seq: int, at: str) -> str:
        """Return the canonical line."""
        fields = {"what": self.what, "content": self.content(), "digest": self.digest}
        return line_of(seq, self.kind, at, fields)

    @classmethod
    def read(cls, fields: Mapping[str, Any]) -> Self:
        """Read the fields of a line."""
        entry = cls(what=fields["what"], text=canonical(fields["content"]))
        if entry.digest != fields["digest"]:
            raise ValueError
        return entry


def _written(content: Mapping[Any, Any]) -> str | None:
    """Return the canonical JSON of an object, or None if it would read back differently."""
    try:
        plain = _plain(content)
        text = canonical(plain)
    except (TypeError, ValueError, RecursionError):
        return None
    return text if json.loads(text) == plain else None


def _plain(value: object) -> object:
    """Return a value with lists for sequences; refuse names that are not text."""
    if isinstance(value, Mapping):
        if not all(isinstance(name, str) for name in value):
            raise TypeError
        return {name: _plain(item) for name, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value


Pieces = tuple[tuple[str, tuple[ChargedBox, ...]], ...]
"""For each account that is debited, the root first, what its records pay."""

_EVERYTHING: Final = Box.everything()
_WRITTEN: Final = _EVERYTHING.written()

_CODECS: Final[Mapping[str, tuple[Callable[[Any], object], Callable[[Any], object]]]] = {
    "budget": (Budget.written, Budget.read),
    "constant": (list, tuple),
    "contribution": (Contribution.written, Contribution.read),
    "unit": (encode_unit, decode_unit),
}
"""How a field is written and read, by its name; any other field is a plain JSON value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _StoredEntry:
    """An entry whose line holds its fields by their names; a field that may be null defaults so."""

    kind: ClassVar[str]
    question: ClassVar[None] = None

    def line(self, seq: int, at: str) -> str:
        """Return the canonical line."""
        return line_of(seq, self.kind, at, _encode(self))

    @classmethod
    def read(cls, stored: Mapping[str, Any]) -> Self:
        """Read the fields of a line."""
        return _decode(cls, stored)


_Kind = TypeVar("_Kind", bound=_StoredEntry)


def _encode(entry: _StoredEntry) -> dict[str, Any]:
    values = {item.name: getattr(entry, item.name) for item in fields(entry)}
    return {
        name: _CODECS[name][0](value) if name in _CODECS and value is not None else value
        for name, value in values.items()
    }


def _decode(kind: type[_Kind], stored: Mapping[str, Any]) -> _Kind:
    values = {}
    for item in fields(kind):
        value = stored[item.name]
        absent = value is None and item.default is None
        codec = None if absent else _CODECS.get(item.name)
        values[item.name] = value if codec is None else codec[1](value)
    return kind(**values)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class OpenEntry(_StoredEntry):
    """The first entry: what stays fixed for ever, and the limits of the first account."""

    kind: ClassVar[str] = "open"
    key: ClassVar[None] = None

    ledger: str
    unit: PrivacyUnit
    constant: tuple[str, ...]
    contribution: Contribution | None = None
    account: str
    budget: Budget


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class AccountEntry(_StoredEntry):
    """A further account; without limits of its own, those above it limit it."""

    kind: ClassVar[str] = "account"
    key: ClassVar[None] = None

    account: str
    budget: Budget | None = None
    by: str


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class RaiseEntry(_StoredEntry):
    """Higher limits for an account."""

    kind: ClassVar[str] = "raise"
    key: ClassVar[None] = None

    account: str
    budget: Budget
    reason: str
    by: str
    approved_by: str


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class StartEntry(_StoredEntry):
    """Data is about to be read, for the n-th time, for one charge."""

    kind: ClassVar[str] = "start"

    key: str
    attempt: int


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseEntry(_StoredEntry):
    """An answer was stored beside this entry."""

    kind: ClassVar[str] = "release"

    key: str
    answer: str
    size: int

    @classmethod
    def of(cls, key: str, answer: bytes) -> Self:
        """Take the answer itself."""
        return cls(key=key, answer=digest(answer), size=len(answer))


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class FailEntry(_StoredEntry):
    """An attempt failed, and the question is closed."""

    kind: ClassVar[str] = "fail"

    key: str


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ReopenEntry(_StoredEntry):
    """A closed question may be attempted again."""

    kind: ClassVar[str] = "reopen"

    key: str
    reason: str
    by: str


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreEntry(_StoredEntry):
    """Everything before was read from a backup that ended at a head.

    Unless two people vouch that nothing was charged after it, what was left of every account may
    have been spent since, and counts as ``spent``.  On which route of a currency it was is unknown,
    so that all of them have to fit from then on.
    """

    kind: ClassVar[str] = "restore"
    key: ClassVar[None] = None

    reason: str
    by: str
    approved_by: str
    head: str
    spent: bool

    def line(self, seq: int, at: str) -> str:
        """Return the canonical line, in which the head is called ``from``."""
        stored = _encode(self)
        return line_of(seq, self.kind, at, {"from": stored.pop("head"), **stored})

    @classmethod
    def read(cls, stored: Mapping[str, Any]) -> Self:
        """Read the fields of a line."""
        return _decode(cls, {**stored, "head": stored["from"]})


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ChargeEntry:
    """A charged request; the texts of its line are known if it was made here.

    Amounts are whole quanta, as decimal text.  Each account with limits on the path has one pair
    per box: what one record pays, and what two of the box pay where one is replaced.
    """

    kind: ClassVar[str] = "charge"

    account: str
    key: str
    question: str
    body: str
    pieces: Pieces
    texts: tuple[str, ...] = field(default=(), repr=False, compare=False)

    def line(self, seq: int, at: str) -> str:
        """Return the canonical line: its names are in order."""
        costs, boxes, scope, tree = self.texts
        return (
            f'{{{costs},"at":"{at}","body":"{self.body}",{boxes},"format":{FORMAT},'
            f'"key":{canonical(self.key)},"kind":"charge","question":{canonical(self.question)},'
            f'{scope},"seq":{seq},{tree}}}'
        )

    @classmethod
    def read(cls, stored: Mapping[str, Any]) -> Self:
        """Read the fields of a line."""
        boxes = [_EVERYTHING if box == _WRITTEN else Box.read(box) for box in stored["boxes"]]
        pieces = tuple(
            (path, tuple(_piece(box, pair) for box, pair in zip(boxes, pairs, strict=True)))
            for path, pairs in sorted(stored["amounts"].items())
        )
        return cls(
            account=stored["account"],
            key=stored["key"],
            question=stored["question"],
            body=stored["body"],
            pieces=pieces,
        )


def _piece(box: Box, pair: Any) -> ChargedBox:
    added, replaced = pair
    return ChargedBox(box, _amounts(tuple(added)), _amounts(tuple(replaced)))


@functools.lru_cache(1024)
def _amounts(texts: tuple[str, ...]) -> Amounts:
    return decode_amounts(list(texts), width=len(texts))


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
    kind.kind: kind.read for kind in get_args(Entry)
}


def row_of(entry: Entry, after: tuple[int, str], at: str, answer: bytes | None = None) -> EntryRow:
    """Return the row of an entry that follows the one with a number and a head."""
    seq = after[0] + 1
    line = entry.line(seq, at)
    head = head_after(after[1], line)
    return EntryRow(seq, entry.kind, entry.key, entry.question, line, head, answer)


def read_entry(row: EntryRow) -> Entry:
    """Read the entry of a row."""
    stored = row.fields()
    try:
        return _READ[row.kind](stored)
    except PARSE_ERRORS:
        raise damaged_entry_error(row.seq) from None
