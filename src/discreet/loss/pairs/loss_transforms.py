"""Losses with finitely many values, and cumulants that two families share.

Trust: kernel.

Theorem (key ``connect-the-dots``).  Splitting an atom of mass p at x in [kh, (k+1)h] into p - b at
kh and b at (k+1)h, where b = p (1 - e**(kh - x)) / (1 - e**-h), keeps both probabilities
P and Q of the cell; the profile is unchanged at every multiple of h and otherwise rises
(Doroshenko, Ghazi, Kamath, Kumar and Manurangsi 2022).  Moving mass up raises a profile, moving it
down lowers it.

Two families have cumulants of the form z e + ln(1 + h(z) (e**(-w(z)) - 1)). Randomized response has
h = 1/(1 + e**e) and w = 2ze; the Laplace pair has h = z/(2z + 1) and w = (2z + 1)e. In both |h| < 1
and Re w >= 0 on Re z > 0. docs/proofs/accounting.md bounds the rounding errors that are returned
here.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, final

import numpy as np
from numpy.typing import NDArray

from discreet.loss.bracket import Bracket
from discreet.loss.engine.rounding import TINIEST, UNIT, reduced
from discreet.loss.pairs.distribution import (
    LARGEST_PLACE,
    Complexes,
    CumulantLine,
    Floats,
    LossList,
    PrivacyLossDistribution,
)

_LONGEST: Final = 1 << 26
_MOST_LISTED: Final = 1 << 14


@final
@dataclass(frozen=True, slots=True)
class LossAtoms:
    """Losses ``index * grain`` (or ``index`` alone, if there is no grain) with their masses.

    ``error`` bounds the relative error of each mass; without a grain the losses themselves may be
    off by ``8 UNIT`` of their size.
    """

    index: Floats
    mass: Floats
    grain: Fraction | None
    error: float

    @property
    def losses(self) -> Floats:
        """The losses as floats, within 8 units of their last place."""
        return self.index if self.grain is None else self.index * float(self.grain)

    def _aligned(self, step: Fraction) -> int | None:
        if self.grain is None:
            return None
        ratio = self.grain / step
        return ratio.numerator if ratio.denominator == 1 else None

    def profile(self, eps: float) -> Bracket:
        """Sum (1 - e**(eps - x))+ over the atoms: the finite profile of one run."""
        x = self.losses
        share = -np.expm1(np.minimum(eps - x, 0.0))
        value = float((self.mass * share).sum())  # a product of arrays would wake threads
        size = np.abs(x) + abs(eps)
        near = x > eps - 32 * UNIT * size  # the others do not count, wherever they truly lie
        moved = np.where(near, 32 * UNIT * share + 16 * UNIT * size, 0.0)
        wrong = float((self.mass * moved).sum()) + value * (self.error + UNIT * (2 * len(x) + 16))
        return Bracket.within(value - wrong, value + wrong + TINIEST, ceil=1.0)

    def listed(self, missing: float = 0.0) -> LossList | None:
        """List the losses; None where there are many.  Atoms beyond have the mass ``missing``."""
        error = self.error + 4 * UNIT
        if not len(self.mass) or len(self.mass) > _MOST_LISTED:
            return None
        if self.grain is None:
            drift = 16 * UNIT * float(np.abs(self.index).max())
            return LossList.merged(self.index, self.mass, error=error, drift=drift, missing=missing)
        place = _whole(self.index)
        if place is None:
            return None
        start = int(place.min())
        if int(place.max()) - start > _MOST_LISTED:
            return None
        mass = np.asarray(np.bincount(place - start, weights=self.mass), np.float64)
        return LossList.on_lattice(start, mass, self.grain, error=error, missing=missing)

    def above(self, step: Fraction, infinite: float = 0.0) -> PrivacyLossDistribution | None:
        """Spread each atom over its two neighbors on the lattice."""
        ratio = self._aligned(step)
        mass = self.mass * (1 + self.error + 4 * UNIT)
        if ratio is not None:
            return _place(_whole(self.index, ratio), mass, infinite, 0.0)
        h, x = float(step), self.losses
        cell = np.floor(x / h)
        share = -np.expm1(np.minimum(cell * h - x, 0.0)) / -math.expm1(-h)
        drift = 64 * UNIT * float(np.abs(x).max(initial=0.0)) + 64 * UNIT * h
        up = np.minimum(mass, mass * share * (1 + 64 * UNIT))
        both, weights = np.concatenate([cell, cell + 1]), np.concatenate([mass - up, up])
        return _place(_whole(both), weights * (1 + 2 * UNIT), infinite, drift)

    def below(self, step: Fraction, infinite: float = 0.0) -> PrivacyLossDistribution | None:
        """Move each atom down to the lattice."""
        ratio = self._aligned(step)
        mass = self.mass * (1 - self.error - 4 * UNIT)
        if ratio is not None:
            return _place(_whole(self.index, ratio), mass, infinite, 0.0)
        x = self.losses
        drift = 64 * UNIT * float(np.abs(x).max(initial=0.0))
        return _place(_whole(np.floor(x / float(step))), mass, infinite, drift)


Cells = Callable[[Floats, float, float], Floats]
"""Masses of intervals of a density on [-top, top]: their left ends, their width, and top."""


def cells_above(
    epsilon: Fraction, step: Fraction, masses: Cells, *, atom: float, units: int
) -> PrivacyLossDistribution:
    """Spread each cell of a density e**(l/2) over its ends, keeping both probabilities of it.

    The share of the upper end of [x, x + h] is (1 - e**(-h/2)) / (1 - e**-h) = 1 / (1 + e**(-h/2)).
    A support that ends off the lattice is rounded up, which is more loss.  ``atom`` is the mass at
    epsilon; at -epsilon it is e**-epsilon of that.
    """
    cells, h = math.ceil(epsilon / step), float(step)
    mass = masses(np.arange(-cells, cells, dtype=np.float64) * h, h, cells * h)
    upper = min(1.0, 1 / (1 + math.exp(-h / 2)) * (1 + 32 * UNIT))
    out = np.zeros(2 * cells + 1)
    out[1:] += mass * upper
    out[:-1] += mass * (1 - upper)
    out[-1] += atom
    out[0] += atom * math.exp(-cells * h)
    return PrivacyLossDistribution(-cells, out * (1 + UNIT * (units + 16 * cells * h)), 0.0, 0.0)


def cells_below(
    epsilon: Fraction, step: Fraction, masses: Cells, *, atom: float, units: int
) -> PrivacyLossDistribution:
    """Merge cells centered on the lattice: there P/Q is e**(kh) exactly, by symmetry.

    The half cells at the two ends move down.  A support that ends off the lattice is rounded down.
    """
    cells = math.floor(epsilon / step)
    h, top = float(step), float(step * cells)
    if cells == 0:
        return PrivacyLossDistribution(0, np.ones(1) * (1 - 4 * UNIT), 0.0, 0.0)
    out = np.zeros(2 * cells + 1)
    out[1:-1] = masses((np.arange(1 - cells, cells) - 0.5) * h, h, top)
    half = masses(np.array([-top, top - h / 2]), h / 2, top)
    out[0] += half[0] + atom * math.exp(-top)
    out[-2] += half[1]
    out[-1] += atom
    return PrivacyLossDistribution(-cells, out * (1 - UNIT * (units + 16 * top)), 0.0, 0.0)


def _whole(index: Floats, ratio: int = 1) -> NDArray[np.int64] | None:
    """Give whole numbers, times a ratio, as integers; None where floats skip some of them.

    >>> _whole(np.array([2.0, 3.0]), 5).tolist(), _whole(np.array([2.0**63])) is None
    ([10, 15], True)
    """
    size = float(np.abs(index).max(initial=0.0))
    if not size <= LARGEST_PLACE or size * ratio > LARGEST_PLACE:  # not a number fails too
        return None
    return index.astype(np.int64) * ratio


def _place(
    where: NDArray[np.int64] | None, mass: Floats, infinite: float, drift: float
) -> PrivacyLossDistribution | None:
    """Put masses on the lattice; None where that would be absurdly long, or far out."""
    if where is None:
        return None
    if not len(where):
        return PrivacyLossDistribution(0, np.zeros(1), infinite, drift)
    start = int(where.min())
    if int(where.max()) - start > _LONGEST:
        return None
    total = np.asarray(np.bincount(where - start, weights=mass), np.float64)
    return PrivacyLossDistribution(start, total, infinite, drift)


@final
@dataclass(frozen=True, slots=True)
class AtomTransform:
    """The cumulants of finitely supported losses; they need not decay along a line."""

    items: tuple[tuple[LossAtoms, int], ...]

    def real(self, orders: Floats) -> tuple[Floats, Floats]:
        """Sum ln sum p e**(cx) over the items."""
        value, error = np.zeros(len(orders)), np.zeros(len(orders))
        for atoms, count in self.items:
            exponent = np.outer(orders, atoms.losses)
            top = exponent.max(axis=1)
            weight = np.exp(exponent - top[:, None])
            value += count * (top + np.log(np.einsum("ij,j->i", weight, atoms.mass)))
            reach = np.abs(exponent).max(axis=1)
            error += count * (atoms.error + UNIT * (48 * reach + len(atoms.mass) + 64))
        return value, error

    def line(self, order: float, heights: Floats) -> CumulantLine:
        """Sum ln sum p e**(zx), with the oscillation reduced by the tilted mean."""
        value = np.zeros(len(heights), np.complex128)
        error = np.zeros(len(heights))
        for atoms, count in self.items:
            x = atoms.losses
            top = float((order * x).max())
            weight = atoms.mass * np.exp(order * x - top)
            total = float(weight.sum())
            center = float((weight * x).sum()) / total
            turned = np.exp(1j * np.outer(heights, x - center))
            phi = np.einsum("ij,j->i", turned, weight / total)
            reach = float(np.abs(x).max())
            bound = 2 * atoms.error + UNIT * (48 * (order + heights) * reach + 2 * len(x) + 64)
            value += count * (reduced(phi) + math.log(total) + top + 1j * heights * center)
            error += count * (
                np.log1p(bound / np.maximum(np.abs(phi), TINIEST))
                + UNIT * (16 + 4 * (order + heights) * reach)
            )
        return CumulantLine(value, error)

    def decay(self, order: float, height: float) -> float:  # noqa: ARG002  (atoms never decay)
        """Atoms give no decay at all heights."""
        return 0.0


def on_reals(orders: Floats, e: Floats, h: Floats, w: Floats) -> tuple[Floats, Floats]:
    """Evaluate at real orders (rows of parameters, columns of orders), with error bounds."""
    y = h * np.expm1(-w)
    straight = orders * e
    return straight + np.log1p(y), 64 * UNIT * (straight + 4 * np.abs(y))


def on_real(order: float, e: float, h: float, w: float) -> tuple[float, float]:
    """Evaluate at one order for one parameter, with an error bound: ``on_reals`` for less work."""
    y, straight = h * math.expm1(-w), order * e
    return straight + math.log1p(y), 64 * UNIT * (straight - 4 * y)


def on_line(z: Complexes, e: Floats, h: Complexes, w: Complexes) -> tuple[Complexes, Floats]:
    """Evaluate at complex orders, with error bounds for each parameter and point."""
    inner = 1 + h * (np.exp(-w) - 1)
    modulus = np.maximum(np.abs(inner), TINIEST)
    inner = np.where(modulus <= TINIEST, TINIEST, inner)
    straight = z * e
    wrong = UNIT * np.abs(h) * (8 * np.abs(w) + 64) + 4 * UNIT
    error = np.log1p(wrong / modulus) + UNIT * (16 + 8 * np.abs(straight))
    return straight + np.log(inner), error


def summed_line(counts: Floats, value: Complexes, error: Floats) -> CumulantLine:
    """Add up the rows, each with its count; the sum itself rounds too."""
    total = counts @ value
    size = counts @ np.abs(value)
    return CumulantLine(total, counts @ error + (len(counts) + 4) * UNIT * size)
