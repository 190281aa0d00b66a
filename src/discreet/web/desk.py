"""What pages need of a server: who visits, what they may see, and how they ask.

Trust: public.  Whoever provides a desk decides what a visitor may do; a page that shows a button
too many gets a refusal.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, final

from discreet.errors import DiscreetError
from discreet.ledger.ledger_view import LedgerView
from discreet.plan.plan import Plan
from discreet.plan.policy.policy import Policy
from discreet.release.release import Release
from discreet.requests.table_schema import Schema
from discreet.units import PrivacyUnit


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Visitor:
    """Somebody who looks at a page: a name, roles, what they may do, and a token for their forms.

    >>> ana = Visitor(person="ana", roles=("analyst",), can=frozenset({"plan", "ask"}), csrf="x")
    >>> ana.may("ask"), ana.may("decide")
    (True, False)
    """

    person: str
    roles: tuple[str, ...]
    can: frozenset[str]
    csrf: str = field(repr=False)

    def may(self, permission: str) -> bool:
        """Say whether they may do something."""
        return permission in self.can


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetFacts:
    """What is public about one dataset, and its ledger."""

    name: str
    schema: Schema
    policy: Policy
    unit: PrivacyUnit
    ledger: LedgerView


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A question that somebody asked: its number, its text and price, and where it is recorded."""

    number: int
    person: str
    question: str
    price: Mapping[str, Any]
    at: float
    draws: int = 1
    entry: int | None = None


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far an answer is: under way, here, or refused; how long it takes depends on no data."""

    asked: Asked
    seconds: float
    release: Release | None = None
    refused: DiscreetError | None = None
    cancelled: bool = False

    @property
    def done(self) -> bool:
        """Whether nothing more happens."""
        return self.cancelled or self.release is not None or self.refused is not None


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class LimitRequest:
    """What somebody asks of the steward: a higher limit for an account, and why."""

    number: int
    account: str
    budget: Mapping[str, str]
    reason: str
    by: str
    at: float
    state: str = "open"
    decided_by: str | None = None


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class PersonFacts:
    """Somebody who may visit."""

    name: str
    roles: tuple[str, ...]
    has_password: bool = True
    locked: bool = False


class Desk(Protocol):
    """One server, as its pages see it."""

    title: str
    url: str
    audit_report: Path | None

    def visitor(self, cookie: str | None) -> Visitor | None:
        """Return who holds a cookie; None sends them to the log-in."""

    def datasets(self, visitor: Visitor) -> tuple[str, ...]:
        """Return the names of what they may see."""

    def facts(self, visitor: Visitor, dataset: str) -> DatasetFacts:
        """Return what is public about a dataset."""

    def plan(
        self, visitor: Visitor, dataset: str, question: str, price: Mapping[str, Any]
    ) -> Plan:
        """Plan a question; this spends nothing."""

    def ask(
        self, visitor: Visitor, dataset: str, question: str, price: Mapping[str, Any]
    ) -> Progress:
        """Begin to answer a question."""

    def remeasure(
        self, visitor: Visitor, dataset: str, number: int, price: Mapping[str, Any]
    ) -> Progress:
        """Begin to draw an answer once more."""

    def progress(self, visitor: Visitor, dataset: str, number: int) -> Progress | None:
        """Return how far an answer is."""

    def cancel(self, visitor: Visitor, dataset: str, number: int) -> None:
        """Stop waiting for an answer; what was charged stays charged."""

    def history(self, visitor: Visitor, dataset: str) -> tuple[Asked, ...]:
        """Return what was asked, the latest first."""

    def requests(self, visitor: Visitor, dataset: str) -> tuple[LimitRequest, ...]:
        """Return what was asked of the steward."""

    def request_limit(
        self,
        visitor: Visitor,
        dataset: str,
        *,
        account: str,
        budget: Mapping[str, str],
        reason: str,
    ) -> None:
        """Ask the steward for a higher limit."""

    def decide(self, visitor: Visitor, dataset: str, number: int, *, approve: bool) -> None:
        """Approve or decline a request; two people raise a limit."""

    def people(self, visitor: Visitor) -> tuple[PersonFacts, ...]:
        """Return everybody."""

    def invite(self, visitor: Visitor, name: str, roles: tuple[str, ...]) -> str:
        """Give somebody roles; return the secret of the link with which they set a password."""

    def log_in(self, name: str, password: str) -> str:
        """Return the cookie of a new log-in."""

    def log_out(self, cookie: str) -> None:
        """End a log-in."""

    def invited(self, secret: str) -> str | None:
        """Return for whom a one-time link is."""

    def accept(self, secret: str, password: str) -> str:
        """Set a password by a one-time link; return the cookie of a new log-in."""

    def security_log(self, visitor: Visitor) -> tuple[Mapping[str, str], ...]:
        """Return what happened that matters for security, the latest first."""
