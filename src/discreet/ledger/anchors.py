"""Anchors: receipts of a ledger with their times, on the lines of a file that only grows.

Trust: kernel.

Definition.  An anchor is a time and a receipt: ``2026-11-17T15:40:00.000000Z ledger:seq:head``.  A
file of anchors has one on each line.  A line counts if it is whole, up to its newline; what a crash
has cut short ends where it is when the next one is appended, and never counts.  Each line is synced
before its call returns.

The same form tells which backups were made: each backup appends an anchor to ``<ledger>-backups``.
Neither charges nor answers rest on that file; a backup is none the worse if it cannot be written.
"""

from __future__ import annotations

import fcntl
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self, final

from discreet.ledger.canonical_lines import now
from discreet.ledger.stores.sqlite_files import sync
from discreet.ledger.values import Receipt

_TAIL: Final = 1 << 16
"""How many bytes at the end are searched first: hundreds of lines."""
_LINE: Final = re.compile(
    rb"^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z) "
    rb"([0-9a-f]{32}:[1-9][0-9]{0,17}:[0-9a-f]{64})\n",
    re.MULTILINE,
)


@final
@dataclass(frozen=True, slots=True)
class Anchor:
    """Where a ledger stood at a time.

    >>> anchor = Anchor("2026-11-17T15:40:00.000000Z", Receipt("1" * 32, 7, "a" * 64))
    >>> str(anchor)[:33]
    '2026-11-17T15:40:00.000000Z 11111'
    """

    at: str
    receipt: Receipt

    @classmethod
    def of(cls, receipt: Receipt) -> Self:
        """Anchor a receipt now."""
        return cls(now(), receipt)

    def __str__(self) -> str:
        """Show it as it stands on its line."""
        return f"{self.at} {self.receipt}"


@final
class AnchorFile:
    """A file of anchors, which need not be there yet.

    >>> AnchorFile(Path("nowhere.witness")).last() is None
    True
    """

    __slots__ = ("path",)

    def __init__(self, path: Path) -> None:
        """Take the path; nothing is opened."""
        self.path = path

    def last(self) -> Anchor | None:
        """Return the last anchor that counts; None without any, or without a file.

        Raises:
            OSError: if the file is there and cannot be read.
        """
        try:
            with self.path.open("rb") as file:
                size = file.seek(0, os.SEEK_END)
                for length in (_TAIL, size):
                    file.seek(max(0, size - length))
                    found = _last(file.read(), whole=length >= size)
                    if found is not None:
                        return found
        except FileNotFoundError:
            pass
        return None

    def append(self, anchor: Anchor) -> None:
        """Add a line, durably; only within ``locked`` if others may append too.

        Raises:
            OSError: if that fails; the line may be there all the same, or in part.
        """
        new = not self.path.exists()
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        file = os.open(self.path, flags, 0o600)
        try:
            size = os.fstat(file).st_size
            torn = bool(size) and os.pread(file, 1, size - 1) != b"\n"
            data = f"{chr(10) if torn else ''}{anchor}\n".encode("ascii")
            if os.write(file, data) < len(data):
                raise OSError
            os.fsync(file)
        finally:
            os.close(file)
        if new:
            sync(str(self.path.parent))

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep others from appending meanwhile; the file is made if it is not there."""
        file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield
        finally:
            os.close(file)


def _last(data: bytes, *, whole: bool) -> Anchor | None:
    """Return the last anchor in some bytes, of which the first line may lack its beginning."""
    begun = data if whole else data.partition(b"\n")[2]
    match = None
    for match in _LINE.finditer(begun):  # noqa: B007  the last one is meant
        pass
    if match is None:
        return None
    return Anchor(match[1].decode("ascii"), Receipt.read(match[2].decode("ascii")))


__all__ = ["Anchor", "AnchorFile"]
