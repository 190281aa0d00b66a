"""Composition and conversion bounds of the textbooks, to teach and to compare with.

Trust: public.  All are true bounds, rounded up, and none is used by the accountant: each is looser
than what it does.

Theorem (key ``textbook-bounds``).  For promises (eps_i, delta_i) and a slack s in (0, 1):
    basic (Dwork et al. 2006):               (sum eps_i, sum delta_i)
    advanced (Dwork, Rothblum, Vadhan 2010): (eps sqrt(2k ln 1/s) + k eps (e**eps - 1), k delta + s)
    mean (Kairouz, Oh, Viswanath 2015):      sum eps_i tanh(eps_i/2) + sqrt(2 ln(1/s) sum eps_i**2)
    half-square (Bun, Steinke 2016):         sum eps_i**2 / 2 + sqrt(2 ln(1/s) sum eps_i**2)
    one Rényi order (Mironov 2017):          r + ln(1/delta) / (a - 1)
    concentrated (Bun, Steinke 2016):        rho + 2 sqrt(rho ln(1/delta))
    group (Dwork, Roth 2014):                (k eps, k e**((k-1) eps) delta)
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from discreet.errors import OutOfRange
from discreet.exact import float_up, positive
from discreet.loss import GaussianDP, Laplace, most_repeats
from discreet.loss.elementary import exp, log, sqrt, tanh_half
from discreet.loss.notions import Approximate
from discreet.loss.parameters import (
    checked_count,
    checked_delta,
    checked_epsilon,
    checked_order,
    checked_parameter,
    dyadic_up,
)

_ONE = Fraction(1)
_FAR = Fraction(1000)


def basic(promises: Sequence[Approximate]) -> Approximate:
    """Add the epsilons and the deltas.

    >>> basic([Approximate(epsilon="0.1", delta=0)] * 10)
    Approximate(epsilon=Fraction(1, 1), delta=Fraction(0, 1))
    """
    return Approximate(
        epsilon=sum((promise.epsilon_bound for promise in promises), Fraction(0)),
        delta=min(sum((promise.delta_bound for promise in promises), Fraction(0)), _ONE),
    )


def advanced(promise: Approximate, *, count: int, slack: object) -> Approximate:
    """Compose equal promises by the theorem of Dwork, Rothblum and Vadhan.

    >>> bound = advanced(Approximate(epsilon="0.1", delta=0), count=100, slack=1e-5)
    >>> round(float(bound.epsilon_bound), 9)
    5.850235093
    """
    times, spare = checked_count(count), _checked_slack(slack)
    loss = promise.epsilon_bound
    drift = times * loss * (exp(min(loss, _FAR)).high - 1)  # beyond, no epsilon is that large
    spread = loss * sqrt(2 * times * -log(spare).low).high
    total = times * promise.delta_bound + spare
    return Approximate(epsilon=dyadic_up(drift + spread), delta=min(total, _ONE))


def mean_concentration(epsilons: Sequence[object], *, slack: object) -> float:
    """Bound the sum of losses by its mean and Hoeffding's inequality.

    >>> round(mean_concentration(["0.1"] * 100, slack=1e-5), 9)
    5.298109662
    """
    checked, spare = [checked_epsilon(e) for e in epsilons], _checked_slack(slack)
    mean = sum((e * tanh_half(e).high for e in checked), Fraction(0))
    return float_up(mean + _deviation(checked, spare))


def half_square(epsilons: Sequence[object], *, slack: object) -> float:
    """Bound the sum of losses through concentrated privacy, in its simple form.

    >>> round(half_square(["0.1"] * 100, slack=1e-5), 9)
    5.298525912
    """
    checked, spare = [checked_epsilon(e) for e in epsilons], _checked_slack(slack)
    return float_up(sum((e * e / 2 for e in checked), Fraction(0)) + _deviation(checked, spare))


def mironov(*, order: object, value: object, delta: object) -> float:
    """Convert one Rényi order as it was first proposed.

    >>> round(mironov(order=10, value="0.5", delta=1e-5), 9)
    1.779213941
    """
    a, bound = checked_order(order), checked_parameter(value, name="value")
    return float_up(bound - log(_checked_slack(delta, name="delta")).low / (a - 1))


def concentrated_simple(*, rho: object, delta: object) -> float:
    """Convert rho-zCDP as it was first proposed.

    >>> round(concentrated_simple(rho="0.5", delta=1e-5), 9)
    5.298525912
    """
    strength = checked_parameter(rho, name="rho")
    depth = -log(_checked_slack(delta, name="delta")).low
    return float_up(strength + 2 * sqrt(strength * depth).high)


def group_loose(promise: Approximate, *, size: int) -> Approximate:
    """Protect a group with the delta of the textbook, k e**((k-1) eps) delta.

    >>> float(group_loose(Approximate(epsilon="0.5", delta="1e-6"), size=3).delta_bound)
    8.154845485377136e-06
    """
    count, loss = checked_count(size, name="size"), promise.epsilon_bound
    exponent = (count - 1) * loss
    if exponent > _FAR:
        return Approximate(epsilon=count * loss, delta=1 if promise.delta_bound else 0)
    delta = min(count * exp(exponent).high * promise.delta_bound, _ONE)
    return Approximate(epsilon=count * loss, delta=dyadic_up(delta))


def _deviation(epsilons: list[Fraction], spare: Fraction) -> Fraction:
    squares = sum((e * e for e in epsilons), Fraction(0))
    return sqrt(2 * -log(spare).low * squares).high


def _checked_slack(value: object, *, name: str = "slack") -> Fraction:
    number = checked_delta(value, name=name)
    if number == 0:
        raise OutOfRange(
            what=f"{name} is 0.",
            why="these bounds hold only outside an event of positive chance.",
            do=f"give {name} > 0, such as 1e-6.",
        )
    return number


def most_queries(*, error: object, epsilon: object, delta: object = 0) -> int:
    """Return how many counting queries may be answered with noise of this standard size.

    The error is the scale of Laplace noise (its mean absolute value) at delta 0, and the standard
    deviation of Gaussian noise otherwise, whichever kind allows more.  Pure privacy allows about
    epsilon * error queries, approximate privacy about its square: with error sqrt(n), sqrt(n)
    against n.

    >>> most_queries(error=100, epsilon=1), most_queries(error=100, epsilon=1, delta=1e-6)
    (100, 560)
    """
    size = positive(error, name="error")
    pure = most_repeats(Laplace(scale=size), epsilon=epsilon, delta=0)
    if checked_delta(delta) == 0:
        return pure
    gaussian = GaussianDP(mu_squared=1 / size**2)
    return max(pure, most_repeats(gaussian, epsilon=epsilon, delta=delta))
