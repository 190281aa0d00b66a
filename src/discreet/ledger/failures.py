"""Failures of the files of a ledger, reported without anything that is stored in it.

Trust: kernel.  Messages of a driver can quote stored values, so none is passed on.
"""

from __future__ import annotations

import errno
from collections.abc import Callable
from typing import Final, TypeVar

from discreet.errors import DamagedLedger, LedgerError, LedgerUnavailable, NewerFormat, NotALedger

Failure = TypeVar("Failure", bound=LedgerError)


def _error(kind: type[Failure], what: str, *, why: str, do: str) -> Callable[[], Failure]:
    """Return a function that makes a new error with these sentences each time."""
    return lambda: kind(what=what, why=why, do=do)


_BUSY: Final = "another program kept it busy for too long"
_WRITING: Final = "it cannot be written: the file or its folder is read-only"
_FULL: Final = "the disk, or what this process may use of it, is full"
_DISK: Final = "the disk reported an error"
_OPENING: Final = "the file, or one of the files beside it, cannot be opened"
_REASONS: Final = {  # by SQLite's primary result codes
    3: _OPENING,
    5: _BUSY,
    6: _BUSY,
    7: "there is not enough memory",
    8: _WRITING,
    10: _DISK,
    13: _FULL,
    14: _OPENING,
    15: _BUSY,
    23: _OPENING,
}
_NOT_A_DATABASE: Final = 26
_SHORT_READ: Final = 522
_SYSTEM: Final = {
    errno.EACCES: _OPENING,
    errno.EPERM: _OPENING,
    errno.EROFS: _WRITING,
    errno.ENOSPC: _FULL,
    errno.EDQUOT: _FULL,
    errno.EFBIG: _FULL,
    errno.EIO: _DISK,
    errno.ENOENT: "its folder does not exist",
    errno.ENOTDIR: "its folder is not a folder",
}


def sqlite_failure(code: int | None) -> LedgerError:
    """Return the error for a result code of SQLite."""
    if code is None or code == _SHORT_READ:
        return torn_file_error()
    primary = code & 0xFF
    if primary == _NOT_A_DATABASE:
        return not_a_ledger_error()
    return _unavailable(_REASONS[primary]) if primary in _REASONS else torn_file_error()


def file_failure(failure: OSError) -> LedgerError:
    """Return the error for what the operating system said of a file."""
    return _unavailable(_SYSTEM.get(failure.errno or 0, _OPENING))


def _unavailable(reason: str) -> LedgerUnavailable:
    return LedgerUnavailable(
        what=f"the ledger cannot be used now: {reason}.",
        why="nothing is answered before its charge is on disk.",
        do="put it right and ask again with the same key: what was recorded is not paid twice.",
    )


torn_file_error: Final = _error(
    DamagedLedger,
    "the file of the ledger is torn, or was changed by other means.",
    why="what was spent can only be told from a file that is whole.",
    do="keep the file as it is, and restore from an export or a copy of it.",
)
replaced_file_error: Final = _error(
    DamagedLedger,
    "the file of the ledger was removed, or replaced by another one, while it was open.",
    why="charges to a file that nobody will open again would be spent for nothing and lost.",
    do="put the file back, or open the ledger anew after it has been verified.",
)
hard_link_error: Final = _error(
    DamagedLedger,
    "the file of the ledger has more than one name: there are hard links to it.",
    why="whoever opens it by another name would spend the same budget a second time.",
    do="remove the other names, and keep copies with `discreet ledger backup`.",
)
mounted_file_error: Final = _error(
    DamagedLedger,
    "the file of the ledger is mounted by itself, apart from its folder.",
    why="what a crash leaves beside it would be missed by those who see it in another folder.",
    do="mount the folder of the ledger, and open it there.",
)


def exchanged_ledger_error(seq: int) -> DamagedLedger:
    """Return the error for a ledger that lacks an entry which was there before."""
    return DamagedLedger(
        what=f"entry {seq} is not the one that was there before.",
        why="an older copy or another ledger has taken the place of the ledger, and what was "
        "charged would be forgotten.",
        do="bring back the ledger that was there, or restore it together with a second person.",
    )


missing_entries_error: Final = _error(
    DamagedLedger,
    "entries of the ledger that were recorded are missing from its file.",
    why="an older state has taken its place, and what was charged since would be forgotten.",
    do="bring back the file as it was, or restore from a backup.",
)
copied_file_error: Final = _error(
    DamagedLedger,
    "this file is a copy of a ledger, or was moved from another file system.",
    why="a copy would spend the same budget a second time, and may lack what was charged last.",
    do="open the original; or make a new ledger of the copy with `discreet ledger restore`.",
)
orphaned_files_error: Final = _error(
    DamagedLedger,
    "the ledger that was here is missing; its journal is still there.",
    why="a new ledger in its place would grant the whole budget a second time.",
    do="put the file back, restore from a backup at another place, or name another ledger.",
)
not_a_ledger_error: Final = _error(
    NotALedger,
    "what lies at this address is not a ledger.",
    why="charges are recorded only where nothing else is kept, or overwritten.",
    do="give the path of a ledger, or one at which there is nothing yet.",
)


def newer_version_error(version: int, known: int) -> NewerFormat:
    """Return the error for a file of another version."""
    return NewerFormat(
        what=f"the ledger has version {version}, and this package knows version {known}.",
        why="what another version records must be understood before anything is charged.",
        do="use the version of discreet that wrote it, or a later one.",
    )


absent_ledger_error: Final = _error(
    NotALedger,
    "there is no ledger at this address.",
    why="a new one has to say whom it protects, and how much may be lost.",
    do="check the address, or give unit= and budget= to open a new ledger there.",
)
forked_error: Final = _error(
    LedgerUnavailable,
    "the ledger was opened before this process was forked from another.",
    why="its connection and its locks belong to the parent; nothing was charged.",
    do="open the ledger in this process, after the fork.",
)
