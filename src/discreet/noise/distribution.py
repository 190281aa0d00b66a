"""Distributions on the integers: exact draws, single ones from blocks, and certified probabilities.

Trust: kernel.

Single draws are served from small blocks that the vectorized sampler drew ahead: a draw costs well
below a microsecond, is one of an independent sample, and takes a time that does not depend on its
value.  Blocks belong to one thread and one process.  A fork drops them in the child, a value leaves
its block when it is served, and no copy of a distribution takes values along.

``*_bounds`` methods return rationals that enclose the true probability, with a relative width of
about 2**-bits on the small side; privacy thresholds use their safe end.  ``pmf``, ``cdf``,
``survival`` and ``log_survival`` round the enclosure to the nearest float, for display.
``quantile`` is an exact integer, decided on enclosures of growing precision.

Scales up to 2**50 leave room for the tail inside int64: a draw beyond its ends, which would stop
there, has probability below exp(-8000).  Scales down to 2**-200 keep floats from underflow.
"""

from __future__ import annotations

import functools
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, final

import numpy as np
from numpy.typing import NDArray

from discreet.errors import OutOfRange, TooLarge
from discreet.exact import ExactNumber, Interval, positive, rational, whole
from discreet.noise.decay import complement, log_of
from discreet.noise.entropy import SYSTEM, Entropy, checked_count, checked_entropy, process_stamp

BLOCK: Final = 256  # draws at a time, most of the way to the speed of long samples
MOST_LAWS: Final = 64  # blocks of a thread, 128 KiB in all


class _Pools(threading.local):
    """The blocks of one thread, by the identity of their distribution, which each keeps alive."""

    def __init__(self) -> None:
        self.stamp = -1
        self.blocks: dict[int, tuple[Distribution, list[int]]] = {}


_pools: Final = _Pools()


def draw_from_pool(law: Distribution) -> int:
    """Return the next value of a distribution's block, drawing a new block if it is used up."""
    pools, stamp = _pools, process_stamp()
    if pools.stamp != stamp:
        pools.blocks, pools.stamp = {}, stamp
    block = pools.blocks.get(id(law))
    if block is None or not block[1]:
        block = _refill(law)
    try:
        return block[1].pop()
    except IndexError:  # a signal handler took the last value in between
        return draw_from_pool(law)


def _refill(law: Distribution) -> tuple[Distribution, list[int]]:
    block = law, law.sample(BLOCK, SYSTEM).tolist()
    blocks = _pools.blocks
    blocks.pop(id(law), None)
    while len(blocks) >= MOST_LAWS:  # the distribution that was refilled longest ago
        del blocks[next(iter(blocks))]
    blocks[id(law)] = block
    return block


BITS: Final = 64
FEW_BITS: Final = 24  # enough for nearly every comparison


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Moments:
    """Mean and variance, enclosed."""

    mean: Interval
    variance: Interval


def checked_bits(bits: object) -> int:
    """Read how many bits an enclosure is to have."""
    return whole(bits, name="bits", low=1, high=1 << 20)


class Distribution(ABC):
    """A distribution on the integers."""

    __slots__ = ()

    @abstractmethod
    def _sample(self, count: int, entropy: Entropy) -> NDArray[np.int64]:
        """Return independent draws; values beyond int64 stop at its ends."""

    @abstractmethod
    def moments(self) -> Moments:
        """Enclose mean and variance."""

    @abstractmethod
    def _pmf(self, k: int, bits: int) -> Interval:
        """Enclose P[Z = k]."""

    @abstractmethod
    def _cdf(self, k: int, bits: int) -> Interval:
        """Enclose P[Z <= k]."""

    @abstractmethod
    def _survival(self, k: int, bits: int) -> Interval:
        """Enclose P[Z > k]."""

    def _log_survival(self, k: int, bits: int) -> Interval:
        return log_of(self._survival(k, bits), bits)

    def sample(self, count: int, entropy: Entropy = SYSTEM) -> NDArray[np.int64]:
        """Return independent draws; values beyond int64 stop at its ends."""
        return self._sample(checked_count(count), checked_entropy(entropy))

    def draw(self, entropy: Entropy = SYSTEM) -> int:
        """Return one draw; values beyond int64 stop at its ends."""
        if entropy is SYSTEM:
            return draw_from_pool(self)
        return int(self.sample(1, entropy)[0])

    def pmf_bounds(self, k: int, bits: int = BITS) -> Interval:
        """Enclose P[Z = k], to a relative 2**-bits or so."""
        return self._pmf(whole(k, name="k"), checked_bits(bits))

    def cdf_bounds(self, k: int, bits: int = BITS) -> Interval:
        """Enclose P[Z <= k], to a relative 2**-bits or so if it is small."""
        return self._cdf(whole(k, name="k"), checked_bits(bits))

    def survival_bounds(self, k: int, bits: int = BITS) -> Interval:
        """Enclose P[Z > k], to a relative 2**-bits or so if it is small."""
        return self._survival(whole(k, name="k"), checked_bits(bits))

    def log_survival_bounds(self, k: int, bits: int = BITS) -> Interval:
        """Enclose ln P[Z > k]; two-sided ones do so at any depth."""
        return self._log_survival(whole(k, name="k"), checked_bits(bits))

    def pmf(self, k: int) -> float:
        """Return P[Z = k], rounded to a float."""
        return self.pmf_bounds(k).nearest()

    def cdf(self, k: int) -> float:
        """Return P[Z <= k], rounded to a float."""
        return self.cdf_bounds(k).nearest()

    def survival(self, k: int) -> float:
        """Return P[Z > k], rounded to a float."""
        return self.survival_bounds(k).nearest()

    def log_survival(self, k: int) -> float:
        """Return ln P[Z > k], rounded to a float; useful if P[Z > k] itself rounds to zero."""
        return self.log_survival_bounds(k).nearest()

    def quantile(self, p: ExactNumber) -> int:
        """Return the smallest k with P[Z <= k] >= p, exactly."""
        chance = rational(p, name="p")
        if not 0 < chance < 1:
            raise OutOfRange("p is not strictly between 0 and 1; give a p inside (0, 1).")

        def above(k: int, bits: int) -> Interval:
            """Enclose P[Z > k] by whichever tail is known more finely."""
            near = 2 * chance >= 1
            return self._survival(k, bits) if near else complement(self._cdf(k, bits))

        return first_true(
            lambda k: decide_at_most(functools.partial(above, k), 1 - chance, bits=FEW_BITS),
            low=None,
            near=self._guess(chance),
        )

    def _guess(self, chance: Fraction) -> int:  # noqa: ARG002  where the search starts
        return 0


def decide_at_most(
    enclose: Callable[[int], Interval], limit: Fraction, *, bits: int = BITS
) -> bool:
    """Decide whether a number, enclosed ever more finely, is at most a rational limit.

    The two must not be equal unless an enclosure is exact: the probabilities of noise are
    transcendental, and the limits rational or algebraic.

    >>> decide_at_most(lambda bits: Interval(Fraction(1, 3), Fraction(1, 3)), Fraction(1, 2))
    True
    """
    while True:
        number = enclose(bits)
        if number.high <= limit or number.low > limit:
            return number.high <= limit
        bits *= 2


def first_true(
    enough: Callable[[int], bool],
    *,
    low: int | None = 0,
    high: int | None = None,
    near: int = 1,
    step: int = 1,
) -> int:
    """Return the smallest integer, from ``low`` on, for which a rising condition holds.

    It holds at ``high``; without that, the search goes out from ``near``, by a ``step`` that
    doubles each time.

    >>> first_true(lambda r: r * r > 50)
    8
    """

    def holds(point: int) -> bool:
        return (low is None or point >= low) and enough(point)

    if high is not None and low is not None:
        outside, inside = low - 1, high
    elif holds(near):
        outside, inside = near - step, near
        while holds(outside):
            step *= 2
            outside, inside = outside - step, outside
    else:
        outside, inside = near, near + step
        while not holds(inside):
            step *= 2
            outside, inside = inside, inside + step
    while inside - outside > 1:
        middle = (inside + outside) // 2
        outside, inside = (outside, middle) if holds(middle) else (middle, inside)
    return inside


_DOWN, _UP = 200, 50  # powers of two between which scales lie


def checked_scale(value: ExactNumber, *, name: str, power: int = 1) -> Fraction:
    """Read a scale, or a scale raised to a power, that the samplers support."""
    number = positive(value, name=name)
    size = number.numerator.bit_length() - number.denominator.bit_length()  # within 1 of log2
    if (1 - _DOWN) * power < size < (_UP - 1) * power:
        return number
    if number > 1 << _UP * power:
        raise TooLarge(f"{name} is above 2**{_UP * power}; measure in a coarser unit.")
    if number * (1 << _DOWN * power) < 1:
        raise OutOfRange(f"{name} is below 2**-{_DOWN * power}; check the {name}.")
    return number


def empty(count: int) -> NDArray[np.int64]:
    """Allocate an array of ``count`` integers, or say that memory is short."""
    try:
        return np.empty(count, np.int64)
    except MemoryError:
        raise TooLarge("the values do not fit in memory; draw in parts.") from None
