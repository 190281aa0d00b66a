"""Discrete Gaussian noise, in any number of coordinates, below one continuous Gaussian.

Trust: kernel.

Definition.  With probability ``leak`` the loss is infinite; otherwise it is that of N(mu, 1)
against N(0, 1).  The releases also satisfy rho-zCDP.

Theorem (key ``gaussian-smoothing``; Poisson summation, as for smoothing in Micciancio and Regev
2007).  Let noise on the integers have the parameter v = s + t in each coordinate, and let x and x'
be integer vectors that differ in at most n places, by at most d in L2.  Then x + Z against x' + Z
is dominated by the Gaussian pair of mu = d / sqrt(s) times a leak
of n eta, where eta = 4 q / (1 - q**3) and q = exp(-2 pi**2 t).
Proof.  Draw X from N(x, s), then Y on the integers with P[Y = y] proportional to
exp(-(y - X)**2 / (2t)).  By Poisson's formula the sum over y that divides lies within
sqrt(2 pi t) (1 +- r), r = 2 (q + q**4 + q**9 + ...) <= eta / 2.  So Y's law W is below
exp(-(y - x)**2 / (2v)) / (sqrt(2 pi v) (1 - r)), and the law of x + Z, which divides by at most
sqrt(2 pi v) (1 + r), is at least (1 - r) / (1 + r) >= 1 - eta times W, at every y and for every x.
Hence x + Z is W up to a chance of n eta, and W sees no more of x than X does.
One pair covers all moves of a length at once, so which of them occurs may depend on what was seen
before (docs/proofs/accounting.md, section 11).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Self, final

from discreet.errors import OutOfRange
from discreet.exact import exact_sum, float_down, float_up
from discreet.loss.bracket import Bracket
from discreet.loss.pairs.gaussian import LEAK_BITS, GaussianPair, smoothing
from discreet.loss.pairs.pair import LARGEST_LOSS, Pair, PairFamily
from discreet.loss.pairs.randomized_response import ResponsePair
from discreet.loss.renyi.curve import RenyiCurve

LEAK: Final = Fraction(1, 1 << LEAK_BITS)


@final
@dataclass(frozen=True, slots=True)
class SmoothedGaussianPair(PairFamily):
    """A Gaussian pair beside a leak, and a bound on the zCDP loss of the same releases.

    >>> pair = SmoothedGaussianPair.of(variance=Fraction(10**8), squared=4, coordinates=9)
    >>> pair.rho, 0 < pair.mu_squared / (2 * pair.rho) - 1 < 1e-7
    (Fraction(1, 50000000), True)
    """

    mu_squared: Fraction
    leak: Fraction
    rho: Fraction

    def __post_init__(self) -> None:
        """Refuse what is no pair."""
        leak = self.leak
        positive = self.mu_squared.numerator > 0 and self.rho.numerator > 0
        if not (positive and 0 <= leak.numerator <= leak.denominator):
            raise OutOfRange(
                "a square or rho is not above zero, or a leak is not between 0 and 1; give "
                "numbers above zero, and a chance."
            )

    @classmethod
    def of(cls, *, variance: Fraction, squared: int, coordinates: int) -> Self | None:
        """Price integer moves of at most this squared length; None where the noise is too narrow.

        No more coordinates can differ than the squared length.  Noise is too narrow if more than a
        sixth of it would go into smoothing: the curve alone is as good then.
        """
        t = smoothing(min(coordinates, squared))
        if variance < 6 * t:
            return None
        return cls(Fraction(squared) / (variance - t), LEAK, squared / (2 * variance))

    @classmethod
    def product(cls, pairs: Sequence[tuple[Self, int]]) -> Self:
        """Run all, each so many times: squares, rho and leaks add up, the last to no more than 1.

        >>> once = SmoothedGaussianPair(Fraction(1, 9), Fraction(1, 2), Fraction(1, 18))
        >>> SmoothedGaussianPair.product([(once, 1), (once, 2)])
        SmoothedGaussianPair(mu_squared=Fraction(1, 3), leak=Fraction(1, 1), rho=Fraction(1, 6))
        """
        if len(pairs) == 1 and pairs[0][1] == 1:
            return pairs[0][0]
        squares, leaks, rhos = (
            exact_sum(value if count == 1 else value * count for value, count in values)
            for values in (
                [(pair.mu_squared, count) for pair, count in pairs],
                [(pair.leak, count) for pair, count in pairs],
                [(pair.rho, count) for pair, count in pairs],
            )
        )
        return cls(squares, min(leaks, Fraction(1)), rhos)

    def factors(self) -> tuple[Pair, ...]:
        """The Gaussian and the leak."""
        return GaussianPair(self.mu_squared), ResponsePair(Fraction(0), self.leak)

    def smoothed(self, bits: int) -> tuple[Fraction, Fraction]:  # noqa: ARG002  whatever it leaks
        """Its Gaussian, and its leak."""
        return self.mu_squared, self.leak

    def curve(self) -> RenyiCurve:
        """Rho times the order."""
        return RenyiCurve(rho=self.rho)

    def gain(self, t: float) -> float:
        """Compare rho with the square of mu."""
        return float(self.mu_squared / 2 - self.rho) * t * (t + 1)

    def attained(self) -> GaussianPair:
        """A Gaussian of the same rho, which satisfies both bounds."""
        return GaussianPair(min(self.mu_squared, 2 * self.rho))

    def boundless(self) -> bool:
        """Half the square of mu is the mean loss."""
        return self.mu_squared > LARGEST_LOSS

    def group(self, k: int) -> SmoothedGaussianPair:
        """Integers move k times as far, in k times as many places, each of which may leak."""
        leak = min(self.leak * k, Fraction(1))
        return SmoothedGaussianPair(self.mu_squared * k * k, leak, self.rho * k * k)

    def cumulant(self, t: float) -> float:
        """Bound the Gaussian's; the finite part has a mass of 1 - leak."""
        return GaussianPair(self.mu_squared).cumulant(t)

    def infinity(self) -> Bracket:
        """The leak."""
        return Bracket(float_down(self.leak), float_up(self.leak))
