"""The plan of a synthetic table: what will be measured, and what that costs; it reads nothing.

Trust: kernel.  The program that it holds is what is charged and carried out.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, final

from discreet.accounting import Box, Node
from discreet.loss import PrivacyLoss
from discreet.plan.plan import BudgetPreview
from discreet.plan.policy.owner_promises import OwnerPromise
from discreet.plan.pricing.calibration import Price, loss_of
from discreet.synthetic.constraints import Constraint
from discreet.synthetic.domain import Domain
from discreet.units import PrivacyUnit

if TYPE_CHECKING:  # made by planning, and handed in
    from discreet.synthetic.methods.method import Method
    from discreet.synthetic.program import SynthesisProgram
    from discreet.synthetic.workload import CompiledWorkload


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class SynthesisPlan:
    """How a synthetic table will be made, and what it costs.

    ``moves`` is by how many rows one unit moves the table, at most.  ``rounds`` is the largest
    number of selections, and ``noise`` the standard deviation of the counts of one column.
    ``one_way`` is the predicted error of the counts of each column, as a share of ``size`` rows
    (half of the L1 distance, in the mean): None where no size is given.
    """

    table: str
    domain: Domain
    workload: CompiledWorkload
    constraints: tuple[Constraint, ...]
    method: Method
    unit: PrivacyUnit
    moves: int
    rounds: int
    noise: float
    one_way: tuple[tuple[str, float], ...] | None
    size: int | None
    price: Price
    delta: Fraction | None
    confidence: Fraction
    promises: tuple[OwnerPromise, ...]
    program: SynthesisProgram
    budget_preview: BudgetPreview | None = field(default=None, compare=False)

    @property
    def tree(self) -> Node:
        """The composition that is charged."""
        return self.program.tree

    @property
    def scope(self) -> Box:
        """The records that it is about."""
        return self.program.scope

    @property
    def digest(self) -> str:
        """The name under which it is on record."""
        return self.program.digest

    @property
    def loss(self) -> PrivacyLoss:
        """The whole loss of one unit, as accounting works it out."""
        return loss_of(self.tree, self.unit)
