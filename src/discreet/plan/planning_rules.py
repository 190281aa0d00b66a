"""The rules of planning that versions have had, so that an answer of any of them is found again.

Trust: kernel.  By whatever rules a question is planned, its plan is priced and enforced as any is.

An answer stays the answer, whatever rules later versions have.  A plan by other rules has another
digest, so a question is planned by the rules of earlier versions too before it is drawn anew.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum
from typing import TYPE_CHECKING, final

if TYPE_CHECKING:  # what a plan releases is made by later steps
    from discreet.plan.pricing.group_sensitivity import Noise


@final
class PlanningRules(IntEnum):
    """By the rules of which versions a question is planned.

    Attributes:
        TODAY: those of this version.
        CLAMPED_SUMS: those of the first versions, which clamped a sum as a whole where no count was
            beside it, knew nothing of units of one row, and bought every quantile and every count
            of which one is a part of another by itself, and every sum.
        SUMS_APART: those of the versions after them, which bought every sum by itself.
        VALUES_UNLISTED: those of the versions after these.  All earlier ones let a unit show as
            many different values as it may have rows, where fewer are listed.

    Numbers stay as they are: a plan that was stored before there were several has True for
    ``CLAMPED_SUMS``.

    >>> PlanningRules(True)
    <PlanningRules.CLAMPED_SUMS: 1>
    >>> bool(PlanningRules.TODAY)
    False
    """

    TODAY = 0
    CLAMPED_SUMS = 1
    SUMS_APART = 2
    VALUES_UNLISTED = 3


def earlier_rules(
    noises: Iterable[Noise], *, counts_values: bool = False
) -> tuple[PlanningRules, ...]:
    """Return which earlier rules may plan a question otherwise, the latest first.

    ``noises`` are those of its plan by today's rules, for which earlier rules make a difference;
    ``counts_values`` says that it counts different values.

    >>> earlier_rules(())
    (<PlanningRules.CLAMPED_SUMS: 1>,)
    """
    latest = (PlanningRules.VALUES_UNLISTED,) if counts_values else ()
    strategies = (noise.distances.strategy for noise in noises)
    if any(each is not None and each.values for each in strategies):
        return (*latest, PlanningRules.SUMS_APART, PlanningRules.CLAMPED_SUMS)
    return (*latest, PlanningRules.CLAMPED_SUMS)
