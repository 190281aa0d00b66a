"""Profiles in 140-bit interval arithmetic, by formulas that the engines do not use."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

from flint import acb, arb, ctx, fmpq

PRECISION = 140


def ball(value):
    number = Fraction(value)
    return arb(fmpq(number.numerator, number.denominator))


def laplace_moment(e, z):
    w = z + arb(0.5)
    return (z * e).exp() * (arb(0.5) + 1 / (4 * w)) + (-e - z * e).exp() * (arb(0.5) - 1 / (4 * w))


def response_moment(e, z):
    p = 1 / (1 + (-e).exp())
    return p * (z * e).exp() + (1 - p) * (-(z * e)).exp()


def bounded_range_moment(e, z):
    top = (z * e).exp() - (-e - z * e).exp()
    return top / ((1 - (-e).exp()) * (2 * z + 1))


def gaussian_moment(square, z):
    return (z * (z + 1) * square / 2).exp()


def sampled_moment(q, mu, sign, z, *, step=Fraction(1, 20), reach=16):
    """The trapezoidal rule at a finer step, on a longer range, with other nodes."""
    w = 1 + z if sign > 0 else -z
    h, total = ball(step), acb(0)
    span = reach + (math.ceil(float(mu) * (1 + float(z.real))) if sign > 0 else 2)
    for k in range(-int(reach / step), int(span / step)):
        y = h * (arb(k) + arb(fmpq(1, 3)))
        loss = (1 - q + q * (mu * y - mu * mu / 2).exp()).log()
        total += (acb(loss) * w - y * y / 2).exp()
    return total * h / (2 * arb.pi()).sqrt()


def profile(moment, eps, *, c, period, count):
    """The contour integral by its trapezoidal sum, at an order and a period of the caller's."""
    ctx.prec = PRECISION
    step = 2 * arb.pi() / period
    total = acb(0)
    for j in range(count):
        z = acb(c, step * j)
        term = moment(z) * (-z * eps).exp() / (z * (z + 1))
        total += term / 2 if j == 0 else term
    return float((total.real * step / arb.pi()).mid())


def gaussian_profile(square, eps):
    ctx.prec = 400
    mu = ball(square).sqrt()
    e, root = ball(eps), arb(2).sqrt()
    first = (-(mu / 2 - e / mu) / root).erfc() / 2
    second = ((mu / 2 + e / mu) / root).erfc() / 2
    return first - e.exp() * second


def enumerated(pairs, eps):
    """The profile of a product of finite laws, summed over all outcomes."""
    ctx.prec = PRECISION
    a, total = ball(eps).exp(), arb(0)
    for outcome in itertools.product(*[list(zip(p, q, strict=True)) for p, q in pairs]):
        p, q = arb(1), arb(1)
        for one, other in outcome:
            p, q = p * ball(one), q * ball(other)
        gap = p - a * q
        if float(gap.mid()) > 0:
            total += gap
    return float(total.mid())
