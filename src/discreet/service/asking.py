"""Asking: questions are planned, queued, answered at their ticks, canceled and remembered.

Trust: kernel.  A caller who sees a result before its tick could infer how long the data took.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final

from discreet.documents import QuestionDocument, check_draws
from discreet.errors import (
    KeyReused,
    LedgerUnavailable,
    NotServed,
    OverBudget,
)
from discreet.ledger.values import Receipt, checked_key
from discreet.service.opened_site import OpenedSite, told_error
from discreet.service.roles import Caller, Permission
from discreet.service.views import Answered, AskedBefore, Planned
from discreet.service.ways_out import with_ways_out
from discreet.service.workers.jobs import SMALL, AskJob, due

_PAUSE: Final = 0.02


class TellingCounter(OpenedSite):
    """Knows which results may be delivered, and from when on."""

    __slots__ = ()

    def told_at(self, job: AskJob) -> float | None:
        """Return the monotonic time from which a job's end may be reported; None if too early.

        Refusals before the charge, and answers that were delivered before, follow from public
        facts: they are delivered at once.  An answer from the record that was not delivered yet
        waits for its own tick, and for that of the question that it comes from.
        """
        if job.told_at is None and job.over:
            job.told_at = self._told_at(job)
        return job.told_at

    def _told_at(self, job: AskJob) -> float | None:
        ended = job.ended or time.monotonic()
        own = self._tick_of(job)
        if job.result is None or not job.result.get("replayed"):
            return own if job.charged else ended
        key = self._key_of(job.dataset, job.result["document"]["entry"])
        sources = [each for each in self._untold(job.dataset, ended) if key in each.keys]
        if not all(each.over for each in sources):
            return None
        if not sources and not job.keys:
            return ended
        return max(own, *map(self._tick_of, sources)) if sources else own

    def due(self, job: AskJob) -> float:
        """Wait until it is known when the end of a job may be reported, and return that."""
        job.wait()
        while (at := self.told_at(job)) is None:
            time.sleep(_PAUSE)
        return at

    def is_told(self, job: AskJob) -> bool:
        """Return whether the end of a job has come, and may be reported."""
        at = self.told_at(job)
        return at is not None and at <= time.monotonic()

    async def until_known(self, job: AskJob) -> float:
        """Wait in an event loop until it is known when the end may be reported, and return that."""
        await job.until_over()
        while (at := await asyncio.to_thread(self.told_at, job)) is None:  # noqa: ASYNC110
            await asyncio.sleep(_PAUSE)
        return at

    def _tick_of(self, job: AskJob) -> float:
        ended = time.monotonic() if job.ended is None else job.ended
        return due(job.arrived, ended, (job.size or SMALL).tick(self.site.limits))

    def _untold(self, dataset: str, at: float) -> list[AskJob]:
        """Return the questions whose data was being read at a time, or whose tick was to come."""
        with self._lock:
            jobs = tuple(self._jobs.values())
        return [
            job
            for job in jobs
            if job.dataset == dataset
            and job.keys
            and (job.ended is None or max(job.ended, self._tick_of(job)) > at)
        ]

    def _key_of(self, dataset: str, entry: int | None) -> str | None:
        """Return the key of the answer that an entry records, if it does."""
        found = next(self._ledgers[dataset].entries(after=entry - 1), None) if entry else None
        return str(found["key"]) if found is not None and found["kind"] == "release" else None

    def _published(self, caller: Caller, dataset: str, entry: int | None = None) -> Receipt | None:
        """Return up to where a caller may see the record; None for all of it.

        The end moves while no question is between its charge and its tick.  An answer is visible
        from its delivery on.
        """
        if caller.may(Permission.LEDGER, dataset):
            return None
        ledger = self._ledgers[dataset]
        latest = ledger.receipt
        with self._lock:
            end = self._ends[dataset]
        if not self._untold(dataset, time.monotonic()):
            with self._lock:
                end = self._ends[dataset] = max(self._ends[dataset], latest, key=_number)
        key = self._key_of(dataset, entry)
        if key is None or any(key in job.keys for job in self._untold(dataset, time.monotonic())):
            return end
        (stored,) = ledger.answers_of([key])
        return max(end, stored.receipt, key=_number)


def _number(receipt: Receipt) -> int:
    return receipt.seq


_KEY_DAYS: Final = 30


class AskingCounter(TellingCounter):
    """Takes questions."""

    __slots__ = ()

    def plan(
        self,
        caller: Caller,
        dataset: str,
        form: QuestionDocument,
        *,
        begun: Callable[[AskJob], object] | None = None,
        curve: bool = False,
    ) -> Planned:
        """Say how a question would be answered, at what cost and how exactly; spend nothing.

        Args:
            caller: who asks.
            dataset: what about.
            form: the question and its price.
            begun: hears of each job that this takes, so that it can be left.
            curve: whether to plan it at other prices as well.
        """
        self._check(caller, dataset, Permission.PLAN)
        sent, sees_all = time.monotonic(), caller.may(Permission.LEDGER, dataset)
        while True:
            untold = frozenset[str]() if sees_all else self._unseen(dataset, sent)
            job = {
                "verb": "plan",
                "forms": [form.written()],
                "untold": sorted(untold),
                "curve": curve,
            }
            found = self._worked(caller, dataset, job, begun=begun)
            if sees_all or found["digest"] in untold:
                break
            if found["digest"] not in self._unseen(dataset, sent):
                break  # otherwise an answer that came on the way may be in the plan, untold
        return Planned(document=found["document"], packed=found["plan"])

    def _unseen(self, dataset: str, since: float) -> frozenset[str]:
        """Return the questions that were between their charge and their tick since some time."""
        keys = frozenset[str]().union(*(job.keys for job in self._untold(dataset, since)))
        return frozenset(self._ledgers[dataset].questions_of(keys))

    def ask(
        self,
        caller: Caller,
        dataset: str,
        form: QuestionDocument,
        *more: QuestionDocument,
        key: str | None = None,
    ) -> Answered:
        """Answer a question, and wait for its tick; ``more`` are prices of further draws."""
        job = self.begin(caller, dataset, form, *more, key=key)
        job.wait()
        time.sleep(max(0.0, self.due(job) - time.monotonic()))
        return self.result(caller, job)

    def begin(
        self,
        caller: Caller,
        dataset: str,
        form: QuestionDocument,
        *more: QuestionDocument,
        key: str | None = None,
    ) -> AskJob:
        """Queue a question, and return at once.

        Args:
            caller: who asks.
            dataset: what about.
            form: the question and its price.
            more: the prices of further draws of the answer, which is remeasured with each.
            key: the idempotency key of the caller: it names this request for good.
        """
        self._check(caller, dataset, Permission.ASK)
        forms = (form, *more)
        check_draws(forms)
        if key is not None:
            self._claim(caller, key, dataset, forms)
        job = self._job(
            caller, dataset, {"verb": "ask", "forms": [each.written() for each in forms]}
        )
        self._pool(dataset).submit(job)
        return job

    def job(self, caller: Caller, job: str) -> AskJob:
        """Return a job of this caller."""
        with self._lock:
            found = self._jobs.get(job)
        if found is None or found.person != caller.person:
            raise NotServed(
                what="there is no such job.",
                why="a job is known to anyone who began it, for a while.",
                do="ask the question again: an answer that is on record costs nothing.",
            )
        return found

    def leave(self, job: AskJob) -> None:
        """Forget a job that has no waiting caller, unless a worker has begun with it."""
        if not job.begun:
            self._pools[job.dataset].cancel(job)

    def cancel(self, caller: Caller, job: str) -> AskJob:
        """Stop working on a question; the charge stays, and a retry completes it."""
        found = self.job(caller, job)
        if not found.over:
            self._pools[found.dataset].cancel(found)
        return found

    def result(self, caller: Caller, job: AskJob) -> Answered:
        """Return the answer of a finished job, or raise the reason for its failure."""
        if job.error is not None:
            error = told_error(job)
            raise self._with_ways(caller, job, error) if isinstance(error, OverBudget) else error
        found = job.result
        assert found is not None  # noqa: S101  it is over
        self._remember(caller, job, found["document"]["entry"])
        return Answered(document=found["document"], packed=found["release"])

    def _with_ways(self, caller: Caller, job: AskJob, error: OverBudget) -> OverBudget:
        """Return a refusal with its ways out, each planned in the caller's name."""
        *before, last = job.message["forms"]
        return with_ways_out(
            error,
            last,
            self._ledgers[job.dataset],
            account=self.account_of(caller, job.dataset),
            plan=lambda form: self.plan(caller, job.dataset, form).plan,
            other_questions=not before,
        )

    def asked(self, caller: Caller, dataset: str) -> tuple[AskedBefore, ...]:
        """Return the questions that a caller has asked, the newest first."""
        self._check(caller, dataset, Permission.RELEASES)
        rows = self._store.rows(
            "SELECT * FROM questions WHERE person = ? AND dataset = ? AND at <= ? "
            "ORDER BY id DESC LIMIT 500",
            caller.person,
            dataset,
            time.time(),
        )
        return tuple(
            AskedBefore(
                dataset=row["dataset"],
                person=row["person"],
                forms=tuple(map(QuestionDocument.read, json.loads(row["forms"]))),
                entry=row["entry"],
                at=row["at"],
            )
            for row in rows
        )

    def _claim(
        self, caller: Caller, key: str, dataset: str, forms: Sequence[QuestionDocument]
    ) -> None:
        """Bind an idempotency key to a request; refuse a key bound to another request."""
        checked_key(key, name="idempotency key")
        body = " ".join((dataset, *(form.digest for form in forms)))
        now = time.time()
        with self._store.transaction(durable=False) as within:
            within.execute("DELETE FROM keys WHERE at < ?", (now - 86400 * _KEY_DAYS,))
            within.execute(
                "INSERT INTO keys VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
                (caller.person, key, body, now),
            )
            known = within.execute(
                "SELECT body FROM keys WHERE person = ? AND key = ?", (caller.person, key)
            ).fetchone()
        if known["body"] != body:
            raise KeyReused(
                what="this idempotency key was sent before, with another question.",
                why="one key stands for one request, which is paid once and answered once.",
                do="use another key for another request.",
            )

    def _remember(self, caller: Caller, job: AskJob, entry: int | None) -> None:
        """Record an answer at its time of delivery, for the caller's list of questions."""
        told = time.time() + max(0.0, self.due(job) - time.monotonic())
        forms = json.dumps(job.message["forms"], sort_keys=True)
        # the answer was paid for: deliver it even if the list cannot be written
        with suppress(LedgerUnavailable), self._store.transaction(durable=False) as within:
            within.execute(
                "INSERT INTO questions (person, dataset, forms, entry, at) VALUES (?, ?, ?, ?, ?) "
                "ON CONFLICT DO NOTHING",
                (caller.person, job.dataset, forms, entry or 0, told),
            )
