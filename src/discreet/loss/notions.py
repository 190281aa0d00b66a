"""What papers promise: pure, approximate, Gaussian, concentrated and Rényi differential privacy.

Trust: kernel.

Definition.  M is (eps, delta)-DP when P[M(D) in S] <= e**eps P[M(D') in S] + delta for all
ordered neighbors and all S; eps-DP, or pure, with delta = 0: log P(y)/Q(y) never exceeds eps.
Theorem (key ``randomized-response``; Kairouz, Oh and Viswanath 2015).  Randomized response, which
reveals everything with probability delta, loses most of all (eps, delta)-DP mechanisms, so a pure
one has delta(t) = (e**eps - e**t)_+ / (1 + e**eps).  The best test of that (key
``tradeoff-duality``) that has a false positive with probability a misses with the larger of the
probabilities 1 - e**eps a and e**-eps (1 - a).
Theorem (key ``group-pure``; Dwork, McSherry, Nissim and Smith 2006).  A group of k units loses at
most k eps.
Theorem (key ``group-approximate``).  A group of k units is protected at
(k eps, delta (e**(k eps) - 1) / (e**eps - 1)), and no smaller delta is true in general:
p_0 = 0, p_{j+1} = e**eps p_j + delta attains it.

Theorem (key ``optimal-composition``; Kairouz, Oh and Viswanath 2015; Murtagh and Vadhan 2016).  Of
all mechanisms with given (eps_i, delta_i), randomized response loses most.  Its total loss is
the sum of signs S_i eps_i, where S_i = +1 with probability e**eps_i / (1 + e**eps_i), so that
    delta(eps) = 1 - prod(1 - delta_i) * (1 - E[(1 - e**(eps - sum S_i eps_i))_+]),
and no smaller delta is true of every composition.  That is the profile of a composition of
these losses; with many different ones the exact problem is #P-hard, and engines enclose it.

Definition (Dong, Roth and Su 2022).  M is mu-GDP when telling D from D' is at least as hard as
telling N(mu, 1) from N(0, 1), for all ordered neighbors.
The profile has a closed form (key ``gaussian-profile``), and the trade-off is
Phi(Phi^-1(1 - alpha) - mu).
Theorem (key ``group-gaussian``; Dong, Roth and Su 2022, Gaussian Differential Privacy).  A group
of k units of a mu-Gaussian loss has k mu.
Theorem (key ``gaussian-composition``; Dong, Roth and Su 2022, Gaussian Differential Privacy).
Adaptive compositions of mu_i-Gaussian losses are sqrt(sum mu_i^2)-Gaussian.
Theorem (key ``gaussian-to-concentrated``; data processing inequality; Bun and Steinke 2016).
mu-Gaussian DP implies (mu^2/2)-zCDP.

Definition.  Continuous Laplace noise: release x + Z, where Z has the density e**(-|z| / scale) / (2
scale) on the reals, and one unit moves x by at most 1.
Theorem (key ``laplace-profile``; Balle, Barthe and Gaboardi 2018).  With e = 1 / scale, delta(eps)
is (1 - e**((eps - e)/2))+, both ways.  A unit that moves x by less loses less, and a group of k
units loses what noise of scale / k loses, which is the pair at distance k e.
``mechanisms.Laplace``, which runs, draws integers: at distance 1 its loss is that of randomized
response, whose delta is larger at every smaller epsilon (key ``discrete-laplace-loss``).

Definition (Bun and Steinke 2016).  M is rho-zCDP when D_a(M(D) || M(D')) <= rho a for every order
a > 1 and all ordered neighbors.  Rhos add up (key ``concentrated-composition``).
Definition (Mironov 2017).  M is (a, r)-RDP when D_a(M(D) || M(D')) <= r for all ordered neighbors.
Each order proves an (eps, delta) (key ``renyi-to-approximate``); the best one is taken.  Choosing
the best order after the fact is sound for one finished composition, not for a running budget.
Theorem (key ``renyi-composition``; Mironov 2017, Rényi Differential Privacy).  Rényi divergences
of adaptive compositions add, order by order.
Theorem (key ``pure-to-concentrated``; differentialprivacy.org, 27 May 2024; randomized response
attains it as the order tends to 1).  epsilon-DP implies (epsilon tanh(epsilon/2))-zCDP, and no
smaller rho.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Final, final

from discreet.errors import OutOfRange, WrongKind
from discreet.exact import Interval, float_down, float_up, freeze
from discreet.loss.composition import Composition
from discreet.loss.elementary import (
    exp,
    gaussian_profile,
    log,
    normal_cdf,
    normal_quantile_up,
    sqrt,
    tanh_half,
)
from discreet.loss.gaussian import GaussianPair
from discreet.loss.moments import (
    RenyiCurve,
    group_delta,
    group_renyi,
    pure_renyi,
    pure_to_gaussian_mu,
)
from discreet.loss.parameters import (
    checked_count,
    checked_delta,
    checked_epsilon,
    checked_order,
    checked_parameter,
    dyadic_up,
)
from discreet.loss.privacy_loss import PrivacyLoss
from discreet.loss.profile import Profile
from discreet.loss.pure_pairs import LaplacePair, ResponsePair
from discreet.loss.rounding import Bracket

_LARGEST: Final = 1000  # above it, e**-epsilon is not a float


class _Promise(PrivacyLoss):
    """A promise (epsilon, delta), answered as by the randomized response that just keeps it."""

    __slots__ = ()

    @property
    @abstractmethod
    def _response(self) -> ResponsePair: ...

    def profile(self) -> Profile:
        return Profile.of(self._response)

    def delta_interval(self, epsilon: object) -> Bracket:
        """Enclose delta + (1 - delta) (1 - e**(t - eps)) / (1 + e**-eps), for t below epsilon."""
        own, target = self._response, checked_epsilon(epsilon)
        if target >= own.epsilon:
            return Bracket(float_down(own.delta), float_up(own.delta))
        gap, decay = exp(target - own.epsilon), exp(-own.epsilon)
        low, high = (1 - gap.high) / (1 + decay.high), (1 - gap.low) / (1 + decay.low)
        kept = 1 - own.delta
        return Bracket(*Interval(own.delta + kept * low, own.delta + kept * high).floats())

    def interval(self, delta: object) -> Bracket:
        """Invert the profile of randomized response; infinite below its delta."""
        own, wanted = self._response, checked_delta(delta)
        if wanted < own.delta:
            return Bracket(math.inf, math.inf)
        if wanted == 1:
            return Bracket(0.0, 0.0)
        if wanted == own.delta:
            return Bracket(float_down(own.epsilon), float_up(own.epsilon))
        rest, decay = (wanted - own.delta) / (1 - own.delta), exp(-own.epsilon)
        least, most = 1 - rest * (1 + decay.high), 1 - rest * (1 + decay.low)
        low = own.epsilon + log(least).low if least > 0 else Fraction(0)
        high = own.epsilon + log(most).high if most > 0 else Fraction(0)
        return Bracket(*Interval(max(low, Fraction(0)), max(high, Fraction(0))).floats())

    def renyi(self, order: object) -> float:
        wanted = checked_order(order)
        own = self._response
        return math.inf if own.delta else pure_renyi(epsilon=own.epsilon, order=wanted)

    def pure_bound(self) -> Fraction | None:
        return None if self._response.delta else self._response.epsilon

    def concentrated(self) -> Fraction | None:
        bound = self.pure_bound()
        return None if bound is None else dyadic_up(bound * tanh_half(bound).high)


@final
@dataclass(frozen=True, slots=True, init=False, repr=False)
class Pure(_Promise):
    """A loss that never exceeds epsilon.

    >>> Pure(epsilon=1).delta(epsilon=0.5)
    0.28764913664496794
    >>> Pure(epsilon=0.1).group(3)
    Pure(epsilon=Fraction(3, 10))
    """

    bound: Fraction

    def __init__(self, *, epsilon: object) -> None:
        freeze(self, bound=checked_epsilon(epsilon))

    def __repr__(self) -> str:
        return f"Pure(epsilon={self.bound!r})"

    @property
    def _response(self) -> ResponsePair:
        return ResponsePair(self.bound)

    def pure_bound(self) -> Fraction:
        return self.bound

    def concentrated(self) -> Fraction:
        return dyadic_up(self.bound * tanh_half(self.bound).high)

    def tradeoff(self, false_alarm: object) -> float:
        alarm = checked_delta(false_alarm, name="false_alarm")
        if self.bound > _LARGEST:
            return 0.0 if alarm else 1.0
        direct, swapped = 1 - exp(self.bound).high * alarm, (1 - alarm) * exp(-self.bound).low
        return float_down(max(direct, swapped, Fraction(0)))

    def group(self, size: int) -> Pure:
        return Pure(epsilon=checked_count(size, name="size") * self.bound)

    def dominates(self, other: PrivacyLoss) -> bool:
        largest = other.pure_bound()
        return largest is not None and largest <= self.bound


@final
@dataclass(frozen=True, slots=True, init=False, repr=False)
class Approximate(_Promise):
    """A loss that exceeds epsilon with probability at most delta.

    >>> Approximate(epsilon="0.5", delta="1e-6").group(3).delta_bound <= 5.3671e-6
    True
    """

    epsilon_bound: Fraction
    delta_bound: Fraction

    def __init__(self, *, epsilon: object, delta: object) -> None:
        freeze(self, epsilon_bound=checked_epsilon(epsilon), delta_bound=checked_delta(delta))

    def __repr__(self) -> str:
        return f"Approximate(epsilon={self.epsilon_bound!r}, delta={self.delta_bound!r})"

    @property
    def _response(self) -> ResponsePair:
        return ResponsePair(self.epsilon_bound, self.delta_bound)

    def group(self, size: int) -> Approximate:
        """Multiply epsilon, and sum the geometric series of deltas, rounded up."""
        count = checked_count(size, name="size")
        return Approximate(
            epsilon=count * self.epsilon_bound,
            delta=group_delta(epsilon=self.epsilon_bound, delta=self.delta_bound, size=count),
        )

    def dominates(self, other: PrivacyLoss) -> bool:
        if isinstance(other, Approximate) and other.epsilon_bound <= self.epsilon_bound:
            return other.delta_bound <= self.delta_bound
        return other.delta(epsilon=self.epsilon_bound) <= self.delta_bound


_FAR: Final = 1000
_NEWTON: Final = 24


@final
@dataclass(frozen=True, slots=True, init=False, repr=False)
class GaussianDP(PrivacyLoss):
    """A loss no larger than that of one unit-variance Gaussian shifted by mu.

    It keeps the square of mu, which adds up exactly.

    >>> GaussianDP(mu=1).delta(epsilon=1)
    0.12693673750664397
    >>> GaussianDP(mu=3).compose(GaussianDP(mu=4))
    GaussianDP(mu=Fraction(5, 1))
    """

    mu_squared: Fraction

    def __init__(self, *, mu: object = None, mu_squared: object = None) -> None:
        if (mu is None) == (mu_squared is None):
            raise WrongKind(
                "GaussianDP takes one number: mu or mu_squared; give mu=..., or mu_squared=... "
                "where mu is a square root."
            )
        if mu is not None:
            square = checked_parameter(mu, name="mu") ** 2
        else:
            square = checked_parameter(mu_squared, name="mu_squared")
        freeze(self, mu_squared=square)

    def __repr__(self) -> str:
        root = sqrt(self.mu_squared)
        if root.low == root.high:
            return f"GaussianDP(mu={root.low!r})"
        return f"GaussianDP(mu_squared={self.mu_squared!r})"

    @property
    def mu(self) -> float:
        return float_up(sqrt(self.mu_squared).high)

    def profile(self) -> Profile:
        return Profile.of(GaussianPair(self.mu_squared))

    def delta_interval(self, epsilon: object) -> Bracket:
        target = checked_epsilon(epsilon)
        if target > _FAR:  # e**epsilon has too many digits to write down
            return self.profile().delta_interval(epsilon=target)
        return Bracket(*gaussian_profile(self.mu_squared, target).floats())

    def renyi(self, order: object) -> float:
        return float_up(checked_order(order) * self.mu_squared / 2)

    def tradeoff(self, false_alarm: object) -> float:
        alarm = checked_delta(false_alarm, name="false_alarm")
        if alarm in (0, 1):
            return float(1 - alarm)
        cut = -normal_quantile_up(Interval(alarm, alarm))
        return float_down(normal_cdf(cut - sqrt(self.mu_squared).high).low)

    def concentrated(self) -> Fraction:
        return self.mu_squared / 2

    def compose(self, other: PrivacyLoss) -> PrivacyLoss:
        """Add the squares; anything else goes through profiles."""
        if isinstance(other, GaussianDP):
            return GaussianDP(mu_squared=self.mu_squared + other.mu_squared)
        return PrivacyLoss.compose(self, other)

    def power(self, count: int) -> GaussianDP:
        return GaussianDP(mu_squared=checked_count(count, low=0) * self.mu_squared)

    def group(self, size: int) -> GaussianDP:
        return GaussianDP(mu_squared=checked_count(size, name="size") ** 2 * self.mu_squared)

    def dominates(self, other: PrivacyLoss) -> bool:
        match other:
            case GaussianDP(mu_squared=square):
                return square <= self.mu_squared
            case _ if (bound := other.pure_bound()) is not None and (
                pure_to_gaussian_mu(epsilon=bound) ** 2 <= self.mu_squared
            ):
                return True
            case _:
                return self.profile().dominates(other)


@final
@dataclass(frozen=True, slots=True, init=False, repr=False)
class ContinuousLaplace(PrivacyLoss):
    """The loss of continuous Laplace noise on a number that one unit moves by at most 1.

    For a number that moves by at most d, divide the scale by d.  In ``discreet.loss`` it is called
    ``Laplace``.

    >>> from discreet import loss
    >>> noise = loss.Laplace(scale=2)
    >>> noise.epsilon(delta=0), round(noise.epsilon(delta="0.01"), 4)
    (0.5, 0.4799)
    >>> noise.group(2)
    loss.Laplace(scale=Fraction(1, 1))
    """

    scale: Fraction

    def __init__(self, *, scale: object) -> None:
        width = checked_parameter(scale, name="scale")
        if width == 0:
            raise OutOfRange("scale is zero; give a scale above zero; epsilon is its reciprocal.")
        freeze(self, scale=width)

    def __repr__(self) -> str:
        return f"loss.Laplace(scale={self.scale!r})"

    def profile(self) -> Profile:
        return Profile.of(LaplacePair(1 / self.scale))

    def pure_bound(self) -> Fraction:
        return 1 / self.scale

    def concentrated(self) -> Fraction | None:
        return self.profile().concentrated()

    def group(self, size: int) -> ContinuousLaplace:
        return ContinuousLaplace(scale=self.scale / checked_count(size, name="size"))

    def dominates(self, other: PrivacyLoss) -> bool:
        if isinstance(other, ContinuousLaplace):
            return self.scale <= other.scale
        return self.profile().dominates(other)


Laplace = ContinuousLaplace
"""Its name at the door: a class of that name, which draws integers, is in ``mechanisms``."""


@final
@dataclass(frozen=True, slots=True, init=False)
class ZeroConcentrated(PrivacyLoss):
    """A loss whose Rényi divergences are at most rho times their order.

    >>> round(ZeroConcentrated(rho="0.5").epsilon(delta=1e-5), 9)
    4.728386985
    >>> ZeroConcentrated(rho="0.08").group(3)
    ZeroConcentrated(rho=Fraction(18, 25))
    """

    rho: Fraction

    def __init__(self, *, rho: object) -> None:
        freeze(self, rho=checked_parameter(rho, name="rho"))

    def profile(self) -> Profile:
        return Profile.symmetric(Composition(pairs=(), renyi=RenyiCurve(rho=self.rho)))

    def renyi(self, order: object) -> float:
        return float_up(self.rho * checked_order(order))

    def delta_interval(self, epsilon: object) -> Bracket:
        """Enclose the bound of the best order, without the margins that floats need.

        So it does not depend on how floats are rounded, and limits that were stored imply later
        what they were fixed for.
        """
        target = checked_epsilon(epsilon)
        high = self.profile().delta_interval(epsilon=target).high
        if not self.rho:
            return Bracket(0.0, high)
        rho, eps, t = float(self.rho), float(target), 1.0
        for _ in range(_NEWTON):  # to where the derivative of the exponent vanishes
            step = (eps - rho * (2 * t + 1) + math.log1p(1 / t)) / (2 * rho * t + 1 / (1 + t))
            t *= math.exp(min(max(step, -5.0), 5.0))
        a = Fraction(t)
        value = self.rho * a * (a + 1) - a * target + a * log(a).high - (1 + a) * log(1 + a).low
        return Bracket(0.0, min(high, float_up(exp(min(value, Fraction(0))).high)))

    def concentrated(self) -> Fraction:
        return self.rho

    def compose(self, other: PrivacyLoss) -> PrivacyLoss:
        """Add rho to rho; anything else goes through profiles."""
        if isinstance(other, ZeroConcentrated):
            return ZeroConcentrated(rho=self.rho + other.rho)
        return PrivacyLoss.compose(self, other)

    def power(self, count: int) -> ZeroConcentrated:
        return ZeroConcentrated(rho=checked_count(count, low=0) * self.rho)

    def group(self, size: int) -> ZeroConcentrated:
        return ZeroConcentrated(rho=checked_count(size, name="size") ** 2 * self.rho)

    def dominates(self, other: PrivacyLoss) -> bool:
        least = other.concentrated()
        return least is not None and least <= self.rho


@final
@dataclass(frozen=True, slots=True, init=False)
class RenyiDP(PrivacyLoss):
    """A loss known through its Rényi divergences at some orders.

    >>> loss = RenyiDP(orders=(2, 10), values=("0.1", "0.5"))
    >>> round(loss.epsilon(delta=1e-5), 9)
    1.418010637
    """

    orders: tuple[Fraction, ...]
    values: tuple[Fraction, ...]

    def __init__(self, *, orders: Sequence[object], values: Sequence[object]) -> None:
        checked = tuple(checked_order(order) for order in orders)
        bounds = tuple(checked_parameter(value, name="value") for value in values)
        rising = all(a < b for a, b in pairwise(checked))
        if not checked or len(checked) != len(bounds) or not rising:
            raise OutOfRange(
                "the orders of a Rényi loss do not fit its values; give increasing orders above 1 "
                "and as many values."
            )
        freeze(self, orders=checked, values=bounds)

    @property
    def curve(self) -> RenyiCurve:
        return RenyiCurve(orders=self.orders, values=self.values)

    def profile(self) -> Profile:
        return Profile.symmetric(Composition(pairs=(), renyi=self.curve))

    def renyi(self, order: object) -> float:
        value = self.curve.at(checked_order(order))
        return math.inf if value is None else float_up(value)

    def compose(self, other: PrivacyLoss) -> PrivacyLoss:
        """Add the curves of two Rényi losses; anything else goes through profiles."""
        if isinstance(other, RenyiDP):
            return _from(self.curve + other.curve)
        return PrivacyLoss.compose(self, other)

    def power(self, count: int) -> RenyiDP:
        return _from(self.curve.times(checked_count(count, low=0)))

    def group(self, size: int) -> RenyiDP:
        """Chain the weak triangle inequality; the orders shrink."""
        return _from(group_renyi(self.curve, checked_count(size, name="size")))

    def dominates(self, other: PrivacyLoss) -> bool:
        known = zip(self.orders, self.values, strict=True)
        return all(_divergence(other, a) <= value for a, value in known)


def _divergence(loss: PrivacyLoss, order: Fraction) -> Fraction | float:
    """Return the divergence of an order, exactly if it is known so."""
    match loss:
        case RenyiDP():
            value = loss.curve.at(order)
            return math.inf if value is None else value
        case ZeroConcentrated(rho=rho):
            return rho * order
        case GaussianDP(mu_squared=square):
            return square * order / 2
        case _:
            return loss.renyi(order=order)


def _from(curve: RenyiCurve) -> RenyiDP:
    return RenyiDP(orders=curve.orders, values=curve.values)
