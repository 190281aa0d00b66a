"""The profile of a composition at many points, by the engine that is fastest for all of them.

Trust: kernel.  Every engine encloses the same profile; which one answers affects time and width.

Theorem keys: ``contour-aliasing``, ``tilted-lattice``.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Final, final

import numpy as np

from discreet.loss.bracket import Bracket
from discreet.loss.composition import Composition
from discreet.loss.engine.closed import gaussians
from discreet.loss.engine.contour import Contour
from discreet.loss.engine.knots import above_knots, below_knots, knots
from discreet.loss.engine.rounding import UNIT
from discreet.loss.engine.search import LatticeSearch, OnLattice
from discreet.loss.pairs.corners import corners
from discreet.loss.pairs.gaussian import GaussianPair
from discreet.loss.pairs.pair import Floats, Law, Pair, Transform
from discreet.loss.pairs.two_bounds import knows_curve

__all__ = ["is_fast", "profiles"]

_GOOD: Final = 1e-6
_FAINT: Final = 1e-25  # not worth a second engine
_RARE: Final = 1e-9
_DEEP: Final = 14.0  # standard deviations
_MOST: Final = 1 << 20


def profiles(composition: Composition, eps: Floats) -> tuple[Floats, Floats]:
    """Bound the profile at many eps >= 0 from both sides.

    >>> one = Composition(((GaussianPair(Fraction(1)), 1),))
    >>> low, high = profiles(one, np.array([0.0, 1.0]))
    >>> bool((low <= high).all()), round(float(high[1]), 9)
    (True, 0.126936738)
    """
    match composition.pairs:
        case ((GaussianPair(mu_squared=square), 1),) if composition.renyi is None:
            value, error = gaussians(float(square), eps)
            return np.maximum(value - error, 0.0), np.minimum(value + error, 1.0)
    reader = None if is_fast(composition) or _leaks(composition) else _reader(composition)
    ask = composition.delta if reader is None else reader.delta
    found = [ask(float(e)) for e in eps]
    return np.array([b.low for b in found]), np.array([b.high for b in found])


def is_fast(composition: Composition) -> bool:
    """Say whether the composition has a closed form."""
    if composition.renyi is not None:
        return False
    if composition.largest() <= 0:
        return True
    if len(composition.pairs) == 1:
        pair, count = composition.pairs[0]
        if pair.closed(count) is not None:
            return True
    return corners(composition.pairs) is not None


def _leaks(composition: Composition) -> bool:
    """Say whether the composition knows more than its pairs do."""
    return composition.renyi is not None or any(knows_curve(pair) for pair, _ in composition.pairs)


@final
class _Reader:
    """A contour where one is good, and a lattice with everything on it, Gaussians too."""

    __slots__ = ("_contour", "_infinite", "_largest", "_search")

    def __init__(self, composition: Composition) -> None:
        """Plan both."""
        self._infinite, self._largest = composition.infinity(), composition.largest()
        self._contour = _contour(composition.pairs)
        least = Fraction(self._infinite.high) + Fraction(_RARE)
        scale = composition.epsilon(min(least, Fraction(1))).high
        laws: list[tuple[OnLattice, int]] = [
            (_OnLattice(pair.mu_squared) if isinstance(pair, GaussianPair) else pair, count)
            for pair, count in composition.pairs
        ]
        self._search = LatticeSearch(laws, 0.0, 2 * scale, self._infinite.low)

    def delta(self, eps: float) -> Bracket:
        """Enclose the profile."""
        infinite = self._infinite
        if eps >= self._largest:
            return infinite
        found = Bracket(0.0, 1.0) if self._contour is None else _on_contour(self._contour, eps)
        if found.width > _GOOD * found.high and found.high > _FAINT:
            other = self._search.delta(eps)
            found = found if other is None else found.meet(other)
        low, high = infinite.low + found.low, infinite.high + found.high
        return Bracket.within(low * (1 - 1e-15), high * (1 + 1e-15), ceil=1.0)


@functools.lru_cache(maxsize=64)
def _reader(composition: Composition) -> _Reader:
    return _Reader(composition)


@final
@dataclass(frozen=True, slots=True)
class _OnLattice:
    """A Gaussian pair with laws on a lattice."""

    square: Fraction

    spread: ClassVar[bool] = True

    def grain(self) -> Fraction | None:
        """There are no atoms."""
        return Fraction(0)

    def above(self, step: Fraction) -> Law | None:
        """Connect the dots of the profile."""
        start, x, value, error = self._knots(step)
        return above_knots(start, x, np.minimum(value + error, 1.0), step) if len(x) else None

    def below(self, step: Fraction) -> Law | None:
        """Connect lowered dots of the profile."""
        start, x, value, error = self._knots(step)
        ends = np.maximum(value - error, 0.0), np.minimum(value + error, 1.0)
        return below_knots(start, x, ends, 1 - UNIT, step) if len(x) else None

    def _knots(self, step: Fraction) -> tuple[int, Floats, Floats, Floats]:
        reach = float(self.square) / 2 + _DEEP * math.sqrt(self.square)
        if 2 * reach > _MOST * step:
            return 0, np.zeros(0), np.zeros(0), np.zeros(0)
        start, x = knots(-reach, reach, step)
        return start, x, *gaussians(float(self.square), x)


def _on_contour(contour: Contour, eps: float) -> Bracket:
    """Ask the sums that were evaluated for other points first: each bounds the profile anywhere."""
    for known in contour._sums.values():  # noqa: SLF001  (the engine plans for one point at a time)
        if known is not None:
            low, high = known.ends(eps)
            if high - low <= _GOOD / 10 * high < _GOOD:
                return Bracket.within(low, high, ceil=1.0)
    return contour.delta(eps)


def _contour(pairs: tuple[tuple[Pair, int], ...]) -> Contour | None:
    """Gather the transforms; None where a family has none, or where no loss is spread out."""
    families: dict[type, list[tuple[Pair, int]]] = {}
    for pair, count in pairs:
        families.setdefault(type(pair), []).append((pair, count))
    found: list[Transform | None] = [
        family.bundle(members)  # type: ignore[attr-defined]
        for family, members in families.items()
    ]
    known = [transform for transform in found if transform is not None]
    if len(known) < len(found):
        return None
    return Contour(known)
