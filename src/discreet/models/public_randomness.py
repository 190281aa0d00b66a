"""Public randomness of models: a reproducible stream, because its key is a public text.

Trust: kernel.  It chooses splits and starting points before data is read, and draws posteriors
from released numbers afterward.  Noise never comes from here: an attacker who knows the key text
could subtract it.  This is the one place of the room that opens a keyed stream.
"""

from __future__ import annotations

import hashlib
import math
from typing import Final, final

import numpy as np
from numpy.typing import NDArray

from discreet.noise import Entropy, KeyedEntropy

_DOMAIN: Final = b"discreet learning public stream 1\0"
_BITS: Final = 53
_AHEAD: Final = 4096  # drawn at once, since single draws take longer to ask for than to make


def public_stream(text: bytes, label: str) -> Entropy:
    """Return the stream of a public text and a label.

    >>> public_stream(b"released", "a").bits(16) == public_stream(b"released", "a").bits(16)
    True
    """
    return KeyedEntropy(key=hashlib.sha256(_DOMAIN + text).digest(), label=label)


@final
class PublicDraws:
    """Floats of common distributions from a public stream, for post-processing of released numbers.

    >>> draws = PublicDraws(public_stream(b"released", "doctest"))
    >>> draws.uniform((2, 3)).shape, bool(draws.gamma(np.array([0.5, 3.0])).min() > 0)
    ((2, 3), True)
    """

    __slots__ = ("_normals", "_stream", "_uniforms")

    def __init__(self, stream: Entropy) -> None:
        """Take a stream, which must not be that of any noise."""
        self._stream = stream
        self._uniforms = np.empty(0)
        self._normals = np.empty(0)

    def uniform(self, shape: tuple[int, ...]) -> NDArray[np.float64]:
        """Return numbers inside (0, 1)."""
        count = math.prod(shape)
        if count > self._uniforms.size:
            self._uniforms = self._fresh(max(count, _AHEAD))
        drawn, self._uniforms = self._uniforms[:count], self._uniforms[count:]
        return drawn.reshape(shape)

    def normal(self, shape: tuple[int, ...]) -> NDArray[np.float64]:
        """Return standard normal numbers."""
        from scipy.special import ndtri  # type: ignore[import-untyped]  # noqa: PLC0415  takes its time

        count = math.prod(shape)
        if count > self._normals.size:
            self._normals = ndtri(self._fresh(max(count, _AHEAD)))
        drawn, self._normals = self._normals[:count], self._normals[count:]
        return drawn.reshape(shape)

    def _fresh(self, count: int) -> NDArray[np.float64]:
        words = self._stream.words(count, _BITS).astype(np.float64)
        fresh: NDArray[np.float64] = (words + 0.5) * 2.0**-_BITS
        return fresh

    def gamma(self, shapes: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return one gamma number of scale 1 for each shape."""
        from scipy.special import gammaincinv  # noqa: PLC0415  takes its time

        drawn: NDArray[np.float64] = gammaincinv(shapes, self.uniform(shapes.shape))
        return np.maximum(drawn, np.finfo(np.float64).tiny)
