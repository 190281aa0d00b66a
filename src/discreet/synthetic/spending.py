"""Spending: what a program may still measure, decided before each step.

Trust: kernel (T7).

Whoever reads the histogram spends first, so every measurement that is made is one
that was charged.

Theorem (key ``filter-concentrated``).  If mechanisms are chosen one after the other, in view of all
earlier answers, and one is run only if its rho and those of all earlier ones add up to at most a
bound that was fixed before, then all answers together are zero-concentrated with that bound.
So a program that decides by what it saw how exactly it measures next, and when it ends, costs no
more than its bound (``RhoFilter``).  One whose steps are fixed beforehand is charged for just these
(``PlannedSteps``): taking fewer of them is post-processing of taking all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from fractions import Fraction
from typing import Protocol, final

from discreet.accounting import Leaf
from discreet.errors import OverBudget
from discreet.mechanisms import Exponential
from discreet.plan.pricing.calibration import epsilon_sum, rho_sum
from discreet.units import PrivacyUnit


class Spending(Protocol):
    """Decides whether a step may be taken."""

    @property
    def spent(self) -> Fraction:
        """What was spent so far."""
        ...

    def spend(self, step: Leaf) -> None:
        """Spend the price of a step that is about to be taken, or refuse it."""
        ...


@final
class RhoFilter:
    """Steps of any kind, as long as their rhos add up to no more than a bound.

    >>> from discreet.mechanisms import Gaussian
    >>> from discreet.units import row
    >>> left = RhoFilter(Fraction(1, 8), row())
    >>> left.spend(Leaf(Gaussian(variance=8)))
    >>> left.left
    Fraction(1, 16)
    """

    __slots__ = ("_bound", "_spent", "_unit")

    def __init__(self, bound: Fraction, unit: PrivacyUnit) -> None:
        """Take the bound, and whom it is about."""
        self._bound = bound
        self._unit = unit
        self._spent = Fraction(0)

    @property
    def spent(self) -> Fraction:
        """The rho of all steps so far."""
        return self._spent

    @property
    def left(self) -> Fraction:
        """The rho that is left."""
        return self._bound - self._spent

    def price(self, step: Leaf) -> Fraction:
        """Return the rho of a step; it may not rest on an event of some chance."""
        rho, beside = rho_sum(step, self._unit)
        if beside:
            raise refused_step()
        return rho

    def spend(self, step: Leaf) -> None:
        """Spend the rho of a step, or refuse it."""
        after = self._spent + self.price(step)
        if after > self._bound:
            raise refused_step()
        self._spent = after


@final
class PlannedSteps:
    """Steps that were fixed beforehand, in any order, each as often as it was planned.

    >>> from discreet.mechanisms import Gaussian
    >>> from discreet.units import row
    >>> steps = PlannedSteps([Leaf(Gaussian(variance=8))], row())
    >>> steps.spend(Leaf(Gaussian(variance=8)))
    >>> steps.spend(Leaf(Gaussian(variance=8)))
    Traceback (most recent call last):
        ...
    discreet.errors.OverBudget: a step of a program was not planned.
    ...
    """

    __slots__ = ("_left", "_pure", "_spent", "_unit")

    def __init__(self, steps: Iterable[Leaf], unit: PrivacyUnit, *, pure: bool = False) -> None:
        """Take all steps; ``pure`` says that epsilon is counted, and not rho."""
        self._left = Counter(map(_without_count, steps))
        self._unit = unit
        self._pure = pure
        self._spent = Fraction(0)

    @property
    def spent(self) -> Fraction:
        """The rho, or the epsilon, of all steps so far."""
        return self._spent

    def spend(self, step: Leaf) -> None:
        """Strike out a step, or refuse it."""
        planned = _without_count(step)
        if self._left[planned] < 1:
            raise refused_step()
        self._left[planned] -= 1
        price = epsilon_sum(step, self._unit) if self._pure else rho_sum(step, self._unit)
        if price is not None:
            self._spent += price[0]


def _without_count(step: Leaf) -> Leaf:
    """Return a selection among any number of candidates: its loss is that of its scale."""
    if not isinstance(step.source, Exponential):
        return step
    choice = Exponential(candidates=1, scale=step.source.scale, change=step.source.change)
    return Leaf(choice, name=step.name, unit=step.unit, added=step.added, replaced=step.replaced)


def refused_step() -> OverBudget:
    """Return the error for a step that was not paid for."""
    return OverBudget(
        what="a step of a program was not planned.",
        why="it would cost more than was charged.",
        do="report this: a program takes the steps that its plan has paid for.",
    )
