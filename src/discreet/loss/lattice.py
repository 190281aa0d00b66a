"""Privacy loss distributions (PLD) on a lattice: tilt, convolve once, add up.

Trust: kernel.

Theorem (key ``tilted-lattice``).  Let each loss have a distribution on the lattice h Z that bounds
its profile (see ``PrivacyLossDistribution``).  With K = sum of n_i ln M_i(c) and r the convolution
of the distributions tilted by e**(cx) and divided by M_i(c), the product's finite profile is e**K
sum_k r_k e**(-c x_k) g(eps - x_k), where g is the profile of what is not on the lattice (a
Gaussian, or nothing).  A cyclic convolution of length N puts the tilted mass outside its window in
wrong places: that mass is at most tau (Chernoff), and changes the sum by at most e**(K + K_g - c
eps) tau.

Theorem (key ``transform-error``; Higham 2002, Accuracy and Stability of Numerical Algorithms,
chapter 24; proof in docs/proofs/accounting.md).  A fast Fourier transform of length N errs in each
output by at most 16 u log2(N) times the sum of the inputs' moduli.  The rounding enters as a bound
on each entry (section 6); every term is relative to e**(K - c eps), so small profiles are as
accurate as large.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Literal, final

import numpy as np

from discreet.loss.dots import Floats, PrivacyLossDistribution
from discreet.loss.gaussian import FAINTEST, gaussian_deltas
from discreet.loss.moments import largest_epsilon_above, log_constant, minimizer, smallest_epsilon
from discreet.loss.pair import Pair
from discreet.loss.rounding import (
    CUT_MARGIN,
    LOG_MARGIN,
    ORDERS_MARGIN,
    TINIEST,
    UNIT,
    Bracket,
    bound_above,
    bound_below,
)


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

    Blocks are summed from their own ends, all at once, and then get what later blocks hand over: a
    term passes at most as many factors as steps (docs/proofs/accounting.md, section 6).
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


@final
@dataclass(frozen=True, slots=True)
class Lattice:
    """Distributions with counts on one lattice, and a Gaussian beside it."""

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
        """Gather distributions; masses without a logarithm in floats move to the side of the bound.

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
        mass = np.roll(mass, (offset - start) % length)
        sign = 1.0 if self.side == "above" else -1.0
        entries = np.maximum(mass + sign * float(2 * wrong.sum() / length), 0.0)
        sums = (entries, entries) if self.square else suffix_sums(entries, c, h)
        return TiltedConvolution(self, c, self.cumulant(c), entries, start, relative, sums)

    def _window(self, c: float) -> tuple[int, int] | None:
        """Cover all but 1e-13 of the tilted distribution on each side (Chernoff)."""
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
    """Tilt a distribution, divide by its total, and wrap it around its mean."""
    weights, _ = _weigh(law, logs, slope)
    weights /= weights.sum()
    place = np.arange(len(weights))
    center = round(float((weights * place).sum()))  # a product of arrays would wake threads
    wrapped = np.bincount((place - center) % length, weights=weights, minlength=length)
    return center, np.asarray(wrapped, np.float64)


@final
@dataclass(frozen=True, slots=True)
class TiltedConvolution:
    """A convolution under one tilt, from which the profile near its epsilon is read.

    Its entries were raised or lowered by their error; ``relative`` bounds that of all of them.
    """

    lattice: Lattice
    c: float
    total: float
    mass: Floats
    start: int
    relative: float
    sums: tuple[Floats, Floats]

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


_POINTS: Final = 1 << 16  # aimed at in a window
_MOST_POINTS: Final = 1 << 19  # of a distribution
_COARSEST: Final = 10  # a cell this wide reveals nothing
_COARSER: Final = 3  # tries on coarser lattices
_FINER: Final = 8
_WIDE: Final = 2e-5  # of an epsilon, relatively: a finer lattice is tried
_BINS: Final = 512
_KEPT: Final = 6  # tilts
_KEPT_LATTICES: Final = 4


def common_divisor(spacings: Iterable[Fraction]) -> Fraction:
    """Return the largest common divisor of some spacings; zero if all of them are zero."""
    divisor = Fraction(0)
    for other in spacings:
        top = math.gcd(divisor.numerator * other.denominator, other.numerator * divisor.denominator)
        divisor = Fraction(top, divisor.denominator * other.denominator)
    return divisor


@final
class LatticeSearch:
    """The lattice engine for one composition: pairs with distributions, and one Gaussian.

    Every answer is a function of the question alone: each question chooses its lattices and tilts
    anew.  Distributions and convolutions are kept by the arguments that determine them.
    """

    __slots__ = (
        "_coarse",
        "_known",
        "_lattice",
        "_pairs",
        "_rough",
        "_square",
        "_tilted",
    )

    def __init__(
        self, pairs: Sequence[tuple[Pair, int]], square: float, known: float = 0.0
    ) -> None:
        """``known`` is the mass of infinite losses that the caller adds.

        Mass beyond it, which upper distributions count as infinite, is added here.
        """
        self._known, self._pairs, self._square = known, tuple(pairs), square
        ends = (pair.largest() for pair, _ in self._pairs)
        widest = max((end for end in ends if math.isfinite(end)), default=0.0)
        self._coarse = Fraction(widest) / _MOST_POINTS
        self._lattice = functools.lru_cache(maxsize=_KEPT_LATTICES)(self._made)
        self._rough = functools.lru_cache(maxsize=_KEPT_LATTICES)(self._binned)
        self._tilted = functools.lru_cache(maxsize=_KEPT)(self._convolved)

    def step(self, scale: float) -> Fraction:
        """A divisor of the common grain if that is coarse enough, else a power of two.

        ``scale`` is a length of the order of the answer's range on the axis of losses.  It is
        rounded up to a power of two, so that nearby questions share their lattices.
        """
        power = math.ceil(math.log2(max(scale, 1e-12)))
        wanted = max(Fraction(2) ** power / _POINTS, self._coarse)
        grains = [pair.grain() for pair, _ in self._pairs]
        known = [grain for grain in grains if grain is not None]
        grain = common_divisor(known) if len(known) == len(grains) else None
        if grain and grain >= wanted:
            smooth = any(pair.spread for pair, _ in self._pairs)
            return grain / math.ceil(grain / wanted) if smooth else grain
        return wanted

    def lattice(self, side: BoundSide, scale: float) -> Lattice | None:
        return self._lattice(side, self.step(scale))

    def _made(self, side: BoundSide, step: Fraction) -> Lattice | None:
        if step > _COARSEST:
            return None
        laws: list[tuple[PrivacyLossDistribution, int]] = []
        for pair, count in self._pairs:
            law = pair.above(step) if side == "above" else pair.below(step)
            if law is None or not 0.0 < float(law.mass.sum()) < math.inf:
                return None
            laws.append((law, count))
        return Lattice.of(side, step, laws, self._square)

    def _binned(self, side: BoundSide, step: Fraction) -> _Rough | None:
        lattice = self._lattice(side, step)
        return None if lattice is None else _Rough(lattice)

    def _convolved(self, side: BoundSide, step: Fraction, c: float) -> TiltedConvolution | None:
        lattice = self._lattice(side, step)
        return None if lattice is None else lattice.tilted(c)

    def _tilt(self, side: BoundSide, step: Fraction, eps: float) -> TiltedConvolution | None:
        rough = self._rough(side, step)
        return None if rough is None else self._tilted(side, step, rough.saddle(eps))

    def _extra(self, upper: TiltedConvolution) -> float:
        return bound_above(upper.lattice.infinite() - self._known) * (1 + ORDERS_MARGIN)

    def _raised(self, upper: TiltedConvolution) -> Callable[[float], float]:
        extra = self._extra(upper)
        return lambda eps: upper.bound(eps) + extra

    def delta(self, eps: float, scale: float) -> Bracket | None:
        """Enclose the finite profile at eps; None if that fails."""
        return self._fitted(scale, lambda step: self._delta(step, eps))

    def epsilon(self, delta: float, ceiling: float, scale: float) -> Bracket | None:
        """Enclose the epsilon of the finite profile, known to be at most the ceiling."""
        bracket = self._fitted(scale, lambda step: self._epsilon(step, delta, ceiling))
        finer = self.step(scale / _FINER)
        if bracket is None or bracket.width <= _WIDE * bracket.high or finer >= self.step(scale):
            return bracket
        again = self._epsilon(finer, delta, bracket.high)
        return bracket if again is None else bracket.meet(again)

    def _fitted(self, scale: float, ask: Callable[[Fraction], Bracket | None]) -> Bracket | None:
        """Answer on the first lattice that fits, each coarser than the one before."""
        for _ in range(_COARSER):
            if (bracket := ask(self.step(scale))) is not None:
                return bracket
            scale *= 4
        return ask(self.step(scale))

    def _delta(self, step: Fraction, eps: float) -> Bracket | None:
        upper = self._tilt("above", step, eps)
        if upper is None:
            return None
        high = min(upper.bound(eps) + self._extra(upper), 1.0)
        lower = self._tilt("below", step, eps)
        return Bracket(0.0 if lower is None else min(lower.bound(eps), high), high)

    def _epsilon(self, step: Fraction, delta: float, ceiling: float) -> Bracket | None:
        tolerance = 1e-9 * max(1.0, ceiling)
        rough = self._rough("above", step)
        if rough is None:
            return None
        upper = self._tilted("above", step, rough.order(-math.log(delta)))
        high = ceiling
        for _ in range(2):  # the second time with the tilt of the answer itself
            if upper is None:
                return None
            bound = self._raised(upper)
            high = smallest_epsilon(bound, delta, high=high, guess=high, tolerance=tolerance)
            upper = self._tilt("above", step, high)
        return Bracket(self._lower_epsilon(step, delta, high, tolerance), high)

    def _lower_epsilon(self, step: Fraction, delta: float, high: float, tolerance: float) -> float:
        """Bound from below what is known to be at most ``high``."""
        orders = self._rough("below", step)  # its losses may all are below the answer from above
        low, need = 0.0, -math.log(delta)
        for share in (0.0, 1e-5, 1e-3):  # the tilt of the answer, then of points below it
            if orders is None or low > high * (1 - 1e-4):
                break
            c = orders.saddle(high * (1 - share)) if share else orders.order(need)
            lower = self._tilted("below", step, c)
            if lower is not None:
                low = max(
                    low, largest_epsilon_above(lower.bound, delta, high=high, tolerance=tolerance)
                )
        return low


@final
class _Rough:
    """Cumulants of a lattice from bins of its distributions, for the choice of an order only.

    The bounds that pairs know may be far too large, such as where a sampled record is added.
    """

    __slots__ = ("_bins", "_lattice", "_width")

    def __init__(self, lattice: Lattice) -> None:
        self._lattice, h = lattice, float(lattice.step)
        self._width = h * max((len(law.mass) for law, _ in lattice.laws), default=1) / _BINS
        self._bins = [(*_binned(law, h), count) for law, count in lattice.laws]

    def moment(self, c: float) -> float:
        rest = c * (c + 1) * self._lattice.square / 2 + log_constant(c)
        if c * self._width > 0.5:
            return self._lattice.cumulant(c) + rest
        total = 0.0
        for place, mass, count in self._bins:
            exponent = c * place
            top = float(exponent.max())
            total += count * (top + math.log(float(mass @ np.exp(exponent - top))))
        return total + rest

    def saddle(self, eps: float) -> float:
        """Minimize K(c) + K_g(c) + ln C(c) - c eps over the order; any order is valid."""
        return _golden(lambda c: self.moment(c) - c * eps)

    def order(self, need: float) -> float:
        """Minimize the epsilon that one order gives for a profile of e**-need."""
        return _golden(lambda c: (self.moment(c) + need) / c)


def _binned(law: PrivacyLossDistribution, h: float) -> tuple[Floats, Floats]:
    width = -(-len(law.mass) // _BINS)
    starts = np.arange(0, len(law.mass), width)
    mass = np.add.reduceat(law.mass, starts)
    mean = np.add.reduceat(law.mass * np.arange(len(law.mass)), starts)
    kept = mass > 0
    return (law.start + mean[kept] / mass[kept]) * h, mass[kept]


def _golden(objective: Callable[[float], float]) -> float:
    """Return a round order, so that questions nearby share it."""
    ends = math.log(1e-2), math.log(1e7)
    return math.exp(round(minimizer(lambda x: objective(math.exp(x)), *ends, close=0.1), 1))
