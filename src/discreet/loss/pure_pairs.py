"""Pairs with a largest loss: randomized response, Laplace noise, bounded range.

Trust: kernel.

Definition (randomized response).  With probability delta the loss is infinite; otherwise it is
epsilon with probability e**epsilon / (1 + e**epsilon), and -epsilon.  It is the worst of all
(epsilon, delta) mechanisms (key ``randomized-response``).
Theorem (key ``response-binomial``; Kairouz, Oh and Viswanath 2015, theorem 3.3).  n-fold
randomized response has a binomial privacy loss, whose profile is a finite sum.

Definition (continuous Laplace noise).  With e = distance / scale, L has an atom of mass 1/2 at e,
one of mass e**-e / 2 at -e, and density e**((l - e)/2) / 4 in between; its profile is that of key
``laplace-profile`` for eps >= -e, and 1 - e**eps below.
Both cumulants are z e + ln(1 + h(z) (e**(-w(z)) - 1)) for Re z > 0: randomized response has h =
1/(1 + e**e) and w = 2ze, Laplace noise h = z/(2z + 1) and w = (2z + 1)e.  In both |h| < 1 and
Re w >= 0 (rounding: docs/proofs/accounting.md, section 4).

Definition (two-sided geometric noise at an integer distance).  With a = e**(-1/scale) and distance
d, the loss is (d - 2j)/scale for j = 0..d: with mass 1/(1+a) at j = 0, (1-a) a**j / (1+a) in
between, and a**d / (1+a) at j = d.
Theorem (key ``discrete-laplace-loss``).  This is the loss of integer x + Z against x + d + Z when
P[Z = k] is proportional to e**(-|k|/scale); at distance 1 it is randomized response with
epsilon = 1/scale.  With e = d/scale, w = 1/scale and r = e**(-(2t+1) w), ln E e**(tL) = t e +
ln(1 + y) with y = -(1 - e**(-2tw)) a/(1 + a) (1 - r**d)/(1 - r) > -1/2.
Proof: docs/proofs/accounting.md, section 15.

Definition (bounded range).  A mechanism has range e if its loss between any two neighbors stays
within an interval of length e, as that of the exponential mechanism does.  The pair: L has density
e**((l - e)/2) / (2 (1 - e**-e)) on [-e, e], and no atoms; with w = (2z + 1)e, E e**(zL) =
e**(ze) (1 - e**-w) / ((2z + 1)(1 - e**-e)).
Theorem (key ``bounded-range-pair``; Dong, Durfee and Rogers 2020 for one choice; proof in
docs/proofs/accounting.md, section 9).  Over all mechanisms of range e, the largest delta(eps) is
(1 - e**((eps - e)/2))**2 / (1 - e**-e) on [-e, e], 0 above and 1 - e**eps below.  That is the
profile of this pair, which therefore dominates them all, in adaptive compositions as well.
Theorem (key ``bounded-range``).  They also satisfy (e**2 / 8)-zCDP, which is the smaller bound in
long compositions (key ``two-bounds``).
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Final, Self, final

import numpy as np

from discreet.errors import OutOfRange
from discreet.exact import float_down, float_up
from discreet.loss.dots import Floats, PrivacyLossDistribution
from discreet.loss.finite import Atoms, AtomTransform
from discreet.loss.moments import RenyiCurve
from discreet.loss.pair import CumulantLine, Pair, Transform
from discreet.loss.rounding import TINIEST, UNIT, Bracket

_TOGETHER: Final = 1 << 18  # numbers that stay in the cache


@dataclass(frozen=True, slots=True)
class _Bundle(Transform):
    """Cumulants z e + ln(1 + h(z) (e**(-w(z)) - 1)) of pairs in rows, points in columns."""

    e: Floats
    counts: Floats
    lost: float = 0.0

    @classmethod
    def of(cls, epsilons: Sequence[float], counts: Sequence[int], lost: float = 0.0) -> Self:
        return cls(np.array(epsilons)[:, None], np.array(counts, float), lost)

    @property
    def terms(self) -> int:
        return len(self.counts)

    @abstractmethod
    def _shape(self, z: Any) -> tuple[Any, Any]:
        """Return h and w at some orders."""

    def real(self, orders: Floats) -> tuple[Floats, Floats]:
        h, w = self._shape(orders)
        y, straight = h * np.expm1(-w), orders * self.e
        value, error = straight + np.log1p(y), 64 * UNIT * (straight + 4 * np.abs(y))
        return self._summed(value, error)

    def line(self, order: float, heights: Floats) -> CumulantLine:
        count = 1 + len(heights) * len(self.counts) // _TOGETHER
        pieces = np.array_split(order + 1j * heights, count)
        value, error = zip(*map(self._part, pieces), strict=True)
        return CumulantLine(np.concatenate(value), np.concatenate(error))

    def _part(self, z: Any) -> tuple[Any, Floats]:
        h, w = self._shape(z)
        inner = 1 + h * (np.exp(-w) - 1)
        modulus = np.maximum(np.abs(inner), TINIEST)
        inner = np.where(modulus <= TINIEST, TINIEST, inner)
        straight = z * self.e
        wrong = UNIT * np.abs(h) * (8 * np.abs(w) + 64) + 4 * UNIT
        error = np.log1p(wrong / modulus) + UNIT * (16 + 8 * np.abs(straight))
        return self._summed(straight + np.log(inner), error)

    def _summed(self, value: Any, error: Floats) -> tuple[Any, Floats]:
        """Add up the rows, each with its count; the sum itself rounds too."""
        slack = (len(self.counts) + 4) * UNIT * (self.counts @ np.abs(value))
        lost = 32 * UNIT * (1 + abs(self.lost)) if self.lost else 0.0
        return self.counts @ value + self.lost, self.counts @ error + slack + lost


@final
class _ResponseBundle(_Bundle):
    __slots__ = ()

    def _shape(self, z: Any) -> tuple[Any, Any]:
        small = np.exp(-self.e)
        return small / (1 + small), 2 * z * self.e

    @property
    def terms(self) -> int:
        return 1 + len(self.counts) // 8  # closed forms in pieces: many points are better than few


@final
class _LaplaceBundle(_Bundle):
    __slots__ = ()

    def _shape(self, z: Any) -> tuple[Any, Any]:
        return z / (2 * z + 1), (2 * z + 1) * self.e

    def decay(self, order: float, height: float) -> float:
        """Bound it near zero by moments, far out by modulus.

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


class _Epsilon(Pair):
    """A pair with a largest loss that losses come as close to as they like, and mostly are near."""

    __slots__ = ()

    epsilon: Fraction

    def largest(self) -> float:
        return float_up(self.epsilon)

    def largest_below(self) -> float:
        return float_down(self.epsilon)


@final
@dataclass(frozen=True, slots=True)
class ResponsePair(_Epsilon):
    """The worst pair of distributions that (epsilon, delta) allows."""

    epsilon: Fraction
    delta: Fraction = Fraction(0)

    spread: ClassVar[bool] = False

    def group(self, k: int) -> ResponsePair | None:
        """Pure bounds multiply; what becomes of delta below one is for the notion to say."""
        if self.delta == 1:
            return self
        return ResponsePair(self.epsilon * k) if self.delta == 0 else None

    def cumulant(self, t: float) -> float:
        return Pair.cumulant(self, t) if self.delta < 1 else -math.inf  # no loss is finite

    def infinity(self) -> Bracket:
        if not self.delta:
            return Bracket(0.0, 0.0)
        return Bracket(float_down(self.delta), float_up(self.delta))

    def exact_infinity(self) -> Fraction:
        return self.delta

    def grain(self) -> Fraction | None:
        return self.epsilon

    def atoms(self) -> Atoms:
        e, stay = float(self.epsilon), float(1 - self.delta)
        low, high = stay * math.exp(-e) / (1 + math.exp(-e)), stay / (1 + math.exp(-e))
        error = UNIT * (36 + 4 * e)
        if not self.epsilon:
            return Atoms(np.zeros(1), np.array([stay]), error)
        return Atoms.on_lattice(-1, np.array([low, 0.0, high]), self.epsilon, error=error)

    def below(self, step: Fraction) -> PrivacyLossDistribution | None:
        """Answer with the largest epsilon on the lattice that is no larger: a post-processing."""
        lattice = ResponsePair(step * math.floor(self.epsilon / step), self.delta)
        return lattice.atoms().below(step, float_down(self.delta))

    @classmethod
    def transform_of(cls, pairs: Sequence[tuple[Self, int]]) -> _Bundle:
        kept = [math.log1p(-float(p.delta)) if p.delta < 1 else -math.inf for p, _ in pairs]
        counts = [count for _, count in pairs]
        lost = math.fsum(count * each for count, each in zip(counts, kept, strict=True) if each)
        return _ResponseBundle.of([float(pair.epsilon) for pair, _ in pairs], counts, lost)


@final
@dataclass(frozen=True, slots=True)
class LaplacePair(_Epsilon):
    """Laplace noise around two points that are epsilon scales apart."""

    epsilon: Fraction

    def group(self, k: int) -> LaplacePair:
        return LaplacePair(self.epsilon * k)

    def grain(self) -> Fraction | None:
        return self.epsilon

    def finite_parts(self, eps: Floats) -> tuple[Floats, Floats]:
        e = float(self.epsilon)
        gap = np.minimum((eps - e) / 2, 0.0)
        value = -np.expm1(np.where(eps < -e, eps, gap))
        near = (eps > e / 2) & (eps < 2 * e)  # where the difference is exact but for e itself
        moved = np.where(near, 0.6 * e, 4 * (np.abs(eps) + e))
        wrong = UNIT * (32 * value + moved)  # both forms meet at -e
        high = np.where(eps < self.largest(), np.minimum(value + wrong, 1.0), 0.0)
        return np.minimum(np.maximum(value - wrong, 0.0), high), high

    @classmethod
    def transform_of(cls, pairs: Sequence[tuple[Self, int]]) -> _Bundle:
        return _LaplaceBundle.of([float(p.epsilon) for p, _ in pairs], [n for _, n in pairs])


_MOST_LOSSES: Final = 1 << 16
_THIN: Final = 1e-290  # a rate near the least floats


@final
@dataclass(frozen=True, slots=True)
class DiscreteLaplacePair(Pair):
    """Two-sided geometric noise around two integers."""

    scale: Fraction
    distance: int

    spread: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if self.scale <= 0 or self.distance < 1:
            raise OutOfRange(
                "the distance of a pair is below one, or its scale is not above zero; give a "
                "scale above zero and a distance of at least one."
            )

    def group(self, k: int) -> DiscreteLaplacePair:
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
        return float_up(self.distance / self.scale)

    def largest_below(self) -> float:
        """All answers beyond the farther integer lose that much."""
        return float_down(self.distance / self.scale)

    def grain(self) -> Fraction:
        """All losses are multiples of 1/scale, of the parity of the distance."""
        return 1 / self.scale if self.distance % 2 else 2 / self.scale

    def atoms(self) -> Atoms | None:
        """The distance + 1 losses; None if they are too many."""
        if self.distance > _MOST_LOSSES:
            return None
        d, width = self.distance, float(1 / self.scale)
        j = np.arange(d + 1)
        mass = np.exp(-j * width) / (1 + math.exp(-width))
        mass[1:d] *= -math.expm1(-width)
        error, grain = UNIT * (68 + 8 * d * width), self.grain()
        if d % 2 == 0:
            return Atoms.on_lattice(-(d // 2), mass[::-1], grain, error=error)
        odd = np.zeros(2 * d + 1)
        odd[::2] = mass[::-1]
        return Atoms.on_lattice(-d, odd, grain, error=error)

    @classmethod
    def transform_of(cls, pairs: Sequence[tuple[Self, int]]) -> AtomTransform | None:
        if sum(pair.distance for pair, _ in pairs) > _MOST_LOSSES:
            return None
        known = ((pair.atoms(), count) for pair, count in pairs)
        return AtomTransform(tuple((atoms, count) for atoms, count in known if atoms is not None))


_LEAST: Final = 1e-150  # stands for smaller ranges, at a distance of 1e-150


@final
@dataclass(frozen=True, slots=True)
class BoundedRangePair(_Epsilon):
    """The worst that a loss within an interval of length epsilon allows."""

    epsilon: Fraction

    two_bounds: ClassVar[bool] = True

    def group(self, k: int) -> BoundedRangePair:
        """Along a chain of neighbors the losses add up, and so do the lengths of their ranges."""
        return BoundedRangePair(self.epsilon * k)

    def curve(self) -> RenyiCurve:
        return RenyiCurve(rho=self.epsilon**2 / 8)

    def attained(self) -> ResponsePair:
        """Two losses at the ends of a centered interval: a selection between two candidates."""
        return ResponsePair(self.epsilon / 2)

    def cumulant(self, t: float) -> float:
        """Cut the closed form, as no loss exceeds epsilon."""
        return min(Pair.cumulant(self, t), t * self.largest() * (1 + 2 * UNIT))

    def finite_parts(self, eps: Floats) -> tuple[Floats, Floats]:
        """Evaluate the closed form at many points; below -epsilon it is 1 - e**eps."""
        e = max(float(self.epsilon), _LEAST)
        moved = 2 * UNIT * (np.abs(eps) + e)  # of the exponent, and so of the rest
        rest, whole = -np.expm1(np.minimum((eps - e) / 2, 0.0)), -math.expm1(-e)
        inside = eps >= -e
        value = np.where(inside, rest * (rest / whole), -np.expm1(np.minimum(eps, 0.0)))
        with np.errstate(over="ignore"):  # an infinite error is cut below
            near = (2 * rest + moved) * (moved / whole)
        wrong = np.where(inside, near, moved) + 96 * UNIT * value
        return np.maximum(value - wrong, 0.0), np.minimum(value + wrong + _LEAST, 1.0)

    @classmethod
    def transform_of(cls, pairs: Sequence[tuple[Self, int]]) -> _Bundle:
        widths = [max(float(pair.epsilon), _LEAST) for pair, _ in pairs]
        return _BoundedRangeBundle.of(widths, [count for _, count in pairs])


@final
class _BoundedRangeBundle(_Bundle):
    __slots__ = ()

    def _shape(self, z: Any) -> tuple[Any, Any]:
        raise NotImplementedError  # it adds up other formulas, which lose less

    def real(self, orders: Floats) -> tuple[Floats, Floats]:
        """Keep the error of small orders relative to the order.

        With b = 1/(e**e - 1) and y = (b (1 - e**(-2te)) - 2t) / (2t + 1), the cumulant is
        te + ln(1 + y), and y >= -1/2 up to t = 1/2.
        """
        e, straight = self.e, orders * self.e
        rest = -np.expm1(-e)
        t = np.minimum(orders, 0.5)
        y = (-np.expm1(-2 * t * e) * (np.exp(-e) / rest) - 2 * t) / (2 * t + 1)
        logs = [np.log(-np.expm1(-(2 * orders + 1) * e)), np.log(2 * orders + 1), np.log(rest)]
        size = 8 + np.abs(logs[0]) + logs[1] + np.abs(logs[2])
        small = orders <= 0.5
        value = straight + np.where(small, np.log1p(y), logs[0] - logs[1] - logs[2])
        error = UNIT * (64 * straight + np.where(small, 512 * t, 32 * size)) + _LEAST * orders
        return self._summed(value, error)

    def line(self, order: float, heights: Floats) -> CumulantLine:
        """Evaluate 1 - e**-w in real arithmetic that loses nothing if w is small."""
        z = order + 1j * heights
        w, straight = (2 * z + 1) * self.e, z * self.e
        fall, turn = np.exp(-w.real), w.imag
        inner = 2 * np.sin(turn / 2) ** 2 - np.expm1(-w.real) * np.cos(turn)
        gone = inner + 1j * (fall * np.sin(turn))
        value = np.log(gone / ((2 * z + 1) * -np.expm1(-self.e)))
        wrong = UNIT * (256 + 8 * np.abs(w) * fall / np.abs(gone))
        error = np.log1p(wrong) + UNIT * (16 + 16 * np.abs(value) + 8 * np.abs(straight))
        return CumulantLine(*self._summed(straight + value, error + _LEAST * np.abs(z)))

    def decay(self, order: float, height: float) -> float:
        """Bound |phi|**2 = (1 + sin(x)**2 / sinh(v)**2) / (1 + x**2 / v**2), x = se.

        Here v = (c + 1/2) e.  It falls until x = pi; from there on the sine is replaced by one.
        """
        e = self.e[:, 0]
        v, x = (order + 0.5) * e, height * e
        bend = (2 * np.exp(-v) / -np.expm1(-2 * v)) ** 2  # 1 / sinh(v)**2
        far = np.maximum(x, math.pi)
        bound = np.log1p(bend) - np.log1p((far / v) ** 2) + _slack(bend, far / v)
        wave = bend * np.sin(np.minimum(x, math.pi)) ** 2
        near = np.log1p(wave) - np.log1p((x / v) ** 2) + _slack(wave, x / v)
        worst = np.where(x < math.pi, np.maximum(near, bound), bound) / 2
        return float(self.counts @ worst.clip(max=0.0))


def _slack(numerator: Floats, ratio: Floats) -> Floats:
    """Bound what rounding does to the two logarithms, which err by 16 units and their inputs."""
    return np.asarray(UNIT * (256 + 32 * (np.log1p(numerator) + np.log1p(ratio**2))))
