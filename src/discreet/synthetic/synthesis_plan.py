"""The plan of a synthetic table: what will be measured, and what that costs; it reads nothing.

Trust: kernel.  The program that it holds is charged and carried out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Final, final

from discreet.accounting import Box, Node
from discreet.doors import Explainable
from discreet.errors import WrongKind
from discreet.loss import PrivacyLoss
from discreet.plan.plan import BudgetPreview
from discreet.plan.plan_words import Branch, html_of, plan_text, shown_price
from discreet.plan.policy.owner_promises import OwnerPromise
from discreet.plan.pricing.calibration import Price, loss_of
from discreet.synthetic.constraints import Constraint
from discreet.synthetic.domain import Domain, NumberBins
from discreet.synthetic.methods.aim import memory_bytes
from discreet.synthetic.program import SyntheticDraw
from discreet.synthetic.report.error_report import error_curve
from discreet.units import PrivacyUnit, describe_unit

if TYPE_CHECKING:  # made by planning, and handed in
    from discreet.session.programs import Program
    from discreet.synthetic.methods.method import Method
    from discreet.synthetic.workload import CompiledWorkload


_SHOWN_SECONDS: Final = 60


@final
@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class SynthesisPlan(Explainable):
    """How a synthetic table will be made, and what it costs.

    ``moves`` is by how many rows one unit moves the table, at most: ``equal_rows`` in each of some
    different combinations of codes.  ``rounds`` is the largest
    number of selections, and ``noise`` the standard deviation of the counts of one column (of the
    number of rows, for DualQuery).
    ``one_way`` is the predicted error of the counts of each column, as a share of ``size`` rows
    (half of the L1 distance, on average): None if no size is given.  ``seconds`` estimates how
    long one core may be busy, if that is noticeable.
    """

    table: str
    domain: Domain
    workload: CompiledWorkload
    constraints: tuple[Constraint, ...]
    method: Method
    unit: PrivacyUnit
    moves: int
    equal_rows: int
    rounds: int
    noise: float
    one_way: tuple[tuple[str, float], ...] | None
    size: int | None
    price: Price
    delta: Fraction | None
    confidence: Fraction
    promises: tuple[OwnerPromise, ...]
    program: Program
    seconds: float = 0.0
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

    def error_curve(self) -> str:
        """Draw how the errors of single columns fall with the price, as SVG text; it reads nothing.

        It needs a ``size``, and a method that measures columns.
        """
        draw = self.program.draw
        if self.one_way is None or self.size is None or not isinstance(draw, SyntheticDraw):
            raise WrongKind(
                "this plan forecasts no errors; plan with size=10_000, say, and another method "
                "than DualQuery."
            )
        return error_curve(self.domain, self.method, draw.task, size=self.size, delta=self.delta)

    def __repr__(self) -> str:
        """Show the table and the price on one line."""
        return f"<plan of a synthetic table of {self.table}; costs {shown_price(self.price)}>"

    def __str__(self) -> str:
        """Show everything that will happen, as a tree of lines."""
        return plan_text(self._branches())

    def _repr_html_(self) -> str:
        return html_of(self._branches())

    def _branches(self) -> Branch:
        name = str(self.method.document["name"])
        bounded = f", who moves the table by at most {_counted(self.moves, 'row')}"
        return Branch(
            f"synthetic table of {self.table}",
            (
                Branch(f"protects {describe_unit(self.unit)}{bounded}", tuple(self._kept())),
                Branch(f"is about {self.scope}"),
                *self._promises(),
                Branch(f"has {self.domain.cells:.6g} cells", tuple(self._columns())),
                Branch(f"gets {_counted(len(self.workload.weights), 'marginal')} right, by {name}"),
                *self._left_out(),
                *self._steps(),
                Branch(f"costs {shown_price(self.price)}"),
                *self._standing(),
                *self._errors(),
            ),
        )

    def _kept(self) -> Iterator[Branch]:
        if self.equal_rows > 1:
            combinations = _counted(self.moves // self.equal_rows, "combination")
            yield Branch(
                f"keeps of each unit {self.equal_rows} equal rows in each of {combinations} of "
                f"values; rows of one unit mostly differ, and max_rows=1, max_groups={self.moves} "
                "keeps more of them at the same price"
            )

    def _promises(self) -> Iterator[Branch]:
        if self.promises:
            lines = tuple(Branch(str(promise)) for promise in self.promises)
            yield Branch("rests on promises of the owner", lines)

    def _columns(self) -> Iterator[Branch]:
        for column in self.domain.columns:
            null = ", NULL among them" if column.nullable else ""
            smeared = ""
            if isinstance(column.coding, NumberBins) and not column.coding.exact:
                smeared = " of several values, which are spread evenly: a frequent one is smeared"
            bins = "bins" if smeared else "codes"
            yield Branch(f"{column.name}: {column.size} {bins}{smeared}{null}")
        for name, _ in self.domain.fresh:
            yield Branch(f"{name}: fresh numbers for made-up people")

    def _left_out(self) -> Iterator[Branch]:
        if self.workload.too_large:
            yield Branch(
                f"leaves out {_counted(self.workload.too_large, 'marginal')} with too many cells: "
                "use fewer bins, or a larger max_cells"
            )

    def _steps(self) -> Iterator[Branch]:
        rounds = f"up to {self.rounds} selections, " if self.rounds else ""
        counted = "single columns"
        if self.method.document["name"] == "dual_query":
            counted = "the number of rows"
        yield Branch(f"takes {rounds}noise of deviation {self.noise:.4g} on {counted}")
        if self.method.document["name"] == "aim":
            coded = self.domain.coded
            closure = self.workload.closure(coded)
            cells = sum(coded.size(marginal) for marginal, _ in closure)
            yield Branch(f"compares {len(closure)} marginals of {cells} cells again and again")
            marginals = (marginal for marginal, _ in closure)
            most = memory_bytes(coded, marginals, int(self.method.document["max_cells"]))
            yield Branch(f"takes at most {most / (1 << 20):,.0f} MiB of memory for its model")
            if self.seconds >= _SHOWN_SECONDS:
                yield Branch(f"may keep one core busy for up to {self.seconds / 60:,.0f} minutes")

    def _standing(self) -> Iterator[Branch]:
        if self.budget_preview is not None:
            yield Branch(str(self.budget_preview))
            yield from map(Branch, self.budget_preview.notes)

    def _errors(self) -> Iterator[Branch]:
        if self.one_way is not None:
            lines = tuple(Branch(f"{name}: {100 * share:.2g} %") for name, share in self.one_way)
            yield Branch(f"gets single columns wrong, on average, by shares of {self.size}", lines)
        elif self.size is None:
            yield Branch("forecasts no errors: give size, about how many rows there are")


def _counted(count: int, noun: str) -> str:
    return f"1 {noun}" if count == 1 else f"{count} {noun}s"
