"""From moments to (epsilon, delta): the bound that needs one order, minimized over orders.

Trust: kernel.

Theorem (key ``renyi-to-approximate``).  For every t > 0, (1 - e**-u)+ <= C(t) e**(tu) with
C(t) = t**t / (1 + t)**(1 + t), so delta(eps) <= P[L = inf] + C(t) e**(K(t) - t eps), where
K(t) = ln E_P[e**(tL); L < inf] (Canonne, Kamath and Steinke 2020, proposition 12).

Every order gives a valid bound, so an optimizer may stop anywhere.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import final

from discreet.loss.engine.valley import lowest

__all__ = ["MomentBound", "log_constant"]


def log_constant(t: float) -> float:
    """Bound ln C(t) from above.

    >>> round(log_constant(1.0), 9)
    -1.386294361
    """
    return t * math.log(t) - (1 + t) * math.log1p(t) + 1e-15 * (1 + t * abs(math.log(t)) + t)


@final
@dataclass(frozen=True, slots=True)
class MomentBound:
    """A profile bounded through its cumulants alone; ``cumulant`` rounds up.

    The best orders, at an epsilon and for a delta, are remembered.
    """

    cumulant: Callable[[float], float]
    limit: float = math.inf
    _orders: dict[tuple[bool, float], float] = field(default_factory=dict, compare=False)

    def log_delta(self, eps: float, t: float) -> float:
        """Bound ln of the finite part of the profile through one order."""
        value = self.cumulant(t) - t * eps
        return value + log_constant(t) + 1e-14 * (1 + abs(value) + t * eps)

    def order_at(self, eps: float) -> float:
        """Return the order that bounds the profile at eps best, of those tried."""
        if (True, eps) not in self._orders:
            self._orders[True, eps] = self._best(lambda t: self.log_delta(eps, t))
        return self._orders[True, eps]

    def delta(self, eps: float) -> float:
        """Bound the finite part of the profile at eps >= 0."""
        t = self.order_at(eps)
        return min(1.0, math.exp(min(0.0, self.log_delta(eps, t))) * (1 + 1e-14))

    def order_for(self, delta: float) -> float:
        """Return the order that bounds the epsilon at delta best, of those tried."""
        if (False, delta) not in self._orders:
            self._orders[False, delta] = self._best(lambda t: self._solved(delta, t))
        return self._orders[False, delta]

    def epsilon(self, delta: float) -> float:
        """Bound the epsilon at which the finite part of the profile is at most delta > 0."""
        if delta >= 1.0:
            return 0.0
        return max(0.0, self._solved(delta, self.order_for(delta)))

    def _solved(self, delta: float, t: float) -> float:
        total = self.cumulant(t) + log_constant(t) - math.log(delta)
        if not math.isfinite(total):
            return math.inf
        return total / t + 1e-14 * (1 + abs(total) / t + abs(math.log(delta)) / t)

    def _best(self, objective: Callable[[float], float]) -> float:
        """Search the orders on a logarithmic scale; both objectives have one valley.

        For K is convex and so is ln C: the first objective is convex, and the second is a convex
        function over the order.
        """
        capped = min(self.limit, 1e7)
        top = math.log(capped)
        low = min(-9.0, top - 9.0)
        return min(
            math.exp(lowest(lambda x: objective(min(math.exp(x), capped)), low, top)), capped
        )
