"""The password file, for sites without an identity provider: a name and an argon2id hash a line.

Trust: kernel.  The command ``discreet password`` writes it, and the server reads it at each log-in
and each call, so that a new password counts at once, and ends what the old one has opened (T8).
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Final, final

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from discreet.errors import LedgerUnavailable, OutOfRange, TryAgain
from discreet.service.people.roles import check_name

_HASHER: Final = PasswordHasher()  # argon2id, with the parameters of RFC 9106 for small memory
_NOBODY: Final = (  # the hash of a random text that was thrown away
    "$argon2id$v=19$m=65536,t=3,p=4$MIIRqgvgQbgj220jfp0MPA$YfwJSVjtjSU0zzV/P3S9nnQ/USre2wvJMjfCIjrTQbg"
)
_SHORTEST: Final = 10
_LONGEST: Final = 512
_AT_ONCE: Final = threading.BoundedSemaphore(2)
"""How many passwords are checked at once: each check takes 64 MiB (T1)."""
_PATIENCE: Final = 5.0


@final
class PasswordFile:
    """One file; without one, no password fits."""

    __slots__ = ("_known", "_path", "_seen")

    def __init__(self, path: Path) -> None:
        """Take the path; the file may come later."""
        self._path = path
        self._seen: tuple[int, int, int] | None = None
        self._known: Mapping[str, str] = {}

    @property
    def names(self) -> frozenset[str]:
        """Those who have a password."""
        return frozenset(self._read())

    def put(self, name: str, password: str) -> None:
        """Set a password; the file is replaced at once, and its owner alone may read it."""
        check_name(name)
        if not _SHORTEST <= len(password) <= _LONGEST:
            raise OutOfRange(
                what=f"a password has {_SHORTEST} to {_LONGEST} characters.",
                why="a short one is guessed.",
                do="take a sentence of several words.",
            )
        known = {**self._read(), name: _HASHER.hash(_bytes(password))}
        text = "".join(f"{each}:{known[each]}\n" for each in sorted(known))
        with tempfile.NamedTemporaryFile("w", dir=self._path.parent, delete=False) as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        Path(file.name).replace(self._path)

    def fits(self, name: str, password: str) -> bool:
        """Say whether a password is that of a name; it takes as long where there is no such name.

        Few are checked at once, and a caller who would wait for long is told to try again.
        """
        stored = self._read().get(name)
        if not _AT_ONCE.acquire(timeout=_PATIENCE):
            raise TryAgain(
                what="too many people log in at once.",
                why="checking a password is slow on purpose.",
                do="try again in a while.",
            )
        try:
            _HASHER.verify(stored or _NOBODY, _bytes(password[: _LONGEST + 1]))
        except (VerificationError, InvalidHashError):
            return False
        finally:
            _AT_ONCE.release()
        return stored is not None

    def mark(self, name: str) -> str:
        """Return what changes with the password of a name; empty where it has none."""
        stored = self._read().get(name)
        return "" if stored is None else hashlib.sha256(stored.encode()).hexdigest()[:32]

    def _read(self) -> Mapping[str, str]:
        try:
            found = self._path.stat()
            seen = (found.st_mtime_ns, found.st_size, found.st_ino)
            if seen != self._seen:
                lines = self._path.read_text(encoding="utf-8").splitlines()
                pairs = (line.partition(":") for line in lines if ":" in line)
                self._known, self._seen = {name: stored for name, _, stored in pairs}, seen
        except FileNotFoundError:
            self._known, self._seen = {}, None
        except (OSError, UnicodeDecodeError):
            raise LedgerUnavailable(
                what="the password file cannot be read.",
                why="its rights or its disk keep this user from it, or it is no text.",
                do="have the user of the server read it.",
            ) from None
        return self._known


def _bytes(password: str) -> bytes:
    return password.encode("utf-8", "surrogatepass")
