"""When what happens is told: answers at their ticks, and the record as far as it was told.

Trust: kernel.  Whoever sees something before its tick could tell how long the data took.
"""

from __future__ import annotations

import time

from discreet.ledger.values import Receipt
from discreet.service.counter.opened_site import OpenedSite
from discreet.service.people.caller import Caller
from discreet.service.people.roles import Permission
from discreet.service.workers.jobs import AskJob
from discreet.service.workers.plan_class import SMALL, due


class TellingCounter(OpenedSite):
    """Knows what may be told, and from when on."""

    __slots__ = ()

    def due(self, job: AskJob) -> float:
        """Return the monotonic time at which the end of a job may be told.

        It is fixed when the job ends.  Refusals before the charge, and answers that were told
        before, follow from public facts: they are told at once.  An answer from the record that was
        not told yet waits for its own tick, and for that of the question that it comes from.
        """
        ended = time.monotonic() if job.ended is None else job.ended
        own = self._tick_of(job)
        if job.result is None or not job.result.get("replayed"):
            return own if job.charged else ended
        key = self._key_of(job.dataset, job.result["document"]["entry"])
        sources = [each for each in self._untold(job.dataset, ended) if key in each.keys]
        for each in sources:
            each.wait()
        if not sources and not job.keys:
            return ended
        return max(own, *map(self._tick_of, sources)) if sources else own

    def is_told(self, job: AskJob) -> bool:
        """Say whether the end of a job has come, and may be told."""
        return job.over and self.due(job) <= time.monotonic()

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
        if caller.may(Permission.LEDGER):
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
