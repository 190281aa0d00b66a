"""The pair that dominates every mechanism of bounded range, such as the exponential mechanism.

Trust: kernel.

Definition.  A mechanism has range e if its loss between any two neighbors stays within an interval
of length e.  The pair: L has density e**((l - e)/2) / (2 (1 - e**-e)) on [-e, e], and no atoms.

Theorem (key ``bounded-range-pair``).  Over all mechanisms of range e, the largest delta(eps) is
(1 - e**((eps - e)/2))**2 / (1 - e**-e) on [-e, e], 0 above and 1 - e**eps below.  That is the
profile of this pair, which therefore dominates them all, in adaptive compositions as well.
docs/proofs/accounting.md, section 9 has the proof; one choice is Dong, Durfee and Rogers 2020,
products are Zhu, Dong and Wang 2022.
Theorem (key ``bounded-range``).  They also satisfy (e**2 / 8)-zCDP, which is the smaller bound in
long compositions (key ``two-bounds``).
With w = (2z + 1)e, E e**(zL) = e**(ze) (1 - e**-w) / ((2z + 1)(1 - e**-e)).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Self, final

import numpy as np

from discreet.exact import float_down, float_up
from discreet.loss.bracket import Bracket
from discreet.loss.engine.rounding import UNIT
from discreet.loss.pairs.distribution import CumulantLine, Floats, PrivacyLossDistribution
from discreet.loss.pairs.loss_transforms import cells_above, cells_below, summed_line
from discreet.loss.pairs.pair import LARGEST_LOSS, PairFamily, ProfileCurve
from discreet.loss.pairs.randomized_response import ResponsePair
from discreet.loss.renyi.curve import RenyiCurve

_LEAST: Final = 1e-150  # stands for smaller ranges, at a distance of 1e-150


@final
@dataclass(frozen=True, slots=True)
class BoundedRangePair(PairFamily):
    """The worst that a loss within an interval of length epsilon allows.

    >>> round(BoundedRangePair(Fraction(1)).closed_form(1)(0.0).high, 6)
    0.244919
    """

    epsilon: Fraction

    def group(self, k: int) -> BoundedRangePair:
        """Along a chain of neighbors the losses add up, and so do the lengths of their ranges."""
        return BoundedRangePair(self.epsilon * k)

    def curve(self) -> RenyiCurve:
        """Epsilon squared, over eight, times the order."""
        return RenyiCurve(rho=self.epsilon**2 / 8)

    def gain(self, t: float) -> float:
        """Compare the closed form with the curve, roughly."""
        e = max(float(self.epsilon), _LEAST)
        ratio = math.expm1(-(2 * t + 1) * e) / math.expm1(-e)
        return t * e + math.log(ratio / (2 * t + 1)) - t * (t + 1) * e * e / 8

    def attained(self) -> ResponsePair:
        """Two losses at the ends of a centered interval: a selection between two candidates."""
        return ResponsePair(self.epsilon / 2)

    def cumulant(self, t: float) -> float:
        """Evaluate the closed form and add its error bound; no loss exceeds epsilon."""
        value, error = _on_real(t, max(float(self.epsilon), _LEAST))
        most = t * self.largest() * (1 + 2 * UNIT)
        return min(value + 2 * (error + 5 * UNIT * abs(value)), most)

    def largest(self) -> float:
        """The loss is at most epsilon."""
        return float_up(self.epsilon)

    def largest_below(self) -> float:
        """Losses come as close to epsilon as they like."""
        return float_down(self.epsilon)

    def boundless(self) -> bool:
        """Most losses are near epsilon."""
        return self.epsilon > LARGEST_LOSS

    def closed_form(self, count: int) -> ProfileCurve | None:
        """Evaluate the profile of one run."""
        return self._profile if count == 1 else None

    def _profile(self, eps: float) -> Bracket:
        gap = (Fraction(eps) - self.epsilon) / 2
        if gap >= 0:
            return Bracket(0.0, 0.0)
        rest = -math.expm1(float(gap))
        value = rest * (rest / -math.expm1(-max(float(self.epsilon), _LEAST)))
        slack = 96 * UNIT
        return Bracket.within(value * (1 - slack), value * (1 + slack) + _LEAST, ceil=1.0)

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

    def above(self, step: Fraction) -> PrivacyLossDistribution:
        """Spread the cells, as for the Laplace pair; a wider range allows more mechanisms."""
        if not self.epsilon:
            return PrivacyLossDistribution(0, np.ones(1), 0.0, 0.0)
        return cells_above(self.epsilon, step, _cells, atom=0.0, units=128)

    def below(self, step: Fraction) -> PrivacyLossDistribution:
        """Merge the cells; a narrower range allows fewer mechanisms."""
        return cells_below(self.epsilon, step, _cells, atom=0.0, units=128)

    @classmethod
    def transform_of(cls, pairs: Sequence[tuple[Self, int]]) -> _Transform:
        """Gather the parameters in columns."""
        return _Transform(
            np.array([max(float(pair.epsilon), _LEAST) for pair, _ in pairs])[:, None],
            np.array([float(count) for _, count in pairs]),
        )


def _cells(left: Floats, width: float, top: float) -> Floats:
    """Mass of the density e**((l - top)/2) / (2 (1 - e**-top)) on [left, left + width]."""
    return np.asarray(np.exp((left - top) / 2) * (math.expm1(width / 2) / -math.expm1(-top)))


def _on_real(t: float, e: float) -> tuple[float, float]:
    """Evaluate at one order for one parameter: ``_Transform.real`` for less work."""
    straight, rest = t * e, -math.expm1(-e)
    if t <= 0.5:
        y = (-math.expm1(-2 * t * e) * (math.exp(-e) / rest) - 2 * t) / (2 * t + 1)
        return straight + math.log1p(y), UNIT * (64 * straight + 512 * t) + _LEAST * t
    logs = math.log(-math.expm1(-(2 * t + 1) * e)), math.log(2 * t + 1), math.log(rest)
    size = 8 + abs(logs[0]) + logs[1] + abs(logs[2])
    error = UNIT * (64 * straight + 32 * size) + _LEAST * t
    return straight + (logs[0] - logs[1] - logs[2]), error


@final
@dataclass(frozen=True, slots=True)
class _Transform:
    e: Floats
    counts: Floats

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
        total = self.counts @ value
        scale = self.counts @ np.abs(value)
        return total, self.counts @ error + (len(self.counts) + 4) * UNIT * scale

    def line(self, order: float, heights: Floats) -> CumulantLine:
        """Evaluate 1 - e**-w in real arithmetic that loses nothing where w is small."""
        z = order + 1j * heights
        w, straight = (2 * z + 1) * self.e, z * self.e
        fall, turn = np.exp(-w.real), w.imag
        inner = 2 * np.sin(turn / 2) ** 2 - np.expm1(-w.real) * np.cos(turn)
        gone = inner + 1j * (fall * np.sin(turn))
        value = np.log(gone / ((2 * z + 1) * -np.expm1(-self.e)))
        wrong = UNIT * (256 + 8 * np.abs(w) * fall / np.abs(gone))
        error = np.log1p(wrong) + UNIT * (16 + 16 * np.abs(value) + 8 * np.abs(straight))
        return summed_line(self.counts, straight + value, error + _LEAST * np.abs(z))

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
