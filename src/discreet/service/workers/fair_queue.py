"""The queue of a pool: people take turns, and nobody takes all workers.

Trust: public.  How long somebody waits follows from what others ask, and from no row.

Definition.  Whoever waits longest for a turn is next, with the oldest of their jobs, if fewer of
their jobs run than ``at_once``; so one person's questions wait for each other, and those of others
go on (T1).  Up to ``most`` jobs of a person wait.
"""

from __future__ import annotations

import threading
from collections import Counter, OrderedDict, deque
from typing import Final, final

from discreet.errors import TryAgain
from discreet.service.workers.jobs import AskJob

_MOST: Final = 16


@final
class FairQueue:
    """Jobs of several people, for several workers.

    >>> queue = FairQueue(at_once=1)
    >>> for who in ("ana", "ana", "ben"):
    ...     queue.put(AskJob(id="", person=who, dataset="clinic", message={}))
    >>> [queue.get().person, queue.get().person, queue.get(timeout=0.01)]
    ['ana', 'ben', None]
    """

    __slots__ = ("_at_once", "_changed", "_running", "_stopped", "_waiting")

    def __init__(self, *, at_once: int) -> None:
        """Take how many jobs of one person may run at once."""
        self._at_once = at_once
        self._changed = threading.Condition()
        self._waiting: OrderedDict[str, deque[AskJob]] = OrderedDict()
        self._running: Counter[str] = Counter()
        self._stopped = False

    @property
    def stopped(self) -> bool:
        """Whether nothing is handed out any more."""
        return self._stopped

    def put(self, job: AskJob) -> None:
        """Have a job wait for its turn."""
        with self._changed:
            waiting = self._waiting.setdefault(job.person, deque())
            if len(waiting) >= _MOST and not job.again:
                raise TryAgain(
                    what=f"{_MOST} of your calls are waiting for a worker.",
                    why="questions of one person wait for each other, so that others are answered.",
                    do="wait for the answers, and then send the next call.",
                )
            waiting.append(job)
            self._changed.notify_all()

    def get(self, timeout: float | None = None) -> AskJob | None:
        """Return the next job once there is one; None when the queue stops, or after a while.

        Each job that is handed out is given back with ``done``.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._stopped or self._next() is not None, timeout)
            person = None if self._stopped else self._next()
            if person is None:
                return None
            job = self._waiting[person].popleft()
            self._waiting.move_to_end(person)
            if not self._waiting[person]:
                del self._waiting[person]
            self._running[person] += 1
            return job

    def done(self, job: AskJob) -> None:
        """Note that a job runs no more."""
        with self._changed:
            self._running[job.person] -= 1
            self._running += Counter()  # drops those who are at zero
            self._changed.notify_all()

    def stop(self) -> list[AskJob]:
        """Hand out nothing more, and return what is left."""
        with self._changed:
            self._stopped = True
            left = [job for jobs in self._waiting.values() for job in jobs]
            self._waiting.clear()
            self._changed.notify_all()
            return left

    def _next(self) -> str | None:
        return next((who for who in self._waiting if self._running[who] < self._at_once), None)
