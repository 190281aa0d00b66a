"""Group privacy: what a notion says at several times the distance.

Trust: kernel.

Along a chain D_0, ..., D_k of neighbors delta grows to delta (1 + e**eps + ... + e**((k-1) eps))
(key ``group-approximate``).  For any profile see ``pairs.envelope``.

Theorem (key ``group-renyi``; Mironov 2017, proposition 11, with 1/p + 1/q = 1 left free).  Rényi
divergences along two steps satisfy, for conjugate p and q,
D_a(P||R) <= (a - 1/p)/(a - 1) D_{pa}(P||Q) + D_{q(a - 1/p)}(Q||R).

Theorem (key ``group-concentrated``; Bun and Steinke 2016; Bun, Dwork, Rothblum and Steinke 2018).
A group of k units has k^2 rho; truncated at order w, (k^2 rho, w/k).
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Final

from discreet.errors import OutOfRange
from discreet.exact import float_up
from discreet.loss.elementary import exp
from discreet.loss.parameters import checked_count, checked_delta, checked_epsilon
from discreet.loss.renyi.curve import RenyiCurve

_ONE: Final = Fraction(1)
_EXACTLY: Final = 64  # steps without rounding
_LONGEST: Final = 1024
_LOWEST: Final = Fraction(1, 1 << 20)  # beside 1: an order so low bounds nothing
_GRID: Final = 1 << 80


def group_delta(*, epsilon: object, delta: object, size: int) -> Fraction:
    """Return delta (e**(k eps) - 1) / (e**eps - 1), rounded up; k delta where epsilon is 0.

    >>> float(group_delta(epsilon="0.5", delta="1e-6", size=3))
    5.3670030991591735e-06
    """
    loss, chance = checked_epsilon(epsilon), checked_delta(delta)
    count = checked_count(size, name="size")
    if chance == 0:
        return Fraction(0)
    if loss == 0:
        return min(count * chance, _ONE)
    # chance * e**((k-1) eps) * (1 - e**(-k eps)) / (1 - e**-eps), at most one
    if (count - 1) * loss > 1000:
        return _ONE
    step, whole = exp(-loss), exp(-count * loss)
    series = exp((count - 1) * loss).high * (1 - whole.low) / (1 - step.high)
    return min(Fraction(float_up(chance * series)), _ONE)


def group_renyi(curve: RenyiCurve, size: int) -> RenyiCurve:
    """Return a curve at several times the distance, by the best exponents that its orders allow.

    >>> from fractions import Fraction
    >>> orders = tuple(Fraction(a) for a in (4, 7, 8))
    >>> gaussian = RenyiCurve(orders=orders, values=tuple(a / 8 for a in orders))
    >>> group_renyi(gaussian, 2).at(Fraction(4))
    Fraction(2, 1)
    """
    count = checked_count(size, name="size")
    if not curve.orders:
        return RenyiCurve(rho=count**2 * curve.rho)
    if count > _LONGEST:
        raise _too_large(count)
    far = curve
    for step in range(1, count):
        top = far.orders[-1] * curve.orders[-1] / (far.orders[-1] + curve.orders[-1] - 1)
        if step >= _EXACTLY:
            top = Fraction(math.floor(top * _GRID), _GRID)  # lest its digits add up
        if top - 1 < _LOWEST:
            raise _too_large(count)
        orders = sorted({a for a in curve.orders if a < top} | {top})
        values = [(a, _longer(far, curve, a)) for a in orders]
        known = [(a, value) for a, value in values if value is not None]
        if step >= _EXACTLY:
            known = [(a, Fraction(math.ceil(value * _GRID), _GRID)) for a, value in known]
        far = RenyiCurve(orders=tuple(a for a, _ in known), values=tuple(v for _, v in known))
    return far


def _too_large(size: int) -> OutOfRange:
    return OutOfRange(
        f"a group of {size} is too large for a loss that is known by Rényi divergences; give a "
        "loss that is known otherwise, such as ZeroConcentrated or GaussianDP."
    )


def _longer(far: RenyiCurve, near: RenyiCurve, a: Fraction) -> Fraction | None:
    """Bound one order of the longer chain by the best exponent p; any p > 1 is sound."""
    largest, reach = far.orders[-1], near.orders[-1]
    exponents = {order / a for order in far.orders if order > a} | {1 + (largest - 1) / reach}
    exponents |= {1 + (1 - 1 / a) * Fraction(j, 8) for j in range(1, 33)}
    best: Fraction | None = None
    for p in exponents:
        first, second = far.at(p * a), near.at((p * a - 1) / (p - 1))
        if first is None or second is None:
            continue
        value = (a - 1 / p) / (a - 1) * first + second
        best = value if best is None else min(best, value)
    return best
