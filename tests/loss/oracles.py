"""Reference values of losses at 50 digits, and of finite mechanisms by enumeration."""

from fractions import Fraction
from itertools import product

import mpmath
from mpmath import mpf

mpmath.mp.dps = 50


def real(value):
    """Read a fraction, a float or decimal text at full precision."""
    if hasattr(value, "numerator") and not isinstance(value, float):
        return mpf(value.numerator) / value.denominator
    return mpf(value)


def gaussian(mu, epsilon):
    mu, epsilon = real(mu), real(epsilon)
    first = mpmath.ncdf(mu / 2 - epsilon / mu)
    return first - mpmath.exp(epsilon) * mpmath.ncdf(-mu / 2 - epsilon / mu)


def response(epsilon, delta, target):
    epsilon, delta, target = real(epsilon), real(delta), real(target)
    gap = (mpmath.exp(epsilon) - mpmath.exp(target)) / (1 + mpmath.exp(epsilon))
    return delta + (1 - delta) * max(mpf(0), gap)


def laplace(epsilon, target):
    return max(mpf(0), 1 - mpmath.exp((real(target) - real(epsilon)) / 2))


def single_order_delta(order, value, epsilon):
    a, r, e = real(order), real(value), real(epsilon)
    return mpmath.exp((a - 1) * (r - e)) * (1 - 1 / a) ** a / (a - 1)


def hockey_stick(p, q, epsilon):
    """Sum (p - e**epsilon q)+ over outcomes of two mappings."""
    ratio = mpmath.exp(real(epsilon))
    outcomes = set(p) | set(q)
    return sum((max(mpf(0), p.get(o, mpf(0)) - ratio * q.get(o, mpf(0))) for o in outcomes), mpf(0))


def product_law(*laws):
    """Return the law of independent outcomes."""
    joint = {}
    for combination in product(*(law.items() for law in laws)):
        outcome = tuple(o for o, _ in combination)
        chance = mpf(1)
        for _, weight in combination:
            chance *= weight
        joint[outcome] = joint.get(outcome, mpf(0)) + chance
    return joint


def coin(epsilon, bit):
    """The law of randomized response on a bit."""
    keep = 1 / (1 + mpmath.exp(-real(epsilon)))
    return {bit: keep, 1 - bit: 1 - keep}


def at_least(bound, truth, *, relative=1e-12, absolute=1e-45):
    """Check that an upper bound holds and is close."""
    assert mpf(bound) >= truth - mpf(10) ** -48
    assert mpf(bound) <= truth * (1 + mpf(relative)) + mpf(absolute)


def optimal_delta(promises, target, times=1):
    """The least delta of all compositions of promises, by the sums of their losses."""
    kept, sums = mpf(1), {Fraction(0): mpf(1)}
    for epsilon, delta in [(Fraction(e), Fraction(d)) for e, d in promises] * times:
        kept *= 1 - real(delta)
        keep, grown = 1 / (1 + mpmath.exp(-real(epsilon))), {}
        for total, weight in sums.items():
            for moved, share in ((total + epsilon, keep), (total - epsilon, 1 - keep)):
                grown[moved] = grown.get(moved, mpf(0)) + weight * share
        sums = grown
    wanted = Fraction(target)
    lost = [w * -mpmath.expm1(real(wanted - s)) for s, w in sums.items() if s > wanted]
    return 1 - kept * (1 - sum(lost, mpf(0)))
