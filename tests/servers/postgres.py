"""A PostgreSQL server of its own for the tests: found or installed, started, stopped, removed.

``programs()`` is the folder of the server's programs.  Where there are none, Debian's package is
installed, if this user may do that; otherwise the tests that need a server fail and say why.
``PostgresServer`` is a fresh cluster in a temporary folder, listening on the loopback address only,
with a random password and the settings of a real one: ``fsync`` is on.  ``crash`` ends it at once,
and the next start has to recover.  That is not a power cut, so its files may lie in memory, which
is faster; what is about disks asks for one with ``on_disk``.

The server does not outlive the tests, however they end: a guard waits for the end of a pipe that
only this process holds, and then stops the server and removes the folder.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import secrets
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Self

PACKAGE = "postgresql"
NEEDED = ("initdb", "pg_ctl", "postgres")
DEBIAN = Path("/usr/lib/postgresql")
USERS = ("postgres", "nobody")  # whose rights the server has when root starts it: it refuses root's
PATIENCE = 60  # seconds for one step
MEMORY = Path("/dev/shm")  # noqa: S108  the folder made in it has a random name
ROOM = 1 << 30  # bytes that must be free to use it
GUARD = """
cat >/dev/null
"$1/pg_ctl" stop --silent --mode=immediate --pgdata="$2/data" >/dev/null 2>&1
rm -rf "$2"
"""


class NoServer(RuntimeError):
    """There is no PostgreSQL server to test with, and none can be made."""


def found(debian: Path = DEBIAN, path: str | None = None) -> Path | None:
    """Return the folder that holds the server's programs: on the path, or where Debian puts it."""
    folders = [Path(place).parent for name in NEEDED if (place := shutil.which(name, path=path))]
    folders += sorted(debian.glob("*/bin"), key=_version, reverse=True)
    if asked := shutil.which("pg_config", path=path):
        answer = subprocess.run([asked, "--bindir"], capture_output=True, check=False, text=True)
        folders.append(Path(answer.stdout.strip()))
    complete = (f for f in folders if all(os.access(f / name, os.X_OK) for name in NEEDED))
    return next(complete, None)


def _version(folder: Path) -> tuple[int, ...]:
    name = folder.parent.name
    return tuple(int(part) for part in name.split(".")) if name.replace(".", "").isdigit() else ()


def installation(user: int, path: str | None = None) -> list[list[str]]:
    """Return the commands that install the server, or none if this user cannot."""
    apt, sudo = shutil.which("apt-get", path=path), shutil.which("sudo", path=path)
    if apt is None or (user != 0 and sudo is None):
        return []
    begin = ["env", "DEBIAN_FRONTEND=noninteractive", apt]
    if user != 0:
        begin = [sudo, "-n", *begin]
    return [[*begin, "update"], [*begin, "install", "-y", "--no-install-recommends", PACKAGE]]


def programs(debian: Path = DEBIAN, path: str | None = None, user: int | None = None) -> Path:
    """Return the folder of the server's programs; install them first if need be."""
    folder = found(debian, path)
    if folder is not None:
        return folder
    failure = f"only root can install the package {PACKAGE}, and only on Debian and its kin"
    for command in installation(os.geteuid() if user is None else user, path):
        done = subprocess.run(command, capture_output=True, check=False, text=True)
        if done.returncode:
            failure = f"{' '.join(command)} failed:\n{done.stderr}"
    folder = found(debian, path)
    if folder is None:
        message = (
            f"the tests of ledgers on PostgreSQL need its server ({', '.join(NEEDED)}), which is "
            f"neither on the path nor below {debian}; {failure}"
        )
        raise NoServer(message)
    return folder


class PostgresServer:
    """A cluster in a temporary folder; use as a context manager, or ``close`` it."""

    def __init__(self, *, settings: Sequence[str] = (), on_disk: bool = False) -> None:
        self.programs = programs()
        self.account = _account()
        self.password = secrets.token_hex(16)
        self.port = 0
        place = None if on_disk else in_memory()
        self.folder = Path(tempfile.mkdtemp(prefix="discreet-postgres-", dir=place))
        if self.account is not None:
            os.chown(self.folder, self.account.pw_uid, self.account.pw_gid)
        self._guard = subprocess.Popen(
            ["/bin/sh", "-c", GUARD, "guard", str(self.programs), str(self.folder)],
            stdin=subprocess.PIPE,
            start_new_session=True,  # an interrupt from the keyboard is for the tests alone
            **self._rights(),
        )
        try:
            self._make()
            self.start(*settings)
        except BaseException:
            self.close()
            raise

    def address(self, name: str = "", *, role: str = "owner", password: str | None = None) -> str:
        """Return the address of the ledger with this name."""
        secret = self.password if password is None else password
        place = f"postgresql://{role}:{secret}@127.0.0.1:{self.port}/postgres"
        return f"{place}#{name}" if name else place

    def start(self, *settings: str) -> None:
        """Start the server; each of the settings is such as ``fsync=off``."""
        for _ in range(5):  # somebody else may take the port first
            self.port = self.port or _free_port()
            options = [
                f"port={self.port}",
                "listen_addresses=127.0.0.1",
                "unix_socket_directories=",
                "max_connections=60",
                "shared_buffers=16MB",
                *settings,
            ]
            written = " ".join(f"-c {option}" for option in options)
            log = self.folder / "log"
            begin = ("start", "--wait", f"--timeout={PATIENCE}", f"--log={log}", "-o", written)
            if (done := self._run("pg_ctl", f"--pgdata={self.folder / 'data'}", *begin)) is None:
                return
            self.port = 0
        message = f"the server did not start:\n{done}\n{log.read_text()}"
        raise NoServer(message)

    def stop(self, mode: str = "fast") -> None:
        """Stop the server; with ``immediate``, as a crash would."""
        how = ("stop", "--wait", f"--timeout={PATIENCE}", f"--mode={mode}")
        if failed := self._run("pg_ctl", f"--pgdata={self.folder / 'data'}", *how):
            raise NoServer(failed)

    def crash(self) -> None:
        """Stop the server without any clean-up: the next start has to recover."""
        self.stop("immediate")

    @contextlib.contextmanager
    def restarted(self, *settings: str) -> Iterator[None]:
        """Run with other settings for a while."""
        self.stop()
        self.start(*settings)
        try:
            yield
        finally:
            self.stop()
            self.start()

    def close(self) -> None:
        """Stop the server and remove the folder."""
        self._guard.communicate(timeout=PATIENCE)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _make(self) -> None:
        secret = self.folder / "password"
        secret.touch(mode=0o600)
        secret.write_text(self.password, encoding="ascii")
        if self.account is not None:
            os.chown(secret, self.account.pw_uid, self.account.pw_gid)
        failed = self._run(
            "initdb",
            f"--pgdata={self.folder / 'data'}",
            f"--pwfile={secret}",
            "--username=owner",
            "--auth=scram-sha-256",
            "--encoding=UTF8",
            "--locale=C",
            "--wal-segsize=1",
            "--no-sync",  # of what a fresh cluster is copied from; the server itself syncs
        )
        if failed:
            raise NoServer(failed)

    def _run(self, program: str, *arguments: str) -> str | None:
        """Run a program of the server as the server's user; return what it says if it fails."""
        done = subprocess.run(
            [str(self.programs / program), *arguments],
            check=False,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=2 * PATIENCE,
            **self._rights(),
        )
        return done.stdout if done.returncode else None

    def _rights(self) -> dict[str, object]:
        if self.account is None:
            return {"cwd": self.folder}
        rights = {"user": self.account.pw_uid, "group": self.account.pw_gid, "extra_groups": ()}
        return {"cwd": self.folder, **rights}


def in_memory() -> Path | None:
    """Return a folder in memory, if there is one with enough room."""
    usable = MEMORY.is_dir() and os.access(MEMORY, os.W_OK)
    return MEMORY if usable and shutil.disk_usage(MEMORY).free > ROOM else None


def _account() -> pwd.struct_passwd | None:
    """Return whose rights the server gets: ours, unless we are root."""
    if os.geteuid() != 0:
        return None
    for name in USERS:
        with contextlib.suppress(KeyError):
            return pwd.getpwnam(name)
    message = f"the server refuses to run as root, and there is no user named {' or '.join(USERS)}"
    raise NoServer(message)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
