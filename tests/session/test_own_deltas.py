"""Questions about private groups spend a small share of delta, unless somebody names one."""

from fractions import Fraction

import pyarrow as pa
import pytest

import discreet as dp
from discreet.accounting import Budget
from discreet.accounting.amounts import amount_value
from discreet.errors import UnsupportedSQL
from discreet.loss import Approximate
from discreet.units import row

RULES = """
format = 1
unit = "patient"
[limits]
max_groups = 4
max_rows = 10
"""
WARDS = "SELECT ward, COUNT(*) AS visits FROM visits GROUP BY ward"
NO_DELTA = "WITH DIFFERENTIAL_PRIVACY OPTIONS(delta = 0)"
AFTER_INIT = {"epsilon": 1, "delta": "1e-9"}  # what ``discreet init`` proposes


def opened(folder, budget, rules=RULES):
    visits = pa.table({"patient": [k // 2 for k in range(400)], "ward": ["A", "B"] * 200})
    return dp.open({"visits": visits}, policy=rules, ledger=folder / "clinic.ledger", budget=budget)


def spent_delta(clinic):
    left = clinic.remaining
    return amount_value(left.budget.limit[-1] - left.amounts[-1])


@pytest.mark.parametrize("price", [{"epsilon": "0.01"}, {"rho": "0.00005"}])
def test_a_hundred_questions_about_private_groups_fit(tmp_path, price):
    with opened(tmp_path, Budget(**AFTER_INIT)) as clinic:
        plan = clinic.plan(WARDS, **price)
        assert plan.selection is not None
        assert clinic.remaining.how_many(plan.tree) >= 100
        clinic.ask(plan)
        asked = {name: Fraction(value) for name, value in price.items()}
        own = clinic.remaining.budget.own_delta(**asked)
        assert 0 < spent_delta(clinic) <= own
        assert 100 * own <= amount_value(clinic.remaining.budget.limit[-1])


def test_asking_again_is_free_whatever_was_spent_in_between(tmp_path):
    with opened(tmp_path, Budget(**AFTER_INIT)) as clinic:
        first = clinic.ask(WARDS, epsilon="0.1")
        clinic.ask(WARDS, epsilon="0.2")
        left = clinic.remaining.amounts
        again = clinic.ask(WARDS, epsilon="0.1")
        assert again.replayed
        assert again.receipt == first.receipt
        assert clinic.remaining.amounts == left


def test_what_is_named_goes_first(tmp_path):
    ruled = RULES + 'delta_per_question = "1e-11"\n'
    budget = Budget(**AFTER_INIT)
    with opened(tmp_path, budget) as clinic:
        named = clinic.plan(WARDS, epsilon="0.1", delta="5e-12")
        assert named.digest != clinic.plan(WARDS, epsilon="0.1").digest
        same = clinic.plan(WARDS, epsilon="0.1", delta=budget.own_delta(epsilon=Fraction(1, 10)))
        assert same.digest == clinic.plan(WARDS, epsilon="0.1").digest
    with opened(tmp_path, budget, ruled) as clinic:
        plan = clinic.plan(WARDS, epsilon="0.1")
        assert plan.digest == clinic.plan(WARDS, epsilon="0.1", delta="1e-11").digest


@pytest.mark.parametrize(
    ("question", "price"),
    [
        (WARDS, {"epsilon": "0.1", "delta": 0}),
        (
            WARDS.replace("SELECT", "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(delta = 0)"),
            {"rho": 1},
        ),
    ],
)
def test_a_delta_of_zero_is_named_too(tmp_path, question, price):
    with opened(tmp_path, Budget(**AFTER_INIT)) as clinic, pytest.raises(UnsupportedSQL):
        clinic.plan(question, **price)


def test_a_larger_price_has_a_larger_delta_and_shows_smaller_groups(tmp_path):
    budget = Budget(**AFTER_INIT)
    with opened(tmp_path, budget) as clinic:
        tenth, half = (clinic.plan(WARDS, epsilon=each) for each in ("0.1", "0.5"))
        assert 5 * budget.own_delta(epsilon=Fraction(1, 10)) == budget.own_delta(
            epsilon=Fraction(1, 2)
        )
        assert 4 * tenth.price.delta < half.price.delta <= 6 * tenth.price.delta
        little = clinic.plan(WARDS, epsilon="0.5", delta=budget.own_delta())
        few, many = (each.selection.smallest(Fraction(1, 2)) for each in (half, little))
        assert 9 * few < 8 * many
        given = clinic.plan(WARDS, error={"visits": 500})
        assert given.price.delta <= budget.own_delta()


def test_public_groups_spend_none(tmp_path):
    rules = RULES + '[tables.visits.columns.ward]\ntype = "text"\ncategories = ["A", "B"]\n'
    with opened(tmp_path, Budget(**AFTER_INIT), rules) as clinic:
        clinic.ask(WARDS, epsilon="0.1")
        assert spent_delta(clinic) == 0


def test_a_budget_without_a_delta_lends_none(tmp_path):
    with opened(tmp_path, Budget(epsilon=1)) as clinic, pytest.raises(UnsupportedSQL):
        clinic.plan(WARDS, epsilon="0.1")


def test_a_plan_says_if_it_takes_most_of_delta(tmp_path):
    with opened(tmp_path, Budget(**AFTER_INIT)) as clinic:
        assert clinic.plan(WARDS, epsilon="0.01").budget_preview.notes == ()
        plan = clinic.plan(WARDS, epsilon="0.01", delta="1e-10")
        assert plan.budget_preview.notes == ("takes more than half of the delta that is left",)
        assert "delta 1.485e-10 of 1.5e-10" in clinic.plan(WARDS, epsilon="0.01").details


def test_one_run_at_a_tenth_of_delta_leaves_a_third_of_what_is_set_aside():
    spending = dp.accounting.PrivacyFilter(Budget(epsilon=8, delta="1e-4"), unit=row())
    spending.charge(Approximate(epsilon=2, delta="1e-5"))  # a training run, say
    left = amount_value(spending.left().amounts[-1])
    assert left >= Fraction(1, 3 * 10**5)
    assert spending.left().how_many(Approximate(epsilon=2, delta="2.5e-6")) == 2
