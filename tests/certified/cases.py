"""Fixed arguments that are hard for an enclosure.

The hardest are those whose true value lies a hair away from an integer at the scale asked for:
there the last truncation decides on which side it falls.  ``near`` makes them from the inverse
function, to so many digits that the value is within about 2**-60 of the integer, on either side.
"""

from fractions import Fraction
from itertools import product

from flint import arb, ctx, fmpq

ONE = Fraction(1)
PRECISIONS = (0, 1, 2, 7, 8, 31, 53, 64, 65, 128, 300)


def scattered(count, width):
    """Return ``count`` integers below 2**width that follow no pattern worth naming."""
    return [
        (at * at + 1) * 0x9E3779B97F4A7C15F39CC0605CEDC835 % (1 << width)
        for at in range(1, count + 1)
    ]


def near(inverse, target, bits):
    """Return rationals just below and just above inverse(target / 2**bits)."""
    digits = bits + 70
    with ctx.workprec(digits + 100):
        middle = inverse(arb(fmpq(target, 1 << bits))) * arb(1 << digits)
        floor = int(middle.floor().unique_fmpz())
    return [Fraction(floor + step, 1 << digits) for step in (-1, 0, 1, 2)]


def around(*centers):
    """Return each center and its close neighbors."""
    tiny = [Fraction(1, 1 << 20), Fraction(1, 10**40)]
    return [center + sign * step for center in centers for step in (0, *tiny) for sign in (1, -1)]


def powers(low, high):
    return [Fraction(2) ** at for at in range(low, high)]


def exp_cases():
    for bits in PRECISIONS:
        edge = Fraction(bits + 8)  # beyond the next integer the answer is (0, 1) at once
        some = [*powers(-200, 12), *around(1, 2, edge, edge + 1), Fraction(10) ** 400]
        some += [Fraction(1, 10**400), Fraction(2**64 + 1, 2**64), Fraction(7 * bits + 1, 10)]
        yield from ((x, bits) for x in [Fraction(0), *some] if x >= 0)
    for bits in (16, 40, 64, 200):
        for m in (*scattered(40, bits), 1, 2, 3, (1 << bits) - 1, (1 << bits) - 2):
            if m:
                yield from ((x, bits) for x in near(lambda y: -y.log(), m, bits) if x >= 0)


def log_cases():
    for bits in PRECISIONS:
        some = [*powers(-300, 300), *around(1, 2, Fraction(2, 3), Fraction(4, 3), 10)]
        some += [Fraction(10) ** 400, Fraction(1, 10**400), Fraction(10**30 + 1, 10**30)]
        yield from ((x, bits) for x in some)
    for bits in (8, 24, 64):
        for m in (*scattered(40, bits + 5), 1, 2, 3):
            for target in (m, -m):
                yield from ((x, bits) for x in near(lambda y: y.exp(), target, bits) if x > 0)


def sqrt_cases():
    roots = [0, 1, 2, 3, 10**20, *scattered(40, 50)]
    for bits, root in product(PRECISIONS, roots):
        square = Fraction(root * root, 4**bits)
        yield from ((x, bits) for x in around(square) if x >= 0)
        yield square + Fraction(1, 10**300), bits
    for bits in PRECISIONS:
        yield from ((x, bits) for x in powers(-80, 80))


def pi_cases():
    return [(ONE, bits) for bits in range(400)] + [(ONE, bits) for bits in (1000, 2000, 5000)]


def atanh_cases():
    some = [Fraction(1, n) for n in (5, 7, 17, 10**9, 2**70)] + [Fraction(0), Fraction(1999, 10**4)]
    some += [Fraction(m, 5 << 30) for m in scattered(30, 30)]
    return [(sign * x, scale) for x in some for sign in (1, -1) for scale in (4, 20, 64, 130, 600)]


def atan_cases():
    return [
        (Fraction(n), scale) for n in (2, 3, 5, 239, 10**9) for scale in (*range(1, 80), 200, 1000)
    ]


def log_two_cases():
    return [(ONE, scale) for scale in (*range(1, 200), 500, 1000, 4000)]
