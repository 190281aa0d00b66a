"""The socket of a writer: the file that stands for it, and who is at the other end.

Trust: kernel.
"""

from __future__ import annotations

import os
import socket
import stat
import struct
from pathlib import Path
from typing import Final

from discreet.errors import LedgerUnavailable

_CREDENTIALS: Final = struct.Struct("3i")
_BACKLOG: Final = 256


def listen_at(path: Path) -> socket.socket:
    """Return a socket that listens at a path, which only this user can connect to."""
    try:
        listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            _remove_socket(path)
            listening.bind(str(path))
            path.chmod(0o600)
            listening.listen(_BACKLOG)
        except BaseException:
            listening.close()
            raise
    except OSError:
        raise LedgerUnavailable(
            what="the socket of the ledger's writer cannot be made.",
            why="its path is too long for a socket, the folder that it is in cannot be written, or "
            "this process can open no more files.",
            do="choose a shorter path for the state folder, or let this user write there.",
        ) from None
    return listening


def file_at(path: Path) -> tuple[int, int] | None:
    """Return the device and inode of what lies at a path, if anything does."""
    try:
        found = path.lstat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _remove_socket(path: Path) -> None:
    """Remove a socket that an earlier server has left; refuse whatever else lies there."""
    try:
        found = path.lstat()
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(found.st_mode):
        raise LedgerUnavailable(
            what=f"something that is no socket lies where that of the ledger's writer goes: "
            f"{path.name}.",
            why="a server removes nothing that it has not made.",
            do="move it away, or name another state folder.",
        )
    path.unlink()


def is_same_user(connection: socket.socket) -> bool:
    """Say whether the process at the other end is one of this user."""
    data = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    _, user, _ = _CREDENTIALS.unpack(data)
    return bool(user == os.getuid())
