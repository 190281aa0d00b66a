"""How the columns of an answer follow from noisy numbers.

Trust: public.  Everything here is computed from what is released already.

Definition.  Let T(m) be the noisy total of measure m in a group, in whole steps.

    Units()                        the noisy number of units
    Count(m)                       T(m)
    Sum(m, step, center, count)    step T(m) + center T(count)
    Mean(m, count, ...)            center + step T(m) / T(count), within [low, high]
    Variance(m, squares, ...)      mean of squares minus square of the mean, at least 0
    Quantile(m, level, ...)        a value of the grid, chosen by its rank
    Quantiles(...)                 several of these, from the lowest level on

``step`` is the value of one unit of an integer total, and ``center`` what was taken off each value
before it was added up.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import final

__all__ = [
    "Count",
    "Estimator",
    "Grid",
    "Mean",
    "Quantile",
    "Quantiles",
    "Sum",
    "Units",
    "Variance",
]


@final
@dataclass(frozen=True, slots=True)
class Units:
    """The number of units in the group."""


@final
@dataclass(frozen=True, slots=True)
class Count:
    """A number of rows, or of different values."""

    measure: str


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Sum:
    """A sum; where values were centered, a count puts back what was taken off."""

    measure: str
    step: Fraction
    center: Fraction = Fraction(0)
    count: str | None = None


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Mean:
    """A mean of values between public bounds."""

    measure: str
    count: str
    step: Fraction
    center: Fraction
    low: Fraction
    high: Fraction


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Variance:
    """A variance, or its root; ``offset`` was taken off each square before it was added up.

    ``sample`` divides by n - 1 where others divide by n.
    """

    mean: Mean
    squares: str
    square_step: Fraction
    offset: Fraction
    sample: bool
    root: bool


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """The values that leaves stand for: leaf i for low + (i + shift) * width.

    It holds the values that are up to shift * width away from that, between ``low`` and ``high``.

    >>> Grid(low=Fraction(0), width=Fraction(1, 2), leaves=4, shift=Fraction(1, 2)).value(3)
    Fraction(7, 4)
    """

    low: Fraction
    width: Fraction
    leaves: int
    shift: Fraction = Fraction(0)
    high: Fraction | None = None

    def value(self, leaf: int) -> Fraction:
        """Return the value that a leaf stands for."""
        return self.low + (leaf + self.shift) * self.width


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Quantile:
    """A value such that about a share ``level`` of n values, and ``offset`` more, lie below it.

    The plan has one :class:`discreet.plan.noises.Choice` for the same measure and level.
    """

    measure: str
    level: Fraction
    offset: int
    grid: Grid


@final
@dataclass(frozen=True, slots=True)
class Quantiles:
    """Values at several levels, which rise."""

    each: tuple[Quantile, ...]


Estimator = Units | Count | Sum | Mean | Variance | Quantile | Quantiles
"""What an aggregate of a question is computed from."""
