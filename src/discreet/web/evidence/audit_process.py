"""The process of an audit that was begun on a page: ``discreet audit``, which ends with its server.

Trust: public.

Its stdin is a pipe whose other end the server alone holds.  When that is closed, because the server
stops or is no more, the audit is told to stop, and ended with all that it has started if it does
not.
"""

from __future__ import annotations

import os
import runpy
import signal
import sys
import threading
import time
from typing import Final

GRACE_SECONDS: Final = 5.0
"""How long an audit may take to stop."""


def main() -> None:
    """Audit with the options of the command line, until the other end of stdin is closed."""
    held = os.dup(0)  # no program that an attack starts inherits it, or waits for input
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    threading.Thread(target=_end_with_server, args=(held,), daemon=True).start()
    sys.argv = ["discreet", "audit", *sys.argv[1:]]
    runpy.run_module("discreet.cli", run_name="__main__")


def _end_with_server(held: int) -> None:
    while os.read(held, 1):  # nothing is ever sent
        pass
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(GRACE_SECONDS)
    os.killpg(0, signal.SIGKILL)  # the group is our own: see ``AuditRun``


if __name__ == "__main__":
    main()
