"""A process that draws noise, seen from the one that uses it, and the file that both share.

Trust: kernel.  A process that nobody ends would draw for nobody; it sees no data.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from typing import IO, final


@final
class NoiseProcess(subprocess.Popen[bytes]):
    """A process that draws, and ends once nobody knows of it."""

    def __del__(self) -> None:
        """End it with its last name: an interrupt may come before anybody else knows of it.

        In a forked child nothing is ended, since there it is nobody's child.
        """
        if getattr(self, "pid", None) is not None and self.returncode is None:
            for pipe in (self.stdin, self.stdout):
                if pipe is not None:
                    pipe.close()
            self.kill()
            self.wait()


def shared_file(size: int) -> IO[bytes]:
    """Return a file without a name: in memory, or where that cannot be, among temporary ones."""
    try:
        return _reserved(size, "/dev/shm")  # noqa: S108  unlinked at once
    except OSError:
        return _reserved(size, None)


def _reserved(size: int, folder: str | None) -> IO[bytes]:
    """Return a file whose place is taken: one that is missing later on would end the process."""
    file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115  the caller closes it
    try:
        file.truncate(size)
        if hasattr(os, "posix_fallocate"):  # not everywhere
            os.posix_fallocate(file.fileno(), 0, size)
    except BaseException:
        file.close()
        raise
    return file
