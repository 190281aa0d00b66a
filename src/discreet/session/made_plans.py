"""The plans that a session has made: only these are carried out.

Trust: kernel.  A plan from elsewhere may rest on other bounds, another unit or another policy, and
would be answered for less than it costs here.

What is carried out is never the object that a caller hands in, which may claim to equal a plan that
was made here: it is a copy that no caller has held.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import replace
from typing import Final, final

from discreet.errors import WrongKind
from discreet.plan.plan import Plan

__all__ = ["MadePlans"]

_KEPT: Final = 256


@final
class MadePlans:
    """The last few hundred plans of a session."""

    __slots__ = ("_lock", "_plans")

    def __init__(self) -> None:
        """Begin with none."""
        self._lock = threading.Lock()
        self._plans: OrderedDict[object, Plan] = OrderedDict()

    def keep(self, plan: Plan) -> None:
        """Remember a plan."""
        with self._lock:
            self._plans[_name(plan)] = replace(plan)
            self._plans.move_to_end(_name(plan))
            while len(self._plans) > _KEPT:
                self._plans.popitem(last=False)

    def recalled(self, plan: Plan, price: tuple[object, ...]) -> Plan:
        """Return a plan as it was made here; refuse any other, or one that comes with a price."""
        if any(value is not None for value in price):
            raise WrongKind(
                what="a plan is given, and a price beside it.",
                why="a plan has its price.",
                do="ask for the plan alone, or plan the question anew.",
            )
        with self._lock:
            known = self._plans.get(_name(plan)) if type(plan) is Plan else None
        if known is None or known != plan:
            raise WrongKind(
                what="this plan was not made by this session, or long ago.",
                why="it may rest on other bounds, another unit or another policy.",
                do="plan the question with this session, and ask for that.",
            )
        return replace(known)


def _name(plan: Plan) -> object:
    """Return what tells plans apart: the digest, and how errors are shown."""
    return plan.digest, plan.confidence, plan.predicted
