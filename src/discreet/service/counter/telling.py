"""When what happens is told: answers at their ticks, and the record as far as it was told.

Trust: kernel.  Whoever sees something before its tick could tell how long the data took.
"""

from __future__ import annotations

import asyncio
import time
from typing import Final

from discreet.ledger.values import Receipt
from discreet.service.counter.opened_site import OpenedSite
from discreet.service.people.caller import Caller
from discreet.service.people.roles import Permission
from discreet.service.workers.jobs import AskJob
from discreet.service.workers.plan_class import SMALL, due

_PAUSE: Final = 0.02


class TellingCounter(OpenedSite):
    """Knows what may be told, and from when on."""

    __slots__ = ()

    def told_at(self, job: AskJob) -> float | None:
        """Return the monotonic time at which the end of a job may be told; None if it is too early.

        Refusals before the charge, and answers that were told before, follow from public facts:
        they are told at once.  An answer from the record that was not told yet waits for its own
        tick, and for that of the question that it comes from.
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
        """Wait until it is known when the end of a job may be told, and return that."""
        job.wait()
        while (at := self.told_at(job)) is None:
            time.sleep(_PAUSE)
        return at

    def is_told(self, job: AskJob) -> bool:
        """Say whether the end of a job has come, and may be told."""
        at = self.told_at(job)
        return at is not None and at <= time.monotonic()

    async def until_known(self, job: AskJob) -> float:
        """Wait in an event loop until it is known when the end may be told, and return that."""
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

        The end moves while no question is between its charge and its tick.  An answer that was told
        is seen from then on.
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


__all__ = ["TellingCounter"]
