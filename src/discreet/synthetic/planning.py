"""The doors: plan a synthetic table, and have it made.

Trust: kernel.  Planning reads nothing private and spends nothing; synthesis is one program of the
session, charged before a row is read and recorded before any release.

The request of a call: the question, the domain and the price of a synthetic table.

Everything comes from the arguments, the schema and the policy.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from discreet.accounting import Budget
from discreet.errors import OutOfRange, WrongKind
from discreet.exact import whole
from discreet.loss import ZeroConcentrated
from discreet.mechanisms.mechanism import Number
from discreet.plan.pricing.requested_price import (
    PriceArguments,
    RequestedPrice,
    check_requested_price,
    read_requested_price,
)
from discreet.plan.statistics.limit_choice import QuestionLimits
from discreet.query.builder import Rows
from discreet.query.expressions import Aggregate, Column
from discreet.query.question import Question
from discreet.query.relations import Relation, Table, folded
from discreet.query.types import Type
from discreet.requests.table_schema import TableFacts
from discreet.session.programs import ProgramRows
from discreet.synthetic.bins import FINE, Bins, BoughtBins, QuantileBins, read_bins
from discreet.synthetic.constraints import Constraint, Determined, Forbidden, impossible
from discreet.synthetic.domain import BINS, CodedColumn, Domain, NumberBins, coded_column
from discreet.synthetic.evidence import read
from discreet.synthetic.inference.inference import ImpossibleCells
from discreet.synthetic.joint import UnitMoves, joint_request, moved_by
from discreet.synthetic.methods.aim import AIM, work_seconds
from discreet.synthetic.methods.method import Method, Task
from discreet.synthetic.methods.mst import MST
from discreet.synthetic.program import METHODS, SyntheticDraw, synthesis_program
from discreet.synthetic.release import SyntheticRelease
from discreet.synthetic.report.error_report import column_errors
from discreet.synthetic.synthesis_plan import SynthesisPlan
from discreet.synthetic.workload import (
    MOST_CELLS,
    AllMarginals,
    AllRanges,
    CodedQuery,
    ListedCounts,
    ListedMarginals,
    Workload,
    marginals,
)

if TYPE_CHECKING:  # handed in
    from discreet.session.session import Session

_HOPELESS: Final = 0.5
_WORKLOADS: Final = {AllMarginals, ListedMarginals, ListedCounts, AllRanges}


def plan_synthesis(  # noqa: PLR0913  the table, the method, and its price
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
    """Plan a synthetic table: its measurements, their accuracy and price; nothing is spent.

    Args:
        session: the session whose table it is about.
        source: the name of a table, or rows as ``discreet.query.table("visits").where(...)``.
        columns: which columns it has; all of a table but those that name the unit, by default.
        workload: what it is to get right, such as ``discreet.synthetic.marginals(2)``.
        method: how it is made; ``discreet.synthetic.AIM()`` by default.
        epsilon: what it may cost, with a delta unless the method has a pure price.
        delta: the probability with which the promise may fail.
        rho: the price in zero-concentrated privacy, in place of epsilon.
        bins: how many bins numbers have, for all columns or by name.
        constraints: public statements, as ``forbid`` and ``determines`` make them.
        limits: ``discreet.limits(max_rows=..., max_groups=...)``, in place of the policy's.
        size: roughly how many rows there are, for the predicted error; never read from data.
        max_cells: how many cells a marginal of the workload may have.
        anyway: whether to go on if single columns are predicted to be dominated by noise.
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
    stated, rho = tuple(constraints), rho_asked(ask)
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
        equal_rows=request.totals[0].most,
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
            f"a {type(plan).__name__} is not a plan of a synthetic table; plan it first: "
            "discreet.plan_synthesis(session, 'visits', epsilon=1, delta=1e-9)."
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
            "a method, a workload or a constraint is none of this package; use dp.synthetic.AIM(), "
            "MST(), MWEM(), DualQuery() or Independent(); marginals(...), marginals_of(...), "
            "counts_of(...) or all_ranges(...); forbid(...) and determines(...)."
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
            f"{what} names column {domain.columns[min(named or counted)].name}, whose bins are "
            f"bought; give the column public bins, such as bins=32, or leave {what} out."
        )


def _default_workload(domain: Domain) -> AllMarginals:
    return marginals(min(2, len(domain.columns)))


def _check_hope(plan: SynthesisPlan) -> None:
    worst = max(plan.one_way or (("", 0.0),), key=lambda pair: pair[1])
    if worst[1] > _HOPELESS:
        raise OutOfRange(
            f"column {worst[0]} alone would be off by {100 * worst[1]:.0f} % of all rows; pay "
            "more, use fewer columns, categories or bins; or go on with anyway=True."
        )


if TYPE_CHECKING:  # handed in
    from discreet.session.session import Session

_HALVINGS: Final = 60


def question_of_rows(
    session: Session,
    source: object,
    columns: Sequence[str] | None,
    limits: QuestionLimits | None,
) -> Question:
    """Return the question whose groups are the rows of the synthetic table."""
    if columns is not None and not all(isinstance(name, str) for name in columns):
        raise WrongKind("columns are not given by their names; write columns=['ward', 'age'], say.")
    if not isinstance(limits, QuestionLimits | None):
        raise WrongKind(
            f"a {type(limits).__name__} is not a limit; write limits=discreet.limits(max_rows=5, "
            "max_groups=2), say."
        )
    if isinstance(source, str):
        session.table(source)  # refuses unknown names
        relation: Relation = Table(source)
        names = _names(session.schema.table(source), columns)
    elif isinstance(source, Rows):
        relation, names = source.relation(), tuple(columns or ())
    else:
        raise WrongKind(
            f"a {type(source).__name__} is not a table; give the name of a table, or "
            "discreet.query.table('visits').where('age >= 18')."
        )
    if not names or isinstance(columns, str) or len({*map(folded, names)}) != len(names):
        raise WrongKind(
            "no columns are given, or one of them twice; write columns=['ward', 'age'], say."
        )
    question = Question(
        relation=relation,
        keys=tuple((name, Column(name)) for name in names),
        outputs=(("rows", Aggregate("COUNT")),),
    )
    return question if limits is None else limits.applied(question)


def _names(facts: TableFacts | None, columns: Sequence[str] | None) -> tuple[str, ...]:
    """Return the columns of a table that are asked for, as the schema spells them."""
    if facts is None:
        return tuple(columns or ())
    own = {folded(name) for name in facts.unit}
    if columns is None:
        linked = set() if facts.link is None else {folded(facts.link.column)}
        return tuple(each.name for each in facts.columns if folded(each.name) not in own | linked)
    for name in columns:
        if folded(name) in own:
            raise WrongKind(
                f"column {name} names the unit; leave it out: the table has fresh numbers in its "
                "place."
            )
    found = ((name, facts.column(name)) for name in columns)
    return tuple(name if known is None else known.name for name, known in found)


def domain_of(
    session: Session, rows: ProgramRows, bins: int | QuantileBins | Mapping[str, Bins]
) -> tuple[Domain, BoughtBins | None]:
    """Return the domain from declared facts, and the columns whose bins are to be bought."""
    keys = rows.bound.keys
    names = tuple(key.key.name for key in keys)
    chosen = read_bins(bins, names)
    columns: list[CodedColumn] = []
    fine: list[CodedColumn] = []
    wanted: list[tuple[int, QuantileBins]] = []
    for place, key in enumerate(keys):
        asked = chosen.get(key.key.name.casefold(), BINS)
        count = asked.count if isinstance(asked, QuantileBins) else asked
        column = coded_column(key.key.name, key.facts, count)
        columns.append(column)
        if isinstance(asked, QuantileBins) and isinstance(column.coding, NumberBins):
            wide = coded_column(key.key.name, key.facts, FINE)
            if wide.coding.size > asked.count:
                fine.append(wide)
                wanted.append((place, asked))
                continue
        fine.append(column)
    fresh = _fresh(session, rows)
    domain = Domain(tuple(columns), fresh)
    bought = BoughtBins(Domain(tuple(fine), fresh), tuple(wanted)) if wanted else None
    return domain, bought


def _fresh(session: Session, rows: ProgramRows) -> tuple[tuple[str, Type], ...]:
    """Return the columns that name the unit, which get fresh numbers."""
    facts, columns = rows.bound.rows.facts, rows.bound.rows.unit or ()
    pairs = zip(session.unit.columns, columns, strict=True)
    return tuple((name, facts[column].type) for name, column in pairs)


def with_budget_delta(ask: RequestedPrice, budget: Budget | None) -> RequestedPrice:
    """Return a price in epsilon with the delta that a budget promises, if it names none."""
    promise = None if budget is None else budget.promise
    if promise is None or ask.epsilon is None or ask.delta:
        return ask
    return replace(ask, delta=promise.delta_bound)


def rho_asked(ask: RequestedPrice) -> Fraction | None:
    """Return the largest rho, nearly, that is proved to keep the price; None if it is pure."""
    if ask.rho is not None or ask.epsilon is None:
        return ask.rho
    return rho_within(ask.epsilon, ask.delta) if ask.delta else None


def rho_within(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return the largest rho, nearly, whose zero-concentrated loss keeps epsilon and delta.

    >>> round(float(rho_within(Fraction(1), Fraction(1, 10**9))), 5)
    0.01497
    """
    low, high = Fraction(0), epsilon
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        fits = Fraction(ZeroConcentrated(rho=middle).epsilon(delta=delta)) <= epsilon
        low, high = (middle, high) if fits else (low, middle)
        if low and high - low < low / (1 << 20):
            break
    if not low:
        raise OutOfRange(
            "the price is too small for any zero-concentrated loss; ask with a larger epsilon or "
            "delta."
        )
    return Fraction(low.numerator * (1 << 64) // low.denominator, 1 << 64) or low
