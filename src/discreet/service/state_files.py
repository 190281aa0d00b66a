"""The files of a state folder: opening them, and telling a server's state from anything else.

Trust: kernel.  Nothing is written into a file before it is known to be one of ours.
"""

from __future__ import annotations

import os
import sqlite3
import stat
from contextlib import closing
from pathlib import Path
from typing import Final

from discreet.errors import LedgerUnavailable, NotALedger

STATE_NAME: Final = "state.sqlite"
LOG_NAME: Final = "security.log"
LOCK_NAME: Final = "server.lock"
"""The file that a running server holds."""
APPLICATION: Final = 0x64735276
STATE_FORMAT: Final = 1
_REASONS: Final = {
    sqlite3.SQLITE_FULL: "its disk is full or fails",
    sqlite3.SQLITE_IOERR: "its disk is full or fails",
    sqlite3.SQLITE_BUSY: "another program holds its file",
    sqlite3.SQLITE_LOCKED: "another program holds its file",
    sqlite3.SQLITE_READONLY: "its file or its folder may only be read",
    sqlite3.SQLITE_CANTOPEN: "its file cannot be opened, or its folder cannot be written",
    sqlite3.SQLITE_PERM: "its file may not be opened",
    sqlite3.SQLITE_NOMEM: "there is not enough memory",
}
_PRIMARY: Final = 0xFF
"""The bits of a code of SQLite that say of which kind it is."""


def socket_path(folder: Path, dataset: str) -> Path:
    """Return where the workers of a dataset reach its ledger."""
    return folder / f"{dataset}.sock"


def open_state_file(path: Path, flags: int) -> int:
    """Open a file of a state folder, or make it, for this user alone."""
    try:
        number = os.open(path, flags | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK, 0o600)
    except OSError as error:
        raise _unusable_error(path, os.strerror(error.errno or 0)) from None
    if not stat.S_ISREG(os.fstat(number).st_mode):
        os.close(number)
        raise _unusable_error(path, "Not a file")
    return number


def check_state_file(path: Path) -> None:
    """Refuse a file that cannot be the state of a server, and neither change nor make any.

    No server may run with it.  SQLite would make files beside one with a log of changes, unless it
    is told that nothing changes; so it is, where no such log was left behind.
    """
    still = "" if path.with_name(f"{path.name}-wal").exists() else "&immutable=1"
    try:
        with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro{still}", uri=True)) as connection:
            state_format(connection, path)
    except sqlite3.DatabaseError as error:
        raise state_error(error, path) from None


def state_format(connection: sqlite3.Connection, path: Path) -> int:
    """Return the format of a state file, which is 0 where nothing is in it yet."""
    application, version = (
        connection.execute(f"PRAGMA {name}").fetchone()[0]
        for name in ("application_id", "user_version")
    )
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
    ours = "tokens" in tables if version else not tables
    if not ours or application not in {0, APPLICATION}:
        raise foreign_state_error(path)
    if version not in range(STATE_FORMAT + 1):
        raise NotALedger(
            what=f"the state file {path.name} has the format {version}.",
            why="another version of this package wrote it, or it is something else.",
            do="use that version, or name another state folder.",
        )
    return int(version)


def state_error(error: sqlite3.Error, path: Path) -> LedgerUnavailable | NotALedger:
    """Return what is told when SQLite fails: what keeps it from its file, or what the file is."""
    reason = _REASONS.get(getattr(error, "sqlite_errorcode", 0) & _PRIMARY)
    if reason is None:
        return foreign_state_error(path)
    return LedgerUnavailable(
        what="the state of this server cannot be written now.",
        why=f"{reason}, and nothing is done that could not be kept.",
        do="tell the owner, who mends this; then send the same call again.",
    )


def foreign_state_error(path: Path) -> NotALedger:
    """Return what is told of a file that is not the state of a server."""
    return NotALedger(
        what=f"the state file {path.name} is not one of this package.",
        why="something else lies at its path, or it is damaged.",
        do="bring it back from a backup, or name another state folder.",
    )


def _unusable_error(path: Path, reason: str) -> LedgerUnavailable:
    return LedgerUnavailable(
        what=f"{path.name} in the state folder cannot be opened: {reason}.",
        why="the server keeps tokens and the trace of what they do in files there.",
        do="move away what lies there, or let this user write it; or name another state folder.",
    )
