"""Roles, and what each may do.

Trust: kernel.  No one may do what no role of theirs allows, whatever page or call they use.

    owner     writes the policy, invites people, reopens questions
    steward   keeps the budgets: accounts, requests, higher limits
    analyst   asks
    auditor   reads the ledger and the evidence, and never asks
    viewer    reads what was released

The permissions of a person are those of all their roles; a token narrows them to its scope.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from enum import Enum
from types import MappingProxyType
from typing import Final, final

from discreet.errors import NotAllowed, OutOfRange

_NAME: Final = re.compile(r"[a-z][a-z0-9_.-]{0,38}", re.ASCII)


@final
class Role(Enum):
    """What somebody is to the data."""

    OWNER = "owner"
    STEWARD = "steward"
    ANALYST = "analyst"
    AUDITOR = "auditor"
    VIEWER = "viewer"


@final
class Permission(Enum):
    """One thing that a call or a page does."""

    SCHEMA = "schema"
    """See what is public about tables."""
    PLAN = "plan"
    """Plan questions, which spends nothing."""
    ASK = "ask"
    """Ask and remeasure."""
    RELEASES = "releases"
    """Read what was released, with its label and explanation."""
    BUDGET = "budget"
    """See what is left in the accounts."""
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
    """Invite people, change their roles, revoke their tokens."""


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
    """Return what somebody with these roles may do.

    >>> Permission.ASK in permissions_of([Role.STEWARD])
    False
    """
    return frozenset().union(*(PERMISSIONS[role] for role in roles))


def check_person(name: str, roles: Iterable[Role]) -> None:
    """Refuse a name that reads differently elsewhere, and roles that nobody may have together.

    >>> check_person("ana", [Role.ANALYST, Role.STEWARD])
    Traceback (most recent call last):
    discreet.errors.NotAllowed
    """
    if not _NAME.fullmatch(name):
        raise OutOfRange(
            what="a name is 1 to 39 lower-case letters, digits, '_', '-' or '.'.",
            why="it stands in entries of the ledger, and must read the same everywhere.",
            do="give a name such as ana.",
        )
    if {Role.STEWARD, Role.ANALYST} <= frozenset(roles):
        raise NotAllowed(
            what=f"{name} would be a steward and an analyst.",
            why="whoever asks must not decide on the budget that pays for it.",
            do="give the two roles to two people.",
        )
