"""Canonical JSON: the lines of entries, chained by hashes, and descriptions of the data.

Trust: kernel.

Definition.  The line of an entry is its JSON object with sorted names, no spaces and only ASCII, so
that equal entries are equal bytes.  The head after line n is

    head_n = SHA-256(head_(n-1) + newline + line_n),    head_0 = 64 zeros,

in hexadecimal digits: a head identifies everything up to it.  A store keeps rows: the line, its
head, copies of the fields that are looked up, and beside a release the answer itself.
Assumes: nobody finds two texts with the same SHA-256.

Definition.  A description tells a ledger about the data.  It is a JSON object under a word that
says what it describes, such as "schema" or "source"; its digest is the SHA-256 of its canonical
JSON.  Descriptions stay in the order in which they were recorded, and never change.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, ClassVar, Final, Self, final

from discreet.errors import DamagedLedger, NewerFormat, OutOfRange, WrongKind

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
