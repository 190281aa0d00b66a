"""A session: the counter where question, ledger, engine and noise meet.

Trust: kernel.  It is the only door to the data.

Whatever can be refused is refused before anything is charged: the question is read, bound, priced
and printed for the engine first.  Then one answer is paid for, drawn and recorded
(:mod:`discreet.session.answer_pipeline`).
Nothing that a session shows, raises or logs holds a value of a private table.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Self, Unpack, final

from discreet import query as queries
from discreet.accounting import Left
from discreet.accounting.currencies import BasicCurrency
from discreet.doors import Labeled
from discreet.engines.engine import Engine
from discreet.errors import EngineStopped, LedgerError, UnknownName, WrongKind
from discreet.ledger.ledger import Ledger
from discreet.plan.expectation import expect
from discreet.plan.plan import Plan
from discreet.plan.policy.policy import Policy
from discreet.plan.pricing.requested_price import check_allowed
from discreet.plan.statistics.contribution_bounds import ceilings_of
from discreet.plan.statistics.limit_choice import QuestionLimits
from discreet.query.question import Question
from discreet.release.release import Release
from discreet.requests.table_schema import Schema, TableFacts
from discreet.session.answer_pipeline import AnswerPipeline, Payable, two_stages
from discreet.session.display import as_html, as_line
from discreet.session.inquiry import (
    AskOptions,
    Inquiry,
    PriceOptions,
    QuestionLike,
    question_of,
)
from discreet.session.limit_purchases import check_share, share_refused
from discreet.session.opening_arguments import check_analyst
from discreet.session.planning import (
    PlanRegistry,
    SessionPlanner,
    budget_preview,
    check_combinable,
    check_gains,
    combination,
)
from discreet.session.programs import Program, ProgramBinder, ProgramRows, check_program
from discreet.session.purchases import Purchases, nothing_else
from discreet.session.record import Record, Rehearsal, check_account
from discreet.session.released_groups import with_answers
from discreet.session.worth_asking import expected_well, too_noisy
from discreet.units import PrivacyUnit

if TYPE_CHECKING:  # handed in, or loaded when first used: a plain question needs none of it
    from discreet.ledger.values import Receipt, StoredAnswer
    from discreet.plan.bounds_search import FoundBounds
    from discreet.plan.plan import BudgetPreview


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
        "_account",
        "_binder",
        "_dialect",
        "_engine",
        "_keeps",
        "_ledger",
        "_lock",
        "_pipeline",
        "_planning",
        "_plans",
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

        Somebody else closes the ledger (``keeps``), or the engine (``shares``).
        """
        self._dialect = dialect
        self._engine = engine
        self._schema = schema
        self._policy = policy
        self._unit = unit
        self._ledger = ledger
        self._account = account
        self._keeps = keeps
        self._shares = shares
        self._pipeline: AnswerPipeline | None = AnswerPipeline(
            engine=engine,
            record=ledger,
            account=account,
            states=states,
            limits=None if isinstance(ledger, Rehearsal) else policy.limits,
            least=least,
        )
        self._plans = PlanRegistry()
        self._planning = SessionPlanner(
            engine=engine, schema=schema, policy=policy, unit=unit, ceiling=not self.test_mode
        )
        self._binder = ProgramBinder(
            bind=self._planning.bind, schema=schema, policy=policy, unit=unit
        )
        self._process = os.getpid()
        self._lock = threading.Lock()

    def _check_process(self) -> None:
        """Refuse a process that was forked from the one that opened the tables."""
        if self._process != os.getpid():
            raise EngineStopped(
                what="the tables were opened before this process was forked from another.",
                why="locks that another thread of the parent held then are closed for ever here; "
                "nothing was charged.",
                do="open the tables again in this process.",
            )

    # --- asking -------------------------------------------------------------------------------

    def plan(self, question: QuestionLike, **price: Unpack[AskOptions]) -> Plan:
        """Return how a question would be answered, at what cost and how exactly; spend nothing.

        Args:
            question: SQL text, or the table builder.
            price: one of epsilon, rho and error, and what goes with it:

                - epsilon: what the answer may cost;
                - rho: the same in zero-concentrated privacy;
                - error: instead of a price, how far outputs may be from the truth, by their names;
                - delta: the chance with which the promise may fail;
                - size: roughly how many rows of a group count; errors of means follow from it;
                - confidence: the probability with which errors are not exceeded;
                - bounds: ``discreet.estimate(epsilon=...)`` finds missing bounds, at that price;
                - limits: ``discreet.limits(max_rows=..., max_groups=...)`` for this question; or
                  ``discreet.estimate_limits(epsilon=...)``, with which ``ask`` buys how rows and
                  groups are spread and uses the limits that follow.  Before that, ``plan`` says
                  what they cost, in an error;
                - dialect: the dialect of the SQL, such as "bigquery", in place of the session's;
                - params: the values of parameters: a list for ``?`` and ``$1``, or a dict for
                  ``:name`` and ``@name``.
        """
        self._check_process()
        if price.pop("share_cut", None) is not None:
            raise share_refused("planned")
        plan = self._plan(question, price)
        expected = expect(plan, self._schema)
        return replace(
            plan,
            budget_preview=self._preview(plan),
            expected=expected,
            print_statements=getattr(self._engine, "sql", None),
        )

    def ask(
        self, question: QuestionLike, *, confirm: bool = False, **price: Unpack[AskOptions]
    ) -> Release:
        """Answer a question: charge, read, add noise, record.

        The same question at the same price is answered once: asked again, it gets the same answer
        for free.  After a crash, asking again completes what was paid for.

        Args:
            question: SQL text, the table builder, or a plan of this session.
            confirm: whether an answer is meant that is expected to be empty or unreadable, by the
                public size of its table; and an epsilon above 10 for all that is bought, where the
                policy does not name one.
            price: epsilon, rho or error, and what goes with it, as in ``plan``; and

                - share_cut: ``discreet.share_cut(epsilon=...)`` buys an estimate of the share of
                  rows that limits leave out, and shows it with the answer.
        """
        self._check_process()
        wanted = price.pop("share_cut", None)
        check_share(wanted)
        if wanted is None:
            plan = self._plan(question, price, confirm=confirm is True)
            if confirm is not True:
                self._refuse_unreadable(plan)
            return self._answer(plan, confirm=confirm)
        purchases = self._purchases()
        beside = partial(purchases.share_later, wanted=wanted)
        plan = self._plan(question, price, confirm=confirm is True, beside=beside)
        if confirm is not True:
            self._refuse_unreadable(plan)
        return purchases.with_share(plan, wanted, confirm=confirm)

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
        self._check_process()
        if price.pop("share_cut", None) is not None:
            raise share_refused("remeasured")
        if price.pop("limits", None) is not None:
            raise WrongKind(
                what="limits are given for an answer that is remeasured.",
                why="draws under other limits say nothing about each other.",
                do="ask the question anew with these limits.",
            )
        before = (
            answered
            if isinstance(answered, Release)
            else self._first(answered, price, confirm=confirm)
        )
        price.pop("dialect", None)
        price.pop("params", None)
        past = before.plan
        plan = self._planned(past.question, price, past.found)
        pipeline = self._open_pipeline()
        draw = 1 + sum(earlier.digest == plan.digest for earlier in before.plans)
        recorded = self._ledger.find(pipeline.question(plan, draw)) is not None
        sources = None if recorded else pipeline.sources(plan)
        check_combinable(before, plan, ledger=self._ledger.id, sources=sources)
        after = self._answer(plan, draw, confirm=confirm)
        both: Release = combination().combine(before, after)
        return self._with_receipt(both, after.receipt, replayed=after.replayed)

    # --- programs -----------------------------------------------------------------------------

    def program_rows(self, question: Question) -> ProgramRows:
        """Bind the rows that a program of a workshop may read; nothing private is read."""
        self._check_process()
        self._open_pipeline()
        return self._program_rows(question)

    def preview(self, program: Program) -> BudgetPreview | None:
        """Say what a program would leave of the budget; None where there is no ledger."""
        return self._preview(program)

    def sources(self, program: Program) -> tuple[tuple[str, str], ...]:
        """Return the states in which the tables of a program were opened."""
        self._check_process()
        return self._open_pipeline().sources(program)

    def perform(self, program: Program, *, confirm: bool = False) -> StoredAnswer:
        """Carry out a program: charge, read, draw, record; again, it gives the same for free.

        Args:
            program: what a workshop has planned for this session, such as a synthetic table.
            confirm: whether an epsilon above 10 is meant, as in ``ask``.
        """
        self._check_process()
        pipeline = self._open_pipeline(confirm=confirm)
        known = check_program(program, self._program_rows, self._unit)
        if not self.test_mode:
            check_allowed(known.price, self._policy.limits)
        for read in known.reads:
            self._engine.check(read)
        return pipeline.perform(known)

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
            analyst: who asks, where the policy lists who may.
            least: the least epsilon of a question.
        """
        pipeline = self._open_pipeline()
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
            states=pipeline.states,
            dialect=self._dialect,
            least=least,
        )

    # --- what is known ------------------------------------------------------------------------

    @property
    def schema(self) -> Schema:
        """What is public about all tables."""
        return self._schema

    @property
    def tables(self) -> Mapping[str, TableFacts]:
        """The tables by their names, with what is public about each."""
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
        """What is left of the budget for questions about everybody; None without a budget."""
        if not isinstance(self._ledger, Ledger):
            return None
        return self._ledger.left(account=self._account)

    # --- ending -------------------------------------------------------------------------------

    @property
    def closed(self) -> bool:
        """Whether nothing more can be asked."""
        return self._pipeline is None

    def close(self) -> None:
        """Release the data and the ledger; closing twice does nothing."""
        with self._lock:
            pipeline, self._pipeline = self._pipeline, None
        if pipeline is not None:
            if self._process == os.getpid() and not self._shares:
                self._engine.close()
            if isinstance(self._ledger, Ledger) and not self._keeps:
                self._ledger.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        """Show tables, unit and budget on one line, and no data."""
        return as_line(self._schema, self._unit, None if self.closed else self._left())

    def _repr_html_(self) -> str:
        return as_html(self._schema, self._unit, None if self.closed else self._left())

    # --- inside -------------------------------------------------------------------------------

    def _left(self) -> Left | str:
        try:
            return self.remaining or str(self._ledger)
        except LedgerError:
            return "the ledger cannot be read now"

    def _concentrated(self) -> bool:
        """Return whether the budget that pays is counted in something other than epsilon."""
        left = self.remaining
        budget = self._policy.budget if left is None else left.budget
        return budget is not None and not isinstance(budget.currency, BasicCurrency)

    def _own_delta(self) -> Fraction:
        """Return what the budget that pays lends to a question that needs a delta."""
        left = self._left()
        budget = left.budget if isinstance(left, Left) else self._policy.budget
        return Fraction(0) if budget is None else budget.own_delta

    def _plan(
        self,
        question: QuestionLike,
        price: AskOptions,
        *,
        confirm: bool | None = None,
        beside: Callable[[Plan], tuple[Plan, ...]] = nothing_else,
    ) -> Plan:
        """Plan a question, or find a plan of this session; see :class:`Purchases`."""
        self._open_pipeline()
        dialect, params = price.pop("dialect", None) or self._dialect, price.pop("params", None)
        if isinstance(question, Plan):
            return self._plans.checked(question, (*price.values(), params))
        limits, asked = price.pop("limits", None), question_of(question, dialect, params)
        if asked.released:
            return self._about_released(asked, limits, price, confirm, beside)
        if limits is None:
            return self._planned(asked, price)
        plan = self._purchases().limited(asked, limits, price, confirm=confirm, beside=beside)
        self._plans.keep(plan)
        return plan

    def _about_released(
        self,
        asked: Question,
        limits: object,
        price: AskOptions,
        confirm: bool | None,  # noqa: FBT001 (as it was given)
        beside: Callable[[Plan], tuple[Plan, ...]],
    ) -> Plan:
        """Answer the questions of WITH, and plan the one that is about their groups."""
        if limits is not None:
            raise WrongKind(
                what="limits are given for a question about groups that are still to be released.",
                why="all that one call buys is checked before the first charge.",
                do="write max_groups_contributed and max_rows_per_group into OPTIONS; or ask the "
                "inner question first, and write down what it answers.",
            )
        about, words = with_answers(self._purchases(), asked, price, confirm=confirm, beside=beside)
        plan = replace(self._planned(about, price), released_by=words)
        self._plans.keep(plan)
        return plan

    def _purchases(self) -> Purchases:
        return Purchases(
            bind=self._planning.bind,
            planned=self._planned,
            answer=self._answer,
            pipeline=self._open_pipeline(),
            limits=None if self.test_mode else self._policy.limits,
            ceilings=self._ceilings,
        )

    def _ceilings(self, question: Question) -> QuestionLimits:
        if self.test_mode:
            return QuestionLimits()
        return ceilings_of(question, self._schema, self._policy.limits)

    def _planned(
        self,
        question: Question,
        price: PriceOptions,
        found: tuple[FoundBounds, ...] = (),
    ) -> Plan:
        """Plan a question, with bounds that were found for it before."""
        self._open_pipeline()
        plan = self._planning.plan(
            question,
            price,
            found=found,
            concentrated=bool(price.get("error")) and self._concentrated(),
            own_delta=self._own_delta,
        )
        self._planning.check(plan)
        self._plans.keep(plan)
        return plan

    def _program_rows(self, question: Question) -> ProgramRows:
        return self._binder(question_of(question))

    def _preview(self, plan: Payable) -> BudgetPreview | None:
        """Look a plan up in the ledger, if there is one."""
        if not isinstance(self._ledger, Ledger):
            return None
        return budget_preview(plan, self._ledger, self._account)

    def _refuse_unreadable(self, plan: Plan) -> None:
        """Refuse to charge for an answer that could hardly be read, where that can be known."""
        if not isinstance(self._ledger, Ledger) or expected_well(plan, self._schema):
            return
        if self._ledger.find(plan.digest) is None:
            price = partial(self._planned, plan.question)
            left = self._ledger.left(plan.scope, account=self._account)
            raise too_noisy(plan, self._schema, price=price, left=left)

    def _answer(self, plan: Plan, draw: int = 1, *, confirm: bool) -> Release:
        pipeline = self._open_pipeline(confirm=confirm)
        return self._decode(
            plan, pipeline.answer_plan(plan, plan_stage=self._planning.second_stage, draw=draw)
        )

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
        return self._answer(plan, confirm=confirm)

    def _decode(self, plan: Plan, stored: StoredAnswer) -> Release:
        """Read what is stored; errors are shown at the confidence that is asked for now."""
        if plan.search is None:
            release = Release.read(stored.answer, plan)
        else:
            release = two_stages().read_stages(stored.answer, plan, self._planning.second_stage)
            self._plans.keep(release.plan)
        if stored.replayed:
            told = release.columns
            release = Release.of(release.plan, release.parts, release.sources)
            columns = tuple(
                replace(new, values=old.values, unclipped=None) if old.unclipped is None else new
                for new, old in zip(release.columns, told, strict=True)
            )
            release = replace(release, columns=columns)  # numbers stay as they were told
        return self._with_receipt(release, stored.receipt, replayed=stored.replayed)

    def _with_receipt(
        self, release: Release, receipt: Receipt | None, *, replayed: bool
    ) -> Release:
        return release.recorded(receipt, replayed=replayed, private=not self.test_mode)

    def _open_pipeline(self, *, confirm: bool = False) -> AnswerPipeline:
        if self._pipeline is None:
            raise WrongKind(
                what="the session is closed.",
                why="it has let go of the data and of the ledger.",
                do="open it again.",
            )
        return replace(self._pipeline, limits=None) if confirm is True else self._pipeline
