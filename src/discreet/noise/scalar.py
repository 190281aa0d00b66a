"""One draw at a time, as a Python integer of any size.

Trust: kernel.

The same algorithms as in ``tablefree`` (keys ``geometric-log``, ``geometric-split``,
``laplace-sign``, ``gaussian-rejection``), written for a single draw: parameters are prepared once,
and a draw costs a few microseconds.  The number of attempts does not depend on the value that is
returned, and the work of an attempt is the same for every value, so the time of a draw says
nothing about it.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import final

from discreet.noise.coins import exp_coin
from discreet.noise.entropy import Entropy
from discreet.noise.tablefree import BLOCK_BITS, SIZES, FreeSizes, settle_geometric

__all__ = ["ScalarGaussian", "ScalarGeometric", "ScalarLaplace"]


@final
class ScalarGeometric:
    """Draws k >= 0 with P[k] proportional to exp(-k / scale)."""

    __slots__ = ("_narrow", "_narrow_float", "_scale", "_shift", "_sizes", "_step", "width")

    def __init__(self, scale: Fraction, sizes: FreeSizes = SIZES) -> None:
        """Prepare the scale: split off so many low bits that the rest has a scale below 32."""
        self._scale = scale
        self._sizes = sizes
        self._shift = max(0, math.floor(scale).bit_length() - BLOCK_BITS)
        self._narrow = scale / (1 << self._shift)
        self._narrow_float = float(self._narrow)
        self._step = math.ldexp(1.0, -self._shift) / self._narrow_float
        self.width = sizes.word_bits
        if self._shift:
            self.width += self._shift + sizes.coins.word_bits

    def draw(self, entropy: Entropy) -> int:
        """Draw one value."""
        while True:
            value = self.attempt(entropy.bits(self.width), entropy)
            if value is not None:
                return value

    def attempt(self, word: int, entropy: Entropy) -> int | None:
        """Make a value of one word of ``width`` bits, or nothing if it is rejected."""
        sizes, shift = self._sizes, self._shift
        if not shift:
            return self._floor_log(word, entropy)
        coin = word & ((1 << sizes.coins.word_bits) - 1)
        word >>= sizes.coins.word_bits
        offset = word & ((1 << shift) - 1)
        value = self._floor_log(word >> shift, entropy)
        estimate = math.exp(-offset * self._step)
        if exp_coin(coin, estimate, lambda: offset / self._scale, entropy, sizes.coins):
            return value << shift | offset
        return None

    def _floor_log(self, word: int, entropy: Entropy) -> int:
        sizes = self._sizes
        if word:
            scale = self._narrow_float
            value = -math.log(math.ldexp(word, -sizes.word_bits)) * scale
            floor = math.floor(value)
            radius = value * 2.0**-44 + scale * (2.0**-48 + 2.0 / word)
            if radius < value - floor < 1.0 - radius:
                return floor
        return settle_geometric(self._narrow, word, sizes.word_bits, entropy, sizes.step_bits)


@final
class ScalarLaplace:
    """Draws k with P[k] proportional to exp(-|k| / scale)."""

    __slots__ = ("_magnitude", "width")

    def __init__(self, scale: Fraction, sizes: FreeSizes = SIZES) -> None:
        """Prepare the magnitude."""
        self._magnitude = ScalarGeometric(scale, sizes)
        self.width = self._magnitude.width + 1

    def draw(self, entropy: Entropy) -> int:
        """Draw one value."""
        while True:
            value = self.attempt(entropy.bits(self.width), entropy)
            if value is not None:
                return value

    def attempt(self, word: int, entropy: Entropy) -> int | None:
        """Make a value of one word of ``width`` bits, or nothing if it is rejected."""
        value = self._magnitude.attempt(word >> 1, entropy)
        if word & 1:
            return -value if value else None
        return value


@final
class ScalarGaussian:
    """Draws k with P[k] proportional to exp(-k**2 / (2 variance))."""

    __slots__ = ("_center", "_center_float", "_coins", "_half", "_proposal", "_variance", "width")

    def __init__(self, variance: Fraction, sizes: FreeSizes = SIZES) -> None:
        """Prepare the proposal, a discrete Laplace law of integer scale."""
        scale = math.isqrt(math.floor(variance)) + 1
        self._variance = variance
        self._coins = sizes.coins
        self._proposal = ScalarLaplace(Fraction(scale), sizes)
        self._center = variance / scale
        self._center_float = float(self._center)
        self._half = 0.5 / float(variance)
        self.width = self._proposal.width + sizes.coins.word_bits

    def draw(self, entropy: Entropy) -> int:
        """Draw one value."""
        while True:
            value = self.attempt(entropy.bits(self.width), entropy)
            if value is not None:
                return value

    def attempt(self, word: int, entropy: Entropy) -> int | None:
        """Make a value of one word of ``width`` bits, or nothing if it is rejected."""
        value = self._proposal.attempt(word >> self._coins.word_bits, entropy)
        if value is None:
            return None
        coin = word & ((1 << self._coins.word_bits) - 1)
        excess = abs(value) - self._center_float
        estimate = math.exp(-excess * excess * self._half)

        def exact() -> Fraction:
            return (abs(value) - self._center) ** 2 / (2 * self._variance)

        return value if exp_coin(coin, estimate, exact, entropy, self._coins) else None
