"""The directory: who people are, by the site file and by nothing else.

Trust: kernel.

Roles and datasets come from the site file alone: whoever is taken out of it is out, with their
log-ins and tokens, and what it grants to somebody is all that they have (T1).  A wrong name and a
wrong password are refused in the same words after the same work.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import final

from discreet.errors import NotAllowed
from discreet.service.people.caller import Caller
from discreet.service.people.passwords import PasswordFile
from discreet.service.people.roles import check_grants, check_name
from discreet.service.security_log import SecurityLog
from discreet.service.site import Site


@final
class Directory:
    """All people of a site."""

    __slots__ = ("_log", "_site", "passwords")

    def __init__(self, site: Site, *, log: SecurityLog) -> None:
        """Take the site, and where what happens is written down."""
        self._site, self._log = site, log
        self.passwords = PasswordFile(site.passwords)

    def people(self) -> tuple[Caller, ...]:
        """Return everybody whom the site file names, by name."""
        known = self._site.people
        return tuple(Caller(person=name, grants=(known[name],)) for name in sorted(known))

    def find(self, name: str, groups: Iterable[str] = ()) -> Caller | None:
        """Return somebody with all that the site file grants to them and to their groups."""
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
        """Return what changes when the log-ins and tokens of somebody have to end."""
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
