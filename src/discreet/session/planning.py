"""Planning in a session: whatever can be refused is refused here, and nothing is spent.

Trust: kernel.  Only public tables may be read here, because no noise is added.

By the theorem ``unit-local``, a join with a public table does not multiply rows if the columns that
it compares are a key of that table.  The owner declares the key; since anybody may see the table,
the declaration is checked.

Only plans made by this session are carried out.  A plan from elsewhere may rest on other bounds,
another unit or another policy, and would be answered for less than it costs here.

Noise of several draws of one total averages out (key ``inverse-variance``); each draw is paid for.
Draws of different data, or of totals with other bounds, say nothing about each other: combining
them is refused before another one is charged, and so is a draw that would change nothing.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from types import ModuleType
from typing import TYPE_CHECKING, Final, TypeAlias, final

from discreet.accounting import Left
from discreet.accounting.amounts import format_down
from discreet.engines.engine import Engine
from discreet.engines.hash_order import HashOrder
from discreet.errors import BadPolicy, LedgerError, NotPerUnit, UnsupportedSQL, WrongKind
from discreet.plan.binding.bound_question import BoundQuestion, bind_question
from discreet.plan.plan import BudgetPreview, Plan
from discreet.plan.policy.policy import Policy
from discreet.plan.steps import plan as plan_question
from discreet.query.expression_types import columns
from discreet.query.expressions import Call, Column, conjuncts
from discreet.query.question import Question
from discreet.query.relations import Join, Relation, Scan, descend, folded
from discreet.query.types import Type
from discreet.requests.engine_request import EngineRequest, KeyColumn, KeyValue
from discreet.requests.raw_totals import RawTotals
from discreet.requests.table_schema import Schema, TableFacts
from discreet.units import PrivacyUnit

if TYPE_CHECKING:  # a ledger is handed in; a plain question has one stage
    from discreet.ledger.ledger import Ledger
    from discreet.plan.bounds_search import FoundBounds
    from discreet.plan.steps import SecondStage
    from discreet.release.noisy_totals import Noisy
    from discreet.release.release import Release
    from discreet.session.answer_pipeline import Payable
    from discreet.session.inquiry import PriceOptions

Rows: TypeAlias = Sequence[tuple[KeyValue, ...]]


_MOST_PUBLIC_ROWS: Final = 10**8
"""How many rows a join of public tables may have while a question is planned."""


class PublicTableReader:
    """Reads the distinct rows of relations over public tables alone."""

    __slots__ = ("_engine", "_keys", "_public")

    def __init__(self, engine: Engine, schema: Schema) -> None:
        """Take the engine, and which tables are public."""
        self._engine = engine
        self._public = {folded(table.name) for table in schema.tables if table.public}
        self._keys = {folded(table.name): table.key for table in schema.tables}

    def __call__(self, relation: Relation) -> Rows:
        """Return the distinct rows, sorted."""
        scans = (node for node in descend(relation) if isinstance(node, Scan))
        if not all(folded(scan.table) in self._public for scan in scans):
            raise NotPerUnit(
                what="a private table stands where only public ones may.",
                why="its rows would be shown without noise.",
                do="list groups from public tables alone.",
            )
        if self._most_rows(relation) > _MOST_PUBLIC_ROWS:
            raise UnsupportedSQL(
                what="public tables are joined to more rows than planning reads.",
                why=f"the product of their sizes is above {_MOST_PUBLIC_ROWS:,}; plans are free.",
                do="join fewer of them, or by columns that the policy declares as their keys.",
            )
        raw = self.counted(relation)
        return list(zip(*(column.to_pylist() for column in raw.keys), strict=True))

    def _most_rows(self, relation: Relation) -> int:
        """Bound the rows of a relation by the sizes of its tables (T1); one table is not bounded.

        A join by the key of its right side adds no row; any other may lead to the product.
        """
        if not any(isinstance(node, Join) for node in descend(relation)):
            return 0
        return self._bound(relation)

    def _bound(self, relation: Relation) -> int:
        match relation:
            case Scan():
                first = Scan(relation.table, relation.columns[:1])
                return max(1, int(sum(self.counted(first).units)))
            case Join():
                left, right = self._bound(relation.left), self._bound(relation.right)
                return left + right if self._by_key(relation) else left * right
            case _:
                return sum(map(self._bound, relation.children())) or 1

    def _by_key(self, join: Join) -> bool:
        """Say whether each row on the left meets at most one on the right."""
        if not isinstance(join.right, Scan) or join.on is None:
            return False
        key = {folded(name) for name in self._keys.get(folded(join.right.table), ())}
        met = {
            folded(part.name)
            for each in conjuncts(join.on)
            if isinstance(each, Call) and each.function == "="
            for part in each.arguments
            if isinstance(part, Column)
        }
        return bool(key) and key <= met

    def counted(self, relation: Relation) -> RawTotals:
        """Count how often each row occurs."""
        keys = tuple(KeyColumn(name, Column(name), kind) for name, kind in columns(relation))
        lowered = EngineRequest(relation=relation, unit=(), keys=keys, groups=None, measures=())
        return self._engine.run(lowered, order=HashOrder(salt=0))


def check_keys(engine: Engine, schema: Schema) -> None:
    """Refuse public tables in which two rows agree on their declared key."""
    reader = PublicTableReader(engine, schema)
    for table in schema.tables:
        if table.public and table.key:
            raw = reader.counted(_scan(table))
            whole = [
                None not in row for row in zip(*(c.to_pylist() for c in raw.keys), strict=True)
            ]
            if any(count > 1 and known for count, known in zip(raw.units, whole, strict=True)):
                raise BadPolicy(
                    what=f"table {table.name}: two of its rows agree on its key.",
                    why="a join with it could multiply the rows of a person.",
                    do="declare columns that tell all rows apart, or mend the table.",
                )


def _scan(table: TableFacts) -> Scan:
    columns_of_key = [column for name in table.key if (column := table.column(name)) is not None]
    if any(column.type is Type.FLOAT for column in columns_of_key):
        raise BadPolicy(
            what=f"table {table.name}: a column of its key is a float.",
            why="nearly equal numbers do not tell rows apart.",
            do="declare whole numbers or texts as the key.",
        )
    return Scan(table.name, tuple((column.name, column.type) for column in columns_of_key))


_KEPT: Final = 256


@final
class PlanRegistry:
    """The last few hundred plans of a session."""

    __slots__ = ("_lock", "_plans")

    def __init__(self) -> None:
        """Begin with none."""
        self._lock = threading.Lock()
        self._plans: OrderedDict[object, Plan] = OrderedDict()

    def keep(self, plan: Plan) -> None:
        """Remember a plan."""
        with self._lock:
            self._plans[_name(plan)] = plan
            self._plans.move_to_end(_name(plan))
            while len(self._plans) > _KEPT:
                self._plans.popitem(last=False)

    def checked(self, plan: Plan, price: tuple[object, ...]) -> Plan:
        """Return a plan as it was made here; refuse any other, or one given with a price."""
        if any(value is not None for value in price):
            raise WrongKind(
                what="a plan is given, and a price beside it.",
                why="a plan has its price.",
                do="ask for the plan alone, or plan the question anew.",
            )
        with self._lock:
            known = self._plans.get(_name(plan))
        if known is None or known != plan:
            raise WrongKind(
                what="this plan was not made by this session, or too long ago.",
                why="it may rest on other bounds, another unit or another policy.",
                do="plan the question with this session, and ask for that.",
            )
        return known


def _name(plan: Plan) -> object:
    """Return what tells plans apart: the digest, and how errors are shown."""
    return plan.digest, plan.confidence, plan.predicted


def check_combinable(
    before: Release, plan: Plan, *, ledger: str, sources: tuple[tuple[str, str], ...] | None
) -> None:
    """Refuse to combine an answer with a draw of another question, or of other data.

    ``sources`` are the states of the tables that another draw would be from; None if it is on
    record, and its own states are compared when the two are combined.
    """
    if before.receipt is None or before.receipt.ledger != ledger:
        raise WrongKind(
            what="the answer was not recorded by this ledger.",
            why="it may be about other people.",
            do="remeasure an answer of this session, or ask the question anew.",
        )
    old = before.plan
    if plan.having_threshold is not None:
        raise WrongKind(
            what="groups that did not reach the threshold have no number to be averaged.",
            why="a mean of only those that reached it would say more than is there.",
            do="ask the question anew, at a higher price.",
        )
    if not (old.request == plan.request and combination().combinable(old, plan) and before.parts):
        raise WrongKind(
            what="the answer cannot be combined with another draw.",
            why="it was computed under other bounds, or changed since.",
            do="remeasure an answer as it came, under the same policy; or ask the question anew.",
        )
    if sources is not None and before.sources != sources:
        raise WrongKind(
            what="the data may have changed since the answer was drawn.",
            why="draws from two states of the data say nothing of each other; nothing was spent.",
            do="ask the question anew at another price; to combine draws of several sessions, open "
            "files, or declare frozen = true for the table.",
        )
    if sources is not None:
        check_gains(before.parts, plan)


def check_gains(parts: Sequence[Noisy] | None, plan: Plan) -> None:
    """Refuse another draw that would be charged for and change nothing.

    ``parts`` are what was drawn before; None for one draw of the same plan, which is still to come.
    """
    if combination().gains(parts, plan):
        return
    raise WrongKind(
        what="another draw at this price would change nothing in the answer.",
        why="values that are chosen, as medians, quantiles and modes are, cannot be averaged: the "
        "choice with the higher price stays; and noise that is far larger than what there is "
        "gets no weight.  Nothing was spent on another draw.",
        do="ask the question anew at a higher price, or remeasure its answer at one.",
    )


def combination() -> ModuleType:
    """Return what combines answers, which is rare."""
    from discreet.release import combination as module  # noqa: PLC0415  rare

    return module


def budget_preview(plan: Payable, ledger: Ledger, account: str | None) -> BudgetPreview | None:
    """Look a plan up in a ledger as it stands now; None where that is not possible.

    What is left after it is about the units of its scope, and is what a charge would leave: a copy
    of the ledger's sums is charged.
    """
    try:
        stored = ledger.find(plan.digest)
        if stored is not None:
            return BudgetPreview(entry=stored.receipt.seq, fits=True, left="")
        left = ledger.left(plan.scope, account=account)
        after = fits_after(plan, left)
    except (LedgerError, WrongKind):
        return None
    if after is None:
        return BudgetPreview(entry=None, fits=False, left=_shown(left))
    notes = tuple(_notes(left, after))
    return BudgetPreview(
        entry=None,
        fits=True,
        left=_shown(after),
        notes=notes,
        part=after.share,
        more=how_many_more(plan, after),
    )


def _notes(left: Left, after: Left) -> Iterator[str]:
    """Say which route a plan closes for later questions, and whether it takes most of delta."""
    names, routes, limit = left.budget.components, left.budget.currency.routes, left.budget.limit
    for route in routes:
        was_open = all(left.amounts[at] for at in route)
        if was_open and any(after.spent[at] > limit[at] for at in route):
            others = " or ".join(names[other[0]] for other in routes if other != route)
            yield f"closes the route of {names[route[0]]}: later questions have to fit in {others}"
    if 2 * after.amounts[-1] < left.amounts[-1]:
        yield "takes more than half of the delta that is left"


def fits_after(plan: Payable, left: Left) -> Left | None:
    """Return what a plan leaves, None if it does not fit; a delta is spent only if it must be."""
    delta: Fraction | None = None
    try:
        fits = left.fitting(plan.tree, delta)
    except WrongKind:  # as for a charge
        delta = plan.delta
        fits = left.fitting(plan.tree, delta)
    return left.after(plan.tree, delta=delta) if fits(1) else None


def how_many_more(plan: Payable, left: Left) -> int:
    """Return how many such plans fit into what is left; a delta is spent only if it must be."""
    try:
        return left.how_many(plan.tree)
    except WrongKind:  # as for a charge
        return left.how_many(plan.tree, delta=plan.delta)


def _shown(left: Left) -> str:
    parts = zip(left.budget.components, left.amounts, left.budget.limit, strict=True)
    return ", ".join(
        f"{name} {format_down(have)} of {format_down(limit)}"
        for name, have, limit in parts
        if limit or name != "delta"
    )


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class SessionPlanner:
    """Makes the plans of a session; ``ceiling`` applies the policy's highest price."""

    engine: Engine
    schema: Schema
    policy: Policy
    unit: PrivacyUnit
    ceiling: bool

    def plan(
        self,
        question: Question,
        price: PriceOptions,
        *,
        found: tuple[FoundBounds, ...],
        concentrated: bool,
        own_delta: Callable[[], Fraction],
    ) -> Plan:
        """Plan a question, with bounds that were found for it before.

        ``concentrated`` says that the budget that pays is counted in something other than epsilon,
        and ``own_delta`` says what it lends to a question that needs a delta and has none.
        """
        return plan_question(
            question,
            schema=self.schema,
            policy=self.policy,
            unit=self.unit,
            public_rows=self._public_rows,
            found_bounds=found,
            concentrated=concentrated,
            own_delta=own_delta,
            ceiling=self.ceiling,
            **price,
        )

    def check(self, plan: Plan) -> None:
        """Refuse what the engine cannot do."""
        stages = [plan.request]
        if plan.search is not None:
            final, _ = self.second_stage(plan, plan.search.widest)
            stages = [plan.search.request, final.request]
        for lowered in stages:
            self.engine.check(lowered)

    def second_stage(self, plan: Plan, found: tuple[FoundBounds, ...]) -> SecondStage:
        """Plan the answer once bounds are found."""
        from discreet.plan.steps import plan_second_stage  # noqa: PLC0415  rare

        return plan_second_stage(
            plan, found, schema=self.schema, policy=self.policy, public_rows=self._public_rows
        )

    def bind(self, question: Question) -> BoundQuestion:
        """Bind the names of a question."""
        most = self.policy.limits.max_fan_out
        return bind_question(question, self.schema, self._public_rows, self.unit.columns, most)

    @property
    def _public_rows(self) -> PublicTableReader:
        return PublicTableReader(self.engine, self.schema)
