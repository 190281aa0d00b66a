"""Another draw: paid for once, and combined as well as can be."""

from dataclasses import replace
from fractions import Fraction

import pytest

import discreet as dp
import discreet.session as sessions
from discreet.errors import OverBudget, WrongKind
from discreet.plan.planning_rules import PlanningRules
from discreet.query.sql import parse as sql
from discreet.session.planning import SessionPlanner
from tests.session.clinic import BY_WARD, COUNT, POLICY, in_test_mode, opened, visits

RICH = POLICY.replace('epsilon = "2"', 'epsilon = "20"')


def spent(session):
    left = session.remaining
    return Fraction(left.budget.limit[0] - left.amounts[0], 10**24)


def width(release):
    row = release.to_arrow(unclipped=True).to_pylist()[0]
    return 2 * (row["n_high"] - row["n_unclipped"])  # the lower end stops at zero


@pytest.mark.theorem("inverse-variance")
def test_two_draws_are_better_than_one(tmp_path):
    with opened(tmp_path, policy=RICH) as session:
        first = session.ask(COUNT, epsilon="0.1")
        both = session.remeasure(first, epsilon="0.1")
        assert spent(session) == Fraction(1, 5)
        assert width(both) < 0.85 * width(first)
        assert [entry["kind"] for entry in session.ledger.entries()].count("release") == 2
        assert session.ledger.verify(receipts=[both.receipt]).ok


def test_the_same_remeasurement_again_is_free(tmp_path):
    with opened(tmp_path, policy=RICH) as session:
        first = session.ask(COUNT, epsilon="0.1")
        both = session.remeasure(first, epsilon="0.1")
        again = session.remeasure(session.ask(COUNT, epsilon="0.1"), epsilon="0.1")
        assert again.replayed
        assert again.rows() == both.rows()
        assert spent(session) == Fraction(1, 5)


def test_a_third_draw_is_bought_by_remeasuring_the_combination(tmp_path):
    with opened(tmp_path, policy=RICH) as session:
        both = session.remeasure(session.ask(COUNT, epsilon="0.1"), epsilon="0.1")
        three = session.remeasure(both, epsilon="0.1")
        assert spent(session) == Fraction(3, 10)
        assert len(three.plans) == 3
        assert width(three) < width(both)


def test_a_draw_at_another_price_counts_by_its_weight(tmp_path):
    with opened(tmp_path, policy=RICH) as session:
        poor = session.ask(COUNT, epsilon="0.01")
        good = session.remeasure(poor, epsilon=1)
        alone = session.ask(COUNT, epsilon=1)  # the same draw, at no further price
        assert alone.replayed
        assert spent(session) == Fraction(101, 100)
        assert abs(good.rows()[0]["n"] - alone.rows()[0]["n"]) <= 2
        assert width(good) <= width(alone) + 2  # of rounding


def test_a_question_is_asked_first(tmp_path):
    with opened(tmp_path, policy=RICH) as session:
        assert len(session.remeasure(BY_WARD, epsilon="0.5").plans) == 2
        assert spent(session) == 1


def test_groups_keep_their_order(tmp_path):
    with opened(tmp_path, policy=RICH) as session:
        rows = session.remeasure(BY_WARD, epsilon="0.5").rows()
        assert [row["ward"] for row in rows] == ["A", "B", "C"]


def test_what_cannot_be_combined_is_refused_before_it_is_charged(tmp_path):
    other = RICH.replace("max_rows = 3", "max_rows = 2")
    with opened(tmp_path, policy=RICH) as session:
        first = session.ask(COUNT, epsilon="0.1")
        mapped = first.map(lambda table: table)
        with pytest.raises(WrongKind):
            session.remeasure(mapped, epsilon="0.1")
        with in_test_mode() as elsewhere, pytest.raises(WrongKind):
            session.remeasure(elsewhere.ask(COUNT, epsilon="0.1"), epsilon="0.1")
        assert spent(session) == Fraction(1, 10)
    with opened(tmp_path, policy=other) as session:
        with pytest.raises(WrongKind):
            session.remeasure(first, epsilon="0.1")
        assert spent(session) == Fraction(1, 10)


def test_an_answer_without_a_plan_is_refused_before_it_is_charged(tmp_path):
    with opened(tmp_path, policy=RICH) as session:
        first = session.ask(COUNT, epsilon="0.1")
        with pytest.raises(dp.DiscreetError, match="a release has no plan"):
            session.remeasure(replace(first, plans=()), epsilon="0.1")
        assert spent(session) == Fraction(1, 10)
        session.remeasure(replace(first), epsilon="0.1")
        assert spent(session) == Fraction(1, 5)


def test_a_draw_that_is_too_dear_changes_nothing(tmp_path):
    with opened(tmp_path) as session:
        session.ask(BY_WARD, epsilon=1)
        first = session.ask(COUNT, epsilon="0.5")
        with pytest.raises(OverBudget):
            session.remeasure(first, epsilon=1)
        assert spent(session) == Fraction(3, 2)


def test_the_mean_of_many_draws_is_near_the_truth():
    with sessions.open({"visits": visits()}, policy=POLICY, test_mode=True) as session:
        release = session.ask(COUNT, epsilon=1)
        for _ in range(15):
            release = session.remeasure(release, epsilon=1)
        row = release.rows()[0]
        assert abs(row["n"] - 80) < 40  # sixteen draws of scale 3: far beyond any chance
        assert row["n_low"] <= row["n"] <= row["n_high"]


MEDIAN = "SELECT MEDIAN(cost) AS m FROM visits"
MODE = "SELECT MODE(ward) AS m FROM visits"
LOWEST = "SELECT MIN(cost) AS m FROM visits"
QUARTERS = "SELECT APPROX_QUANTILES(cost, 4) AS m FROM visits"
LEVEL = "SELECT PERCENTILE_CONT(cost, 0.25) AS m FROM visits"


@pytest.mark.parametrize("question", [MEDIAN, MODE, LOWEST, QUARTERS, LEVEL])
def test_choices_are_drawn_again_only_at_a_higher_price(tmp_path, question):
    """Of two choices the one with the higher price stays, so another draw would be wasted."""
    with opened(tmp_path, policy=RICH) as session:
        with pytest.raises(WrongKind, match="change nothing"):
            session.remeasure(question, epsilon="0.2")
        assert spent(session) == 0
        first = session.ask(question, epsilon="0.2")
        for price in ("0.2", "0.1"):
            with pytest.raises(WrongKind, match="at a higher price"):
                session.remeasure(first, epsilon=price)
        assert spent(session) == Fraction(1, 5)
        better = session.remeasure(first, epsilon="0.5")
        assert spent(session) == Fraction(7, 10)
        assert better.rows() == session.ask(question, epsilon="0.5").rows()
        with pytest.raises(WrongKind):
            session.remeasure(better, epsilon="0.4")


def test_choices_stay_beside_sums_that_gain(tmp_path):
    question = "SELECT MAX(cost) AS m, COUNT(*) AS n FROM visits"
    with opened(tmp_path, policy=RICH) as session:
        first = session.ask(question, epsilon="0.2")
        for price in ("0.2", "0.15"):
            both = session.remeasure(first, epsilon=price)
            assert both.rows()[0]["m"] == first.rows()[0]["m"]
            assert width(both) < width(first)
        assert spent(session) == Fraction(11, 20)


def test_groups_that_are_selected_may_gain(tmp_path):
    rules = RICH.replace('categories = ["A", "B", "C"]', "")
    question = "SELECT ward, MEDIAN(cost) AS m FROM visits GROUP BY ward"
    budget = dp.Budget(epsilon=5, delta="1e-2")
    rules = rules.replace('[budget]\nepsilon = "20"\n', "")
    with opened(tmp_path, policy=rules, budget=budget) as session:
        price = {"epsilon": "0.5", "delta": "1e-3"}
        assert len(session.remeasure(question, **price).plans) == 2


def test_a_draw_without_weight_is_refused_before_it_is_charged(tmp_path):
    with opened(tmp_path, policy=RICH) as session:
        first = session.ask(COUNT, epsilon=1)
        with pytest.raises(WrongKind, match="change nothing"):
            session.remeasure(first, epsilon="0.001")
        assert spent(session) == 1
        session.remeasure(first, epsilon="0.1")
        assert spent(session) == Fraction(11, 10)


def test_a_draw_on_record_is_free_and_so_never_refused(tmp_path):
    with opened(tmp_path, policy=RICH) as session:
        session.ask(MEDIAN, epsilon="0.1")
        first = session.ask(MEDIAN, epsilon="0.2")
        assert session.remeasure(first, epsilon="0.1").rows() == first.rows()
        assert spent(session) == Fraction(3, 10)


def test_a_plan_is_not_remeasured_and_not_charged(tmp_path):
    with opened(tmp_path, policy=RICH) as session:
        with pytest.raises(WrongKind, match="remeasure its answer"):
            session.remeasure(session.plan(COUNT, epsilon="0.1"))
        assert spent(session) == 0


QUANTILES = (
    "SELECT MEDIAN(cost) AS m FROM visits",
    "SELECT APPROX_QUANTILES(cost, 10) AS q, COUNT(*) AS n FROM visits",
)


@pytest.mark.parametrize("question", QUANTILES)
def test_quantiles_of_an_earlier_version_are_found_on_record(question, tmp_path, monkeypatch):
    """A planner that plans as earlier versions did writes the record; today's finds it."""
    real = SessionPlanner.plan

    def as_before(planner, *arguments, **options):
        return real(planner, *arguments, **{**options, "earlier": PlanningRules.CLAMPED_SUMS})

    with opened(tmp_path, policy=RICH) as session:
        with monkeypatch.context() as patched:
            patched.setattr(SessionPlanner, "plan", as_before)
            before = session.ask(question, epsilon="0.5")
        left = session.remaining
        again = session.ask(question, epsilon="0.5")
        assert again.replayed
        assert again.to_arrow().equals(before.to_arrow())
        assert session.plan(question, epsilon="0.5").budget_preview.entry is not None
        assert session.remaining == left
        new = session.ask(question, epsilon="0.25")  # not on record: as it is planned today
        assert not new.replayed
        assert (
            new.plan.digest
            != session._planning.plan(
                new.plan.question,
                {"epsilon": "0.25"},
                found=(),
                concentrated=False,
                own_delta=Fraction,
                earlier=PlanningRules.CLAMPED_SUMS,
            ).digest
        )
        assert session.ask(question, epsilon="0.25").replayed


SUMS = (
    "SELECT SUM(cost) FILTER (WHERE ward = 'A') AS a, SUM(cost) FILTER (WHERE ward = 'B') AS b "
    "FROM visits"
)


@pytest.mark.parametrize("rules", [PlanningRules.SUMS_APART, PlanningRules.CLAMPED_SUMS])
def test_sums_of_every_earlier_version_are_found_on_record(rules, tmp_path):
    price = {"epsilon": "0.5"}
    with opened(tmp_path, policy=RICH) as session:
        question = sql.read(SUMS)
        before = session._answer(session._planned(question, price, rules=rules), confirm=False)
        entries, left = session.ledger.receipt, session.remaining
        again = session.ask(SUMS, **price)
        assert again.replayed
        assert again.plan.earlier is rules
        assert again.to_arrow().equals(before.to_arrow())
        assert session.plan(SUMS, **price).budget_preview.entry is not None
        assert session.ledger.receipt == entries
        assert session.remaining == left
        both = session.remeasure(again, **price)
        assert [plan.earlier for plan in both.plans] == [rules, rules]
        assert session.remeasure(again, **price).replayed


PLAIN = "SELECT SUM(cost * {}) AS a, SUM(cost + {}) AS b FROM visits"


def test_different_sums_of_an_earlier_version_are_found_on_record(tmp_path, monkeypatch):
    """Earlier rules are tried only where a charge has as many leaves as there are sums."""
    price, rules = {"epsilon": "0.5"}, PlanningRules.CLAMPED_SUMS
    tried, real = [], SessionPlanner.plan

    def noted(planner, *arguments, **options):
        tried.append(options["earlier"])
        return real(planner, *arguments, **options)

    monkeypatch.setattr(SessionPlanner, "plan", noted)
    with opened(tmp_path, policy=RICH) as session:
        session.ask("SELECT COUNT(*) AS n FROM visits", **price)  # has one leaf
        assert session.plan(PLAIN.format(2, 3), **price).had_earlier
        assert set(tried) == {PlanningRules.TODAY}
        plan = session._planned(sql.read(PLAIN.format(2, 3)), price, rules=rules)
        before = session._answer(plan, confirm=False)
        assert session.ask(PLAIN.format(2, 3), **price).to_arrow().equals(before.to_arrow())
        tried.clear()
        assert not session.ask(PLAIN.format(4, 5), **price).replayed
        assert rules in tried  # a charge of two leaves might be it
        doubled = PLAIN.format(2, 2).replace("+", "*")  # one sum, written twice
        plan = session._planned(sql.read(doubled), price, rules=rules)
        before = session._answer(plan, confirm=False)
        assert session.ask(doubled, **price).to_arrow().equals(before.to_arrow())


def test_of_two_earlier_answers_the_later_version_is_told(tmp_path):
    with opened(tmp_path, policy=RICH) as session:
        for rules in (PlanningRules.CLAMPED_SUMS, PlanningRules.SUMS_APART):
            plan = session._planned(sql.read(SUMS), {"epsilon": "0.5"}, rules=rules)
            session._answer(plan, confirm=False)
        assert session.ask(SUMS, epsilon="0.5").plan.earlier is PlanningRules.SUMS_APART


def test_an_answer_of_today_is_remeasured_by_the_rules_of_today(tmp_path):
    """Whatever an earlier version has answered at the price of the other draw."""
    with opened(tmp_path, policy=RICH) as session:
        first = session.ask(SUMS, epsilon="0.5")
        rules = PlanningRules.SUMS_APART
        plan = session._planned(sql.read(SUMS), {"epsilon": "0.25"}, rules=rules)
        session._answer(plan, confirm=False)
        both = session.remeasure(first, epsilon="0.25")
        assert [plan.earlier for plan in both.plans] == [PlanningRules.TODAY] * 2
