"""Failures of ledgers, reported without anything that is stored in them.

Trust: kernel.  Messages of a driver can quote stored values, so none is passed on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

from discreet.errors import DamagedLedger, LedgerError, LedgerUnavailable, NewerFormat, NotALedger

Failure = TypeVar("Failure", bound=LedgerError)


def _error(kind: type[Failure], what: str, *, why: str, do: str) -> Callable[[], Failure]:
    """Return a function that makes a new error with these sentences each time."""
    return lambda: kind(what=what, why=why, do=do)


RETRY: Final = "ask again with the same key: what was recorded is found, and never paid twice."


def unavailable_error(what: str, do: str = RETRY) -> LedgerUnavailable:
    """Return the error for a ledger that cannot be used now."""
    return LedgerUnavailable(what=what, why="nothing is charged before it is on record.", do=do)


torn_file_error: Final = _error(
    DamagedLedger,
    "the file of the ledger is torn, or was changed by other means.",
    why="what was spent can only be told from a file that is whole.",
    do="keep the file as it is, and restore from a backup or a copy of it.",
)
replaced_file_error: Final = _error(
    DamagedLedger,
    "the file of the ledger was removed, or replaced by another one, while it was open.",
    why="charges to a file that nobody will open again would be spent for nothing and lost.",
    do="put the file back, or open the ledger anew after it has been verified.",
)
mounted_file_error: Final = _error(
    DamagedLedger,
    "the file of the ledger is mounted by itself, apart from its folder.",
    why="what a crash leaves beside it would be missed by those who see it in another folder.",
    do="mount the folder of the ledger, and open it there.",
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
    "what is at this address is not a ledger.",
    why="charges are recorded only where nothing else is kept, or overwritten.",
    do="give the path of a ledger, or one at which there is nothing yet.",
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
late_error: Final = _error(
    LedgerUnavailable,
    "the ledger did not answer in time.",
    why="another process holds the ledger, or the disk is slow.",
    do=RETRY,
)
closed_ledger_error: Final = _error(
    LedgerUnavailable,
    "the ledger is closed.",
    why="what is asked of it can no longer be recorded.",
    do="open it again.",
)


def exchanged_ledger_error(seq: int) -> DamagedLedger:
    """Return the error for a ledger that lacks an entry which was there before."""
    return DamagedLedger(
        what=f"entry {seq} is not the one that was there before.",
        why="an older copy or another ledger has taken its place, and charges would be forgotten.",
        do="bring back the ledger that was there, or restore it together with a second person.",
    )


def newer_version_error(version: int, known: int) -> NewerFormat:
    """Return the error for a file of another version."""
    return NewerFormat(
        what=f"the ledger has version {version}, and this package knows version {known}.",
        why="what another version records must be understood before anything is charged.",
        do="use the version of discreet that wrote it, or a later one.",
    )
