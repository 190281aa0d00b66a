"""Profiles to forty digits, which share no code with ``discreet`` and certify nothing.

delta(eps) is an integral along a vertical line, of the moments of the loss over z (z + 1). The
trapezoidal rule on it converges like the inverse of e**100 here, and moments are closed forms, or
for a sampled Gaussian one more trapezoidal rule. Randomized response alone is a binomial sum.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import mpmath
from mpmath import mp

Event = tuple[str, str, int]
"""(kind, parameter as a fraction, count)."""
Number = Any  # what mpmath computes with has no types

DIGITS = 40
PERIOD = 100


@dataclass(frozen=True, slots=True)
class Truth:
    """The profile of a composition; a sampled one in the larger direction."""

    events: tuple[Event, ...]
    rate: str = "1"

    def delta(self, epsilon: float) -> Number:
        """Return delta at epsilon."""
        with mp.workdps(DIGITS):
            eps = mp.mpf(epsilon)
            if len(self.events) == 1 and self.events[0][0] == "response":
                return _binomial(self.events[0], eps)
            if self.rate == "1":
                return _along_line(lambda z: _log_moment(self.events, z), eps)
            ((_, sigma, steps),) = self.events
            return max(
                _along_line(lambda z, at=at: steps * at(z), eps)
                for at in (_sampled(self.rate, sigma, sign) for sign in (1, -1))
            )

    def encloses(self, delta: float, low: float, high: float) -> bool:
        """Say whether the smallest epsilon for delta lies between two numbers."""
        return bool(self.delta(high) <= delta <= self.delta(low))


def sampled_cumulant(rate: str, sigma: str, sign: int, order: str) -> Number:
    """Return ln E[e**(tL)] of one sampled Gaussian, removed (1) or added (-1), by quadrature.

    The excess of the moment over 1 is integrated, so that small ones keep their digits.
    """
    with mp.workdps(DIGITS):
        q, mu, t = _number(rate), 1 / _number(sigma), _number(order)
        w = 1 + t if sign > 0 else -t

        def excess(y: Number) -> Number:
            u = q * mp.expm1(mu * y - mu * mu / 2)
            return mp.npdf(y) * (mp.expm1(w * mp.log1p(u)) - w * u)

        ends = [-24, -12, -6, -3, 0, 3, 6, 12, 24]
        return mp.log1p(mp.quad(excess, sorted({*ends, *(w * mu + end for end in ends)})))


def _number(text: str) -> Number:
    above, _, below = text.partition("/")
    return mp.mpf(above) / mp.mpf(below or "1")


def _along_line(log_moment: Callable[[Number], Number], eps: Number) -> Number:
    """Sum log_moment along a line through the order that is best for real orders."""

    def exponent(z: Number) -> Number:
        return log_moment(z) - z * eps - mp.log(z) - mp.log(1 + z)

    orders = [mp.mpf(2) ** (mp.mpf(k) / 2) for k in range(-12, 11)]
    c = min(orders, key=lambda order: mp.re(exponent(order)))
    step = 2 * mp.pi * c / PERIOD
    top = mp.re(exponent(c))
    total, k = mp.mpf(1) / 2, 0
    while True:
        k += 1
        term = mp.exp(exponent(mp.mpc(c, k * step)) - top)
        total += term.real
        if abs(term) < mp.mpf(10) ** (5 - DIGITS):
            return mp.exp(top) * total * step / mp.pi


@functools.cache
def _log_moment(events: tuple[Event, ...], z: Number) -> Number:
    """Add up ln E e**(zL); each logarithm may be of any branch, since it is exponentiated."""
    total = mp.mpf(0)
    for kind, parameter, count in events:
        value = _number(parameter)
        if kind == "gaussian":
            total += count * z * (z + 1) / (2 * value**2)
        elif kind == "laplace":
            up, down = mp.exp(z / value), mp.exp(-(1 + z) / value)
            total += count * mp.log(((1 + z) * up + z * down) / (1 + 2 * z))
        else:
            odds = mp.exp(value)
            total += count * mp.log((odds * mp.exp(z * value) + mp.exp(-z * value)) / (1 + odds))
    return total


@functools.cache
def _sampled(rate: str, sigma: str, sign: int) -> Callable[[Number], Number]:
    """Integrate e**(w l(y)) over the normal law, with w = 1 + z (removed) or -z (added)."""
    q, mu, step = _number(rate), 1 / _number(sigma), mp.mpf(1) / 16
    nodes = [k * step for k in range(-16 * 16, 16 * 48)]
    loss = [mp.log1p(q * mp.expm1(mu * y - mu * mu / 2)) for y in nodes]
    scale = step / mp.sqrt(2 * mp.pi)

    @functools.cache
    def log_moment(z: Number) -> Number:
        w = 1 + z if sign > 0 else -z
        terms = (mp.exp(w * x - y * y / 2) for x, y in zip(loss, nodes, strict=True))
        return mp.log(scale * mp.fsum(terms))

    return log_moment


def _binomial(event: Event, eps: Number) -> Number:
    """Sum over the number of truthful answers."""
    _, parameter, n = event
    value = _number(parameter)
    p = mp.exp(value) / (1 + mp.exp(value))
    least = int(mpmath.floor((n + eps / value) / 2))
    terms = (
        mp.binomial(n, k) * p**k * (1 - p) ** (n - k) * (1 - mp.exp(eps - (2 * k - n) * value))
        for k in range(max(0, least), n + 1)
        if (2 * k - n) * value > eps
    )
    return mp.fsum(terms)
