"""Credentials: log-ins, API tokens, and rate limits of callers.

Trust: kernel.

Secrets are 256 random bits, which cannot be guessed, so they are stored as SHA-256; passwords need
more (:mod:`discreet.service.directory`).  A cookie is made anew at every log-in, so that one that
was planted before is worth nothing (session fixation, T8).

A token reads ``dsc_<prefix>_<secret>``.  The prefix identifies it and may appear in logs.  A token
permits no more than its scope and the current roles of its owner.  Creating one requires a log-in:
a token that could create others would outlast its own expiry.  It expires when its owner's password
changes.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final, final

from discreet.errors import NotAllowed, OutOfRange
from discreet.noise import SYSTEM
from discreet.service.directory import Directory
from discreet.service.roles import Caller, Permission
from discreet.service.state import SecurityLog, StateStore

_SECRET_BYTES: Final = 32


def new_secret() -> str:
    """Return 256 random bits as text.

    >>> len(new_secret())
    64
    """
    return f"{SYSTEM.bits(8 * _SECRET_BYTES):0{2 * _SECRET_BYTES}x}"


def secret_hash(secret: str) -> str:
    """Return the stored hash of a random secret."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def same_secret(first: str, second: str) -> bool:
    """Compare two texts in a time that does not depend on where they differ.

    >>> same_secret("a", "a"), same_secret("a", "b")
    (True, False)
    """
    return hmac.compare_digest(first.encode("utf-8", "surrogatepass"), second.encode())


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Login:
    """A logged-in person; forms carry ``csrf``."""

    caller: Caller
    csrf: str

    def form_is_ours(self, token: str | None) -> bool:
        """Say whether a form carries the token that our page put there."""
        return token is not None and same_secret(token, self.csrf)


@final
class Logins:
    """All who are logged in."""

    __slots__ = ("_directory", "_hours", "_log", "_store")

    def __init__(
        self, store: StateStore, directory: Directory, *, hours: int, log: SecurityLog
    ) -> None:
        """Take where they are kept, and for how long a log-in lasts."""
        self._store, self._directory, self._hours, self._log = store, directory, hours, log

    def begin(self, person: str, groups: Iterable[str] = ()) -> str:
        """Return the cookie of a new log-in, with the groups that a proxy has named."""
        cookie, mark = new_secret(), self._directory.mark(person)
        with self._store.transaction() as within:
            within.execute("DELETE FROM logins WHERE expires < ?", (time.time(),))
            within.execute(
                "INSERT INTO logins VALUES (?, ?, ?, ?, ?, ?)",
                (
                    secret_hash(cookie),
                    person,
                    json.dumps(list(groups)),
                    new_secret(),
                    mark,
                    time.time() + 3600 * self._hours,
                ),
            )
            self._log.write("log-in", by=person)
        return cookie

    def find(self, cookie: str) -> Login | None:
        """Return who holds a cookie, with the roles that they have now."""
        row = self._store.row(
            "SELECT person, groups, csrf, mark FROM logins WHERE hash = ? AND expires > ?",
            secret_hash(cookie),
            time.time(),
        )
        if row is None or row["mark"] != self._directory.mark(row["person"]):
            return None
        caller = self._directory.find(row["person"], json.loads(row["groups"]))
        return None if caller is None else Login(caller=caller, csrf=row["csrf"])

    def end(self, cookie: str) -> None:
        """Log out."""
        with self._store.transaction() as within:
            within.execute("DELETE FROM logins WHERE hash = ?", (secret_hash(cookie),))


_LONGEST_DAYS: Final = 365
_PREFIX_LENGTH: Final = 12


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ApiToken:
    """The record of a token; its secret was shown once."""

    prefix: str
    person: str
    scope: frozenset[Permission]
    note: str
    created: float
    expires: float
    revoked: bool


@final
class Tokens:
    """All tokens of a site."""

    __slots__ = ("_directory", "_log", "_store")

    def __init__(self, store: StateStore, directory: Directory, *, log: SecurityLog) -> None:
        """Take where they are kept, and whose they are."""
        self._store, self._directory, self._log = store, directory, log

    def make(
        self, caller: Caller, *, scope: Iterable[Permission], note: str = "", days: int = 90
    ) -> str:
        """Return a new token of a person; it is shown only this once."""
        if caller.token is not None:
            raise NotAllowed(
                what="a token cannot make tokens.",
                why="one that was stolen would live on in those that it has made.",
                do="log in, and make the token there.",
            )
        wanted = frozenset(scope)
        if not wanted or not wanted <= caller.allowed:
            raise OutOfRange(
                what="the scope is empty, or holds more than the caller may do.",
                why="a token narrows what its person may do, and never widens it.",
                do=f"take some of: {', '.join(sorted(p.value for p in caller.allowed))}; "
                "plan and ask are for analysts.",
            )
        if not 1 <= days <= _LONGEST_DAYS or len(note) > 200 or not note.isprintable():
            raise OutOfRange(
                what="a token lasts 1 to 365 days, and its note has up to 200 characters.",
                why="a token that is forgotten ends by itself.",
                do="give days=90, say.",
            )
        prefix, secret, now = new_secret()[:_PREFIX_LENGTH], new_secret(), time.time()
        words = " ".join(sorted(each.value for each in wanted))
        with self._store.transaction() as within:
            within.execute(
                "INSERT INTO tokens VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 0)",
                (
                    prefix,
                    secret_hash(secret),
                    caller.person,
                    json.dumps(caller.groups),
                    words,
                    note,
                    self._directory.mark(caller.person),
                    now,
                    now + 86400 * days,
                ),
            )
            self._log.write("token", by=caller.person, token=prefix, detail=words)
        return f"dsc_{prefix}_{secret}"

    def find(self, token: str) -> Caller | None:
        """Return who holds a token, and what it lets them do; None for any other text."""
        kind, _, rest = token.partition("_")
        prefix, _, secret = rest.partition("_")
        row = self._store.row(
            "SELECT * FROM tokens WHERE prefix = ? AND revoked = 0 AND expires > ?",
            prefix,
            time.time(),
        )
        known = "" if row is None else row["hash"]
        if kind != "dsc" or not same_secret(secret_hash(secret), known) or row is None:
            return None
        if row["mark"] != self._directory.mark(row["person"]):
            return None
        found = self._directory.find(row["person"], json.loads(row["groups"]))
        scope = frozenset(map(Permission, row["scope"].split()))
        return None if found is None else replace(found, scope=scope, token=prefix)

    def of(self, person: str) -> tuple[ApiToken, ...]:
        """Return the tokens of a person, the newest first."""
        rows = self._store.rows(
            "SELECT * FROM tokens WHERE person = ? ORDER BY created DESC", person
        )
        return tuple(
            ApiToken(
                prefix=row["prefix"],
                person=row["person"],
                scope=frozenset(map(Permission, row["scope"].split())),
                note=row["note"],
                created=row["created"],
                expires=row["expires"],
                revoked=bool(row["revoked"]),
            )
            for row in rows
        )

    def revoke(self, caller: Caller, prefix: str) -> None:
        """End a token: the caller's own, or any token for those who manage people.

        A token ends no other one than itself: who has stolen one must not stop the others (T8).
        """
        if caller.token is not None and caller.token != prefix:
            raise NotAllowed(
                what="a token cannot end other tokens.",
                why="one that was stolen would stop the programs that use the others.",
                do="log in, and end the token there.",
            )
        whose = None if caller.may(Permission.PEOPLE) else caller.person
        with self._store.transaction() as within:
            found = within.execute(
                "UPDATE tokens SET revoked = 1 WHERE prefix = ? AND (? IS NULL OR person = ?)",
                (prefix, whose, whose),
            ).rowcount
            if not found:
                raise OutOfRange(
                    what="there is no such token, or it is not yours.",
                    why="people end their own tokens; the owner ends any.",
                    do="list your tokens, and give the prefix of one.",
                )
            self._log.write("token revoked", by=caller.person, token=prefix)


_MOST_NAMES: Final = 100_000


@final
class RateLimits:
    """One bucket for each name.

    >>> rates = RateLimits(per_minute=2)
    >>> [rates.wait("ana", now=0.0) for _ in range(3)]
    [0.0, 0.0, 30.0]
    """

    __slots__ = ("_buckets", "_lock", "_per_minute")

    def __init__(self, *, per_minute: int) -> None:
        """Take how many calls a minute has."""
        self._per_minute = per_minute
        self._lock = threading.Lock()
        self._buckets: dict[str, tuple[float, float]] = {}

    def wait(self, name: str, *, now: float | None = None) -> float:
        """Take one call out, and return 0; or return in how many seconds there will be one."""
        at = time.monotonic() if now is None else now
        rate = self._per_minute / 60
        with self._lock:
            if len(self._buckets) > _MOST_NAMES:
                self._buckets.clear()
            level, then = self._buckets.get(name, (float(self._per_minute), at))
            level = min(float(self._per_minute), level + (at - then) * rate)
            if level < 1:
                self._buckets[name] = (level, at)
                return (1 - level) / rate
            self._buckets[name] = (level - 1, at)
            return 0.0
