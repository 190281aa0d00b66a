"""Work in a process of its own.

A ledger has threads, and a thread that is still ending when its process forks can leave locks of
libraries (OpenSSL's, say) taken for ever in the child.  So whoever is going to fork uses no ledger
itself.
"""

from __future__ import annotations

import os
import pickle
import sys
import traceback
from collections.abc import Callable
from typing import TypeVar

Result = TypeVar("Result")


class Failed(RuntimeError):
    """The other process did not come to an end."""


def apart(work: Callable[[], Result]) -> Result:
    """Do something in a child process, and return what it came to."""
    theirs, ours = os.pipe()
    sys.stdout.flush()
    pid = os.fork()
    if not pid:
        os.close(theirs)
        try:
            with os.fdopen(ours, "wb") as file:
                file.write(pickle.dumps(work()))
            os._exit(0)
        except BaseException:  # noqa: BLE001  (it is reported, and nothing may run after it)
            traceback.print_exc()
        finally:
            os._exit(1)
    os.close(ours)
    with os.fdopen(theirs, "rb") as file:
        written = file.read()
    if os.waitpid(pid, 0)[1]:
        raise Failed("a process that was to set up or to check a ledger failed")
    found: Result = pickle.loads(written)  # noqa: S301  (a child of ours wrote it)
    return found
