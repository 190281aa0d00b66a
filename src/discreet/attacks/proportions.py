"""What counted hits say about a chance: the bounds of Clopper and Pearson, rounded outward.

Trust: public.

Definition.  K of n independent trials hit, each with probability p.  ``at_least`` returns L and
``at_most`` returns U, functions of K, n and a level a.
Theorem (key ``clopper-pearson``; Clopper and Pearson 1934).  P[L > p] <= a and P[U < p] <= a, for
every p.
Proof.  L(k) is such that P_{L(k)}[K >= k] <= a.  Let k be the least count with L(k) > p.  Then
P[L(K) > p] <= P_p[K >= k] <= P_{L(k)}[K >= k] <= a, because that probability grows with p.  U is
one minus the L of the misses.
Nothing rests on a float: a library's quantile is a first guess, and moves outward until the tail
at it, enclosed by :func:`tail`, is at most a.
"""

from __future__ import annotations

import functools
import math
from fractions import Fraction
from typing import Final

from discreet import certified
from discreet.errors import OutOfRange
from discreet.exact import decimal, whole
from discreet.loss.elementary import exp, log

_BITS: Final = 160
_FIXED: Final = 128
_GRID: Final = 1 << 60
_MOST: Final = 10**9
_EXACT: Final = 256
_SMALL: Final = 40


def at_least(hits: int, n: int, *, level: object) -> Fraction:
    """Return a probability that is above the true one with probability at most ``level``.

    >>> round(float(at_least(5000, 10_000, level="0.025")), 6)
    0.490151
    >>> at_least(0, 10, level="0.05")
    Fraction(0, 1)
    """
    count, trials, chance = _checked(hits, n, level)
    return _lower(count, trials, chance)


def at_most(hits: int, n: int, *, level: object) -> Fraction:
    """Return a probability that is below the true one with probability at most ``level``.

    >>> round(float(at_most(0, 1000, level="0.025")), 6)
    0.003682
    """
    count, trials, chance = _checked(hits, n, level)
    return 1 - _lower(trials - count, trials, chance)


@functools.lru_cache(maxsize=4096)
def _lower(hits: int, n: int, level: Fraction) -> Fraction:
    if hits == 0:
        return Fraction(0)
    from scipy.special import betaincinv  # type: ignore[import-untyped]  # noqa: PLC0415  slow

    rough = float(betaincinv(hits, n - hits + 1, float(level)))
    guess = Fraction(math.floor(rough * _GRID), _GRID)
    step = Fraction(1, _GRID) + guess / 2**40
    while guess > 0 and tail(hits, n, guess) > level:
        guess, step = guess - step, 2 * step
    return max(guess, Fraction(0))


def tail(hits: int, n: int, chance: Fraction) -> Fraction:
    """Return P[K >= hits] for n trials, rounded up.

    The first term is enclosed by logarithms of factorials.  The ratio of successive terms
    decreases, so the tail is at most a geometric series.

    >>> float(tail(9, 10, Fraction(1, 2)))  # 11 / 1024
    0.0107421875
    """
    if hits <= 0 or chance >= 1:
        return Fraction(1)
    if chance <= 0:
        return Fraction(0)
    top, bottom = chance.numerator, chance.denominator - chance.numerator
    if (n - hits) * top >= (hits + 1) * bottom:  # the terms still rise: below the mean
        return Fraction(1)
    term = total = 1 << _FIXED
    for k in range(hits, n):  # term k + 1 over term k is (n - k) / (k + 1) * p / (1 - p)
        up, down = (n - k) * top, (k + 1) * bottom
        if (term * up << _SMALL) < total * (down - up):  # the rest is below term * r / (1 - r)
            total += -(-term * up // (down - up))
            break
        term = -(-term * up // down)
        total += term
    first = exp(_log_choose(n, hits) + hits * log(chance).high + (n - hits) * log(1 - chance).high)
    return min(Fraction(total, 1 << _FIXED) * first.high, Fraction(1))


def _log_choose(n: int, k: int) -> Fraction:
    """Return the logarithm of n over k, rounded up."""
    if min(k, n - k) <= _EXACT:
        return log(Fraction(math.comb(n, k))).high
    return _log_factorial(n)[1] - _log_factorial(k)[0] - _log_factorial(n - k)[0]


@functools.lru_cache(maxsize=4096)
def _log_factorial(m: int) -> tuple[Fraction, Fraction]:
    """Enclose log m! by Stirling's series, whose partial sums alternate around it."""
    low_pi, high_pi = certified.pi(_BITS)
    low_log, high_log = (Fraction(end, 1 << _BITS) for end in certified.log(Fraction(m), _BITS))
    root_low = log(Fraction(2 * low_pi * m, 1 << _BITS)).low / 2
    root_high = log(Fraction(2 * high_pi * m, 1 << _BITS)).high / 2
    high = Fraction(1, 12 * m) - Fraction(1, 360 * m**3) + Fraction(1, 1260 * m**5)
    low = high - Fraction(1, 1680 * m**7)
    return m * low_log - m + root_low + low, m * high_log - m + root_high + high


def _checked(hits: object, n: object, level: object) -> tuple[int, int, Fraction]:
    trials = whole(n, name="n", low=1, high=_MOST)
    count = whole(hits, name="hits", low=0, high=trials)
    chance = decimal(level, name="level")
    if not 0 < chance < 1:
        raise OutOfRange(
            what="level is not between 0 and 1.",
            why="it is the chance that the bound is wrong.",
            do="give a small level above zero, such as '1e-6'.",
        )
    return count, trials, chance
