"""Coins of models and views: streams of PyTorch, Python and NumPy, afresh for every micro-batch.

Trust: kernel.

Functions toss coins with streams that they find without bringing one along.  Coins that follow each
other in one stream move when a unit takes more of them, or when it comes: whoever could tell the
streams of one seed apart would see from what others contribute that it is there.  So no coin of one
unit lies behind those of another in a stream (key ``augmented-views``):

* every micro-batch begins with streams that are set from the system's randomness.  In it, dropout
  tosses coins for all places, taken or not, so that those of a place are the same numbers of the
  stream whoever sits elsewhere;
* every unit whose rows are shown in views has streams of its own, and so has every row of a model
  that is differentiated row by row.  Streams are drawn for empty places, too.

Then all coins may be told: the price rests on no property of these generators.  Still, their whole
state is random: 624 words for each of the three, which are one algorithm (MT19937) on a CPU, and
the 64 bits of a seed on CUDA.  The user's own streams are given back afterward.

Examples must not share coins, either (:mod:`discreet.learning.deep.trials.shared_coins`).
"""

from __future__ import annotations

import random  # noqa: TID251  seeded here because functions of users draw from it
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray

from discreet.noise import Entropy

_WORD: Final = 32
_STATE: Final = 624
"""Words of the state of MT19937."""
_BEFORE: Final = 3
"""Words of 64 bits that come before it in PyTorch's: a seed, what is left of it, and the place."""
_ALL: Final = 3 * _STATE + 2


@contextmanager
def kept_streams(device: torch.device) -> Iterator[None]:
    """Give all streams back as they are now, whatever happens to them in between."""
    python, numpy = random.getstate(), np.random.get_state()  # noqa: NPY002, TID251  given back
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        try:
            yield
        finally:
            random.setstate(python)
            np.random.set_state(numpy)  # noqa: NPY002, TID251  as it was


def stream_words(lines: int, entropy: Entropy) -> NDArray[np.uint32]:
    """Draw the words that :func:`set_streams` takes, on as many lines."""
    words: NDArray[np.uint32] = entropy.words(lines * _ALL, _WORD)
    return words.reshape(lines, _ALL)


def streams_within(lines: int) -> NDArray[np.uint32]:
    """Draw such words from PyTorch's own stream, for lines of one micro-batch."""
    drawn = torch.empty((lines, _ALL), dtype=torch.int32).random_(-(1 << 31), 1 << 31)
    words: NDArray[np.uint32] = drawn.numpy().view(np.uint32)
    return words


def set_streams(device: torch.device, words: NDArray[np.uint32]) -> None:
    """Set the whole state of all streams.

    >>> from discreet.noise import SYSTEM
    >>> found = []
    >>> with kept_streams(torch.device("cpu")):
    ...     for words in stream_words(1, SYSTEM).repeat(2, axis=0):
    ...         set_streams(torch.device("cpu"), words)
    ...         found.append((random.random(), float(np.random.rand()), float(torch.rand(()))))
    >>> found[0] == found[1]
    True
    """
    state = torch.Generator().manual_seed(0).get_state()  # nothing taken, no normal numbers kept
    state.numpy().view(np.uint64)[_BEFORE : _BEFORE + _STATE] = words[:_STATE]
    torch.default_generator.set_state(state)
    random.seed(int.from_bytes(words[_STATE : 2 * _STATE].tobytes(), "little"))
    np.random.seed(words[2 * _STATE : 3 * _STATE])  # noqa: NPY002, TID251  the stream of others
    if device.type == "cuda":
        with torch.cuda.device(device):
            torch.cuda.manual_seed(int.from_bytes(words[3 * _STATE :].tobytes(), "little"))


def own_streams() -> tuple[Any, ...]:
    """Return where the streams of Python and NumPy are."""
    kind, words, *rest = np.random.get_state(legacy=True)  # noqa: NPY002, TID251  looked at
    numpy = (kind, words.tobytes(), *rest)  # type: ignore[union-attr]  # an array, as asked for
    return random.getstate(), numpy


def streams_of_torch(device: torch.device) -> tuple[bytes, ...]:
    """Return where the streams of PyTorch are."""
    found = [torch.get_rng_state()]
    if device.type == "cuda":
        found.append(torch.cuda.get_rng_state(device))
    return tuple(state.numpy().tobytes() for state in found)


@contextmanager
def seeded(device: torch.device, seed: int) -> Iterator[None]:
    """Seed all streams for a while, with a number that is known.

    >>> with seeded(torch.device("cpu"), 7):
    ...     first = random.random(), float(np.random.rand()), float(torch.rand(()))
    >>> with seeded(torch.device("cpu"), 7):
    ...     first == (random.random(), float(np.random.rand()), float(torch.rand(())))
    True
    """
    with kept_streams(device):
        torch.manual_seed(seed)
        random.seed(seed)
        np.random.seed(seed)  # noqa: NPY002, TID251  the stream of others
        yield
