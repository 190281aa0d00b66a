"""Log-ins: cookies that show who somebody is, each with a token against forged forms.

Trust: kernel.  A cookie is made anew at every log-in, so that one that was planted before is
worth nothing (session fixation); it is stored as a hash (T8).
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import final

from discreet.service.people.caller import Caller
from discreet.service.people.credentials import new_secret, same_secret, secret_hash
from discreet.service.people.directory import Directory
from discreet.service.security_log import SecurityLog
from discreet.service.state_store import StateStore


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Login:
    """Somebody who is logged in; forms carry ``csrf``."""

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
