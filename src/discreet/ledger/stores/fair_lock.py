"""Turns: processes that share a file write it one after another, and none waits for long.

Trust: public.  The store itself ensures that only one process writes; this decides which.

Definition.  A process first locks ``<file>-next``, then ``<file>-turn``, releases the first,
writes, and releases the second.  While one writes, another waits at the turn; whoever has just
written finds ``next`` taken and cannot slip in before it.  The operating system queues those who
wait, and releases the locks of a process that dies.
``-turn`` also holds the card of the ledger (:mod:`discreet.ledger.stores.file_identity`).
Waiting for a turn has no limit: a caller that must not wait that long hands its work to a thread,
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
    """The right to write to a file next; the caller explains any OSError."""

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
        """Write into ``-turn`` at an offset; for whoever has the turn, or uses the file alone."""
        _, turn = self._opened()
        os.pwrite(turn, data, at)

    def sync(self) -> None:
        """Sync what was written."""
        _, turn = self._opened()
        os.fsync(turn)

    def open(self) -> None:
        """Open the files, making them if they are missing."""
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
        """Close the files; closing twice does nothing."""
        files, self._files = self._files, ()
        for file in files:
            os.close(file)

    def after_fork_in_child(self) -> None:
        """Close what the parent has open: its locks would outlive it in the child."""
        self.close()
