"""A plan says whether it was answered before, whether it fits, and what it would leave."""

import pytest

from discreet.accounting import Budget
from discreet.errors import OverBudget
from tests.session.clinic import COUNT, POLICY, in_test_mode, opened


def test_a_plan_says_what_it_would_leave(tmp_path):
    with opened(tmp_path) as clinic:
        plan = clinic.plan(COUNT, epsilon="0.5")
        assert (plan.standing.fits, plan.standing.entry) == (True, None)
        assert plan.standing.left == "epsilon 1.5 of 2"
        assert "\n├── leaves epsilon 1.5 of 2\n" in str(plan)
        assert "leaves epsilon 1.5 of 2" in plan._repr_html_()
        assert repr(plan) == f"<plan: {COUNT}; costs epsilon 0.5; rho 0.1225>"


def test_what_a_plan_says_it_leaves_is_left(tmp_path):
    with opened(tmp_path) as clinic:
        promised = clinic.plan(COUNT, epsilon="0.5").standing.left
        clinic.ask(COUNT, epsilon="0.5")
        assert str(clinic.remaining).startswith(promised)


def test_a_plan_says_that_it_was_answered(tmp_path):
    with opened(tmp_path) as clinic:
        plan = clinic.plan(COUNT, epsilon="0.5")
        receipt = clinic.ask(plan).receipt
        assert plan.standing.entry == receipt.seq
        assert f"was answered before, in entry {receipt.seq}, and costs nothing" in str(plan)
        assert clinic.plan(COUNT, epsilon="0.25").standing.entry is None


def test_a_plan_says_that_it_does_not_fit(tmp_path):
    with opened(tmp_path) as clinic:
        for epsilon in ("1", "0.75"):
            clinic.ask(COUNT, epsilon=epsilon)
        plan = clinic.plan(COUNT, epsilon="0.5")
        assert not plan.standing.fits
        assert "does not fit into what is left: epsilon 0.25 of 2" in str(plan)


def test_other_people_have_their_own_budget(tmp_path):
    north = f"{COUNT} WHERE region = 'north'"
    with opened(tmp_path) as clinic:
        clinic.ask(f"{COUNT} WHERE region = 'south'", epsilon="1")
        assert "leaves epsilon 1.5 of 2 there" in str(clinic.plan(north, epsilon="0.5"))
        assert "leaves epsilon 0.5 of 2\n" in str(clinic.plan(COUNT, epsilon="0.5"))


@pytest.mark.parametrize(
    "budget", [Budget(epsilon=2, delta="1e-6"), Budget(rho=1, delta="1e-6"), Budget(rho="0.001")]
)
def test_whether_a_plan_fits_is_what_asking_finds(tmp_path, budget):
    rules = POLICY.replace('[budget]\nepsilon = "2"\n', "")
    with opened(tmp_path, budget=budget, policy=rules) as clinic:
        plan = clinic.plan(COUNT, rho="0.01", delta="1e-7")
        fits = plan.standing.fits
        if fits:
            clinic.ask(plan)
        else:
            with pytest.raises(OverBudget):
                clinic.ask(plan)


def test_without_a_ledger_there_is_nothing_to_say(tmp_path):
    with in_test_mode() as clinic:
        assert clinic.plan(COUNT, epsilon=1).standing is None
    with opened(tmp_path, ledger=None) as clinic:
        assert clinic.plan(COUNT, epsilon=1).standing is None
    with opened(tmp_path) as clinic:
        plan = clinic.plan(COUNT, epsilon=1)
    assert plan.standing is None
    assert "leaves" not in str(plan)
