"""Sensitivities of counts, sums and averages, by their formulas.

Trust: public.  The planner of questions works them out from the plan of a question.

Definition.  The sensitivity of a vector q under a norm is the largest distance of q(D) and q(D')
over all neighbors D and D'.
Theorem (key ``sensitivity``; Dwork, McSherry, Nissim and Smith 2006).  Let a unit hold at most c
rows.
    Counts of k conditions, if a row meets at most r: one unit contributes a vector with at
    most min(k, c r) entries other than zero, none above c, that add up to at most c r.  Adding or
    removing it moves the counts by that vector, replacing it by the difference of two.
    Sum of values in [low, high]: a unit of 1 to c rows contributes between min(low, c low) and
    max(high, c high).  Adding or removing it moves the sum by at most the larger of their absolute
    values, c max(|low|, |high|); replacing it by at most their difference.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import final

from discreet.errors import OutOfRange
from discreet.exact import decimal, whole
from discreet.units import Relation


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Sensitivity:
    """The largest distance between the answers on neighbors, in four norms.

    >>> count_sensitivity("replace", conditions=10).l1
    Fraction(2, 1)
    """

    l0: int
    l1: Fraction
    l2_squared: Fraction
    linf: Fraction


def count_sensitivity(
    relation: Relation | str, *, conditions: int = 1, overlap: int = 1, rows: int = 1
) -> Sensitivity:
    """Bound the sensitivity of ``conditions`` counts, if a row meets at most ``overlap``.

    ``rows`` is how many rows one unit may hold.  A histogram is the case of overlap 1.

    >>> count_sensitivity("add_remove", conditions=11).l1  # a histogram of 11 cells
    Fraction(1, 1)
    >>> count_sensitivity("add_remove", conditions=2, overlap=2).l1  # orange, and heavier than 4.5
    Fraction(2, 1)
    """
    kind = Relation.read(relation)
    cells = whole(conditions, name="conditions", low=1)
    held = whole(overlap, name="overlap", low=1, high=cells)
    most = whole(rows, name="rows", low=1)
    full = min(cells, kind.sides * held)  # cells that move by all c rows when the rows agree
    return Sensitivity(
        l0=min(cells, kind.sides * held * most),
        l1=Fraction(most * full),
        l2_squared=Fraction(most * most * full),
        linf=Fraction(most),
    )


def sum_sensitivity(
    relation: Relation | str, *, low: object, high: object, rows: int = 1
) -> Fraction:
    """Bound the sensitivity of the sum of values between two public bounds.

    >>> sum_sensitivity("add_remove", low=20_000, high=200_000)
    Fraction(200000, 1)
    >>> sum_sensitivity("replace", low=20_000, high=200_000)
    Fraction(180000, 1)
    """
    kind = Relation.read(relation)
    bottom, top = _bounds(low, high)
    most = whole(rows, name="rows", low=1)
    alone = most * max(abs(bottom), abs(top))
    swapped = max(top, most * top) - min(bottom, most * bottom)
    return max([alone] * kind.adds + [swapped] * kind.replaces)


def average_sensitivity(
    relation: Relation | str, *, low: object, high: object, size: int
) -> Fraction:
    """Return the sensitivity of the average of a public number of values between public bounds.

    >>> average_sensitivity("replace", low=20_000, high=200_000, size=90)
    Fraction(2000, 1)
    """
    kind = Relation.read(relation)
    count = whole(size, name="size", low=1)
    if not kind.size_is_public:
        raise OutOfRange(
            f"an average over a public number of rows is asked for under {kind.value}; release a "
            "sum and a count, and divide; or use the relation 'replace'."
        )
    return sum_sensitivity(kind, low=low, high=high) / count


def _bounds(low: object, high: object) -> tuple[Fraction, Fraction]:
    bottom, top = decimal(low, name="low"), decimal(high, name="high")
    if bottom > top:
        raise OutOfRange("low is above high; give low <= high.")
    return bottom, top
