"""The directory: people, invitations, passwords and lock-out.

Trust: kernel.

Nobody is told whether a name exists: a wrong name, a wrong password and a locked person are
refused in the same words after the same work.  Too many failures lock a person out for a while,
whether or not the next password is right.

Whoever adds or invites somebody could also log in as them, so each such act is kept: the two do not
count as two people where two are needed.  A new password, and the loss of all roles, end all
log-ins and tokens of a person.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, final

from discreet.errors import NotAllowed, OutOfRange
from discreet.service.people.caller import Caller
from discreet.service.people.credentials import new_secret, secret_hash
from discreet.service.people.passwords import hashed_password, password_fits
from discreet.service.people.roles import Role, check_person
from discreet.service.security_log import SecurityLog
from discreet.service.site import ServiceLimits, Site
from discreet.service.state_store import StateStore

_INVITATION_HOURS: Final = 72


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """Somebody who may log in."""

    name: str
    roles: frozenset[Role]
    datasets: frozenset[str] | None
    has_password: bool
    locked: bool
    created: float
    """Since when they are known, in seconds since 1970."""

    @property
    def caller(self) -> Caller:
        """The person with all that their roles allow."""
        return Caller.of(self.name, self.roles, datasets=self.datasets)


@final
class Directory:
    """All people of a site."""

    __slots__ = ("_limits", "_log", "_store")

    def __init__(self, store: StateStore, *, limits: ServiceLimits, log: SecurityLog) -> None:
        """Take where they are kept, and where what happens is written down."""
        self._store, self._limits, self._log = store, limits, log

    def take_over(self, site: Site) -> None:
        """Make the people of the site file known, with the roles that it gives them."""
        for name, roles in site.people.items():
            self.put(name, roles, datasets=site.access.get(name), by="site file")

    def people(self) -> tuple[Person, ...]:
        """Return everybody, by name."""
        return tuple(map(_person, self._store.rows("SELECT * FROM people ORDER BY name")))

    def find(self, name: str) -> Person | None:
        """Return somebody."""
        row = self._store.row("SELECT * FROM people WHERE name = ?", name)
        return None if row is None else _person(row)

    def put(
        self,
        name: str,
        roles: Iterable[Role],
        *,
        by: str,
        datasets: frozenset[str] | None = None,
    ) -> Person:
        """Add somebody, or change their roles; without roles they can do nothing, and are out."""
        held = frozenset(roles)
        check_person(name, held)
        words = " ".join(sorted(role.value for role in held))
        where = None if datasets is None else " ".join(sorted(datasets))
        with self._store.transaction() as within:
            known = within.execute("SELECT 1 FROM people WHERE name = ?", (name,)).fetchone()
            within.execute(
                "INSERT INTO people (name, roles, datasets, created) VALUES (?, ?, ?, ?) "
                "ON CONFLICT (name) "
                "DO UPDATE SET roles = excluded.roles, datasets = excluded.datasets",
                (name, words, where, time.time()),
            )
            if known is None:
                _tie(within, by=by, person=name)
            if not held:
                within.execute("DELETE FROM invitations WHERE person = ?", (name,))
                _log_out(within, name)
            self._log.write("person", by=by, person=name, detail=words)
        found = self.find(name)
        assert found is not None  # noqa: S101  it was just written
        return found

    def tied(self, first: str, second: str) -> bool:
        """Say whether one of two people has ever added or invited the other."""
        sql = "SELECT 1 FROM ties WHERE (by = ? AND person = ?) OR (by = ? AND person = ?)"
        return self._store.row(sql, first, second, second, first) is not None

    # --- invitations and passwords ------------------------------------------------------------

    def invite(self, name: str, *, by: str) -> str:
        """Return the secret of a one-time link with which somebody sets their password."""
        if self.find(name) is None:
            raise OutOfRange(
                what="nobody has this name.",
                why="an invitation is for somebody with roles.",
                do="add the person first.",
            )
        secret = new_secret()
        with self._store.transaction() as within:
            within.execute("DELETE FROM invitations WHERE person = ?", (name,))
            within.execute(
                "INSERT INTO invitations VALUES (?, ?, ?)",
                (secret_hash(secret), name, time.time() + 3600 * _INVITATION_HOURS),
            )
            _tie(within, by=by, person=name)
            self._log.write("invitation", by=by, person=name)
        return secret

    def invited(self, secret: str) -> str | None:
        """Return for whom a one-time link is, if it can still be used."""
        row = self._store.row(
            "SELECT person FROM invitations WHERE hash = ? AND expires > ?",
            secret_hash(secret),
            time.time(),
        )
        return None if row is None else str(row["person"])

    def accept(self, secret: str, password: str) -> Person:
        """Set the password of whoever was invited; the link, log-ins and tokens end with it."""
        stored = hashed_password(password)
        with self._store.transaction() as within:
            row = within.execute(
                "DELETE FROM invitations WHERE hash = ? AND expires > ? RETURNING person",
                (secret_hash(secret), time.time()),
            ).fetchone()
            if row is None:
                raise NotAllowed(
                    what="this one-time link was used before, or has expired.",
                    why="whoever finds an old link must not get in.",
                    do="ask the owner for a new one.",
                )
            name = str(row["person"])
            within.execute(
                "UPDATE people SET password = ?, failed = 0, locked_until = 0 WHERE name = ?",
                (stored, name),
            )
            _log_out(within, name)
            self._log.write("password", by=name, person=name)
        found = self.find(name)
        assert found is not None  # noqa: S101  it was just written
        return found

    def check_password(self, name: str, password: str) -> Person:
        """Return whoever has this name and password; refuse all else in the same words."""
        row = self._store.row("SELECT * FROM people WHERE name = ?", name)
        fits = password_fits(None if row is None else row["password"], password)
        if row is None or row["locked_until"] > time.time() or not fits:
            self._count_failure(name)
            self._log.write("log-in refused", person=name if row is not None else None)
            raise NotAllowed(
                what="the name and the password do not fit together, or log-in is locked.",
                why="after some failures a name is locked for a while, whoever tries.",
                do="try again later, or ask the owner for a one-time link.",
            )
        with self._store.transaction() as within:
            within.execute("UPDATE people SET failed = 0 WHERE name = ?", (name,))
        return _person(row)

    def _count_failure(self, name: str) -> None:
        until = time.time() + 60 * self._limits.lockout_minutes
        with self._store.transaction() as within:
            within.execute("UPDATE people SET failed = failed + 1 WHERE name = ?", (name,))
            locked = within.execute(
                "UPDATE people SET failed = 0, locked_until = ? WHERE name = ? AND failed >= ?",
                (until, name, self._limits.failed_logins),
            ).rowcount
            if locked:
                self._log.write("locked out", person=name)


def _tie(within: sqlite3.Connection, *, by: str, person: str) -> None:
    """Keep who has added or invited somebody."""
    within.execute(
        "INSERT INTO ties VALUES (?, ?, ?) ON CONFLICT DO NOTHING", (by, person, time.time())
    )


def _log_out(within: sqlite3.Connection, name: str) -> None:
    """End all log-ins and tokens of somebody."""
    within.execute("DELETE FROM logins WHERE person = ?", (name,))
    within.execute("UPDATE tokens SET revoked = 1 WHERE person = ?", (name,))


def _person(row: object) -> Person:
    held = dict(row)  # type: ignore[call-overload]
    where = held["datasets"]
    return Person(
        name=held["name"],
        roles=frozenset(map(Role, held["roles"].split())),
        datasets=None if where is None else frozenset(where.split()),
        has_password=held["password"] is not None,
        locked=held["locked_until"] > time.time(),
        created=held["created"],
    )
