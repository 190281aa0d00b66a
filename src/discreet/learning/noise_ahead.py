"""The noise of the next step, drawn by other processes while the model computes.

Trust: kernel.

Noise depends on no data, so it may be drawn before the sum that it protects is known.  Every array
is handed out once, and its place is overwritten with zeros.  Each process has random bits of its
own (:class:`discreet.noise.SystemEntropy`); a sampler in Python keeps its interpreter busy, so
threads would wait for each other and for the model.  A process that ends early ends the run: no
array is handed out that was not drawn in full.  Ctrl-C does not reach them: they have a session of
their own, and end with their pipe, whatever the end of the process that reads it.  A forked child
has no share in them.
"""

from __future__ import annotations

import mmap
import os
import subprocess
import sys
import tempfile
from itertools import pairwise
from typing import Final, final

import numpy as np
from numpy.typing import NDArray

from discreet.errors import EntropyForked, EntropyUnavailable
from discreet.exact import whole
from discreet.noise import SYSTEM, DiscreteGaussian, Entropy
from discreet.noise.entropy import process_stamp

SMALL: Final = 1 << 17
"""Below so many draws, a step waits for them: to start processes takes longer."""
_MOST: Final = 8
_DONE: Final = b"drawn\n"


def processes_for(length: int) -> int:
    """Return how many processes draw for a model of this many parameters, on this machine.

    >>> processes_for(1000)
    0
    """
    return 0 if length < SMALL else min(_MOST, max(1, (os.cpu_count() or 1) // 2))


@final
class NoiseAhead:
    """Draws of one law, in arrays of one length, each handed out once.

    >>> with NoiseAhead(DiscreteGaussian(variance=100), 5, processes=1) as ahead:
    ...     first, second = ahead.take(), ahead.take()
    >>> first.shape, first is second
    ((5,), False)
    """

    __slots__ = (
        "_cells",
        "_drawing",
        "_entropy",
        "_law",
        "_length",
        "_parts",
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

        Bits that were passed in are drawn from here, by no other process.
        """
        self._law, self._length, self._entropy = law, length, entropy
        count = (
            processes_for(length)
            if processes is None
            else whole(processes, name="processes", low=0)
        )
        self._workers: list[subprocess.Popen[bytes]] = []
        self._drawing, self._stamp = False, process_stamp()
        if entropy is SYSTEM and count:
            self._start(min(count, length))

    def _start(self, count: int) -> None:
        """Share one array with processes that each fill a part of it."""
        size = 8 * self._length
        with tempfile.TemporaryFile(dir=_memory()) as file:
            file.truncate(size)
            self._cells = np.frombuffer(mmap.mmap(file.fileno(), size), np.int64)
            edges = [self._length * place // count for place in range(count + 1)]
            self._parts = list(pairwise(edges))
            variance = self._law.variance
            for low, high in self._parts:
                words = [str(n) for n in (file.fileno(), size, low, high)]
                program = [sys.executable, "-m", "discreet.learning.noise_worker", *words]
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
        """Begin to draw for the next step, unless that has begun."""
        if not self._workers or self._drawing:
            return
        for worker in self._workers:
            _tell(worker)
        self._drawing = True

    def take(self) -> NDArray[np.int64]:
        """Return the noise of one step, and begin with the next."""
        if not self._workers:
            return self._law.sample(self._length, self._entropy)
        if self._stamp != process_stamp():
            raise EntropyForked(
                what="noise that a parent draws ahead was asked for in a forked process.",
                why="both could be handed the same noise.",
                do="make a NoiseAhead in the child.",
            )
        self.prepare()
        for worker in self._workers:
            _wait(worker)
        drawn = self._cells.copy()
        self._cells[:] = 0
        self._drawing = False
        self.prepare()
        return drawn

    def close(self) -> None:
        """Stop the processes; what was drawn and not used is dropped."""
        workers, self._workers = self._workers, []
        if self._stamp != process_stamp():
            return  # they work for the parent
        for worker in workers:
            worker.kill()
            worker.communicate()


def _tell(worker: subprocess.Popen[bytes]) -> None:
    """Ask a process for its part of the next array."""
    try:
        assert worker.stdin is not None  # noqa: S101  made with a pipe
        worker.stdin.write(b"draw\n")
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
