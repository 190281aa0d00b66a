"""What a method is: a schedule of steps that is charged, a run that takes them, and a model.

Trust: kernel.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, Protocol, Self, final

import numpy as np
from numpy.typing import NDArray

from discreet.accounting import Leaf, Node, Repeat, Sequential
from discreet.errors import WrongKind
from discreet.plan.pricing.calibration import rho_sum
from discreet.synthetic.evidence import Evidence
from discreet.synthetic.inference.inference import CodedDomain, ImpossibleCells, Model
from discreet.synthetic.joint import UnitMoves, concentrated_leaf
from discreet.synthetic.measurer import (
    JointMeasurer,
    PlannedSteps,
    RhoFilter,
    Spending,
    refused_step,
)
from discreet.synthetic.workload import CompiledWorkload
from discreet.units import PrivacyUnit

MOST_LEAVES: Final = 64
"""So many steps are charged one by one; more of them as one zero-concentrated loss."""
_BITS: Final = 24


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """The task of a method: domain, workload, sensitivity of the counts, and the price.

    The price is ``rho``, or a pure ``epsilon``.
    """

    domain: CodedDomain
    workload: CompiledWorkload
    zeros: tuple[ImpossibleCells, ...]
    moves: UnitMoves
    rho: Fraction | None
    epsilon: Fraction | None = None


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """The steps of a method: a composition to be charged, and how they are held to it.

    ``steps`` are None if the method decides on them by what it saw, within ``rho``.
    ``rounds`` is how many selections there are at most, and ``deviation`` the standard deviation
    of the counts of single columns.
    """

    tree: Node
    unit: PrivacyUnit
    steps: tuple[Leaf, ...] | None
    rho: Fraction | None
    rounds: int
    deviation: float

    @classmethod
    def fixed(cls, steps: tuple[Leaf, ...], task: Task, *, rounds: int, deviation: float) -> Self:
        """Return a schedule of steps that are known beforehand."""
        unit = task.moves.unit
        pure = task.epsilon is not None
        distinct = Counter(steps)
        rho = None if pure else _rho_of(distinct, unit)
        parts = [Repeat(step, times) if times > 1 else step for step, times in distinct.items()]
        tree: Node = parts[0] if len(parts) == 1 else Sequential(*parts)
        if rho is not None and len(steps) > MOST_LEAVES:
            tree = concentrated_leaf(rho, unit)
        return cls(tree=tree, unit=unit, steps=steps, rho=rho, rounds=rounds, deviation=deviation)

    @classmethod
    def filtered(cls, task: Task, *, rounds: int, deviation: float) -> Self:
        """Return a schedule of steps that are decided on the way, within the price."""
        rho, unit = concentrated_price(task), task.moves.unit
        tree = concentrated_leaf(rho, unit)
        return cls(tree=tree, unit=unit, steps=None, rho=rho, rounds=rounds, deviation=deviation)

    def spending(self) -> Spending:
        """Return what holds a run to the schedule."""
        if self.steps is not None:
            return PlannedSteps(self.steps, self.unit, pure=self.rho is None)
        return RhoFilter(self.rho or Fraction(0), self.unit)


def _rho_of(steps: Mapping[Leaf, int], unit: PrivacyUnit) -> Fraction:
    """Add up the rhos of steps; none may rest on an event of some probability."""
    total = Fraction(0)
    for step, times in steps.items():
        rho, beside = rho_sum(step, unit)
        if beside:
            raise refused_step()
        total += times * rho
    return total


class Method(Protocol):
    """Makes a synthetic table; a frozen value of public parameters."""

    @property
    def document(self) -> Mapping[str, Any]:
        """Its name and parameters, in plain JSON."""
        ...

    def schedule(self, task: Task) -> Schedule:
        """Return the steps; refuse a task that the method is not for."""
        ...

    def run(self, task: Task, measurer: JointMeasurer) -> NDArray[np.int64] | None:
        """Take the steps; return rows of codes if these are the release."""
        ...

    def model(self, evidence: Evidence, zeros: tuple[ImpossibleCells, ...]) -> Model:
        """Fit a model to what was released."""
        ...


def concentrated_price(task: Task) -> Fraction:
    """Return the rho of a task; refuse a pure epsilon."""
    if task.rho is None:
        raise WrongKind(
            "this method has no price in epsilon alone; give a delta, such as delta=1e-9, or rho; "
            "or use method=dp.synthetic.MWEM(), or Independent()."
        )
    return task.rho


def rounded_up(value: Fraction) -> Fraction:
    """Round a number up to few digits, by less than one part in a million.

    >>> rounded_up(Fraction(1, 3)) >= Fraction(1, 3)
    True
    """
    shift = _BITS - math.floor(math.log2(value))
    unit = Fraction(2) ** shift
    return Fraction(math.ceil(value * unit)) / unit


def root_above(square: Fraction) -> Fraction:
    """Return a number that is not below a root, and less than one part in a million above it.

    >>> root_above(Fraction(2)) ** 2 >= 2
    True
    """
    shift = 2 * _BITS - math.floor(math.log2(square))
    shift += shift % 2
    scaled = math.ceil(square * Fraction(2) ** shift)
    return Fraction(math.isqrt(scaled - 1) + 1 if scaled else 0) / Fraction(2) ** (shift // 2)


def variance_for(task: Task, rho: Fraction, *, single: bool = False) -> Fraction:
    """Return the least variance, nearly, at which measuring a marginal costs at most this rho."""
    moves = task.moves
    squared = moves.rows**2 if single else moves.l2_squared
    return rounded_up(squared / (2 * rho))


def scale_for(distance: int, rho: Fraction) -> Fraction:
    """Return the least scale, nearly, at which a selection costs at most this rho.

    Scores move by the distance; the loss of the exponential mechanism has range 2 d / scale.
    """
    return root_above(Fraction(distance**2) / (2 * rho))
