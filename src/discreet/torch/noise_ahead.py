"""The noise of the next steps, drawn by other processes while the model computes.

Trust: kernel.

Noise depends on no data, so it may be drawn before the sum that it protects is known.  Processes
fill two blocks of arrays in shared memory, one while the arrays of the other are used: on a GPU,
exact noise for a million parameters would take as long as the step itself.  A sampler in Python
keeps its interpreter busy, so threads would wait for each other.  Every array is handed out once.
Each process has random bits of its own (:class:`discreet.noise.SystemEntropy`), answers one line to
each request when its part is drawn in full, and ends when its input does.  A process that has ended
ends the run: nothing is handed out that was not drawn in full.
"""

from __future__ import annotations

import math
import mmap
import os
import subprocess
import sys
import tempfile
from contextlib import suppress
from fractions import Fraction
from itertools import pairwise
from typing import IO, BinaryIO, Final, final

import numpy as np
from numpy.typing import NDArray

from discreet.errors import EntropyUnavailable
from discreet.exact import whole
from discreet.noise import SYSTEM, DiscreteGaussian, Entropy

_SMALL: Final = 1 << 17
"""Below this number of draws a step, starting processes takes longer than they save."""
_MOST_PROCESSES: Final = 8
_BLOCK: Final = 1 << 19
_MOST_ARRAYS: Final = 32


def processes_for(length: int) -> int:
    """Return how many processes draw for a model of this many parameters, on this machine.

    >>> processes_for(1000), processes_for(1 << 20) > 0
    (0, True)
    """
    if length < _SMALL:
        return 0
    return min(_MOST_PROCESSES, max(1, (os.cpu_count() or 1) // 2))


@final
class NoiseAhead:
    """Draws of one distribution, in arrays of one length, each handed out once.

    >>> with NoiseAhead(DiscreteGaussian(variance=100), 5, processes=1) as ahead:
    ...     first, second = ahead.take(), ahead.take()
    >>> first.shape, first is second
    ((5,), False)
    """

    def __init__(
        self,
        law: DiscreteGaussian,
        length: int,
        *,
        processes: int | None = None,
        entropy: Entropy = SYSTEM,
    ) -> None:
        """Take a distribution, how many draws a step needs, and how many processes draw them.

        Bits that were passed in are drawn from here, by no other process.
        """
        self._law, self._length, self._entropy = law, length, entropy
        self._workers: list[subprocess.Popen[bytes]] = []
        self._cells: NDArray[np.int64] | None = None
        self._block, self._left, self._used = 1, 0, False
        count = processes_for(length) if processes is None else whole(processes, name="processes")
        if count and entropy is SYSTEM:
            try:
                self._start(min(count, length))
            except OSError as failure:
                self.close()
                if processes is not None:
                    raise _not_started(failure) from failure

    def _start(self, count: int) -> None:
        """Share two blocks of arrays with processes that each fill a part of them."""
        arrays = max(1, min(_MOST_ARRAYS, _BLOCK // self._length))
        shape = (2, arrays, self._length)
        edges = [self._length * place // count for place in range(count + 1)]
        with _shared_file(8 * math.prod(shape)) as file:
            memory = mmap.mmap(file.fileno(), 8 * math.prod(shape))
            cells = np.frombuffer(memory, np.int64).reshape(shape)
            for low, high in pairwise(edges):
                words = (file.fileno(), *shape, low, high, self._law.variance)
                self._workers.append(
                    subprocess.Popen(  # noqa: S603  our own module
                        [sys.executable, "-m", __name__, *map(str, words)],
                        stdin=subprocess.PIPE,
                        stdout=subprocess.PIPE,
                        pass_fds=[file.fileno()],
                        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
                        bufsize=0,
                        start_new_session=True,  # Ctrl-C is for the run
                    )
                )
        self._cells = cells
        for block in (0, 1):
            self._ask(block)

    def __enter__(self) -> NoiseAhead:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def memory(self) -> NDArray[np.int64] | None:
        """Where processes draw, if they do; a device that copies from there may pin it."""
        return self._cells if self._workers else None

    def borrow(self) -> NDArray[np.int64]:
        """Return the noise of one step, which stays there until the next one is asked for."""
        if self._cells is None:
            drawn: NDArray[np.int64] = self._law.sample(self._length, self._entropy)
            return drawn
        if not self._left:
            if self._used:
                self._ask(self._block)  # it is not read any more
            self._block, self._used, self._left = 1 - self._block, True, self._cells.shape[1]
            self._wait(self._block)
        self._left -= 1
        lent: NDArray[np.int64] = self._cells[self._block, self._left]
        return lent

    def take(self) -> NDArray[np.int64]:
        """Return the noise of one step."""
        drawn = self.borrow()
        return drawn if self._cells is None else drawn.copy()

    def close(self) -> None:
        """Stop the processes for good; what was drawn and not used is dropped."""
        workers, self._workers = self._workers, []
        for worker in workers:
            worker.kill()
            worker.communicate()

    def _ask(self, block: int) -> None:
        for worker in self._workers:
            assert worker.stdin is not None  # noqa: S101  made with a pipe
            with suppress(BrokenPipeError):  # found when its answer is waited for
                worker.stdin.write(b"%d\n" % block)

    def _wait(self, block: int) -> None:
        """Wait until every process has drawn its part of a block."""
        for worker in self._workers:
            assert worker.stdout is not None  # noqa: S101  made with a pipe
            if worker.stdout.readline() != b"%d\n" % block:
                self._left = 0
                raise EntropyUnavailable(
                    what="a process that draws noise has ended.",
                    why="a sum without its whole noise must not be released.",
                    do="resume the run: nothing was released of the step that it stopped in.",
                )


def _shared_file(size: int) -> IO[bytes]:
    """Return a file without a name: in memory, or if that cannot be, among temporary ones."""
    try:
        return _reserved(size, "/dev/shm")  # noqa: S108  it has no name there
    except OSError:
        return _reserved(size, None)


def _reserved(size: int, folder: str | None) -> IO[bytes]:
    file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115  the caller closes it
    try:
        os.posix_fallocate(file.fileno(), 0, size)  # a page that is missing later would be a crash
    except OSError:
        file.close()
        raise
    return file


def _not_started(failure: OSError) -> EntropyUnavailable:
    return EntropyUnavailable(
        what=f"no process that draws noise can be started: {failure.strerror or failure}.",
        why="they were asked for by processes=.",
        do="free memory, disk or open files; or set processes=0, and the run draws noise itself.",
    )


def _serve(words: list[str], asked: BinaryIO, told: BinaryIO) -> None:
    """Draw a part of each array of a block for each line that is read, until there are no more."""
    file, blocks, arrays, length, low, high = (int(word) for word in words[:6])
    law = DiscreteGaussian(variance=Fraction(words[6]))
    shared = np.frombuffer(mmap.mmap(file, 8 * blocks * arrays * length), np.int64)
    part = shared.reshape(blocks, arrays, length)[:, :, low:high]
    for line in iter(asked.readline, b""):
        block = part[int(line)]
        block[:] = law.sample(block.size, SYSTEM).reshape(block.shape)
        told.write(line)


if __name__ == "__main__":
    with open(1, "wb", buffering=0) as told, suppress(BrokenPipeError):
        _serve(sys.argv[1:], sys.stdin.buffer, told)
