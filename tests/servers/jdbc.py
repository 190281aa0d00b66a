"""PostgreSQL's JDBC driver and psql for the tests of SQL clients: found or installed.

``driver()`` is the jar: of Maven's folder, or where Debian puts it.  ``psql()`` is the program of
the path.  What is missing is installed as Debian's package, if this user may do that; otherwise the
tests that need it fail and say why.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path

JARS = (
    (Path.home() / ".m2/repository/org/postgresql/postgresql", "*/postgresql-*.jar"),
    (Path("/usr/share/java"), "postgresql*.jar"),
)


class NoClient(RuntimeError):
    """There is no such client to test with, and none can be installed."""


def installed(
    found: Callable[[], Path | None], package: str, *, user: int, path: str | None = None
) -> Path:
    """Return a client; install Debian's package first if need be."""
    if (client := found()) is not None:
        return client
    apt, sudo = shutil.which("apt-get", path=path), shutil.which("sudo", path=path)
    failure = f"only root can install the package {package}, and only on Debian and its kin"
    if apt is not None and (user == 0 or sudo is not None):
        begin = [*([] if user == 0 else [sudo, "-n"]), "env", "DEBIAN_FRONTEND=noninteractive", apt]
        for rest in (["update"], ["install", "-y", "--no-install-recommends", package]):
            done = subprocess.run([*begin, *rest], capture_output=True, check=False, text=True)
            if done.returncode:
                failure = f"{package} cannot be installed:\n{done.stderr}"
    if (client := found()) is None:
        message = f"the tests of SQL clients need the package {package}; {failure}"
        raise NoClient(message)
    return client


def found_driver() -> Path | None:
    """Return the newest driver."""
    jars = (jar for folder, name in JARS for jar in sorted(folder.glob(name), reverse=True))
    return next((jar for jar in jars if "sources" not in jar.name), None)


def found_psql() -> Path | None:
    """Return psql."""
    program = shutil.which("psql")
    return None if program is None else Path(program)


@cache
def driver() -> Path:
    """Return the driver that this process uses."""
    return installed(found_driver, "libpostgresql-jdbc-java", user=os.geteuid())


@cache
def psql() -> Path:
    """Return the psql that this process uses."""
    return installed(found_psql, "postgresql-client", user=os.geteuid())
