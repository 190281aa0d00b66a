"""A session: the counter where question, ledger, engine and noise meet.

Trust: kernel.  It is the only door to the data.

All possible refusals come before a charge: the question is read, bound, priced and printed for the
engine first.  Then one answer is paid for, drawn and recorded
(:mod:`discreet.session.answer_pipeline`).
Nothing that a session shows, raises or logs holds a value of a private table.
An engine belongs to the process that opened it: locks that another thread of the parent held amid a
fork are closed for ever in the child, which is refused.
"""

from __future__ import annotations

import importlib
import threading
from collections.abc import Mapping
from dataclasses import replace
from datetime import date
from fractions import Fraction
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, NoReturn, Self, Unpack, cast, final, overload

from discreet import query as queries
from discreet.accounting import Left
from discreet.doors import Labeled
from discreet.engines.engine import Engine
from discreet.errors import EngineStopped, LedgerError, UnknownName, WrongKind
from discreet.ledger.ledger import Ledger
from discreet.noise.entropy import process_stamp
from discreet.plan.expectation import expect
from discreet.plan.plan import Plan
from discreet.plan.policy.owner_rules import check_approved
from discreet.plan.policy.policy import Policy
from discreet.query.question import Question, with_other
from discreet.release.population import check_intervals, check_population
from discreet.release.release import Release
from discreet.requests.table_schema import KeyValue, Schema, TableFacts
from discreet.session.answer_pipeline import AnswerPipeline, Payable
from discreet.session.batch import BatchPlan, plan_batch
from discreet.session.display import as_html, as_line
from discreet.session.inquiry import AskOptions, Inquiry, QuestionLike, Questions, question_of
from discreet.session.opening_arguments import check_analyst
from discreet.session.previews import (
    budget_preview,
    check_combinable,
    check_gains,
    combination,
    expected_well,
    period_boxes,
    too_noisy,
)
from discreet.session.programs import Program, ProgramRows
from discreet.session.record import Record, Rehearsal, check_account
from discreet.units import PrivacyUnit

if TYPE_CHECKING:  # handed in, or loaded when first used: a plain question needs none of it
    from discreet.ledger.values import StoredAnswer
    from discreet.plan.plan import BudgetPreview
    from discreet.session.day_counter import DayCounter
    from discreet.session.purchases import Buying


@final
class Session(Labeled):
    r"""Tables of people, and answers about them; ``discreet.open`` makes one.

    >>> import discreet as dp
    >>> import pyarrow as pa
    >>> visits = pa.table({"patient": [1, 1, 2], "ward": ["A", "B", "A"]})
    >>> clinic = dp.open({"visits": visits}, unit=dp.person("patient"), test_mode=True,
    ...                  policy='format = 1\n[limits]\nmax_rows = 5')
    >>> answer = clinic.ask("SELECT COUNT(*) AS n FROM visits", epsilon=1e20)
    >>> answer.to_arrow().column("n").to_pylist()
    [3]
    >>> clinic.close()
    """

    __slots__ = (
        "_closed",
        "_dialect",
        "_engine",
        "_keeps",
        "_last",
        "_ledger",
        "_lock",
        "_pipeline",
        "_policy",
        "_process",
        "_schema",
        "_shares",
        "_unit",
    )

    def __init__(  # noqa: PLR0913  what opening has put together
        self,
        *,
        engine: Engine,
        schema: Schema,
        policy: Policy,
        unit: PrivacyUnit,
        ledger: Record,
        account: str | None = None,
        keeps: bool = False,
        shares: bool = False,
        states: Mapping[str, str] = MappingProxyType({}),
        dialect: str | None = None,
        least: Fraction = Fraction(0),
    ) -> None:
        """Take what belongs together.

        Another owner closes the ledger (``keeps``), or the engine (``shares``).
        """
        self._engine, self._ledger = engine, ledger
        self._schema, self._policy, self._unit = schema, policy, unit
        self._dialect, self._keeps, self._shares = dialect, keeps, shares
        self._pipeline = AnswerPipeline(
            engine=engine,
            schema=schema,
            policy=policy,
            unit=unit,
            record=ledger,
            account=account,
            states=states,
            least=least,
        )
        self._process = process_stamp()
        self._last: Plan | None = None
        self._closed = False
        self._lock = threading.Lock()

    # --- asking -------------------------------------------------------------------------------

    @overload
    def plan(self, question: QuestionLike, **price: Unpack[AskOptions]) -> Plan: ...
    @overload
    def plan(self, question: Questions, **price: Unpack[AskOptions]) -> BatchPlan: ...
    def plan(
        self, question: QuestionLike | Questions, **price: Unpack[AskOptions]
    ) -> Plan | BatchPlan:
        """Return how a question would be answered, at what cost and how exactly; spend nothing.

        Args:
            question: SQL text, or the table builder; or a list of these, which share one epsilon or
                rho so that their relative errors balance.
            price: one of epsilon, rho, error and share, and what goes with it:

                - epsilon: what the answer may cost;
                - rho: the same in zero-concentrated privacy;
                - share: a part of the budget as it was promised, such as "1/100" or "1%", in
                  whichever way errs least;
                - error: instead of a price, how far outputs may be from the truth, by their names;
                - delta: the probability with which the promise may fail;
                - size: roughly how many rows of a group count; errors of means follow from it;
                - confidence: the probability with which errors are not exceeded;
                - bounds: ``discreet.estimate(epsilon=...)`` finds missing bounds, at that price;
                - limits: ``discreet.limits(max_rows=..., max_groups=...)`` for this question; or
                  ``discreet.estimate_limits(epsilon=...)``, with which ``ask`` buys how rows and
                  groups are spread and uses the limits that follow.  Before that, ``plan`` says
                  what they cost, in an error;
                - dialect: the dialect of the SQL, such as "bigquery", in place of the session's;
                - params: the values of parameters: a list for ``?`` and ``$1``, or a dict for
                  ``:name`` and ``@name``;
                - intervals: "population" if intervals shall include sampling; what that needs in
                  addition is said here, before anything is paid; or False, if nothing shall be
                  spent on intervals, and quantiles get all of their price;
                - other: True for one more row, of all groups that are not shown, which is free; its
                  keys are NULL, and ``is_other`` is true.
        """
        if price.pop("share_cut", None) is not None:
            _refuse_share("planned")
        if isinstance(question, list | tuple):
            return self._plan_batch(question, price)
        population = _about_population(price)
        in_epsilon = price.get("epsilon") is not None
        plan = self._plan(question, price)
        if population:
            check_population(plan)
        preview = self._preview(plan)
        plain = plan.search is None and plan.selection is None
        if preview is not None and in_epsilon and preview.entry is None and plain:
            preview = replace(preview, better=self._better_share(plan))
        return self._pipeline.keep(
            replace(
                plan,
                budget_preview=preview,
                expected=expect(plan, self._schema),
                print_statements=getattr(self._engine, "sql", None),
            )
        )

    def _plan_batch(self, questions: Questions, price: AskOptions) -> BatchPlan:
        from discreet.session import purchases  # noqa: PLC0415  rare

        name: Literal["rho", "epsilon"] = "epsilon" if price.get("rho") is None else "rho"

        def plan_at(at: int, amount: Fraction) -> Plan:
            own = price.copy()
            own[name] = amount
            return self.plan(cast("QuestionLike", questions[at]), **own)

        made = plan_batch(plan_at, len(questions), price=price, schema=self._schema)
        if not isinstance(self._ledger, Ledger):
            return made
        new = [plan for plan in made.plans if self._ledger.find(plan.digest) is None]
        return replace(made, fits=purchases.fit_together(new, self._ledger, self._pipeline.account))

    def _ask_batch(
        self, asked: BatchPlan, price: AskOptions, *, confirm: bool
    ) -> tuple[Release, ...]:
        """Answer all questions of a batch, or none if they do not fit together."""
        if any(value is not None for value in price.values()):
            raise _priced_twice("a batch")
        from discreet.session import purchases  # noqa: PLC0415  rare

        self._check_open()
        plans = [self._pipeline.kept(plan) for plan in asked.plans]
        for plan in plans:
            if not confirm:
                self._refuse_unreadable(plan)
        purchases.check_batch(self._pipeline, plans, asked, confirm=confirm)
        return tuple(self._pipeline.answer(plan, confirm=confirm) for plan in plans)

    @overload
    def ask(
        self, question: QuestionLike, *, confirm: bool = False, **price: Unpack[AskOptions]
    ) -> Release: ...
    @overload
    def ask(
        self, question: BatchPlan, *, confirm: bool = False, **price: Unpack[AskOptions]
    ) -> tuple[Release, ...]: ...
    def ask(
        self,
        question: QuestionLike | BatchPlan,
        *,
        confirm: bool = False,
        **price: Unpack[AskOptions],
    ) -> Release | tuple[Release, ...]:
        """Answer a question: charge, read, add noise, record.

        The same question at the same price is answered once: asked again, it gets the same answer
        for free.  After a crash, asking again completes what was paid for.

        Args:
            question: SQL text, the table builder, or a plan of this session; of a list of
                questions, the plan alone, of which all are answered or none.
            confirm: whether an answer is meant that is expected to be empty or unreadable, by the
                public size of its table; and an epsilon above 10 for all purchases, if the policy
                does not name one.
            price: epsilon, rho, error or share, and what goes with it, as in ``plan``; and

                - share_cut: ``discreet.share_cut(epsilon=...)`` buys an estimate of the share of
                  rows that limits leave out, and shows it with the answer.
        """
        if isinstance(question, BatchPlan):
            return self._ask_batch(question, price, confirm=confirm is True)
        population = _about_population(price)
        confirmed, share = confirm is True, price.pop("share_cut", None)
        if share is None and price.get("limits") is None:
            plan = self._plan(question, price, confirm=confirmed)
        else:
            from discreet.session import purchases  # noqa: PLC0415  rare

            share = purchases.checked_share(share)
            plan = self._plan(question, price, confirm=confirmed, share=share)
        if population:
            check_population(plan)
        if not confirmed:
            self._refuse_unreadable(plan)
        if share is None:
            release = self._pipeline.answer(plan, confirm=confirmed)
        else:
            release = purchases.answer_with_share(self._pipeline, plan, share, confirm=confirmed)
        self._last = plan
        return release.for_population() if population else release

    def remeasure(
        self,
        answered: Release | QuestionLike,
        *,
        confirm: bool = False,
        **price: Unpack[AskOptions],
    ) -> Release:
        """Buy another draw of an answer, and combine all draws as well as possible.

        The price is that of the new draw alone, given as in ``ask``; bounds that were found are
        reused, not paid for again.  Remeasuring the same release again at the same price is free,
        as asking again is; to buy a third draw, remeasure the combination.

        Args:
            answered: a release of this session, or a question, which is asked first.
            confirm: whether an epsilon above 10 is meant, as in ``ask``.
            price: epsilon, rho or error, and what goes with it.
        """
        population = _about_population(price)
        if price.pop("share_cut", None) is not None:
            _refuse_share("remeasured")
        if price.pop("limits", None) is not None:
            raise WrongKind(
                what="limits are given for an answer that is remeasured.",
                why="draws under other limits say nothing about each other.",
                do="ask the question anew with these limits.",
            )
        if isinstance(answered, Release):
            self._check_open()
            before = answered
        else:
            before = self._first(answered, price, confirm=confirm is True)
        for name in ("dialect", "params", "other"):
            price.pop(name, None)  # type: ignore[misc]
        pipeline, past = self._pipeline, before.plan
        plan = pipeline.plan(past.question, price, past.found)
        draw = 1 + sum(earlier.digest == plan.digest for earlier in before.plans)
        recorded = self._ledger.find(pipeline.question(plan, draw)) is not None
        sources = None if recorded else pipeline.sources(plan)
        check_combinable(before, plan, ledger=self._ledger.id, sources=sources)
        after = pipeline.answer(plan, draw, confirm=confirm is True)
        both: Release = combination().combine(before, after)
        known = both.recorded(after.receipt, replayed=after.replayed, private=not self.test_mode)
        return known.for_population() if population else known

    def _first(self, question: QuestionLike, price: AskOptions, *, confirm: bool) -> Release:
        """Answer a question that is remeasured next, if that can gain anything."""
        if isinstance(question, Plan):
            raise WrongKind(
                what="a plan is given to be remeasured.",
                why="it has a price for one draw, and the other needs a price too.",
                do="ask for the plan, and remeasure its answer at a price.",
            )
        plan = self._plan(question, price)
        check_gains(None, plan)
        return self._pipeline.answer(plan, confirm=confirm)

    def _plan(
        self,
        question: QuestionLike,
        price: AskOptions,
        *,
        confirm: bool | None = None,
        share: Any = None,
    ) -> Plan:
        """Plan a question, or find a plan of this session.

        ``confirm`` is None if nothing may be bought: neither limits nor groups of WITH.
        """
        self._check_open()
        dialect, params = price.pop("dialect", None) or self._dialect, price.pop("params", None)
        other = price.pop("other", None)
        if isinstance(question, Plan):
            if any(value is not None for value in (*price.values(), params, other)):
                raise _priced_twice("a plan")
            return self._pipeline.kept(question)
        limits, asked = price.pop("limits", None), question_of(question, dialect, params)
        if other:
            asked = with_other(asked)
        check_approved(asked, self._policy.approved, self._dialect)
        if limits is None and not asked.released:
            return self._pipeline.plan(asked, price)
        from discreet.session import purchases  # noqa: PLC0415  rare

        if limits is not None and asked.released:
            raise WrongKind(
                what="limits are given for a question about groups that are still to be released.",
                why="all that one call buys is checked before the first charge.",
                do="write max_groups_contributed and max_rows_per_group into OPTIONS; or ask the "
                "inner question first, and write down what it answers.",
            )
        buying: Buying | None = None
        if confirm is not None:
            buying = purchases.Buying(confirm=confirm, share=share)
        if asked.released:
            plan = purchases.plan_about_released(self._pipeline, asked, price, buying)
        else:
            plan = purchases.plan_within_limits(self._pipeline, asked, limits, price, buying)
        return self._pipeline.keep(plan)

    def _better_share(self, plan: Plan) -> str:
        """Say how much less the same share of the budget errs by another route, if it does."""
        from discreet.session.shares import better_share  # noqa: PLC0415  for plans alone

        budget = self._pipeline.budget()
        if budget is None:
            return ""
        return better_share(
            plan,
            lambda price: self._pipeline.plan(
                plan.question,
                {**price, "confidence": plan.confidence},  # type: ignore[typeddict-item]
            ),
            budget,
        )

    def _refuse_unreadable(self, plan: Plan) -> None:
        """Refuse to charge for an answer dominated by noise, if that can be predicted."""
        if not isinstance(self._ledger, Ledger) or expected_well(plan, self._schema):
            return
        if self._ledger.find(plan.digest) is None:
            price = partial(self._pipeline.plan, plan.question)
            left = self._ledger.left(plan.scope, account=self._pipeline.account)
            raise too_noisy(plan, self._schema, price=price, left=left)

    # --- programs -----------------------------------------------------------------------------

    def program_rows(self, question: Question) -> ProgramRows:
        """Bind the rows that a program of a workshop may read; nothing private is read."""
        self._check_open()
        return self._pipeline.program_rows(question_of(question))

    def preview(self, program: Program) -> BudgetPreview | None:
        """Return the balance of the budget after a program; None without a ledger."""
        return self._preview(program)

    def sources(self, program: Program) -> tuple[tuple[str, str], ...]:
        """Return the states of a program's tables at their opening."""
        self._check_open()
        return self._pipeline.sources(program)

    def perform(self, program: Program, *, confirm: bool = False) -> StoredAnswer:
        """Carry out a program: charge, read, draw, record; again, it gives the same for free.

        Args:
            program: what a workshop has planned for this session, such as a synthetic table.
            confirm: whether an epsilon above 10 is meant, as in ``ask``.
        """
        self._check_open()
        return self._pipeline.perform(program, confirm=confirm is True)

    def plan_profile(self, table: str | None = None, **price: Any) -> Any:
        """Plan a profile of a table, as :func:`discreet.profile.plan_profile` does; free."""
        return importlib.import_module("discreet.profile").plan_profile(self, table, **price)

    def profile(self, table: Any = None, *, confirm: bool = False, **price: Any) -> Any:
        """Buy a profile of all columns for one price: counts, quartiles and top categories.

        Args:
            table: its name, or a plan; the only private table, if there is one.
            confirm: whether an epsilon above 10 is meant, as in ``ask``.
            price: epsilon, rho, delta, columns, size, confidence, as for ``plan_profile``.
        """
        room = importlib.import_module("discreet.profile")
        return room.profile(self, table, confirm=confirm is True, **price)

    def marginals(self, table: str, *columns: str, ways: int = 2, **options: Any) -> Release:
        """Count the rows of all tables of so many columns, measured together.

        ``release.tables()`` has one for each set of columns, with intervals; all are consistent.

        Args:
            table: the name of a table.
            columns: columns or expressions with public values, at most a hundred.
            ways: how many columns each table has.
            options: a price, and all else that ``ask`` takes.
        """
        return self.table(table).marginals(*columns, ways=ways).count(name="count").ask(**options)  # type: ignore[no-any-return]

    def counter(self, table: str, *, by: str, first: date, days: int, **options: Any) -> DayCounter:
        """Plan a counter: how many units there are so far, on each day of a period, for one price.

        A unit counts from the day of its first row.  ``open()`` pays for all days, and
        ``release(through)`` measures the days that are complete; after a crash, or in another
        process, the same call goes on where the ledger ends.  The price rests on rows that are
        added alone: a unit whose first row is deleted, or gets a later date, between two releases
        may count in more numbers than are paid for.

        Args:
            table: the name of a table.
            by: its column of dates.
            first: the first day.
            days: how many days there are.
            options: epsilon or rho, for all days together; delta, confidence.
        """
        from discreet.session.day_counter import DayCounter  # noqa: PLC0415  rare

        self._check_open()
        return DayCounter(self, table, by=by, first=first, days=days, **options)

    def table(self, name: str) -> Inquiry:
        """Begin a question with all rows of a table; it ends with ``ask`` or ``plan``."""
        if not isinstance(name, str) or self._schema.table(name) is None:
            known = ", ".join(table.name for table in self._schema.tables)
            raise UnknownName(
                what=f"there is no table {name} here.",
                why="a question is about the tables that this session has opened.",
                do=f"use one of: {known}.",
            )
        return Inquiry(queries.table(name), session=self)

    def charging(
        self, *, account: str | None, analyst: str | None = None, least: Fraction = Fraction(0)
    ) -> Session:
        """Return a session on the same data and ledger whose questions another account pays for.

        It ends with this one; closing it lets go of nothing.

        Args:
            account: the account that pays; the first one of the ledger unless given.
            analyst: who asks, if the policy lists analysts.
            least: the least epsilon of a question.
        """
        self._check_open()
        check_analyst(analyst, self._policy)
        if isinstance(self._ledger, Ledger):
            check_account(self._ledger, account)
        return Session(
            engine=self._engine,
            schema=self._schema,
            policy=self._policy,
            unit=self._unit,
            ledger=self._ledger,
            account=account,
            keeps=True,
            shares=True,
            states=self._pipeline.states,
            dialect=self._dialect,
            least=least,
        )

    # --- public facts -------------------------------------------------------------------------

    @property
    def schema(self) -> Schema:
        """The public facts about all tables."""
        return self._schema

    @property
    def tables(self) -> Mapping[str, TableFacts]:
        """The tables by their names, with the public facts about each."""
        return MappingProxyType({table.name: table for table in self._schema.tables})

    @property
    def policy(self) -> Policy:
        """The rules of the owner."""
        return self._policy

    @property
    def unit(self) -> PrivacyUnit:
        """Who is protected."""
        return self._unit

    @property
    def ledger(self) -> Record:
        """The record of everything that was charged and answered."""
        return self._ledger

    @property
    def test_mode(self) -> bool:
        """Whether nothing that is answered here is private."""
        return isinstance(self._ledger, Rehearsal)

    @property
    def remaining(self) -> Left | None:
        """The balance of the budget for questions about everybody; None without a budget."""
        if not isinstance(self._ledger, Ledger):
            return None
        left = self._ledger.left(account=self._pipeline.account)
        last = self._last
        return left if last is None else replace(left, like=(last.tree, last.delta))

    def left_by_period(self) -> Mapping[KeyValue, Left]:
        """Return what is left of the budget for each declared period, where it is ``per`` period.

        Questions about a period alone, such as ``WHERE month = '2026-03'``, are paid by it alone.
        """
        if not isinstance(self._ledger, Ledger):
            return {}
        periods = period_boxes(self._schema, self._policy.period, self._unit.columns)
        account = self._pipeline.account
        return {at: self._ledger.left(box, account=account) for at, box in periods.items()}

    # --- ending -------------------------------------------------------------------------------

    @property
    def closed(self) -> bool:
        """Whether nothing more can be asked."""
        return self._closed

    def close(self) -> None:
        """Release the data and the ledger; closing twice does nothing."""
        with self._lock:
            closed, self._closed = self._closed, True
        if closed:
            return
        if self._process == process_stamp() and not self._shares:
            self._engine.close()
        if isinstance(self._ledger, Ledger) and not self._keeps:
            self._ledger.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        """Show tables, unit and budget on one line, and no data."""
        return as_line(self._schema, self._unit, None if self._closed else self._left())

    def _repr_html_(self) -> str:
        return as_html(self._schema, self._unit, None if self._closed else self._left())

    # --- inside -------------------------------------------------------------------------------

    def _check_open(self) -> None:
        """Refuse a session that is closed, or that another process has opened."""
        if self._process != process_stamp():
            raise EngineStopped(
                what="the tables were opened before this process was forked from another.",
                why="locks that another thread of the parent held then are closed for ever here; "
                "nothing was charged.",
                do="open the tables again in this process.",
            )
        if self._closed:
            raise WrongKind(
                what="the session is closed.",
                why="it has let go of the data and of the ledger.",
                do="open it again.",
            )

    def _left(self) -> Left | str:
        try:
            return self.remaining or str(self._ledger)
        except LedgerError:
            return "the ledger cannot be read now"

    def _preview(self, plan: Payable) -> BudgetPreview | None:
        """Look a plan up in the ledger, if there is one."""
        if not isinstance(self._ledger, Ledger):
            return None
        return budget_preview(plan, self._ledger, self._pipeline.account)


def _about_population(price: AskOptions) -> bool:
    """Say whether intervals shall include sampling; those that nobody wants are not paid for."""
    kind = check_intervals(price.pop("intervals", None))
    if kind == "none":
        price["intervals"] = False
    return kind == "population"


def _priced_twice(what: str) -> WrongKind:
    return WrongKind(
        what=f"{what} is given, and a price beside it.",
        why=f"{what} has its price.",
        do="ask for the plan alone, or plan the question anew.",
    )


def _refuse_share(what: str) -> NoReturn:
    raise WrongKind(
        what=f"a share is to be bought for a question that is {what}.",
        why="it stands next to an answer, and has a charge of its own.",
        do="give share_cut=dp.share_cut(epsilon=0.1) to ask.",
    )
