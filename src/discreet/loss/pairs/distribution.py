"""What an engine sees of a loss: its distribution on a lattice, its atoms, its cumulants on a line.

Trust: kernel.

``PrivacyLossDistribution`` bounds a profile from above or from below by masses on a lattice;
``LossList`` names the losses one by one, where they are few; ``Transform`` gives
ln E[e**(zL); L < inf] on a vertical line of complex orders, with error bounds.

Products of lists.  Losses add up and masses multiply.  Masses are positive, so an entry that is a
sum of n products errs by n + 1 units relatively, in whatever order they are added; losses that
agree up to rounding are merged, and how far they lay apart is added to the drift.  Masses below
``_FLOOR`` are taken off the list and counted as missing (docs/proofs/accounting.md, section 14).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, Protocol, final

import numpy as np
from numpy.typing import NDArray

from discreet.loss.engine.rounding import CUT_MARGIN, TINIEST, UNIT

Floats = NDArray[np.floating[Any]]
Complexes = NDArray[np.complexfloating[Any, Any]]

LARGEST_PLACE: Final = 1 << 50
"""Places on a lattice up to this one are whole numbers as floats too, as are their small sums."""


@final
@dataclass(frozen=True, slots=True)
class PrivacyLossDistribution:
    """Masses at the losses ``(start + k) * step``, for a step that the caller chose.

    A distribution from above bounds the profile at eps by its own at eps - drift, one from below by
    its own at eps + drift.  ``infinite`` is the mass at an infinite loss.
    """

    start: int
    mass: Floats
    infinite: float = 0.0
    drift: float = 0.0


_FLOOR: Final = 1e-70
_CLOSE: Final = 2.0**-46  # of the largest loss: closer atoms are one
_MOST_SUMS: Final = 1 << 19  # sums of two losses that are sorted
_MOST_STEPS: Final = 1 << 23  # products of masses on one lattice
_LONGEST: Final = 1 << 15


@final
@dataclass(frozen=True, slots=True)
class LossList:
    """Finitely many finite losses in rising order, with their masses.

    A list stands for a law whose atoms have the listed masses, each within a relative ``error``, at
    places within ``drift`` of the listed ones; atoms of a total mass of at most ``missing`` may lie
    anywhere else.  On a lattice, where ``grain`` is known, the list has no gaps (masses may be
    zero), and the first loss is ``start * grain``.

    >>> coin = LossList.on_lattice(-1, np.array([0.25, 0.0, 0.75]), Fraction(1, 2), error=0.0)
    >>> coin.times(coin).mass.tolist()
    [0.0625, 0.0, 0.375, 0.0, 0.5625]
    """

    losses: Floats
    mass: Floats
    error: float
    drift: float = 0.0
    missing: float = 0.0
    start: int = 0
    grain: Fraction | None = None

    @classmethod
    def on_lattice(
        cls, start: int, mass: Floats, grain: Fraction, *, error: float, missing: float = 0.0
    ) -> LossList:
        """List the multiples of the grain from ``start`` on, without faint masses at both ends."""
        kept = mass >= _FLOOR
        missing += _rest(mass, kept, error)
        places = np.flatnonzero(kept)
        if not len(places):
            return cls(np.zeros(0), np.zeros(0), error, 0.0, missing)
        first, last = int(places[0]), int(places[-1]) + 1
        losses = np.arange(start + first, start + last) * float(grain)
        drift = 4 * UNIT * max(abs(float(losses[0])), abs(float(losses[-1])))
        mass = np.where(kept[first:last], mass[first:last], 0.0)
        return cls(losses, mass, error, drift, missing, start + first, grain)

    @classmethod
    def merged(
        cls, losses: Floats, mass: Floats, *, error: float, drift: float, missing: float
    ) -> LossList:
        """Sort the losses, merge those that differ by rounding alone, and drop faint ones."""
        kept = mass >= _FLOOR
        missing += _rest(mass, kept, error)
        losses, mass = losses[kept], mass[kept]
        if not len(losses):
            return cls(losses, mass, error, drift, missing)
        order = np.argsort(losses)
        losses, mass = losses[order], mass[order]
        close = _CLOSE * float(np.abs(losses).max())
        firsts = np.append(0, np.flatnonzero(np.diff(losses) > close) + 1)
        lasts = np.append(firsts[1:], len(losses)) - 1
        apart = float((losses[lasts] - losses[firsts]).max())
        many = int((lasts - firsts).max()) + 1
        total = np.add.reduceat(mass, firsts)
        return cls(losses[firsts], total, error + UNIT * many, drift + apart * (1 + UNIT), missing)

    def times(self, other: LossList) -> LossList | None:
        """List the losses of two independent parts; None where that is too much work."""
        error = (self.error + other.error + self.error * other.error) * (1 + 4 * UNIT)
        missing = (self.missing + other.missing) * (1 + CUT_MARGIN)  # masses are about one
        sizes = len(self.mass), len(other.mass)
        if self.grain is not None and self.grain == other.grain:
            if sizes[0] * sizes[1] > _MOST_STEPS:
                return None
            mass = np.convolve(self.mass, other.mass)
            error += UNIT * (min(sizes) + 4)
            start = self.start + other.start
            if abs(start) > LARGEST_PLACE:
                return None
            return LossList.on_lattice(start, mass, self.grain, error=error, missing=missing)
        if sizes[0] * sizes[1] > _MOST_SUMS:
            return None
        losses = np.add.outer(self.losses, other.losses).ravel()
        mass = np.multiply.outer(self.mass, other.mass).ravel()
        drift = self.drift + other.drift + UNIT * float(np.abs(losses).max(initial=0.0))
        return LossList.merged(
            losses, mass, error=error + 4 * UNIT, drift=drift * (1 + 4 * UNIT), missing=missing
        )

    def power(self, count: int) -> LossList | None:
        """List the losses of independent copies; None where that is too much work."""
        total: LossList | None = None
        square: LossList | None = self
        while square is not None and len(square.mass) <= _LONGEST:
            if count % 2:
                total = square if total is None else total.times(square)
                if total is None:
                    return None
            count //= 2
            if not count:
                return total
            square = square.times(square)
        return None


def _rest(mass: Floats, kept: NDArray[np.bool_], error: float) -> float:
    """Bound the mass that is not kept; what underflowed is below the tiniest float."""
    faint = mass[~kept]
    return float(faint.sum()) * (1 + error + UNIT * len(mass)) + TINIEST * len(faint)


@final
@dataclass(frozen=True, slots=True)
class CumulantLine:
    """Cumulants at the points c + i t_j: the complex values, and a bound on their error.

    The error bounds ``ln(1 + |computed - true| / |computed|)`` of the transform itself, plus the
    rounding of its logarithm; summed over independent losses it bounds the product's error.
    """

    value: Complexes
    error: Floats


class Transform(Protocol):
    """The cumulants of a bundle of pairs, each counted with its multiplicity."""

    def real(self, orders: Floats) -> tuple[Floats, Floats]:
        """Cumulants at real orders above zero (perhaps infinite), and bounds on their errors."""
        ...

    def line(self, order: float, heights: Floats) -> CumulantLine:
        """Cumulants at order + i heights."""
        ...

    def decay(self, order: float, height: float) -> float:
        """Bound ln sup over s >= height of |E e**((order + is)L)| / E e**(order L)."""
        ...
