"""The pool: workers of one dataset, each watched by a thread of the server.

Trust: kernel.

A worker that takes longer than its plan allows is killed, and its question is closed on record
before anybody hears of it, as after every failure that data may have caused; so it is when a worker
dies of itself.  A worker that somebody else kills, and one whose job is canceled, leaves its
question open: asking again completes it at no charge.  Each attempt reads the data again, and how
long that takes may show, so the third one that ends without an answer closes its question too.  In
all of these cases the caller is told the same: try again.  A new worker takes the place of each
that ends.

A worker whose files were replaced ends too, and the next one opens what lies there now.  A question
that was refused for it before it was charged is carried out there.  Where the new files do not fit
the policy, every call is told so until they do.
"""

from __future__ import annotations

import os
import queue
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

from discreet.errors import DiscreetError, EngineStopped, SourceChanged, UnreadableSource
from discreet.ledger import Ledger
from discreet.ledger.shared.messages import Message, read_error, receive_message, send_message
from discreet.ledger.shared.writer_socket import WriterSocket
from discreet.service.security_log import SecurityLog
from discreet.service.site import ServedDataset, ServiceLimits
from discreet.service.workers.jobs import AskJob
from discreet.service.workers.plan_class import CLASSES

_OUTSIDE: Final = frozenset({-signal.SIGKILL, -signal.SIGTERM, -signal.SIGINT, 0})
"""How a worker ends that nobody's data has ended."""
_TOLD: Final = {"charge": "charged", "start": "reading"}
"""What a job is told of steps on record; that an answer is stored is told with the answer alone."""
_START_SECONDS: Final = 120.0
_PLAN_SECONDS: Final = 60.0
_PAUSE: Final = 1.0
_ATTEMPTS: Final = 3
"""How often data is read for one charge, whoever stops it, until the owner reopens the question."""


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
        "_socket",
        "_stopping",
        "_threads",
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
        self._jobs: queue.SimpleQueue[AskJob | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._open_keys: dict[str, set[str]] = {}
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._running: dict[str, AskJob] = {}
        self._stopping = False
        self.problem: DiscreetError | None = None
        self._socket = WriterSocket(ledger, folder / f"{dataset.name}.sock", observer=self._heard)
        self._threads = [
            threading.Thread(target=self._watch, args=(f"{dataset.name}-{n}",), daemon=True)
            for n in range(limits.workers)
        ]
        for thread in self._threads:
            thread.start()

    def submit(self, job: AskJob) -> None:
        """Have a job done by the next free worker."""
        self._jobs.put(job)

    def cancel(self, job: AskJob) -> None:
        """Stop working on a job; what was charged stays charged."""
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
        self._stopping = True
        for _ in self._threads:
            self._jobs.put(None)
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
            elif verb in {"release", "fail"}:
                keys.discard(key)
        if job is not None and verb in _TOLD:
            job.tell(_TOLD[verb])

    # --- one worker ---------------------------------------------------------------------------

    def _watch(self, name: str) -> None:
        """Keep one worker running, and hand it jobs."""
        while not self._stopping:
            channel, process = self._started(name)
            try:
                if not self._ready(channel):
                    if self._wait_for_change():
                        return
                    continue
                if self._serve(name, channel, process):
                    return
            finally:
                channel.close()
                process.kill()
                process.wait()

    def _wait_for_change(self) -> bool:
        """Refuse jobs for a while, since the data cannot be opened; return whether to stop."""
        end = time.monotonic() + _PAUSE
        while (left := end - time.monotonic()) > 0:
            try:
                job = self._jobs.get(timeout=left)
            except queue.Empty:
                break
            if job is None:
                return True
            job.fail(self.problem or stopped_error())
        return False

    def _started(self, name: str) -> tuple[socket.socket, subprocess.Popen[bytes]]:
        ours, theirs = socket.socketpair()
        with theirs:
            process = subprocess.Popen(  # noqa: S603  this interpreter, and a file of this package
                [sys.executable, "-m", "discreet.service.workers.worker", str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                env={**os.environ, "PYTHONFAULTHANDLER": "0"},
            )
        with self._lock:
            self._processes[name] = process
            self._open_keys[name] = set()
        data = self._dataset.data
        with suppress(OSError):
            send_message(
                ours,
                {
                    "name": name,
                    "data": dict(data) if isinstance(data, Mapping) else data,
                    "policy": str(self._dataset.policy),
                    "ledger": self._dataset.ledger,
                    "writer": str(self._socket.path),
                    "memory": self._limits.memory,
                    "seconds": str(self._limits.seconds),
                },
            )
        return ours, process

    def _ready(self, channel: socket.socket) -> bool:
        channel.settimeout(_START_SECONDS)
        message: Message | None = None
        with suppress(OSError, ValueError):
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
            word = "data can be opened again" if problem is None else "data cannot be opened"
            with suppress(DiscreetError):
                self._log.write(word, dataset=self._dataset.name)

    def _serve(self, name: str, channel: socket.socket, process: subprocess.Popen[bytes]) -> bool:
        """Hand out jobs until the worker ends, or until it is time to stop; then return true."""
        while True:
            job = self._jobs.get()
            if job is None:
                return True
            if job.canceled:
                job.fail(stopped_error())
                continue
            with self._lock:
                self._running[name] = job
                self._open_keys[name] = set()
            try:
                alive = self._carry_out(name, job, channel, process)
            finally:
                with self._lock:
                    self._running.pop(name, None)
            if not alive:
                return False

    def _carry_out(
        self, name: str, job: AskJob, channel: socket.socket, process: subprocess.Popen[bytes]
    ) -> bool:
        """Have one job done; return whether the worker can go on."""
        job.tell("started")
        end = time.monotonic() + _PLAN_SECONDS
        with suppress(OSError, ValueError):  # too late, or the worker is gone
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
        late = process.poll() is None and not job.canceled and time.monotonic() >= end
        process.kill() if late or job.canceled else None
        self._ended(name, late=late, ending=process.wait(), canceled=job.canceled)
        job.fail(stopped_error())
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
            self._jobs.put(job)
        else:
            job.fail(error)
        return not changed

    def _ended(self, name: str, *, late: bool, ending: int, canceled: bool) -> None:
        """Close the questions of a worker that its data may have ended, or that read often."""
        if self._stopping:
            return
        outside = canceled or (not late and ending in _OUTSIDE)
        with self._lock:
            keys = tuple(self._open_keys[name])
        for key in keys:
            with suppress(DiscreetError):
                if not outside or self._ledger.attempts(key) >= _ATTEMPTS:
                    self._ledger.fail(key)


def stopped_error() -> EngineStopped:
    """Return what is told of a worker that ended, whatever ended it."""
    return EngineStopped(
        what="the worker was stopped before the answer was there.",
        why="nothing more can be said without saying something of the data.",
        do="try again: what was charged is not charged twice.",
    )


def unopened_error(error: DiscreetError) -> UnreadableSource:
    """Return what is told while the data cannot be opened; it names no value of it."""
    return UnreadableSource(
        what=f"the data of this dataset cannot be opened: {error.what}",
        why="its files are not there, or not as its policy says.",
        do="tell the owner; it is opened by itself once it fits, and no restart is needed.",
    )
