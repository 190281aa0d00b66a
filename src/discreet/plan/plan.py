"""A plan: what will be computed, which mechanism protects it and what it costs, before any data.

Trust: kernel.

A plan is a value.  It was made from the question, the schema and the policy alone, so it may be
shown to anybody.  Whoever carries it out charges ``tree`` to the records of ``scope``, lets an
engine compute ``lowered``, shows the groups that ``selection`` chooses by the count ``chosen_by``
(all of them where it is None, or those that reach what ``reached`` says), adds ``noises``, makes
``choices``, and computes the columns of ``shown`` from ``estimates``.  The price is right if
``promises`` are true, which only the owner of the data can know.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, final

from discreet.accounting import Box, Budget, Node
from discreet.accounting.currency import shown_amounts
from discreet.errors import WrongKind
from discreet.loss import PrivacyLoss
from discreet.plan.lowered import Lowered
from discreet.plan.noises import Choice, Noise
from discreet.plan.outputs import Estimate, Shown
from discreet.plan.owner_promises import OwnerPromise
from discreet.plan.prices import Price, loss_of
from discreet.query.question import Question
from discreet.units import PrivacyUnit

if TYPE_CHECKING:  # loaded when first used, because a plain question needs none of it
    from discreet.mechanisms import NoisyKeys, OptimalKeys
    from discreet.plan.reached import Reached
    from discreet.plan.search import FoundBounds, Search
    from discreet.plan.standing import Standing

__all__ = ["Plan", "Predicted", "Price"]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Predicted:
    """How far an output is from the truth about the bounded rows, at the confidence of the plan.

    ``half_width`` is None where that depends on the data; ``words`` says it in any case.

    >>> Predicted(output="visits", half_width=Fraction(5), words="± 5").half_width
    Fraction(5, 1)
    """

    output: str
    half_width: Fraction | None
    words: str


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    r"""How a question will be answered, and what that costs.

    >>> from discreet.plan.policy import read_policy
    >>> from discreet.plan.schema import Schema
    >>> from discreet.plan.steps import plan
    >>> from discreet.query.sql.read import read
    >>> policy = read_policy(
    ...     'format = 1\nunit = "patient"\n[limits]\nmax_rows = 5\n'
    ...     '[tables.visits.columns.patient]\ntype = "integer"')
    >>> print(plan(read("SELECT COUNT(*) AS visits FROM visits"), schema=Schema(policy.tables),
    ...            policy=policy, unit=policy.unit, public_rows=list, epsilon=0.5))
    SELECT COUNT(*) AS visits FROM visits
    ├── protects one person (patient) under add_remove, who counts in at most 1 group
    ├── is about everything
    ├── rests on promises of the owner
    │   └── a unit keeps its patient across tables, files and time: old people get no new names
    ├── has one group
    ├── releases
    │   └── count: rows, moved by 5 in L1; Laplace noise of scale 10; epsilon 0.5
    ├── costs epsilon 0.5; rho 0.1225
    └── is off by at most, with a chance of 95 %
        └── visits ± 30
    """

    question: Question
    unit: PrivacyUnit
    lowered: Lowered
    selection: OptimalKeys | NoisyKeys | None
    chosen_by: str
    noises: tuple[Noise, ...]
    choices: tuple[Choice, ...]
    estimates: tuple[Estimate, ...]
    shown: Shown
    tree: Node
    scope: Box
    price: Price
    delta: Fraction | None
    confidence: Fraction
    predicted: tuple[Predicted, ...]
    about: tuple[tuple[str, str], ...]
    digest: str
    reached: Reached | None = None
    search: Search | None = None
    found: tuple[FoundBounds, ...] = ()
    promises: tuple[OwnerPromise, ...] = ()
    look: Callable[[], Standing | None] | None = field(default=None, compare=False)

    @property
    def standing(self) -> Standing | None:
        """Whether it was answered before, and what it would leave, as its ledger stands now."""
        return None if self.look is None else self.look()

    @property
    def loss(self) -> PrivacyLoss:
        """The whole loss of one unit, as accounting works it out."""
        return loss_of(self.tree, self.unit)

    def costs(self, budget: Budget) -> str:
        """Say what a budget counts for this plan; a delta is spent only where it has to be."""
        try:
            amounts = budget.price(self.loss)
        except WrongKind:
            amounts = budget.price(self.loss, delta=self.delta)
        return shown_amounts(budget.currency, amounts)

    def __repr__(self) -> str:
        """Show the question and the price on one line."""
        from discreet.plan.show import shown_price, shown_question  # noqa: PLC0415  rare

        return f"<plan: {shown_question(self)}; costs {shown_price(self.price)}>"

    def __str__(self) -> str:
        """Show everything that will happen, as a tree of lines."""
        from discreet.plan.show import branches_of, drawn  # noqa: PLC0415  rare

        return drawn(branches_of(self))

    def _repr_html_(self) -> str:
        from discreet.plan.show import branches_of, html_of  # noqa: PLC0415  rare

        return html_of(branches_of(self))
