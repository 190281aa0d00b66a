"""Profiles in closed form: one Gaussian, one Laplace, repeated randomized response.

Trust: kernel.

Each function returns a bracket whose ends include a proved bound on rounding
(docs/proofs/accounting.md, section 3), given the model of ``rounding``, which
covers the special functions of SciPy.  SciPy takes long to load, so the first call loads it.

Theorem (key ``response-binomial``; Kairouz, Oh and Viswanath 2015, theorem 3.3).  n-fold
randomized response has a binomial privacy loss, whose profile is a finite sum.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Final, final

import numpy as np

from discreet.loss.bracket import Bracket
from discreet.loss.engine.rounding import SPECIAL, TINIEST, UNIT
from discreet.loss.pairs.distribution import Floats


def erfcx(x: Floats | float) -> Floats:
    """Evaluate e**(x**2) erfc(x)."""
    from scipy import special  # type: ignore[import-untyped]  # noqa: PLC0415  slow to load

    return np.asarray(special.erfcx(x))


def gammaln(x: Floats) -> Floats:
    """Evaluate the logarithm of the gamma function."""
    from scipy import special  # noqa: PLC0415  slow to load

    return np.asarray(special.gammaln(x))


FAINTEST: Final = 2.0**-400
"""The least square of mu that is computed with: a smaller one is between nothing and this."""

_FEW: Final = 64
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
    wrong = (left + right) * _relative(size) + TINIEST
    return Bracket.within(left - right - wrong, left - right + wrong, ceil=1.0)


def gaussian_deltas(square: float, eps: Floats) -> tuple[Floats, Floats]:
    """Evaluate the Gaussian profile at many real eps, with error bounds.

    With the Mills ratio m and the density f: for a >= 0 the profile is f(a) (m(a) - m(a + mu)),
    and for a < 0 it is 1 - f(a) (m(-a) + m(a + mu)); where a + mu < 0 too, it is
    1 - e**eps + f(a) (m(-a - mu) - m(-a)).

    The profile rises with mu: a Gaussian with more noise is one with noise added.  Where eps / mu
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
    relative = 2 * SPECIAL + UNIT * (64 + 16 * size * size)  # as _relative, for many
    error = (left + right) * relative + base * 16 * UNIT + TINIEST
    if size.max(initial=0.0) > _CLEAR:
        error = np.where((size > _CLEAR) & (near < 40 + 8 * UNIT * size), 1.0, error)
    return value, error


def _relative(size: float) -> float:
    return 2 * SPECIAL + UNIT * (64 + 16 * size * size)


def _mills(x: Floats) -> Floats:
    return np.asarray(_HALF_PI * erfcx(x * _ROOT))


def laplace_delta(epsilon: Fraction, eps: float) -> Bracket:
    """Enclose (1 - e**((eps - e)/2))+ for eps >= 0."""
    gap = (Fraction(eps) - epsilon) / 2
    if gap >= 0:
        return Bracket(0.0, 0.0)
    value = -math.expm1(float(gap))
    return Bracket.within(value * (1 - 32 * UNIT), value * (1 + 32 * UNIT), ceil=1.0)


@final
class ResponseProfile:
    """Count-fold randomized response (its finite part), by the binomial sum.

    With e = epsilon, j heads give the loss (2j - n)e and have probability
    C(n, j) e**(je) / (1 + e**e)**n; only losses above eps count.

    >>> ResponseProfile(Fraction(1), 2).bracket(2.0)
    Bracket(low=0.0, high=0.0)
    """

    __slots__ = ("_e", "_epsilon", "_losses", "_mass", "_relative", "count")

    def __init__(self, epsilon: Fraction, count: int) -> None:
        """Evaluate all n + 1 probabilities once."""
        e = float(epsilon)
        j = np.arange(count + 1, dtype=np.float64)
        heads = -math.log1p(math.exp(-e))
        tails = heads - e
        self.count, self._epsilon, self._e = count, epsilon, e
        powers = j * heads + j[::-1] * tails
        if count <= _FEW:  # each coefficient is rounded once, and SciPy is not needed
            self._mass = np.exp(powers) * [float(math.comb(count, k)) for k in range(count + 1)]
            size = 2 * UNIT
        else:
            rising = gammaln(j + 1.0)
            whole = float(rising[-1])
            self._mass = np.exp(whole - rising - rising[::-1] + powers)
            size = 4 * SPECIAL * max(whole, 1.0)
        self._losses = (2 * j - count) * e
        self._relative = size + UNIT * (64 * count * (abs(tails) + 1) + 64)

    def bracket(self, eps: float) -> Bracket:
        """Enclose the profile at eps >= 0."""
        exact = Fraction(eps) / self._epsilon
        first = max(0, math.floor((exact + self.count) / 2) + 1)
        if first > self.count:
            return Bracket(0.0, 0.0)
        mass = self._mass[first:]
        terms = mass * -np.expm1(np.minimum(eps - self._losses[first:], 0.0))
        value = float(terms.sum())
        drift = UNIT * 8 * (self.count * self._e + eps)  # of the gap; its factor moves by no more
        wrong = (value + TINIEST) * self._relative + 2 * drift * float(mass.sum())
        return Bracket.within(value - wrong, value + wrong + TINIEST, ceil=1.0)
