"""From a question to its answer: plan, pay, read, add noise, record, tell.

Trust: kernel (T3).

The order of these steps is the guarantee: data is read after it was paid for, and released after it
was recorded.

    find      an answer on record is handed out again, for free
    look      data that changed since it was opened is refused
    begin     the request is charged, or refused, and its start recorded: durable before the next
              step; from here on, data may be read
    draw      the engine computes bounded totals, and noise is added; missing bounds are found
              first, in the same way
    release   the answer is stored, and the stored answer is returned

Theorem (key ``one-answer``).  Only one answer is ever released under one key, for any number of
repetitions of the steps and any points of interruption.  Here the key follows from the plan, so a
retry of the same question continues where the last attempt ended, without paying again.
Whether an answer fails may depend on a single row, so a failure is reported once for each price,
always in the same sentence, which does not give the reason.  It is on record before it is reported:
    fail      data may have been read, and no noise was drawn: the question is closed, and asking
              again is refused until the owner has looked and reopens it
    release   noise was drawn: the failure is the answer, and no other noise is ever drawn for it
Failures that no row can cause are reported unchanged, and asking again continues: an interrupt, a
killed process, a server that no connection reaches, data that is seen to have changed since it was
opened, missing random bits before the first noise.  A server that fails once rows are read may have
failed because of one of them.  Spark itself replaces a lost executor within the attempt.

Answers in two stages.  Bounds are found first, and then the answer within them.  Both stages are
paid for before the first one reads data, and released together: bounds from an interrupted attempt
are never seen.  The bounds are stored with the digest of the plan that they led to and the answer
of that plan: its reader plans the second stage again, and gets the same.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Protocol, cast, final
from weakref import ref

from discreet.accounting.currencies import BasicCurrency
from discreet.engines.engine import Engine, HashOrder
from discreet.engines.sources.identity import scanned_tables
from discreet.errors import (
    DiscreetError,
    EngineStopped,
    EntropyError,
    LedgerError,
    SourceChanged,
    WrongKind,
)
from discreet.ledger import Ledger
from discreet.ledger.entries import canonical, digest
from discreet.ledger.requests import refuse_closed
from discreet.ledger.values import Started, StoredAnswer
from discreet.noise import SYSTEM, Entropy
from discreet.plan.binding.bound_question import BoundQuestion, bind_question
from discreet.plan.plan import Plan
from discreet.plan.policy.owner_rules import refuse_ruled
from discreet.plan.policy.policy import Policy
from discreet.plan.pricing.requested_price import check_allowed, check_confirmed, check_least
from discreet.planner import plan as plan_question
from discreet.query.question import Question
from discreet.release.answer import answer, private_bounds
from discreet.release.release import Release
from discreet.requests.raw_totals import RawTotals
from discreet.requests.table_schema import Schema
from discreet.session.programs import Program, ProgramRows, check_program, program_rows
from discreet.session.public_tables import PublicTableReader
from discreet.session.record import Record, Rehearsal, answer_failed_error
from discreet.units import PrivacyUnit

if TYPE_CHECKING:  # handed in; a plain question has one stage
    from discreet.accounting import Box, Budget, Node
    from discreet.plan.bounds_search import FoundBounds
    from discreet.plan.pricing.calibration import Price
    from discreet.planner import SecondStage
    from discreet.requests.engine_request import EngineRequest
    from discreet.session.inquiry import PriceOptions

_SALT_BITS = 63
_FAILURE: Final = b'{"failed":true,"format":1}'
"""The stored bytes for an answer that failed after noise was drawn."""
_BOUND: Final = 64
_STAGES: Final = 1


class Payable(Protocol):
    """A request that is charged and carried out: the plan of a question, or a program."""

    @property
    def digest(self) -> str:
        """The name under which it is on record."""
        ...

    @property
    def tree(self) -> Node:
        """The charged price."""
        ...

    @property
    def scope(self) -> Box:
        """The records that pay."""
        ...

    @property
    def delta(self) -> Fraction | None:
        """The delta that a budget may use for its price."""
        ...

    @property
    def price(self) -> Price:
        """What it costs."""
        ...

    @property
    def reads(self) -> tuple[EngineRequest, ...]:
        """What engines are asked."""
        ...


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerPipeline:
    """Plans and answers questions with an engine, a record, and the account that pays."""

    engine: Engine
    schema: Schema
    policy: Policy
    unit: PrivacyUnit
    record: Record
    account: str | None = None
    states: Mapping[str, str] = field(default_factory=dict)
    """The names of the states that tables were opened in, by their folded names."""
    least: Fraction = Fraction(0)
    """The least epsilon of every charged read of data, behind a server (T1)."""
    entropy: Entropy = SYSTEM
    _plans: dict[int, ref[Plan]] = field(default_factory=dict, init=False, repr=False)
    _bound: dict[Question, ProgramRows] = field(default_factory=dict, init=False, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False, repr=False)

    @property
    def test_mode(self) -> bool:
        """Whether nothing that is answered is private, at any price."""
        return isinstance(self.record, Rehearsal)

    # --- planning: all early refusals happen here, and nothing is spent ----------------------

    def plan(
        self, question: Question, price: PriceOptions, found: tuple[FoundBounds, ...] = ()
    ) -> Plan:
        """Plan a question, with bounds that were found for it before; the engine could run it."""
        if price.get("share") is not None:
            return self._plan_share(question, price, found)
        given: Any = {name: value for name, value in price.items() if name != "share"}
        plan = plan_question(
            question,
            schema=self.schema,
            policy=self.policy,
            unit=self.unit,
            public_rows=self._public_rows,
            found_bounds=found,
            concentrated=bool(price.get("error")) and self._concentrated(),
            own_delta=self._own_delta,
            ceiling=not self.test_mode,
            **given,
        )
        requests = [plan.request]
        if plan.search is not None:
            widest, _ = self.second_stage(plan, plan.search.widest)
            requests = [plan.search.request, widest.request]
        check = getattr(self.engine, "check_possible", self.engine.check)
        for request in requests:
            check(request)
        return self.keep(plan)

    def _plan_share(
        self, question: Question, price: PriceOptions, found: tuple[FoundBounds, ...]
    ) -> Plan:
        """Plan a question at a share of what the budget that pays has promised."""
        from discreet.session.shares import plan_share  # noqa: PLC0415  rare

        def planned(given: Mapping[str, Any]) -> Plan:
            return self.plan(question, cast("PriceOptions", dict(given)), found)

        rest = {name: value for name, value in price.items() if name != "share"}
        return plan_share(planned, rest, price["share"], self.budget())

    def second_stage(self, plan: Plan, found: tuple[FoundBounds, ...]) -> SecondStage:
        """Plan the answer once bounds are found."""
        from discreet.planner import plan_second_stage  # noqa: PLC0415  rare

        return plan_second_stage(
            plan, found, schema=self.schema, policy=self.policy, public_rows=self._public_rows
        )

    def bind(self, question: Question) -> BoundQuestion:
        """Bind the names of a question."""
        most = self.policy.limits.max_fan_out
        return bind_question(question, self.schema, self._public_rows, self.unit.columns, most)

    def program_rows(self, question: Question) -> ProgramRows:
        """Bind the rows that a program may read; public facts alone are kept.

        A program is bound when it is planned, and once more before it is carried out.  What it is
        bound to follows from question, schema, policy, unit, and the rows of public tables: without
        any of these, binding a question again gives what it gave before.
        """
        private = not any(table.public for table in self.schema.tables)
        rows = self._bound.get(question) if private else None
        if rows is None:
            rows = program_rows(
                self.bind(question), schema=self.schema, policy=self.policy, unit=self.unit
            )
        if private:
            if len(self._bound) >= _BOUND:
                self._bound.clear()
            self._bound[question] = rows
        return rows

    @property
    def _public_rows(self) -> PublicTableReader:
        return PublicTableReader(self.engine, self.schema)

    def budget(self) -> Budget | None:
        """Return the budget that pays: that of the account, or, without a ledger, the policy's."""
        if isinstance(self.record, Ledger):
            with suppress(LedgerError):  # planning goes on without the ledger
                return self.record.left(account=self.account).budget
        return self.policy.budget

    def _concentrated(self) -> bool:
        """Return whether the budget that pays is counted in something other than epsilon."""
        budget = self.budget()
        return budget is not None and not isinstance(budget.currency, BasicCurrency)

    def _own_delta(self, *, epsilon: Fraction | None, rho: Fraction | None) -> Fraction:
        """Return what the budget that pays lends to a question that needs a delta."""
        budget = self.budget()
        return Fraction(0) if budget is None else budget.own_delta(epsilon=epsilon, rho=rho)

    # --- plans of this session ----------------------------------------------------------------

    def keep(self, plan: Plan) -> Plan:
        """Remember a plan that was made here while anybody holds it; no other is carried out."""
        plans, key = self._plans, id(plan)
        plans[key] = ref(plan, lambda _: plans.pop(key, None))
        return plan

    def kept(self, plan: Plan) -> Plan:
        """Return a plan as it was made here; refuse any other.

        A plan from elsewhere may rest on other bounds, another unit or another policy, and would be
        answered for less than it costs here.
        """
        made = (found for each in list(self._plans.values()) if (found := each()) is not None)
        known = next((each for each in made if each.digest == plan.digest and each == plan), None)
        if known is None:
            raise WrongKind(
                what="this plan was not made by this session.",
                why="it may rest on other bounds, another unit or another policy.",
                do="plan the question with this session, and ask for that.",
            )
        return known

    # --- answering ----------------------------------------------------------------------------

    def answer(self, plan: Plan, draw: int = 1, *, confirm: bool = False) -> Release:
        """Return the answer to a plan; ``draw`` above 1 is another answer to the same plan."""
        stored = self._carry_out(
            plan, self.question(plan, draw), partial(self._draw, plan), confirm=confirm
        )
        return self._decode(plan, stored)

    def perform(self, program: object, *, confirm: bool = False) -> StoredAnswer:
        """Return the record of a program, after paying and carrying it out if necessary."""
        known = check_program(program, self.program_rows, self.unit)
        refuse_ruled(self.policy, "a program", cells=False)
        if not self.test_mode:
            check_allowed(known.price, self.policy.limits)
        return self._carry_out(known, known.digest, partial(self._drawn, known), confirm=confirm)

    def _carry_out(
        self, plan: Payable, question: str, draw: Callable[[], bytes], *, confirm: bool
    ) -> StoredAnswer:
        """Take all steps with a function that reads the data and returns what will be stored."""
        stored = self.record.find(question)
        if stored is not None:
            return _answered(stored)
        if not (confirm or self.test_mode):
            check_confirmed(plan.price, self.policy.limits)
        check_least(plan.price, self.least)
        self.check_sources(plan)
        for read in plan.reads:
            self.engine.check(read)
        key, begun = self._begin(plan, question)
        if isinstance(begun, Started):
            begun = self.record.release(key, self._close_on_failure(key, draw))
        return _answered(begun)

    def question(self, plan: Plan, draw: int) -> str:
        """Return the name under which a draw of a plan is on record."""
        return _digest(plan.digest, draw) if draw > 1 else plan.digest

    def sources(self, plan: Payable) -> tuple[tuple[str, str], ...]:
        """Return the states of the tables that a plan reads."""
        return tuple((table, self.states.get(table, "")) for table in sorted(_tables(plan)))

    def check_sources(self, plan: Payable) -> None:
        """Refuse data that changed since it was opened."""
        self.engine.identities(_tables(plan))

    def _begin(self, plan: Payable, question: str) -> tuple[str, Started | StoredAnswer]:
        """Charge a plan and record its start; return the key, and the answer if there is one.

        A loss that a budget cannot count directly may be counted outside an event of the plan's
        delta; the currencies of the accounts decide which.
        """
        try:
            return self._charge(plan, question, None)
        except WrongKind:
            if plan.delta is None:
                raise
        return self._charge(plan, question, plan.delta)

    def _charge(
        self, plan: Payable, question: str, delta: Fraction | None
    ) -> tuple[str, Started | StoredAnswer]:
        key = self._key(question, delta)
        return key, self.record.begin(
            plan.tree,
            key=key,
            question=question,
            scope=plan.scope,
            delta=delta,
            account=self.account,
        )

    def keys(self, plan: Plan) -> frozenset[str]:
        """Return the keys under which a plan may have been paid for."""
        return frozenset(self._key(plan.digest, delta) for delta in (None, plan.delta))

    def _key(self, question: str, delta: Fraction | None) -> str:
        if delta is None and self.account is None:
            return question
        return _digest(question, None if delta is None else str(delta), self.account)

    def _close_on_failure(self, key: str, draw: Callable[[], bytes]) -> bytes:
        """Read the data; close the question if that fails for a reason that may depend on it."""
        written: bytes | None = None
        failure: DiscreetError | None = None
        try:
            written = draw()
        except (EntropyError, EngineStopped, SourceChanged) as error:  # never about a value
            failure = type(error)(what=error.what, why=error.why, do=error.do)
        except Exception:  # noqa: BLE001, S110 (its text may quote the data; replaced below)
            pass
        if written is not None:
            return written
        if failure is None:  # raised here, outside the context of the other error
            self.record.fail(key)
            failure = answer_failed_error()
        raise failure

    # --- drawing and reading ------------------------------------------------------------------

    def order(self) -> HashOrder:
        """Draw the order in which groups of a unit are kept, anew for every attempt."""
        return HashOrder(salt=self.entropy.bits(_SALT_BITS))

    def _draw(self, plan: Plan) -> bytes:
        """Read the data, and return an answer as it will be stored, with the states of tables."""
        order, sources = self.order(), self.sources(plan)
        first = plan.request if plan.search is None else plan.search.request
        raw = self.engine.run(first, order=order)

        def noisy(final: Plan, raw: RawTotals) -> bytes:
            return replace(answer(final, raw, entropy=self.entropy), sources=sources).written()

        if plan.search is None:
            return _finish_with_noise(lambda: noisy(plan, raw))
        return _finish_with_noise(lambda: self._draw_second(plan, raw, order, noisy))

    def _draw_second(
        self,
        plan: Plan,
        raw: RawTotals,
        order: HashOrder,
        noisy: Callable[[Plan, RawTotals], bytes],
    ) -> bytes:
        """Find bounds, answer within them, and return both as they will be stored."""
        assert plan.search is not None  # noqa: S101  (for the type checker)
        bounds = private_bounds(plan.search, raw, entropy=self.entropy)
        final, stage = self.second_stage(plan, bounds)
        document = {
            "answer": json.loads(noisy(final, self.engine.run(final.request, order=order))),
            "bounds": [
                [each.about, str(each.low), str(each.high), each.seen, str(each.outside)]
                for each in bounds
            ],
            "format": _STAGES,
            "stage": stage,
        }
        return canonical(document).encode("ascii")

    def _drawn(self, program: Program) -> bytes:
        """Read the data, and return what a program will have stored."""
        order = self.order()
        raws = tuple(self.engine.run(read, order=order) for read in program.reads)
        return _finish_with_noise(
            partial(
                program.draw,
                raws,
                entropy=self.entropy,
                digest=program.digest,
                sources=self.sources(program),
            )
        )

    def read(self, stored: bytes, plan: Plan) -> Release:
        """Read an answer as it was stored; one of two stages with the plan that bounds led to."""
        if plan.search is None:
            return Release.read(stored, plan)
        from discreet.plan.bounds_search import FoundBounds  # noqa: PLC0415  rare

        try:
            document = json.loads(stored)
            bounds = tuple(
                FoundBounds(
                    about=str(about),
                    low=Fraction(low),
                    high=Fraction(high),
                    seen=bool(seen),
                    outside=Fraction(outside),
                )
                for about, low, high, seen, outside in document["bounds"]
            )
            stage, known = document["stage"], document["format"] == _STAGES
            inner = canonical(document["answer"])
        except (ValueError, KeyError, TypeError, ZeroDivisionError):
            raise _unreadable() from None
        final, expected = self.second_stage(plan, bounds)
        if not known or expected != stage:
            raise _unreadable()
        return Release.read(inner.encode("ascii"), self.keep(final))

    def _decode(self, plan: Plan, stored: StoredAnswer) -> Release:
        """Read the stored answer, in the order and at the confidence that are asked for now."""
        release = self.read(stored.answer, plan)
        if stored.replayed:
            release = Release.of(release.plan, release.parts, release.sources)
        return release.recorded(
            stored.receipt, replayed=stored.replayed, private=not self.test_mode
        )


def _finish_with_noise(finish: Callable[[], bytes]) -> bytes:
    """Draw noise and finish an answer; if that fails, the failure is what will be stored."""
    try:
        return finish()
    except (
        EngineStopped,
        SourceChanged,
    ):  # in a later stage; the noise of the first is unseen
        raise
    except Exception:  # noqa: BLE001  (its text may quote the data)
        return _FAILURE


def _answered(stored: StoredAnswer) -> StoredAnswer:
    """Return a stored answer, unless it records a failure."""
    if stored.answer != _FAILURE:
        return stored
    if stored.replayed:
        refuse_closed((stored.key,), stored.key)  # as every question that failed before
    raise answer_failed_error()


def _tables(plan: Payable) -> frozenset[str]:
    """Return the tables that any stage of a plan reads."""
    return frozenset(table for read in plan.reads for table in scanned_tables(read.relation))


def _digest(*parts: object) -> str:
    return digest(canonical(parts).encode("ascii"))


def _unreadable() -> WrongKind:
    return WrongKind(
        what="a stored answer cannot be read with its plan.",
        why="it was written by another version of this package, or changed since.",
        do="read it with the version that wrote it, or ask at another price.",
    )
