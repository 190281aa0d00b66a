"""Starting a worker, and what may go wrong with that and with hearing from it.

Trust: kernel.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from typing import Final

from discreet.ledger.shared import send_message

SHORT: Final = (OSError, MemoryError, subprocess.SubprocessError)
"""What is raised where descriptors, processes or memory are short."""
UNHEARD: Final = (OSError, ValueError, MemoryError)
"""What is raised where a worker is silent or gone, or what it says cannot be read."""
END_SECONDS: Final = 5.0
"""How long a worker that has stopped talking may take to end."""

WorkerProcess = tuple[socket.socket, subprocess.Popen[bytes]]
"""A worker, and the socket through which it is told what to do."""


def started_worker(first: Mapping[str, object]) -> WorkerProcess:
    """Start a worker, and tell it the first thing; nothing stays open if that fails."""
    ours, theirs = socket.socketpair()
    with theirs:
        try:
            process = subprocess.Popen(  # noqa: S603  this interpreter, and a file of this package
                [sys.executable, "-m", "discreet.service.workers.worker", str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                env={**os.environ, "PYTHONFAULTHANDLER": "0"},
            )
        except BaseException:
            ours.close()
            raise
    with suppress(OSError):  # it is gone already
        send_message(ours, first)
    return ours, process


def ends_by_itself(process: subprocess.Popen[bytes], *, within: float) -> bool:
    """Wait for the end of a worker that has stopped talking; return whether it came in time."""
    with suppress(subprocess.TimeoutExpired):
        process.wait(within)
    return process.returncode is not None
