"""Long jobs: how far they are, and how to stop them.

Trust: public.  What is told is the share of tasks that are done, which is no answer, but may depend
on how the data is stored.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, TypeVar, final

from discreet.engines.execution import done_after_pause, settle_future, stopped_error
from discreet.engines.spark.performance import Progress
from discreet.engines.spark.workers import silenced_loggers

if TYPE_CHECKING:  # an optional library
    from pyspark.sql import SparkSession

__all__ = ["JobMonitor"]

_PAUSE: Final = 0.2
_TRIES: Final = 50
_NUMBERS: Final = itertools.count()

T = TypeVar("T")


@final
class JobMonitor:
    """The jobs of an engine that run now, by their tags."""

    __slots__ = ("_progress", "_session", "_tags")

    def __init__(self, session: SparkSession, progress: Progress | None) -> None:
        """Take the session, and who wants to know."""
        self._session: Any = session
        self._progress = progress
        self._tags: dict[str, bool] = {}

    def run(self, action: Callable[[], T]) -> T:
        """Do something that starts jobs; an interrupt stops them, and so does ``cancel``.

        It is done in a thread of its own: one that waits for Spark cannot speak to it.
        """
        tag = f"discreet-{os.getpid()}-{next(_NUMBERS)}"
        done: Future[T] = Future()
        thread = self._thread(lambda: settle_future(done, lambda: self._tagged(tag, action)))
        self._tags[tag] = True
        try:
            thread.start()
            while not done_after_pause(done):
                if not self._tags[tag]:
                    self._stop(tag)
        except BaseException:
            for _ in range(_TRIES):  # a job may be about to start
                self._stop(tag)
                if done_after_pause(done):
                    break
            raise
        finally:
            goes_on = self._tags.pop(tag)
        if not goes_on and done.exception() is not None:
            raise stopped_error()
        return done.result()

    def cancel(self) -> None:
        """Stop all jobs; their answers can be asked for again."""
        for tag in tuple(self._tags):
            self._tags[tag] = False

    @property
    def _remote(self) -> bool:
        return type(self._session).__module__.startswith("pyspark.sql.connect.")

    def _thread(self, work: Callable[[], None]) -> threading.Thread:
        """Return a thread that has what this one has set for its jobs."""
        from pyspark import InheritableThread  # noqa: PLC0415  an optional library

        return InheritableThread(work, session=self._session, daemon=True)

    def _tagged(self, tag: str, action: Callable[[], T]) -> T:
        """Do something in this thread, whose jobs are known by their tag, and told about."""
        if self._remote:
            self._session.addTag(tag)
        else:
            self._session.sparkContext.addJobTag(tag)
            self._session.sparkContext.setInterruptOnCancel(interruptOnCancel=True)
        with silenced_loggers():
            return self._told(tag, action)

    def _told(self, tag: str, action: Callable[[], T]) -> T:
        if self._progress is None:
            return action()
        told = _ProgressReporter(self._progress)
        with _server(self._session, told) if self._remote else _polled(self._session, told, tag):
            found = action()
        told.share(1, 1)
        return found

    def _stop(self, tag: str) -> None:
        with contextlib.suppress(Exception):  # there may be nothing left to stop
            if self._remote:
                self._session.interruptTag(tag)
            else:
                self._session.sparkContext.cancelJobsWithTag(tag)


@final
class _ProgressReporter:
    """Tells shares that never fall."""

    __slots__ = ("_last", "_progress")

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._last = 0.0

    def share(self, done: int, known: int) -> None:
        share = done / known if known else 0.0
        if share > self._last:
            self._last = share
            self._progress(share)

    def stages(self, found: Iterable[tuple[int, int]]) -> None:
        """Tell the share of some stages; more may follow, so that it is not all before the end."""
        listed = list(found)
        self.share(sum(done for done, _ in listed), 1 + sum(known for _, known in listed))


@contextmanager
def _server(session: Any, told: _ProgressReporter) -> Iterator[None]:
    """Hear of progress from a server."""

    def heard(stages: Any, **_: object) -> None:
        told.stages((each.num_completed_tasks, each.num_tasks) for each in stages or ())

    session.registerProgressHandler(heard)
    try:
        yield
    finally:
        session.removeProgressHandler(heard)


@contextmanager
def _polled(session: Any, told: _ProgressReporter, tag: str) -> Iterator[None]:
    """Look how far the jobs of this thread are, again and again."""
    context, ended = session.sparkContext, threading.Event()
    context.setJobGroup(tag, "discreet", interruptOnCancel=True)

    def look() -> None:
        tracker = context.statusTracker()
        while not ended.wait(_PAUSE):
            with contextlib.suppress(Exception):  # jobs end while they are looked at
                told.stages(_stages(tracker, tag))

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _stages(tracker: Any, tag: str) -> Iterator[tuple[int, int]]:
    for job in tracker.getJobIdsForGroup(tag):
        for stage in getattr(tracker.getJobInfo(job), "stageIds", ()):
            found = tracker.getStageInfo(stage)
            if found is not None:
                yield found.numCompletedTasks, found.numTasks
