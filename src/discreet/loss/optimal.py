"""The optimal composition of (epsilon, delta) promises, by exact enumeration of losses.

Trust: kernel.

Theorem (key ``optimal-composition``; Kairouz, Oh and Viswanath 2015; Murtagh and Vadhan 2016).  Of
all mechanisms with given (eps_i, delta_i), randomized response loses most.  Its total loss is
the sum of signs S_i eps_i, where S_i = +1 with probability e**eps_i / (1 + e**eps_i), so that
    delta(eps) = 1 - prod(1 - delta_i) * (1 - E[(1 - e**(eps - sum S_i eps_i))_+]),
and no smaller delta is true of every composition.  Equal sums are merged: k equal promises have
k + 1 sums; k different ones up to 2**k, where the exact problem is #P-hard.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Final

from discreet.errors import OutOfRange
from discreet.exact import Interval
from discreet.loss.elementary import exp, reciprocal
from discreet.loss.limits import checked_count, checked_delta, checked_epsilon

__all__ = ["optimal_delta", "response_delta"]

_BITS: Final = 224
_ONE: Final = 1 << _BITS
_MOST_SUMS: Final = 1 << 15
_ZERO: Final = Fraction(0)


def response_delta(*, epsilon: Fraction, delta: Fraction, target: Fraction) -> Interval:
    """Enclose delta(target) of one (epsilon, delta) randomized response, target >= 0.

    >>> from fractions import Fraction
    >>> response_delta(epsilon=Fraction(1), delta=Fraction(0), target=Fraction(1, 2)).nearest()
    0.28764913664496794
    """
    if target >= epsilon:
        return Interval(delta, delta)
    gap, decay = exp(target - epsilon), exp(-epsilon)
    low, high = (1 - gap.high) / (1 + decay.high), (1 - gap.low) / (1 + decay.low)
    return Interval(delta + (1 - delta) * low, delta + (1 - delta) * high)


def optimal_delta(
    promises: Iterable[tuple[object, object]], *, target: object, times: int = 1
) -> Interval:
    """Enclose the least delta that all compositions of these promises satisfy at epsilon = target.

    >>> optimal_delta([("0.3", "1e-6"), ("0.5", "1e-6"), ("0.7", "1e-6")], target=1).nearest()
    0.09401118677676572
    """
    wanted, count = checked_epsilon(target, name="target"), checked_count(times, name="times")
    checked = [(checked_epsilon(e), checked_delta(d)) for e, d in promises]
    kept = Fraction(1)
    for _, d in checked:
        kept *= (1 - d) ** count
    sums: dict[Fraction, tuple[int, int]] = {_ZERO: (_ONE, _ONE)}
    for epsilon, _ in checked * count:
        sums = _extended(sums, epsilon)
    low = sum((_share(weight, wanted, total).low for total, weight in sums.items()), _ZERO)
    high = sum((_share(weight, wanted, total).high for total, weight in sums.items()), _ZERO)
    return Interval(1 - kept * (1 - low), 1 - kept * (1 - min(high, Fraction(1))))


def _extended(
    sums: dict[Fraction, tuple[int, int]], epsilon: Fraction
) -> dict[Fraction, tuple[int, int]]:
    if len(sums) > _MOST_SUMS:
        raise OutOfRange(
            what=f"the promises have more than {_MOST_SUMS} different sums of losses.",
            why="optimal composition of many different promises is as hard as counting.",
            do="ask the accountant for a certified interval instead: loss.compose(...).",
        )
    decay = exp(-epsilon)
    keep = reciprocal(Interval(1 + decay.low, 1 + decay.high))  # e**eps / (1 + e**eps)
    low, high = int(keep.low * _ONE), -int(-keep.high * _ONE // 1)
    grown: dict[Fraction, tuple[int, int]] = {}
    for total, (least, most) in sums.items():
        for moved, (a, b) in (
            (total + epsilon, (low, high)),
            (total - epsilon, (_ONE - high, _ONE - low)),
        ):
            old_least, old_most = grown.get(moved, (0, 0))
            grown[moved] = (
                old_least + (least * a >> _BITS),
                old_most - (-most * b >> _BITS),
            )
    return grown


def _share(weight: tuple[int, int], target: Fraction, total: Fraction) -> Interval:
    """Enclose P[L = total] * (1 - e**(target - total))_+."""
    if total <= target:
        return Interval(_ZERO, _ZERO)
    gap = exp(target - total)
    return Interval(
        Fraction(weight[0], _ONE) * (1 - gap.high), Fraction(weight[1], _ONE) * (1 - gap.low)
    )
