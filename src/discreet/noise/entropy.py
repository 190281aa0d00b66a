"""Where random bits come from.

Trust: kernel (T6).  Every privacy claim assumes that these bits cannot be guessed or repeated.

``Entropy`` is the role that samplers ask for: uniform words, and nothing else.  ``SystemEntropy``
serves real noise: AES-256 in counter mode, keyed by the operating system, one generator a thread.
Fast key erasure: the first 32 bytes of every keystream become the next key and are never served, so
a captured state says nothing about noise already drawn.  A child process throws its parent's
generators away, and a request amid another one (from a signal handler or a finalizer) gets a
generator of its own.  If the operating system has no bits to give, nothing is drawn.

Noise that must not change when an engine runs a task again has a source of its own
(:mod:`discreet.noise.keyed_entropy`).

Assumes: AES-256 keystreams look uniform to readers of releases (a computational guarantee).
"""

from __future__ import annotations

import os
import threading
from abc import ABC, abstractmethod
from typing import Any, Final, NoReturn, Protocol, cast, final

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, CipherContext, algorithms, modes
from numpy.typing import NDArray

from discreet.errors import EntropyCopied, EntropyUnavailable, OutOfRange, WrongKind
from discreet.exact import whole

Words = NDArray[np.unsignedinteger[Any]]
"""An array of words in the narrowest unsigned type."""

KEY_BYTES: Final = 32
_POOL_BYTES: Final = 1 << 16  # for small requests, which would each set up a cipher
_SMALL_BYTES: Final = 1 << 14  # a request that is served from the pool
_WIDEST: Final = 1 << 24  # bits of one word
_MOST: Final = 1 << 36  # words of one request
_RESEED_BYTES: Final = 1 << 32  # far below the 2**64 blocks at which counter mode shows
_ZEROS: Final = memoryview(bytes(1 << 17))
START: Final = modes.CTR(bytes(16))


def process_stamp() -> int:
    """Return what differs between a process and those that are forked from it."""
    return os.getpid()


class Entropy(Protocol):
    """A source of independent uniform words."""

    def words(self, count: int, width: int) -> Words:
        """Return ``count`` words, each uniform on [0, 2**width), in the narrowest unsigned type."""
        ...

    def bits(self, width: int) -> int:
        """Return one word, uniform on [0, 2**width); the width may exceed 64."""
        ...


_KINDS: Final = tuple((size, np.dtype(f"uint{size}")) for size in (8, 16, 32, 64))


def word_type(width: int) -> np.dtype[np.unsignedinteger[Any]]:
    """Return the narrowest unsigned type that holds words of this width."""
    for size, kind in _KINDS:
        if width <= size:
            return kind
    raise OutOfRange(f"a word of {width} bits was asked for; use bits(width) for a longer word.")


def _checked_width(width: int) -> int:
    """Refuse what is not a width; a plain int of the right sign takes the short way."""
    if type(width) is int and 0 <= width <= _WIDEST:
        return width
    return whole(width, name="width", low=0, high=_WIDEST)


def checked_count(count: object) -> int:
    """Read how many values to draw, before any bit is drawn; a plain int takes the short way."""
    if type(count) is int and 0 <= count <= _MOST:
        return count
    return whole(count, name="count", low=0, high=_MOST)


class OneCopy:
    """What holds noise, or words that become noise: it has no copy, in this process or another."""

    __slots__ = ("_stamp",)

    def __init__(self) -> None:
        self._stamp = process_stamp()

    def _check_process(self) -> None:
        if self._stamp != process_stamp():
            raise self._copied()

    def _copied(self) -> EntropyCopied:
        kind = type(self).__name__
        return EntropyCopied(
            what=f"a {kind} cannot be copied, pickled, or used in a forked process.",
            why="two copies of one stream add the same noise twice, and the difference of the "
            "two releases is exact.",
            do=f"make a new {kind} where it is used.",
        )

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise self._copied()


class ByteSource(OneCopy, ABC):
    """Words cut from uniform bytes."""

    __slots__ = ()

    @abstractmethod
    def _fill(self, out: memoryview) -> None:
        """Overwrite ``out`` with uniform bytes that are served to nobody else."""

    def words(self, count: int, width: int) -> Words:
        """Return ``count`` words, each uniform on [0, 2**width), in the narrowest unsigned type."""
        width = _checked_width(width)
        kind = word_type(width)
        out = np.empty(checked_count(count), kind)
        if count:
            self._fill(memoryview(out.data).cast("B"))
        spare = 8 * kind.itemsize - width
        if spare:
            out >>= kind.type(spare)
        return out

    def bits(self, width: int) -> int:
        """Return one word of any width, uniform on [0, 2**width)."""
        size = (_checked_width(width) + 7) >> 3
        out = bytearray(size)
        self._fill(memoryview(out))
        return int.from_bytes(out, "little") >> (8 * size - width)


class _Generator:
    """The state of one thread: a key, and a pool for small requests."""

    __slots__ = ("busy", "key", "pool", "served", "stamp", "used")

    def __init__(self) -> None:
        self.busy = False
        self.stamp = -1
        self.key = bytearray(KEY_BYTES)
        self.pool = bytearray(_POOL_BYTES)
        self.used = _POOL_BYTES
        self.served = 0


class _PerThread(threading.local):
    """One generator for each thread."""

    def __init__(self) -> None:
        self.generator = _Generator()


@final
class SystemEntropy(ByteSource):
    """Random words keyed by the operating system.

    >>> words = SystemEntropy().words(1000, width=3)
    >>> words.dtype, bool((words < 8).all())
    (dtype('uint8'), True)
    """

    __slots__ = ("_threads",)

    def __init__(self) -> None:
        """Open a source; the first request of each thread asks the operating system for a key."""
        super().__init__()
        self._threads = _PerThread()

    def _fill(self, out: memoryview) -> None:
        state = self._threads.generator
        if state.busy:  # a signal handler or finalizer asks amid another request of this thread
            state = _Generator()
        state.busy = True
        try:
            if out.nbytes <= _SMALL_BYTES:
                out[:] = _from_pool(state, out.nbytes)
            else:
                _ensure_seeded(state)
                _advance(state, out)
        finally:
            state.busy = False


def _from_pool(state: _Generator, size: int) -> bytearray:
    """Cut a few bytes off the pool; a served byte is kept nowhere else.

    They count as used before they are erased: whatever interrupts in between, no zero is served.
    """
    start = state.used
    stop = start + size
    if stop > _POOL_BYTES or state.stamp != process_stamp():
        _ensure_seeded(state)
        _advance(state, memoryview(state.pool))
        start, stop = 0, size
    served = state.pool[start:stop]
    state.used = stop
    state.pool[start:stop] = _ZEROS[:size]
    return served


def _ensure_seeded(state: _Generator) -> None:
    if state.stamp != process_stamp() or state.served >= _RESEED_BYTES:
        _seed(state)


def _seed(state: _Generator) -> None:
    """Take a fresh key, or change nothing at all."""
    try:
        fresh = os.urandom(KEY_BYTES)  # noqa: TID251  the only place that asks the operating system
    except (OSError, NotImplementedError) as failure:
        raise EntropyUnavailable(
            what="the operating system gave no random bits.",
            why="noise from any other source could be predicted and subtracted.",
            do="check that the random device is available to this process, then ask again; "
            "nothing was drawn.",
        ) from failure
    state.key[:] = fresh
    state.used = _POOL_BYTES  # whatever a parent process had pooled is not ours
    state.served = 0
    state.stamp = process_stamp()


def _advance(state: _Generator, out: memoryview) -> None:
    """Fill ``out`` from the current key, and replace the key by the first bytes of its stream."""
    stream = Cipher(algorithms.AES(bytes(state.key)), START).encryptor()
    stream.update_into(_ZEROS[:KEY_BYTES], state.key)
    fill_keystream(stream, out)
    state.served += out.nbytes


def fill_keystream(stream: CipherContext, out: memoryview) -> None:
    """Overwrite ``out`` with the next bytes of a keystream."""
    for start in range(0, out.nbytes, _ZEROS.nbytes):
        part = out[start : start + _ZEROS.nbytes]
        stream.update_into(_ZEROS[: part.nbytes], part)


SYSTEM: Final = SystemEntropy()
"""The process-wide source, used wherever no other is passed in."""


def checked_entropy(entropy: object) -> Entropy:
    """Refuse what is not a source of words, before anything is drawn."""
    faces = (getattr(entropy, "words", None), getattr(entropy, "bits", None))
    if isinstance(entropy, type) or not all(callable(face) for face in faces):
        raise WrongKind(
            f"the entropy is a {type(entropy).__name__}, which serves no words; leave entropy "
            "out, or give SystemEntropy() or KeyedEntropy(key=..., label=...)."
        )
    return cast("Entropy", entropy)
