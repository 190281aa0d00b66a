"""A workshop of one's own is held to its plan by the session, whatever it claims."""

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pytest

import discreet as dp
from discreet import extend
from discreet.accounting import Leaf
from discreet.errors import EngineFailed, OutOfRange, OverBudget, QuestionClosed, WrongKind
from discreet.noise import KeyedEntropy
from discreet.session import Rehearsal

POLICY = """
format = 1
unit = "person"
[limits]
max_rows = 2
max_groups = 3
[tables.visits.columns.ward]
type = "string"
categories = ["A", "B"]
[tables.notes.columns.ward]
type = "string"
categories = ["A", "B"]
"""
VISITS = pa.table({"person": [1, 1, 1, 2, 3, 4], "ward": ["A", "A", "A", "B", "B", "C"]})
ONE = extend.PlannedSum(name="rows", squared=1, linear=1, opposed=False, coordinates=1)


@dataclass(frozen=True, kw_only=True)
class Count:
    """Counts rows with noise; ``seen`` keeps the count without noise."""

    schedule: extend.SumSchedule
    times: int = 1
    moves: int = 1
    seen: list

    def document(self):
        return {"kind": "count", "price": self.schedule.asked.document()}

    def charged(self, reads, unit):
        return self.schedule.charged(reads[0], unit)

    def __call__(self, raws, *, entropy, digest, sources):
        rows = int(np.clip(raws[0].totals[extend.ROWS], 0, None).sum())
        self.seen.append(rows)
        see = extend.Measurer(self.schedule, entropy)
        total = extend.BoundedSum(np.array([rows]), self.moves, self.moves, opposed=False)
        return b" ".join(b"%d" % see.measure("rows", total)[0] for _ in range(self.times))


@pytest.fixture
def session(tmp_path):
    with dp.open(
        {"visits": VISITS, "notes": VISITS},
        policy=POLICY,
        ledger=tmp_path / "a.ledger",
        budget=dp.Budget(epsilon=3),
    ) as opened:
        yield opened


def program(session, *, rows=None, table="visits", **more):
    source = session.table(table)
    question = extend.rows_question(source.rows.relation(), ("ward",))
    bound = session.program_rows(question)
    request = extend.rows_request(bound)
    schedule = extend.scheduled(
        [ONE],
        extend.AskedPrice.read(epsilon=1),
        unit=session.unit,
        rows=extend.rows_of_unit(request) if rows is None else rows,
    )
    draw = Count(schedule=schedule, seen=[], **more)
    return extend.Program.of(bound, unit=session.unit, reads=(request,), delta=None, draw=draw)


def test_a_program_is_charged_by_what_engines_enforce_and_carried_out_once(session):
    made = program(session)
    assert made.draw.schedule.rows == 6  # two rows in each of three groups
    first, again = session.perform(made), session.perform(program(session))
    assert first.answer == again.answer
    assert again.replayed
    assert made.draw.seen == [5]  # the third row of a person in a group is left out
    assert made.price.epsilon == 1


def test_a_price_for_fewer_rows_is_refused(session):
    with pytest.raises(OutOfRange, match="other bounds"):
        program(session, rows=1)


def test_another_price_or_other_rows_than_bound_are_refused(session):
    made = program(session)
    with pytest.raises(OutOfRange, match="another price"):
        session.perform(replace(made, tree=Leaf(dp.loss.Pure(epsilon="0.1"))))
    with pytest.raises(WrongKind, match="not planned for this session"):
        session.perform(replace(made, reads=program(session, table="notes").reads))
    assert made.draw.seen == []


@pytest.mark.parametrize("more", [{"times": 2}, {"moves": 2}])
def test_a_sum_that_was_not_planned_closes_the_question(session, more):
    with pytest.raises(EngineFailed):
        session.perform(program(session, **more))
    with pytest.raises(QuestionClosed):
        session.perform(program(session, **more))


def test_a_measurer_takes_no_sum_that_was_not_planned():
    schedule = extend.scheduled([ONE], extend.AskedPrice.read(rho=1), unit=dp.row(), rows=1)
    see = extend.Measurer(schedule, KeyedEntropy(key=bytes(32), label="test"))
    with pytest.raises(OverBudget, match="not planned"):
        see.measure("others", extend.BoundedSum(np.array([1]), 1, 1, opposed=False))


def test_what_fails_is_charged_and_closed_without_a_reason():
    record = Rehearsal()

    def draw():
        raise ValueError("ana is ill")

    with pytest.raises(EngineFailed) as failure:
        extend.pay_and_store(record, Leaf(dp.loss.Pure(epsilon=1)), draw, name="x", key="k")
    assert "ana" not in str(failure.value)
    assert failure.value.__context__ is None
    assert record.closed == ("x/k",)


def test_all_public_names_are_there():
    assert all(hasattr(extend, name) for name in extend.__all__)
