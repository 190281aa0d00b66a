"""A quick audit of this package, run again from a page: one at a time, in a process of its own.

Trust: public.  It attacks our code on made-up data, and opens no table of the site.  It ends with
the server, however that ends.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO, Final, final

from discreet.errors import WrongKind
from discreet.web.evidence.audit_process import GRACE_SECONDS

_LEAST: Final = 19
"""The niceness of a process that works when nobody else wants to."""
_LONGEST: Final = 2000
"""How many of the last letters that an audit has said are kept for a page."""


@final
class AuditRun:
    """The audit of a site: begun on demand, with its report in a folder."""

    __slots__ = ("_before", "_folder", "_lock", "_process", "_since")

    def __init__(self, folder: Path) -> None:
        """Take the folder in which reports are written."""
        self._folder = folder
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._since = 0.0
        self._before: int | None = None

    @property
    def problem(self) -> str:
        """What the last audit that was begun here said, if it ended without a report."""
        with self._lock:
            ended = self._process is not None and self._process.poll() is not None
            if not ended or self._written() != self._before:
                return ""
        try:
            said = self._log.read_text(encoding="utf-8", errors="replace").strip()
        except OSError:
            said = ""
        return said[-_LONGEST:] or "It said nothing."

    @property
    def _log(self) -> Path:
        return self._folder / "audit.log"

    def _opened_log(self) -> BinaryIO:
        """Open an empty file for what an audit says."""
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            return self._log.open("wb")
        except OSError:
            raise WrongKind(
                what="an audit cannot write its report.",
                why="the state folder of this server has no place for it.",
                do="make room in the state folder, or let the server write there.",
            ) from None

    def _written(self) -> int | None:
        """When the report in the folder was written."""
        own = self._folder / "audit.json"
        return own.stat().st_mtime_ns if own.is_file() else None

    @property
    def seconds(self) -> int | None:
        """For how long one has been running; None if none is."""
        with self._lock:
            if self._process is None or self._process.poll() is not None:
                return None
            return int(time.monotonic() - self._since)

    def begin(self) -> None:
        """Begin an audit, unless one is running."""
        with self._lock:
            if self._process is not None and self._process.poll() is None:
                return
            if self._process is not None:
                self._process.communicate()  # closes the pipe
            self._before = self._written()
            options = ["--quick", "--jobs", "1", "--out", str(self._folder)]
            with self._opened_log() as log:
                self._process = subprocess.Popen(  # noqa: S603  our own program
                    [sys.executable, "-m", "discreet.web.evidence.audit_process", *options],
                    stdin=subprocess.PIPE,  # held until one of the two ends
                    stdout=subprocess.DEVNULL,
                    stderr=log,
                    start_new_session=True,
                )
            self._since = time.monotonic()
        os.setpriority(os.PRIO_PROCESS, self._process.pid, _LEAST)

    def stop(self) -> None:
        """End the audit that is running, and all that it has started."""
        with self._lock:
            if self._process is None:
                return
            with self._process:  # closes the pipe
                if self._process.poll() is None:
                    os.killpg(self._process.pid, signal.SIGTERM)
                    try:
                        self._process.wait(GRACE_SECONDS)
                    except subprocess.TimeoutExpired:
                        os.killpg(self._process.pid, signal.SIGKILL)
            self._process = None

    def report(self, other: Path | None) -> Mapping[str, Any] | None:
        """Return the newer of the report in the folder and another one; None where there is none.

        A file that is no report is refused: an audit that cannot be read is not one that passed.
        """
        own = self._folder / "audit.json"
        files = [path for path in (own, other) if path is not None and path.is_file()]
        newest = max(files, key=lambda path: path.stat().st_mtime, default=None)
        if newest is None:
            return None
        try:
            report = json.loads(newest.read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            report = None
        if not _is_report(report):
            raise WrongKind(
                what="the report of the last audit cannot be read.",
                why="its file is damaged, or is not one that an audit has written.",
                do="run an audit again, or name another file as `audit` in the site file.",
            )
        found: Mapping[str, Any] = report
        return found


def _is_report(report: object) -> bool:
    """Whether a file holds what an audit writes: rows and findings with names.

    >>> _is_report({"lines": [{"name": "Laplace"}]}), _is_report([]), _is_report({"lines": ["x"]})
    (True, False, False)
    """
    if not isinstance(report, dict):
        return False
    parts = [report.get(name, []) for name in ("lines", "findings")]
    return all(
        isinstance(part, list) and all(isinstance(row, dict) for row in part) for part in parts
    )
