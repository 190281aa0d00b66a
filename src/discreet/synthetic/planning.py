"""The doors: plan a synthetic table, and have it made.

Trust: kernel.  Planning reads nothing private and spends nothing; making is one program of the
session, charged before a row is read and recorded before anything is told.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from discreet.errors import OutOfRange, WrongKind
from discreet.exact import whole
from discreet.mechanisms.mechanism import Number
from discreet.plan.pricing.requested_price import (
    PriceArguments,
    check_requested_price,
    read_requested_price,
)
from discreet.plan.statistics.limit_choice import QuestionLimits
from discreet.query.builder import Rows
from discreet.synthetic.bins import Bins, BoughtBins, QuantileBins
from discreet.synthetic.constraints import Constraint, Determined, Forbidden, impossible
from discreet.synthetic.domain import BINS, Domain
from discreet.synthetic.evidence_format import read
from discreet.synthetic.inference.values import ImpossibleCells
from discreet.synthetic.joint import joint_request, moved_by
from discreet.synthetic.methods.aim import AIM, work_seconds
from discreet.synthetic.methods.method import Method, Task
from discreet.synthetic.methods.mst import MST
from discreet.synthetic.models import METHODS
from discreet.synthetic.program import SyntheticDraw, synthesis_program
from discreet.synthetic.range_queries import AllRanges, ListedCounts, Workload
from discreet.synthetic.release import SyntheticRelease
from discreet.synthetic.report.error_curve import column_errors
from discreet.synthetic.requested_table import (
    domain_of,
    question_of_rows,
    rho_asked,
    with_budget_delta,
)
from discreet.synthetic.sensitivity import UnitMoves
from discreet.synthetic.synthesis_plan import SynthesisPlan
from discreet.synthetic.workload import (
    MOST_CELLS,
    AllMarginals,
    CodedQuery,
    ListedMarginals,
    marginals,
)

if TYPE_CHECKING:  # handed in
    from discreet.session.session import Session

_HOPELESS: Final = 0.5
_WORKLOADS: Final = {AllMarginals, ListedMarginals, ListedCounts, AllRanges}


def plan_synthesis(  # noqa: PLR0913  what is made, how, and what it may cost
    session: Session,
    source: str | Rows,
    *,
    columns: Sequence[str] | None = None,
    workload: Workload | None = None,
    method: Method | None = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
    rho: Number | None = None,
    bins: int | QuantileBins | Mapping[str, Bins] = BINS,
    constraints: Sequence[Constraint] = (),
    limits: QuestionLimits | None = None,
    size: int | None = None,
    max_cells: int = MOST_CELLS,
    anyway: bool = False,
) -> SynthesisPlan:
    """Plan a synthetic table: what is measured, how exactly, at what price; nothing is spent.

    Args:
        session: the session whose table it is about.
        source: the name of a table, or rows as ``discreet.query.table("visits").where(...)``.
        columns: which columns it has; all of a table but those that name the unit, by default.
        workload: what it is to get right, such as ``discreet.synthetic.marginals(2)``.
        method: how it is made; ``discreet.synthetic.AIM()`` by default.
        epsilon: what it may cost, with a delta unless the method has a pure price.
        delta: the chance with which the promise may fail.
        rho: the price in zero-concentrated privacy, in place of epsilon.
        bins: how many bins numbers have, for all columns or by name.
        constraints: public statements, as ``forbid`` and ``determines`` make them.
        limits: ``discreet.limits(max_rows=..., max_groups=...)``, in place of the policy's.
        size: roughly how many rows there are, for the predicted error; never read from data.
        max_cells: how many cells a marginal of the workload may have.
        anyway: whether to go on where single columns are predicted to be mostly noise.
    """
    whole(max_cells, name="max_cells", low=1)
    question = question_of_rows(session, source, columns, limits)
    given = PriceArguments(epsilon=epsilon, delta=delta, rho=rho, size=size)
    ask = read_requested_price(question, session.policy.limits, given)
    chosen = method or AIM()
    left = session.remaining
    budget = session.policy.budget if left is None else left.budget
    if isinstance(chosen, AIM | MST):
        ask = with_budget_delta(ask, budget)
    if not session.test_mode:
        check_requested_price(ask, session.policy.limits)
    rows = session.program_rows(question)
    domain, bought = domain_of(session, rows, bins)
    _check_known(chosen, workload, constraints)
    request = joint_request(rows, domain if bought is None else bought.fine)
    stated, rho = tuple(constraints), rho_asked(ask, budget)
    zeros = impossible(domain, stated)
    asked = (workload or _default_workload(domain)).compiled(domain, max_cells)
    if bought is not None:
        _check_public_codes(domain, bought, zeros, asked.queries)
    task = Task(
        domain=domain.coded,
        workload=asked,
        zeros=zeros,
        moves=UnitMoves(moved_by(request), session.unit),
        rho=rho,
        epsilon=ask.epsilon if rho is None else None,
    )
    schedule = chosen.schedule(task)
    draw = SyntheticDraw(
        domain=domain,
        constraints=stated,
        method=chosen,
        task=task,
        schedule=schedule,
        bought=bought,
    )
    program = synthesis_program(rows, request, draw, ask.delta or None)
    plan = SynthesisPlan(
        table=source if isinstance(source, str) else "rows",
        domain=domain,
        workload=task.workload,
        constraints=stated,
        method=chosen,
        unit=session.unit,
        moves=task.moves.rows,
        rounds=schedule.rounds,
        noise=schedule.deviation,
        one_way=column_errors(domain, chosen, schedule, ask.size),
        size=ask.size,
        price=program.price,
        delta=program.delta,
        confidence=ask.confidence,
        promises=rows.promises,
        program=program,
        seconds=work_seconds(task, schedule.rounds) if isinstance(chosen, AIM) else 0.0,
        budget_preview=session.preview(program),
    )
    if not anyway:
        _check_hope(plan)
    return plan


def synthesize(session: Session, plan: SynthesisPlan, *, confirm: bool = False) -> SyntheticRelease:
    """Make a synthetic table as planned: charge, read once, measure, record.

    Made again, it is the same evidence, for free.

    Args:
        session: the session that planned it.
        plan: what ``plan_synthesis`` has returned.
        confirm: whether an epsilon above 10 is meant.
    """
    if not isinstance(plan, SynthesisPlan):
        raise WrongKind(
            what=f"a {type(plan).__name__} is no plan of a synthetic table.",
            why="a plan has its price, which can be looked at before it is paid.",
            do="plan it first: discreet.plan_synthesis(session, 'visits', epsilon=1, delta=1e-9).",
        )
    stored = session.perform(plan.program, confirm=confirm)
    return SyntheticRelease.of(
        plan,
        read(stored.answer),
        receipt=stored.receipt,
        replayed=stored.replayed,
        private=not session.test_mode,
    )


def _check_known(method: object, workload: object, constraints: Sequence[Constraint]) -> None:
    """Refuse code from elsewhere: a method holds the data in its hands while it runs."""
    known = type(method) in METHODS.values()
    known = known and (workload is None or type(workload) in _WORKLOADS)
    known = known and isinstance(constraints, list | tuple)
    if not known or any(type(each) not in {Forbidden, Determined} for each in constraints):
        raise WrongKind(
            what="a method, a workload or a constraint is none of this package.",
            why="a method measures data while it runs, and what it claims to cost is believed.",
            do="use dp.synthetic.AIM(), MST(), MWEM(), DualQuery() or Independent(); "
            "marginals(...), marginals_of(...), counts_of(...) or all_ranges(...); forbid(...) and "
            "determines(...).",
        )


def _check_public_codes(
    domain: Domain,
    bought: BoughtBins,
    zeros: Sequence[ImpossibleCells],
    queries: Sequence[CodedQuery],
) -> None:
    """Refuse constraints and queries on codes that are found in the data, once they are paid."""
    found = {place for place, _ in bought.wanted}
    named = found & {c for zero in zeros for c in zero.marginal}
    counted = found & {column for query in queries for column, _ in query}
    if named or counted:
        what = "a constraint" if named else "a query"
        raise WrongKind(
            what=f"{what} names column {domain.columns[min(named or counted)].name}, whose bins "
            "are bought.",
            why="which combinations it is about would depend on where the data has its quantiles.",
            do=f"give the column public bins, such as bins=32, or leave {what} out.",
        )


def _default_workload(domain: Domain) -> AllMarginals:
    return marginals(min(2, len(domain.columns)))


def _check_hope(plan: SynthesisPlan) -> None:
    worst = max(plan.one_way or (("", 0.0),), key=lambda pair: pair[1])
    if worst[1] > _HOPELESS:
        raise OutOfRange(
            what=f"column {worst[0]} alone would be off by {100 * worst[1]:.0f} % of all rows.",
            why="at this price noise is larger than what is measured; nothing was spent.",
            do="pay more, use fewer columns, categories or bins; or go on with anyway=True.",
        )
