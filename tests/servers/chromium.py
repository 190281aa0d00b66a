"""Chromium for the tests of the workbench: found or installed.

``chromium()`` is the program: the one that ``CHROMIUM`` names, or the first on the path.  Where
there is none, Debian's package is installed, if this user may do that; otherwise the tests that
need it fail and say why.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

PACKAGE = "chromium"
NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
OLDEST = 120  # the first whose style sheets and pages we rely on
OPTIONS = (
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
)
_VERSION = re.compile(r"(\d+)\.\d+\.\d+")


class NoChromium(RuntimeError):
    """There is no browser to test with, and none can be installed."""


def found(path: str | None = None, named: str | None = None) -> Path | None:
    """Return a browser that is new enough: the named one, or the path's."""
    return next((program for program in _programs(path, named) if is_new(program)), None)


def _programs(path: str | None, named: str | None) -> Iterator[Path]:
    if named:
        yield Path(named)
    for name in NAMES:
        if program := shutil.which(name, path=path):
            yield Path(program)


def is_new(program: Path) -> bool:
    """Say whether a program is a browser that knows what our pages use."""
    try:
        told = subprocess.run(
            [str(program), "--version"], capture_output=True, check=True, text=True
        )
    except (OSError, subprocess.CalledProcessError):
        return False
    version = _VERSION.search(told.stdout)
    return version is not None and int(version[1]) >= OLDEST


def installation(user: int, path: str | None = None) -> list[list[str]]:
    """Return the commands that install it, or none if this user cannot."""
    apt, sudo = shutil.which("apt-get", path=path), shutil.which("sudo", path=path)
    if apt is None or (user != 0 and sudo is None):
        return []
    begin = ["env", "DEBIAN_FRONTEND=noninteractive", apt]
    if user != 0:
        begin = [sudo, "-n", *begin]
    return [[*begin, "update"], [*begin, "install", "-y", "--no-install-recommends", PACKAGE]]


def install(path: str | None = None, named: str | None = None, user: int | None = None) -> Path:
    """Return a browser; install one first if need be."""
    program = found(path, named)
    if program is not None:
        return program
    failure = f"only root can install the package {PACKAGE}, and only on Debian and its kin"
    for command in installation(os.geteuid() if user is None else user, path):
        done = subprocess.run(command, capture_output=True, check=False, text=True)
        if done.returncode:
            failure = f"{' '.join(command)} failed:\n{done.stderr}"
    program = found(path, named)
    if program is None:
        message = (
            f"the tests of the workbench need Chromium {OLDEST} or later, which is neither in "
            f"CHROMIUM nor on the path; {failure}"
        )
        raise NoChromium(message)
    return program


@cache
def chromium() -> Path:
    """Return the browser that this process uses."""
    return install(named=os.environ.get("CHROMIUM"))
