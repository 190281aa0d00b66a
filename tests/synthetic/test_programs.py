"""Synthetic tables take the steps of a question: charged, read, drawn, recorded, and told once."""

import json
import os
from dataclasses import replace
from fractions import Fraction

import pytest
from pyarrow import parquet

import discreet as dp
from discreet.accounting import Box, Leaf
from discreet.accounting.values import at_least
from discreet.engines.duckdb import DuckDB
from discreet.errors import (
    EngineFailed,
    EngineStopped,
    NotAllowed,
    OutOfRange,
    OverBudget,
    QuestionClosed,
    SourceChanged,
    WrongKind,
)
from discreet.loss import ZeroConcentrated
from discreet.query.expressions import Call, Column, Literal
from discreet.query.relations import Filter
from discreet.session.programs import Program
from discreet.synthetic.joint import UnitMoves, moved_by
from discreet.synthetic.measurer import JointMeasurer
from discreet.synthetic.methods.mst import MST
from tests.synthetic import clinic

SECRET = "Ada Lovelace has gout"  # noqa: S105  nobody's password


def kinds(session):
    kinds = [entry["kind"] for entry in session.ledger.entries()]
    return [kind for kind in kinds if kind != "describe"]


def left_of(session):
    return Fraction(session.remaining.amounts[0], 10**24)


def raising(error):
    def act(*arguments, **named):
        raise error

    return act


@pytest.fixture
def session(tmp_path):
    with clinic.opened(tmp_path, budget=dp.Budget(rho=1)) as opened:
        yield opened


def test_planning_spends_and_reads_nothing(session, monkeypatch):
    monkeypatch.setattr(DuckDB, "run", raising(AssertionError("data was read")))
    plan = clinic.planned(session)
    assert kinds(session) == ["open"]
    assert "rho 0.5" in str(plan)
    assert plan.budget_preview.fits


def test_a_table_is_charged_recorded_and_free_again(session):
    plan = clinic.planned(session)
    first = dp.synthesize(session, plan)
    assert kinds(session) == ["open", "charge", "start", "release"]
    left = left_of(session)
    assert Fraction(1, 2) <= left <= Fraction(1, 2) + Fraction(1, 10**6)
    again = dp.synthesize(session, clinic.planned(session))
    assert again.replayed
    assert kinds(session) == ["open", "charge", "start", "release"]
    assert again.evidence.digest == first.evidence.digest == plan.digest
    assert [m.values.tolist() for m in again.evidence.measured] == [
        m.values.tolist() for m in first.evidence.measured
    ]
    assert clinic.planned(session).budget_preview.entry is not None


def test_the_evidence_can_be_read_after_the_session_is_opened_again(tmp_path):
    with clinic.opened(tmp_path, budget=dp.Budget(rho=1)) as session:
        first = dp.synthesize(session, clinic.planned(session))
    with clinic.opened(tmp_path) as session:
        again = dp.synthesize(session, clinic.planned(session))
    assert again.replayed
    assert again.receipt == first.receipt
    one, two = (dp.synthetic.model_of(each.evidence) for each in (first, again))
    assert (one.marginal((0, 1)) == two.marginal((0, 1))).all()


@pytest.mark.parametrize(
    "change",
    [{"rho": "0.4"}, {"bins": 5}, {"method": dp.synthetic.Independent()}, {"columns": ["age"]}],
)
def test_other_requests_have_other_digests(session, change):
    assert clinic.planned(session).digest != clinic.planned(session, **change).digest


def test_what_does_not_fit_is_refused_before_data_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr(DuckDB, "run", raising(AssertionError("data was read")))
    with clinic.opened(tmp_path, budget=dp.Budget(rho="0.4")) as session:
        plan = clinic.planned(session)
        assert not plan.budget_preview.fits
        with pytest.raises(OverBudget):
            dp.synthesize(session, plan)
        assert kinds(session) == ["open"]


def test_a_crash_after_the_charge_is_completed_without_paying_again(session, monkeypatch):
    plan = clinic.planned(session)
    with monkeypatch.context() as patch:
        patch.setattr(DuckDB, "run", raising(KeyboardInterrupt()))
        with pytest.raises(KeyboardInterrupt):
            dp.synthesize(session, plan)
    assert kinds(session) == ["open", "charge", "start"]
    assert not dp.synthesize(session, plan).replayed
    assert kinds(session) == ["open", "charge", "start", "start", "release"]
    assert left_of(session) >= Fraction(1, 2)


@pytest.mark.parametrize(
    "where", [(DuckDB, "run"), (JointMeasurer, "select"), (JointMeasurer, "measure")]
)
def test_a_failure_is_told_once_in_one_sentence(session, monkeypatch, where):
    plan = clinic.planned(session)
    with monkeypatch.context() as patch:
        patch.setattr(*where, raising(RuntimeError(SECRET)))
        with pytest.raises(EngineFailed) as caught:
            dp.synthesize(session, plan)
    assert SECRET not in str(caught.value)
    assert caught.value.__context__ is None
    assert caught.value.__cause__ is None
    with pytest.raises(QuestionClosed):
        dp.synthesize(session, plan)
    assert left_of(session) < Fraction(501, 1000)  # what was charged stays charged


def test_poisoned_rows_are_nowhere_in_what_is_told(tmp_path, capfd):
    """Values that no category lists, and numbers far outside, leave no trace."""
    poison = [clinic.visit(7, SECRET, 10**15, True), clinic.visit(8, None, None, True)]
    rows = [*clinic.crowd(), *poison]
    with clinic.opened(tmp_path, rows, budget=dp.Budget(rho=1)) as session:
        plan = clinic.planned(session)
        release = dp.synthesize(session, plan)
        stored = session.ledger.find(plan.digest).answer.decode()
        shown = repr(release) + str(plan) + repr(release.evidence) + stored
    out, err = capfd.readouterr()
    assert SECRET not in shown + out + err
    assert str(10**15) not in shown


def test_changed_data_is_refused(tmp_path):
    path = tmp_path / "visits.parquet"
    parquet.write_table(clinic.arrow(clinic.crowd()), path)
    ledger = tmp_path / "files.ledger"
    with dp.open(
        {"visits": path}, policy=clinic.POLICY, ledger=ledger, budget=dp.Budget(rho=1)
    ) as session:
        plan = clinic.planned(session)
        parquet.write_table(clinic.arrow(clinic.crowd(61)), path)
        with pytest.raises(SourceChanged):
            dp.synthesize(session, plan)
        assert "charge" not in kinds(session)


def test_a_large_epsilon_has_to_be_confirmed(tmp_path):
    with clinic.opened(tmp_path, budget=dp.Budget(epsilon=100, delta="1e-6")) as session:
        plan = clinic.planned(session, epsilon=20, delta="1e-9")
        with pytest.raises(NotAllowed, match="confirm"):
            dp.synthesize(session, plan)
        assert not dp.synthesize(session, plan, confirm=True).replayed


def test_the_policy_limits_the_price(tmp_path):
    policy = clinic.POLICY.replace("[limits]", '[limits]\nmax_epsilon_per_question = "0.5"')
    budget = dp.Budget(epsilon=100, delta="1e-6")
    with clinic.opened(tmp_path, policy=policy, budget=budget) as session:
        with pytest.raises(NotAllowed):
            clinic.planned(session, epsilon=1, delta="1e-9")
        plan = clinic.planned(session, epsilon="0.4", delta="1e-9")
        assert plan.price.epsilon <= Fraction(1, 2)
        dp.synthesize(session, plan)
        bins = {"age": dp.synthetic.quantile_bins(epsilon="0.4", count=3)}
        dearer = clinic.planned(session, epsilon="0.4", delta="1e-9", bins=bins)
        with pytest.raises(NotAllowed):
            dp.synthesize(session, dearer)


def test_a_closed_session_makes_nothing():
    with clinic.opened() as session:
        plan = clinic.planned(session)
    with pytest.raises(WrongKind, match="closed"):
        dp.synthesize(session, plan)
    with pytest.raises(WrongKind, match="closed"):
        clinic.planned(session)


def test_a_child_that_was_forked_meanwhile_is_refused(session):
    plan = clinic.planned(session)
    child = os.fork()
    if child == 0:
        try:
            dp.synthesize(session, plan)
        except EngineStopped:
            os._exit(7)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


def test_a_session_without_a_ledger_plans_alone():
    session = dp.open({"visits": clinic.arrow(clinic.crowd())}, policy=clinic.POLICY)
    with session, pytest.raises(WrongKind, match="ledger"):
        dp.synthesize(session, clinic.planned(session))


# --- programs from elsewhere ----------------------------------------------------------------------


def test_a_program_for_another_unit_is_refused(tmp_path):
    with clinic.opened() as other:
        plan = clinic.planned(other)
    policy = clinic.POLICY.replace('unit = "patient"', 'unit = "row"\nrelation = "replace"')
    with clinic.opened(policy=policy.replace("max_groups = 2", "")) as session:
        assert session.unit.columns == ()
        with pytest.raises(WrongKind, match="not planned for this session"):
            dp.synthesize(session, plan)


def others(relation):
    while isinstance(relation, Filter):
        relation = relation.child
    return replace(relation, table="others")


@pytest.mark.parametrize("part", ["unit", "relation", "scope", "tree"])
def test_forged_programs_are_refused(session, part):
    """Reading rows of nobody's unit, other rows, or for a smaller claim is refused."""
    plan = clinic.planned(session)
    program = plan.program
    (read,) = program.reads
    cheap = Leaf(ZeroConcentrated(rho="0.001"))
    forged = {
        "unit": {"reads": (replace(read, unit=(), groups=None),)},
        "relation": {"reads": (replace(read, relation=others(read.relation)),)},
        "scope": {"scope": Box({"ward": at_least(3)})},
        "tree": {"tree": cheap},
    }[part]
    with pytest.raises((WrongKind, OutOfRange)):
        session.perform(replace(program, **forged))
    assert kinds(session) == ["open"]


def test_nobody_states_a_price(session):
    """It follows from the tree, which is worked out again before anything is charged."""
    program = clinic.planned(session).program
    with pytest.raises(TypeError):
        replace(program, price=replace(program.price, rho=Fraction(1, 1000)))
    assert replace(program, tree=Leaf(ZeroConcentrated(rho="0.001"))).price.rho == Fraction(1, 1000)


def test_conditions_on_rows_may_be_added(session):
    program = clinic.planned(session).program
    (read,) = program.reads
    narrow = Filter(read.relation, Call(">", (Column("age"), Literal(50))))
    reads = (replace(read, relation=narrow),)
    rows = session.program_rows(program.question)
    of = {"unit": program.unit, "delta": program.delta, "draw": program.draw}
    session.perform(Program.of(rows, reads=reads, **of))


def test_a_program_that_is_whole_but_about_other_rows_is_refused(session):
    """Its price and digest are right for what it reads, which the session has not bound."""
    program = clinic.planned(session).program
    (read,) = program.reads
    reads = (replace(read, relation=others(read.relation)),)
    rows = session.program_rows(program.question)
    of = {"unit": program.unit, "delta": program.delta, "draw": program.draw}
    with pytest.raises(WrongKind, match="not planned for this session"):
        session.perform(Program.of(rows, reads=reads, **of))
    assert kinds(session) == ["open"]


def test_a_program_under_the_name_of_another_is_refused(session):
    """Reads, or steps, that differ from those of the digest are not stored under it."""
    program = clinic.planned(session).program
    (read,) = program.reads
    narrow = Filter(read.relation, Call(">", (Column("age"), Literal(50))))
    other = clinic.planned(session, method=dp.synthetic.Independent()).program
    for forged in (
        replace(program, reads=(replace(read, relation=narrow),)),
        replace(program, draw=other.draw),
    ):
        with pytest.raises(OutOfRange, match="another price, or other parameters"):
            session.perform(forged)
    assert kinds(session) == ["open"]


def test_noise_for_smaller_moves_than_the_request_allows_is_refused(session):
    """The tree follows from what engines enforce, not from what a plan believes."""
    program = clinic.planned(session).program
    (read,) = program.reads
    draw = program.draw
    moved = UnitMoves(draw.task.moves.rows + 1, program.unit)
    wrong = replace(draw, task=replace(draw.task, moves=moved))
    with pytest.raises(OutOfRange, match="other bounds than its request has"):
        session.perform(replace(program, draw=wrong))
    with pytest.raises(OutOfRange, match="does not bound what one unit adds"):
        moved_by(replace(read, measures=(replace(read.totals[0], low=-3),)))
    assert kinds(session) == ["open"]


def test_methods_from_elsewhere_are_refused(session):
    """A method holds the data in its hands while it runs."""

    class Spy:
        document = MST().document

        def schedule(self, task):
            return MST().schedule(task)

        def run(self, task, measurer):
            raise AssertionError

    with pytest.raises(WrongKind, match="none of this package"):
        clinic.planned(session, method=Spy())
    with pytest.raises(WrongKind, match="none of this package"):
        clinic.planned(session, workload=object())
    with pytest.raises(WrongKind, match="none of this package"):
        clinic.planned(session, constraints=[object()])
    assert kinds(session) == ["open"]


def test_only_programs_are_performed(session):
    with pytest.raises(WrongKind, match="not a program"):
        session.perform("SELECT 1")
    with pytest.raises(WrongKind, match="plan"):
        dp.synthesize(session, clinic.planned(session).program)


# --- one draw for all -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "method",
    [
        dp.synthetic.AIM(rounds=12),
        dp.synthetic.MST(),
        dp.synthetic.MWEM(rounds=3),
        dp.synthetic.Independent(),
        dp.synthetic.DualQuery(),
    ],
    ids=lambda method: method.document["name"],
)
def test_the_same_words_give_the_same_release(method):
    """Bit by bit, on tables that hold the same rows in another order."""
    stored = []
    for rows in (clinic.crowd(), clinic.crowd()[::-1]):
        with clinic.opened(rows=rows) as session:
            session._pipeline = replace(session._pipeline, entropy=clinic.stream("words"))
            plan = clinic.planned(session, method=method)
            dp.synthesize(session, plan)
            document = json.loads(session.ledger.find(plan.digest).answer)
            del document["sources"]  # tables in memory have names of their own
            stored.append(document)
    assert stored[0] == stored[1]


def test_methods_never_hold_the_histogram():
    """A measurer shows released numbers alone."""
    shown = {name for name in dir(JointMeasurer) if not name.startswith("_")}
    assert shown == {"measure", "measured", "play", "select", "select_cell", "spent"}
    assert MST().document == {"name": "mst"}
