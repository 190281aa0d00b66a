"""Waiting for a lock on a file, and not for longer than a while.

Trust: kernel.
"""

from __future__ import annotations

import fcntl
import time
from typing import Final

_PAUSE: Final = 0.002


def lock_within(file: int, seconds: float) -> bool:
    """Lock an open file against others, and say whether that was possible in time.

    Whoever may open a file may lock it for as long as they like.  So nobody else's answer may wait
    for such a lock without an end.
    """
    end = time.monotonic() + seconds
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= end:
                return False
            time.sleep(_PAUSE)
        else:
            return True


__all__ = ["lock_within"]
