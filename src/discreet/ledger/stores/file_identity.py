"""Which file a ledger is: its inode, its birth time, and the witness card beside it.

Trust: kernel.

An inode number is unique only in one file system: a copy on another one, or in a layer of another
container, can have the same.  File systems also keep the time at which an inode was made.  No copy
inherits it, it cannot be set, and it survives writing, renaming and remounting (ext4, xfs, btrfs
and tmpfs keep it; an overlay has that of the layer that is written to).

Definition.  The file ``<ledger>-turn`` holds the card: the inode of the ledger file, its birth
time, and the number and head of the last committed entry.  It is written after every commit, before
anybody is told of it, so the card is never ahead of the file.
Theorem (key ``witness-card``).  If the file still holds the entry that the card names, it holds
every entry that was told.
    Proof.  The card names the last commit that was told, or a later one, and heads are chained: an
    entry with this head has all others before it.
So a file whose log was removed, torn or exchanged, and an older state of the file, are recognized.
A file without its card, or with the card of another inode or birth time, is a copy, or was moved
without its side files.  A card that names entry 0 belongs to a ledger that was being made.
There is room for two cards, and the older one is overwritten: a write that a power failure cuts
short leaves the other.
Assumes: the card is as recent as the file.  It is not synced with every commit, and a power failure
may bring back an older card; entries that only a log held which is then removed by hand are not
missed.  On a file system without birth times, and for cards of the previous version, which lack
them, a copy on another file system that happens to get the same inode number passes for the
original.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import re
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self, final

from discreet.ledger.canonical_lines import NO_HEAD

_HERE: Final = -100  # AT_FDCWD
_BIRTH: Final = 0x800  # STATX_BTIME
_SIZE: Final = 256
_MASK: Final = struct.Struct("I")
_TIME: Final = struct.Struct("qI")
_AT: Final = 80  # of stx_btime in struct statx
_SECOND: Final = 10**9
_FIT: Final = 2**64


def birth_time(path: Path) -> int:
    """Return when a file was made, in nanoseconds; 0 if the system does not know."""
    statx = getattr(ctypes.CDLL(None), "statx", None)
    if statx is None:
        return int(getattr(path.stat(), "st_birthtime", 0) * _SECOND) % _FIT
    buffer = ctypes.create_string_buffer(_SIZE)
    failed = statx(_HERE, os.fsencode(path), 0, _BIRTH, buffer)
    if failed or not _MASK.unpack_from(buffer)[0] & _BIRTH:
        return 0
    seconds, rest = _TIME.unpack_from(buffer, _AT)
    return int(seconds * _SECOND + rest) % _FIT


_SLOT: Final = 512
_CARD: Final = re.compile(
    rb"discreet (?:1|2 ([0-9]{20})) ([0-9]{20}) ([0-9]{18}) ([0-9a-f]{64}) ([0-9a-f]{32})\n",
    re.ASCII,
)


@final
@dataclass(frozen=True, slots=True)
class WitnessCard:
    """The identity of a file, and its last entry."""

    inode: int
    birth: int = 0
    """When the file was made, in nanoseconds; 0 if that is not known."""
    seq: int = 0
    head: str = NO_HEAD

    def is_of(self, inode: int, birth: int) -> bool:
        """Whether it is the card of a file with this inode, made at this time."""
        return self.inode == inode and self.birth in (0, birth)

    def written(self) -> bytes:
        """Return the bytes: always the same number, so that one sector holds them."""
        said = f"discreet 2 {self.birth:020d} {self.inode:020d} {self.seq:018d} {self.head}"
        return f"{said} {_check(said.encode('ascii'))}\n".encode("ascii")

    @classmethod
    def read(cls, data: bytes) -> Self | None:
        """Return the newer of two cards; None if neither is whole."""
        cards = [card for card in cls._both(data) if card is not None]
        return max(cards, key=lambda card: card.seq, default=None)

    @classmethod
    def place_for_next(cls, data: bytes) -> int:
        """Return where the next card is written: over the older one."""
        first, second = (-1 if card is None else card.seq for card in cls._both(data))
        return 0 if first <= second else _SLOT

    @classmethod
    def _both(cls, data: bytes) -> tuple[Self | None, Self | None]:
        return cls._one(data[:_SLOT]), cls._one(data[_SLOT:])

    @classmethod
    def _one(cls, data: bytes) -> Self | None:
        match = _CARD.match(data)
        if match is None or _check(data[: match.start(5) - 1]) != match[5].decode("ascii"):
            return None
        return cls(
            inode=int(match[2]),
            birth=int(match[1] or 0),
            seq=int(match[3]),
            head=match[4].decode("ascii"),
        )


def _check(said: bytes) -> str:
    return hashlib.sha256(said).hexdigest()[:32]
