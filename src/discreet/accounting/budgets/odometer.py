"""A privacy odometer: a bound on what was lost so far, valid at a time that answers may choose.

Trust: kernel.  A reading that is too low is a wrong promise.

A filter promises something about everything that will ever be asked within its limits; what was
spent so far promises nothing, since somebody may choose the moment at which to look.  An odometer
pays for that choice.

Definition (after Rogers, Roth, Ullman and Vadhan 2016).  A reading is a function of what was spent.
It is valid at delta if for any two neighbors, every rule that stops the questions in view of the
answers, and every set S of answers up to there, P(S) is at most delta plus the mean of e**reading
on S under Q.  So whoever stops once the reading is at most E has seen (E, delta)-private answers.

Theorem (key ``odometer``; Whitehouse, Ramdas, Rogers and Wu 2023, for bounds that hold at all
times; Rogers, Roth, Ullman and Vadhan 2016, for odometers).  Fix orders a_1, ..., a_n > 1, chances
w_1, ..., w_n, and limits C and A in advance.  Let request t be (e_t, c_t)-private, and of
divergence at most r_t(a_k) at each order, outside an event of known chance d_t; and let the d_t
sum to at most A on every path.  Then the smaller of these two is valid at w_1 + ... + w_n + C + A:
    the sum of the e_t, as long as the c_t sum to at most C
    the least over k of the sum of the r_t(a_k), plus log(1/w_k) / (a_k - 1)
    Proof.  Fix a rule that stops, and first let there be no events.  On paths where the second is
    smaller: exp((a-1)(l - r)) is a supermartingale under P that starts at 1, for l the loss of the
    answers so far and r the sum of their divergences at a.  By Ville's inequality it ever reaches
    1/w_k with a chance of at most w_k.  Otherwise l is at most the reading at all times, and where
    it is, P(S) is at most the mean of e**reading under Q.  On the other paths: halt before the c_t
    exceed C.  Each request is a function of a coin that falls with chance c_t whatever the data,
    and of answers whose loss is at most e_t (key ``filter-admission``).  A coin falls with a chance
    of at most C in all; where none does, l is at most the sum of the e_t.  Add the two.
    Events: until one happens, the answers obey their numbers, and each path has its chance times
    the product of the 1 - d_t, under both neighbors.  That is a weight from 0 to 1, with which all
    of the above holds too; and an event happens with a chance of at most A.
The bounds are straight lines in what was spent, each with a slack that is paid once: a valid
reading is above the conversion of what was spent, and above zero from the start where it is read
from divergences.
Sums in each cell, or for two records, are those of one such sequence (keys ``cell-filters``,
``cell-pairs``), and readings grow with them: the reading of the highest sums is valid for everyone.
An odometer is about one budget.  Where that is raised, the odometer of the last one is valid on the
same condition as its promise (:mod:`discreet.accounting.budgets.budget`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, final

from discreet.accounting.budgets.amounts import NEVER, amount_value
from discreet.accounting.budgets.budget import Budget
from discreet.accounting.budgets.currency import (
    BasicCurrency,
    GaussianCurrency,
    RenyiCurrency,
)
from discreet.accounting.budgets.two_routes import EitherCurrency, JointCurrency
from discreet.errors import OutOfRange
from discreet.exact import float_up
from discreet.loss.elementary import log
from discreet.loss.parameters import checked_delta

_LEVELS: Final = 12
_FALL: Final = 4  # each line is made for a fourth of what the line before it is made for
_NONE: Final = Fraction(0)


@final
@dataclass(frozen=True, slots=True)
class _Line:
    """A bound that grows with one sum: ``slope`` times the sum, and a slack that is paid once."""

    place: int
    slope: Fraction
    slack: Fraction


@final
@dataclass(frozen=True, slots=True, init=False)
class Odometer:
    """What was lost so far, at most, for the budget of an account.

    It is fixed before the first question: from the limits of the budget, and a delta.

    >>> from discreet.accounting import PrivacyFilter
    >>> from discreet.loss import GaussianDP, Pure
    >>> from discreet.units import row
    >>> spending = PrivacyFilter(Budget(epsilon=2, delta="1e-9"), unit=row())
    >>> odometer = Odometer(spending.budget)
    >>> charge = spending.charge(Pure(epsilon="0.125"))
    >>> odometer.reading(spending.spent)  # it is read from epsilons, exactly
    0.125
    >>> for _ in range(50):
    ...     charge = spending.charge(GaussianDP(mu="0.03"))
    >>> round(odometer.reading(spending.spent), 2)
    1.73
    """

    budget: Budget
    delta: Fraction
    _lines: tuple[_Line, ...]

    def __init__(self, budget: Budget, *, delta: object = None) -> None:
        """Take the limits, and the delta at which readings are valid.

        Args:
            budget: the limits of the filter that is read.
            delta: the chance of failure in all; that of the budget unless given.  Name it where a
                budget of rho, mu or divergences has none.
        """
        chance = _promised(budget) if delta is None else checked_delta(delta)
        aside = sum(map(amount_value, _deltas(budget)), _NONE)
        if chance is None or chance < aside or (chance == aside and not _is_basic(budget)):
            raise OutOfRange(
                what="no delta is left for the readings of an odometer.",
                why="what was lost so far is bounded outside an event of positive chance, beside "
                "the deltas that requests may spend.",
                do="give a delta above those that the budget allows to requests: "
                "Odometer(budget, delta=1e-6).",
            )
        lines = () if _is_basic(budget) else tuple(_lines_of(budget, chance - aside))
        object.__setattr__(self, "budget", budget)
        object.__setattr__(self, "delta", chance)
        object.__setattr__(self, "_lines", lines)

    def reading(self, spent: Sequence[int]) -> float:
        """Return a bound on what was lost so far, rounded up; infinity where none is known.

        >>> Odometer(Budget(epsilon=1)).reading((5 * 10**23, 0))
        0.5
        """
        if len(spent) != len(self.budget.limit) or spent[-1] > self.budget.limit[-1]:
            raise OutOfRange(
                what="what was spent is not what a filter of this budget can have spent.",
                why="a reading counts on the limit of delta, which the filter keeps.",
                do="give PrivacyFilter.spent, or the spent of what is left, of the same budget.",
            )
        readings = [*self._in_epsilon(spent), *map(self._along(spent), self._lines)]
        return min((float_up(value) for value in readings), default=math.inf)

    def _in_epsilon(self, spent: Sequence[int]) -> Iterator[Fraction]:
        """Yield the sum of epsilons, while their deltas are within their limit."""
        currency, limit = self.budget.currency, self.budget.limit
        if isinstance(currency, BasicCurrency | EitherCurrency | JointCurrency):
            joint = isinstance(currency, JointCurrency)
            if spent[0] < NEVER and not (joint and spent[1] > limit[1]):
                yield amount_value(spent[0])

    @staticmethod
    def _along(spent: Sequence[int]) -> Callable[[_Line], Fraction]:
        return lambda line: line.slope * amount_value(spent[line.place]) + line.slack


def _is_basic(budget: Budget) -> bool:
    return isinstance(budget.currency, BasicCurrency)


def _promised(budget: Budget) -> Fraction | None:
    if _is_basic(budget):
        return amount_value(budget.limit[-1])
    return None if budget.promise is None else budget.promise.delta_bound


def _deltas(budget: Budget) -> tuple[int, ...]:
    """Return the limits on what requests may spend on deltas."""
    joint = isinstance(budget.currency, JointCurrency)
    return (budget.limit[1], budget.limit[-1]) if joint else (budget.limit[-1],)


def _lines_of(budget: Budget, chance: Fraction) -> Iterator[_Line]:
    """Yield lines whose chances add up to the one that is given."""
    currency, limit = budget.currency, budget.limit
    if isinstance(currency, RenyiCurrency):
        share = chance / len(currency.orders)
        for place, order in enumerate(currency.orders):
            yield _Line(place, Fraction(1), _slack(order, share))
        return
    place = currency.components.index("mu squared" if _is_gaussian(budget) else "rho")
    half = Fraction(1, 2) if _is_gaussian(budget) else Fraction(1)  # mu is mu**2 / 2 in rho
    most = half * amount_value(limit[place]) or Fraction(1)
    share = chance
    for level in range(_LEVELS):
        share = share if level == _LEVELS - 1 else share / 2
        order = _best_order(most / _FALL**level, share)
        yield _Line(place, half * order, _slack(order, share))


def _is_gaussian(budget: Budget) -> bool:
    return isinstance(budget.currency, GaussianCurrency)


def _best_order(rho: Fraction, chance: Fraction) -> Fraction:
    """Return about the order with the least bound at a rho; any order above 1 is valid."""
    best = math.sqrt(float(log(1 / chance).high) / float(rho))
    return 1 + max(Fraction(best).limit_denominator(1000), Fraction(1, 1000))


def _slack(order: Fraction, chance: Fraction) -> Fraction:
    return log(1 / chance).high / (order - 1)
