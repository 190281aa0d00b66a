"""Elementary functions of rationals, enclosed between integers.

Trust: kernel (T6).

Samplers settle their close calls here, and thresholds rest on these tails.

Definition.  Each function returns integers ``(low, high)`` with
``low <= 2**bits * f(x) <= high``: an enclosure at scale ``2**bits``.  Widths are a few units; they
affect how often a caller must ask again with more bits, never what it concludes.

Theorem (key ``enclosure``).  The enclosures contain the true value.  Each loop below counts its
truncations, and the count bounds the error; docs/proofs/noise.md has the arithmetic.
"""

from __future__ import annotations

import functools
import math
from fractions import Fraction

__all__ = ["exp_neg", "log", "pi", "sqrt"]


def exp_neg(x: Fraction, bits: int) -> tuple[int, int]:
    """Enclose ``exp(-x)`` for rational ``x >= 0``.

    The argument is halved until it is below 2**-8, a Taylor series is summed, and the result is
    squared back.

    >>> from fractions import Fraction
    >>> low, high = exp_neg(Fraction(1), 64)
    >>> low / 2**64 <= 0.36787944117144233 <= high / 2**64
    True
    """
    top, bottom = x.numerator, x.denominator
    whole = top // bottom
    if top == 0:
        return 1 << bits, 1 << bits
    if whole > bits + 8:  # exp(-x) < exp(-bits) < 2**-bits
        return 0, 1
    halvings = whole.bit_length() + 8
    scale = bits + 32 + 2 * halvings
    y = (top << scale) // (bottom << halvings)
    total = term = 1 << scale
    terms = 0
    while term:  # each term is truncated by less than 2 units, the alternating rest is below 1
        terms += 1
        term = (term * y >> scale) // terms
        total += -term if terms & 1 else term
    error = 2 * terms + 4
    for _ in range(halvings):  # (v ± e)**2 with v <= 1 is within 2e + 2 units
        total = total * total >> scale
        error = 2 * error + 2
    drop = scale - bits
    return max(0, (total - error) >> drop), ((total + error) >> drop) + 1


def log(x: Fraction, bits: int) -> tuple[int, int]:
    """Enclose the natural logarithm of rational ``x > 0``.

    With ``x = 2**k * m`` and m in [2/3, 4/3], ``log x = k log 2 + 2 atanh((m - 1) / (m + 1))``.

    >>> from fractions import Fraction
    >>> low, high = log(Fraction(10), 64)
    >>> low / 2**64 <= 2.302585092994046 <= high / 2**64 + 1e-15
    True
    """
    top, bottom = x.numerator, x.denominator
    power = top.bit_length() - bottom.bit_length()
    top, bottom = (top, bottom << power) if power >= 0 else (top << -power, bottom)
    if 3 * top > 4 * bottom:
        power, bottom = power + 1, bottom << 1
    elif 3 * top < 2 * bottom:
        power, top = power - 1, top << 1
    scale = bits + 16 + abs(power).bit_length()
    low, high = _twice_atanh(top - bottom, top + bottom, scale)
    low_two, high_two = _log_two(scale)
    if power >= 0:
        low, high = low + power * low_two, high + power * high_two
    else:
        low, high = low + power * high_two, high + power * low_two
    drop = scale - bits
    return low >> drop, -(-high >> drop)


def sqrt(x: Fraction, bits: int) -> tuple[int, int]:
    """Enclose the square root of rational ``x >= 0``.

    >>> from fractions import Fraction
    >>> sqrt(Fraction(9, 4), 1)
    (3, 3)
    """
    square, rest = divmod(x.numerator << (2 * bits), x.denominator)
    root = math.isqrt(square)
    return root, root + (rest != 0 or root * root != square)


@functools.lru_cache(maxsize=64)
def pi(bits: int) -> tuple[int, int]:
    """Enclose pi by Machin's formula 16 atan(1/5) - 4 atan(1/239).

    >>> low, high = pi(20)
    >>> low <= 3.14159265 * 2**20 <= high
    True
    """
    scale = bits + 16
    low, high = _atan_inverse(5, scale)
    low_small, high_small = _atan_inverse(239, scale)
    drop = scale - bits
    return (16 * low - 4 * high_small) >> drop, -(-(16 * high - 4 * low_small) >> drop)


def _atan_inverse(n: int, scale: int) -> tuple[int, int]:
    """Enclose atan(1/n) by its alternating series; every term is off by less than 2 units."""
    power = (1 << scale) // n
    total, index, square = 0, 0, n * n
    while power:
        term = power // (2 * index + 1)
        total += -term if index & 1 else term
        power //= square
        index += 1
    return total - 2 * index - 2, total + 2 * index + 2


def _twice_atanh(top: int, bottom: int, scale: int) -> tuple[int, int]:
    """Enclose 2 atanh(top / bottom) for a ratio within 1/5 of zero; terms share one sign."""
    if top == 0:
        return 0, 0
    sign = -1 if top < 0 else 1
    z = (abs(top) << scale) // bottom
    square = z * z >> scale
    power, total, index = z, 0, 0
    while power:  # a term is low by less than 2 units; the rest adds up to less than 1
        total += power // (2 * index + 1)
        power = power * square >> scale
        index += 1
    low, high = 2 * total, 2 * (total + 2 * index + 2)
    return (low, high) if sign > 0 else (-high, -low)


@functools.lru_cache(maxsize=64)
def _log_two(scale: int) -> tuple[int, int]:
    """Enclose log 2 = 4 atanh(1/7) + 2 atanh(1/17)  (that is 2 ln(4/3) + ln(9/8))."""
    low, high = _twice_atanh(1, 7, scale)
    low_small, high_small = _twice_atanh(1, 17, scale)
    return 2 * low + low_small, 2 * high + high_small
