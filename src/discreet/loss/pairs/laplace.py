"""The pairs of continuous Laplace and of two-sided geometric (discrete Laplace) noise.

Trust: kernel.

Definition. Continuous noise: with e = distance / scale, L has an atom of mass 1/2 at e, one of mass
e**-e / 2 at -e, and density e**((l - e)/2) / 4 in between.

Theorem (key ``laplace-profile``).  delta(eps) = (1 - e**((eps - e)/2))+ for eps >= -e, and
1 - e**eps below (Balle, Barthe and Gaboardi 2018, theorem 3).  For z with Re z > 0,
E e**(zL) = e**(ze) (1 + h (e**(-w) - 1)), with h = z/(2z + 1) and w = (2z + 1)e.

Definition. Two-sided geometric noise at an integer distance: with a = e**(-1/scale) and distance d,
the loss is (d - 2j)/scale for j = 0..d: with mass 1/(1+a) at j = 0, (1-a) a**j / (1+a) in between,
and a**d / (1+a) at j = d.

Theorem (key ``discrete-laplace-loss``).  This is the loss of integer x + Z against x + d + Z when
P[Z = k] is proportional to e**(-|k|/scale); at distance 1 it is randomized response with
epsilon = 1/scale.

Consequence.  Let e = d/scale, w = 1/scale and r = e**(-(2t+1) w).  Then
ln E e**(tL) = t e + ln(1 + y) with y = -(1 - e**(-2tw)) a/(1 + a) (1 - r**d)/(1 - r) > -1/2.
Proof.  The loss is (d - 2J)/scale with P[J > j] = a**(j+1)/(1+a) for j < d, and
E[q**J] = 1 - (1 - q) sum of P[J > j] q**j, where q = e**(-2tw), so that a q = r.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Final, Self, final

import numpy as np

from discreet.errors import OutOfRange
from discreet.exact import float_down, float_up
from discreet.loss.engine.closed_forms import laplace_delta
from discreet.loss.engine.rounding import UNIT
from discreet.loss.pairs.distribution import CumulantLine, Floats, LossList, PrivacyLossDistribution
from discreet.loss.pairs.loss_transforms import (
    AtomTransform,
    LossAtoms,
    cells_above,
    cells_below,
    on_line,
    on_real,
    on_reals,
    summed_line,
)
from discreet.loss.pairs.pair import LARGEST_LOSS, PairFamily, ProfileCurve
from discreet.loss.pairs.randomized_response import ResponsePair


@final
@dataclass(frozen=True, slots=True)
class LaplacePair(PairFamily):
    """Laplace noise around two points that are epsilon scales apart.

    >>> LaplacePair(Fraction(1)).largest()
    1.0
    """

    epsilon: Fraction

    def group(self, k: int) -> LaplacePair:
        """The points move k times as far apart."""
        return LaplacePair(self.epsilon * k)

    def cumulant(self, t: float) -> float:
        """Evaluate the closed form and add its error bound."""
        e = float(self.epsilon)
        value, error = on_real(t, e, t / (2 * t + 1), (2 * t + 1) * e)
        return value + 2 * (error + 5 * UNIT * value)

    def largest(self) -> float:
        """The loss is at most epsilon."""
        return float_up(self.epsilon)

    def largest_below(self) -> float:
        """Epsilon has positive probability."""
        return float_down(self.epsilon)

    def boundless(self) -> bool:
        """Half of the answers lose epsilon."""
        return self.epsilon > LARGEST_LOSS

    def closed_form(self, count: int) -> ProfileCurve | None:
        """Evaluate the profile of one run."""
        return (lambda eps: laplace_delta(self.epsilon, eps)) if count == 1 else None

    def grain(self) -> Fraction | None:
        """The atoms lie at plus and minus epsilon."""
        return self.epsilon

    def finite_parts(self, eps: Floats) -> tuple[Floats, Floats]:
        """Evaluate the closed form, at negative eps too."""
        e = float(self.epsilon)
        value = -np.expm1(np.where(eps < -e, eps, np.minimum((eps - e) / 2, 0.0)))
        wrong = UNIT * (32 * value + 4 * (np.abs(eps) + e))  # both forms meet at -e
        return np.maximum(value - wrong, 0.0), np.minimum(value + wrong, 1.0)

    def above(self, step: Fraction) -> PrivacyLossDistribution:
        """Spread the cells; a larger distance loses more."""
        return cells_above(self.epsilon, step, _cells, atom=0.5, units=64)

    def below(self, step: Fraction) -> PrivacyLossDistribution:
        """Merge the cells; a smaller distance loses less."""
        return cells_below(self.epsilon, step, _cells, atom=0.5, units=64)

    @classmethod
    def transform_of(cls, pairs: Sequence[tuple[Self, int]]) -> _Transform:
        """Gather the parameters in columns."""
        return _Transform(
            np.array([float(pair.epsilon) for pair, _ in pairs])[:, None],
            np.array([float(count) for _, count in pairs]),
        )


def _cells(left: Floats, width: float, top: float) -> Floats:
    """Mass of the density e**((l - top)/2) / 4 on [left, left + width]."""
    return np.asarray(0.5 * np.exp((left - top) / 2) * math.expm1(width / 2))


@final
@dataclass(frozen=True, slots=True)
class _Transform:
    e: Floats
    counts: Floats

    def real(self, orders: Floats) -> tuple[Floats, Floats]:
        value, error = on_reals(
            orders, self.e, orders / (2 * orders + 1), (2 * orders + 1) * self.e
        )
        total = self.counts @ value
        return total, self.counts @ error + (len(self.counts) + 4) * UNIT * total

    def line(self, order: float, heights: Floats) -> CumulantLine:
        z = order + 1j * heights
        value, error = on_line(z, self.e, z / (2 * z + 1), (2 * z + 1) * self.e)
        return summed_line(self.counts, value, error)

    def decay(self, order: float, height: float) -> float:
        """Bound the tilted characteristic function near zero by moments, far out by modulus.

        |phi(s)|**2 <= 1 - v s**2 (1 - s**2 e**2 / 3) up to s1 = sqrt(3/2)/e, where the variance v
        is at least e**2 e**-e / M**2 (from the two atoms alone); and |phi(s)| <= (e**(ce) r +
        e**(-e-ce)) / (2M) with r**2 = 1 + (w + 1/4)/(w**2 + s**2), w = c + 1/2, which decreases.
        """
        e = self.e[:, 0]
        w = order + 0.5
        tail = np.exp(-2 * w * e)
        size = 1 + order / (2 * w) * (tail - 1)  # M(c) e**(-ce)
        spread = np.exp(-2 * w * e) / size**2  # v / e**2
        turn = math.sqrt(1.5) / e
        far = np.maximum(height, turn)
        modulus = (np.sqrt(1 + (w + 0.25) / (w * w + far * far)) + tail) / (2 * size)
        q = np.minimum(height * e, math.sqrt(1.5)) ** 2
        near = np.sqrt(np.maximum(0.0, 1 - spread * q * (1 - q / 3)))
        bound = np.minimum(1.0, np.maximum(np.where(height < turn, near, 0.0), modulus))
        return float(self.counts @ (np.log(bound) + 32 * UNIT).clip(max=0.0))


_MOST_LOSSES: Final = 1 << 16
_THIN: Final = 1e-290  # a rate near the least floats


@final
@dataclass(frozen=True, slots=True)
class DiscreteLaplacePair(PairFamily):
    """Two-sided geometric noise around two integers.

    >>> DiscreteLaplacePair(Fraction(2), 3).largest()
    1.5
    """

    scale: Fraction
    distance: int

    spread: ClassVar[bool] = False

    def __post_init__(self) -> None:
        """Refuse a distance at which there is no pair."""
        if self.scale <= 0 or self.distance < 1:
            raise OutOfRange(
                "the distance of a pair is below one, or its scale is not above zero; give a "
                "scale above zero and a distance of at least one."
            )

    def group(self, k: int) -> DiscreteLaplacePair:
        """The integers move k times as far apart."""
        return DiscreteLaplacePair(self.scale, self.distance * k)

    def cumulant(self, t: float) -> float:
        """Evaluate the closed form and add its error bound, for t > 0.

        y errs by at most 80 units of its size, besides w units in the exponent of a, which change
        it by less than t e units since |y| <= 2 t w a; log1p at most doubles that.
        """
        top, bottom = self.scale.as_integer_ratio()
        w, e = bottom / top, self.distance * bottom / top
        if w < _THIN:
            return ResponsePair(self.distance / self.scale).cumulant(t)
        small = math.exp(-w)
        share = math.expm1(-(2 * t + 1) * e) / math.expm1(-(2 * t + 1) * w)
        y, straight = math.expm1(-2 * t * w) * small / (1 + small) * share, t * e
        return straight + math.log1p(y) + UNIT * (8 * straight - 256 * y)

    def largest(self) -> float:
        """The loss is at most distance / scale."""
        return float_up(self.distance / self.scale)

    def largest_below(self) -> float:
        """All answers beyond the farther integer lose that much."""
        return float_down(self.distance / self.scale)

    def boundless(self) -> bool:
        """At least half of the answers lose distance / scale."""
        return self.distance > LARGEST_LOSS * self.scale

    def closed_form(self, count: int) -> ProfileCurve | None:
        """Sum over the atoms, for one run."""
        atoms = self.atoms() if count == 1 else None
        return None if atoms is None else atoms.profile

    def grain(self) -> Fraction | None:
        """All losses are multiples of 1/scale, of the parity of the distance."""
        return 1 / self.scale if self.distance % 2 else 2 / self.scale

    def atoms(self) -> LossAtoms | None:
        """The distance + 1 losses; None if they are too many."""
        if self.distance > _MOST_LOSSES:
            return None
        d, width = self.distance, float(1 / self.scale)
        j = np.arange(d + 1)
        mass = np.exp(-j * width) / (1 + math.exp(-width))
        mass[1:d] *= -math.expm1(-width)
        index = (d - 2 * j).astype(np.float64)
        even = d % 2 == 0
        return LossAtoms(
            index / 2 if even else index, mass, self.grain(), UNIT * (64 + 8 * d * width)
        )

    def listed(self) -> LossList | None:
        """All of them, if they are not many."""
        atoms = self.atoms()
        return None if atoms is None else atoms.listed()

    def above(self, step: Fraction) -> PrivacyLossDistribution | None:
        """Spread the atoms over the lattice."""
        atoms = self.atoms()
        return None if atoms is None else atoms.above(step)

    def below(self, step: Fraction) -> PrivacyLossDistribution | None:
        """Move the atoms down to the lattice."""
        atoms = self.atoms()
        return None if atoms is None else atoms.below(step)

    @classmethod
    def transform_of(cls, pairs: Sequence[tuple[Self, int]]) -> AtomTransform | None:
        """Gather the atoms."""
        if sum(pair.distance for pair, _ in pairs) > _MOST_LOSSES:
            return None
        known = ((pair.atoms(), count) for pair, count in pairs)
        return AtomTransform(tuple((atoms, count) for atoms, count in known if atoms is not None))
