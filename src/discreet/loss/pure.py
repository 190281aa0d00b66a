"""Pure differential privacy.

Trust: kernel.

Definition.  M is eps-DP when P[M(D) in S] <= e**eps P[M(D') in S] for all neighbors and all S:
the privacy loss log P(y)/Q(y) never exceeds eps.
Theorem (key ``randomized-response``; Kairouz, Oh and Viswanath 2015).  Randomized response loses
most of all eps-DP mechanisms, so delta(t) = (e**eps - e**t)_+ / (1 + e**eps).
The best test of it (key ``tradeoff-duality``) that accuses wrongly with chance a misses with the
larger of the chances 1 - e**eps a and e**-eps (1 - a).
Theorem (key ``group-pure``).  A group of k units loses at most k eps.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Final, final

from discreet.exact import Interval, float_down
from discreet.loss.bracket import Bracket
from discreet.loss.divergences import pure_renyi
from discreet.loss.elementary import exp, log, tanh_half
from discreet.loss.limits import checked_count, checked_delta, checked_epsilon, dyadic_up
from discreet.loss.notion import PrivacyLoss
from discreet.loss.optimal import response_delta
from discreet.loss.pairs.response import ResponsePair
from discreet.loss.profile import Profile

__all__ = ["Pure", "response_epsilon"]

_LARGEST: Final = 1000  # above it, e**-epsilon is no float


@final
@dataclass(frozen=True, slots=True, init=False, repr=False)
class Pure(PrivacyLoss):
    """A loss that never exceeds epsilon.

    >>> Pure(epsilon=1).delta(epsilon=0.5)
    0.28764913664496794
    >>> Pure(epsilon=0.1).group(3)
    Pure(epsilon=Fraction(3, 10))
    """

    bound: Fraction

    def __init__(self, *, epsilon: object) -> None:
        """Take an exact epsilon >= 0; a float stands for its decimal text."""
        object.__setattr__(self, "bound", checked_epsilon(epsilon))

    def __repr__(self) -> str:
        """Show how to make it again."""
        return f"Pure(epsilon={self.bound!r})"

    def profile(self) -> Profile:
        """Return the profile of randomized response."""
        return Profile.of(ResponsePair(self.bound, Fraction(0)))

    def delta_interval(self, *, epsilon: object) -> Bracket:
        """Evaluate the profile of randomized response."""
        target = checked_epsilon(epsilon)
        exact = response_delta(epsilon=self.bound, delta=Fraction(0), target=target)
        return Bracket(*exact.floats())

    def interval(self, *, delta: object) -> Bracket:
        """Invert the profile of randomized response."""
        return Bracket(*response_epsilon(self.bound, checked_delta(delta)).floats())

    def renyi(self, *, order: object) -> float:
        """Return the divergence of randomized response, rounded up."""
        return pure_renyi(epsilon=self.bound, order=order)

    def tradeoff(self, *, false_alarm: object) -> float:
        """Return that of randomized response: 1 - e**eps a or e**-eps (1 - a), rounded down."""
        alarm = checked_delta(false_alarm, name="false_alarm")
        if self.bound > _LARGEST:
            return 0.0 if alarm else 1.0
        direct, swapped = 1 - exp(self.bound).high * alarm, (1 - alarm) * exp(-self.bound).low
        return float_down(max(direct, swapped, Fraction(0)))

    def pure_bound(self) -> Fraction:
        """Return epsilon."""
        return self.bound

    def concentrated(self) -> Fraction:
        """Return epsilon tanh(epsilon / 2), rounded up."""
        return dyadic_up(self.bound * tanh_half(self.bound).high)

    def group(self, size: int) -> Pure:
        """Multiply epsilon."""
        return Pure(epsilon=checked_count(size, name="size") * self.bound)

    def dominates(self, other: PrivacyLoss) -> bool:
        """Compare with the other's epsilon at delta 0."""
        largest = other.pure_bound()
        return largest is not None and largest <= self.bound


def response_epsilon(epsilon: Fraction, delta: Fraction) -> Interval:
    """Enclose the least t >= 0 at which randomized response has at most this delta.

    >>> response_epsilon(Fraction(1), Fraction(0)).nearest()
    1.0
    """
    if delta == 0:
        return Interval(epsilon, epsilon)
    decay = exp(-epsilon)
    least, most = 1 - delta * (1 + decay.high), 1 - delta * (1 + decay.low)
    low = epsilon + log(least).low if least > 0 else Fraction(0)
    high = epsilon + log(most).high if most > 0 else Fraction(0)
    return Interval(max(low, Fraction(0)), max(high, Fraction(0)))
