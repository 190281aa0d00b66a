"""The power of a row: how large a mistake would have to be for the row to show it.

Trust: public.

Definition.  A row that judged n answers about each neighbor *shows* a factor f if f times the loss
that was seen would have refuted its claim, by as many answers at the same level.  Let p and q be
the shares of answers in its event, so that the loss seen is ln((p - delta) / q).  With f times that
loss the event is as frequent about one neighbor, and has a share of (p - delta) exp(-f loss) about
the other: what noise does whose scale is f times too small.  The claim counts as refuted if the
bound is above it when as many answers are in the event as are then expected.  Where the answers
outside the event say more, they take the place of those inside.  For bits that were guessed, the
odds of right to wrong take the place of the ratio.  Exact laws have no margin: the factor is the
claim over the loss.

The factor is infinite if only answers without any noise, all of them on the right side of the
event, would have refuted the claim; and the row shows nothing if not even these would have.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Final

from discreet.attacks.claim import log_ratio
from discreet.attacks.measured import Measured
from discreet.attacks.proportions import at_least, at_most
from discreet.errors import WrongKind

MISTAKE: Final = 2.0
"""The factor that a row has to show to be evidence for its promise."""

_EPSILON: Final = "epsilon"


def shown_factor(measured: Measured, *, guesses: bool = False) -> float | None:
    """Return the least factor that a row shows; None if it shows nothing.

    ``guesses`` says that bits were guessed in one run, and no events counted in two.

    >>> from dataclasses import replace
    >>> row = Measured(parameter="epsilon", lower=0.9, estimate=1.0, claimed=1.0, event="",
    ...                hits=(5000, 1839), n=10_000, level=1e-6)
    >>> round(shown_factor(row), 2)
    1.16
    >>> shown_factor(replace(row, hits=(50, 50), n=100)), shown_factor(replace(row, n=20))
    (inf, None)
    """
    _check_kind(measured, guesses=guesses)
    points = ((measured.delta, measured.lower, measured.claimed), *measured.curve)
    claims = {delta: claimed for delta, _, claimed in points if claimed is not None}
    if measured.n == 0:
        return min(_ratio(claimed, lower) for _, lower, claimed in points if claimed is not None)
    kind = _guessed_factor if guesses else _event_factor
    factors = [kind(measured, Fraction(delta), claimed) for delta, claimed in claims.items()]
    return min((factor for factor in factors if factor is not None), default=None)


def _check_kind(measured: Measured, *, guesses: bool) -> None:
    if measured.parameter != _EPSILON or (guesses and measured.delta):
        raise WrongKind(
            what=f"the row bounds {measured.parameter} at delta {measured.delta:g}.",
            why="power is computed for epsilon, and for guesses at delta 0 alone.",
            do="audit the row's epsilon.",
        )


def _ratio(claimed: float, seen: float) -> float:
    return max(claimed / seen, 1.0) if seen > 0 else math.inf


def _event_factor(measured: Measured, delta: Fraction, claimed: float) -> float | None:
    """Return the factor at one delta, by the side of the event that says more."""
    n, level = measured.n, Fraction(measured.level) / 2
    sure = at_least(n, n, level=level)
    if log_ratio(sure - delta, 1 - sure) <= claimed:
        return None
    return min(_side_factors(measured, delta, claimed, level), default=math.inf)


def _side_factors(
    measured: Measured, delta: Fraction, claimed: float, level: Fraction
) -> Iterator[float]:
    """Yield the factor for answers in the event, and for those outside."""
    n, (first, other) = measured.n, measured.hits
    for often, rarely in ((first, other), (n - other, n - first)):
        chance = at_least(often, n, level=level) - delta
        fewest = _largest(
            lambda count, top=chance: log_ratio(top, at_most(count, n, level=level)) > claimed,  # type: ignore[misc]
            rarely,
        )
        share = often / n - float(delta)
        if fewest is None or share <= 0:
            continue
        seen = math.log(share * n / max(rarely, 0.5))
        if seen > 0:
            yield max(math.log(share * n / (fewest + 0.5)) / seen, 1.0)


def _guessed_factor(measured: Measured, _delta: Fraction, claimed: float) -> float | None:
    """Return the factor by which the odds of right guesses are multiplied, as logarithms."""
    n, level = measured.n, Fraction(measured.level)

    def refuted(wrong: int) -> bool:
        least = at_least(n - wrong, n, level=level)
        return log_ratio(least, 1 - least) > claimed

    right, wrong = measured.hits
    most = _largest(refuted, n)
    if most is None:
        return None
    seen = math.log((right + 0.5) / (wrong + 0.5))
    return max(math.log((n - most) / (most + 0.5)) / seen, 1.0) if seen > 0 else math.inf


def _largest(holds: Callable[[int], bool], high: int) -> int | None:
    """Return the largest count up to ``high`` for which it holds; None if it holds for none.

    >>> _largest(lambda count: count <= 3, 10), _largest(lambda count: False, 10)
    (3, None)
    """
    if not holds(0):
        return None
    low, high = 0, high + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low
