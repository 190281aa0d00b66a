"""Jobs: questions on their way, from a fair queue to their answers, and when these are sent.

Trust: kernel (T1).  Reports of a job's progress are decided before data is read, or report its end.

Definition.  The person who waits longest for a turn is next, with the oldest of their jobs, if
fewer of their jobs run than ``at_once``; so one person's questions wait for each other, and those
of others go on.  Up to a number of jobs of a person wait.

Definition.  A plan is *small* if its groups are listed and number at most 64; *large* if it finds
bounds first, or has more than 4,096 groups or measures; and *medium* otherwise.  The class follows
from the plan alone, so neither a limit nor the time at which an answer is sent says anything about
a row that the plan does not say.

Definition.  Answers of a class with tick T are sent at T, 2T, 4T, ... after their request arrived,
at the first of these times at which they are ready.  An answer that is ready by T, as nearly all
are, is sent at T for all data; for a slower one, timing reveals only the power of two that it
needs.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final, final

from discreet.errors import DiscreetError, TryAgain

if TYPE_CHECKING:  # handed in
    from discreet.plan.plan import Plan
    from discreet.service.site import ServiceLimits

_SMALL_GROUPS: Final = 64
_LARGE_GROUPS: Final = 4096


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class PlanClass:
    """One class: all its numbers are multiples of the limits of the site."""

    name: str
    factor: int
    memory: Fraction

    def tick(self, limits: ServiceLimits) -> Fraction:
        """Return the first time at which an answer is sent."""
        return limits.tick * self.factor

    def seconds(self, limits: ServiceLimits) -> Fraction:
        """Return how long a worker may take."""
        return limits.seconds * self.factor

    def bytes(self, limits: ServiceLimits) -> int:
        """Return how much memory a worker may map beyond what it has mapped when it is ready."""
        return int(limits.memory * self.memory)


SMALL: Final = PlanClass(name="small", factor=1, memory=Fraction(1, 2))
MEDIUM: Final = PlanClass(name="medium", factor=4, memory=Fraction(3, 4))
LARGE: Final = PlanClass(name="large", factor=16, memory=Fraction(1))
CLASSES: Final = {each.name: each for each in (SMALL, MEDIUM, LARGE)}


def class_of(plan: Plan) -> PlanClass:
    """Return the class of a plan."""
    request = plan.request
    groups = 1 if not request.keys else len(request.public or ()) or None
    if (
        plan.search is not None
        or len(request.measures) > _LARGE_GROUPS
        or (groups or 0) > _LARGE_GROUPS
    ):
        return LARGE
    return SMALL if groups is not None and groups <= _SMALL_GROUPS else MEDIUM


def due(arrived: float, ready: float, tick: Fraction) -> float:
    """Return when an answer is sent that arrived and was ready at these times.

    >>> due(0.0, 0.1, Fraction(1, 4)), due(0.0, 0.6, Fraction(1, 4)), due(5.0, 5.5, Fraction(0))
    (0.25, 1.0, 5.5)
    """
    wait = float(tick)
    if wait <= 0:
        return ready
    while arrived + wait < ready:
        wait *= 2
    return arrived + wait


@final
class AskJob:
    """A question on its way; threads may wait for it.

    ``events`` are the words queued, started, planned, charged and reading, as far as it has come,
    and ``keys`` those under which data is read for it.
    """

    __slots__ = (
        "_changed",
        "_waiting",
        "again",
        "arrived",
        "canceled",
        "dataset",
        "ended",
        "error",
        "events",
        "id",
        "keys",
        "message",
        "person",
        "result",
        "size",
        "told_at",
    )

    def __init__(
        self,
        *,
        id: str,  # noqa: A002  the word of the attribute
        person: str,
        dataset: str,
        message: Mapping[str, Any],
    ) -> None:
        """Take whose it is, and what a worker will be sent."""
        self.id, self.person, self.dataset, self.message = id, person, dataset, message
        self.arrived = time.monotonic()
        self.size: PlanClass | None = None
        self.result: Mapping[str, Any] | None = None
        self.error: DiscreetError | None = None
        self.canceled = False
        self.again = False
        self.ended: float | None = None
        self.told_at: float | None = None
        """From when on its end may be reported, once that is known."""
        self.keys: frozenset[str] = frozenset()
        self.events: list[str] = ["queued"]
        self._changed = threading.Condition()
        self._waiting: list[Callable[[], object]] = []

    @property
    def charged(self) -> bool:
        """Whether something was paid for: from then on, only an answer or a retry is reported."""
        return "charged" in self.events

    @property
    def begun(self) -> bool:
        """Whether a worker has taken it."""
        return "started" in self.events

    @property
    def told(self) -> tuple[str, ...]:
        """Events that may be reported before the end: those before data is first read.

        Later ones, such as a second charge, come when something was read, and so depend on data.
        """
        first = self.events.index("reading") + 1 if "reading" in self.events else None
        return tuple(self.events[:first])

    @property
    def over(self) -> bool:
        """Whether there is an answer, or an error."""
        return self.result is not None or self.error is not None

    def planned(self, size: PlanClass) -> None:
        """Take the class of the plan."""
        self.size = size
        if "planned" not in self.events:
            self.tell("planned")

    def reads(self, key: str) -> None:
        """Note that data is read under a key."""
        self.keys |= {key}

    def tell(self, event: str) -> None:
        """Note what has happened.

        A charge may be heard of before the plan that it is for, on another way; it comes after it.
        """
        with self._changed:
            if event == "charged" and "planned" not in self.events:
                self.events.append("planned")
            self.events.append(event)
            self._changed.notify_all()

    def put_back(self) -> None:
        """Wait for another worker, once: this one has reported that its files were replaced."""
        with self._changed:
            self.again, self.events = True, ["queued"]

    def finish(self, result: Mapping[str, Any]) -> None:
        """Take the answer."""
        self._end(result, None)

    def fail(self, error: DiscreetError) -> None:
        """Take the reason for the failure."""
        self._end(None, error)

    def _end(self, result: Mapping[str, Any] | None, error: DiscreetError | None) -> None:
        with self._changed:
            self.ended = self.ended or time.monotonic()
            self.result, self.error = result or self.result, error or self.error
            self._changed.notify_all()
            waiting, self._waiting = self._waiting, []
        for each in waiting:
            each()

    def wait(self, seconds: float | None = None) -> bool:
        """Wait for the end; return whether it has come."""
        with self._changed:
            return self._changed.wait_for(lambda: self.over, seconds)

    async def until_over(self) -> None:
        """Wait for the end in an event loop, and in no thread."""
        loop, over = asyncio.get_running_loop(), asyncio.Event()

        def told() -> None:
            with suppress(RuntimeError):  # no caller waits any more, and the loop is closed
                loop.call_soon_threadsafe(over.set)

        with self._changed:
            if self.over:
                return
            self._waiting.append(told)
        await over.wait()


_MOST_WAITING: Final = 16


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
            if len(waiting) >= _MOST_WAITING and not job.again:
                raise TryAgain(
                    what=f"{_MOST_WAITING} of your calls are waiting for a worker.",
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
        """Hand out no more jobs, and return the remaining ones."""
        with self._changed:
            self._stopped = True
            left = [job for jobs in self._waiting.values() for job in jobs]
            self._waiting.clear()
            self._changed.notify_all()
            return left

    def _next(self) -> str | None:
        return next((who for who in self._waiting if self._running[who] < self._at_once), None)
