"""The pair of randomized response, which is the worst of all (epsilon, delta) mechanisms.

Trust: kernel.

Definition.  With probability delta the loss is infinite; otherwise it is epsilon with probability
e**epsilon / (1 + e**epsilon), and -epsilon.

Theorem (key ``randomized-response``).  Every (epsilon, delta)-private mechanism is dominated by
this pair (Kairouz, Oh and Viswanath 2015, theorem 3.4).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Final, Self, final

import numpy as np

from discreet.exact import float_down, float_up
from discreet.loss.bracket import Bracket
from discreet.loss.engine.closed_forms import ResponseProfile
from discreet.loss.engine.rounding import UNIT
from discreet.loss.pairs.distribution import CumulantLine, Floats, LossList, PrivacyLossDistribution
from discreet.loss.pairs.loss_transforms import LossAtoms, on_line, on_real, on_reals, summed_line
from discreet.loss.pairs.pair import LARGEST_LOSS, PairFamily, ProfileCurve

_MOST_RUNS: Final = 100_000


@final
@dataclass(frozen=True, slots=True)
class ResponsePair(PairFamily):
    """The worst pair of laws that (epsilon, delta) allows.

    >>> ResponsePair(Fraction(1), Fraction(0)).group(3)
    ResponsePair(epsilon=Fraction(3, 1), delta=Fraction(0, 1))
    """

    epsilon: Fraction
    delta: Fraction = Fraction(0)

    spread: ClassVar[bool] = False

    def group(self, k: int) -> ResponsePair | None:
        """Pure bounds multiply; what becomes of delta below one is for the notion to say."""
        if self.delta == 1:
            return self
        return ResponsePair(self.epsilon * k) if self.delta == 0 else None

    def cumulant(self, t: float) -> float:
        """Evaluate the closed form and add its error bound."""
        if self.delta == 1:  # no loss is finite
            return -math.inf
        e = float(self.epsilon)
        small = math.exp(-e)
        value, error = on_real(t, e, small / (1 + small), 2 * t * e)
        lost = math.log1p(-float(self.delta))
        return value + lost + 2 * (error + 17 * UNIT * (value - lost))

    def infinity(self) -> Bracket:
        """Delta."""
        if not self.delta:
            return Bracket(0.0, 0.0)
        return Bracket(float_down(self.delta), float_up(self.delta))

    def exact_infinity(self) -> Fraction:
        """Delta."""
        return self.delta

    def largest(self) -> float:
        """A finite loss is at most epsilon."""
        return float_up(self.epsilon)

    def largest_below(self) -> float:
        """Epsilon has positive probability."""
        return float_down(self.epsilon)

    def boundless(self) -> bool:
        """Finite losses are mostly epsilon."""
        return self.epsilon > LARGEST_LOSS

    def closed_form(self, count: int) -> ProfileCurve | None:
        """Add up the binomial law; the runs without an infinite loss have chance (1-delta)**n."""
        if count > _MOST_RUNS or not self.epsilon:
            return None
        kept = math.exp(count * math.log1p(-float(self.delta))) if self.delta < 1 else 0.0
        binomial = ResponseProfile(self.epsilon, count)
        slack = UNIT * (16 + 4 * count)

        def curve(eps: float) -> Bracket:
            whole = binomial.bracket(eps)
            return Bracket(whole.low * kept * (1 - slack), whole.high * kept * (1 + slack))

        return curve

    def grain(self) -> Fraction | None:
        """The atoms lie at plus and minus epsilon."""
        return self.epsilon

    def atoms(self) -> LossAtoms:
        """The two finite losses."""
        e = float(self.epsilon)
        stay = float(1 - self.delta)
        mass = np.array([stay * math.exp(-e) / (1 + math.exp(-e)), stay / (1 + math.exp(-e))])
        return LossAtoms(np.array([-1.0, 1.0]), mass, self.epsilon, UNIT * (32 + 4 * e))

    def listed(self) -> LossList | None:
        """The two finite losses."""
        return self.atoms().listed() if self.delta < 1 else None

    def above(self, step: Fraction) -> PrivacyLossDistribution | None:
        """Spread the atoms over the lattice."""
        return self.atoms().above(step, float_up(self.delta))

    def below(self, step: Fraction) -> PrivacyLossDistribution | None:
        """Answer with the largest epsilon on the lattice that is no larger: a post-processing."""
        lattice = ResponsePair(step * math.floor(self.epsilon / step), self.delta)
        return lattice.atoms().below(step, float_down(self.delta))

    @classmethod
    def transform_of(cls, pairs: Sequence[tuple[Self, int]]) -> _Transform:
        """Gather the parameters in columns."""
        lost = np.array(
            [math.log1p(-float(pair.delta)) if pair.delta < 1 else -math.inf for pair, _ in pairs]
        )
        counts = np.array([float(count) for _, count in pairs])
        return _Transform(
            np.array([float(pair.epsilon) for pair, _ in pairs])[:, None],
            counts,
            float(counts @ lost),
        )


@final
@dataclass(frozen=True, slots=True)
class _Transform:
    e: Floats
    counts: Floats
    lost: float

    def real(self, orders: Floats) -> tuple[Floats, Floats]:
        value, error = on_reals(orders, self.e, self._chance(), 2 * orders * self.e)
        total = self.counts @ value
        size = np.abs(total) + abs(self.lost)
        return total + self.lost, self.counts @ error + (len(self.counts) + 16) * UNIT * size

    def _chance(self) -> Floats:
        """1 / (1 + e**e), without overflow."""
        small = np.exp(-self.e)
        return np.asarray(small / (1 + small))

    def line(self, order: float, heights: Floats) -> CumulantLine:
        z = order + 1j * heights
        h = self._chance().astype(np.complex128)
        value, error = on_line(z, self.e, h, 2 * z * self.e)
        line = summed_line(self.counts, value, error)
        return CumulantLine(line.value + self.lost, line.error + 32 * UNIT * (1 + abs(self.lost)))

    def decay(self, order: float, height: float) -> float:  # noqa: ARG002  (atoms never decay)
        return 0.0
