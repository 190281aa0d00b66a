"""Privacy loss distributions (PLD) on a lattice: tilt, convolve once, add up.

Trust: kernel.

Definition.  decayed(r, rate)_k is the sum over j >= k of r_j e**(-rate (j - k)).
Entries are cut into blocks of about as many entries as there are blocks; each block is summed from
its own end, all of them at once, and then gets what the blocks after it hand over.  A term that
comes from n steps away passes at most n factors, each for one step or more, so the bound of
docs/proofs/accounting.md, section 6, on the error of n single steps holds.

Theorem (key ``tilted-lattice``).  Let each loss have a law on the lattice h Z that bounds its
profile (see ``PrivacyLossDistribution``).  With K = sum of n_i ln M_i(c) and r the convolution of
the laws tilted by e**(cx) and divided by M_i(c), the product's finite profile is
e**K sum_k r_k e**(-c x_k) g(eps - x_k),
where g is the profile of what is not on the lattice (a Gaussian, or nothing).  A cyclic convolution
of length N puts the tilted mass outside its window in wrong places: that mass is at most tau
(Chernoff), and changes the sum by at most e**(K + K_g - c eps) tau.

The rounding of transforms (key ``transform-error``) enters as a bound eta on each entry
(docs/proofs/accounting.md, section 6); every term is relative to e**(K - c eps), so small profiles
are as accurate as large.

Theorem (key ``transform-error``; Higham 2002, Accuracy and Stability of Numerical Algorithms,
chapter 24; proof in docs/proofs/accounting.md).  A fast Fourier transform of length N errs in each
output by at most 16 u log2(N) times the sum of the inputs' moduli.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Literal, final

import numpy as np

from discreet.loss.engine.closed_forms import FAINTEST, gaussian_deltas
from discreet.loss.engine.rounding import (
    CUT_MARGIN,
    LOG_MARGIN,
    ORDERS_MARGIN,
    TINIEST,
    UNIT,
    bound_above,
    bound_below,
)
from discreet.loss.pairs.distribution import Floats, PrivacyLossDistribution


def suffix_sums(entries: Floats, c: float, h: float) -> tuple[Floats, Floats]:
    """Return D_k and B_k: sums over j >= k of r_j e**(-cu) (1 - e**-u) and of r_j e**(-(c+1)u).

    Here u = (j - k)h.  B_k = r_k + e**(-(c+1)h) B_{k+1}, D_k = e**(-ch) (D_{k+1} - expm1(-h)
    B_{k+1}): all terms are at least zero.  One of weight e**(-cu) has passed u/h steps, with an
    error of 20 units each; those with cu > 30 weigh less than the tail that is left out.
    """
    far = decayed_sums(entries, (c + 1) * h)
    inner = np.append(far[1:], 0.0) * (-math.expm1(-h) * math.exp(-c * h))
    return decayed_sums(inner, c * h), far


def decayed_sums(entries: Floats, rate: float) -> Floats:
    """Sum the entries from each on, a factor of e**-rate for every step.

    >>> decayed_sums(np.array([1.0, 1.0, 1.0]), math.log(2)).tolist()
    [1.75, 1.5, 1.0]
    """
    width = math.isqrt(len(entries)) + 1
    blocks = -(-len(entries) // width)
    sums = np.zeros((blocks, width))
    sums.ravel()[: len(entries)] = entries
    sums = sums.T.copy()  # one place of all blocks in a row
    step, leap = math.exp(-rate), math.exp(-rate * width)
    for place in range(width - 2, -1, -1):
        sums[place] += step * sums[place + 1]
    handed = np.zeros(blocks)
    for block in range(blocks - 2, -1, -1):
        handed[block] = sums[0, block + 1] + leap * handed[block + 1]
    sums += np.exp(-rate * np.arange(width, 0, -1))[:, None] * handed
    return sums.T.ravel()[: len(entries)]


BoundSide = Literal["above", "below"]

_TAIL: Final = math.log(1e13)  # what a window leaves out on each side (section 6)
_OUTSIDE: Final = 2.2e-13  # twice that, and what sums neglect (section 6)
_LARGEST: Final = 1 << 20
_SHARP: Final = 1e-5  # beside _OUTSIDE


@final
@dataclass(frozen=True, slots=True)
class Lattice:
    """Laws with counts on one lattice, and a Gaussian beside it."""

    side: BoundSide
    step: Fraction
    laws: tuple[tuple[PrivacyLossDistribution, int], ...]
    square: float
    logs: tuple[Floats, ...]

    def cumulant(self, c: float) -> float:
        """Evaluate the sum of ln M_i(c); c may be negative."""
        slope = c * float(self.step)
        total = 0.0
        for (law, count), logs in zip(self.laws, self.logs, strict=True):
            weights, top = _weigh(law, logs, slope)
            total += count * (slope * law.start + top + math.log(float(weights.sum())))
        return total

    @classmethod
    def of(
        cls,
        side: BoundSide,
        step: Fraction,
        laws: Sequence[tuple[PrivacyLossDistribution, int]],
        square: float,
    ) -> Lattice:
        """Gather laws; masses too small for their own logarithm move to the side of the bound.

        So does a Gaussian with too small a mu: a profile rises with it.
        """
        if 0 < square < FAINTEST:
            square = FAINTEST if side == "above" else 0.0
        kept, logs = [], []
        for law, count in laws:
            faint = (law.mass < TINIEST) & (law.mass > 0)
            mass = np.where(faint, TINIEST if side == "above" else 0.0, law.mass)
            kept.append((PrivacyLossDistribution(law.start, mass, law.infinite, law.drift), count))
            with np.errstate(divide="ignore"):
                logs.append(np.log(mass))
        return cls(side, step, tuple(kept), square, tuple(logs))

    def drift(self) -> float:
        """How far the laws together may shift the loss."""
        return sum(count * law.drift for law, count in self.laws) * (1 + ORDERS_MARGIN)

    def infinite(self) -> float:
        """The mass of infinite losses, rounded towards the side of the bound."""
        log_finite = sum(
            count * math.log1p(-min(law.infinite, 1.0)) if law.infinite < 1 else -math.inf
            for law, count in self.laws
        )
        return -math.expm1(log_finite) * (1 + (LOG_MARGIN if self.side == "above" else -LOG_MARGIN))

    def tilted(self, c: float) -> TiltedConvolution | None:
        """Convolve under the tilt c > 0; None if the window would not fit."""
        empty = any(not law.mass.any() for law, _ in self.laws)
        window = None if empty else self._window(c)
        if window is None:
            return None
        start, length = window
        h = float(self.step)
        logs = np.zeros(length // 2 + 1, np.complex128)
        spread = np.zeros(length // 2 + 1)
        stages = 16 * UNIT * math.log2(length)
        offset, relative = 0, 0.0
        for (law, count), logged in zip(self.laws, self.logs, strict=True):
            center, weights = _tilt(law, logged, c * h, length)
            value = np.fft.rfft(weights)
            size = np.maximum(np.abs(value), TINIEST)
            log_value = np.log(np.where(size <= TINIEST, TINIEST, value))
            logs += count * log_value
            slack = np.log1p((stages + 8 * UNIT) / size)
            spread += count * (slack + UNIT * (16 + (8 + len(self.laws)) * np.abs(log_value)))
            offset += count * (law.start + center)
            reach = c * h * max(abs(law.start), abs(law.start + len(law.mass)))
            relative += count * UNIT * (96 + math.log2(len(law.mass) + 1) + 24 * reach)
        product = np.exp(logs)
        modulus = np.abs(product)
        wrong = modulus * (np.expm1(np.minimum(spread, 50.0)) + 2 * stages)
        mass = np.fft.irfft(product, length)
        errors = ConvolutionErrors(float(2 * wrong.sum() / length), relative)
        return TiltedConvolution.of(
            self, c, np.roll(mass, (offset - start) % length), start, errors
        )

    def _window(self, c: float) -> tuple[int, int] | None:
        """Cover all but 1e-13 of the tilted law on each side (Chernoff)."""
        base, h = self.cumulant(c), float(self.step)
        shifts = [c * f for f in (0.03, 0.1, 0.3, 1.0, 3.0)] + [1.0 / (h * 1e3), 10.0]
        high = min((self.cumulant(c + s) - base + _TAIL) / s for s in shifts)
        low = max((base - self.cumulant(c - s) - _TAIL) / s for s in shifts)
        ends = [
            (sum(n * law.start for law, n in self.laws)),
            (sum(n * (law.start + len(law.mass) - 1) for law, n in self.laws)),
        ]
        first = max(math.floor(low / h) - 2, ends[0])
        last = min(math.ceil(high / h) + 2, ends[1])
        length = max(last - first + 1, 16)
        if length > _LARGEST:
            return None
        return first, _fast_length(length)


def _fast_length(least: int) -> int:
    """Return the smallest product of twos, threes and fives that is not below a length."""
    best = 1 << (least - 1).bit_length()
    five = 1
    while five < best:
        odd = five
        while odd < best:
            best = min(best, odd << (-(-least // odd) - 1).bit_length())
            odd *= 3
        five *= 5
    return best


def _weigh(law: PrivacyLossDistribution, logs: Floats, slope: float) -> tuple[Floats, float]:
    """Tilt the masses, divided by about the largest of them; return that one's logarithm too."""
    weights = slope * np.arange(len(law.mass))
    top = float((weights + logs).max())
    weights -= top  # in place from here on: fresh memory would cost as much as the exponentials
    np.minimum(weights, 700.0, out=weights)
    np.exp(weights, out=weights)
    weights *= law.mass
    return weights, top


def _tilt(
    law: PrivacyLossDistribution, logs: Floats, slope: float, length: int
) -> tuple[int, Floats]:
    """Tilt a law, divide by its total, and wrap it around its mean."""
    weights, _ = _weigh(law, logs, slope)
    weights /= weights.sum()
    place = np.arange(len(weights))
    center = round(float((weights * place).sum()))  # a product of arrays would wake threads
    wrapped = np.bincount((place - center) % length, weights=weights, minlength=length)
    return center, np.asarray(wrapped, np.float64)


@final
@dataclass(frozen=True, slots=True)
class TiltedConvolution:
    """A convolution under one tilt, from which the profile near its epsilon is read."""

    lattice: Lattice
    c: float
    total: float
    mass: Floats
    start: int
    relative: float
    sums: tuple[Floats, Floats]

    @classmethod
    def of(
        cls, lattice: Lattice, c: float, mass: Floats, start: int, errors: ConvolutionErrors
    ) -> TiltedConvolution:
        """Raise or lower the entries by their error, and add them up from above."""
        sign = 1.0 if lattice.side == "above" else -1.0
        entries = np.maximum(mass + sign * errors.entry, 0.0)
        sums = (
            (entries, entries) if lattice.square else suffix_sums(entries, c, float(lattice.step))
        )
        return cls(lattice, c, lattice.cumulant(c), entries, start, errors.relative, sums)

    def bound(self, eps: float) -> float:
        """Bound the finite profile at eps from the side of the lattice."""
        sign = 1.0 if self.lattice.side == "above" else -1.0
        eps = eps - sign * self.lattice.drift() * (1 + CUT_MARGIN)
        value, extra, loss = self._mixed(eps) if self.lattice.square else self._plain(eps)
        ends = (self.start, self.start + len(self.mass))
        span = max(abs(end) for end in ends) * float(self.lattice.step)
        reach = self.c * (span + 2 * abs(eps)) + abs(self.total) + extra
        relative = self.relative + loss + UNIT * (64 * reach + 64) + ORDERS_MARGIN
        inside = value * (1 + sign * relative)
        outside = sign * _OUTSIDE
        scale = self.total + extra - self.c * eps
        total = max(inside + outside, 0.0) * math.exp(min(scale, 700.0))  # NaN stays NaN
        return bound_above(total) if sign > 0 else bound_below(total)

    def sharp(self, eps: float) -> bool:
        """Say whether what is cut off hardly counts at eps; not beside a Gaussian."""
        return not self.lattice.square and self._plain(eps)[0] > _SHARP

    def _plain(self, eps: float) -> tuple[float, float, float]:
        """Without a Gaussian: two sums from the first entry above eps on, moved by a part cell."""
        h = float(self.lattice.step)
        first = max(math.floor(eps / h) - self.start, 0)
        while first < len(self.mass) and (self.start + first) * h <= eps:
            first += 1
        if first >= len(self.mass):
            return 0.0, 0.0, 0.0
        gap = (self.start + first) * h - eps
        near, far = float(self.sums[0][first]), float(self.sums[1][first])
        value = math.exp(-self.c * gap) * (near - math.expm1(-gap) * far)
        return value, 0.0, 640 * UNIT * (1 + min(1 / (self.c * h), float(len(self.mass))))

    def _mixed(self, eps: float) -> tuple[float, float, float]:
        """Beside a Gaussian: weigh all entries but those that count less than e**-45 each."""
        h, c, square = float(self.lattice.step), self.c, self.lattice.square
        low, high = square * (c + 0.5) + 10 * math.sqrt(square), 45.0 / c
        first = min(max(math.floor((eps - low) / h) - 2 - self.start, 0), len(self.mass))
        last = min(max(math.ceil((eps + high) / h) + 2 - self.start, first), len(self.mass))
        x = (self.start + np.arange(first, last)) * h - eps
        value, error = gaussian_deltas(square, -x)
        sign = 1.0 if self.lattice.side == "above" else -1.0
        bounded = np.maximum(value + sign * error, 0.0)
        steep = np.maximum(-x / math.sqrt(square) - math.sqrt(square) / 2, 0.0)
        with np.errstate(divide="ignore"):
            log_value = np.minimum(np.log(bounded), -0.49999999 * steep * steep)
        ceiling = c * (c + 1) * square / 2
        weights = np.exp(np.minimum(log_value - c * x - ceiling, 0.0))
        return float((self.mass[first:last] * weights).sum()), ceiling, UNIT * len(x)


@final
@dataclass(frozen=True, slots=True)
class ConvolutionErrors:
    """Bounds on the error of each entry, and on the relative error of all."""

    entry: float
    relative: float
