"""Choose a lattice and a tilt, and answer from both sides.

Trust: kernel.  The choices made here affect how tight an answer is, never whether it holds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import ClassVar, Final, Protocol, final

from discreet.loss.bracket import Bracket
from discreet.loss.engine.grid import Lattice, Side, Tilted
from discreet.loss.engine.invert import last_above, smallest
from discreet.loss.engine.moments import log_constant
from discreet.loss.pairs.pair import Law

__all__ = ["LatticeSearch", "OnLattice", "common_grain"]

_POINTS: Final = 1 << 16  # aimed at in a window
_COARSEST: Final = 10  # a cell this wide tells nothing
_FINEST: Final = Fraction(1, 1 << 20)


class OnLattice(Protocol):
    """What has laws on a lattice: a pair, or a Renyi curve."""

    spread: ClassVar[bool]

    def grain(self) -> Fraction | None:
        """Give a spacing on whose multiples all atoms lie."""
        ...

    def above(self, step: Fraction) -> Law | None:
        """Bound the profile from above."""
        ...

    def below(self, step: Fraction) -> Law | None:
        """Bound the profile from below."""
        ...


def common_grain(pairs: Sequence[tuple[OnLattice, int]]) -> Fraction | None:
    """The largest spacing that carries every atom; zero without atoms, None if there is none."""
    grain = Fraction(0)
    for pair, _ in pairs:
        own = pair.grain()
        if own is None:
            return None
        grain = _gcd(grain, own)
    return grain


def _gcd(a: Fraction, b: Fraction) -> Fraction:
    if not a or not b:
        return a or b
    top = math.gcd(a.numerator * b.denominator, b.numerator * a.denominator)
    return Fraction(top, a.denominator * b.denominator)


@final
class LatticeSearch:
    """The lattice engine for one composition: pairs with laws, beside a Gaussian and extra laws."""

    __slots__ = ("_known", "_lattices", "_pairs", "_scale", "_square", "_tilts")

    def __init__(
        self,
        pairs: Sequence[tuple[OnLattice, int]],
        square: float,
        scale: float,
        known: float = 0.0,
    ) -> None:
        """``scale`` is a length of the order of the answer's range on the axis of losses.

        ``known`` is the mass of infinite losses that the caller adds; what the laws from above
        count as infinite beyond it is added here.
        """
        self._known = known
        self._pairs, self._square, self._scale = tuple(pairs), square, scale
        self._lattices: dict[Side, Lattice | None] = {}
        self._tilts: dict[tuple[Side, float], Tilted | None] = {}

    def step(self) -> Fraction:
        """A divisor of the common grain where that is coarse enough, else a power of two."""
        wanted = Fraction(max(self._scale, 1e-12)) / _POINTS
        grain = common_grain(self._pairs)
        if grain and grain >= wanted:
            smooth = any(pair.spread for pair, _ in self._pairs)
            return grain / math.ceil(grain / wanted) if smooth else grain
        power = math.ceil(math.log2(float(wanted)))
        return max(Fraction(2) ** power, _FINEST * Fraction(wanted).limit_denominator(1 << 60))

    def lattice(self, side: Side) -> Lattice | None:
        """All laws of one side; None if a pair has none."""
        if side not in self._lattices:
            step = self.step()
            laws: list[tuple[Law, int]] = []
            if step > _COARSEST:
                self._lattices[side] = None
                return None
            for pair, count in self._pairs:
                law = pair.above(step) if side == "above" else pair.below(step)
                if law is None or not law.mass.any():
                    break
                laws.append((law, count))
            complete = len(laws) == len(self._pairs)
            self._lattices[side] = Lattice.of(side, step, laws, self._square) if complete else None
        return self._lattices[side]

    def _tilt(self, side: Side, eps: float) -> Tilted | None:
        lattice = self.lattice(side)
        if lattice is None:
            return None
        c = _saddle(lattice, eps)
        key = (side, c)
        if key not in self._tilts:
            self._tilts.clear()
            self._tilts[key] = lattice.tilted(c)
        return self._tilts[key]

    def _extra(self, upper: Tilted) -> float:
        return max(0.0, upper.lattice.infinite() - self._known) * (1 + 1e-12)

    def _raised(self, upper: Tilted) -> Callable[[float], float]:
        extra = self._extra(upper)
        return lambda eps: upper.bound(eps) + extra

    def delta(self, eps: float, *, low: bool = True) -> Bracket | None:
        """Enclose the finite profile at eps (without ``low``, from above); None if that fails."""
        upper = self._tilt("above", eps)
        if upper is None:
            return None
        high = min(upper.bound(eps) + self._extra(upper), 1.0)
        lower = self._tilt("below", eps) if low else None
        return Bracket(0.0 if lower is None else min(lower.bound(eps), high), high)

    def epsilon(self, delta: float, ceiling: float) -> Bracket | None:
        """Enclose the epsilon of the finite profile, known to be at most the ceiling."""
        tolerance = 1e-9 * max(1.0, ceiling)
        lattice = self.lattice("above")
        if lattice is None:
            return None
        upper = lattice.tilted(_order(lattice, -math.log(delta)))
        high = ceiling
        for _ in range(2):  # the second time with the tilt of the answer itself
            if upper is None:
                return None
            bound = self._raised(upper)
            high = smallest(bound, delta, high=high, guess=high, tolerance=tolerance)
            upper = self._tilt("above", high)
        under = self.lattice("below")  # its losses may all lie below the answer from above
        lower = None if under is None else under.tilted(_order(under, -math.log(delta)))
        if lower is None:
            return Bracket(0.0, high)
        return Bracket(last_above(lower.bound, delta, high=high, tolerance=tolerance), high)


def _saddle(lattice: Lattice, eps: float) -> float:
    """Minimize K(c) + K_g(c) + ln C(c) - c eps over the order; any order is valid."""
    return _golden(lambda c: _moment(lattice, c) - c * eps)


def _order(lattice: Lattice, need: float) -> float:
    """Minimize the epsilon that one order gives for a profile of e**-need."""
    return _golden(lambda c: (_moment(lattice, c) + need) / c)


def _moment(lattice: Lattice, c: float) -> float:
    return lattice.cumulant(c) + c * (c + 1) * lattice.square / 2 + log_constant(c)


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
