"""Roles, what each may do, and who calls.

Trust: kernel.  Every action requires a role that allows it, on every page and in every call.

    owner     reopens questions, decides, and ends tokens of others
    steward   keeps the budgets: accounts, requests, higher limits
    analyst   asks
    auditor   reads the ledger and the evidence, and never asks
    viewer    reads what was released

The permissions of a person are those of all their roles; a token narrows them to its scope.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType
from typing import Final, final

from discreet.errors import NotAllowed, OutOfRange

_NAME: Final = re.compile(r"[a-z][a-z0-9_.-]{0,38}", re.ASCII)


@final
class Role(Enum):
    """The role of a person for a dataset."""

    OWNER = "owner"
    STEWARD = "steward"
    ANALYST = "analyst"
    AUDITOR = "auditor"
    VIEWER = "viewer"


@final
class Permission(Enum):
    """One thing that a call or a page does."""

    SCHEMA = "schema"
    """See the public facts about tables."""
    PLAN = "plan"
    """Plan questions, which spends nothing."""
    ASK = "ask"
    """Ask and remeasure."""
    RELEASES = "releases"
    """Read what was released, with its label and explanation."""
    BUDGET = "budget"
    """See the balances of accounts."""
    REQUEST = "request"
    """Ask the steward for a higher limit."""
    DECIDE = "decide"
    """Approve or decline such requests, open accounts, raise limits with a second person."""
    LEDGER = "ledger"
    """Read, verify and export the entries of the ledger."""
    REOPEN = "reopen"
    """Reopen questions that a failed attempt has closed."""
    AUDIT = "audit"
    """See the security log and the counts of calls."""
    PEOPLE = "people"
    """List people, and revoke their tokens."""


_READERS: Final = frozenset({Permission.SCHEMA, Permission.RELEASES, Permission.BUDGET})
PERMISSIONS: Final[Mapping[Role, frozenset[Permission]]] = MappingProxyType(
    {
        Role.OWNER: _READERS
        | {
            Permission.PEOPLE,
            Permission.REOPEN,
            Permission.DECIDE,
            Permission.LEDGER,
            Permission.AUDIT,
        },
        Role.STEWARD: _READERS | {Permission.DECIDE, Permission.LEDGER, Permission.REQUEST},
        Role.ANALYST: _READERS | {Permission.PLAN, Permission.ASK, Permission.REQUEST},
        Role.AUDITOR: _READERS | {Permission.LEDGER, Permission.AUDIT},
        Role.VIEWER: frozenset({Permission.SCHEMA, Permission.RELEASES}),
    }
)
"""What each role may do."""


def permissions_of(roles: Iterable[Role]) -> frozenset[Permission]:
    """Return the permissions of a person with these roles.

    >>> Permission.ASK in permissions_of([Role.STEWARD])
    False
    """
    return frozenset().union(*(PERMISSIONS[role] for role in roles))


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """Roles for some datasets; for all of them if none are named."""

    roles: frozenset[Role]
    datasets: frozenset[str] | None = None

    def covers(self, dataset: str) -> bool:
        """Say whether it is about a dataset."""
        return self.datasets is None or dataset in self.datasets


def check_name(name: str) -> None:
    """Refuse a name that reads differently elsewhere.

    >>> check_name("Ana Maria")
    Traceback (most recent call last):
    discreet.errors.OutOfRange
    """
    if not _NAME.fullmatch(name):
        raise OutOfRange(
            what="a name is 1 to 39 lower-case letters, digits, '_', '-' or '.'.",
            why="it stands in entries of the ledger, and must read the same everywhere.",
            do="give a name such as ana.",
        )


def check_grants(name: str, grants: Iterable[Grant]) -> None:
    """Refuse roles that must not be combined (T1).

    >>> check_grants("ana", [Grant(roles=frozenset({Role.ANALYST, Role.STEWARD}))])
    Traceback (most recent call last):
    discreet.errors.NotAllowed
    """
    roles: frozenset[Role] = frozenset().union(*(grant.roles for grant in grants))
    if {Role.STEWARD, Role.ANALYST} <= roles:
        raise NotAllowed(
            what=f"{name} would be a steward and an analyst.",
            why="whoever asks must not decide on the budget that pays for it.",
            do="give the two roles to two people.",
        )


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
    """The prefix of the token, if one was used."""

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
