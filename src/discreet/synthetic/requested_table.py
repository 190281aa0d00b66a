"""What a call asks for: the question, the domain and the price of a synthetic table.

Trust: kernel.  Everything comes from the arguments, the schema and the policy.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from discreet.accounting import Budget
from discreet.accounting.amounts import amount_value
from discreet.errors import OutOfRange, WrongKind
from discreet.loss import ZeroConcentrated
from discreet.plan.pricing.requested_price import RequestedPrice
from discreet.plan.statistics.limit_choice import QuestionLimits
from discreet.query.builder import Rows
from discreet.query.expressions import Aggregate, Column
from discreet.query.question import Question
from discreet.query.relations import Relation, Table, folded
from discreet.query.types import Type
from discreet.requests.table_schema import TableFacts
from discreet.session.programs import ProgramRows
from discreet.synthetic.bins import FINE, Bins, BoughtBins, QuantileBins, read_bins
from discreet.synthetic.coded_columns import CodedColumn, NumberBins
from discreet.synthetic.domain import BINS, Domain, coded_column

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
        raise WrongKind(
            what="columns are not given by their names.",
            why="a synthetic table has columns of the private one.",
            do="write columns=['ward', 'age'], say.",
        )
    if not isinstance(limits, QuestionLimits | None):
        raise WrongKind(
            what=f"a {type(limits).__name__} is no limit.",
            why="limits say how many rows of a unit count, and in how many groups.",
            do="write limits=discreet.limits(max_rows=5, max_groups=2), say.",
        )
    if isinstance(source, str):
        session.table(source)  # refuses unknown names
        relation: Relation = Table(source)
        names = _names(session.schema.table(source), columns)
    elif isinstance(source, Rows):
        relation, names = source.relation(), tuple(columns or ())
    else:
        raise WrongKind(
            what=f"a {type(source).__name__} is no table.",
            why="a synthetic table is made of the rows of a private one.",
            do="give the name of a table, or discreet.query.table('visits').where('age >= 18').",
        )
    if not names or isinstance(columns, str) or len({*map(folded, names)}) != len(names):
        raise WrongKind(
            what="no columns are given, or one of them twice.",
            why="a synthetic table has each of its columns once.",
            do="write columns=['ward', 'age'], say.",
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
                what=f"column {name} names the unit.",
                why="nobody of a synthetic table exists, and it shows no names.",
                do="leave it out: the table has fresh numbers in its place.",
            )
    found = ((name, facts.column(name)) for name in columns)
    return tuple(name if known is None else known.name for name, known in found)


def domain_of(
    session: Session, rows: ProgramRows, bins: int | QuantileBins | Mapping[str, Bins]
) -> tuple[Domain, BoughtBins | None]:
    """Return the domain from declared facts, and in which columns bins are to be bought."""
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


def rho_asked(ask: RequestedPrice, budget: Budget | None = None) -> Fraction | None:
    """Return the largest rho, nearly, that is proved to keep the price; None where it is pure.

    All that a budget promises is its rho, so that a table may cost exactly the budget.
    """
    if ask.rho is not None or ask.epsilon is None:
        return ask.rho
    if not ask.delta:
        return None
    rho = rho_within(ask.epsilon, ask.delta)
    promise = None if budget is None else budget.promise
    if budget is None or promise is None or "rho" not in budget.components:
        return rho
    if ask.epsilon < promise.epsilon_bound or ask.delta < promise.delta_bound:
        return rho
    return min(rho, amount_value(budget.limit[budget.components.index("rho")]))


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
            what="the price is too small for any zero-concentrated loss.",
            why="noise for that price is wider than any number that can be shown.",
            do="ask with a larger epsilon or delta.",
        )
    return Fraction(low.numerator * (1 << 64) // low.denominator, 1 << 64) or low
