"""The program of a synthetic table: one read, bins that are bought, then the steps of a method.

Trust: kernel.  The composition that is charged is made here, from the request that engines enforce
and from the steps that the run is held to.

From evidence to a model: free, deterministic, and at any time.

Trust: public.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Final, final

from discreet.accounting import Leaf, Node, Repeat, Sequential
from discreet.errors import OutOfRange, WrongKind
from discreet.noise import Entropy
from discreet.requests.engine_request import EngineRequest
from discreet.requests.raw_totals import RawTotals
from discreet.session.programs import Program, ProgramRows
from discreet.synthetic.bins import BoughtBins
from discreet.synthetic.constraints import Constraint, impossible
from discreet.synthetic.domain import Domain
from discreet.synthetic.evidence import (
    FORMAT,
    Evidence,
    constraint_document,
    domain_document,
    written,
)
from discreet.synthetic.inference.inference import Model
from discreet.synthetic.joint import JointHistogram, UnitMoves, moved_by
from discreet.synthetic.measurer import JointMeasurer, PlannedSteps
from discreet.synthetic.methods.aim import AIM
from discreet.synthetic.methods.dual_query import DualQuery
from discreet.synthetic.methods.method import Method, Schedule, Task
from discreet.synthetic.methods.mst import MST, Independent
from discreet.synthetic.methods.mwem import MWEM
from discreet.units import PrivacyUnit


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class SyntheticDraw:
    """Draws the evidence of a synthetic table from the joint histogram.

    ``bought`` are bins that are bought first; None if all bins are public.
    """

    domain: Domain
    constraints: tuple[Constraint, ...]
    method: Method
    task: Task
    schedule: Schedule
    bought: BoughtBins | None

    @property
    def read(self) -> Domain:
        """The domain in whose codes the data is read."""
        return self.domain if self.bought is None else self.bought.fine

    def charged(self, reads: tuple[EngineRequest, ...], unit: PrivacyUnit) -> Node:
        """Return the composition: the bins, then the method; by what the request bounds."""
        (request,) = reads
        moves = UnitMoves(moved_by(request), unit)
        if moves != self.task.moves:
            raise OutOfRange(
                "a synthetic table is planned for other bounds than its request has; plan it with "
                "discreet.plan_synthesis."
            )
        bins = () if self.bought is None else self.bought.steps(moves)
        tree = self.method.schedule(self.task).tree
        return Sequential(*_grouped(bins), tree) if bins else tree

    def document(self) -> dict[str, Any]:
        """Return all public parameters, in plain JSON."""
        wanted = () if self.bought is None else self.bought.wanted
        return {
            "queries": self.task.workload.queries,
            "kind": "synthetic table",
            "format": FORMAT,
            "method": dict(self.method.document),
            "domain": domain_document(self.read),
            "bins": [[column, str(bins.epsilon), bins.count] for column, bins in wanted],
            "constraints": [constraint_document(each) for each in self.constraints],
            "workload": [[list(each), weight] for each, weight in self.task.workload.weights],
            "rho": None if self.task.rho is None else str(self.task.rho),
            "epsilon": None if self.task.epsilon is None else str(self.task.epsilon),
        }

    def __call__(
        self,
        raws: tuple[RawTotals, ...],
        *,
        entropy: Entropy,
        digest: str,
        sources: tuple[tuple[str, str], ...],
    ) -> bytes:
        """Buy bins, take the steps of the method, and write down what was released."""
        (raw,) = raws
        moves = self.task.moves
        domain, joint = self.domain, JointHistogram.of(raw, self.read.coded.sizes)
        spent = Fraction(0)
        if self.bought is not None:
            steps = PlannedSteps(self.bought.steps(moves), moves.unit, pure=self.task.rho is None)
            domain, joint = self.bought.bought(joint, moves, steps, entropy)
            spent = steps.spent
        zeros = impossible(domain, self.constraints)
        task = replace(self.task, domain=domain.coded, zeros=zeros)
        measurer = JointMeasurer(joint, moves, self.schedule.spending(), entropy)
        rows = self.method.run(task, measurer)
        return written(
            Evidence(
                digest=digest,
                method=self.method.document,
                domain=domain,
                constraints=self.constraints,
                measured=measurer.measured,
                rows=rows,
                spent=spent + measurer.spent,
                pure=self.task.rho is None,
                sources=sources,
            )
        )


def synthesis_program(
    rows: ProgramRows, request: EngineRequest, draw: SyntheticDraw, delta: Fraction | None
) -> Program:
    """Return the program of a synthetic table."""
    return Program.of(
        rows,
        unit=draw.task.moves.unit,
        reads=(request,),
        delta=delta,
        draw=draw,
    )


def _grouped(steps: Iterable[Leaf]) -> list[Node]:
    """Return each different step once, with how often it is taken."""
    return [Repeat(step, times) if times > 1 else step for step, times in Counter(steps).items()]


METHODS: Final[dict[str, type[Method]]] = {
    "aim": AIM,
    "dual_query": DualQuery,
    "mst": MST,
    "mwem": MWEM,
    "product": Independent,
}
"""All methods, by the name under which evidence holds them."""


def method_of(evidence: Evidence) -> Method:
    """Return the method that made some evidence."""
    parameters = {name: value for name, value in evidence.method.items() if name != "name"}
    made = METHODS.get(str(evidence.method.get("name")))
    if made is None:
        raise WrongKind(
            f"there is no method {evidence.method.get('name')} here; read it with the version that "
            "wrote it."
        )
    return made(**parameters)


def model_of(evidence: Evidence) -> Model:
    """Fit a model to evidence, by the inference of its method."""
    zeros = impossible(evidence.domain, evidence.constraints)
    return method_of(evidence).model(evidence, zeros)
