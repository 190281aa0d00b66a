"""When a file came into being, which tells a file from its copies.

Trust: kernel.

An inode number is unique in one file system alone: a copy on another one, or in a layer of another
container, can have the same.  File systems also keep the time at which an inode was made.  It comes
with no copy, cannot be set, and stays the same when the file is written, renamed, or mounted again
(ext4, xfs, btrfs and tmpfs keep it; an overlay has that of the layer which is written to).
"""

from __future__ import annotations

import ctypes
import os
import struct
from pathlib import Path
from typing import Final

__all__ = ["birth_of"]

_HERE: Final = -100  # AT_FDCWD
_BIRTH: Final = 0x800  # STATX_BTIME
_SIZE: Final = 256
_MASK: Final = struct.Struct("I")
_TIME: Final = struct.Struct("qI")
_AT: Final = 80  # of stx_btime in struct statx
_SECOND: Final = 10**9
_FIT: Final = 2**64


def birth_of(path: Path) -> int:
    """Return when a file was made, in nanoseconds; 0 if the system does not tell.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "a")
    ...     file.touch()
    ...     before = birth_of(file)
    ...     _ = file.write_text("more")
    ...     birth_of(file.rename(Path(folder, "b"))) == before
    True
    """
    statx = getattr(ctypes.CDLL(None), "statx", None)
    if statx is None:
        return int(getattr(path.stat(), "st_birthtime", 0) * _SECOND) % _FIT
    found = ctypes.create_string_buffer(_SIZE)
    failed = statx(_HERE, os.fsencode(path), 0, _BIRTH, found)
    if failed or not _MASK.unpack_from(found)[0] & _BIRTH:
        return 0
    seconds, rest = _TIME.unpack_from(found, _AT)
    return int(seconds * _SECOND + rest) % _FIT
