"""The noise of the next steps, drawn by other processes while the model computes.

Trust: kernel.

Noise depends on no data, so it may be drawn before the sum that it protects is known.  There are
two blocks of arrays: one is drawn while the arrays of the other are used.  Every array is handed
out once, and overwritten before its block is drawn again.  Each process has random bits of its
own (:class:`discreet.noise.SystemEntropy`); a sampler in Python keeps its interpreter busy, so
threads would wait for each other and for the model.  A process that ends early ends the run: no
array is handed out that was not drawn in full.  Ctrl-C does not reach them: they have a session of
their own, and end with their pipe, whatever the end of the process that reads it.  A forked child
has no share in them.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from itertools import pairwise
from typing import Final, final

import numpy as np
from numpy.typing import NDArray

from discreet.errors import EntropyForked, EntropyUnavailable
from discreet.exact import whole
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
_DONE: Final = b"drawn\n"


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
        "_drawn",
        "_entropy",
        "_law",
        "_left",
        "_length",
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

        By default, processes are started for large models at once, for small ones in long runs.
        Bits that were passed in are drawn from here, by no other process.
        """
        self._law, self._length, self._entropy = law, length, entropy
        self._workers: list[subprocess.Popen[bytes]] = []
        self._stamp, self._drawn, self._left = process_stamp(), 0, 0
        self._own = entropy is not SYSTEM or processes is not None
        count = processes_for(length) if processes is None else processes
        if whole(count, name="processes", low=0) and entropy is SYSTEM:
            self._start(min(count, length))

    def _start(self, count: int) -> None:
        """Share arrays with processes that each fill a part of them."""
        arrays = max(1, min(_ARRAYS, _BLOCK // self._length))
        size = 8 * _BLOCKS * arrays * self._length
        with tempfile.TemporaryFile(dir=_memory()) as file:
            file.truncate(size)
            cells = np.frombuffer(mmap.mmap(file.fileno(), size), np.int64)
            self._cells = cells.reshape(_BLOCKS, arrays, self._length)
            self._block, self._asked = 0, [False] * _BLOCKS
            edges = [self._length * place // count for place in range(count + 1)]
            variance = self._law.variance
            for low, high in pairwise(edges):
                numbers = (file.fileno(), *self._cells.shape, low, high)
                program = [sys.executable, "-m", "discreet.learning.noise_processes.noise_worker"]
                program += [str(n) for n in numbers]
                self._workers.append(
                    subprocess.Popen(  # noqa: S603  this interpreter, and a file of this package
                        [*program, f"{variance.numerator}/{variance.denominator}"],
                        stdin=subprocess.PIPE,
                        stdout=subprocess.PIPE,
                        pass_fds=[file.fileno()],
                        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
                        bufsize=0,
                        start_new_session=True,
                    )
                )

    def __enter__(self) -> NoiseAhead:
        self.prepare()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def prepare(self) -> None:
        """Begin to draw whatever is not being drawn or used, the next block first."""
        if not self._workers:
            return
        for ahead in range(_BLOCKS):
            block = (self._block + ahead) % _BLOCKS
            if not self._asked[block]:
                for worker in self._workers:
                    _tell(worker, block)
                self._asked[block] = True

    @property
    def memory(self) -> NDArray[np.int64] | None:
        """Where processes draw, if they do; a device that copies from there may pin it."""
        return self._cells if self._workers else None

    @contextlib.contextmanager
    def lent(self) -> Iterator[NDArray[np.int64]]:
        """Lend the noise of one step; once it is given back, its place is drawn again."""
        if not self._workers and not self._own and processes_for(self._length, drawn=self._drawn):
            self._start(processes_for(self._length, drawn=self._drawn))
        if not self._workers:
            self._drawn += self._length
            yield self._law.sample(self._length, self._entropy)
            return
        if self._stamp != process_stamp():
            raise EntropyForked(
                what="noise that a parent draws ahead was asked for in a forked process.",
                why="both could be handed the same noise.",
                do="make a NoiseAhead in the child.",
            )
        self.prepare()
        if not self._left:
            for worker in self._workers:
                _wait(worker)
            self._left = self._cells.shape[1]
        self._left -= 1
        array = self._cells[self._block, self._left]
        try:
            yield array
        finally:
            if not self._left:
                self._asked[self._block] = False
                self._block = (self._block + 1) % _BLOCKS
                with contextlib.suppress(EntropyUnavailable):  # told to whoever asks next
                    self.prepare()

    def take(self) -> NDArray[np.int64]:
        """Return the noise of one step, and begin with a later one."""
        with self.lent() as array:
            return array.copy() if self._workers else array

    def close(self) -> None:
        """Stop the processes; what was drawn and not used is dropped."""
        workers, self._workers, self._own = self._workers, [], True
        if self._stamp != process_stamp():
            return  # they work for the parent
        for worker in workers:
            worker.kill()
            worker.communicate()


def _tell(worker: subprocess.Popen[bytes], block: int) -> None:
    """Ask a process for its part of a block."""
    try:
        assert worker.stdin is not None  # noqa: S101  made with a pipe
        worker.stdin.write(b"%d\n" % block)
    except OSError:
        raise _ended() from None


def _wait(worker: subprocess.Popen[bytes]) -> None:
    """Wait until a process has drawn its part."""
    assert worker.stdout is not None  # noqa: S101  made with a pipe
    if worker.stdout.read(len(_DONE)) != _DONE:
        raise _ended()


def _ended() -> EntropyUnavailable:
    return EntropyUnavailable(
        what="a process that draws noise has ended.",
        why="a sum without its whole noise must not be released.",
        do="resume the run: nothing was released of the step that it stopped in.",
    )


def _memory() -> str | None:
    """Return a folder in memory, where there is one."""
    return "/dev/shm" if os.path.isdir("/dev/shm") else None  # noqa: S108, PTH112  unlinked at once
