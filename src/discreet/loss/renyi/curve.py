"""What is known of a loss through Rényi divergences alone.

Trust: kernel.

Definition.  D_a(P||Q) = ln E_P[(P/Q)**(a-1)] / (a-1) for a > 1.  A curve is an upper bound
D_a <= rho * a + v(a), where v is known at finitely many orders (or is zero at every order).

Theorem (key ``renyi-interpolation``).  t * D_{1+t} is convex in t and vanishes at t = 0, so
between two known orders it lies below the chord (van Erven and Harremoes 2014, corollary 2).
Composition adds curves.
"""

from __future__ import annotations

import bisect
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import final

from discreet.errors import OutOfRange
from discreet.exact import float_up
from discreet.loss.engine.rounding import quotient_up


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class RenyiCurve:
    """An upper bound on the Rényi divergence of every order up to the largest known one.

    >>> curve = RenyiCurve(rho=Fraction(1, 2)) + RenyiCurve(rho=Fraction(1, 4))
    >>> curve.at(Fraction(2)), curve.log_moment(1.0)
    (Fraction(3, 2), 1.5)
    """

    rho: Fraction = Fraction(0)
    orders: tuple[Fraction, ...] = ()
    values: tuple[Fraction, ...] = ()

    def __post_init__(self) -> None:
        """Refuse orders at which no divergence is defined."""
        rising = all(a < b for a, b in zip(self.orders, self.orders[1:], strict=False))
        ordered = rising and (not self.orders or self.orders[0] > 1)
        if not ordered or len(self.orders) != len(self.values):
            raise OutOfRange(
                "the orders of a Rényi curve do not fit its values; give increasing orders above "
                "1, and one value for each."
            )
        if self.rho < 0 or any(value < 0 for value in self.values):
            raise OutOfRange("a Rényi divergence is negative; give values of at least zero.")

    @property
    def limit(self) -> Fraction | None:
        """The largest order at which something is known; None if there is no largest."""
        return self.orders[-1] if self.orders else None

    def at(self, order: Fraction) -> Fraction | None:
        """Bound the divergence of an order; None above the largest known one."""
        if not self.orders:
            return self.rho * order
        if order > self.orders[-1]:
            return None
        index = bisect.bisect_left(self.orders, order)
        right, above = self.orders[index] - 1, self.values[index]
        left = self.orders[index - 1] - 1 if index else Fraction(0)
        below = self.values[index - 1] if index else Fraction(0)
        t = order - 1
        chord = (left * below * (right - t) + right * above * (t - left)) / (right - left)
        return self.rho * order + chord / t

    def log_moment(self, t: float) -> float:
        """Bound ln E_P[e**(tL)] = t D_{1+t} from above."""
        if not self.orders and self.rho and t > 0:
            top, bottom = t.as_integer_ratio()
            rho, rest = self.rho.as_integer_ratio()
            return quotient_up(top * (top + bottom) * rho, bottom * bottom * rest)
        exact = Fraction(t)
        value = self.at(1 + exact)
        return math.inf if value is None else float_up(exact * value)

    def __add__(self, other: RenyiCurve) -> RenyiCurve:
        if not self.orders and not other.orders:
            return RenyiCurve(rho=self.rho + other.rho)
        limits = [curve.orders[-1] for curve in (self, other) if curve.orders]
        known = sorted({order for order in (*self.orders, *other.orders) if order <= min(limits)})
        values = []
        for order in known:
            mine, theirs = self.at(order), other.at(order)
            if mine is not None and theirs is not None:
                values.append(mine + theirs)
        return RenyiCurve(orders=tuple(known), values=tuple(values))

    def times(self, count: int) -> RenyiCurve:
        """Compose the curve with itself."""
        return RenyiCurve(
            rho=self.rho * count,
            orders=self.orders,
            values=tuple(value * count for value in self.values),
        )
