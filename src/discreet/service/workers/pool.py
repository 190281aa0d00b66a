"""The pool: workers of one dataset, each watched by a thread of the server.

Trust: kernel.

A worker that takes longer than its plan allows is killed, and its question is closed on record
before the caller gets a response, as after every failure that data may have caused; the same holds
if a worker crashes by itself.  A worker that is killed from outside, or whose job is canceled,
leaves its question open: asking again completes it at no charge.  Each attempt reads the data
again, and how long that takes may show, so the third one that ends without an answer closes its
question too; once the owner has reopened it, there are three more.  In all of these cases the
caller gets the same response: try again.  A new worker takes the place of each that ends.

While the ledger cannot be written, closing is tried again every second, and the caller hears
nothing until it is on record or the server stops.  A worker that starts the same question meanwhile
is killed before it gets permission to read, and its caller waits for the same entry.

A worker whose files were replaced ends too, and the next one opens the new files.  A question that
was refused for this reason before its charge is carried out there.  If the new files do not fit the
policy, every call gets that error until they do.

If no worker can be started, because descriptors, processes or memory are short, or if it ends
before it is ready, the pool retries every second; meanwhile the ready workers go on, and without
any the caller gets an error to try again.
No call waits for a worker that will not come: jobs queued when the pool closes get the same error.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final, final

from discreet.errors import (
    DiscreetError,
    EngineStopped,
    SourceChanged,
    UnreadableSource,
    UnsupportedSQL,
)
from discreet.ledger import Ledger
from discreet.service.site import ServedDataset, ServiceLimits
from discreet.service.state import SecurityLog, socket_path
from discreet.service.workers.jobs import CLASSES, AskJob, FairQueue
from discreet.service.workers.writer import (
    Message,
    WriterSocket,
    read_error,
    receive_message,
    send_message,
)

SHORT: Final = (OSError, MemoryError, subprocess.SubprocessError)
"""Errors raised if descriptors, processes or memory are short."""
UNHEARD: Final = (OSError, ValueError, MemoryError)
"""Errors raised if a worker is silent or gone, or its message cannot be read."""
END_SECONDS: Final = 5.0
"""How long a worker that has stopped talking may take to end."""
WorkerProcess = tuple[socket.socket, subprocess.Popen[bytes]]
"""A worker, and the socket through which it gets commands."""


def started_worker(first: Mapping[str, object]) -> WorkerProcess:
    """Start a worker, and tell it the first thing; nothing stays open if that fails."""
    ours, theirs = socket.socketpair()
    with theirs:
        try:
            process = subprocess.Popen(  # noqa: S603  this interpreter, and a file of this package
                [sys.executable, "-m", "discreet.service.workers.worker", str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                env={**os.environ, "PYTHONFAULTHANDLER": "0"},
            )
        except BaseException:
            ours.close()
            raise
    with suppress(OSError):  # it is gone already
        send_message(ours, first)
    return ours, process


def ends_by_itself(process: subprocess.Popen[bytes], *, within: float) -> bool:
    """Wait for the end of a worker that has stopped talking; return whether it came in time."""
    with suppress(subprocess.TimeoutExpired):
        process.wait(within)
    return process.returncode is not None


_OUTSIDE: Final = frozenset({-signal.SIGKILL, -signal.SIGTERM, -signal.SIGINT, 0})
"""Exit statuses of a worker that data cannot have caused."""
_TOLD: Final = {"charge": "charged", "start": "reading"}
"""The steps on record that a job reports; a stored answer is reported only with the answer."""
_START_SECONDS: Final = 120.0
_PLAN_SECONDS: Final = 10.0
"""For how long a question is planned; the time follows from public facts alone (T1)."""
_RECORD_SECONDS: Final = 60.0
"""The time limit for explaining or labeling entries on record."""
_PAUSE: Final = 1.0
_ATTEMPTS: Final = 3
"""How often data is read for one charge, however it stops, after each reopening by the owner."""


@final
class Pool:
    """The workers of one dataset, and the jobs that wait for them."""

    __slots__ = (
        "_dataset",
        "_jobs",
        "_ledger",
        "_limits",
        "_lock",
        "_log",
        "_open_keys",
        "_processes",
        "_running",
        "_serving",
        "_socket",
        "_stopping",
        "_threads",
        "_unclosed",
        "problem",
    )

    def __init__(
        self,
        dataset: ServedDataset,
        ledger: Ledger,
        limits: ServiceLimits,
        folder: Path,
        *,
        log: SecurityLog,
    ) -> None:
        """Listen for workers, and start them."""
        self._dataset, self._ledger, self._limits, self._log = dataset, ledger, limits, log
        self._jobs = FairQueue(at_once=max(1, limits.workers - 1))
        self._lock = threading.Lock()
        self._open_keys: dict[str, set[str]] = {}
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._running: dict[str, AskJob] = {}
        self._serving: set[str] = set()
        self._unclosed: set[str] = set()
        self._stopping = False
        self.problem: DiscreetError | None = None
        self._socket = WriterSocket(ledger, socket_path(folder, dataset.name), observer=self._heard)
        self._threads = [
            threading.Thread(target=self._watch, args=(f"{dataset.name}-{n}",), daemon=True)
            for n in range(limits.workers)
        ]
        for thread in self._threads:
            thread.start()

    def submit(self, job: AskJob) -> None:
        """Have a job done by the next free worker; none is free any more once it closes."""
        with self._lock:
            if not self._stopping:
                self._jobs.put(job)
                return
        job.fail(stopped_error())

    def cancel(self, job: AskJob) -> None:
        """Stop working on a job; the charge stays."""
        job.canceled = True
        with self._lock:
            names = [name for name, running in self._running.items() if running is job]
            for name in names:
                self._processes[name].kill()
        if not names:
            job.fail(stopped_error())

    def workers(self) -> tuple[int, ...]:
        """Return the process numbers of the workers that run."""
        with self._lock:
            return tuple(process.pid for process in self._processes.values())

    def close(self, *, wait: float) -> None:
        """Let running jobs end within a time, and stop all workers."""
        with self._lock:
            self._stopping = True
            left = self._jobs.stop()
        for job in left:
            job.fail(stopped_error())
        end = time.monotonic() + wait
        for thread in self._threads:
            thread.join(max(0.0, end - time.monotonic()))
        with self._lock:
            for process in self._processes.values():
                process.kill()
        for thread in self._threads:
            thread.join(5)
        self._socket.close()

    # --- what the writer hears ----------------------------------------------------------------

    def _heard(self, who: str, verb: str, key: str) -> None:
        with self._lock:
            job = self._running.get(who)
            keys = self._open_keys.setdefault(who, set())
            if verb == "start":
                keys.add(key)
                if job is not None:
                    job.reads(key)
                if key in self._unclosed and who in self._processes:
                    self._processes[who].kill()  # it has no reply yet, so it has read nothing
            elif verb in {"release", "fail"}:
                keys.discard(key)
        if job is not None and verb in _TOLD:
            job.tell(_TOLD[verb])

    # --- one worker ---------------------------------------------------------------------------

    def _watch(self, name: str) -> None:
        """Keep one worker running, and hand it jobs."""
        while (worker := self._started_in_the_end(name)) is not None:
            channel, process = worker
            try:
                if not self._ready(channel):
                    if self._wait_out_shortage(name):
                        return
                    continue
                with self._lock:
                    self._serving.add(name)
                if self._serve(name, channel, process):
                    return
            finally:
                with self._lock:
                    self._serving.discard(name)
                channel.close()
                process.kill()
                process.wait()

    def _started_in_the_end(self, name: str) -> WorkerProcess | None:
        """Start a worker as soon as that is possible; return none if it is time to stop."""
        short = False
        while not self._stopping:
            try:
                worker = self._started(name)
            except SHORT:
                if not short:
                    self._note("worker cannot be started")
                short = True
                if self._wait_out_shortage(name):
                    return None
                continue
            if short:
                self._note("worker can be started again")
            return worker
        return None

    def _wait_out_shortage(self, name: str) -> bool:
        """Leave jobs to others that are ready, if there are any; return whether to stop."""
        with self._lock:
            others = [self._processes[who] for who in self._serving if who != name]
        if self.problem is None and any(process.poll() is None for process in others):
            time.sleep(_PAUSE)
            return False
        return self._wait_for_change()

    def _wait_for_change(self) -> bool:
        """Refuse jobs for a while, since no worker can run them; return whether to stop."""
        end = time.monotonic() + _PAUSE
        while (left := end - time.monotonic()) > 0:
            job = self._jobs.get(timeout=left)
            if job is None:
                break
            job.fail(self.problem or stopped_error())
            self._jobs.done(job)
        return self._stopping

    def _started(self, name: str) -> WorkerProcess:
        data = self._dataset.data
        channel, process = started_worker(
            {
                "name": name,
                "data": dict(data) if isinstance(data, Mapping) else data,
                "policy": str(self._dataset.policy),
                "ledger": self._dataset.ledger,
                "writer": str(self._socket.path),
                "memory": self._limits.memory,
                "seconds": str(self._limits.seconds),
            }
        )
        with self._lock:
            self._processes[name] = process
            self._open_keys[name] = set()
        return channel, process

    def _ready(self, channel: socket.socket) -> bool:
        channel.settimeout(_START_SECONDS)
        message: Message | None = None
        with suppress(*UNHEARD):
            message = receive_message(channel)
        if message is not None and message.get("event") == "ready":
            self._stand(None)
            return True
        if message is not None and message.get("kind") == "error":
            self._stand(unopened_error(read_error(message)))
        return False

    def _stand(self, problem: DiscreetError | None) -> None:
        """Note whether the data can be opened; a change of that is a line of the log."""
        with self._lock:
            before, self.problem = self.problem, problem
        if (before is None) is not (problem is None):
            self._note("data can be opened again" if problem is None else "data cannot be opened")

    def _note(self, event: str) -> None:
        """Write a line of the log, if that is possible."""
        with suppress(DiscreetError):
            self._log.write(event, dataset=self._dataset.name)

    def _serve(self, name: str, channel: socket.socket, process: subprocess.Popen[bytes]) -> bool:
        """Hand out jobs until the worker ends, or until it is time to stop; then return true."""
        while True:
            job = self._jobs.get()
            if job is None:
                return True
            if job.canceled:
                job.fail(stopped_error())
                self._jobs.done(job)
                continue
            with self._lock:
                self._running[name] = job
                self._open_keys[name] = set()
            try:
                alive = self._carry_out(name, job, channel, process)
            finally:
                with self._lock:
                    self._running.pop(name, None)
                self._jobs.done(job)
            if not alive:
                return False

    def _carry_out(
        self, name: str, job: AskJob, channel: socket.socket, process: subprocess.Popen[bytes]
    ) -> bool:
        """Have one job done; return whether the worker can go on."""
        job.tell("started")
        plans = job.message.get("verb") in {"plan", "ask"}
        end = time.monotonic() + (_PLAN_SECONDS if plans else _RECORD_SECONDS)
        with suppress(*UNHEARD):  # too late, or the worker is gone
            send_message(channel, job.message)
            while True:
                channel.settimeout(max(0.001, end - time.monotonic()))
                message = receive_message(channel)
                if message is None:
                    break
                if message.get("event") == "planned":
                    size = CLASSES[message["class"]]
                    job.planned(size)
                    end = time.monotonic() + float(size.seconds(self._limits))
                    continue
                return self._done(job, message)
        left = min(END_SECONDS, end - time.monotonic())
        late = not job.canceled and not ends_by_itself(process, within=max(0.0, left))
        process.kill() if late or job.canceled else None
        self._ended(name, late=late, ending=process.wait(), canceled=job.canceled)
        job.fail(unplanned_error() if late and plans and job.size is None else stopped_error())
        return False

    def _done(self, job: AskJob, message: Message) -> bool:
        """Take what a worker says; return whether it can go on."""
        if message.get("kind") != "error":
            job.finish(message)
            return True
        error = read_error(message)
        changed = isinstance(error, SourceChanged)
        if changed and not job.charged and not job.again:
            job.put_back()
            self.submit(job)
        else:
            job.fail(error)
        return not changed

    def _ended(self, name: str, *, late: bool, ending: int, canceled: bool) -> None:
        """Close the questions of a worker that its data may have ended, or that read often."""
        outside = canceled or (not late and ending in _OUTSIDE)
        if outside and self._stopping:
            return
        with self._lock:
            keys = tuple(self._open_keys[name])
            often = {key for key in keys if outside and key not in self._unclosed}
            self._unclosed.update(set(keys) - often)
        for key in keys:
            while not self._closed(key, only_often=key in often) and not self._stopping:
                time.sleep(_PAUSE)

    def _closed(self, key: str, *, only_often: bool) -> bool:
        """Close a question, or only one that was read often; return false if that failed."""
        with suppress(Exception):  # after any error, it is not on record
            if not only_often or self._ledger.attempts(key) >= _ATTEMPTS:
                self._ledger.fail(key)
                with self._lock:
                    self._unclosed.discard(key)
            return True
        return False


def stopped_error() -> EngineStopped:
    """Return the error for a worker that ended, for any cause."""
    return EngineStopped(
        what="the worker was stopped before the answer was there.",
        why="nothing more can be said without saying something of the data.",
        do="try again: what was charged is not charged twice.",
    )


def unplanned_error() -> UnsupportedSQL:
    """Return the error for a question that takes too long to plan."""
    return UnsupportedSQL(
        what=f"planning this question takes longer than {_PLAN_SECONDS:.0f} seconds.",
        why="others wait for the same workers.",
        do="ask a simpler one, with fewer joins or fewer groups.",
    )


def unopened_error(error: DiscreetError) -> UnreadableSource:
    """Return the error while the data cannot be opened; it contains no data value."""
    return UnreadableSource(
        what=f"the data of this dataset cannot be opened: {error.what}",
        why="its files are not there, or not as its policy says.",
        do="tell the owner; it is opened by itself once it fits, and no restart is needed.",
    )
