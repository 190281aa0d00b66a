"""The noise of the next step, drawn by threads while the model computes.

Trust: kernel.

Noise depends on no data, so it may be drawn before the sum that it protects is known.  Every array
is handed out once and kept nowhere; each thread has a random stream of its own.
"""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from typing import Final, final

import numpy as np
from numpy.typing import NDArray

from discreet.exact import whole
from discreet.noise import SYSTEM, DiscreteGaussian, Entropy

_PIECE: Final = 1 << 15


@final
class NoiseAhead:
    """Draws of one law, in arrays of one length, each handed out once.

    >>> with NoiseAhead(DiscreteGaussian(variance=100), 5, threads=2) as ahead:
    ...     first, second = ahead.take(), ahead.take()
    >>> first.shape, first is second
    ((5,), False)
    """

    __slots__ = ("_entropy", "_law", "_length", "_next", "_pool")

    def __init__(
        self, law: DiscreteGaussian, length: int, *, threads: int = 1, entropy: Entropy = SYSTEM
    ) -> None:
        """Take a law, how many draws a step needs, and how many threads may draw."""
        self._law, self._length, self._entropy = law, length, entropy
        count = whole(threads, name="threads", low=0)
        self._pool = ThreadPoolExecutor(count) if count else None
        self._next: list[Future[NDArray[np.int64]]] = []

    def __enter__(self) -> NoiseAhead:
        self.prepare()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def prepare(self) -> None:
        """Begin to draw for the next step, unless that has begun."""
        if self._pool is None or self._next:
            return
        pieces = [min(_PIECE, self._length - at) for at in range(0, self._length, _PIECE)]
        self._next = [self._pool.submit(self._law.sample, n, self._entropy) for n in pieces]

    def take(self) -> NDArray[np.int64]:
        """Return the noise of one step, and begin with the next."""
        if self._pool is None:
            return self._law.sample(self._length, self._entropy)
        self.prepare()
        drawn, self._next = self._next, []
        whole_array = np.concatenate([piece.result() for piece in drawn])
        self.prepare()
        return whole_array

    def close(self) -> None:
        """Stop the threads; what was drawn and not used is dropped."""
        self._next = []
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)
