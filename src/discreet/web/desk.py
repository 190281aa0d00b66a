"""The desk: what pages need of the counter of a server, for one visitor at a time.

Trust: public.  The counter decides what a visitor may do; a page that shows a button too many gets
a refusal.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter, deque
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Final, final

from discreet.documents import QuestionDocument
from discreet.errors import DiscreetError, TryAgain, UnknownName, WrongKind
from discreet.ledger.ledger_view import LedgerView
from discreet.plan.plan import Plan
from discreet.plan.policy.policy import Policy
from discreet.release import Release
from discreet.requests.table_schema import Schema
from discreet.service import ServiceCounter
from discreet.service.roles import Caller, Permission, Role
from discreet.service.views import AskedBefore, Planned
from discreet.service.workers.jobs import AskJob
from discreet.units import PrivacyUnit

_PATIENCE: Final = 2.0
"""For how many seconds a page waits for an answer before it shows that it is under way."""

_KEPT: Final = 4096
"""How many refusals are remembered."""
_HOUR: Final = 3600.0
_LOOP: Final = 3


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Visitor:
    """A visitor of a page, with a token for their forms.

    >>> ana = Visitor(caller=Caller.of("ana", frozenset({Role.ANALYST})), csrf="x")
    >>> ana.may("ask"), ana.may("decide"), ana.roles
    (True, False, 'analyst')
    """

    caller: Caller
    csrf: str = field(repr=False)
    alone: bool = False
    """Whether the desk runs without log-in, for one user."""

    @property
    def person(self) -> str:
        """The name."""
        return self.caller.person

    @property
    def roles(self) -> str:
        """All roles in words."""
        if self.alone:
            return "alone on this machine"
        return ", ".join(sorted(role.value for role in self.caller.roles))

    def may(self, permission: str, dataset: str | None = None) -> bool:
        """Say whether they may do something: with a dataset, or with any."""
        return self.caller.may(Permission(permission), dataset)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetFacts:
    """The public facts about one dataset, and its ledger."""

    name: str
    policy: Policy
    unit: PrivacyUnit
    schema: Schema
    ledger: LedgerView


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far an answer is: under way, here, or refused."""

    job: AskJob
    forms: tuple[QuestionDocument, ...]
    release: Release | None = None
    refused: DiscreetError | None = None

    @property
    def done(self) -> bool:
        """Whether nothing more happens."""
        return self.release is not None or self.refused is not None

    @property
    def seconds(self) -> int:
        """For how long it has been under way."""
        return int(time.monotonic() - self.job.arrived)


@final
class Desk:
    """One server as its pages see it; without a counter there is nothing but the wizard."""

    __slots__ = ("_refused", "_secret", "alone", "counter")

    def __init__(self, counter: ServiceCounter | None, *, secret: str, alone: str = "you") -> None:
        """Take a counter; ``secret`` is embedded in the forms of a workbench without log-in."""
        self.counter, self._secret, self.alone = counter, secret, alone
        self._refused: deque[tuple[float, str, str]] = deque(maxlen=_KEPT)

    @property
    def open(self) -> ServiceCounter:
        """The counter, once there is one."""
        if self.counter is None:
            raise WrongKind(
                what="there is no policy yet.",
                why="without the owner's rules nothing can be asked.",
                do="answer the questions of the wizard first.",
            )
        return self.counter

    @property
    def url(self) -> str:
        """The address that people use."""
        return "" if self.counter is None else self.counter.site.address.url

    # --- who and what -------------------------------------------------------------------------

    def visitor(self, cookie: str | None) -> Visitor | None:
        """Return who holds a cookie, or the one person of a workbench without log-in."""
        if self.counter is None:
            return Visitor(
                caller=Caller.of(self.alone, frozenset(Role)), csrf=self._secret, alone=True
            )
        one = self.counter.loopback_caller()
        if one is not None:
            return Visitor(caller=one, csrf=self._secret, alone=True)
        login = None if cookie is None else self.counter.logins.find(cookie)
        return None if login is None else Visitor(caller=login.caller, csrf=login.csrf)

    def datasets(self, visitor: Visitor) -> tuple[str, ...]:
        """Return the names of what they may see."""
        return () if self.counter is None else self.counter.datasets(visitor.caller)

    def facts(self, visitor: Visitor, dataset: str) -> DatasetFacts:
        """Return the public facts about a dataset: the owner's declarations, and the ledger."""
        policy = self.open.policy(visitor.caller, dataset)
        unit = policy.unit
        assert unit is not None  # noqa: S101  no dataset is served without one
        return DatasetFacts(
            name=dataset,
            policy=policy,
            unit=unit,
            schema=declared_schema(policy, unit),
            ledger=self.open.ledger(visitor.caller, dataset),
        )

    # --- asking -------------------------------------------------------------------------------

    def plan(
        self,
        visitor: Visitor,
        dataset: str,
        question: str | Mapping[str, Any],
        price: Mapping[str, Any],
    ) -> Plan:
        """Plan a question; this spends nothing, and counts as a call."""
        return self.planned(visitor, dataset, question, price).plan

    def planned(
        self,
        visitor: Visitor,
        dataset: str,
        question: str | Mapping[str, Any],
        price: Mapping[str, Any],
        *,
        curve: bool = False,
    ) -> Planned:
        """Plan a question, at other prices as well if its curve is wanted."""
        self._count(visitor)
        return self.open.plan(visitor.caller, dataset, form_of(question, price), curve=curve)

    def ask(self, visitor: Visitor, dataset: str, *forms: QuestionDocument) -> AskJob:
        """Begin to answer a question, and draw it again for each further form."""
        self._count(visitor)
        return self.open.begin(visitor.caller, dataset, *forms)

    async def until_told(self, visitor: Visitor, number: str) -> None:
        """Wait a little for an answer and its tick, in no thread."""
        job = self.open.job(visitor.caller, number)
        with suppress(TimeoutError):
            async with asyncio.timeout(_PATIENCE):
                due = await self.open.until_known(job)
                await asyncio.sleep(max(0.0, due - time.monotonic()))

    def progress(self, visitor: Visitor, number: str) -> Progress:
        """Return the progress of an answer; it is reported at its tick, not before."""
        job = self.open.job(visitor.caller, number)
        forms = tuple(map(QuestionDocument.read, job.message["forms"]))
        found = Progress(job=job, forms=forms)
        if not self.open.is_told(job):
            return found
        try:
            return replace(found, release=self.open.result(visitor.caller, job).release)
        except DiscreetError as error:
            return replace(found, refused=error)

    def asked(self, visitor: Visitor, dataset: str, entry: int) -> AskedBefore:
        """Return a question that the visitor asked before, by the entry of its answer."""
        for each in self.open.asked(visitor.caller, dataset):
            if each.entry == entry:
                return each
        raise UnknownName(
            what="you have not asked such a question.",
            why="only your own questions can be asked again without writing them again.",
            do="choose one from the list of releases.",
        )

    def note_refusal(self, visitor: Visitor, dataset: str) -> None:
        """Remember for a while that a visitor's question did not fit into a budget."""
        self._refused.append((time.monotonic(), visitor.person, dataset))

    def refusal_loops(self, dataset: str) -> dict[str, int]:
        """Return who was refused three times or more within the last hour, and how often."""
        since = time.monotonic() - _HOUR
        times = Counter(
            who for at, who, where in tuple(self._refused) if at > since and where == dataset
        )
        return {who: often for who, often in times.items() if often >= _LOOP}

    def _count(self, visitor: Visitor) -> None:
        self._limit(self.open.rates.wait(f"person {visitor.person}"))

    def count_login(self, address: str) -> None:
        """Limit the rate of log-in attempts from an address (T1)."""
        self._limit(self.open.login_rates.wait(address))

    def _limit(self, seconds: float) -> None:
        if seconds > 0:
            raise TryAgain(
                what=f"too many calls; the next one is possible in {int(seconds) + 1} seconds.",
                why="calls that spend nothing are limited too.",
                do="wait a moment.",
            )


def form_of(question: str | Mapping[str, Any], price: Mapping[str, Any]) -> QuestionDocument:
    """Return a question and its price as they travel.

    >>> form_of("SELECT COUNT(*) AS n FROM t", {"epsilon": "0.1"}).epsilon
    '0.1'
    """
    return QuestionDocument.read({"question": question, **price})


def declared_schema(policy: Policy, unit: PrivacyUnit) -> Schema:
    """Return the tables that the policy declares, each with the columns that name its people."""
    tables = []
    for table in policy.tables:
        names = {column.name for column in table.columns}
        own = tuple(name for name in unit.columns if name in names)
        known = table.unit or table.public or not own
        tables.append(table if known else replace(table, unit=own))
    return Schema(tables)
