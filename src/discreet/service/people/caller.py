"""Who calls: a person, with what this call may do.

Trust: kernel.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from discreet.errors import NotAllowed
from discreet.service.people.roles import Grant, Permission, Role, permissions_of


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """A person who has shown who they are, with a cookie, a token or through a proxy.

    ``grants`` are their roles and the datasets that each is for; the scope of a token narrows what
    they allow.

    >>> ana = Caller.of("ana", frozenset({Role.ANALYST}), datasets=frozenset({"flu"}))
    >>> ana.may(Permission.ASK), ana.may(Permission.DECIDE), ana.may(Permission.ASK, "payroll")
    (True, False, False)
    """

    person: str
    grants: tuple[Grant, ...]
    scope: frozenset[Permission] | None = None
    groups: tuple[str, ...] = ()
    """The groups that a proxy has named at their log-in."""
    token: str | None = None
    """The prefix of the token, where one was used."""

    @classmethod
    def of(
        cls, person: str, roles: frozenset[Role], *, datasets: frozenset[str] | None = None
    ) -> Caller:
        """Return a caller with the same roles for all datasets, or for some."""
        return cls(person=person, grants=(Grant(roles=roles, datasets=datasets),))

    @property
    def roles(self) -> frozenset[Role]:
        """All roles, for any dataset."""
        return frozenset().union(*(grant.roles for grant in self.grants))

    @property
    def allowed(self) -> frozenset[Permission]:
        """What the call may do, for any dataset."""
        found = permissions_of(self.roles)
        return found if self.scope is None else found & self.scope

    def may(self, permission: Permission, dataset: str | None = None) -> bool:
        """Say whether the call may do something: to a dataset, or to any."""
        held = (each for each in self.grants if dataset is None or each.covers(dataset))
        found = any(permission in permissions_of(each.roles) for each in held)
        return found and (self.scope is None or permission in self.scope)

    def sees(self, dataset: str) -> bool:
        """Say whether the person may know of a dataset."""
        return any(grant.covers(dataset) for grant in self.grants)

    def check(self, permission: Permission, dataset: str | None = None) -> None:
        """Refuse what this call may not do."""
        if not self.may(permission, dataset):
            raise NotAllowed(
                what=f"this call may not do this: it needs the permission '{permission.value}'.",
                why="roles and tokens decide who may spend, and who may decide.",
                do="use a token with this scope, or ask for a role that has it.",
            )
