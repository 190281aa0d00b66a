"""Who calls: a person, with what this call may do.

Trust: kernel.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from discreet.errors import NotAllowed
from discreet.service.people.roles import Permission, Role, permissions_of


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """A person who has shown who they are, by a cookie or by a token.

    ``allowed`` is what this call may do: the permissions of the roles, narrowed to the scope of a
    token.  ``datasets`` are those that they may see; None means all.

    >>> ana = Caller.of("ana", frozenset({Role.ANALYST}))
    >>> ana.may(Permission.ASK), ana.may(Permission.DECIDE)
    (True, False)
    """

    person: str
    roles: frozenset[Role]
    allowed: frozenset[Permission]
    datasets: frozenset[str] | None = None
    token: str | None = None
    """The prefix of the token, where one was used."""

    @classmethod
    def of(
        cls,
        person: str,
        roles: frozenset[Role],
        *,
        datasets: frozenset[str] | None = None,
        scope: frozenset[Permission] | None = None,
        token: str | None = None,
    ) -> Caller:
        """Return a caller with all that their roles and the scope of their token allow."""
        allowed = permissions_of(roles)
        return cls(
            person=person,
            roles=roles,
            allowed=allowed if scope is None else allowed & scope,
            datasets=datasets,
            token=token,
        )

    def may(self, permission: Permission) -> bool:
        """Say whether the call may do something."""
        return permission in self.allowed

    def sees(self, dataset: str) -> bool:
        """Say whether the person may know of a dataset."""
        return self.datasets is None or dataset in self.datasets

    def check(self, permission: Permission) -> None:
        """Refuse what this call may not do."""
        if permission not in self.allowed:
            raise NotAllowed(
                what=f"this call may not do this: it needs the permission '{permission.value}'.",
                why="roles and tokens decide who may spend, and who may decide.",
                do="use a token with this scope, or ask the owner for a role that has it.",
            )
