"""Answers whose bounds are found first: one charge, one answer, and nothing of the data besides."""

import math
from fractions import Fraction
from itertools import product

import pyarrow as pa
import pytest

import discreet as dp
import discreet.session as sessions
from discreet.engines.duckdb import DuckDB
from discreet.errors import (
    DiscreetError,
    EngineFailed,
    MissingBounds,
    OverBudget,
    QuestionClosed,
    WrongKind,
)
from discreet.release import answer as bounds_found
from discreet.session import answer_pipeline as bounding
from discreet.session.record import Rehearsal
from tests.session.test_crashes import kinds, raising
from tests.session.test_secrets import NUMBER, WORD, clean, everything_about

POLICY = """
format = 1
unit = "patient"
[budget]
epsilon = "4"
[limits]
max_groups = 2
max_rows = 2
[tables.visits.columns.ward]
type = "text"
categories = ["A", "B"]
"""
MEAN = "SELECT AVG(amount) AS m FROM visits"
BY_WARD = (
    "SELECT ward, AVG(amount) AS m, SUM(amount) AS s, COUNT(*) AS n, MEDIAN(days) AS d "
    "FROM visits GROUP BY ward"
)
ONE = {"epsilon": 1, "bounds": dp.estimate(epsilon="0.5")}
EXACT = {"epsilon": "1e20", "bounds": dp.estimate(epsilon="1e20")}


@pytest.fixture(autouse=True)
def _no_false_alarms(monkeypatch):
    """Let bins stand out by mistake as rarely as any other test here may fail."""
    monkeypatch.setattr(bounds_found, "FALSE_ALARM", Fraction(1, 10**9))


def visits(patients=1000, **columns):
    who = [at for at in range(patients) for _ in range(2)]
    made = {
        "patient": pa.array(who, pa.int64()),
        "ward": pa.array(["AB"[at % 2] for at in who], pa.string()),
        "amount": pa.array([20.0 + (7 * at) % 60 for at in range(len(who))], pa.float64()),
        "days": pa.array([at % 9 for at in range(len(who))], pa.int64()),
    }
    return pa.table({**made, **columns})


def opened(folder, source=None, **changes):
    arguments = {"policy": POLICY, "ledger": folder / "clinic.ledger", **changes}
    return sessions.open({"visits": visits() if source is None else source}, **arguments)


def spent(session):
    return 4 - Fraction(session.remaining.amounts[0], 10**24)


def test_bounds_are_found_and_the_answer_is_within_them(tmp_path):
    with opened(tmp_path) as session:
        answer = session.ask(BY_WARD, **ONE)
        assert all(each.seen for each in answer.plan.found)
        low, high = answer.plan.found[0].bounds
        assert (low <= 20, high >= 64) == (True, True)
        assert spent(session) == Fraction(3, 2)
        assert kinds(session) == ["open", "charge", "start", "release"]
        assert answer.plan.price.epsilon == Fraction(3, 2)
        assert answer.loss.epsilon(delta=0) <= math.nextafter(1.5, 2)
        for row in answer.rows():
            assert abs(row["m"] - 49.5) < 40
        assert "Bounds were found privately: amount from" in str(answer)
        assert "Bounds were found" in answer._repr_html_()
        assert "amount from" in answer.plan.details
        assert session.ledger.verify().ok


def test_the_same_question_is_answered_once(tmp_path):
    with opened(tmp_path) as session:
        answer = session.ask(BY_WARD, **ONE)
        again = session.ask(BY_WARD.lower().replace("'a'", "'A'"), **ONE)
        assert again.replayed
        assert again.to_arrow().equals(answer.to_arrow())
        assert again.plan.found == answer.plan.found
        assert session.ask(answer.plan).replayed
        assert session.ask(session.plan(BY_WARD, **ONE)).replayed
        assert spent(session) == Fraction(3, 2)
        mean = session.ask(MEAN, **ONE)
        wide = session.ask(MEAN, **ONE, confidence="0.999")
        assert wide.replayed
        assert wide.plan.found == mean.plan.found
        assert wide.rows()[0]["m_high"] > mean.rows()[0]["m_high"]
        assert spent(session) == 3
    with opened(tmp_path) as session:
        reopened = session.ask(BY_WARD, **ONE)
        assert reopened.replayed
        assert reopened.to_arrow().equals(answer.to_arrow())
        assert spent(session) == 3


def test_another_price_of_bounds_is_another_answer(tmp_path):
    with opened(tmp_path) as session:
        session.ask(MEAN, **ONE)
        other = session.ask(MEAN, epsilon=1, bounds=dp.estimate(epsilon="0.25"))
        assert not other.replayed
        assert spent(session) == Fraction(11, 4)
        with pytest.raises(OverBudget):
            session.ask(MEAN, epsilon=1, bounds=dp.estimate(epsilon="0.26"))


def test_bounds_are_paid_for_once_when_remeasuring(tmp_path):
    with opened(tmp_path) as session:
        answer = session.ask(BY_WARD, **ONE)
        both = session.remeasure(answer, epsilon=1)
        assert spent(session) == Fraction(5, 2)
        assert both.plan.found == answer.plan.found
        assert both.plan.search is None
        assert session.remeasure(answer, epsilon=1).replayed
        third = session.remeasure(both, epsilon=1)
        assert not third.replayed
        assert spent(session) == Fraction(7, 2)
        assert "Bounds were found" in str(third)
        narrow = [row["m_high"] - row["m_low"] for row in third.rows()]
        assert max(narrow) < min(row["m_high"] - row["m_low"] for row in answer.rows())


def test_a_question_can_be_asked_and_remeasured_at_once(tmp_path):
    with opened(tmp_path) as session:
        session.remeasure(MEAN, **ONE)
        assert spent(session) == Fraction(5, 2)


def test_in_test_mode_there_is_no_noise():
    with sessions.open({"visits": visits()}, policy=POLICY, test_mode=True) as session:
        answer = session.ask(BY_WARD, **EXACT)
        assert [each.bounds for each in answer.plan.found] == [(0, 128), (0, 15)]
        rows = answer.rows()
        assert [row["n"] for row in rows] == [1000, 1000]
        assert sum(row["s"] for row in rows) == pytest.approx(
            sum(20.0 + (7 * at) % 60 for at in range(2000)), rel=1e-6
        )


@pytest.mark.parametrize("stage", [1, 2])
@pytest.mark.parametrize("error", [RuntimeError("value-4711"), KeyError("value-4711")])
def test_a_stage_that_fails_leaves_the_charge_and_a_retry_completes_it(
    tmp_path, monkeypatch, stage, error
):
    calls, run = [], DuckDB.run

    def failing(self, lowered, *, order):
        calls.append(lowered)
        if len(calls) == stage:
            raise error
        return run(self, lowered, order=order)

    with opened(tmp_path) as session:
        with monkeypatch.context() as patch:
            patch.setattr(DuckDB, "run", failing)
            with pytest.raises(EngineFailed) as caught:
                session.ask(MEAN, **ONE)
        assert len(calls) == stage
        assert "4711" not in everything_about(caught.value)
        # noise was drawn in the first stage, so that a failure of the second is the answer
        end = "fail" if stage == 1 else "release"
        assert kinds(session) == ["open", "charge", "start", end]
        assert spent(session) == Fraction(3, 2)
        with pytest.raises(QuestionClosed):
            session.ask(MEAN, **ONE)
        assert kinds(session) == ["open", "charge", "start", end]


@pytest.mark.parametrize("step", ["private_bounds", "answer"])
def test_noise_that_fails_is_one_sentence_too(tmp_path, monkeypatch, step):
    with opened(tmp_path) as session:
        with monkeypatch.context() as patch:
            patch.setattr(bounding, step, raising(ValueError("value-4711")))
            with pytest.raises(EngineFailed) as caught:
                session.ask(MEAN, **ONE)
        assert "4711" not in everything_about(caught.value)
        with pytest.raises(QuestionClosed):
            session.ask(MEAN, **ONE)


POISON = [math.nan, math.inf, -math.inf, 1e308, -1e308, 5e-324, -0.0, None]


@pytest.mark.parametrize(
    ("amounts", "patients"),
    [
        (POISON, 0),
        *product([POISON, [1e308], [math.nan], [None], [0.0], [-3.0, -5.0]], [1, 400]),
    ],
)
def test_any_data_gives_an_answer_of_the_same_shape(tmp_path, amounts, patients):
    column = pa.array([amounts[at % len(amounts)] for at in range(2 * patients)], pa.float64())
    texts = "SELECT AVG(amount) AS m, SUM(amount) AS s, VAR_POP(amount) AS v, MAX(amount) AS t"
    with opened(tmp_path, visits(patients, amount=column)) as session:
        answer = session.ask(f"{texts} FROM visits", **ONE)
        assert answer.names == ("m", "s", "v", "t")
        assert len(answer) == 1
        assert all(math.isfinite(value) for value in answer.rows()[0].values() if value is not None)
        (found,) = answer.plan.found
        assert found.low < found.high
        assert spent(session) == Fraction(3, 2)


@pytest.mark.parametrize("days", [[2**63 - 1, -(2**63)], [0], [None, 1], [-1, -3, 7]])
@pytest.mark.parametrize("patients", [1, 400])
def test_whole_numbers_of_any_size(tmp_path, days, patients):
    column = pa.array([days[at % len(days)] for at in range(2 * patients)], pa.int64())
    texts = "SELECT AVG(days) AS m, SUM(days) AS s, STDDEV(days) AS v, MEDIAN(days) AS t"
    with opened(tmp_path, visits(patients, days=column)) as session:
        answer = session.ask(f"{texts} FROM visits", **ONE)
        assert len(answer) == 1
        assert answer.plan.found[0].seen == (patients > 1)
        assert spent(session) == Fraction(3, 2)


@pytest.mark.parametrize("patients", [0, 2])
def test_few_people_get_the_widest_bounds_for_the_same_price(tmp_path, patients):
    with opened(tmp_path, visits(patients)) as session:
        answer = session.ask(MEAN, **ONE, confidence="0.999999")
        (found,) = answer.plan.found
        assert not found.seen
        assert found.bounds == (-(2**64), 2**64)
        assert "no bin stood out from the noise" in str(answer)
        assert spent(session) == Fraction(3, 2)
        assert answer.rows()[0]["m_low"] <= 50 <= answer.rows()[0]["m_high"]


def test_private_groups_and_a_delta(tmp_path):
    policy = POLICY.replace('epsilon = "4"', 'epsilon = "4"\ndelta = "1e-6"')
    policy = policy.replace('categories = ["A", "B"]', "")
    with opened(tmp_path, policy=policy) as session:
        text = "SELECT ward, AVG(amount) AS m, COUNT(*) AS n FROM visits GROUP BY ward"
        answer = session.ask(text, **ONE, delta="1e-8")
        assert answer["ward"].to_pylist() == ["A", "B"]
        assert session.ask(text, **ONE, delta="1e-8").replayed


def test_a_price_in_rho(tmp_path):
    policy = POLICY.replace('epsilon = "4"', 'rho = "1"')
    with opened(tmp_path, policy=policy) as session:
        answer = session.ask(BY_WARD, rho="0.1", bounds=dp.estimate(rho="0.01"))
        left = session.remaining.amounts[0]
        assert 0 <= left - (10**24 - Fraction(11, 100) * 10**24) < 10**19
        assert session.ask(BY_WARD, rho="0.1", bounds=dp.estimate(rho="0.01")).replayed
        assert answer.plan.price.rho <= Fraction(11, 100)
        session.ask(MEAN, **ONE)  # an epsilon, counted in rho


def test_an_epsilon_budget_pays_for_a_rho_at_a_delta(tmp_path):
    policy = POLICY.replace('epsilon = "4"', 'epsilon = "4"\ndelta = "1e-6"')
    with opened(tmp_path, policy=policy) as session:
        rho = session.remaining.budget.components.index("rho")
        before = session.remaining.amounts[rho]
        session.ask(MEAN, rho="0.05", delta="1e-8", bounds=dp.estimate(rho="0.005"))
        used = Fraction(before - session.remaining.amounts[rho], 10**24)
        assert Fraction(54, 1000) < used <= Fraction(55, 1000)


def test_rows_that_are_units(tmp_path):
    policy = POLICY.replace('unit = "patient"', 'unit = "row"')
    with opened(tmp_path, policy=policy) as session:
        answer = session.ask(BY_WARD, **ONE)
        assert answer.plan.found[0].seen


def test_the_table_builder_takes_it_too(tmp_path):
    with opened(tmp_path) as session:
        inquiry = session.table("visits").mean("amount", name="m")
        assert inquiry.plan(**ONE).search is not None
        assert inquiry.ask(**ONE).names == ("m",)
        assert session.ask(MEAN, **ONE).replayed


def test_what_is_refused_costs_nothing(tmp_path):
    with opened(tmp_path) as session:
        with pytest.raises(MissingBounds, match="estimate"):
            session.ask(MEAN, epsilon=1)
        with pytest.raises(WrongKind):
            session.ask(MEAN, epsilon=1, bounds=0.5)
        with pytest.raises(WrongKind):
            session.ask(session.plan(MEAN, **ONE), bounds=dp.estimate(epsilon=1))
        with pytest.raises(WrongKind):
            session.ask(MEAN, error={"m": 1}, bounds=dp.estimate(epsilon=1))
        assert kinds(session) == ["open"]


@pytest.mark.parametrize("damage", [b"{}", b"[]", b'{"bounds":[["amount","1","2",true]]}', b"\xff"])
def test_a_stored_answer_that_was_changed_is_refused(monkeypatch, damage):
    with sessions.open({"visits": visits()}, policy=POLICY, test_mode=True) as session:
        release = Rehearsal.release
        monkeypatch.setattr(
            Rehearsal, "release", lambda self, key, answer: release(self, key, damage)
        )
        with pytest.raises(WrongKind):
            session.ask(MEAN, **EXACT)


def test_bounds_of_another_plan_are_refused(monkeypatch):
    with sessions.open({"visits": visits()}, policy=POLICY, test_mode=True) as session:
        release = Rehearsal.release

        def changed(self, key, answer):
            assert b'"128"' in answer
            return release(self, key, answer.replace(b'"128"', b'"256"'))

        monkeypatch.setattr(Rehearsal, "release", changed)
        with pytest.raises(WrongKind):
            session.ask(MEAN, **EXACT)


def test_no_value_of_the_table_is_told(tmp_path, capfd):
    people = [f"{WORD}-{who}" for who in range(300) for _ in range(2)]
    amounts = pa.array([float(NUMBER) if at % 2 else math.nan for at in range(600)])
    table = visits(300, patient=people, ward=[WORD] * 600, amount=amounts)
    with opened(tmp_path, table) as session:
        for text in (MEAN, BY_WARD, f"{MEAN} WHERE ward = 'A'", f"{MEAN} WHERE wrad = 'A'"):
            try:
                answer = session.ask(text, epsilon="0.1", bounds=dp.estimate(epsilon="0.1"))
            except DiscreetError as error:
                clean(everything_about(error))
                continue
            clean(answer.plan.details + repr(answer.plan.search) + repr(answer.plan.found))
            for found in answer.plan.found:
                assert {found.low, found.high} <= {0, *_ends()}
        clean("".join(str(entry) for entry in session.ledger.entries()))
    clean("".join(capfd.readouterr()))


def _ends():
    floats = [sign * Fraction(2) ** k for k in range(-64, 65) for sign in (1, -1)]
    return {*floats, *(sign * (2**k - 1) for k in range(64) for sign in (1, -1))}
