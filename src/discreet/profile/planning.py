"""The doors: plan a profile for free, and buy it.

Trust: kernel.  Planning reads nothing private; a profile is one program of the session, charged
before a row is read and recorded before it is released.  Bought again, it is the same for free.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from statistics import NormalDist, median
from typing import TYPE_CHECKING, Any, Final, final

from discreet.doors import Explainable
from discreet.errors import OutOfRange, TooNoisy, WrongKind
from discreet.extend import (
    ROWS,
    AskedPrice,
    Branch,
    BudgetPreview,
    DistinctCount,
    EngineRequest,
    KeyColumn,
    Leaves,
    Measure,
    Price,
    PriceArguments,
    Program,
    ProgramRows,
    Total,
    check_requested_price,
    check_text_work,
    html_of,
    plan_text,
    read_requested_price,
    refuse_ruled,
    rows_question,
    shown_price,
)
from discreet.profile.columns import ProfiledColumn
from discreet.profile.measuring import (
    DISTINCT,
    PEOPLE,
    ProfileDraw,
    Schedule,
    schedule_of,
    sum_name,
)
from discreet.profile.report import Profile
from discreet.profile.tree import rank_deviation
from discreet.query import Call, Literal, Table, Type, folded
from discreet.units import PrivacyUnit, describe_unit

if TYPE_CHECKING:  # handed in
    from discreet.session import Session

_MOST_COLUMNS: Final = 1000
_BLIND: Final = 0.25
"""A rank that is further off, as a share of the rows, says nothing about a quartile."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ForecastLine:
    """How far the numbers of a column will be off, in rows, at the confidence of the plan."""

    column: str
    about: str
    rows: float


@final
@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ProfilePlan(Explainable):
    """What a profile will measure, what it costs, and how exact it will be.

    ``forecast`` has a line for each column: by how many rows the rank of a quartile, the count of a
    category, or the smallest category that is shown may be off.  ``size`` is about how many rows
    there are; None if that is not public.
    """

    table: str
    columns: tuple[ProfiledColumn, ...]
    schedule: Schedule
    unit: PrivacyUnit
    rows: int
    price: Price
    confidence: Fraction
    size: int | None
    program: Program
    budget_preview: BudgetPreview | None = field(default=None, compare=False)

    @property
    def digest(self) -> str:
        """The name under which it is on record."""
        return self.program.digest

    @property
    def forecast(self) -> tuple[ForecastLine, ...]:
        """How exact each column will be; it follows from noise alone."""
        reach = _reach(self.confidence)
        lines = []
        for column in self.columns:
            deviation = self.schedule.deviation(sum_name(column))
            if column.scale is not None:
                rank = reach * deviation * rank_deviation(column.scale.levels)
                lines.append(ForecastLine(column=column.name, about="quartiles", rows=rank))
            elif column.listed is not None:
                far = reach * deviation
                lines.append(ForecastLine(column=column.name, about="categories", rows=far))
            elif self.schedule.keys is not None:
                least = float(self.schedule.keys.smallest(self.confidence))
                lines.append(ForecastLine(column=column.name, about="categories from", rows=least))
            else:
                far = reach * deviation
                lines.append(ForecastLine(column=column.name, about="share of NULL", rows=far))
        return tuple(lines)

    @property
    def errors(self) -> dict[str, float]:
        """By how much other numbers may be off, at the confidence."""
        reach, sums = _reach(self.confidence), self.schedule.sums.sums
        return {
            each.name: reach
            * self.schedule.deviation(each.name)
            / (self.rows if each.name == PEOPLE else 1)
            for each in sums
            if each.name in {ROWS, PEOPLE, DISTINCT}
        }

    def to_dict(self) -> dict[str, Any]:
        """Return what it says in plain JSON."""
        return {
            "table": self.table,
            "digest": self.digest,
            "price": shown_price(self.price),
            "confidence": str(self.confidence),
            "errors": self.errors,
            "columns": [
                {"name": line.column, "about": line.about, "rows": line.rows}
                for line in self.forecast
            ],
            "text": str(self),
        }

    def __repr__(self) -> str:
        """Show the table and the price on one line."""
        return f"<plan of a profile of {self.table}; costs {shown_price(self.price)}>"

    def __str__(self) -> str:
        """Show everything that will happen, as a tree of lines."""
        return plan_text(self._branches())

    def _repr_html_(self) -> str:
        return html_of(self._branches())

    def _branches(self) -> Branch:
        counted = [f"{name} ± {error:,.0f}" for name, error in self.errors.items()]
        lines = [Branch(self._line(line)) for line in self.forecast]
        notes = []
        if self.size is None:
            notes.append(
                Branch("errors as shares of rows: give size, about how many rows there are")
            )
        if self.schedule.keys is None and any(column.found for column in self.columns):
            notes.append(Branch("text without declared categories shows none: it takes a delta"))
        if self.budget_preview is not None:
            notes += map(Branch, [str(self.budget_preview), *self.budget_preview.notes])
        kept = "1 row" if self.rows == 1 else f"{self.rows} rows"
        return Branch(
            f"profile of {self.table}",
            (
                Branch(f"protects {describe_unit(self.unit)}, with up to {kept} in each column"),
                Branch(f"measures {', '.join(counted)}"),
                Branch(
                    f"measures {len(self.columns)} columns, with errors at confidence "
                    f"{float(self.confidence):g}",
                    tuple(lines),
                ),
                Branch(f"costs {shown_price(self.price)}, for everything together"),
                *notes,
            ),
        )

    def _line(self, line: ForecastLine) -> str:
        share = "" if self.size is None else f", {100 * line.rows / self.size:.2g} %"
        if line.about == "categories from":
            return f"{line.column}: categories from about {line.rows:,.0f} rows on{share}"
        rank = "ranks of quartiles" if line.about == "quartiles" else line.about
        return f"{line.column}: {rank} ± {line.rows:,.0f} rows{share}"


def plan_profile(  # noqa: PLR0913  the table, and its price
    session: Session,
    table: str | None = None,
    *,
    columns: Sequence[str] | None = None,
    epsilon: object = None,
    delta: object = None,
    rho: object = None,
    size: int | None = None,
    confidence: object = None,
) -> ProfilePlan:
    """Plan a profile: what is measured, how exact it is and what it costs; nothing is spent.

    Args:
        session: the session whose table it is about.
        table: the name of a table; the only private one, if there is one.
        columns: which columns; all but those that name the unit, by default.
        epsilon: what all of it may cost; with the delta of the budget unless one is given.
        delta: the probability with which the promise may fail.
        rho: the price in zero-concentrated privacy, in place of epsilon.
        size: roughly how many rows there are, for forecasts as shares; never read from data.
        confidence: the probability with which errors are not exceeded.
    """
    refuse_ruled(session.policy, "a profile")
    name, names = _named(session, table, columns)
    question = rows_question(Table(name), names)
    given = PriceArguments(
        epsilon=epsilon,  # type: ignore[arg-type]  # read and refused there
        delta=delta,  # type: ignore[arg-type]
        rho=rho,  # type: ignore[arg-type]
        size=size,
        confidence=confidence,  # type: ignore[arg-type]
    )
    ask = read_requested_price(question, session.policy.limits, given)
    left = session.remaining
    budget = session.policy.budget if left is None else left.budget
    promise = None if budget is None else budget.promise
    if promise is not None and ask.epsilon is not None and not ask.delta:
        ask = replace(ask, delta=promise.delta_bound)
    if not session.test_mode:
        check_requested_price(ask, session.policy.limits)
    asked = AskedPrice(epsilon=ask.epsilon, delta=ask.delta or None, rho=ask.rho)
    rows = session.program_rows(question)
    most = rows.contributions.most_rows(None)
    groups = min(rows.contributions.groups, most)
    profiled = tuple(
        ProfiledColumn.of(name, key.facts) for name, key in zip(names, rows.bound.keys, strict=True)
    )
    schedule = schedule_of(profiled, asked, unit=session.unit, rows=most, groups=groups)
    draw = ProfileDraw(
        columns=profiled,
        asked=asked,
        schedule=schedule,
        unit=session.unit,
        rows=most,
        groups=groups,
        reach=round(_reach(ask.confidence), 6),
    )
    reads = tuple(_requests(rows, draw))
    program = Program.of(rows, unit=session.unit, reads=reads, delta=asked.delta, draw=draw)
    facts = session.schema.table(name)
    public = None if facts is None or facts.size is None else facts.size.rows
    return ProfilePlan(
        table=name,
        columns=profiled,
        schedule=schedule,
        unit=session.unit,
        rows=most,
        price=program.price,
        confidence=ask.confidence,
        size=ask.size or public,
        program=program,
        budget_preview=session.preview(program),
    )


def profile(
    session: Session, plan: ProfilePlan | str | None = None, *, confirm: bool = False, **price: Any
) -> Profile:
    """Buy a profile: charge, read, measure, record.

    Args:
        session: the session whose table it is about.
        plan: what ``plan_profile`` has returned; or a table, with what ``plan_profile`` takes.
        confirm: whether an epsilon above 10 is meant, or a profile that is dominated by noise.
        price: epsilon, rho, delta and the like, as in ``plan_profile``.
    """
    if not isinstance(plan, ProfilePlan):
        plan = plan_profile(session, plan, **price)
    elif price:
        raise WrongKind("a plan has its price: give the plan alone, or plan anew.")
    if not (confirm or session.test_mode):
        _refuse_unreadable(plan)
    stored = session.perform(plan.program, confirm=confirm)
    return Profile.of(
        stored.answer,
        table=plan.table,
        columns=plan.columns,
        price=shown_price(plan.price),
        confidence=plan.confidence,
        errors={name: math.ceil(error) for name, error in plan.errors.items()},
        column_errors=[math.ceil(line.rows) for line in plan.forecast],
        receipt=None if stored.receipt is None else str(stored.receipt),
        replayed=stored.replayed,
        private=not session.test_mode,
    )


def _refuse_unreadable(plan: ProfilePlan) -> None:
    """Refuse to charge for a profile dominated by noise, if the size of the table is public."""
    answered = plan.budget_preview is not None and plan.budget_preview.entry is not None
    if plan.size is None or answered:
        return
    share = median(line.rows for line in plan.forecast) / plan.size
    if share > _BLIND:
        raise TooNoisy(
            what=f"half of the columns would be off by {share:.0%} of the rows or more.",
            why="the profile would be paid for and could not be read; nothing was spent.",
            do="name fewer columns, or pay more; confirm=True asks anyway.",
        )


def _named(
    session: Session, table: str | None, columns: Sequence[str] | None
) -> tuple[str, tuple[str, ...]]:
    """Return the table and the columns of a profile, as the schema spells them."""
    if table is None:
        private = [each.name for each in session.schema.tables if not each.public]
        if len(private) != 1:
            raise WrongKind(f"name a table: {', '.join(private)}.")
        table = private[0]
    session.table(table)  # refuses unknown names
    facts = session.schema.table(table)
    assert facts is not None  # noqa: S101  (it is known)
    hidden = {folded(name) for name in facts.unit}
    hidden |= set() if facts.link is None else {folded(facts.link.column)}
    shown = {folded(c.name): c.name for c in facts.columns if folded(c.name) not in hidden}
    if columns is None:
        names = tuple(shown.values())
    else:
        unknown = [name for name in columns if folded(str(name)) not in shown]
        if unknown or isinstance(columns, str):
            raise WrongKind(
                f"columns must be names of columns of {facts.name} that do not name the unit: "
                f"{', '.join(shown.values())}."
            )
        names = tuple(dict.fromkeys(shown[folded(name)] for name in columns))
    if not 0 < len(names) <= _MOST_COLUMNS:
        raise OutOfRange(f"a profile has 1 to {_MOST_COLUMNS} columns; name them with columns=.")
    return facts.name, names


def _requests(rows: ProgramRows, draw: ProfileDraw) -> list[EngineRequest]:
    """Return one request about all rows, and one for each column whose categories are found."""
    measures: list[Measure] = [Total(name=ROWS, row=Literal(1), low=0, high=draw.rows)]
    if draw.unit.columns:
        measures.append(Total(name=PEOPLE, row=Literal(1), low=0, high=1))
    found: list[EngineRequest] = []
    for place, (column, key) in enumerate(zip(draw.columns, rows.bound.keys, strict=True)):
        value = key.key.expression
        measures.append(
            Leaves(
                name=f"leaves {place}",
                row=column.expression(value),
                leaves=column.size,
                rows=draw.rows,
            )
        )
        if column.listed is None:
            name = f"{DISTINCT} of {place}"
            measures.append(DistinctCount(name=name, expression=value, most=draw.rows))
        if column.found and draw.schedule.keys is not None:
            found.append(
                rows.request(
                    keys=(KeyColumn("value", value, Type.TEXT),),
                    measures=(
                        Total(name=ROWS, row=Literal(1), low=0, high=draw.rows // draw.groups),
                    ),
                    conditions=(Call("NOT", (Call("IS NULL", (value,)),)),),
                    groups=draw.groups,
                )
            )
    requests = [rows.request(keys=(), measures=tuple(measures), groups=1), *found]
    for request in requests:
        check_text_work(request)
    return requests


def _reach(confidence: Fraction) -> float:
    """Return how many deviations of normal noise an error reaches."""
    return math.fabs(NormalDist().inv_cdf((1 - float(confidence)) / 2))
