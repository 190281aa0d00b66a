"""Where a report comes from: which code, when, on what, and how to make it again.

Trust: public.
"""

from __future__ import annotations

import platform
import shutil
import subprocess
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import final

from discreet_audit.suite.report import Report

_HERE = Path(__file__).resolve().parent


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """What a reader needs to know before believing a figure.

    Attributes:
        version: of discreet.
        commit: of its repository, if it lies in one; marked where files differ from it.
        date: when the audit ended, in UTC.
        platform: the operating system and the kind of processor.
        python: the version of Python.
        reproduce: the command that makes the same audit.  Noise has no seed: figures differ a
            little, and bounds hold again at their level.
    """

    version: str
    commit: str | None
    date: str
    platform: str
    python: str
    reproduce: str

    def to_json(self) -> dict[str, str | None]:
        """Return all of it in types that JSON knows."""
        return asdict(self)

    def words(self, level: float) -> str:
        """Say all of it in one sentence.

        >>> made = Provenance(version="1.0", commit=None, date="2026-01-02T03:04:05+00:00",
        ...                   platform="Linux x86_64", python="3.13", reproduce="discreet audit")
        >>> made.words(1e-6)
        'discreet 1.0, 2026-01-02 03:04 UTC, Linux x86_64, Python 3.13, level 1e-06.'
        """
        when = datetime.fromisoformat(self.date).strftime("%Y-%m-%d %H:%M UTC")
        commit = "" if self.commit is None else f", commit {self.commit}"
        return (
            f"discreet {self.version}{commit}, {when}, {self.platform}, Python {self.python}, "
            f"level {level:g}."
        )


def provenance(report: Report) -> Provenance:
    """Describe the audit that has just ended, on this machine."""
    commit = _commit()
    command = f"discreet audit --{'long' if report.long else 'quick'} --out audit"
    return Provenance(
        version=_version(),
        commit=commit,
        date=datetime.now(UTC).isoformat(timespec="seconds"),
        platform=f"{platform.system()} {platform.machine()}",
        python=platform.python_version(),
        reproduce=command,
    )


def _version() -> str:
    try:
        return version("discreet")
    except PackageNotFoundError:
        return "unknown"


def _commit() -> str | None:
    """Return the commit of the files that ran; None if no repository holds them."""
    git = shutil.which("git")
    if git is None:
        return None

    def told(*words: str) -> str:
        command = [git, "-C", str(_HERE), *words]
        done = subprocess.run(command, capture_output=True, check=True, text=True)  # noqa: S603
        return done.stdout.strip()

    try:
        tracked = told("ls-files", "--", str(_HERE / "provenance.py"))
        changed = told("status", "--porcelain", "--untracked-files=no")
        return told("rev-parse", "HEAD") + (" (changed)" if changed else "") if tracked else None
    except (OSError, subprocess.CalledProcessError):
        return None
