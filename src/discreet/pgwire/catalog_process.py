"""The process that answers what is about the catalog, and its end when it takes too long.

Trust: kernel.  Text that an analyst wrote is parsed and run there, and not in the process that
holds the ledgers: a function of a text can need any memory and time, whatever DuckDB is told (T1).
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from contextlib import suppress
from typing import Any, Final, final

from discreet.pgwire.statements import refused_catalog

_START_SECONDS: Final = 60.0
_SECONDS: Final = 5.0
_LARGEST: Final = 8 << 20


@final
class CatalogProcess:
    """One process; another one is started after it had to be ended."""

    __slots__ = ("_process", "_seconds")

    def __init__(self) -> None:
        """Start it, so that it is ready when it is first asked."""
        self._start()

    def _start(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "discreet.pgwire.catalog"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self._seconds = _START_SECONDS

    def ask(self, question: dict[str, Any]) -> dict[str, Any]:
        """Return what it answers, or refuse: it has taken too long, or has needed too much."""
        if self._process.poll() is not None:
            self._start()
        if self._seconds == _START_SECONDS:
            self._exchange(self._process, {**question, "text": "SELECT 1"}, self._seconds)
            self._seconds = _SECONDS
        return self._exchange(self._process, question, self._seconds)

    def close(self) -> None:
        """End it."""
        self._end(self._process)

    def _exchange(
        self, process: subprocess.Popen[bytes], question: dict[str, Any], seconds: float
    ) -> dict[str, Any]:
        assert process.stdin is not None  # noqa: S101  a pipe
        assert process.stdout is not None  # noqa: S101  a pipe
        timer = threading.Timer(seconds, process.kill)
        timer.start()
        line = b""
        try:
            with suppress(OSError):  # it has gone
                process.stdin.write(json.dumps(question).encode() + b"\n")
                process.stdin.flush()
                line = process.stdout.readline(_LARGEST)
        finally:
            timer.cancel()
        if not line.endswith(b"\n"):
            self._end(process)
            raise refused_catalog("this question about tables takes too long, or is too large")
        told: dict[str, Any] = json.loads(line)
        if "refused" in told:
            raise refused_catalog(told["refused"].rstrip("."))
        return told

    def _end(self, process: subprocess.Popen[bytes]) -> None:
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            with suppress(OSError):
                pipe and pipe.close()
