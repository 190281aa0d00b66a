"""A counter by day: how many units there are so far, every day of a period, for one price.

Trust: kernel.

Definition.  A unit *arrives* on the day of its first row: of the rows of a unit, MIN(day) is taken
where the rows are read, at every reading, so that it is one fact for each unit whatever its rows
are.  Let x be how many units arrive on each of n days.  A counter (:mod:`discreet.continual`)
measures one number for each day t, row t of R x with noise, from the arrivals up to that day.
Estimates of the totals follow from the measured numbers alone (key ``post-processing``).
Theorem (key ``day-counter``).  Let rows be added to a table, and none be deleted or changed.  Then
all n days together lose no more than the counter does, at distance 1 for a unit that is added, and
at distance 2 for one in the place of another.
Proof.  What is read at day t holds a unit once, on a day p(t) <= t: by the request, one row of one
group.  Later rows can only move p to an earlier day, so that p(t) falls, from p when it is first
read; the unit moves the number of day t by R[t, p(t)].  In a Toeplitz matrix with falling
coefficients this is at most R[t, p], and of blocks of a binary tree one of each height holds any p
as of the first time that it is read: each is measured once.  So the numbers move by no more than a
column of R.

One charge, made before anything is read, pays for all days (T3).  Each day is then an entry of its
own in the ledger, without a price, whose key is that of the counter and the day: it is drawn once
(key ``one-answer``), and what a run would have to remember is on record, so that a counter goes on
after a crash, and from any process, where it stopped.  A day is measured only if all days before it
are on record, and the charge.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, final

import numpy as np
import pyarrow as pa

from discreet.accounting import Leaf, Node, Repeat
from discreet.continual import BinaryTreeCounter, Counter, FactorizedCounter
from discreet.errors import OutOfRange, WrongKind
from discreet.exact import decimal, positive, whole
from discreet.loss import Pure
from discreet.mechanisms import Gaussian, Laplace
from discreet.mechanisms.mechanism import Number, at_confidence
from discreet.noise import Entropy
from discreet.plan.plan_words import shown_price
from discreet.query.expressions import Aggregate, Call, Column, Literal
from discreet.query.question import Question
from discreet.query.relations import Aggregated, Relation, Table
from discreet.query.types import Type
from discreet.release.tabular import Tabular
from discreet.requests.engine_request import EngineRequest, KeyColumn, Total
from discreet.requests.raw_totals import RawTotals
from discreet.session.programs import Program
from discreet.units import PrivacyUnit

if TYPE_CHECKING:  # which makes counters
    from discreet.session.session import Session

_ARRIVED: Final = "arrived"
_MOST_DAYS: Final = 1 << 12


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class CounterDraw:
    """What a counter is, and what all of its days cost; nothing is read for it."""

    counter: Counter
    first: date

    def document(self) -> Mapping[str, Any]:
        """Return all public parameters."""
        return {
            "kind": "counter by day",
            "counter": type(self.counter).__name__,
            "days": self.counter.length,
            "first": self.first.isoformat(),
            "noise": repr(self.counter.noise),
        }

    def charged(self, reads: tuple[EngineRequest, ...], unit: PrivacyUnit) -> Node:
        """Return the loss of all days (key ``day-counter``)."""
        if reads:
            raise OutOfRange("a counter reads nothing before its first day.")
        return counter_leaf(self.counter, unit)

    def __call__(self, raws: tuple[RawTotals, ...], **_: Any) -> bytes:  # noqa: ARG002
        """Return what is on record."""
        document = {"question": f"a counter by day from {self.first}", **self.document()}
        return json.dumps(document).encode("ascii")


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class DayDraw:
    """The number of one day, which its counter has paid for: ``paid`` is the digest of that."""

    counter: Counter
    first: date
    day: int
    paid: str

    def document(self) -> Mapping[str, Any]:
        """Return all public parameters."""
        return {"kind": "day of a counter", "day": self.day, "counter": self.paid}

    def charged(self, reads: tuple[EngineRequest, ...], unit: PrivacyUnit) -> Node:
        """Refuse a request in which a unit may count more than once; the price is paid."""
        (read,) = reads
        (total,) = read.totals
        if (total.low, total.high, read.groups) != (0, 1, 1 if read.unit else None):
            raise OutOfRange("a day of a counter is priced for less than a unit can move it.")
        return Leaf(Pure(epsilon=0), name=f"day {self.day} of counter {self.paid[:12]}", unit=unit)

    def __call__(self, raws: tuple[RawTotals, ...], *, entropy: Entropy, **_: Any) -> bytes:
        """Measure the arrivals up to the day."""
        arrivals = [0] * self.day
        (raw,) = raws
        for at, count in zip(raw.keys[0].to_pylist(), raw.totals[_ARRIVED].tolist(), strict=True):
            place = (at - self.first).days
            if 0 <= place < self.day:
                arrivals[place] += count
        noise = self.counter.law.draw(entropy)
        measured = self.counter.measurement(arrivals) + noise
        when = self.first + timedelta(days=self.day - 1)
        document = {"question": f"day {when} of a counter", "measured": int(measured)}
        return json.dumps(document).encode("ascii")


def counter_leaf(counter: Counter, unit: PrivacyUnit) -> Node:
    """Return what a counter costs: a unit is added, or takes the place of another."""
    added, two_sided = PrivacyUnit(name=unit.name, columns=unit.columns), unit.relation.replaces
    name = "counter by day"
    if isinstance(counter, BinaryTreeCounter):
        replaced = 2 if two_sided else None
        leaf = Leaf(counter.noise, name=name, unit=added, added=1, replaced=replaced)
        return Repeat(leaf, counter.depth)
    assert isinstance(counter, FactorizedCounter)  # noqa: S101 (there are two)
    loss, other = (counter.concentrated(distance=distance) for distance in (1, 2))
    return Leaf(loss, name=name, unit=added, replaced=other if two_sided else None)


def least_noise(
    days: int, unit: PrivacyUnit, *, epsilon: Fraction | None, rho: Fraction | None
) -> Counter:
    """Return the counter of a price: a binary tree for epsilon, a factorization for rho.

    >>> from discreet.units import row
    >>> least_noise(8, row(), epsilon=Fraction(1), rho=None).noise.scale
    Fraction(4, 1)
    """
    distance = 2 if unit.relation.replaces else 1
    if epsilon is not None:
        blocks = days.bit_length()
        return BinaryTreeCounter(length=days, noise=Laplace(scale=distance * blocks / epsilon))
    assert rho is not None  # noqa: S101 (one of them is given)
    one = FactorizedCounter(length=days, noise=Gaussian(variance=1))
    variance = one.concentrated(distance=distance).rho / rho
    return FactorizedCounter(length=days, noise=Gaussian(variance=variance))


@final
class DayCounter:
    """A counter that is paid for, and released day by day; ``Session.counter`` makes it."""

    def __init__(  # noqa: PLR0913  what is counted, when and at what price
        self,
        session: Session,
        table: str,
        *,
        by: str,
        first: date,
        days: int,
        epsilon: Number | None = None,
        rho: Number | None = None,
        delta: Number | None = None,
        confidence: Number | None = None,
    ) -> None:
        """Plan it; nothing is charged before ``open``."""
        if (epsilon is None) == (rho is None):
            raise WrongKind("give epsilon=1 or rho=0.1, say, for all days together.")
        if type(first) is not date:
            raise WrongKind("the first day is a date, such as datetime.date(2026, 1, 1).")
        size = whole(days, name="days", low=1, high=_MOST_DAYS)
        price = {
            name: None if value is None else positive(decimal(value, name=name), name=name)
            for name, value in (("epsilon", epsilon), ("rho", rho))
        }
        self._session, self._first = session, first
        self._delta = None if delta is None else decimal(delta, name="delta")
        given = session.policy.limits.confidence
        self._confidence = given if confidence is None else at_confidence(confidence)
        self._counter = least_noise(size, session.unit, **price)
        self._question = _arrivals(session, table, by)
        self._rows = session.program_rows(self._question)
        if self._rows.bound.keys[0].facts.type is not Type.DATE:
            raise WrongKind(f"{by} is not a date: declare it as one in the policy.")
        draw = CounterDraw(counter=self._counter, first=first)
        self._paid = self._program((), draw, self._delta)

    def _program(
        self, reads: tuple[EngineRequest, ...], draw: CounterDraw | DayDraw, delta: Fraction | None
    ) -> Program:
        return Program.of(self._rows, unit=self._session.unit, reads=reads, delta=delta, draw=draw)

    @property
    def price(self) -> str:
        """What all days cost together."""
        return shown_price(self._paid.price)

    @cached_property
    def error(self) -> int:
        """How far any one total is off, at most, at the confidence: that of the last day."""
        return self._reach(self._counter.length)

    def open(self, *, confirm: bool = False) -> DayCounter:
        """Pay for all days, once: a counter that is on record is opened for nothing."""
        self._session.perform(self._paid, confirm=confirm)
        return self

    def release(self, through: date) -> DayTotals:
        """Release every day up to one, and return the totals of all days so far.

        Days that are on record are not measured again.  Release a day once its rows are complete:
        rows that are added later count from the day of the next release.

        Args:
            through: the last day; days after the period are refused.
        """
        last = (through - self._first).days + 1
        if not 1 <= last <= self._counter.length:
            end = self._first + timedelta(days=self._counter.length - 1)
            raise OutOfRange(f"the counter runs from {self._first} to {end}.")
        if self._session.ledger.find(self._paid.digest) is None:
            raise WrongKind("the counter is not paid for: open() it first.")
        measured = [self._measured(day) for day in range(1, last + 1)]
        totals = [round(float(total)) for total in self._counter.estimates(measured)]
        ends = [self._reach(day) for day in range(1, last + 1)]
        days = [self._first + timedelta(days=at) for at in range(last)]
        return DayTotals(
            days=tuple(days), totals=tuple(totals), errors=tuple(ends), confidence=self._confidence
        )

    def _measured(self, day: int) -> int:
        """Return the number of a day, from the record or from the data."""
        draw = DayDraw(counter=self._counter, first=self._first, day=day, paid=self._paid.digest)
        program = self._program((self._read(day),), draw, None)
        return int(json.loads(self._session.perform(program).answer)["measured"])

    def _read(self, day: int) -> EngineRequest:
        """Ask for the arrivals of each day up to one."""
        (key,) = self._rows.bound.keys
        arrived = key.key.expression
        last = self._first + timedelta(days=day - 1)
        return self._rows.request(
            keys=(KeyColumn("day", arrived, Type.DATE),),
            measures=(Total(name=_ARRIVED, row=Literal(1), low=0, high=1),),
            conditions=(
                Call(">=", (arrived, Literal(self._first))),
                Call("<=", (arrived, Literal(last))),
            ),
            groups=1,
        )

    def _reach(self, day: int) -> int:
        return math.ceil(self._counter.error(confidence=self._confidence, prefix=day))

    def __repr__(self) -> str:
        """Show the period and the price."""
        return f"<counter of {self._counter.length} days from {self._first}: {self.price}>"


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class DayTotals(Tabular):
    """How many units have arrived up to each day, with intervals for the noise."""

    days: tuple[date, ...]
    totals: tuple[int, ...]
    errors: tuple[int, ...]
    confidence: Fraction

    def to_arrow(self, *_: Any, **__: Any) -> pa.Table:
        """Return a row for each day; totals are as noise left them, and not sorted."""
        totals, errors = np.array(self.totals, np.int64), np.array(self.errors, np.int64)
        return pa.table(
            {
                "day": pa.array(self.days, pa.date32()),
                "total": totals,
                "total_low": np.maximum(totals - errors - 1, 0),  # totals are rounded
                "total_high": np.maximum(totals + errors + 1, 0),
            }
        )


def _arrivals(session: Session, table: str, by: str) -> Question:
    """Return the question how many units have their first row on which day."""
    session.table(table)  # refuses unknown names
    facts = session.schema.table(table)
    assert facts is not None  # noqa: S101 (it is known)
    if facts.public or facts.link is not None:
        raise WrongKind(f"{table} does not name whom it is about; count in the table that does.")
    relation: Relation = Table(table)
    if facts.unit:
        keys = tuple((name, Column(name)) for name in facts.unit)
        relation = Aggregated(relation, keys, ((_ARRIVED, Aggregate("MIN", Column(by))),))
        by = _ARRIVED
    return Question(
        relation=relation,
        keys=((by, Column(by)),),
        outputs=(("units", Aggregate("COUNT")),),
    )
