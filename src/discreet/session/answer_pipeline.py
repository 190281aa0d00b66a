"""One answer, from the charge to the record.

Trust: kernel (T3).

The order of these steps is the promise: data is read after it was paid for, and
told after it was recorded.

    find      an answer on record is handed out again, for free
    look      data that changed since it was opened is refused
    charge    the request is paid for, or refused: durable before the next step
    start     from here on, data may be read
    draw      the engine computes bounded totals, and noise is added; missing bounds are found
              first, in the same way
    release   the answer is stored, and what is stored is handed out

Theorem (key ``one-answer``).  Only one answer is ever told under one key, however often the steps
are repeated and wherever they broke off.  Here the key follows from the plan, so a retry of the
same question continues where the last attempt ended, without paying again.
Whether an answer fails may depend on a single row, so a failure is told once for each price, always
in the same sentence, which does not give the reason.  It is on record before anybody hears of it:
    fail      data may have been read, and no noise was drawn: the question is closed, and asking
              again is refused until the owner has looked and reopens it
    release   noise was drawn: the failure is the answer, and no other noise is ever drawn for it
What no row can cause is told as it is, and asking again continues: an interrupt, a killed process,
a server that no connection reaches, data that is seen to have changed since it was opened, missing
random bits before the first noise.  A server that fails once rows are read may have failed because
of one of them.  Spark itself replaces a lost executor within the attempt.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from types import ModuleType
from typing import TYPE_CHECKING, Final, Protocol, final

from discreet.engines.engine import Engine
from discreet.engines.hash_order import HashOrder
from discreet.engines.sources.identity import scanned_tables
from discreet.errors import (
    DiscreetError,
    EngineStopped,
    EntropyError,
    SourceChanged,
    WrongKind,
)
from discreet.ledger.entries import canonical, digest
from discreet.ledger.requests import refuse_closed
from discreet.ledger.values import StoredAnswer
from discreet.noise import SYSTEM, Entropy
from discreet.plan.pricing.requested_price import check_confirmed, check_least
from discreet.release.answer import answer
from discreet.requests.raw_totals import RawTotals
from discreet.session.record import answer_failed_error

if TYPE_CHECKING:  # the record is handed in; a plain question has one stage
    from discreet.accounting import Box, Node
    from discreet.plan.plan import Plan
    from discreet.plan.policy.policy import Limits
    from discreet.plan.pricing.calibration import Price
    from discreet.requests.engine_request import EngineRequest
    from discreet.session.programs import Program
    from discreet.session.record import Record
    from discreet.session.two_stages import SecondStagePlanner

_SALT_BITS = 63
_FAILURE: Final = b'{"failed":true,"format":1}'
"""What is stored in place of an answer that failed after noise was drawn."""


class Payable(Protocol):
    """What is charged and carried out: the plan of a question, or a program."""

    @property
    def digest(self) -> str:
        """The name under which it is on record."""
        ...

    @property
    def tree(self) -> Node:
        """What is charged."""
        ...

    @property
    def scope(self) -> Box:
        """The records that pay."""
        ...

    @property
    def delta(self) -> Fraction | None:
        """The delta of which a budget may take its price."""
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
    """Carries out plans with an engine, a record, and the account that pays."""

    engine: Engine
    record: Record
    account: str | None = None
    entropy: Entropy = SYSTEM
    states: Mapping[str, str] = field(default_factory=dict)
    """The names of the states that tables were opened in, by their folded names."""
    limits: Limits | None = None
    """What the policy allows; None where a large price needs no confirmation."""
    least: Fraction = Fraction(0)
    """The least epsilon of whatever reads data and is paid for, behind a server (T1)."""

    def answer_plan(
        self, plan: Plan, *, plan_stage: SecondStagePlanner, draw: int = 1
    ) -> StoredAnswer:
        """Return the answer on record for a plan, after paying and drawing it if need be.

        Args:
            plan: what is asked.
            plan_stage: plans an answer once its bounds are found.
            draw: 1, or a higher number for another answer to the same plan.
        """
        return self.run_steps(
            plan, self.question(plan, draw), partial(self._draw, plan, plan_stage)
        )

    def perform(self, program: Program) -> StoredAnswer:
        """Return what is on record for a program, after paying and carrying it out if need be."""

        def draw() -> bytes:
            order = self.order()
            raws = tuple(self.engine.run(read, order=order) for read in program.reads)
            drawn = partial(
                program.draw,
                raws,
                entropy=self.entropy,
                digest=program.digest,
                sources=self.sources(program),
            )
            return finish_with_noise(drawn)

        return self.run_steps(program, program.digest, draw)

    def question(self, plan: Plan, draw: int) -> str:
        """Return the name under which a draw of a plan is on record."""
        return _digest(plan.digest, draw) if draw > 1 else plan.digest

    def sources(self, plan: Payable) -> tuple[tuple[str, str], ...]:
        """Return the states of the tables that a plan reads."""
        return tuple((table, self.states.get(table, "")) for table in sorted(_tables(plan)))

    def check_sources(self, plan: Payable) -> None:
        """Refuse data that changed since it was opened."""
        self.engine.identities(_tables(plan))

    def run_steps(self, plan: Payable, question: str, draw: Callable[[], bytes]) -> StoredAnswer:
        """Take all steps with a function that reads the data and returns what will be stored."""
        stored = self.record.find(question)
        if stored is not None:
            return _answered(stored)
        if self.limits is not None:
            check_confirmed(plan.price, self.limits)
        check_least(plan.price, self.least)
        self.check_sources(plan)
        key = self._pay(plan, question)
        begun = self.record.start(key)
        if isinstance(begun, StoredAnswer):
            return _answered(begun)
        return _answered(self.record.release(key, self._close_on_failure(key, draw)))

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
        if failure is None:  # raised here, where the other error is out of sight
            self.record.fail(key)
            failure = answer_failed_error()
        raise failure

    def _pay(self, plan: Payable, question: str) -> str:
        """Pay for a plan, and return the key of the charge.

        A loss that a budget cannot count as it is may be counted outside an event of the plan's
        delta; the currencies of the accounts decide which.
        """
        try:
            return self._charge(plan, question, None)
        except WrongKind:
            if plan.delta is None:
                raise
        return self._charge(plan, question, plan.delta)

    def keys(self, plan: Plan) -> frozenset[str]:
        """Return the keys under which a plan may have been paid for."""
        return frozenset(self._key(plan.digest, delta) for delta in (None, plan.delta))

    def _key(self, question: str, delta: Fraction | None) -> str:
        if delta is None and self.account is None:
            return question
        return _digest(question, None if delta is None else str(delta), self.account)

    def _charge(self, plan: Payable, question: str, delta: Fraction | None) -> str:
        key = self._key(question, delta)
        self.record.charge(
            plan.tree,
            key=key,
            question=question,
            scope=plan.scope,
            delta=delta,
            account=self.account,
        )
        return key

    def _draw(self, plan: Plan, plan_stage: SecondStagePlanner) -> bytes:
        """Read the data, and return an answer as it will be stored."""
        order = self.order()
        if plan.search is None:
            raw = self.engine.run(plan.request, order=order)
            return finish_with_noise(partial(self._add_noise, plan, raw))
        written: bytes = two_stages().draw_in_stages(
            plan,
            plan_stage,
            engine=self.engine,
            entropy=self.entropy,
            order=order,
            sources=self.sources(plan),
        )
        return written

    def _add_noise(self, plan: Plan, raw: RawTotals) -> bytes:
        """Add noise, and return an answer as it will be stored, with the states of its tables."""
        release = answer(plan, raw, entropy=self.entropy)
        return replace(release, sources=self.sources(plan)).written()

    def order(self) -> HashOrder:
        """Draw the order in which groups of a unit are kept, anew for every attempt."""
        return HashOrder(salt=self.entropy.bits(_SALT_BITS))


def two_stages() -> ModuleType:
    """Return what draws and reads answers in two stages, which are rare."""
    from discreet.session import two_stages as module  # noqa: PLC0415  rare

    return module


def finish_with_noise(finish: Callable[[], bytes]) -> bytes:
    """Draw noise and finish an answer; if that fails, the failure is what will be stored."""
    try:
        return finish()
    except (
        EngineStopped,
        SourceChanged,
    ):  # in a later stage; nobody has seen the noise of the first
        raise
    except Exception:  # noqa: BLE001  (its text may quote the data)
        return _FAILURE


def _answered(stored: StoredAnswer) -> StoredAnswer:
    """Return a stored answer, unless it says that there is none."""
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
