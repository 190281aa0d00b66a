"""Shares of a budget: a part of what was promised, by the route that errs least."""

from fractions import Fraction

import pyarrow as pa
import pytest

import discreet as dp
from discreet import Budget
from discreet.errors import InputError, OverBudget
from discreet.session.shares import read_share

VISITS = pa.table({"patient": list(range(600)), "ward": ["A", "B", "C"] * 200})
COUNT = "SELECT COUNT(*) AS n FROM visits"
POLICY = """
format = 1
unit = "patient"
[limits]
max_rows = 1
max_groups = 1
"""


def opened(folder, budget, rules=POLICY):
    return dp.open({"visits": VISITS}, policy=rules, budget=budget, ledger=folder / "visits.ledger")


@pytest.mark.parametrize(
    "budget", [Budget(epsilon=1), Budget(rho="0.1"), Budget(epsilon=1, delta="1e-9")], ids=str
)
@pytest.mark.parametrize("parts", [4, 50])
def test_so_many_shares_fit_as_their_number_says(tmp_path, budget, parts):
    with opened(tmp_path, budget) as clinic:
        plan = clinic.plan(COUNT, share=Fraction(1, parts))
        assert clinic.remaining.how_many(plan.tree) == parts
        clinic.ask(COUNT, share=f"1/{parts}")
        assert clinic.ask(COUNT, share=f"{100 / parts}%").replayed
        assert clinic.remaining.share >= 1 - Fraction(1, parts)
        # of what was promised, not of what is left
        assert clinic.plan(COUNT, share=Fraction(1, parts)).digest == plan.digest


def test_small_shares_take_gaussian_noise_and_large_ones_do_not(tmp_path):
    with opened(tmp_path, Budget(epsilon=1, delta="1e-6")) as clinic:
        small, large = (clinic.plan(COUNT, share=part) for part in ("1%", "1/2"))
        assert small.price.epsilon is None
        assert (
            small.predicted[0].half_width
            < clinic.plan(COUNT, epsilon="0.01").predicted[0].half_width / 2
        )
        assert large.price.epsilon == Fraction(1, 2)


def test_a_plan_in_epsilon_says_how_much_less_the_same_share_errs(tmp_path):
    with opened(tmp_path, Budget(epsilon=1, delta="1e-6")) as clinic:
        asked = clinic.plan(COUNT, epsilon="0.01")
        assert '1/100 of the budget (share="1/100", --share 1/100) errs' in str(asked)
        times = float(asked.budget_preview.better.split(" errs ")[1].split()[0])
        other = clinic.plan(COUNT, share="1/100")
        real = float(asked.predicted[0].half_width / other.predicted[0].half_width)
        assert times == pytest.approx(real, abs=0.051)
        assert clinic.plan(COUNT, epsilon="0.5").budget_preview.better == ""
        assert clinic.plan(COUNT, share="0.01").budget_preview.better == ""
    with opened(tmp_path / "..", Budget(epsilon=1)) as clinic:
        assert "share" not in str(clinic.plan(COUNT, epsilon="0.01"))


def test_shares_buy_private_groups_too(tmp_path):
    groups = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward"
    with opened(tmp_path, Budget(epsilon=1, delta="1e-6")) as clinic:
        assert clinic.ask(groups, share="1/2", confirm=True).rows()
        assert Fraction(1, 2) <= clinic.remaining.share < 1
        with pytest.raises(OverBudget):
            clinic.ask(groups, share="0.51", confirm=True)


def test_all_that_was_promised_can_be_asked_at_once(tmp_path):
    """Groups that are chosen privately, at the whole epsilon and the whole delta."""
    groups = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward"
    with opened(tmp_path, Budget(epsilon=1, delta="1e-9")) as clinic:
        left = clinic.remaining
        assert clinic.ask(groups, epsilon=left.epsilon, delta=left.delta, confirm=True) is not None
        assert str(clinic.remaining) == "0 % of the budget left, no more like this"
        with pytest.raises(OverBudget):
            clinic.ask(COUNT, epsilon="1e-6", confirm=True)
        assert clinic.ledger.verify().ok


def test_a_synthetic_table_may_cost_all_that_was_promised(tmp_path):
    rules = (
        f"{POLICY}[tables.visits.columns]\nward = {{type = 'text', categories = ['A', 'B', 'C']}}\n"
    )
    with opened(tmp_path, Budget(epsilon=1, delta="1e-9"), rules) as clinic:
        plan = dp.plan_synthesis(clinic, "visits", epsilon=1, delta="1e-9", columns=["ward"])
        assert Fraction(999, 1000) < plan.price.epsilon <= 1
        assert dp.synthesize(clinic, plan)
        assert clinic.remaining.share == 0


@pytest.mark.parametrize(("delta", "counts"), [("1e-9", 21), ("1e-6", 36)])
def test_gaussian_counts_fit_as_often_as_by_an_accountant_of_privacy_losses(
    tmp_path, delta, counts
):
    with opened(tmp_path, Budget(epsilon=1, delta=delta)) as clinic:
        plan = clinic.plan(COUNT, error={"n": 50})
        assert clinic.remaining.how_many(plan.tree) == counts


@pytest.mark.parametrize("share", [0, -1, 2, "101%", "0%", "much", "1/0", float("nan"), True, [1]])
def test_a_share_is_a_part_of_the_budget(tmp_path, share):
    with opened(tmp_path, Budget(epsilon=1)) as clinic:
        with pytest.raises(InputError):
            clinic.plan(COUNT, share=share)
        assert clinic.remaining.share == 1


@pytest.mark.parametrize("more", [{"epsilon": "0.1"}, {"rho": "0.1"}, {"error": {"n": 9}}])
def test_a_question_has_one_price(tmp_path, more):
    with opened(tmp_path, Budget(epsilon=1)) as clinic, pytest.raises(InputError, match="beside"):
        clinic.ask(COUNT, share="1/10", **more)


def test_a_share_of_no_budget_is_refused():
    with (
        dp.open({"visits": VISITS}, policy=POLICY, test_mode=True) as clinic,
        pytest.raises(InputError, match="no budget"),
    ):
        clinic.ask(COUNT, share="1/10")


def test_ways_to_write_a_share():
    assert {
        read_share(each) for each in ("1/8", "0.125", 0.125, "12.5%", "12.5 %", Fraction(1, 8))
    } == {Fraction(1, 8)}
