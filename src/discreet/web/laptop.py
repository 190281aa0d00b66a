"""The desk of one person on their own machine: no log-in, reachable from this machine alone.

Trust: public.  The session that it holds charges before it reads, as everywhere.

Whoever uses it could read the data file too, so there is no wall here; the ledger keeps the
promise to the people in the data all the same.  Raising a limit takes a second person, so that it
cannot be done here alone.
"""

from __future__ import annotations

import getpass
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, final

from discreet.errors import DiscreetError, EngineStopped, NotAllowed, UnknownName
from discreet.ledger.ledger import Ledger
from discreet.plan.plan import Plan
from discreet.release.release import Release
from discreet.session.session import Session
from discreet.web.desk import Asked, DatasetFacts, LimitRequest, PersonFacts, Progress, Visitor

CAN: Final = frozenset(
    {"schema", "plan", "ask", "releases", "budget", "ledger", "audit", "request", "wizard"}
)
_THREADS: Final = 2


@final
@dataclass(slots=True)
class _Job:
    asked: Asked
    future: Future[Release]
    since: float
    cancelled: bool = False


@final
class LaptopDesk:
    """Sessions of one person, by the names of their datasets.

    >>> desk = LaptopDesk({}, csrf="secret", url="http://127.0.0.1:8750")
    >>> desk.visitor(None).may("ask"), desk.visitor(None).may("people")
    (True, False)
    >>> desk.close()
    """

    def __init__(
        self,
        sessions: Mapping[str, Session],
        *,
        csrf: str,
        url: str,
        audit_report: Path | None = None,
    ) -> None:
        """Take open sessions; ``csrf`` is a secret of this process, and stands in its forms."""
        self.title, self.url, self.audit_report = "workbench", url, audit_report
        self._sessions = dict(sessions)
        self._visitor = Visitor(person=_own_name(), roles=("owner",), can=CAN, csrf=csrf)
        self._jobs: dict[tuple[str, int], _Job] = {}
        self._pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="answer")
        self._lock = threading.Lock()

    def add(self, name: str, session: Session) -> None:
        """Serve another dataset."""
        self._sessions[name] = session

    def close(self) -> None:
        """Finish what is under way, and close all sessions."""
        self._pool.shutdown(cancel_futures=True)
        for session in self._sessions.values():
            session.close()

    # --- who and what -------------------------------------------------------------------------

    def visitor(self, cookie: str | None) -> Visitor:  # noqa: ARG002  everybody is the one person
        """Return the one person."""
        return self._visitor

    def datasets(self, visitor: Visitor) -> tuple[str, ...]:  # noqa: ARG002
        """Return the names of all datasets."""
        return tuple(self._sessions)

    def facts(self, visitor: Visitor, dataset: str) -> DatasetFacts:  # noqa: ARG002
        """Return what is public about a dataset."""
        session = self._session(dataset)
        assert isinstance(session.ledger, Ledger)  # noqa: S101  opened with one
        return DatasetFacts(
            name=dataset,
            schema=session.schema,
            policy=session.policy,
            unit=session.unit,
            ledger=session.ledger,
        )

    # --- asking -------------------------------------------------------------------------------

    def plan(self, visitor: Visitor, dataset: str, question: str, price: Mapping[str, Any]) -> Plan:  # noqa: ARG002
        """Plan a question."""
        options = {name: value for name, value in price.items() if name != "confirm"}
        return self._session(dataset).plan(question, **options)

    def ask(
        self, visitor: Visitor, dataset: str, question: str, price: Mapping[str, Any]
    ) -> Progress:
        """Begin to answer a question."""
        session = self._session(dataset)
        asked = self._next(visitor, dataset, question, price)
        return self._begin(dataset, asked, lambda: session.ask(question, **price))

    def remeasure(
        self, visitor: Visitor, dataset: str, number: int, price: Mapping[str, Any]
    ) -> Progress:
        """Begin to draw an answer once more."""
        before = self.progress(visitor, dataset, number)
        if before is None or before.release is None:
            raise _no_answer()
        session, release = self._session(dataset), before.release
        both = {**before.asked.price, "remeasured": price.get("epsilon", "")}
        asked = self._next(visitor, dataset, before.asked.question, both)
        asked = replace(asked, draws=before.asked.draws + 1)
        return self._begin(dataset, asked, lambda: session.remeasure(release, **price))

    def progress(self, visitor: Visitor, dataset: str, number: int) -> Progress | None:  # noqa: ARG002
        """Return how far an answer is."""
        job = self._jobs.get((dataset, number))
        if job is None:
            return None
        found = Progress(
            asked=job.asked, seconds=time.monotonic() - job.since, cancelled=job.cancelled
        )
        if job.cancelled or not job.future.done():
            return found
        try:
            release = job.future.result()
        except DiscreetError as error:
            return replace(found, refused=error)
        except Exception:  # noqa: BLE001  what an engine says could quote the data
            return replace(found, refused=_stopped())
        entry = None if release.receipt is None else release.receipt.seq
        return replace(found, release=release, asked=replace(job.asked, entry=entry))

    def cancel(self, visitor: Visitor, dataset: str, number: int) -> None:  # noqa: ARG002
        """Stop waiting; the answer is recorded nevertheless, and asking again is free."""
        job = self._jobs.get((dataset, number))
        if job is None:
            raise _no_answer()
        job.future.cancel()
        job.cancelled = not job.future.done() or job.future.cancelled()

    def history(self, visitor: Visitor, dataset: str) -> tuple[Asked, ...]:
        """Return what was asked since the workbench was started, the latest first."""
        numbers = sorted((number for name, number in self._jobs if name == dataset), reverse=True)
        steps = (self.progress(visitor, dataset, number) for number in numbers)
        return tuple(step.asked for step in steps if step is not None and step.refused is None)

    # --- people -------------------------------------------------------------------------------

    def requests(self, visitor: Visitor, dataset: str) -> tuple[LimitRequest, ...]:  # noqa: ARG002
        """Return none: there is nobody to ask."""
        return ()

    def request_limit(
        self,
        visitor: Visitor,
        dataset: str,
        *,
        account: str,
        budget: Mapping[str, str],
        reason: str,
    ) -> None:
        """Refuse: there is nobody to ask."""
        raise _alone()

    def decide(self, visitor: Visitor, dataset: str, number: int, *, approve: bool) -> None:
        """Refuse: it takes two."""
        raise _alone()

    def people(self, visitor: Visitor) -> tuple[PersonFacts, ...]:
        """Return the one person."""
        return (PersonFacts(name=visitor.person, roles=visitor.roles),)

    def invite(self, visitor: Visitor, name: str, roles: tuple[str, ...]) -> str:
        """Refuse: nobody else can reach this machine."""
        raise _alone()

    def log_in(self, name: str, password: str) -> str:
        """Refuse: there is no log-in."""
        raise _alone()

    def log_out(self, cookie: str) -> None:
        """Do nothing: there is no log-in."""

    def invited(self, secret: str) -> str | None:  # noqa: ARG002
        """Return nobody."""
        return None

    def accept(self, secret: str, password: str) -> str:
        """Refuse: there is no log-in."""
        raise _alone()

    def security_log(self, visitor: Visitor) -> tuple[Mapping[str, str], ...]:  # noqa: ARG002
        """Return nothing: one person is all there is."""
        return ()

    # --- inside -------------------------------------------------------------------------------

    def _session(self, dataset: str) -> Session:
        if dataset not in self._sessions:
            raise UnknownName(
                what="there is no such dataset here.",
                why="this workbench serves the datasets that it was started with.",
                do=f"choose one of: {', '.join(self._sessions) or '(there is none yet)'}.",
            )
        return self._sessions[dataset]

    def _next(
        self, visitor: Visitor, dataset: str, question: str, price: Mapping[str, Any]
    ) -> Asked:
        with self._lock:
            number = 1 + max((known for name, known in self._jobs if name == dataset), default=0)
            asked = Asked(
                number=number,
                person=visitor.person,
                question=question,
                price=dict(price),
                at=time.time(),
            )
            self._jobs[dataset, number] = _Job(asked, Future(), time.monotonic())
            return asked

    def _begin(self, dataset: str, asked: Asked, work: Callable[[], Release]) -> Progress:
        since = time.monotonic()
        job = _Job(asked, self._pool.submit(work), since)
        self._jobs[dataset, asked.number] = job
        return Progress(asked=asked, seconds=0.0)


def _own_name() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "you"


def _alone() -> NotAllowed:
    return NotAllowed(
        what="this workbench has one user.",
        why="raising a limit takes two people, who show who they are.",
        do="serve the data with `discreet serve`, where people log in.",
    )


def _no_answer() -> UnknownName:
    return UnknownName(
        what="there is no such answer here.",
        why="only what was asked and answered can be shown again.",
        do="look at the list of releases.",
    )


def _stopped() -> EngineStopped:
    return EngineStopped(
        what="the answer was stopped.",
        why="what was charged stays charged, and nothing was told.",
        do="ask the same question again: it completes at no charge.",
    )
