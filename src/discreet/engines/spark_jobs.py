"""The jobs of an engine on Spark: stopped when they should stop, silent, and reported.

Trust: kernel (T2).

Silence.  An error of Spark may quote a value of a row.  When pyspark makes such an error, it also
writes it to stderr through loggers of its own, regardless of the level of Spark's logs; the analyst
may see that screen.  These loggers say nothing while they work for us.

Progress is the share of tasks that are done, which is not an answer, but may depend on how the data
is stored.
"""

from __future__ import annotations

import contextlib
import itertools
import logging
import os
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, TypeVar, final

from discreet.engines.engine import Progress
from discreet.engines.execution import PAUSE, run_in_thread, stopped_error

if TYPE_CHECKING:  # an optional library
    from pyspark.sql import SparkSession

_NUMBERS: Final = itertools.count()
_LOGGERS: Final = ("DataFrameQueryContextLogger", "SQLQueryContextLogger")
_THREAD: Final = threading.local()


@contextmanager
def silenced_loggers() -> Iterator[None]:
    """Let pyspark's loggers drop what this thread says; other threads are heard as before."""
    from pyspark.logger import PySparkLogger  # noqa: PLC0415  an optional library

    for name in _LOGGERS:
        PySparkLogger.getLogger(name).addFilter(_passes)  # once, however often it is added
    before = getattr(_THREAD, "hushed", False)
    _THREAD.hushed = True
    try:
        yield
    finally:
        _THREAD.hushed = before


def _passes(_: logging.LogRecord) -> bool:
    return not getattr(_THREAD, "hushed", False)


T = TypeVar("T")


@final
class JobMonitor:
    """The jobs of an engine that run now, by their tags."""

    __slots__ = ("_progress", "_session", "_tags")

    def __init__(self, session: SparkSession, progress: Progress | None) -> None:
        """Take the session, and the function that progress is reported to."""
        self._session: Any = session
        self._progress = progress
        self._tags: dict[str, bool] = {}

    def run(self, action: Callable[[], T]) -> T:
        """Run an action that starts jobs; an interrupt stops them, and so does ``cancel``.

        It runs in another thread: one that waits for Spark cannot stop its own jobs.
        """
        tag = f"discreet-{os.getpid()}-{next(_NUMBERS)}"
        self._tags[tag] = True
        try:
            done = run_in_thread(
                lambda: self._tagged(tag, action),
                stop=lambda: self._stop(tag),
                thread=self._thread,
                tick=lambda: None if self._tags[tag] else self._stop(tag),
            )
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
        """Return a thread that inherits what this one has set for its jobs."""
        from pyspark import InheritableThread  # noqa: PLC0415  an optional library

        return InheritableThread(work, session=self._session, daemon=True)

    def _tagged(self, tag: str, action: Callable[[], T]) -> T:
        """Run an action in this thread; tag its jobs, and report their progress."""
        if self._remote:
            self._session.addTag(tag)
        else:
            self._session.sparkContext.addJobTag(tag)
            self._session.sparkContext.setInterruptOnCancel(interruptOnCancel=True)
        with silenced_loggers():
            return self._reported(tag, action)

    def _reported(self, tag: str, action: Callable[[], T]) -> T:
        if self._progress is None:
            return action()
        reporter = _ProgressReporter(self._progress)
        with (
            _server(self._session, reporter)
            if self._remote
            else _polled(self._session, reporter, tag)
        ):
            result = action()
        reporter.report(1, 1)
        return result

    def _stop(self, tag: str) -> None:
        with contextlib.suppress(Exception):  # there may be nothing left to stop
            if self._remote:
                self._session.interruptTag(tag)
            else:
                self._session.sparkContext.cancelJobsWithTag(tag)


@final
class _ProgressReporter:
    """Reports shares that never fall."""

    __slots__ = ("_last", "_progress")

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._last = 0.0

    def report(self, done: int, known: int) -> None:
        share = done / known if known else 0.0
        if share > self._last:
            self._last = share
            self._progress(share)

    def stages(self, counts: Iterable[tuple[int, int]]) -> None:
        """Report the share of some stages: never all of it, because more stages may follow."""
        listed = list(counts)
        self.report(sum(done for done, _ in listed), 1 + sum(known for _, known in listed))


@contextmanager
def _server(session: Any, reporter: _ProgressReporter) -> Iterator[None]:
    """Receive progress from a server."""

    def heard(stages: Any, **_: object) -> None:
        reporter.stages((stage.num_completed_tasks, stage.num_tasks) for stage in stages or ())

    session.registerProgressHandler(heard)
    try:
        yield
    finally:
        session.removeProgressHandler(heard)


@contextmanager
def _polled(session: Any, reporter: _ProgressReporter, tag: str) -> Iterator[None]:
    """Poll the progress of the jobs of this thread."""
    context, ended = session.sparkContext, threading.Event()
    context.setJobGroup(tag, "discreet", interruptOnCancel=True)

    def look() -> None:
        tracker = context.statusTracker()
        while not ended.wait(PAUSE):
            with contextlib.suppress(Exception):  # jobs end while they are looked at
                reporter.stages(_stages(tracker, tag))

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
            info = tracker.getStageInfo(stage)
            if info is not None:
                yield info.numCompletedTasks, info.numTasks
