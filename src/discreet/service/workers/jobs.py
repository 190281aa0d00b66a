"""A job: one question on its way, from the queue to its answer.

Trust: kernel.  What is told of its progress is decided before data is read, or is the end.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, final

from discreet.errors import DiscreetError
from discreet.service.workers.plan_class import PlanClass


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
        """From when on its end may be told, once that is known."""
        self.keys: frozenset[str] = frozenset()
        self.events: list[str] = ["queued"]
        self._changed = threading.Condition()
        self._waiting: list[Callable[[], object]] = []

    @property
    def charged(self) -> bool:
        """Whether something was paid for: from then on, only an answer or a retry is told."""
        return "charged" in self.events

    @property
    def begun(self) -> bool:
        """Whether a worker has taken it."""
        return "started" in self.events

    @property
    def told(self) -> tuple[str, ...]:
        """The events that may be told before the end: those before data is read for the first time.

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
        """Wait for another worker, once: this one has told that its files were replaced."""
        with self._changed:
            self.again, self.events = True, ["queued"]

    def finish(self, result: Mapping[str, Any]) -> None:
        """Take the answer."""
        self._end(result, None)

    def fail(self, error: DiscreetError) -> None:
        """Take why there is none."""
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
            with suppress(RuntimeError):  # nobody waits any more, and the loop is closed
                loop.call_soon_threadsafe(over.set)

        with self._changed:
            if self.over:
                return
            self._waiting.append(told)
        await over.wait()
