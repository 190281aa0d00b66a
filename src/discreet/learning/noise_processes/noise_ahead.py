"""The noise of the next steps, drawn by other processes while the model computes.

Trust: kernel.

Noise depends on no data, so it may be drawn before the sum that it protects is known.  There are
two blocks of arrays: one is drawn while the arrays of the other are used.  Every array is handed
out once, and overwritten before its block is drawn again.  Each process has random bits of its
own (:class:`discreet.noise.SystemEntropy`); a sampler in Python keeps its interpreter busy, so
threads would wait for each other and for the model.  A process that ends early ends the run, as
does one that stands still: no array is handed out that was not drawn in full.  Ctrl-C does not
reach them: they have a session of their own, and end with their pipe, whatever the end of the
process that reads it, and whoever it has forked.  A forked child has no share in them, and nobody
can copy it: two that count the arrays of one block would each hand out the same ones.  An error or
Ctrl-C while something is counted, asked for or lent closes it for good, since what was counted may
be wrong.  Each request has a number, which its answer repeats.
"""

from __future__ import annotations

import contextlib
import math
import mmap
import os
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator
from fractions import Fraction
from itertools import pairwise
from typing import Final, NoReturn, final

import numpy as np
from numpy.typing import NDArray

from discreet.errors import EntropyCopied, EntropyForked, EntropyUnavailable
from discreet.exact import whole
from discreet.learning.noise_processes.noise_process import NoiseProcess, shared_file
from discreet.noise import SYSTEM, DiscreteGaussian, Entropy
from discreet.noise.entropy import process_stamp

SMALL: Final = 1 << 17
"""Below so many draws, the first steps wait for them: to start processes takes longer."""
_MANY: Final = 1 << 22
"""After so many draws, processes are started for small steps, too."""
_MOST: Final = 8
_BLOCKS: Final = 2
_BLOCK: Final = 1 << 19
_ARRAYS: Final = 32
_PATIENCE: Final = 120
"""So many seconds a process may take to start, and to be given time on a busy machine."""
_SLOWEST: Final = 100_000
"""So few draws in a second are slow for any machine: a common one makes ten million."""


def processes_for(length: int, *, drawn: int = 0) -> int:
    """Return how many processes draw for a model of this many parameters, on this machine.

    ``drawn`` is how many numbers have been drawn without them.

    >>> processes_for(1000), processes_for(1000, drawn=1 << 23) > 0
    (0, True)
    """
    if length < SMALL and drawn < _MANY:
        return 0
    return min(_MOST, max(1, (os.cpu_count() or 1) // 2), max(1, length >> 13))


@final
class NoiseAhead:
    """Draws of one law, in arrays of one length, each handed out once.

    >>> with NoiseAhead(DiscreteGaussian(variance=100), 5, processes=1) as ahead:
    ...     first, second = ahead.take(), ahead.take()
    >>> first.shape, first is second
    ((5,), False)
    """

    __slots__ = (
        "_asked",
        "_block",
        "_cells",
        "_closed",
        "_count",
        "_drawn",
        "_entropy",
        "_law",
        "_left",
        "_length",
        "_lock",
        "_midway",
        "_own",
        "_stamp",
        "_workers",
    )

    def __init__(
        self,
        law: DiscreteGaussian,
        length: int,
        *,
        processes: int | None = None,
        entropy: Entropy = SYSTEM,
    ) -> None:
        """Take a law, how many draws a step needs, and how many processes draw them.

        By default, processes are started for large models at once, for small ones in long runs, and
        none where the system has no room for them.
        Bits that were passed in are drawn from here, by no other process.
        """
        self._law, self._length, self._entropy = law, length, entropy
        self._workers: list[NoiseProcess] = []
        self._stamp, self._drawn, self._left = process_stamp(), 0, 0
        self._lock, self._midway, self._closed = threading.RLock(), False, False
        self._own = entropy is not SYSTEM or processes is not None
        count = None if processes is None else whole(processes, name="processes", low=0)
        if count is None:
            self._start_if_possible()
        elif count and entropy is SYSTEM:
            self._start(min(count, length))

    def _start_if_possible(self) -> None:
        """Start processes if they are worth it; where that fails, noise is drawn here."""
        count = processes_for(self._length, drawn=self._drawn)
        if count and not self._own:
            self._own = True
            with contextlib.suppress(EntropyUnavailable):
                self._start(count)

    def _start(self, count: int) -> None:
        """Share arrays with processes that each fill a part of them; all are started, or none."""
        arrays = max(1, min(_ARRAYS, _BLOCK // self._length))
        shape = (_BLOCKS, arrays, self._length)
        edges = [self._length * place // count for place in range(count + 1)]
        workers: list[NoiseProcess] = []
        try:
            size = 8 * math.prod(shape)
            with shared_file(size) as file:
                flat = np.frombuffer(mmap.mmap(file.fileno(), size), np.int64)
                for low, high in pairwise(edges):
                    numbers = (file.fileno(), *shape, low, high)
                    workers.append(_worker(file.fileno(), numbers, self._law.variance))
            self._cells, self._asked = flat.reshape(shape), [0] * _BLOCKS
            self._block = self._count = 0
            self._workers = workers
        except BaseException as failure:
            self._workers = []
            _stop(workers)
            if isinstance(failure, OSError):
                raise _not_started(failure) from failure
            raise

    def __enter__(self) -> NoiseAhead:
        self.prepare()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise EntropyCopied(
            what="noise that is drawn ahead cannot be pickled or copied.",
            why="both copies would hand out the same noise, and the difference of two releases "
            "would be exact.",
            do="make a new NoiseAhead where it is used.",
        )

    def prepare(self) -> None:
        """Begin to draw whatever is not being drawn or used, the next block first."""
        with self._alone():
            self._prepare()

    def _prepare(self) -> None:
        for ahead in range(_BLOCKS if self._workers else 0):
            block = (self._block + ahead) % _BLOCKS
            if not self._asked[block]:
                number = self._count + 1
                for worker in self._workers:
                    _tell(worker, block, number)
                self._asked[block] = self._count = number

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """Let one thread at a time count; whoever does not finish is the last one.

        It is marked before anything changes, and the mark is taken off when all of it is done: an
        interrupt may come between any two of these lines.  Its thread is refused then.
        """
        if self._workers and self._stamp != process_stamp():
            raise EntropyForked(
                what="noise that a parent draws ahead was asked for in a forked process.",
                why="both could be handed the same noise.",
                do="make a NoiseAhead in the child.",
            )
        with self._lock:
            if self._closed or self._midway:
                raise _refused()
            self._midway = True
            try:
                yield
                self._midway = False
            except BaseException:
                self.close()
                raise

    @property
    def memory(self) -> NDArray[np.int64] | None:
        """Where processes draw, if they do; a device that copies from there may pin it."""
        return self._cells if self._workers else None

    @contextlib.contextmanager
    def lent(self) -> Iterator[NDArray[np.int64]]:
        """Lend the noise of one step; once it is given back, its place is drawn again.

        One thread at a time: two that wait for the same block would both count its arrays.
        An error while it is lent closes this for good.
        """
        with self._alone():
            yield from self._next()

    def _next(self) -> Iterator[NDArray[np.int64]]:
        self._start_if_possible()
        workers = self._workers  # another thread may close this meanwhile: they are waited for
        if not workers:
            self._drawn += self._length
            yield self._law.sample(self._length, self._entropy)
            return
        self._prepare()
        if not self._left:
            number = self._asked[self._block]
            seconds = _PATIENCE + self._cells[self._block].size // _SLOWEST
            for worker in workers:
                _wait(worker, self._block, number, seconds)
            self._left = self._cells.shape[1]
        self._left -= 1
        yield self._cells[self._block, self._left]
        if not self._left:
            self._asked[self._block] = 0
            self._block = (self._block + 1) % _BLOCKS
            try:
                self._prepare()
            except EntropyUnavailable:  # this array was drawn in full; the next is refused
                self.close()

    def take(self) -> NDArray[np.int64]:
        """Return the noise of one step, and begin with a later one."""
        with self.lent() as array:
            return array.copy() if self._workers else array

    def close(self) -> None:
        """Stop the processes for good; what was drawn and not used is dropped."""
        self._closed = True
        workers, self._workers = self._workers, []
        if self._stamp == process_stamp():  # otherwise they work for the parent
            _stop(workers)


def _worker(file: int, numbers: Iterable[int], variance: Fraction) -> NoiseProcess:
    """Start a process that fills its part of the arrays in a file."""
    program = [sys.executable, "-m", "discreet.learning.noise_processes.noise_worker"]
    program += [str(number) for number in numbers]
    return NoiseProcess(
        [*program, f"{variance.numerator}/{variance.denominator}"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        pass_fds=[file],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        bufsize=0,
        start_new_session=True,
    )


def _stop(workers: Iterable[NoiseProcess]) -> None:
    for worker in workers:
        worker.kill()
        worker.communicate()


def _tell(worker: NoiseProcess, block: int, number: int) -> None:
    """Ask a process for its part of a block."""
    try:
        assert worker.stdin is not None  # noqa: S101  made with a pipe
        worker.stdin.write(b"%d %d\n" % (block, number))
    except OSError:
        raise _ended() from None


def _wait(worker: NoiseProcess, block: int, number: int, seconds: int) -> None:
    """Wait until a process has drawn its part of a block, as it was asked to by this request."""
    answer = b"drawn %d %d\n" % (block, number)
    if worker.heard(len(answer), seconds=seconds) != answer:
        raise _ended()


def _ended() -> EntropyUnavailable:
    return EntropyUnavailable(
        what="a process that draws noise has ended, stands still, or answered another request.",
        why="a sum without its whole noise must not be released.",
        do="resume the run: nothing was released of the step that it stopped in.",
    )


def _refused() -> EntropyUnavailable:
    return EntropyUnavailable(
        what="noise was asked for that is not drawn ahead: its NoiseAhead is closed, or in use.",
        why="after an error, an interrupt or the end of a process, noise that was not drawn in "
        "full, or was used before, could be handed out.",
        do="make a new NoiseAhead, or resume the run, which makes one.",
    )


def _not_started(failure: OSError) -> EntropyUnavailable:
    return EntropyUnavailable(
        what=f"no process that draws noise can be started: {failure.strerror or failure}.",
        why="a sum without its whole noise must not be released.",
        do="free memory, disk or open files and resume the run; or set processes=0, and noise is "
        "drawn by the run itself.",
    )
