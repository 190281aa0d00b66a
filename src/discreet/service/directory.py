"""The directory: who people are, by the site file and by nothing else; and their passwords.

Trust: kernel.

Roles and datasets come from the site file alone: a person removed from it loses access, with all
log-ins and tokens, and its grants are the only rights (T1).  A wrong name and a wrong password
are refused in the same words after the same work.

A site without an identity provider has a password file: a name and an argon2id hash a line.  The
command ``discreet password`` writes it, and the server reads it at each log-in and each call, so
that a new password counts at once, and ends what the old one has opened (T8).
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import threading
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final, final

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from discreet.errors import LedgerUnavailable, NotAllowed, OutOfRange, TryAgain
from discreet.service.roles import Caller, check_grants, check_name
from discreet.service.site import Site
from discreet.service.state import SecurityLog


@final
class Directory:
    """All people of a site."""

    __slots__ = ("_log", "_site", "passwords")

    def __init__(self, site: Site, *, log: SecurityLog) -> None:
        """Take the site, and where what happens is written down."""
        self._site, self._log = site, log
        self.passwords = PasswordFile(site.passwords)

    def people(self) -> tuple[Caller, ...]:
        """Return all people whom the site file names, by name."""
        known = self._site.people
        return tuple(Caller(person=name, grants=(known[name],)) for name in sorted(known))

    def find(self, name: str, groups: Iterable[str] = ()) -> Caller | None:
        """Return a person with all grants of the site file to them and their groups."""
        own = self._site.people.get(name)
        known = tuple(each for each in groups if each in self._site.groups)
        grants = (*([] if own is None else [own]), *(self._site.groups[each] for each in known))
        return Caller(person=name, grants=grants, groups=known) if grants else None

    def vouched(self, name: str, groups: Iterable[str]) -> Caller:
        """Return whom a trusted proxy has logged in; refuse those to whom nothing is granted."""
        check_name(name)
        found = self.find(name, groups)
        if found is None:
            self._log.write("log-in refused", person=name)
            raise NotAllowed(
                what="nothing here is granted to you, nor to one of your groups.",
                why="the site file says who may do what.",
                do="ask its owner for a role.",
            )
        check_grants(name, found.grants)
        return found

    def mark(self, name: str) -> str:
        """Return the value that changes when a person's log-ins and tokens have to end."""
        return self.passwords.mark(name)

    def check_password(self, name: str, password: str) -> Caller:
        """Return who has this name and password; refuse all else in the same words."""
        found = self.find(name)
        if not self.passwords.fits(name, password) or found is None:
            self._log.write("log-in refused", person=None if found is None else name)
            raise NotAllowed(
                what="the name and the password do not fit together.",
                why="answers cost budget, so everybody shows who they are.",
                do="try again, or have a new password set: discreet password SITE NAME.",
            )
        return found


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
        """Return whether a password belongs to a name; unknown names take the same time.

        Few are checked at once, and a caller with a long wait gets an error to try again.
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
        """Return what changes with the password of a name; empty if it has none."""
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
                why="its rights or its disk keep this user from it, or it is not text.",
                do="have the user of the server read it.",
            ) from None
        return self._known


def _bytes(password: str) -> bytes:
    return password.encode("utf-8", "surrogatepass")
