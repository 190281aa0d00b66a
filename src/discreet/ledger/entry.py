"""Entries as they are stored: one canonical line each, chained by hashes.

Trust: kernel.

Definition.  The line of an entry is its JSON object with sorted names, no spaces and ASCII letters
only, so that equal entries are equal bytes.  The head after line n is

    head_n = SHA-256(head_(n-1) + newline + line_n),    head_0 = 64 zeros,

in hexadecimal digits: whoever knows one head knows everything up to it.  A row is what a store
keeps: the line, its head, copies of what is looked up, and beside a release the answer itself.
Assumes: nobody finds two texts of one SHA-256.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final, final

from discreet.errors import DamagedLedger, NewerFormat

__all__ = ["FORMAT", "NO_HEAD", "Row", "canonical", "digest", "head_after", "line_of", "now"]

FORMAT: Final = 1
"""The version of the entries that are written."""

NO_HEAD: Final = "0" * 64
"""The head of a ledger without entries."""

_ENCODER: Final = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False
)


@final
@dataclass(frozen=True, slots=True)
class Row:
    """What a store keeps of one entry; ``kind``, ``key`` and ``question`` copy what the line says.

    The answer of a release is never shown, and not always loaded.

    >>> Row(1, "start", "k", None, "{}", NO_HEAD, answer=b"secret").answer
    b'secret'
    """

    seq: int
    kind: str
    key: str | None
    question: str | None
    line: str
    head: str
    answer: bytes | None = field(default=None, repr=False)

    def follows(self, seq: int, head: str) -> bool:
        """Say whether this is the next entry after another, by its number and its hash."""
        chained = self.line.isascii() and self.head == head_after(head, self.line)
        return self.seq == seq + 1 and chained

    def fields(self) -> dict[str, object]:
        """Return what the line says.

        >>> Row(1, "start", "k", None, '{"kind":"start"}', NO_HEAD).fields()
        Traceback (most recent call last):
        discreet.errors.DamagedLedger
        """
        try:
            found = json.loads(self.line)
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict) or type(found.get("format")) is not int:
            raise damaged(self.seq)
        if found["format"] > FORMAT:
            raise NewerFormat(
                what=f"entry {self.seq} has format {found['format']}, and this package knows 1.",
                why="what an entry means must be known in full before anything is charged.",
                do="use the version of discreet that wrote it, or a later one.",
            )
        copies = (found.get("seq"), found.get("kind"), found.get("key"), found.get("question"))
        if found["format"] != FORMAT or copies != (self.seq, self.kind, self.key, self.question):
            raise damaged(self.seq)
        return found


def canonical(value: object) -> str:
    """Return the one JSON text of a value.

    >>> canonical({"b": [1, None], "a": "text"})
    '{"a":"text","b":[1,null]}'
    """
    return _ENCODER.encode(value)


def line_of(seq: int, kind: str, at: str, fields: Mapping[str, object]) -> str:
    """Return the line of an entry.

    >>> line_of(7, "start", "2026-01-01T00:00:00.000000Z", {"key": "k", "attempt": 1})
    '{"at":"2026-01-01T00:00:00.000000Z","attempt":1,"format":1,"key":"k","kind":"start","seq":7}'
    """
    return canonical({**fields, "format": FORMAT, "seq": seq, "kind": kind, "at": at})


def head_after(head: str, line: str) -> str:
    """Return the head once a line has been appended.

    >>> head_after(NO_HEAD, "{}")[:8]
    '5649d09e'
    """
    return hashlib.sha256(f"{head}\n{line}".encode("ascii")).hexdigest()


def digest(content: bytes) -> str:
    """Return the SHA-256 of bytes, in hexadecimal digits.

    >>> digest(b"")[:8]
    'e3b0c442'
    """
    return hashlib.sha256(content).hexdigest()


def now() -> str:
    """Return the time as entries show it; nothing is decided by a clock."""
    return datetime.now(UTC).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


def damaged(seq: int) -> DamagedLedger:
    """Return the error for an entry that cannot be read, or does not follow."""
    return DamagedLedger(
        what=f"entry {seq} is torn, or does not follow from the one before it.",
        why="what was spent can only be told from entries that form one chain.",
        do="verify the ledger, keep the file, and restore from an export or a copy of it.",
    )
