"""Java for the tests that run Spark: found or installed.

``java_home()`` is the folder of a Java that is new enough: the one that ``JAVA_HOME`` names, the
one on the path, or one where Debian puts them.  Where there is none, Debian's package without
windows is installed, if this user may do that; otherwise the tests that need it fail and say why.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

PACKAGE = "default-jre-headless"
OLDEST = 17
DEBIAN = Path("/usr/lib/jvm")
_VERSION = re.compile(r'version "(\d+)')


class NoJava(RuntimeError):
    """There is no Java to test with, and none can be installed."""


def found(debian: Path = DEBIAN, path: str | None = None, home: str | None = None) -> Path | None:
    """Return the folder of a Java that is new enough: the named one, the path's, or Debian's."""
    return next((folder for folder in _folders(debian, path, home) if is_new(folder)), None)


def _folders(debian: Path, path: str | None, home: str | None) -> Iterator[Path]:
    if home:
        yield Path(home)
    if program := shutil.which("java", path=path):
        yield Path(program).resolve().parent.parent
    yield from sorted(folder.parent.parent for folder in debian.glob("*/bin/java"))


def is_new(folder: Path) -> bool:
    """Say whether a folder holds a Java that Spark runs on."""
    try:
        told = subprocess.run(
            [str(folder / "bin" / "java"), "-version"], capture_output=True, check=True, text=True
        )
    except (OSError, subprocess.CalledProcessError):
        return False
    version = _VERSION.search(told.stderr + told.stdout)
    return version is not None and int(version[1]) >= OLDEST


def installation(user: int, path: str | None = None) -> list[list[str]]:
    """Return the commands that install Java, or none if this user cannot."""
    apt, sudo = shutil.which("apt-get", path=path), shutil.which("sudo", path=path)
    if apt is None or (user != 0 and sudo is None):
        return []
    begin = ["env", "DEBIAN_FRONTEND=noninteractive", apt]
    if user != 0:
        begin = [sudo, "-n", *begin]
    return [[*begin, "update"], [*begin, "install", "-y", "--no-install-recommends", PACKAGE]]


def install(
    debian: Path = DEBIAN,
    path: str | None = None,
    home: str | None = None,
    user: int | None = None,
) -> Path:
    """Return the folder of a Java; install one first if need be."""
    folder = found(debian, path, home)
    if folder is not None:
        return folder
    failure = f"only root can install the package {PACKAGE}, and only on Debian and its kin"
    for command in installation(os.geteuid() if user is None else user, path):
        done = subprocess.run(command, capture_output=True, check=False, text=True)
        if done.returncode:
            failure = f"{' '.join(command)} failed:\n{done.stderr}"
    folder = found(debian, path, home)
    if folder is None:
        message = (
            f"the tests of Spark need Java {OLDEST} or later, which is neither in JAVA_HOME nor on "
            f"the path nor below {debian}; {failure}"
        )
        raise NoJava(message)
    return folder


@cache
def java_home() -> Path:
    """Return the folder of the Java that this process uses."""
    return install(home=os.environ.get("JAVA_HOME"))
