"""Replay counts: how often each answer on record was handed out again.

Trust: kernel.

Definition.  The file ``<ledger>-replays`` holds 64 bytes that name the ledger, and then 8 bytes for
each entry: how often its answer was handed out after the first time.  A count follows from
questions and from what is on record, never from data.

Neither charges nor answers rest on these counts.  They are written in place, one at a time, by
whoever hands an answer out, and not synced: a killed process loses none, a power cut may lose the
last ones, and where the file cannot be written, or somebody keeps it locked, nothing is counted.
The highest count stays as it is.  A ledger on a server has no such file.
"""

from __future__ import annotations

import os
import sys
from array import array
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from discreet.ledger.stores.own_files import lock_within

_HEAD: Final = 64
_CELL: Final = 8
_MOST: Final = 2 ** (8 * _CELL) - 1
_LOCK_WAIT: Final = 0.25


def count_replay(path: Path, ledger: str, seq: int) -> None:
    """Count one more replay of the answer of an entry.

    Args:
        path: the file of the counts; it is made if it is not there.
        ledger: the id of the ledger; counts of another one are begun anew.
        seq: the number of the entry.

    Raises:
        OSError: if the file cannot be written, or is locked.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    file = os.open(path, flags, 0o600)
    try:
        if not lock_within(file, _LOCK_WAIT):
            raise TimeoutError
        head, at = _head(ledger), _HEAD + _CELL * (seq - 1)
        if os.pread(file, _HEAD, 0) != head:
            os.ftruncate(file, 0)
            os.pwrite(file, head, 0)
        before = int.from_bytes(os.pread(file, _CELL, at), "little")
        os.pwrite(file, min(before + 1, _MOST).to_bytes(_CELL, "little"), at)
    finally:
        os.close(file)


def read_replays(path: Path, ledger: str) -> Mapping[int, int]:
    """Return how often each answer was replayed, by the number of its entry; none if none was.

    >>> read_replays(Path("nowhere-replays"), "1" * 32)
    {}
    """
    try:
        data = path.read_bytes() if path.is_file() else b""
    except OSError:
        return {}
    if data[:_HEAD] != _head(ledger):
        return {}
    counts = array("Q")
    counts.frombytes(data[_HEAD : _HEAD + (len(data) - _HEAD) // _CELL * _CELL])
    if sys.byteorder == "big":
        counts.byteswap()
    return {seq: count for seq, count in enumerate(counts, start=1) if count}


def _head(ledger: str) -> bytes:
    return f"discreet replays 1 {ledger}".ljust(_HEAD - 1).encode("ascii") + b"\n"


__all__ = ["count_replay", "read_replays"]
