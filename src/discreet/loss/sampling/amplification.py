"""Amplification by sampling: profiles, moments and largest losses of a Poisson sample.

Trust: kernel.

Theorems (Balle, Barthe and Gaboardi 2018; key ``amplification``).  Let a mechanism with profile h
run on a sample that is secret, fresh and drawn as stated.
    Poisson sampling at rate q, a record removed:   h'(a) = q h(1 + (a - 1)/q)   for a >= 1;
        so (eps, delta) becomes (log(1 + q (e**eps - 1)), q delta).
    m of n without replacement, a record replaced:  the same with q = m/n and the replace profile.
    Poisson sampling, a record replaced:            with a' = 1 + q (a - 1) and b = a'/a,
        h'(a') <= q ((1 - b) h_remove(a) + b h_replace(a)).
A sample that is used twice is one sample: amplify the composition, not each use.

Theorem (key ``poisson-sampling``).  h_REMOVE(a) = q h(1 + (a-1)/q) for a > 1-q, else 1-a, and
h_ADD(a) = 1 - a + a h_REMOVE(1/a).  The inner profile is asked for bounds on a whole interval
around the point, which covers the rounding of the point.

With R = P/Q the inner ratio, the outer one is 1 - q + qR when a person is removed and
1/(1 - q + qR) when one is added.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Final

import numpy as np

from discreet.exact import float_down, float_up
from discreet.loss.composition import Composition
from discreet.loss.engine.rounding import MOMENT_MARGIN, TINIEST, UNIT
from discreet.loss.pairs.composition_curve import cumulant
from discreet.loss.pairs.distribution import Floats

NEARLY_ALL: Final = 1 - Fraction(1, 10**9)
"""Rates above are treated as 1: to divide by what is left would cost more than it gains."""

_EDGE: Final = 1e-12  # inner ratios so close to zero count as zero: h(a) >= 1 - a moves by no more


Inner = Callable[[Floats, Floats], tuple[Floats, Floats]]
"""Bounds, from both sides, of a profile between eps - slack and eps + slack."""


def removed_profile(q: float, eps: Floats, inner: Inner) -> tuple[Floats, Floats]:
    """Bound the profile when a person is removed, at many real eps."""
    moved = np.expm1(eps) / q
    inside = moved > -1 + _EDGE
    with np.errstate(divide="ignore", invalid="ignore"):
        place = np.where(inside, np.log1p(np.where(inside, moved, 0.0)), 0.0)
    slack = 32 * UNIT * (1 + np.abs(moved)) / (1 + np.where(inside, moved, 0.0))
    low, high = inner(place, slack)
    flat = -np.expm1(eps)
    low = np.where(inside, q * low * (1 - 8 * UNIT), flat * (1 - 16 * UNIT))
    low = np.maximum(low, flat - 16 * UNIT)
    high = np.where(inside, q * high * (1 + 8 * UNIT), flat + _EDGE * (1 + np.abs(flat)))
    return np.maximum(low, 0.0), np.minimum(high, 1.0)


def added_profile(q: float, eps: Floats, inner: Inner) -> tuple[Floats, Floats]:
    """Bound the profile when a person is added, at many real eps."""
    low, high = removed_profile(q, -eps, inner)
    flat, a = -np.expm1(eps), np.exp(eps)
    wrong = UNIT * (16 * np.abs(flat) + 16 * a * high) + 4 * UNIT * a
    return np.maximum(flat + a * low - wrong, 0.0), np.minimum(flat + a * high + wrong, 1.0)


def removed_moment(rate: Fraction, inner: Callable[[float], float], t: float) -> float:
    """Bound ln E_Q[(1 - q + qR)**(t+1)]: whole orders, and convexity between them."""
    return between_orders(lambda whole: whole_moment(rate, inner, whole), t)


def sampled_cumulant(inner: Composition, rate: Fraction, t: float) -> float:
    """Bound the cumulant when a person is removed from a sample; whole orders are kept."""
    return between_orders(lambda whole: _known(inner, rate, whole), t)


@functools.lru_cache(maxsize=1 << 12)
def _known(inner: Composition, rate: Fraction, t: int) -> float:
    return whole_moment(rate, lambda s: cumulant(inner, s), t)


def between_orders(moment: Callable[[int], float], t: float) -> float:
    """Bound a cumulant at t > 0 by the chord between whole orders; it is 0 at 0."""
    whole = math.ceil(t)
    right = moment(whole)
    if whole == t:
        return right
    left = moment(whole - 1) if whole > 1 else 0.0
    return (left * (whole - t) + right * (t - whole + 1)) * (1 + MOMENT_MARGIN)


def whole_moment(rate: Fraction, inner: Callable[[float], float], t: int) -> float:
    """Use the binomial theorem; for very high orders, convexity in the rate."""
    if t > 256:
        return _mixed(float_up(rate), inner(t)) * (1 + MOMENT_MARGIN)
    q, a = float(rate), t + 1
    stay = math.log1p(-q) if q < 1 else -math.inf
    terms = [a * stay, math.log(a) + math.log(q) + (a - 1) * stay if q < 1 else -math.inf]
    for j in range(2, a + 1):
        rest = (a - j) * stay if a > j else 0.0
        power = math.log(math.comb(a, j)) + j * math.log(q) + rest
        terms.append(power + inner(j - 1.0))
    top = max(terms)
    if math.isinf(top):
        return top
    total = top + math.log(math.fsum(math.exp(term - top) for term in terms))
    return max(total, 0.0) + MOMENT_MARGIN * (1 + a * abs(math.log(q)) + abs(top))


def added_moment(rate: Fraction, inner: Callable[[float], float], t: float) -> float:
    """Bound ln E_Q[(1 - q + qR)**-t], where ``inner`` bounds the moments of the reversed pair."""
    q = float_up(rate)
    lost = -t * math.log1p(-q) if q < 1 else math.inf
    return min(lost, _mixed(q, inner(t))) * (1 + MOMENT_MARGIN) + TINIEST


def _mixed(q: float, log_moment: float) -> float:
    """Bound ln(1 - q + q e**m) for m >= 0."""
    if log_moment < 1:
        return math.log1p(q * math.expm1(log_moment))
    return log_moment + math.log(q + (1 - q) * math.exp(-log_moment))


def removed_loss(rate: Fraction, inner: float, *, up: bool) -> float:
    """Evaluate ln(1 - q + q e**l) at an inner loss l >= 0, rounded up or down.

    >>> round(removed_loss(Fraction(1, 2), 1.0, up=True), 12)
    0.620114506958
    """
    q = float_up(rate) if up else float_down(rate)
    if inner > 600:  # at most l, at least l + ln q
        far = inner + math.log(q) * (1 + 16 * UNIT) if q else 0.0
        return inner if up else max(0.0, far * (1 - 8 * UNIT))
    return math.log1p(q * math.expm1(inner)) * (1 + (64 if up else -64) * UNIT)


def added_loss(rate: Fraction, inner: float, *, up: bool) -> float:
    """Evaluate -ln(1 - q + q e**-l) at a reversed inner loss 0 <= l <= inf, rounded up or down.

    >>> round(added_loss(Fraction(1, 2), 1.0, up=True), 12)
    0.379885493042
    """
    q = float_up(rate) if up else float_down(rate)
    y = q * math.expm1(-inner)
    if 1 + y < 1e-9:  # an error of y counts 1/(1 + y) times at most
        return inner if up else 0.0
    slack = 64 * UNIT / (1 + y)
    value = -math.log1p(y)
    return min(value * (1 + slack), inner) if up else max(value * (1 - slack), 0.0)


_WIDE: Final = 20.0
_RELATIVE: Final = 1e-12  # of sums of up to two thousand numbers above zero
_LEFT_OUT: Final = 1e-19


def small_moment(q: float, mu: float, w: float) -> float:
    """Bound ln E e**(wl) of a sampled Gaussian where E e**(wl) < 1.001, as closely as large ones.

    With x = mu y - mu**2/2 and l = ln(1 - q + q e**x), y normal, E e**l = 1.  So the excess over 1
    is the mean of g = e**(wl) - 1 - w (e**l - 1) >= 0, for w >= 1 and w <= 0, in which nothing
    cancels (docs/proofs/accounting.md, section 5).  Infinite unless mu <= 2 and |w| mu <= 16.5.

    >>> small_moment(1e-6, 1.0, 2.0) / math.log1p(1e-12 * math.expm1(1.0)) - 1 < 1e-6
    True
    """
    if mu > 2 or abs(w) * mu > 16.5:
        return math.inf
    b = min(3.0, 1 / mu)
    bent = w * math.log(math.cos(mu * b / 2)) if w < 0 else 0.0
    step = min(1 / 12, 2 * math.pi * b / (46.0 + b * b / 2 + bent))
    nodes = math.ceil((_WIDE + abs(w) * mu) / step)
    y = np.arange(-nodes, nodes + 1) * step
    x = mu * y - mu * mu / 2
    u = q * np.expm1(x)
    loss = np.log1p(u)
    power = np.expm1(w * loss)
    g = np.maximum(power - w * u, 0.0)
    moved = UNIT * (12 * np.abs(u) + 4 * q * np.exp(x) * (np.abs(mu * y) + mu * mu))  # of u
    error = abs(w) * (1 + power) * (2 * moved / (1 + u) + 10 * UNIT * np.abs(loss))
    error += abs(w) * moved + UNIT * (10 * np.abs(power) + 4 * np.abs(w * u) + 4 * g)
    total = float(np.exp(-y * y / 2) @ (g + error)) * step / math.sqrt(2 * math.pi)
    excess = total * (1 + _RELATIVE) + _LEFT_OUT * (3 + 2 * abs(w))
    return math.log1p(excess) * (1 + 16 * UNIT)
