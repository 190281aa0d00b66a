"""Another draw: paid for once, and combined as well as can be."""

from dataclasses import replace
from fractions import Fraction

import pytest

import discreet as dp
import discreet.session as sessions
from discreet.errors import OverBudget, WrongKind
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
