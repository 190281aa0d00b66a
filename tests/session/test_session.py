"""Asking: plans, answers, replays, refusals, and what a session shows."""

import threading
from dataclasses import replace
from fractions import Fraction

import pyarrow as pa
import pytest

import discreet as dp
import discreet.session as sessions
from discreet.accounting import Budget
from discreet.engines.duckdb import DuckDB
from discreet.engines.engine import HashOrder
from discreet.errors import (
    BadPolicy,
    MissingBounds,
    NotAllowed,
    NotPerUnit,
    OtherLedger,
    OverBudget,
    UnknownName,
    UnreadableSource,
    UnsupportedSQL,
    WrongKind,
)
from discreet.ledger import Ledger
from discreet.mechanisms import Gaussian, Laplace
from discreet.query import read, table
from tests.session.clinic import BY_WARD, COUNT, EXACT, POLICY, in_test_mode, opened, visits


def spent(session):
    left = session.remaining
    return Fraction(left.budget.limit[0] - left.amounts[0], 10**24)


# --- answers ----------------------------------------------------------------------------------


def test_an_answer_is_charged_recorded_and_near_the_truth(tmp_path):
    with opened(tmp_path) as session:
        plan = session.plan(COUNT, epsilon=1)
        assert spent(session) == 0
        release = session.ask(plan)
        assert spent(session) == 1
        assert abs(release.rows()[0]["n"] - 80) < 200  # noise of scale 3
        assert not release.replayed
        assert release.plan == plan
        report = session.ledger.verify(receipts=[release.receipt])
        assert report.ok
        kinds = [entry["kind"] for entry in session.ledger.entries()]
        assert kinds.pop(1) == "describe"
        assert kinds == ["open", "charge", "start", "release"]


def test_answers_without_noise_are_right():
    with in_test_mode() as session:
        rows = session.ask(BY_WARD, **EXACT).rows()
        assert [(row["ward"], row["n"]) for row in rows] == [("A", 40), ("B", 40), ("C", 0)]
        assert rows[0]["cost"] == pytest.approx(
            sum(10 + who % 7 for who in range(0, 40, 2)) / 20, abs=1e-3
        )


@pytest.mark.parametrize(
    "question",
    [
        COUNT,
        read(COUNT),
        table("visits").count(name="n"),
    ],
    ids=["text", "question", "builder"],
)
def test_a_question_comes_in_many_forms_and_is_one(tmp_path, question):
    with opened(tmp_path) as session:
        first = session.ask(COUNT, epsilon="0.5")
        again = session.ask(question, epsilon="0.5")
        assert again.replayed
        assert again.rows() == first.rows()
        assert spent(session) == Fraction(1, 2)


def test_the_builder_of_a_session_plans_and_asks(tmp_path):
    with opened(tmp_path) as session:
        inquiry = session.table("visits").where("region = 'north'").group_by("ward").count(name="n")
        assert inquiry.plan(epsilon="0.1").digest == session.plan(inquiry, epsilon="0.1").digest
        assert len(inquiry.ask(epsilon="0.1")) == 3
        joined = session.table("visits").join(session.table("visits"), using=("patient", "visit"))
        assert joined.count().plan(epsilon="0.1")
        assert {"where", "group_by", "plan", "ask"} <= set(dir(session.table("visits")))
        assert "visits" in repr(inquiry)
        with pytest.raises(WrongKind):
            session.table("visits").ask(epsilon=1)
        with pytest.raises(AttributeError):
            session.table("visits").delete_everything()
        with pytest.raises(UnknownName):
            session.table("bills")


def test_the_same_question_again_is_free_also_in_another_session(tmp_path):
    with opened(tmp_path) as session:
        first = session.ask(BY_WARD, epsilon=1)
    with opened(tmp_path) as session:
        spelled = " select ward, count(*) n, avg(COST) cost from VISITS group by 1"
        again = session.ask(spelled, epsilon=1)
        assert again.replayed
        assert again.rows() == first.rows()
        assert again.receipt == first.receipt
        assert "Replayed" in str(again)
        assert spent(session) == 1


def test_a_replay_shows_errors_at_the_confidence_that_is_asked_for(tmp_path):
    with opened(tmp_path) as session:
        wide = session.ask(COUNT, epsilon=1, confidence="0.99").rows()[0]
        narrow = session.ask(COUNT, epsilon=1, confidence="0.5").rows()[0]
        assert narrow["n"] == wide["n"]
        assert narrow["n_high"] - narrow["n"] < wide["n_high"] - wide["n"]
        assert spent(session) == 1


def test_another_price_is_another_question(tmp_path):
    with opened(tmp_path) as session:
        session.ask(COUNT, epsilon="0.5")
        assert not session.ask(COUNT, epsilon="0.25").replayed
        assert spent(session) == Fraction(3, 4)


def test_an_error_can_be_asked_for_in_place_of_a_price(tmp_path):
    with opened(tmp_path) as session:
        plan = session.plan(COUNT, error={"n": 20})
        assert plan.predicted[0].half_width <= 20
        row = session.ask(plan).rows()[0]
        assert row["n_high"] - row["n"] <= 20


def test_questions_about_disjoint_groups_cost_the_maximum(tmp_path):
    with opened(tmp_path) as session:
        for region in ("north", "south"):
            session.ask(f"{COUNT} WHERE region = '{region}'", epsilon="0.8")
        assert spent(session) == Fraction(4, 5)
        session.ask(COUNT, epsilon="0.8")
        assert spent(session) == Fraction(8, 5)


def test_threads_that_ask_the_same_get_the_same(tmp_path):
    with opened(tmp_path) as session:
        found = []

        def ask():
            found.append(session.ask(BY_WARD, epsilon=1).rows())

        threads = [threading.Thread(target=ask) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(found) == 6
        assert all(rows == found[0] for rows in found)
        assert spent(session) == 1


# --- refusals ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("question", "price", "error"),
    [
        ("SELECT * FROM visits", {"epsilon": 1}, UnsupportedSQL),
        ("SELECT COUNT(*) FROM bills", {"epsilon": 1}, UnknownName),
        ("SELECT SUM(visit) FROM visits", {"epsilon": 1}, MissingBounds),
        ("SELECT COUNT(*) FROM (SELECT DISTINCT ward FROM visits)", {"epsilon": 1}, NotPerUnit),
        (COUNT, {}, WrongKind),
        (COUNT, {"epsilon": 1, "rho": 1}, WrongKind),
        (COUNT, {"epsilon": "1.5"}, NotAllowed),
        (7, {"epsilon": 1}, WrongKind),
        (COUNT, {"error": 5}, WrongKind),
        (COUNT, {"error": {1: 2}}, WrongKind),
    ],
)
def test_what_can_be_refused_is_refused_before_it_is_charged(tmp_path, question, price, error):
    with opened(tmp_path) as session:
        with pytest.raises(error):
            session.ask(question, **price)
        assert [entry["kind"] for entry in session.ledger.entries()] == ["open", "describe"]


def test_a_budget_is_not_overspent(tmp_path):
    with opened(tmp_path) as session:
        session.ask(COUNT, epsilon=1)
        session.ask(BY_WARD, epsilon=1)
        with pytest.raises(OverBudget):
            session.ask(f"{COUNT} WHERE ward = 'A'", epsilon="0.1")
        assert session.ask(COUNT, epsilon=1).replayed


def test_a_plan_of_another_session_is_refused(tmp_path):
    loose = POLICY.replace("max_rows = 3", "max_rows = 1")
    with in_test_mode(policy=loose) as other, opened(tmp_path) as session:
        plan = other.plan(COUNT, epsilon=1)
        with pytest.raises(WrongKind):
            session.ask(plan)
        with pytest.raises(WrongKind):
            session.ask(session.plan(COUNT, epsilon=1), epsilon=1)


def test_a_changed_plan_is_refused(tmp_path):
    with opened(tmp_path) as session:
        dear, cheap = session.plan(COUNT, epsilon=1), session.plan(COUNT, epsilon="0.001")
        with pytest.raises(WrongKind, match="not made by this session"):
            session.ask(replace(cheap, noises=dear.noises))
        assert spent(session) == 0


def test_a_closed_session_answers_nothing(tmp_path):
    session = opened(tmp_path)
    session.close()
    session.close()
    assert session.closed
    assert repr(session).startswith("<closed session")
    assert "closed" in session._repr_html_()
    with pytest.raises(WrongKind):
        session.ask(COUNT, epsilon=1)


# --- opening ----------------------------------------------------------------------------------


def test_without_a_ledger_questions_are_planned_and_not_asked(monkeypatch):
    def read(self, lowered, *, order):
        raise AssertionError

    with sessions.open({"visits": visits()}, policy=POLICY) as session:
        assert session.plan(COUNT, epsilon=1).price.epsilon == 1
        assert session.remaining is None
        assert "no ledger" in repr(session)
        assert not session.test_mode
        with pytest.raises(NotAllowed):
            session.plan(COUNT, epsilon=2)
        monkeypatch.setattr(DuckDB, "run", read)
        with pytest.raises(WrongKind) as caught:
            session.ask(COUNT, epsilon=1)
    assert "ledger='clinic.ledger'" in caught.value.do


def test_test_mode_has_no_ledger(tmp_path):
    with pytest.raises(WrongKind):
        sessions.open({"visits": visits()}, policy=POLICY, ledger=tmp_path / "x", test_mode=True)
    assert not (tmp_path / "x").exists()


def test_test_mode_says_so_everywhere():
    with in_test_mode() as session:
        assert session.test_mode
        assert session.remaining is None
        release = session.ask(COUNT, **EXACT)
        assert release.rows()[0]["n"] == 80
        for shown in (repr(session), session._repr_html_(), str(session.ledger)):
            assert "test mode" in shown
        for shown in (str(release), release._repr_html_()):
            assert "not private" in shown.lower()
        assert session.ask(COUNT, **EXACT).replayed


def test_unit_and_budget_may_be_given_in_the_call(tmp_path):
    rules = POLICY.replace('unit = "patient"\n[budget]\nepsilon = "2"\n', "")
    with opened(
        tmp_path, policy=rules, unit=dp.person("patient"), budget=dp.Budget(epsilon=2)
    ) as session:
        session.ask(COUNT, epsilon=1)
    with opened(tmp_path) as session:
        assert session.ask(COUNT, epsilon=1).replayed


def test_what_differs_from_the_policy_or_the_ledger_is_refused(tmp_path):
    opened(tmp_path).close()
    with pytest.raises(BadPolicy):
        opened(tmp_path, unit=dp.row())
    with pytest.raises(BadPolicy):
        opened(tmp_path, budget=Budget(epsilon=3))
    opened(tmp_path, policy=POLICY.replace("constant = true", "constant = false")).close()
    with pytest.raises(OtherLedger):
        opened(tmp_path, policy=POLICY.replace('epsilon = "2"', 'epsilon = "3"'))
    with pytest.raises(OtherLedger):
        opened(tmp_path, policy=POLICY.replace('"patient"', '"visit"'))


def test_a_ledger_that_is_given_stays_open_and_has_to_fit(tmp_path):
    with Ledger.open(
        tmp_path / "own.ledger",
        unit=dp.person("patient"),
        budget=Budget(epsilon=2),
    ) as ledger:
        with opened(tmp_path, ledger=ledger) as session:
            session.ask(COUNT, epsilon=1)
        assert ledger.left().amounts[0] == 10**24
        opened(tmp_path, ledger=ledger, policy=POLICY.replace("constant = true", "")).close()
    other = Ledger.open(tmp_path / "other.ledger", unit=dp.row(), budget=Budget(epsilon=2))
    with other, pytest.raises(OtherLedger):
        opened(tmp_path, ledger=other)


def test_accounts_pay_and_share_answers(tmp_path):
    with opened(tmp_path) as session:
        session.ledger.open_account("data/ana", budget=Budget(epsilon=1), by="sam")
        session.ledger.open_account("data/bo", budget=Budget(epsilon=1), by="sam")
    with opened(tmp_path, account="data/ana") as ana:
        first = ana.ask(COUNT, epsilon=1)
        assert spent(ana) == 1
        with pytest.raises(OverBudget):
            ana.ask(BY_WARD, epsilon="0.1")
    with opened(tmp_path, account="data/bo") as bo:
        again = bo.ask(COUNT, epsilon=1)
        assert again.replayed
        assert again.rows() == first.rows()
        assert spent(bo) == 0
    with pytest.raises(NotAllowed):
        opened(tmp_path, account="data/ci")


def test_only_listed_analysts_open(tmp_path):
    rules = POLICY + '[who]\nanalysts = ["ana"]\n'
    opened(tmp_path, policy=rules, analyst="ana").close()
    with pytest.raises(NotAllowed):
        opened(tmp_path, policy=rules)


def test_csv_parquet_and_databases(tmp_path):
    import duckdb  # noqa: PLC0415  what a user has at hand
    import pyarrow.csv  # noqa: PLC0415
    import pyarrow.parquet  # noqa: PLC0415

    pyarrow.csv.write_csv(visits(), tmp_path / "visits.csv")
    pyarrow.parquet.write_table(visits(), tmp_path / "visits.parquet")
    with duckdb.connect(str(tmp_path / "clinic.duckdb")) as database:
        database.execute(
            "CREATE TABLE visits AS SELECT * FROM read_parquet(?)",
            [str(tmp_path / "visits.parquet")],
        )
    for name in ("visits.csv", "visits.parquet", "clinic.duckdb", "v*s.parquet"):
        with sessions.open(tmp_path / name, policy=POLICY, test_mode=True) as session:
            assert session.ask(BY_WARD, **EXACT).rows()[0]["n"] == 40, name
    with pytest.raises(UnreadableSource):
        sessions.open(tmp_path / "nothing.csv", policy=POLICY, test_mode=True)


def test_rows_as_units():
    rules = 'format = 1\nunit = "row"\n[limits]\nmax_rows = 1'
    with in_test_mode(policy=rules) as session:
        assert session.ask(COUNT, **EXACT).rows()[0]["n"] == 80


def test_a_gaussian_plan_is_charged_in_every_currency(tmp_path):
    price = {"epsilon": "0.5", "delta": "1e-9"}
    question = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward"
    clause = f"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (noise = gaussian) {question[7:]}"
    for number, budget in enumerate(
        [
            Budget(epsilon=2, delta="1e-6"),
            Budget(rho=1),
        ]
    ):
        rules = POLICY.replace('[budget]\nepsilon = "2"\n', "")
        path = tmp_path / f"{number}.ledger"
        with opened(tmp_path, policy=rules, budget=budget, ledger=path) as session:
            assert not session.ask(clause, **price).replayed
            assert session.ask(clause, **price).replayed
            assert session.ledger.verify().ok


# --- shown ------------------------------------------------------------------------------------


def test_a_session_shows_schema_unit_and_budget(tmp_path):
    with opened(tmp_path) as session:
        session.ask(COUNT, epsilon="0.5")
        assert "75 % of the budget left, about 3 more like this, for one" in repr(session)
        html = session._repr_html_()
        assert "<svg" in html
        assert "75 %" in html
        for word in ("region", "from 0 to 100", "3 categories", "names the unit", "constant"):
            assert word in html
        assert list(session.tables) == ["visits"]
        assert session.tables["visits"].column("region").constant
        assert session.policy.limits.max_rows == 3
        assert session.unit == dp.person("patient")


def test_names_are_escaped():
    frame = pa.table({"<b>": [1], "p": [1]})
    rules = 'format = 1\nunit = "p"'
    with sessions.open({"t": frame}, policy=rules, test_mode=True) as session:
        assert "&lt;b&gt;" in session._repr_html_()
        assert "<b>&" not in session._repr_html_()


@pytest.mark.parametrize(
    ("budget", "law"), [(Budget(epsilon=5), Laplace), (Budget(rho=5), Gaussian)]
)
def test_errors_are_bought_in_the_currency_of_the_budget(tmp_path, budget, law):
    rules = 'format = 1\nunit = "patient"\n[limits]\nmax_rows = 3'
    where = {"policy": rules, "budget": budget, "ledger": tmp_path / "errors.ledger"}
    with sessions.open({"visits": visits()}, **where) as session:
        plan = session.plan(COUNT, error={"n": 10})
        assert isinstance(plan.noises[0].mechanism, law)
        session.ask(plan)
        with_price = session.plan(COUNT, epsilon=1)
        assert isinstance(with_price.noises[0].mechanism, Laplace)


def test_errors_are_bought_in_epsilon_where_the_policy_limits_epsilon(tmp_path):
    rules = 'format = 1\nunit = "patient"\n[limits]\nmax_rows = 3\nmax_epsilon_per_question = "5"'
    where = {"policy": rules, "budget": Budget(rho=1), "ledger": tmp_path / "errors.ledger"}
    with sessions.open({"visits": visits()}, **where) as session:
        plan = session.plan(COUNT, error={"n": 10})
        assert isinstance(plan.noises[0].mechanism, Laplace)
        with_delta = session.plan(COUNT, error={"n": 10}, delta="1e-6")
        assert isinstance(with_delta.noises[0].mechanism, Gaussian)


def test_the_engine_is_asked_before_the_ledger(tmp_path, monkeypatch):
    def refuse(self, request, *, portable=False):
        raise UnknownName(what="it cannot be done.", why="tests.", do="nothing.")

    with opened(tmp_path) as session:
        monkeypatch.setattr(DuckDB, "prepare", refuse)
        with pytest.raises(UnknownName):
            session.ask(COUNT, epsilon=1)
        assert spent(session) == 0


def test_statements_are_printed_once_and_run_for_their_own_request_alone(monkeypatch):
    printed, prepare = [], DuckDB.prepare

    def counted(self, request, *, portable=False):
        printed.append(request)
        return prepare(self, request, portable=portable)

    monkeypatch.setattr(DuckDB, "prepare", counted)
    with in_test_mode() as session:
        plan = session.plan(COUNT, epsilon=1)
        session.ask(plan)
        assert len(printed) == 1
        engine, equal = session._engine, replace(plan.request)
        assert equal == plan.request
        engine.run(equal, order=HashOrder(salt=1))
        assert printed[1:] == [equal]
        assert printed[1] is equal


def test_what_is_built_shows_itself_on_a_line():
    with in_test_mode() as clinic:
        rows = clinic.table("visits").where("cost > 1")
        assert repr(rows).startswith("<rows of visits;")
        assert repr(rows.group_by("ward")).startswith("<question: groups by ward of visits;")
        assert repr(rows.count(name="n").mean("cost")).startswith(
            "<question: n, avg_cost of visits;"
        )
        broken = rows.count().having("cost > 1")
        assert repr(broken) == "<question that cannot be asked as it is; .plan() says why>"
