"""What every statement about a privacy loss can answer, and the trade-off that follows from it.

Trust: kernel.

Definitions.  For neighbors D, D' and a mechanism M,
    delta(eps) = sup over outcomes S of  P[M(D) in S] - e**eps P[M(D') in S],   the profile;
    epsilon(delta) = the least eps with delta(eps) <= delta;
    renyi(a) = the largest divergence D_a(M(D) || M(D'));
    tradeoff(alpha) = the least type II error of a test with type I error alpha.
A notion (pure, approximate, concentrated, ...) is a bound on these; its answers are upper bounds
(for the trade-off: lower bounds), rounded towards more loss.

Theorem (key ``tradeoff-duality``; Wasserman and Zhou 2010; Dong, Roth and Su 2022).  A test with
type I error alpha has a type II error of at least
    1 - h(a) - a alpha           and     (1 - r(a) - alpha) / a           for every a >= 1,
where h is the profile of one direction and r that of the other; the best of these bounds is the
trade-off.  Every a is sound, so a is searched for in floats and the bound evaluated exactly.
Theorem (key ``post-processing``; Dwork, McSherry, Nissim and Smith 2006).  A map of the output that
does not look at the data again leaves every one of these bounds true, so there is no method for it.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from discreet import loss
from discreet.doors import Explainable
from discreet.errors import WrongKind
from discreet.exact import float_down
from discreet.loss.elementary import exp
from discreet.loss.moments import minimizer
from discreet.loss.parameters import checked_count, checked_delta
from discreet.loss.rounding import Bracket
from discreet.notebook import Shown

if TYPE_CHECKING:  # loaded when first used, because a plain question needs none of it
    from discreet.charts.curves import CurvePlot
    from discreet.loss.profile import Profile


class PrivacyCurve(Explainable, Shown, ABC):
    """A loss, or the price of a tree: whatever answers for an epsilon or a delta.

    >>> from discreet.loss import GaussianDP
    >>> GaussianDP(mu=1).deltas([0, 1]).round(4).tolist()
    [0.3829, 0.1269]
    """

    __slots__ = ()

    @abstractmethod
    def delta(self, epsilon: object) -> float:
        """Return the probability of failure at an epsilon, rounded up."""

    @abstractmethod
    def epsilon(self, delta: object) -> float:
        """Return the least epsilon at a delta, rounded up."""

    @abstractmethod
    def tradeoff(self, false_alarm: object) -> float:
        """Return the least probability of a missed detection, rounded down."""

    def deltas(self, epsilons: Iterable[object]) -> NDArray[np.float64]:
        """Return the probability of failure at each epsilon, rounded up."""
        return np.array([self.delta(value) for value in several(epsilons, "epsilons")], float)

    def epsilons(self, deltas: Iterable[object]) -> NDArray[np.float64]:
        """Return the least epsilon at each delta, rounded up."""
        return np.array([self.epsilon(value) for value in several(deltas, "deltas")], float)

    def tradeoffs(self, false_alarms: Iterable[object]) -> NDArray[np.float64]:
        """Return the least probability of a missed detection for each false alarm, rounded down."""
        alarms = several(false_alarms, "false_alarms")
        return np.array([self.tradeoff(value) for value in alarms], float)

    def plot(self, kind: str = "delta") -> CurvePlot:
        """Plot delta(epsilon), or with ``kind="tradeoff"`` misses against false alarms.

        The result shows itself in notebooks; ``svg()`` is its text, ``draw(axes)`` draws it with
        matplotlib.  ``loss.plot`` draws several curves in one picture.
        """
        return loss.plot({"": self}, kind)


def several(values: Iterable[object], name: str) -> list[object]:
    """Return a list of what must be several values."""
    if isinstance(values, str | bytes) or not np.iterable(values):
        raise WrongKind(
            f"{name} is a {type(values).__name__}, not several numbers; give {name} as a list or "
            "an array; for one number, ask for one point."
        )
    return list(values)


Curve = Callable[[float], float]

_FARTHEST: Final = math.log1p(700.0)
_NARROW: Final = 1e-7


def missed_detections(forward: Curve, backward: Curve, false_alarm: Fraction) -> float:
    """Bound the type II error from below, from upper bounds delta(epsilon) in both directions."""

    def direct(epsilon: float) -> Fraction:
        return 1 - Fraction(forward(epsilon)) - exp(Fraction(epsilon)).high * false_alarm

    def swapped(epsilon: float) -> Fraction:
        return (1 - Fraction(backward(epsilon)) - false_alarm) * exp(-Fraction(epsilon)).low

    bound = max(_largest(direct), _largest(swapped), Fraction(0))
    return float_down(min(bound, 1 - false_alarm))


def missed_on_grid(
    forward: Curve, backward: Curve, false_alarms: Sequence[Fraction], grid: Sequence[float]
) -> list[float]:
    """Bound type II errors from below, for many type I errors, by epsilons of a grid alone."""
    lines = [
        (1 - Fraction(forward(e)), 1 - Fraction(backward(e)), exp(Fraction(e)).high) for e in grid
    ]
    return [
        float_down(
            max(*(max(f - a * alarm, (b - alarm) / a) for f, b, a in lines), Fraction(0))
            if alarm < 1
            else Fraction(0)
        )
        for alarm in false_alarms
    ]


def _largest(bound: Callable[[float], Fraction]) -> Fraction:
    """Look for the one peak over epsilon >= 0, and return the bound there."""

    def falls(x: float) -> float:
        return -float(max(bound(math.expm1(x)), Fraction(-1)))

    return bound(math.expm1(minimizer(falls, 0.0, _FARTHEST, close=_NARROW)))


class PrivacyLoss(PrivacyCurve):
    """A bound on how much one unit can change what is released.

    >>> from discreet.loss import Pure
    >>> Pure(epsilon=1).epsilon(delta=0), Pure(epsilon=1).epsilon(0)
    (1.0, 1.0)
    """

    __slots__ = ()

    @abstractmethod
    def profile(self) -> Profile:
        """Return the tightest statement that this one implies, as dominating pairs."""

    @abstractmethod
    def group(self, size: int) -> PrivacyLoss:
        """Protect a group of this many units, all added or all removed.

        If some are added and others removed, each step of the chain has a direction of its own;
        accounting prices such moves by the larger one.
        """

    @abstractmethod
    def dominates(self, other: PrivacyLoss) -> bool:
        """Return True if the other loss is proved no larger, at every epsilon and every delta.

        False means that it was not proved.
        """

    def delta(self, epsilon: object) -> float:
        return self.delta_interval(epsilon=epsilon).high

    def keeps(self, *, epsilon: object, delta: object) -> bool:
        """Return True if the delta at an epsilon, rounded up, is at most this one.

        >>> from discreet.mechanisms import Gaussian
        >>> Gaussian(sigma=5).loss().keeps(epsilon=1, delta="1e-6")
        True
        """
        return self.delta(epsilon=epsilon) <= checked_delta(delta)

    def epsilon(self, delta: object) -> float:
        return self.interval(delta=delta).high

    def delta_interval(self, epsilon: object) -> Bracket:
        """Enclose the probability of failure at an epsilon."""
        return self.profile().delta_interval(epsilon=epsilon)

    def interval(self, delta: object) -> Bracket:
        """Enclose the least epsilon at a delta."""
        return self.profile().interval(delta=delta)

    def renyi(self, order: object) -> float:
        """Return the Rényi divergence of an order, rounded up."""
        return self.profile().renyi(order=order)

    def tradeoff(self, false_alarm: object) -> float:
        alarm = checked_delta(false_alarm, name="false_alarm")

        def curve(epsilon: float) -> float:
            return self.delta(epsilon=Fraction(epsilon))

        return missed_detections(curve, curve, alarm)

    def pure_bound(self) -> Fraction | None:
        """Return an exact epsilon at delta 0, if there is a finite one."""
        return None

    def concentrated(self) -> Fraction | None:
        """Return the least rho at which this loss is proved zero-concentrated, if there is one."""
        return None

    def compose(self, other: PrivacyLoss) -> PrivacyLoss:
        """Release both; the second may depend on the first."""
        return self.profile().compose(checked_loss(other).profile())

    def power(self, count: int) -> PrivacyLoss:
        times = checked_count(count, low=0)
        return self if times == 1 else self.profile().power(times)

    def join(self, other: PrivacyLoss) -> PrivacyLoss:
        """Release one of the two: the larger loss, epsilon by epsilon."""
        if self.dominates(checked_loss(other)):
            return self
        if other.dominates(self):
            return other
        return self.profile().join(other.profile())

    def sampled(self, *, rate: object) -> PrivacyLoss:
        """Run on a secret Poisson sample of the records (neighbors add or remove one)."""
        return self.profile().sampled(rate=rate)

    def sampled_without_replacement(self, *, size: int, population: int) -> PrivacyLoss:
        """Run on a secret sample of fixed size (neighbors replace one record)."""
        return self.profile().sampled_without_replacement(size=size, population=population)

    def shuffled(self, *, population: int) -> PrivacyLoss:
        """Shuffle the reports of this many people who each run this as a local randomizer."""
        return self.profile().shuffled(population=population)


def checked_loss(value: object) -> PrivacyLoss:
    """Return a privacy loss, or refuse the value.

    >>> from discreet.loss import Pure
    >>> checked_loss(Pure(epsilon=1))
    Pure(epsilon=Fraction(1, 1))
    """
    if not isinstance(value, PrivacyLoss):
        raise WrongKind(
            f"a {type(value).__name__} is not a privacy loss; wrap the number: Pure(epsilon=...), "
            "Approximate(epsilon=..., delta=...), ..."
        )
    return value
