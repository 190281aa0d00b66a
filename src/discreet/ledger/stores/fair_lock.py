"""Turns: processes that share a file write it one after another, and none is passed over for long.

Trust: public.  That only one process writes at a time is the store's own doing; this is about who.

Definition.  A process first locks ``<file>-next``, then ``<file>-turn``, lets go of the first,
writes, and lets go of the second.  While one writes, another stands at the turn; whoever has just
written finds ``next`` taken, and cannot slip in again before it.  The operating system queues those
who wait, and takes the locks of a process that dies away from it.
``-turn`` also holds the card of the ledger (:mod:`discreet.ledger.stores.file_identity`).
A turn is waited for without end: a caller that must not wait that long hands its work to a thread,
as :mod:`discreet.ledger.writer` does.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, final

from discreet.ledger.forks import ForkAware

__all__ = ["FairLock"]

_LONGEST: Final = 4096
_FLAGS: Final = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW


@final
class FairLock(ForkAware):
    """The right to write to a file next; any OSError is the caller's to explain."""

    __slots__ = ("_files", "_path")

    def __init__(self, path: str) -> None:
        """Take the path of the file; nothing is opened yet."""
        self._path = path
        self._files: tuple[int, ...] = ()
        self.watch_forks()

    @contextmanager
    def held(self) -> Iterator[None]:
        """Wait for the turn, and keep it until the block ends."""
        ahead, turn = self._opened()
        fcntl.flock(ahead, fcntl.LOCK_EX)
        try:
            fcntl.flock(turn, fcntl.LOCK_EX)
        finally:
            fcntl.flock(ahead, fcntl.LOCK_UN)
        try:
            yield
        finally:
            fcntl.flock(turn, fcntl.LOCK_UN)

    def read(self) -> bytes:
        """Return what is written in ``-turn``; nothing if it is not there."""
        if self._files:
            return os.pread(self._files[1], _LONGEST, 0)
        try:
            with open(self._path + "-turn", "rb") as file:  # noqa: PTH123  flock stays with others
                return file.read(_LONGEST)
        except FileNotFoundError:
            return b""

    def write(self, data: bytes, *, at: int) -> None:
        """Write into ``-turn`` at an offset; whoever has the turn, or uses the file alone, may."""
        _, turn = self._opened()
        os.pwrite(turn, data, at)

    def sync(self) -> None:
        """Sync what was written."""
        _, turn = self._opened()
        os.fsync(turn)

    def open(self) -> None:
        """Open the files, making them if they are not there."""
        self._opened()

    def _opened(self) -> tuple[int, ...]:
        if not self._files:
            ahead = os.open(self._path + "-next", _FLAGS, 0o600)
            try:
                self._files = (ahead, os.open(self._path + "-turn", _FLAGS, 0o600))
            except OSError:
                os.close(ahead)
                raise
        return self._files

    def close(self) -> None:
        """Let go of the files; closing twice does nothing."""
        files, self._files = self._files, ()
        for file in files:
            os.close(file)

    def after_fork_in_child(self) -> None:
        """Close what the parent has open: its locks would outlive it in the child."""
        self.close()
