"""The pairs of continuous and of discrete Gaussian noise, and of the smoothed discrete one.

Trust: kernel.

Brackets include a proved bound on rounding (docs/proofs/accounting.md, section 3), given the model
of ``rounding``, which covers the special functions of SciPy.  SciPy takes long to load, so the
first call loads it.

Definition. The Gaussian mechanism has the pair N(mu, 1) against N(0, 1): L is normal with mean
mu**2 / 2 and variance mu**2; ln E e**(zL) = z (z+1) mu**2 / 2.  Its profile is that of key
``gaussian-profile``.  Products of Gaussian pairs are the Gaussian pair whose mu**2 is the sum
(Dong, Roth and Su 2022, corollary 2).

Definition.  Discrete Gaussian noise at an integer distance: with P[Z = j] proportional to e**(-j**2
/ (2v)) and distance d, the loss of j is d (2j + d) / (2v), where j is drawn from the same
distribution.
Theorem (key ``discrete-gaussian-renyi``; Canonne, Kamath and Steinke 2020, proposition 5).
ln E e**(tL) <= t (t+1) d**2 / (2v): discrete Gaussian noise has the Rényi curve of continuous noise
of the same variance parameter, at integer distances.

Definition.  The smoothed pair: with probability ``leak`` the loss is infinite; otherwise it is that
of N(mu, 1) against N(0, 1).  The releases also satisfy rho-zCDP.
Theorem (key ``gaussian-smoothing``; Poisson summation, as for smoothing in Micciancio and Regev
2007).  Let noise on the integers have the parameter v = s + t in each coordinate, and let x and x'
be integer vectors that differ in at most n places, by at most d in L2.  Then x + Z against x' + Z
is dominated by the Gaussian pair of mu = d / sqrt(s) times a leak
of n eta, where eta = 4 q / (1 - q**3) and q = exp(-2 pi**2 t).
Proof: docs/proofs/accounting.md, section 15.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Final, Self, final

import numpy as np

from discreet.errors import OutOfRange
from discreet.exact import exact_sum, float_down, float_up, whole
from discreet.loss.dots import Floats
from discreet.loss.finite import Atoms
from discreet.loss.moments import RenyiCurve
from discreet.loss.pair import (
    LARGEST_LOSS,
    LARGEST_PLACE,
    CumulantLine,
    Pair,
    ProfileCurve,
    Transform,
)
from discreet.loss.pure_pairs import ResponsePair
from discreet.loss.rounding import SPECIAL, TINIEST, UNIT, Bracket, quotient_up


def erfcx(x: Floats | float) -> Floats:
    """Evaluate e**(x**2) erfc(x)."""
    from scipy import special  # type: ignore[import-untyped]  # noqa: PLC0415  slow to load

    return np.asarray(special.erfcx(x))


FAINTEST: Final = 2.0**-400
"""The least square of mu that is computed with: a smaller one is between nothing and this."""

_CLEAR: Final = 1e12  # sizes up to which a difference of floats tells one density from another
_ROOT: Final = math.sqrt(0.5)
_HALF_PI: Final = math.sqrt(math.pi / 2)


def gaussian_delta(square: Fraction, eps: float) -> Bracket:
    """Enclose Phi(-a) - e**eps Phi(-a - mu), with a = eps/mu - mu/2 and mu**2 = square.

    A square below ``FAINTEST`` is enclosed as in ``gaussian_deltas``.
    """
    mu = math.sqrt(max(float(square), FAINTEST))
    a, b = eps / mu - mu / 2, eps / mu + mu / 2
    size = abs(eps) / mu + mu
    if a < 0 or size > 1e6 or square < FAINTEST:
        value, error = gaussian_deltas(float(square), np.array([eps]))
        return Bracket.within(float(value[0] - error[0]), float(value[0] + error[0]), ceil=1.0)
    density = 0.5 * math.exp(-a * a / 2)
    left, right = density * float(erfcx(a * _ROOT)), density * float(erfcx(b * _ROOT))
    wrong = (left + right) * (2 * SPECIAL + UNIT * (64 + 16 * size * size)) + TINIEST
    return Bracket.within(left - right - wrong, left - right + wrong, ceil=1.0)


def gaussian_deltas(square: float, eps: Floats) -> tuple[Floats, Floats]:
    """Evaluate the Gaussian profile at many real eps, with error bounds.

    With the Mills ratio m and the density f: for a >= 0 the profile is f(a) (m(a) - m(a + mu)),
    and for a < 0 it is 1 - f(a) (m(-a) + m(a + mu)); if a + mu < 0 too, it is
    1 - e**eps + f(a) (m(-a - mu) - m(-a)).

    The profile rises with mu: a Gaussian with more noise is one with noise added.  If eps / mu
    might overflow, at mu**2 < ``FAINTEST``, it is enclosed by the profiles of ``FAINTEST`` and of
    mu = 0, which is (1 - e**eps)+.
    Where a is the difference of two numbers so large that rounding hides it, nothing is claimed.
    """
    if square < FAINTEST:
        flat = -np.expm1(np.minimum(eps, 0.0))
        most, wrong = gaussian_deltas(FAINTEST, eps)
        half = np.maximum(most - flat, 0.0) / 2
        return flat + half, half + wrong + 16 * UNIT * (flat + half)
    mu = math.sqrt(square)
    scaled = eps / mu
    a = scaled - mu / 2
    b = scaled + mu / 2
    near = np.abs(a)
    first, second = _mills(near), _mills(np.abs(b))
    density = np.exp(-a * a / 2) * (0.5 * math.sqrt(2 / math.pi))
    left, right = density * first, density * second
    ahead, behind = a >= 0, b < 0
    value = np.where(ahead, left - right, 1 - left - right)
    base = np.where(ahead, 0.0, 1.0)
    if behind.any():
        flat = -np.expm1(np.minimum(eps[behind], 0.0))
        value[behind] = flat + right[behind] - left[behind]
        base[behind] = flat
    size = np.abs(scaled) + mu
    relative = 2 * SPECIAL + UNIT * (64 + 16 * size * size)
    error = (left + right) * relative + base * 16 * UNIT + TINIEST
    if size.max(initial=0.0) > _CLEAR:
        error = np.where((size > _CLEAR) & (near < 40 + 8 * UNIT * size), 1.0, error)
    return value, error


def _mills(x: Floats) -> Floats:
    return np.asarray(_HALF_PI * erfcx(x * _ROOT))


LEAK_BITS: Final = 100
_HALVING: Final = Fraction(22, 625)  # exp(-2 pi**2 * 22/625) < 1/2


def smoothing(coordinates: int, *, bits: int = LEAK_BITS) -> Fraction:
    """Return a t at which n eta is at most 2**-bits (key ``gaussian-smoothing``), for bits >= 0.

    q**3 is below 1/5, so n eta <= 5 n q, and 5 n < 2**(3 + b) for n of b bits.  With t of
    22/625 = 0.0352 a bit, q <= 2**-(bits + 3 + b), as 2 pi**2 > 19.739 and 19.739 * 0.0352 > ln 2.

    >>> float(smoothing(1)), float(smoothing(1000)), float(smoothing(1, bits=30))
    (3.6608, 3.9776, 1.1968)
    """
    places = whole(coordinates, name="coordinates", low=1).bit_length()
    return (whole(bits, name="bits", low=0) + 3 + places) * _HALVING


@final
@dataclass(frozen=True, slots=True)
class GaussianPair(Pair):
    """N(mu, 1) against N(0, 1), by the exact square of mu."""

    mu_squared: Fraction

    def group(self, k: int) -> GaussianPair:
        return GaussianPair(self.mu_squared * k * k)

    def cumulant(self, t: float) -> float:
        return _cumulant(t, *self.mu_squared.as_integer_ratio()) if self.mu_squared and t else 0.0

    def largest(self) -> float:
        return math.inf if self.mu_squared else 0.0

    def largest_below(self) -> float:
        return self.largest()

    def boundless(self) -> bool:
        return self.mu_squared > LARGEST_LOSS

    def closed_form(self) -> ProfileCurve:
        return lambda eps: gaussian_delta(self.mu_squared, eps)

    def finite_parts(self, eps: Floats) -> tuple[Floats, Floats]:
        value, error = gaussian_deltas(float(self.mu_squared), eps)
        return np.maximum(value - error, 0.0), np.minimum(value + error, 1.0)

    def smoothed(self, bits: int) -> tuple[Fraction, Fraction]:  # noqa: ARG002  it leaks nothing
        return self.mu_squared, Fraction(0)

    @classmethod
    def transform_of(cls, pairs: Sequence[tuple[Self, int]]) -> _Transform:
        return _Transform(float(sum(pair.mu_squared * count for pair, count in pairs)))


def _cumulant(t: float, square: int, unit: int) -> float:
    """Round t (t + 1) / 2 times the quotient of two integers up."""
    top, bottom = t.as_integer_ratio()
    return quotient_up(top * (top + bottom) * square, 2 * bottom * bottom * unit)


@final
@dataclass(frozen=True, slots=True)
class _Transform(Transform):
    square: float

    def real(self, orders: Floats) -> tuple[Floats, Floats]:
        value = orders * (orders + 1) * (0.5 * self.square)
        return value, 8 * UNIT * value

    def line(self, order: float, heights: Floats) -> CumulantLine:
        z = order + 1j * heights
        value = np.asarray(z * (z + 1) * (0.5 * self.square), np.complex128)
        return CumulantLine(value, 16 * UNIT * np.abs(z) * np.abs(z + 1) * self.square)

    def decay(self, order: float, height: float) -> float:  # noqa: ARG002  (the same at every order)
        return -0.5 * self.square * height * height * (1 - 8 * UNIT)


_MOST_LOSSES: Final = 1 << 18
_DEVIATIONS: Final = 39.0  # standard deviations on each side; beyond lies less than e**-760


@final
@dataclass(frozen=True, slots=True)
class DiscreteGaussianPair(Pair):
    """Discrete Gaussian noise around two integers."""

    variance: Fraction
    distance: int

    spread: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if self.variance <= 0 or self.distance < 1:
            raise OutOfRange(
                "the distance of a pair is below one, or its variance is not above zero; give a "
                "variance above zero and a distance of at least one."
            )

    def boundless(self) -> bool:
        return self.distance**2 > LARGEST_LOSS * self.variance

    def group(self, k: int) -> DiscreteGaussianPair:
        return DiscreteGaussianPair(self.variance, self.distance * k)

    def smoothed(self, bits: int) -> tuple[Fraction, Fraction] | None:
        """The Gaussian of slightly less noise (key ``gaussian-smoothing``), if noise is wide."""
        t = smoothing(1, bits=bits)
        if self.variance < 6 * t:
            return None
        return self.distance**2 / (self.variance - t), Fraction(1, 1 << bits)

    def cumulant(self, t: float) -> float:
        top, bottom = self.variance.as_integer_ratio()
        return _cumulant(t, self.distance**2 * bottom, top)

    def grain(self) -> Fraction:
        """All losses are multiples of d/(2v), of the parity of d."""
        whole = self.distance / self.variance
        return whole / 2 if self.distance % 2 else whole

    def _reach(self) -> int:
        return math.ceil(_DEVIATIONS * math.sqrt(float(self.variance))) + 1

    @property
    def is_enumerable(self) -> bool:
        """Whether there are few enough losses to list: else use ``SmoothedGaussianPair``."""
        return 2 * self._reach() + 1 <= _MOST_LOSSES

    def atoms(self) -> Atoms | None:
        """The losses within 39 standard deviations; None if they are too many, or too far out."""
        if not self.is_enumerable or self.distance > LARGEST_PLACE:
            return None
        reach, d = self._reach(), self.distance
        j = np.arange(-reach, reach + 1, dtype=np.float64)
        weight = np.exp(-j * j / (2 * float(self.variance)))
        mass = weight / weight.sum()
        start = d // 2 - reach
        if d % 2:  # all places are odd
            start, even = d - 2 * reach, mass
            mass = np.zeros(2 * len(even) - 1)
            mass[::2] = even
        error = UNIT * (8 * _DEVIATIONS**2 + 2 * reach + 68)
        return Atoms.on_lattice(start, mass, self.grain(), error=error, missing=TINIEST)


LEAK: Final = Fraction(1, 1 << LEAK_BITS)


@final
@dataclass(frozen=True, slots=True)
class SmoothedGaussianPair(Pair):
    """A Gaussian pair beside a leak, and a bound on the zCDP loss of the same releases."""

    mu_squared: Fraction
    leak: Fraction
    rho: Fraction

    two_bounds: ClassVar[bool] = True

    def __post_init__(self) -> None:
        leak = self.leak
        positive = self.mu_squared.numerator > 0 and self.rho.numerator > 0
        if not (positive and 0 <= leak.numerator <= leak.denominator):
            raise OutOfRange(
                "a square or rho is not above zero, or a leak is not between 0 and 1; give "
                "numbers above zero, and a chance."
            )

    @classmethod
    def of(cls, *, variance: Fraction, squared: int, coordinates: int) -> Self | None:
        """Price integer moves of at most this squared length; None if the noise is too narrow.

        No more coordinates can differ than the squared length.  Noise is too narrow if more than a
        sixth of it would go into smoothing: the curve alone is as good then.
        """
        t = smoothing(min(coordinates, squared))
        if variance < 6 * t:
            return None
        return cls(Fraction(squared) / (variance - t), LEAK, squared / (2 * variance))

    @classmethod
    def product(cls, pairs: Sequence[tuple[Self, int]]) -> Self:
        """Run all, each so many times: squares, rho and leaks add up, leaks to no more than 1."""
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
        return GaussianPair(self.mu_squared), ResponsePair(Fraction(0), self.leak)

    def smoothed(self, bits: int) -> tuple[Fraction, Fraction]:  # noqa: ARG002  fixed before
        return self.mu_squared, self.leak

    def curve(self) -> RenyiCurve:
        return RenyiCurve(rho=self.rho)

    def attained(self) -> GaussianPair:
        """A Gaussian of the same rho, which satisfies both bounds."""
        return GaussianPair(min(self.mu_squared, 2 * self.rho))

    def boundless(self) -> bool:
        return self.mu_squared > LARGEST_LOSS

    def group(self, k: int) -> SmoothedGaussianPair:
        """Integers move k times as far, in k times as many places, each of which may leak."""
        leak = min(self.leak * k, Fraction(1))
        return SmoothedGaussianPair(self.mu_squared * k * k, leak, self.rho * k * k)

    def cumulant(self, t: float) -> float:
        """Bound the Gaussian's; the finite part has a mass of 1 - leak."""
        return GaussianPair(self.mu_squared).cumulant(t)

    def infinity(self) -> Bracket:
        return Bracket(float_down(self.leak), float_up(self.leak))
