"""Classes of plans: how long an answer may take, how much memory, and when it is sent.

Trust: kernel (T1).

The class follows from the plan alone, so neither a limit nor the time at which an
answer is sent says anything about a row that the plan does not say.

Definition.  A plan is *small* if its groups are listed and number at most 64; *large* if it finds
bounds first, or has more than 4,096 groups or measures; and *medium* otherwise.

Definition.  Answers of a class with tick T are sent at T, 2T, 4T, ... after their request arrived,
at the first of these times at which they are ready.  An answer that is ready by T, as nearly all
are, is sent at T whatever its data; which power of two a slower one needs is all that time tells.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Final, final

if TYPE_CHECKING:  # a plan is handed in; the process that serves HTTP has none
    from discreet.plan.plan import Plan
    from discreet.service.site import ServiceLimits

_FEW: Final = 64
_MANY: Final = 4096


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class PlanClass:
    """One class: all its numbers are multiples of the limits of the site."""

    name: str
    factor: int
    memory: Fraction

    def tick(self, limits: ServiceLimits) -> Fraction:
        """Return the first time at which an answer is sent."""
        return limits.tick * self.factor

    def seconds(self, limits: ServiceLimits) -> Fraction:
        """Return how long a worker may take."""
        return limits.seconds * self.factor

    def bytes(self, limits: ServiceLimits) -> int:
        """Return how much memory a worker may map beyond what it has mapped when it is ready."""
        return int(limits.memory * self.memory)


SMALL: Final = PlanClass(name="small", factor=1, memory=Fraction(1, 2))
MEDIUM: Final = PlanClass(name="medium", factor=4, memory=Fraction(3, 4))
LARGE: Final = PlanClass(name="large", factor=16, memory=Fraction(1))
CLASSES: Final = {each.name: each for each in (SMALL, MEDIUM, LARGE)}


def class_of(plan: Plan) -> PlanClass:
    """Return the class of a plan."""
    request = plan.request
    groups = 1 if not request.keys else len(request.public or ()) or None
    if plan.search is not None or len(request.measures) > _MANY or (groups or 0) > _MANY:
        return LARGE
    return SMALL if groups is not None and groups <= _FEW else MEDIUM


def due(arrived: float, ready: float, tick: Fraction) -> float:
    """Return when an answer is sent that arrived and was ready at these times.

    >>> due(0.0, 0.1, Fraction(1, 4)), due(0.0, 0.6, Fraction(1, 4)), due(5.0, 5.5, Fraction(0))
    (0.25, 1.0, 5.5)
    """
    wait = float(tick)
    if wait <= 0:
        return ready
    while arrived + wait < ready:
        wait *= 2
    return arrived + wait
