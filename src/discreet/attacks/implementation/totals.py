"""What one person moves before noise is added, and what the plan says at most.

Trust: public.  It looks behind the door of a session, where only tests and attacks may.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, NamedTuple

from discreet.accounting import Leaf
from discreet.engines.order import HashOrder
from discreet.mechanisms import Gaussian
from discreet.plan.plan import Plan
from discreet.session import Session

__all__ = ["Moved", "moves", "totals_of"]

Totals = Mapping[str, Mapping[tuple[Any, ...], int]]
"""For every measure, the whole number of each group."""


class Moved(NamedTuple):
    """How far a measure moved, and how far it may: both squared where noise is Gaussian."""

    measure: str
    found: int
    allowed: Fraction

    @property
    def too_far(self) -> bool:
        """Whether the noise is too small for it."""
        return self.found > self.allowed

    @property
    def share(self) -> float:
        """The part of what is allowed."""
        return float(self.found / self.allowed) if self.allowed else float(self.found > 0)


def totals_of(session: Session, plan: Plan, *, salt: int = 0) -> Totals:
    """Compute the totals of a plan, exactly as an answer would."""
    raw = session._engine.run(plan.lowered, order=HashOrder(salt=salt))  # noqa: SLF001
    groups = list(zip(*(key.to_pylist() for key in raw.keys), strict=True)) if raw.keys else [()]
    measures = {"units": raw.units, **raw.totals}
    return {
        name: dict(zip(groups, values.tolist(), strict=True)) for name, values in measures.items()
    }


def moves(plan: Plan, here: Totals, there: Totals) -> list[Moved]:
    """Compare two totals with what every release of the plan is priced for."""
    leaves = {node.name: node for node in plan.tree.walk() if isinstance(node, Leaf)}
    found: list[Moved] = []
    for name in here:
        leaf = leaves.get(name)
        if leaf is None:
            continue
        groups = {*here[name], *there[name]}
        steps = [here[name].get(group, 0) - there[name].get(group, 0) for group in groups]
        squared = isinstance(leaf.source, Gaussian)
        length = sum(step * step for step in steps) if squared else sum(map(abs, steps))
        found.append(Moved(name, length, leaf.added**2 if squared else leaf.added))
    return found
