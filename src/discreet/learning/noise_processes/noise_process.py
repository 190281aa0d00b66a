"""A process that draws noise, seen from the one that uses it, and the file that both share.

Trust: kernel.  A process that nobody ends would draw for nobody; it sees no data.
"""

from __future__ import annotations

import os
import select
import subprocess
import tempfile
from typing import IO, Any, final


@final
class NoiseProcess(subprocess.Popen[bytes]):
    """A process that draws, and ends once nobody knows of it.

    It ends with its pipe, so a forked child, which may live longer than the parent, closes its own
    ends of that.
    """

    def __init__(self, program: list[str], **options: Any) -> None:
        """Start it, as ``Popen`` does."""
        super().__init__(program, **options)

    def _close_pipes(self) -> None:
        for name in ("stdin", "stdout"):  # it may have none yet
            pipe = getattr(self, name, None)
            if pipe is not None:
                pipe.close()

    def heard(self, size: int, *, seconds: int) -> bytes:
        """Return what it says, or nothing where it has ended or is silent for some seconds.

        Each second is waited for of its own: if both are stopped for a while, one of them is lost.
        """
        assert self.stdout is not None  # noqa: S101  made with a pipe
        try:
            said = select.poll()
            said.register(self.stdout, select.POLLIN)
            if any(said.poll(1000) for _ in range(seconds)):
                return self.stdout.read(size)
        except ValueError:  # another thread has closed it
            pass
        return b""

    def __del__(self) -> None:
        """End it with its last name: an interrupt may come before anybody else knows of it.

        In a forked child nothing is ended, since there it is nobody's child.
        """
        if getattr(self, "pid", None) is not None and self.returncode is None:
            self._close_pipes()
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
