"""Locks on a ledger file: one place for all its users, and turns at writing it.

Trust: kernel.

Definition.  The users of a file hold locks on its inode, at an offset derived from the identities
of the files that SQLite keeps beside it.  So all users of one inode see each other, also through
hard links, bind mounts and other folders, and users of other side files are recognized.  A lock
ends with its process, however that ends.
Theorem (key ``one-place``).  At any time, all users of an inode use the same side files.
    Proof.  Users come and go one at a time, under an exclusive lock on one byte of the inode.  A
    newcomer finds no lock of others, or only locks at the offset of the side files beside its own
    name; otherwise it is refused.
The locks are those of open file descriptions, which Linux has.  SQLite's own locks belong to the
process, and closing any descriptor of the file would end them; so there is one descriptor per file
and process, closed after SQLite has released the file.
Assumes: a local file system.  On a system without such locks nobody is seen, and only the card
beside the file protects it (:mod:`discreet.ledger.stores.file_identity`).

SQLite ensures that only one process writes; turns decide which, so that none waits for long.
Definition.  A process first locks ``<file>-next``, then ``<file>-turn``, releases the first,
writes, and releases the second.  While one writes, another waits at the turn; whoever has just
written finds ``next`` taken and cannot slip in before it.  The operating system queues those who
wait, and releases the locks of a process that dies.  ``-turn`` also holds the card of the ledger.
Waiting for a turn has no limit: a caller that must not wait that long hands its work to a thread,
as :mod:`discreet.ledger.writer` does.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, final

from discreet.ledger.forks import ForkAware
from discreet.ledger.stores.failures import replaced_file_error, sqlite_failure

_LONGEST: Final = 4096
_FLAGS: Final = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
_LOOK: Final = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK  # a pipe there keeps nobody waiting


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
            turn = os.open(self._path + "-turn", _LOOK)  # flock stays with others
        except FileNotFoundError:
            return b""
        try:
            return os.read(turn, _LONGEST)
        finally:
            os.close(turn)

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


_GET: Final[int | None] = getattr(fcntl, "F_OFD_GETLK", None)
_SET: Final[int | None] = getattr(fcntl, "F_OFD_SETLK", None)
_LOCK: Final = struct.Struct("hhqqi4x")  # struct flock of 64-bit Linux
_ALONE: Final = (1 << 60) - 1
_PLACES: Final = 1 << 60  # far behind any content, and behind SQLite's own locks at 1 << 30
_MANY: Final = 1 << 48
_BUSY: Final = 5  # SQLite's code for a file that others keep busy
_PAUSE: Final = 0.002

Sides = tuple[tuple[int, int], ...]
"""Device and inode of each of the side files."""


@final
class InodeLock:
    """The locks of one process on one inode."""

    __slots__ = ("_file", "_lock", "_place", "_users", "file", "stores")

    def __init__(self, number: int, file: tuple[int, int]) -> None:
        """Take a descriptor, and the device and inode that it stands for."""
        self._file = number
        self._lock = threading.Lock()
        self._place = 0
        self._users = 0
        self.file = file
        self.stores = 0

    @contextmanager
    def entering(self, timeout: float) -> Iterator[None]:
        """Come or go while nobody else does."""
        until = time.monotonic() + timeout
        if not self._lock.acquire(timeout=timeout):
            raise sqlite_failure(_BUSY)
        try:
            while not self._set(fcntl.F_WRLCK, _ALONE, 1):
                if time.monotonic() > until:
                    raise sqlite_failure(_BUSY)
                time.sleep(_PAUSE)
            try:
                yield
            finally:
                self._set(fcntl.F_UNLCK, _ALONE, 1)
        finally:
            self._lock.release()

    def in_use(self) -> bool:
        """Return whether anybody uses the file, here or in another process."""
        return self._users > 0 or self._held(_PLACES, _MANY)

    def used_with_other_sides(self, sides: Sides) -> bool:
        """Return whether a user of the file uses other side files than these."""
        place = _place(sides)
        before = self._held(_PLACES, place - _PLACES)
        after = self._held(place + 1, _PLACES + _MANY - place - 1)
        return before or after or (self._users > 0 and self._place != place)

    def join(self, sides: Sides) -> None:
        """Use the file with these side files."""
        place = _place(sides)
        if not self._users and not self._set(fcntl.F_RDLCK, place, 1):
            raise sqlite_failure(_BUSY)
        self._place = place
        self._users += 1

    def leave(self) -> None:
        """Stop using it."""
        self._users -= 1
        if not self._users:
            self._set(fcntl.F_UNLCK, _PLACES, _MANY)

    def release(self) -> None:
        """Release it for one store; after the last one the descriptor is closed."""
        with _LOCKS.changing:
            self.stores -= 1
            if not self.stores:
                _LOCKS.by_file.pop(self.file, None)
                self.close()

    def close(self) -> None:
        """Close the descriptor."""
        os.close(self._file)

    def _set(self, kind: int, start: int, length: int) -> bool:
        """Change a lock; return whether nobody was in the way."""
        if _SET is None:
            return True
        try:
            fcntl.fcntl(self._file, _SET, _LOCK.pack(kind, os.SEEK_SET, start, length, 0))
        except (BlockingIOError, PermissionError):
            return False
        return True

    def _held(self, start: int, length: int) -> bool:
        """Return whether another open file has a lock in a range."""
        if _GET is None or not length:
            return False
        asked = _LOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, start, length, 0)
        answer = fcntl.fcntl(self._file, _GET, asked)
        return bool(_LOCK.unpack(answer)[0] != fcntl.F_UNLCK)


@final
class _ProcessLocks(ForkAware):
    """The locks of this process, one for each device and inode."""

    __slots__ = ("by_file", "changing")

    def __init__(self) -> None:
        self.changing = threading.Lock()
        self.by_file: dict[tuple[int, int], InodeLock] = {}
        self.watch_forks()

    def after_fork_in_child(self) -> None:
        """Close what the parent holds: its locks would outlive it in the child."""
        self.changing = threading.Lock()
        for lock in self.by_file.values():
            with suppress(OSError):
                lock.close()
        self.by_file.clear()


_LOCKS: Final = _ProcessLocks()


def inode_lock_of(path: Path) -> InodeLock:
    """Return this process's lock on the file that a path leads to now."""
    with _LOCKS.changing:
        status = path.stat()
        file = (status.st_dev, status.st_ino)
        hold = _LOCKS.by_file.get(file)
        if hold is None:
            number = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
            opened = os.fstat(number)
            if (opened.st_dev, opened.st_ino) != file:
                if (opened.st_dev, opened.st_ino) not in _LOCKS.by_file:
                    os.close(number)  # otherwise that would end the locks of another store
                raise replaced_file_error()
            hold = _LOCKS.by_file[file] = InodeLock(number, file)
        hold.stores += 1
        return hold


def _place(sides: Sides) -> int:
    """Return the offset of the lock for some side files."""
    name = hashlib.sha256(repr(sides).encode("ascii")).digest()
    return _PLACES + int.from_bytes(name[:6], "big")
