"""Choose a lattice and a tilt, and answer from both sides.

Trust: kernel.  The choices made here affect how tight an answer is, never whether it holds.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import ClassVar, Final, Protocol, final

import numpy as np

from discreet.loss.bracket import Bracket
from discreet.loss.engine.contour import SmoothedContour
from discreet.loss.engine.line_search import largest_epsilon_above, log_constant, smallest_epsilon
from discreet.loss.engine.privacy_loss_distribution import BoundSide, Lattice, TiltedConvolution
from discreet.loss.engine.rounding import ORDERS_MARGIN, bound_above
from discreet.loss.pairs.distribution import Floats, PrivacyLossDistribution
from discreet.loss.pairs.gaussian import GaussianPair
from discreet.loss.pairs.laplace import LaplacePair
from discreet.loss.pairs.pair import transforms

_POINTS: Final = 1 << 16  # aimed at in a window
_MOST_POINTS: Final = 1 << 19  # of a law
_COARSEST: Final = 10  # a cell this wide tells nothing
_COARSER: Final = 3  # tries on coarser lattices
_FINER: Final = 8
_BINS: Final = 512
_KEPT: Final = 6  # tilts
_KEPT_LATTICES: Final = 4
_WIDE: Final = 1e-5  # of an epsilon, relatively
_LOOSE: Final = 1e-4  # of a delta
_SAMPLED: Final = 64, 1500.0  # terms that a sampled Gaussian counts for, and its greatest height


class OnLattice(Protocol):
    """What has laws on a lattice: a pair, or a Rényi curve."""

    spread: ClassVar[bool]

    def grain(self) -> Fraction | None:
        """Give a spacing on whose multiples all atoms lie."""
        ...

    def largest(self) -> float:
        """Bound the largest finite loss."""
        ...

    def above(self, step: Fraction) -> PrivacyLossDistribution | None:
        """Bound the profile from above."""
        ...

    def below(self, step: Fraction) -> PrivacyLossDistribution | None:
        """Bound the profile from below."""
        ...


def common_grain(pairs: Sequence[tuple[OnLattice, int]]) -> Fraction | None:
    """The largest spacing that carries every atom; zero without atoms, None if there is none."""
    grains = [pair.grain() for pair, _ in pairs]
    known = [grain for grain in grains if grain is not None]
    return common_divisor(known) if len(known) == len(grains) else None


def common_divisor(spacings: Iterable[Fraction]) -> Fraction:
    """Return the largest common divisor of some spacings; zero if all of them are zero.

    >>> common_divisor([Fraction(1), Fraction(6, 5)])
    Fraction(1, 5)
    """
    divisor = Fraction(0)
    for other in spacings:
        top = math.gcd(divisor.numerator * other.denominator, other.numerator * divisor.denominator)
        divisor = Fraction(top, divisor.denominator * other.denominator)
    return divisor


@final
class LatticeSearch:
    """The lattice engine for one composition: pairs with laws, beside a Gaussian and extra laws.

    Every answer is a function of the question alone: each question chooses its lattices and tilts
    anew.  Laws and convolutions are kept by the arguments that determine them.
    """

    __slots__ = (
        "_coarse",
        "_known",
        "_lattice",
        "_pairs",
        "_rough",
        "_smooth",
        "_square",
        "_tilted",
    )

    def __init__(
        self, pairs: Sequence[tuple[OnLattice, int]], square: float, known: float = 0.0
    ) -> None:
        """``known`` is the mass of infinite losses that the caller adds.

        What the laws from above count as infinite beyond it is added here.
        """
        self._known, self._pairs, self._square = known, tuple(pairs), square
        ends = (pair.largest() for pair, _ in self._pairs)
        widest = max((end for end in ends if math.isfinite(end)), default=0.0)
        self._coarse = Fraction(widest) / _MOST_POINTS
        self._smooth: tuple[SmoothedContour | None] | None = None
        self._lattice = functools.lru_cache(maxsize=_KEPT_LATTICES)(self._made)
        self._rough = functools.lru_cache(maxsize=_KEPT_LATTICES)(self._binned)
        self._tilted = functools.lru_cache(maxsize=_KEPT)(self._convolved)

    def step(self, scale: float) -> Fraction:
        """A divisor of the common grain where that is coarse enough, else a power of two.

        ``scale`` is a length of the order of the answer's range on the axis of losses.  It is
        rounded up to a power of two, so that nearby questions share their lattices.
        """
        power = math.ceil(math.log2(max(scale, 1e-12)))
        wanted = max(Fraction(2) ** power / _POINTS, self._coarse)
        grain = common_grain(self._pairs)
        if grain and grain >= wanted:
            smooth = any(pair.spread for pair, _ in self._pairs)
            return grain / math.ceil(grain / wanted) if smooth else grain
        return wanted

    def lattice(self, side: BoundSide, scale: float) -> Lattice | None:
        """All laws of one side; None if a pair has none."""
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

    def delta(self, eps: float, scale: float, *, low: bool = True) -> Bracket | None:
        """Enclose the finite profile at eps (without ``low``, from above); None if that fails."""
        _, bracket = self._fitted(scale, lambda step: self._delta(step, eps, low=low))
        wide = bracket is None or bracket.width > _LOOSE * bracket.high
        smoothed = self._smoothly() if wide and low else None
        more = None if smoothed is None else smoothed.delta(eps)
        return bracket if more is None else more if bracket is None else bracket.meet(more)

    def epsilon(
        self, delta: float, ceiling: float, scale: float, *, low: bool = True, finer: bool = True
    ) -> Bracket | None:
        """Enclose the epsilon of the finite profile, known to be at most the ceiling.

        Without ``low``, from above: atoms are spread over the points around them, so that this end
        is far closer than the other, and a finer lattice would hardly move it.  Without ``finer``,
        from above and on the first lattice that fits, whatever the laws are.
        """
        both = finer and (low or any(pair.spread for pair, _ in self._pairs))
        used, bracket = self._fitted(
            scale, lambda step: self._epsilon(step, delta, ceiling, low=both)
        )
        if not finer or (bracket is not None and not both and used == scale):
            return bracket
        known = Bracket(0.0, ceiling) if bracket is None else bracket
        wide = known.width > _WIDE * known.high
        smoothed = self._smoothly() if wide else None
        more = None if smoothed is None else smoothed.epsilon(delta, known)
        if more is not None and more.width <= _WIDE * more.high:
            return more
        if wide and bracket is not None:
            bracket = self._refined(delta, used, bracket)
        return bracket if more is None else more if bracket is None else bracket.meet(more)

    def _refined(self, delta: float, scale: float, bracket: Bracket) -> Bracket:
        """Narrow an answer on a finer lattice, if there is one on which the laws fit."""
        step = self.step(scale / _FINER)
        if step >= self.step(scale):
            return bracket
        again = self._epsilon(step, delta, bracket.high, low=True)
        return bracket if again is None else bracket.meet(again)

    def _fitted(
        self, scale: float, ask: Callable[[Fraction], Bracket | None]
    ) -> tuple[float, Bracket | None]:
        """Answer on the first lattice that fits, each coarser than the one before."""
        for _ in range(_COARSER):
            bracket = ask(self.step(scale))
            if bracket is not None:
                return scale, bracket
            scale *= 4
        return scale, ask(self.step(scale))

    def _smoothly(self) -> SmoothedContour | None:
        """The smoothed contour; None where a family has no transform, or too many terms."""
        if self._smooth is None:
            self._smooth = (_smoothed(self._pairs, self._square),)
        return self._smooth[0]

    def _delta(self, step: Fraction, eps: float, *, low: bool) -> Bracket | None:
        upper = self._tilt("above", step, eps)
        if upper is None:
            return None
        high = min(upper.bound(eps) + self._extra(upper), 1.0)
        lower = self._tilt("below", step, eps) if low else None
        return Bracket(0.0 if lower is None else min(lower.bound(eps), high), high)

    def _epsilon(
        self, step: Fraction, delta: float, ceiling: float, *, low: bool
    ) -> Bracket | None:
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
        bottom = self._lower_epsilon(step, delta, high, tolerance) if low else 0.0
        return Bracket(bottom, high)

    def _lower_epsilon(self, step: Fraction, delta: float, high: float, tolerance: float) -> float:
        """Bound from below what is known to be at most ``high``."""
        orders = self._rough("below", step)  # its losses may all lie below the answer from above
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


def _smoothed(pairs: Sequence[tuple[OnLattice, int]], square: float) -> SmoothedContour | None:
    terms, highest = 0, math.inf
    for pair, _ in pairs:
        atoms = pair.atoms() if hasattr(pair, "atoms") else None
        if atoms is not None:
            terms += len(atoms.mass)
        elif isinstance(pair, LaplacePair):
            terms += 1
        elif getattr(pair, "rare_losses", False):  # a sample, mostly of nobody: nearly an atom
            terms, highest = terms + _SAMPLED[0], _SAMPLED[1]
        else:
            return None  # there is no transform
    gaussian = ((GaussianPair(Fraction(square)), 1),) if square else ()
    parts = transforms((*pairs, *gaussian))  # type: ignore[arg-type]  # pairs, none is a curve
    return None if parts is None else SmoothedContour(parts, terms, highest)


@final
class _Rough:
    """Cumulants of a lattice from bins of its laws, for the choice of an order only."""

    __slots__ = ("_bins", "_lattice", "_width")

    def __init__(self, lattice: Lattice) -> None:
        """Merge the masses of each bin at their mean."""
        self._lattice, h = lattice, float(lattice.step)
        self._width = h * max((len(law.mass) for law, _ in lattice.laws), default=1) / _BINS
        self._bins = [(*_binned(law, h), count) for law, count in lattice.laws]

    def moment(self, c: float) -> float:
        """Approximate K(c) + K_g(c) + ln C(c)."""
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
    low, high = math.log(1e-2), math.log(1e7)
    ratio = (math.sqrt(5) - 1) / 2
    x, y = high - ratio * (high - low), low + ratio * (high - low)
    fx, fy = objective(math.exp(x)), objective(math.exp(y))
    while high - low > 0.1:
        if fx < fy:
            high, y, fy = y, x, fx
            x = high - ratio * (high - low)
            fx = objective(math.exp(x))
        else:
            low, x, fx = x, y, fy
            y = low + ratio * (high - low)
            fy = objective(math.exp(y))
    return math.exp(round(0.5 * (low + high), 1))
