"""Approximate differential privacy: one point of the profile.

Trust: kernel.

Definition.  M is (eps, delta)-DP when P[M(D) in S] <= e**eps P[M(D') in S] + delta for all
ordered neighbors and all S.
Theorem (key ``randomized-response``).  The (eps, delta) randomized response, which reveals
everything with chance delta, loses most of all such mechanisms.
Theorem (key ``group-approximate``).  A group of k units is protected at
(k eps, delta (e**(k eps) - 1) / (e**eps - 1)), and no smaller delta is true in general:
p_0 = 0, p_{j+1} = e**eps p_j + delta attains it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import final

from discreet.loss.bracket import Bracket
from discreet.loss.elementary import tanh_half
from discreet.loss.limits import (
    checked_count,
    checked_delta,
    checked_epsilon,
    checked_order,
    dyadic_up,
)
from discreet.loss.notion import PrivacyLoss
from discreet.loss.optimal import response_delta
from discreet.loss.pairs.response import ResponsePair
from discreet.loss.profile import Profile
from discreet.loss.pure import response_epsilon

__all__ = ["Approximate"]


@final
@dataclass(frozen=True, slots=True, init=False, repr=False)
class Approximate(PrivacyLoss):
    """A loss that exceeds epsilon with chance at most delta.

    >>> Approximate(epsilon="0.5", delta="1e-6").group(3).delta_bound <= 5.3671e-6
    True
    """

    epsilon_bound: Fraction
    delta_bound: Fraction

    def __init__(self, *, epsilon: object, delta: object) -> None:
        """Take an exact epsilon >= 0 and an exact delta in [0, 1]."""
        object.__setattr__(self, "epsilon_bound", checked_epsilon(epsilon))
        object.__setattr__(self, "delta_bound", checked_delta(delta))

    def __repr__(self) -> str:
        """Show how to make it again."""
        return f"Approximate(epsilon={self.epsilon_bound!r}, delta={self.delta_bound!r})"

    def profile(self) -> Profile:
        """Return the profile of the (epsilon, delta) randomized response."""
        return Profile.of(ResponsePair(self.epsilon_bound, self.delta_bound))

    def delta_interval(self, *, epsilon: object) -> Bracket:
        """Evaluate the profile of randomized response."""
        exact = response_delta(
            epsilon=self.epsilon_bound, delta=self.delta_bound, target=checked_epsilon(epsilon)
        )
        return Bracket(*exact.floats())

    def interval(self, *, delta: object) -> Bracket:
        """Invert the profile of randomized response; infinite below this delta."""
        wanted = checked_delta(delta)
        if wanted < self.delta_bound:
            return Bracket(math.inf, math.inf)
        if wanted == 1:
            return Bracket(0.0, 0.0)
        rest = (wanted - self.delta_bound) / (1 - self.delta_bound)
        return Bracket(*response_epsilon(self.epsilon_bound, rest).floats())

    def renyi(self, *, order: object) -> float:
        """Return infinity, unless delta is 0."""
        wanted = checked_order(order)
        from discreet.loss.divergences import pure_renyi  # noqa: PLC0415  rare

        return (
            math.inf if self.delta_bound else pure_renyi(epsilon=self.epsilon_bound, order=wanted)
        )

    def pure_bound(self) -> Fraction | None:
        """Return epsilon, unless delta is above 0."""
        return None if self.delta_bound else self.epsilon_bound

    def concentrated(self) -> Fraction | None:
        """Return the rho of pure privacy; with delta > 0 there is none."""
        if self.delta_bound:
            return None
        return dyadic_up(self.epsilon_bound * tanh_half(self.epsilon_bound).high)

    def group(self, size: int) -> Approximate:
        """Multiply epsilon, and sum the geometric series of deltas, rounded up."""
        count = checked_count(size, name="size")
        from discreet.loss.group import group_delta  # noqa: PLC0415  rare

        return Approximate(
            epsilon=count * self.epsilon_bound,
            delta=group_delta(epsilon=self.epsilon_bound, delta=self.delta_bound, size=count),
        )

    def dominates(self, other: PrivacyLoss) -> bool:
        """Compare with the other's delta at this epsilon."""
        if isinstance(other, Approximate) and other.epsilon_bound <= self.epsilon_bound:
            return other.delta_bound <= self.delta_bound
        return other.delta(epsilon=self.epsilon_bound) <= self.delta_bound
