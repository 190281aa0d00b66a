"""A plan says whether it was answered before, whether it fits, and what it would leave."""

import pickle
from fractions import Fraction

import pyarrow as pa
import pytest

import discreet as dp
from discreet.accounting import Budget
from discreet.errors import OverBudget
from discreet.plan.plan import BudgetPreview
from tests.session.clinic import COUNT, POLICY, in_test_mode, opened


def test_a_plan_says_what_it_would_leave(tmp_path):
    with opened(tmp_path) as clinic:
        plan = clinic.plan(COUNT, epsilon="0.5")
        assert (plan.budget_preview.fits, plan.budget_preview.entry) == (True, None)
        assert plan.budget_preview.left == "epsilon 1.5 of 2"
        assert "\n├── leaves epsilon 1.5 of 2\n" in plan.details
        assert "leaves epsilon 1.5 of 2" in plan._repr_html_()
        assert repr(plan) == f"<plan: {COUNT}; costs epsilon 0.5; rho 0.1225>"


def test_what_a_plan_says_it_leaves_is_left(tmp_path):
    with opened(tmp_path) as clinic:
        promised = clinic.plan(COUNT, epsilon="0.5").budget_preview.left
        clinic.ask(COUNT, epsilon="0.5")
        assert clinic.remaining.details.startswith(promised)


def test_a_plan_says_that_it_was_answered(tmp_path):
    with opened(tmp_path) as clinic:
        plan = clinic.plan(COUNT, epsilon="0.5")
        receipt = clinic.ask(plan).receipt
        for again in (clinic.plan(plan), clinic.plan(COUNT, epsilon="0.5")):
            assert again == plan
            assert again.budget_preview.entry == receipt.seq
            assert (
                f"was answered before, in entry {receipt.seq}, and costs nothing" in again.details
            )
        assert clinic.plan(COUNT, epsilon="0.25").budget_preview.entry is None


def test_a_plan_says_that_it_does_not_fit(tmp_path):
    with opened(tmp_path) as clinic:
        for epsilon in ("1", "0.75"):
            clinic.ask(COUNT, epsilon=epsilon)
        plan = clinic.plan(COUNT, epsilon="0.5")
        assert not plan.budget_preview.fits
        assert "does not fit into what is left: epsilon 0.25 of 2" in plan.details


def test_other_people_have_their_own_budget(tmp_path):
    north = f"{COUNT} WHERE region = 'north'"
    with opened(tmp_path) as clinic:
        clinic.ask(f"{COUNT} WHERE region = 'south'", epsilon="1")
        assert "leaves epsilon 1.5 of 2 there" in clinic.plan(north, epsilon="0.5").details
        assert "leaves epsilon 0.5 of 2\n" in clinic.plan(COUNT, epsilon="0.5").details


@pytest.mark.parametrize(
    "budget", [Budget(epsilon=2, delta="1e-6"), Budget(rho=1, delta="1e-6"), Budget(rho="0.001")]
)
def test_whether_a_plan_fits_is_what_asking_finds(tmp_path, budget):
    rules = POLICY.replace('[budget]\nepsilon = "2"\n', "")
    with opened(tmp_path, budget=budget, policy=rules) as clinic:
        plan = clinic.plan(COUNT, rho="0.01", delta="1e-7")
        fits = plan.budget_preview.fits
        if fits:
            clinic.ask(plan)
        else:
            with pytest.raises(OverBudget):
                clinic.ask(plan)


def test_a_plan_says_that_it_closes_a_route(tmp_path):
    rules = POLICY.replace('[budget]\nepsilon = "2"\n', "")
    rules = rules.replace('max_epsilon_per_question = "1"\n', "")
    closes = "closes the route of {}: later questions have to fit in {}"
    with opened(tmp_path, budget=Budget(epsilon=2, delta="1e-6"), policy=rules) as clinic:
        assert clinic.plan(COUNT, rho="0.01").budget_preview.notes == ()
        plan = clinic.plan(COUNT, epsilon="1.5")
        said = closes.format("rho and mu squared", "epsilon")
        assert plan.budget_preview.notes == (said,)
        assert f"├── {said}\n" in plan.details
        plan = clinic.plan(COUNT, rho="0.06")
        assert plan.budget_preview.notes == (closes.format("epsilon", "rho or mu squared"),)
        clinic.ask(plan)
        assert clinic.plan(COUNT, rho="0.005").budget_preview.notes == ()
        assert not clinic.plan(COUNT, epsilon="0.5").budget_preview.fits


def test_without_a_ledger_there_is_nothing_to_say(tmp_path):
    with in_test_mode() as clinic:
        assert clinic.plan(COUNT, epsilon=1).budget_preview is None
    with opened(tmp_path, ledger=None) as clinic:
        assert clinic.plan(COUNT, epsilon=1).budget_preview is None
    with opened(tmp_path) as clinic:
        plan = clinic.ask(COUNT, epsilon=1).plan  # what was answered no longer stands before it
    assert plan.budget_preview is None
    assert "leaves epsilon" not in plan.details


def test_a_plan_is_a_value_that_holds_no_session(tmp_path):
    with opened(tmp_path) as clinic:
        plan = clinic.plan(COUNT, epsilon="0.5")
        shown = plan.details
        clinic.ask(COUNT, epsilon="0.25")
    copy = pickle.loads(pickle.dumps(plan))  # noqa: S301  our own bytes
    assert (copy, copy.budget_preview, copy.details) == (plan, plan.budget_preview, shown)
    assert plan.budget_preview == BudgetPreview(
        entry=None,
        fits=True,
        left="epsilon 1.5 of 2",
        part=Fraction(3, 4),
        cost=Fraction(1, 4),
        more=3,
    )


def asked(folder, table, kind, condition, **more):
    """Ask about some rows in a session of its own; return what was counted, and what is left."""
    rules = f'format = 1\n[tables.t.columns.x]\ntype = "{kind}"\n' + more.pop("rules", "")
    with dp.open(
        {"t": table},
        policy=rules,
        budget=dp.Budget(epsilon=10),
        ledger=folder / "t.ledger",
        **{"unit": dp.row(), **more},
    ) as session:
        found = session.ask(f"SELECT COUNT(*) AS n FROM t WHERE {condition}", epsilon=4)  # noqa: S608
        return found.rows()[0]["n"], session.remaining.amounts[0] / 10**24


@pytest.mark.parametrize(
    ("values", "first", "second"),
    [
        ([3.7] * 900, ("float", "x = 3.7"), ("integer", "x = 4")),
        (["abc"] * 900, ("text", "x = 'abc'"), ("integer", "x IS NULL")),
    ],
)
def test_rows_pay_however_their_column_is_read(tmp_path, values, first, second):
    """Read as another type a value is another one, and the row is the same."""
    table = pa.table({"x": values})
    for left, (kind, condition) in ((6, first), (2, second)):
        counted, remaining = asked(tmp_path, table, kind, condition)
        assert abs(counted - 900) < 50
        assert remaining == left


def test_people_pay_however_their_column_is_read(tmp_path):
    """Read as another type it is another column, and charges add up."""
    table = pa.table({"who": list(range(900)), "x": [3.7] * 900})
    more = {"unit": dp.person("who"), "rules": "constant = true\n[limits]\nmax_rows = 1"}
    assert asked(tmp_path, table, "float", "x = 3.7", **more)[1] == 6
    assert asked(tmp_path, table, "float", "x = 4", **more)[1] == 6
    assert asked(tmp_path, table, "integer", "x = 4", **more)[1] == 2


def test_columns_of_one_name_may_have_several_types(tmp_path):
    tables = {"t": pa.table({"a": [1] * 9}), "u": pa.table({"a": ["q"] * 9})}
    with dp.open(
        tables,
        unit=dp.row(),
        policy="format = 1",
        budget=dp.Budget(epsilon=10),
        ledger=tmp_path / "l",
    ) as session:
        session.ask("SELECT COUNT(*) AS n FROM t WHERE a = 1", epsilon=1)
        session.ask("SELECT COUNT(*) AS n FROM u WHERE a = 'q'", epsilon=1)
