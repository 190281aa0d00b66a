"""API tokens: shown once, stored as a prefix and a hash, with a scope and an end.

Trust: kernel.

A token reads ``dsc_<prefix>_<secret>``.  The prefix finds it and may stand in logs; the secret is
256 random bits, of which a hash is stored.  A token does no more than its scope and the roles that
its person has when it is used.  Only somebody who is logged in makes one: a token that could make
others would outlast its own end.  It ends with the password that its person had when it was made.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final, final

from discreet.errors import NotAllowed, OutOfRange
from discreet.service.people.caller import Caller
from discreet.service.people.credentials import new_secret, same_secret, secret_hash
from discreet.service.people.directory import Directory
from discreet.service.people.roles import Permission
from discreet.service.security_log import SecurityLog
from discreet.service.state_store import StateStore

_DAYS: Final = 365
_PREFIX: Final = 12


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ApiToken:
    """What is known of a token; its secret was shown once."""

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
        """Return a new token of somebody; it is shown this once."""
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
                do=f"take some of: {', '.join(sorted(p.value for p in caller.allowed))}.",
            )
        if not 1 <= days <= _DAYS or len(note) > 200 or not note.isprintable():
            raise OutOfRange(
                what="a token lasts 1 to 365 days, and its note has up to 200 characters.",
                why="a token that is forgotten ends by itself.",
                do="give days=90, say.",
            )
        prefix, secret, now = new_secret()[:_PREFIX], new_secret(), time.time()
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
        """Return the tokens of somebody, the newest first."""
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
        """End a token: one's own, or anybody's for those who manage people.

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
